//! The paper's primal-dual algorithm for both factors, twice: as the authors programmed it, step for step, and
//! as the paper prints it (Algorithm 2).
//!
//! The letters are those of [`primal_dual`](crate::primal_dual), with one σ and one τ for a whole column:
//!
//! σ = √(p/r)·1ᵀK1/(1ᵀa·‖K‖),  τ = √(r/p)·1ᵀa/(1ᵀK1·‖K‖),  so that στ‖K‖² = 1.
//!
//! χ lives on all entries, also where a = 0, so both are for dense V. It starts feasible at −V/(WH) and is
//! carried through all half-steps, and so is x̄. The scalar steps suit columns of like size; on badly scaled
//! data use [`Fpa`](crate::Solver::Fpa).
//!
//! | | the program | as printed |
//! | --- | --- | --- |
//! | order | H, then W | W, then H |
//! | before the steps on a factor | nothing | columns of W to sum 1, with W̄; rows of H and H̄ the other way |
//! | | | χ divided by max Kᵀ(−χ)/Kᵀ1 where that exceeds 1, column by column |
//! | objective | ε = 2.2e-16 inside the logarithm | D |
//!
//! With one factor fixed there is no switch from one problem to the other, so neither does anything before the
//! steps, and both are Algorithm 1 on every column. `docs/solvers.md` has all differences, with reasons and with
//! what the other readings of the page come to.

use super::method::{Built, Method, Pair};
use super::{Setup, Side, State, Update};
use crate::block::{Block, DictionaryParts, HalfProblem, MOST_COLUMNS, Terms, Work};
use crate::kernel::{DualStep, Lanes, Ratio, TileMap};
use crate::linalg::{gram, spectral_norm};
use crate::matrix::{Mat, transpose_into};
use crate::primal_dual::{PrimalDual, Prox};
use crate::{Result, Scalar};

/// The dual and the extrapolated factors, which persist.
pub struct FpaAuthors<'a, T> {
    halves: [HalfProblem<'a, T>; 2],
    /// χ (n × m) and χᵀ (m × n); only the one that belongs to the half-step under way is up to date.
    chi: [Mat<T>; 2],
    /// x̄ for H and for Wᵀ.
    x_bar: [Mat<T>; 2],
    update: Update,
    /// What moves first; χ is up to date for it between two sweeps.
    first: Side,
    printed: bool,
}

/// See [`Solver::FpaAuthors`](crate::Solver::FpaAuthors).
pub fn build<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    make(setup, factors, false)
}

/// See [`Solver::FpaPrinted`](crate::Solver::FpaPrinted).
pub fn build_printed<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    make(setup, factors, true)
}

fn make<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>, printed: bool) -> Built<'a, T> {
    let (n, m, r) = (factors.wt.cols(), factors.h.cols(), factors.h.rows());
    let half = |data| HalfProblem::new(data, setup.pool, r, DictionaryParts::default(), Terms::default());
    let chi = [Mat::try_zeros(n, m)?, Mat::try_zeros(m, n)?];
    let x_bar = [factors.h.clone(), factors.wt.clone()];
    let update = setup.settings.update;
    let first = match update {
        Update::Both if !printed => Side::H,
        Update::H => Side::H,
        _ => Side::W,
    };
    let mut new = FpaAuthors { halves: setup.data.map(half), chi, x_bar, update, first, printed };
    new.start_dual(factors);
    if first == Side::W {
        new.turn_dual(0);
    }
    Ok(Box::new(new))
}

