//! The first-order primal-dual algorithm (Chambolle & Pock; Yanez & Bach), for the alternation.
//!
//! | letter | meaning |
//! | --- | --- |
//! | a, x | a column of V and its weights |
//! | χ | the dual point, negative on the support S = {a > 0} and 0 off it |
//! | w | the metric: x plus 1 % (less if c < 1) of an even spread of Σa over the atoms, so that zeros can leave |
//! | σ, τ | dual and primal steps: σ = 1/(c·Kw), τ = c·w/Kᵀ1 |
//! | c | the primal weight of the column |
//!
//! One step, on the support of a (rows with a = 0 enter only through Kᵀ1):
//!
//! χ ← χ + σ·Kx̄,  χ ← ½(χ − √(χ² + 4σa)),  x⁺ ← max(x − τ·(K_Sᵀχ + Kᵀ1), 0),  x̄ ← 2x⁺ − x.
//!
//! The steps are diagonal and satisfy Pock & Chambolle's condition (2011, α = 1) by construction; from χ = −a/Kx with
//! c = 1 the first step is the multiplicative update. Every half-step starts from x on its best ray (ΣKx = Σa) and from
//! χ = −a/Kx, and ends with a comparison: if the divergence of the column has risen, the column takes the
//! multiplicative update instead, with zeros that want to grow woken, and halves its c; otherwise c grows by a tenth, up
//! to 8. So no half-step ends worse than it began, up to rounding (16 ε Σa), and c finds its own size column by column. A factorisation begins with
//! ten multiplicative updates of both factors in turn.
//!
//! The form for topic models holds every x on the simplex {x ≥ 0, ΣKx = Σa}, which contains the optimum anyway: the prox
//! is then a [projection](crate::simplex) instead of max(·, 0).

use super::{HalfState, HalfStep, mu};
use crate::block::{Block, MOST_COLUMNS, Work};
use crate::lanes::{Lanes, dual_step};
use crate::map::{DualStep, Logs, Map, Ratio};
use crate::simplex::{LANES, Projection};
use crate::{Mat, Scalar, kernel};

/// The share of the even spread that the metric adds to x.
const SPREAD: f64 = 0.01;
const FIRST_WEIGHT: f64 = 2.0;
const LARGEST_WEIGHT: f64 = 8.0;
const SMALLEST_WEIGHT: f64 = 1e-3;
/// What a zero weight that wants to grow begins with, as a share of the even spread.
const WAKE: f64 = 1e-6;

/// Solver state: the primal weight of every column of V, and of every row.
pub(crate) struct Fpa {
    weights: [Vec<f64>; 2],
    simplex: bool,
}

impl Fpa {
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { weights: [vec![FIRST_WEIGHT; cols], vec![FIRST_WEIGHT; rows]], simplex: false }
    }

    /// The form for topic models: the prox is the projection on the simplex {x ≥ 0, ΣKx = Σa}.
    pub fn on_simplex(rows: usize, cols: usize) -> Self {
        Self { simplex: true, ..Self::new(rows, cols) }
    }
}

impl<T: Scalar> HalfStep<T> for Fpa {
    fn update(&mut self, half: &mut HalfState<'_, '_, T>, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        half.dictionary.set(half.pool, kt);
        let (weights, simplex) = (&mut self.weights[half.side as usize], self.simplex);
        half.for_each_block_with(x, weights, |b, x, c, work| half_step(b, x, c, work, steps, simplex));
    }
}

