//! The alternating direction method of multipliers for KL-NMF (Sun & Févotte 2014), in the order of the
//! authors' program.
//!
//! minimise D(V‖X) subject to X = YZ, Y = W, Z = H, W ≥ 0, H ≥ 0, with multipliers α and penalty ρ:
//!
//! Z ← (YᵀY + I)⁻¹(Yᵀ(X + α_X/ρ) + H − α_Z/ρ),  Y likewise,  X ← (b + √(b² + 4ρV))/2ρ with b = ρYZ − α_X − 1,
//! H ← (Z + α_Z/ρ)₊,  W ← (Y + α_Y/ρ)₊,  α_X ← α_X + ρ(X − YZ),  α_Z ← α_Z + ρ(Z − H),  α_Y ← α_Y + ρ(Y − W).
//!
//! The method returns the non-negative copies W and H. X and α_X are dense, so the method takes dense V only.
//!
//! The result depends on the scale of V, because one ρ serves constraints of different size. If ρ is given,
//! the method works on V as it is. Otherwise it works on V/u, W/√u and H/√u, where u is the mean of V, with
//! ρ = 10.

use super::method::{Built, Factors, Method, Pair};
use super::place::Here;
use super::{Side, Store};
use crate::block::HalfProblem;
use crate::kernel::{self, Keep};
use crate::linalg::{cholesky, cholesky_solve, gram, packed};
use crate::parallel::PerThread;
use crate::{Mat, Result, Scalar};

/// Columns of an n × m array, or rows of Y, in one task.
const PANEL: usize = 32;

/// Default penalty, for a V of mean 1.
const RHO: f64 = 10.0;

/// The splitting variables and their multipliers.
struct Admm<'a, T> {
    /// V with Y as the dictionary.
    half: HalfProblem<'a, T>,
    /// The factors that move, in order.
    order: Vec<Side>,
    rho: T,
    /// The unit u of V, and √u for the factors.
    unit: T,
    root: T,
    /// Yᵀ and Z, and their multipliers.
    y: Pair<T>,
    alpha: Pair<T>,
    alpha_x: Mat<T>,
    /// X + α_X/ρ. The other updates need nothing else of X.
    x: Mat<T>,
    /// Some rows of X, as columns.
    rows: PerThread<Vec<T>>,
}

/// See [`Solver::Admm`](crate::Solver::Admm), and [`Solver::AdmmAuthors`](crate::Solver::AdmmAuthors), where
/// ρ is given.
pub fn admm<'a, V: Scalar, T: Scalar>(setup: &Here<'a, V>, factors: &Pair<T>) -> Built<'a, Mat<T>> {
    let (problem, rho) = (setup.place, setup.settings.rho);
    let (r, n, m) = (factors.h.rows(), factors.wt.cols(), factors.h.cols());
    let mean = problem.sum / (n as f64 * m as f64);
    let unit = if rho.is_some() || mean == 0.0 { 1.0 } else { mean };
    let (root, rho) = (T::from_f64(unit.sqrt()), T::from_f64(rho.unwrap_or(RHO)));
    let (mut y, order) = (factors.clone(), setup.settings.update.order(Side::H));
    rescale(&mut y, &[Side::H, Side::W], T::ONE / root);
    let alpha = Factors { wt: Mat::zeros(r, n), h: Mat::zeros(r, m) };
    let (alpha_x, x) = (Mat::try_zeros(n, m)?, Mat::try_zeros(n, m)?);
    let rows = problem.pool.each(|| vec![T::ZERO; PANEL * m]);
    let (half, unit) = (problem.plain_half(Side::H, r), T::from_f64(unit));
    let mut admm = Admm { half, order, rho, unit, root, y, alpha, alpha_x, x, rows };
    admm.set_x(|_, _, _| ());
    Ok(Box::new(admm))
}