impl<T: Scalar> FpaAuthors<'_, T> {
    /// χ = −V/(WH), each column divided by s = max_k (Wᵀ(−χ))_k/(Wᵀ1)_k.
    fn start_dual(&mut self, factors: &Pair<T>) {
        let (r, n) = (factors.h.rows(), factors.wt.cols());
        self.halves[0].set(&factors.wt);
        let (x, chi) = (self.x_bar[0].as_mut_slice(), self.chi[0].as_mut_slice());
        self.halves[0].for_each((x, r), (chi, n), |b, x, chi, work| {
            let Work { tile, evidence, .. } = work;
            let mut keep = KeepRatio { ratio: Ratio { a: b.a }, t: chi };
            b.pass(x, Some(&mut evidence.g), tile, &mut keep);
            chi.iter_mut().for_each(|y| *y = -*y);
            evidence.g.iter_mut().for_each(|g| *g = -*g);
            divide(b, chi, &evidence.g, T::ZERO);
        });
    }

    fn half_step(&mut self, side: Side, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        // What exceeds this is divided by it.
        let bound = if self.printed && self.update == Update::Both { T::ONE } else { T::INFINITY };
        let (half, side) = (&mut self.halves[side as usize], side as usize);
        half.set(kt);
        let norm = spectral_norm(&gram(kt));
        let mass: f64 = kt.row_sums().iter().sum();
        let (p, r) = (kt.cols() as f64, kt.rows() as f64);
        let steps_of = |sum: f64| {
            let sigma = (p / r).sqrt() * mass / (sum * norm);
            let tau = (r / p).sqrt() * sum / (mass * norm);
            // A column with nothing in it would divide by zero.
            if sum > 0.0 { (T::from_f64(sigma), T::from_f64(tau)) } else { (T::ZERO, T::ZERO) }
        };
        // x and x̄ travel together as the two halves of a column of 2r entries.
        let (r, mut pair) = (kt.rows(), stack(x, &self.x_bar[side]));
        half.for_each(
            (pair.as_mut_slice(), 2 * r),
            (self.chi[side].as_mut_slice(), kt.cols()),
            |b, pair, chi, work| {
                let Work { tile, evidence, .. } = &mut *work;
                if bound < T::INFINITY {
                    b.back(chi, &mut evidence.g, tile);
                    divide(b, chi, &evidence.g, bound);
                }
                block_steps(b, pair, chi, work, steps, steps_of);
            },
        );
        unstack(&pair, x, &mut self.x_bar[side]);
    }

    /// Columns of W to sum 1, and W̄ with them; the rows of H and H̄ the other way, so that WH stays.
    fn normalize(&mut self, factors: &mut Pair<T>) {
        let sums = factors.wt.row_sums();
        let [h_bar, wt_bar] = &mut self.x_bar;
        for (x, up) in [(&mut factors.wt, false), (wt_bar, false), (&mut factors.h, true), (h_bar, true)] {
            for column in x.as_mut_slice().chunks_mut(sums.len()) {
                for (x, sum) in column.iter_mut().zip(&sums).filter(|(_, sum)| **sum > 0.0) {
                    let scale = if up { *sum } else { 1.0 / *sum };
                    *x = T::from_f64(x.to_f64() * scale);
                }
            }
        }
    }

    /// Brings χ into the shape of the other half-step.
    fn turn_dual(&mut self, from: usize) {
        let [first, second] = &mut self.chi;
        let (from, to) = if from == 0 { (first, second) } else { (second, first) };
        transpose_into(self.halves[0].pool, (from.rows(), from.as_slice()), to);
    }
}

impl<T: Scalar> Method<T> for FpaAuthors<'_, T> {
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize) {
        let second = if self.first == Side::H { Side::W } else { Side::H };
        for side in [self.first, second] {
            if self.printed && self.update == Update::Both {
                self.normalize(factors);
            }
            if self.update.moves(side) {
                let (kt, x) = factors.split(side);
                self.half_step(side, kt, x, steps);
            }
            if self.update == Update::Both {
                self.turn_dual(side as usize);
            }
        }
    }

    /// In f32 rounding would make it no bound.
    fn duals(&mut self, factors: &mut Pair<T>) -> Option<(Side, Vec<f64>)> {
        if self.update == Update::Both || size_of::<T>() < size_of::<f64>() {
            return None;
        }
        let (side, kt) = (self.first, factors.split(self.first).0);
        let (half, chi) = (&mut self.halves[side as usize], &mut self.chi[side as usize]);
        half.set(kt);
        let mut duals = vec![0.0; chi.cols()];
        let p = chi.rows();
        half.for_each((chi.as_mut_slice(), p), (&mut duals, 1), |b, chi, duals, work| {
            let Work { tile, evidence, .. } = work;
            b.back(chi, &mut evidence.g, tile);
            for (c, (dual, g)) in duals.iter_mut().zip(evidence.g.chunks(b.r)).enumerate() {
                let column = c * b.p..(c + 1) * b.p;
                let terms = b.a[column.clone()].iter().zip(&chi[column]).filter(|(a, _)| **a > T::ZERO);
                let logs: f64 = terms.map(|(a, y)| a.to_f64() * (-y.to_f64()).ln()).sum();
                *dual = logs - b.sums[c] * violation(b, g).to_f64().ln();
            }
        });
        // An empty column has nothing to explain.
        duals.iter_mut().filter(|dual| dual.is_nan()).for_each(|dual| *dual = 0.0);
        Some((side, duals))
    }

    fn save(&self, state: &mut State) {
        let [h, w] = &self.x_bar;
        state.put_array("x_bar.h", h);
        state.put_array("x_bar.w", w);
        state.put_array("chi", &self.chi[self.first as usize]);
    }

    fn load(&mut self, state: &State) -> Result<()> {
        let [h, w] = &mut self.x_bar;
        state.fill("x_bar.h", h)?;
        state.fill("x_bar.w", w)?;
        state.fill("chi", &mut self.chi[self.first as usize])
    }
}