/// `steps` primal-dual steps on the columns of one block.
fn half_step<T: Scalar>(
    b: &Block<'_, T>,
    x: &mut [T],
    c: &mut [f64],
    work: &mut Work<T>,
    steps: usize,
    simplex: bool,
) {
    let Work { tile, big: [z0, sigma, chi, ..], small: [g, x_mu, tau, x_bar, u, s, ..] } = work;
    for (x, sum) in x.chunks_mut(b.r).zip(b.sums) {
        to_best_ray(b, x, *sum);
    }

    // The opening pass: Kx, the steps, the dual point −a/Kx with the first dual step from there, for which Kx̄ = Kx, and the
    // multiplicative update to fall back on.
    let mut opening = Opening::new(b, c, z0, sigma, chi);
    b.pass_map(x, Some(g), tile, &mut opening);
    opening.primal_steps(b, x, tau);
    x_mu[..x.len()].copy_from_slice(x);
    for ((x, g), sum) in x_mu[..x.len()].chunks_mut(b.r).zip(g.chunks(b.r)).zip(b.sums) {
        mu::multiply(x, g, b.k_sum);
        wake(x, g, b.k_sum, WAKE * sum / b.r as f64);
    }

    for step in 0..steps {
        let x_bar = &mut x_bar[..x.len()];
        if step == 0 {
            b.pass(None, Some(g), tile, |rows, t| {
                for (column, t) in t.chunks_mut(rows.len()).enumerate() {
                    t.copy_from_slice(&chi[b.part(column, &rows)]);
                }
            });
        } else {
            b.pass_map(x_bar, Some(g), tile, &mut DualStep::new(b.a, sigma, chi));
        }
        if simplex {
            simplex_step(b, x, x_bar, tau, g, &mut Projection::new(b.r, u, s));
            continue;
        }
        for column in 0..b.q {
            let at = column * b.r..(column + 1) * b.r;
            primal_step(&mut x[at.clone()], &mut x_bar[at.clone()], &tau[at.clone()], &g[at], b.k_sum);
        }
    }
    keep_the_better(b, x, c, tile, z0, x_mu);
}

/// Scales x so that ΣKx = Σa, the minimum along its ray; weights of an empty column become zero.
fn to_best_ray<T: Scalar>(b: &Block<'_, T>, x: &mut [T], sum: f64) {
    let total = b.total(x);
    if sum == 0.0 {
        x.iter_mut().zip(b.k_sum).filter(|(_, k)| **k > T::ZERO).for_each(|(x, _)| *x = T::ZERO);
    } else if total > 0.0 {
        let scale = T::from_f64(sum / total);
        x.iter_mut().for_each(|x| *x *= scale);
    }
}

/// What the opening pass does with z = Kx.
///
/// The steps are in the metric w = x + spread: σ = 1/(c·Kw), with Kw = Kx + spread·K(1/Kᵀ1), and τ = c·w/Kᵀ1.
struct Opening<'a, T> {
    ratio: Ratio<'a, T>,
    a: &'a [T],
    u: &'a [T],
    /// c and the spread of every column.
    weights: [T; MOST_COLUMNS],
    spreads: [T; MOST_COLUMNS],
    z0: &'a mut [T],
    sigma: &'a mut [T],
    chi: &'a mut [T],
}

impl<'a, T: Scalar> Opening<'a, T> {
    fn new(b: &Block<'a, T>, c: &[f64], z0: &'a mut [T], sigma: &'a mut [T], chi: &'a mut [T]) -> Self {
        let (mut weights, mut spreads) = ([T::ONE; MOST_COLUMNS], [T::ZERO; MOST_COLUMNS]);
        for (column, weight) in c.iter().enumerate() {
            weights[column] = T::from_f64(*weight);
            spreads[column] = T::from_f64(SPREAD * weight.min(1.0) * b.sums[column] / b.r as f64);
        }
        Self { ratio: Ratio::new(b.a), a: b.a, u: b.u, weights, spreads, z0, sigma, chi }
    }

    /// τ for the weights x.
    fn primal_steps(&self, b: &Block<'_, T>, x: &[T], tau: &mut [T]) {
        let steps = tau.chunks_mut(b.r).zip(x.chunks(b.r)).zip(self.weights.iter().zip(&self.spreads));
        for ((tau, x), (weight, spread)) in steps {
            for ((tau, x), k) in tau.iter_mut().zip(x).zip(b.k_sum) {
                *tau = if *k > T::ZERO { *weight * (*x + *spread / *k) / *k } else { T::ZERO };
            }
        }
    }
}

