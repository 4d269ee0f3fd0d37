//! The first-order primal-dual algorithm for the alternation. [`primal_dual`](crate::primal_dual) defines the
//! step and its letters.
//!
//! The metric is x plus 1 % (less if ω < 1) of the even spread. Every half-step starts from x on its best ray
//! and from χ = −a/Kx. At its end the divergence of each column is compared with that at the start. If it has
//! increased, the column takes the multiplicative update instead, with a small value for zeros that should
//! grow, and ω is halved. Otherwise ω grows by a tenth, up to 8. So no half-step increases the divergence,
//! except for rounding errors (16 ε Σa), and ω adapts to each column. A factorisation begins with ten
//! iterations of multiplicative updates.
//!
//! The variant for topic models keeps every x on the simplex {x ≥ 0, ΣKx = Σa}, which contains the optimum.
//! If some weights are held, it does not, and the plain step is used.

use super::method::{Column, HalfStep, Moving, set_values};
use crate::Scalar;
use crate::block::{Block, DictionaryParts, Layout, MOST_COLUMNS, Work};
use crate::kernel::{DualStep, Lanes, LogSums, Ratio, TileMap};
use crate::primal_dual::{Metric, PrimalDual, Prox};

/// The share of the even spread that the metric adds to x.
const SPREAD: f64 = 0.01;
pub const FIRST_WEIGHT: f64 = 2.0;
const LARGEST_WEIGHT: f64 = 8.0;
const SMALLEST_WEIGHT: f64 = 1e-3;
/// Start value of a zero weight that should grow, as a share of the even spread.
const WAKE: f64 = 1e-6;

/// The half-step. The columns store ω.
pub struct Fpa(Prox);

/// Weights ≥ 0.
pub static FPA: Fpa = Fpa(Prox::NonNegative);
/// Weights on the simplex.
pub static SIMPLEX: Fpa = Fpa(Prox::Simplex);

impl<S: Scalar> HalfStep<S> for Fpa {
    fn name(&self) -> &'static str {
        if matches!(self.0, Prox::Simplex) { "simplex" } else { "fpa" }
    }

    fn parts(&self) -> DictionaryParts {
        DictionaryParts { shares: true, arrays: true, ..DictionaryParts::default() }
    }

    fn layout(&self) -> Layout {
        Layout::Gathered(1)
    }

    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>) {
        let Moving { blocks, x, columns, steps, measure } = moving;
        let (b, n) = (&blocks[0], x.len());
        let Work { tile, evidence, z, sigma, chi, x_bar, x_best, tau, simplex, .. } = work;
        let (g, x_mu) = (&mut evidence.g[..], &mut x_best[..n]);
        if measure {
            let mut logs = LogSums::new(b.a, b.a, b.q);
            b.pass(x, None, tile, &mut logs);
            set_values(b, x, columns, |c| logs.sum(c));
        }
        let mut costs = [0.0; MOST_COLUMNS];
        for (c, x) in x.chunks_mut(b.r).enumerate() {
            b.cost.move_to_best_ray(c, b.sums[c], x);
            costs[c] = b.cost.total(c, x);
        }

        // The opening pass computes Kx, the step sizes, the dual point −a/Kx, the first dual step from there
        // (for which Kx̄ = Kx), and the multiplicative update as a fallback.
        let mut opening = Opening::new(b, columns, z, sigma, chi);
        b.pass(x, Some(g), tile, &mut opening);
        let metrics = opening.metrics;
        x_mu.copy_from_slice(x);
        for (c, x) in x_mu.chunks_mut(b.r).enumerate() {
            let at = c * b.r..(c + 1) * b.r;
            metrics[c].taus(b.k_sum, x, &mut tau[at.clone()]);
            b.cost.multiply(c, x, &g[at.clone()]);
            b.cost.wake(c, x, &g[at], WAKE * b.sums[c] / b.r as f64);
        }

        b.back(chi, g, tile);
        let mut primal_dual = PrimalDual { prox: self.0, tile, x, x_bar, tau, g, simplex };
        primal_dual.primal(b);
        for _ in 1..steps {
            primal_dual.step(b, &mut DualStep::<_, false>::new(b.a, sigma, chi));
        }

        // Σ a·ln(z/Kx), with the z of the opening pass.
        let mut change = LogSums::new(b.a, z, b.q);
        b.pass(x, None, tile, &mut change);
        for (c, (x, x_mu)) in x.chunks_mut(b.r).zip(x_mu.chunks(b.r)).enumerate() {
            keep_the_better(b, c, x, &mut columns[c].weight, costs[c], change.sum(c), x_mu);
        }
    }
}

/// Leaves a column on its best ray if the divergence has not increased, else on the multiplicative update.
/// `cost` is G at the start, and `change` is Σ a·ln(z/Kx) with the z of the start.
fn keep_the_better<S: Scalar>(
    b: &Block<'_, S>,
    c: usize,
    x: &mut [S],
    weight: &mut f64,
    cost: f64,
    change: f64,
    x_mu: &[S],
) {
    let sum = b.sums[c];
    let ray = b.cost.ray(c, sum, x);
    b.cost.move_to_best_ray(c, sum, x);
    let rise = if sum == 0.0 { 0.0 } else { change - sum * ray.ln() + b.cost.total(c, x) - cost };
    // At the optimum the sign of the change is rounding error, so it must not decide.
    if rise <= 16.0 * S::EPSILON.to_f64() * sum {
        *weight = (*weight * 1.1).min(LARGEST_WEIGHT);
    } else {
        x.copy_from_slice(x_mu);
        *weight = (*weight * 0.5).max(SMALLEST_WEIGHT);
    }
}

/// The opening pass as a map of z = Kx.
struct Opening<'a, S> {
    ratio: Ratio<'a, S>,
    shares: &'a [S],
    metrics: [Metric<S>; MOST_COLUMNS],
    z: &'a mut [S],
    sigma: &'a mut [S],
    chi: &'a mut [S],
}

impl<'a, S: Scalar> Opening<'a, S> {
    fn new(
        b: &Block<'a, S>,
        columns: &[Column],
        z: &'a mut [S],
        sigma: &'a mut [S],
        chi: &'a mut [S],
    ) -> Self {
        let mut metrics = [Metric { weight: S::ONE, spread: S::ZERO }; MOST_COLUMNS];
        for (c, column) in columns.iter().enumerate() {
            metrics[c] = Metric::new(column.weight, SPREAD * column.weight.min(1.0), b.sums[c], b.r);
        }
        Self { ratio: Ratio { a: b.a }, shares: b.shares, metrics, z, sigma, chi }
    }
}

impl<S: Scalar> TileMap<S> for Opening<'_, S> {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let t = self.ratio.map(column, at, live, z);
        let row = at - column * self.shares.len();
        let token = z.token();
        let (a, share) = (L::load(token, self.ratio.a, at, live), L::load(token, self.shares, row, live));
        let Metric { weight, spread } = self.metrics[column];
        let [one, weight, spread] =
            [L::splat(token, S::ONE), L::splat(token, weight), L::splat(token, spread)];
        let sigma = one.over(weight * (z + spread * share));
        z.store(self.z, at, live);
        sigma.store(self.sigma, at, live);
        let chi = L::splat(token, S::ZERO) - t;
        chi.dual_step(a, sigma, z).where_positive(a).store(self.chi, at, live);
        t
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        self.ratio.fetch(at);
    }
}