/// max Kᵀ(−χ)/Kᵀ1 of a column, from g = Kᵀχ; it is feasible if that is at most 1.
fn violation<T: Scalar>(b: &Block<'_, T>, g: &[T]) -> T {
    let live = g.iter().zip(b.k_sum).filter(|(_, k)| **k > T::ZERO);
    live.map(|(g, k)| -*g / *k).fold(T::ZERO, T::max)
}

/// Divides the columns of χ that are infeasible by more than the bound.
fn divide<T: Scalar>(b: &Block<'_, T>, chi: &mut [T], g: &[T], bound: T) {
    for (chi, g) in chi.chunks_mut(b.p).zip(g.chunks(b.r)) {
        let s = violation(b, g);
        if s > bound {
            chi.iter_mut().for_each(|y| *y = *y / s);
        }
    }
}

/// The steps of one block; a column with nothing in it gets zero weights.
fn block_steps<T: Scalar>(
    b: &Block<'_, T>,
    pair: &mut [T],
    chi: &mut [T],
    work: &mut Work<T>,
    steps: usize,
    steps_of: impl Fn(f64) -> (T, T),
) {
    let Work { tile, evidence, x, x_bar, tau, simplex, .. } = work;
    let r = b.r;
    let mut sigmas = [T::ZERO; MOST_COLUMNS];
    for (c, pair) in pair.chunks(2 * r).enumerate() {
        let (sigma, step) = steps_of(b.sums[c]);
        sigmas[c] = sigma;
        tau[c * r..][..r].fill(step);
        x[c * r..][..r].copy_from_slice(&pair[..r]);
        x_bar[c * r..][..r].copy_from_slice(&pair[r..]);
        if b.sums[c] == 0.0 {
            x[c * r..][..r].fill(T::ZERO);
        }
    }
    let g = &mut evidence.g;
    let mut primal_dual = PrimalDual { prox: Prox::NonNegative, tile, x, x_bar, tau, g, simplex };
    for _ in 0..steps {
        primal_dual.step(b, &mut DualStep::by_column(b.a, &sigmas[..b.q], chi));
    }
    for (c, pair) in pair.chunks_mut(2 * r).enumerate() {
        pair[..r].copy_from_slice(&primal_dual.x[c * r..][..r]);
        pair[r..].copy_from_slice(&primal_dual.x_bar[c * r..][..r]);
    }
}

/// a/z, which is also kept.
struct KeepRatio<'a, T> {
    ratio: Ratio<'a, T>,
    t: &'a mut [T],
}

impl<T: Scalar> TileMap<T> for KeepRatio<'_, T> {
    #[inline(always)]
    fn map<L: Lanes<T>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let t = self.ratio.map(column, at, live, z);
        t.store(self.t, at, live);
        t
    }
}

fn stack<T: Scalar>(x: &Mat<T>, bar: &Mat<T>) -> Mat<T> {
    let r = x.rows();
    Mat::from_fn(2 * r, x.cols(), |i, j| if i < r { x[(i, j)] } else { bar[(i - r, j)] })
}

fn unstack<T: Scalar>(pair: &Mat<T>, x: &mut Mat<T>, bar: &mut Mat<T>) {
    let r = x.rows();
    for j in 0..x.cols() {
        x.col_mut(j).copy_from_slice(&pair.col(j)[..r]);
        bar.col_mut(j).copy_from_slice(&pair.col(j)[r..]);
    }
}