impl<T: Scalar> Map<T> for Opening<'_, T> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: Lanes<T, L>) -> Lanes<T, L> {
        let t = self.ratio.map(column, at, live, z);
        let row = at - column * self.u.len();
        let (a, u) = (Lanes::load(self.a, at, live), Lanes::load(self.u, row, live));
        let (weight, spread) = (Lanes::splat(self.weights[column]), Lanes::splat(self.spreads[column]));
        let sigma = Lanes::splat(T::ONE).over(weight * (z + spread * u));
        z.store(self.z0, at, live);
        sigma.store(self.sigma, at, live);
        dual_step(a, sigma, -t, z).where_positive(a).store(self.chi, at, live);
        t
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        self.ratio.fetch(at);
    }
}

/// A multiplicative update cannot leave zero. Where ρ > 1 the divergence falls by leaving it, so the weight gets a little.
fn wake<T: Scalar>(x: &mut [T], g: &[T], k_sum: &[T], little: f64) {
    for ((x, g), k) in x.iter_mut().zip(g).zip(k_sum) {
        if *x == T::ZERO && *g > *k {
            *x = T::from_f64(little / k.to_f64());
        }
    }
}

/// x⁺ ← max(x − τ·(g + Kᵀ1), 0), x̄ ← 2x⁺ − x.
pub(crate) fn primal_step<T: Scalar>(x: &mut [T], x_bar: &mut [T], tau: &[T], g: &[T], k_sum: &[T]) {
    kernel::simd(
        #[inline(always)]
        || {
            for ((((x, x_bar), tau), g), k) in x.iter_mut().zip(x_bar).zip(tau).zip(g).zip(k_sum) {
                let next = (*x - *tau * (*g + *k)).max(T::ZERO);
                *x_bar = next + next - *x;
                *x = next;
            }
        },
    );
}

/// x⁺ ← the point of {x ≥ 0, kᵀx = Σa} nearest to x − τ·g in the metric 1/τ, with k = Kᵀ1; x̄ ← 2x⁺ − x. The linear term
/// of the divergence is constant there.
fn simplex_step<T: Scalar>(
    b: &Block<'_, T>,
    x: &mut [T],
    x_bar: &mut [T],
    tau: &[T],
    g: &[T],
    projection: &mut Projection<'_, T>,
) {
    let (r, k) = (b.r, b.k_sum);
    x_bar.copy_from_slice(x);
    for (group, x) in x.chunks_mut(r * LANES).enumerate() {
        let first = group * LANES;
        let mut totals = [0.0; LANES];
        totals.iter_mut().zip(&b.sums[first..]).for_each(|(total, sum)| *total = *sum);
        projection.load(x, |column, row, x| {
            let (at, k) = ((first + column) * r + row, k[row]);
            (k * (x - tau[at] * g[at]), tau[at] * k * k)
        });
        projection.solve(&totals);
        projection.store(x, |row, value| if k[row] > T::ZERO { value / k[row] } else { T::ZERO });
    }
    x_bar.iter_mut().zip(x).for_each(|(x_bar, x)| *x_bar = *x + *x - *x_bar);
}

/// Ends each column on its best ray if that is no worse than its beginning, else on the multiplicative update.
fn keep_the_better<T: Scalar>(
    b: &Block<'_, T>,
    x: &mut [T],
    c: &mut [f64],
    tile: &mut [T],
    z0: &[T],
    x_mu: &[T],
) {
    // Σ a·ln(z0/z) of every column.
    let mut change = Logs::new(b.a, z0);
    b.pass_map(x, None, tile, &mut change);
    for (column, x) in x.chunks_mut(b.r).enumerate() {
        let (total, sum) = (b.total(x), b.sums[column]);
        // On the best ray z = (Σa/total)·Kx, and the sums of both models are Σa: only the logarithms differ.
        let rise = if sum == 0.0 { 0.0 } else { change.sum(column) + sum * (total / sum).ln() };
        // At the optimum the sign of the change is rounding, and a decision on it would be a coin toss.
        if rise <= 16.0 * T::EPSILON.to_f64() * sum {
            to_best_ray(b, x, sum);
            c[column] = (c[column] * 1.1).min(LARGEST_WEIGHT);
        } else {
            x.copy_from_slice(&x_mu[column * b.r..][..b.r]);
            c[column] = (c[column] * 0.5).max(SMALLEST_WEIGHT);
        }
    }
}