impl<T: Scalar> Admm<'_, T> {
    /// Z ← (YᵀY + I)⁻¹(YᵀX̂ + H − α/ρ), where X̂ = X + α_X/ρ, by panels of columns; Y likewise from X̂ᵀ.
    fn update_factor(&mut self, side: Side, h: &Mat<T>) {
        let (x, rho, scratch) = (&self.x, self.rho, &self.rows);
        let ((k, z), alpha) = (self.y.split(side), &*self.alpha.split(side).1);
        let (r, y) = (k.rows(), packed(k));
        let mut normal = gram(k);
        (0..r).for_each(|k| normal[(k, k)] += T::ONE);
        cholesky(&mut normal);
        let mut units = vec![(); z.cols()];
        self.half.pool.panels(PANEL, (z.as_mut_slice(), r), (&mut units, 1), |first, z, units| {
            z.fill(T::ZERO);
            let mut add = |x: &[T]| y.multiply_transposed(&(0..k.cols()), x, units.len(), z);
            match side {
                Side::H => add(columns(x, first, units.len())),
                Side::W => scratch.with(|rows| {
                    copy_rows(x, first, units.len(), rows);
                    add(rows);
                }),
            }
            for (c, z) in z.chunks_mut(r).enumerate() {
                let (h, alpha) = (h.col(first + c), alpha.col(first + c));
                z.iter_mut().zip(h).zip(alpha).for_each(|((z, h), alpha)| *z = *z + *h - *alpha / rho);
                cholesky_solve(&normal, z);
            }
        });
    }

    /// X, then α_X: YZ is formed in the place of X + α_X/ρ, which it becomes again.
    fn update_x(&mut self) {
        let (rho, unit) = (self.rho, self.unit);
        self.set_x(|v, x, alpha| x_step(v, unit, rho, x, alpha));
    }

    /// Sets X to YZ and calls `then` with V, X and α_X, by panels of columns.
    fn set_x(&mut self, then: impl Fn(&[T], &mut [T], &mut [T]) + Sync) {
        let (Factors { wt: yt, h: z }, n) = (&self.y, self.y.wt.cols());
        self.half.set(yt);
        let (x, alpha) = ((self.x.as_mut_slice(), n), (self.alpha_x.as_mut_slice(), n));
        self.half.for_each(x, alpha, |b, x, alpha, work| {
            b.pass(columns(z, b.first, b.q), None, &mut work.tile, &mut Keep { z: &mut *x, p: n, height: n });
            then(b.a, x, alpha);
        });
    }
}

impl<T: Scalar> Method<Mat<T>> for Admm<'_, T> {
    fn advance(&mut self, factors: &mut Pair<T>, steps: usize) {
        rescale(factors, &self.order, T::ONE / self.root);
        for _ in 0..steps {
            for n in 0..self.order.len() {
                let side = self.order[n];
                self.update_factor(side, factors.split(side).1);
            }
            self.update_x();
            for &side in &self.order {
                let (h, alpha) = (factors.split(side).1, self.alpha.split(side).1);
                project(self.rho, self.y.split(side).1, h, alpha);
            }
        }
        rescale(factors, &self.order, self.root);
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        self.y.carry("y.", store)?;
        self.alpha.carry("alpha.", store)?;
        store.array("alpha.x", &mut self.alpha_x)?;
        store.array("x", &mut self.x)
    }
}

/// Multiplies the factors of these sides. A fixed factor must keep every bit.
fn rescale<T: Scalar>(factors: &mut Pair<T>, sides: &[Side], by: T) {
    if by != T::ONE {
        for side in sides {
            factors.split(*side).1.as_mut_slice().iter_mut().for_each(|x| *x *= by);
        }
    }
}

/// Some columns of a matrix, from `first` on.
fn columns<T: Scalar>(m: &Mat<T>, first: usize, count: usize) -> &[T] {
    &m.as_slice()[first * m.rows()..][..count * m.rows()]
}

/// Some rows of a matrix, from `first` on, as columns.
fn copy_rows<T: Scalar>(m: &Mat<T>, first: usize, count: usize, rows: &mut [T]) {
    for j in 0..m.cols() {
        for (c, x) in m.col(j)[first..][..count].iter().enumerate() {
            rows[c * m.cols() + j] = *x;
        }
    }
}

/// Updates X and α for some columns: `x` holds YZ on entry and X + α/ρ on return.
fn x_step<T: Scalar>(v: &[T], unit: T, rho: T, x: &mut [T], alpha: &mut [T]) {
    let (two, four_rho) = (T::from_f64(2.0), T::from_f64(4.0) * rho / unit);
    kernel::simd(
        #[inline(always)]
        || {
            for ((x, alpha), v) in x.iter_mut().zip(alpha).zip(v) {
                let b = rho * *x - *alpha - T::ONE;
                let next = (b + (b * b + four_rho * *v).sqrt()) / (two * rho);
                *alpha += rho * (next - *x);
                *x = next + *alpha / rho;
            }
        },
    );
}

/// H ← (Z + α/ρ)₊, α ← α + ρ(Z − H).
fn project<T: Scalar>(rho: T, z: &Mat<T>, h: &mut Mat<T>, alpha: &mut Mat<T>) {
    for ((z, h), alpha) in z.as_slice().iter().zip(h.as_mut_slice()).zip(alpha.as_mut_slice()) {
        *h = (*z + *alpha / rho).max(T::ZERO);
        *alpha += rho * (*z - *h);
    }
}
