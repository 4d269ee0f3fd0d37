//! The last stage: the primal-dual algorithm, for columns that the faster stages did not solve.
//!
//! [`primal_dual`](crate::primal_dual) defines the step and its letters. The metric here has a tenth of the
//! even spread. Because the steps continue until the duality gap is small, the column is *restarted* now and
//! then: the metric is recomputed at the current x, and ω moves half-way (in logarithms) to the ratio of the
//! distances that x and χ have moved since the last restart, measured in the metric, as in PDLP for linear
//! programs (Applegate et al. 2021). A restart takes place when the gap has decreased to a fifth, or when
//! more than a third of all steps were taken since the last one. Every check tries two dual points, a/(Kx)
//! and −χ. The best primal and dual values found make the certificate.

use super::{ColumnInfo, Job};
use crate::block::{Block, Work};
use crate::kernel::{self, DualStep, Keep, LogSums};
use crate::primal_dual::{Metric, PrimalDual, Prox};

/// Steps between two checks of the gap. A check costs about as much as one and a half steps.
const CHECK_EVERY: usize = 20;
/// The share of the even spread that the metric adds to x.
const SPREAD: f64 = 0.1;
/// Initial ω.
const FIRST_WEIGHT: f64 = 3.0;

/// Updates the weights `x` of the only column of a block, which has taken `before` steps, until it is
/// certified or must stop.
pub(super) fn run(
    job: &Job,
    b: &Block<'_, f64>,
    x: &mut [f64],
    before: usize,
    work: &mut Work<f64>,
) -> ColumnInfo {
    work.x[..b.r].copy_from_slice(x);
    work.x_best[..b.r].copy_from_slice(x);
    let (weight, primal, gap) = (FIRST_WEIGHT, f64::INFINITY, f64::INFINITY);
    // The dual point θ = 1 is always feasible, and its value is 0.
    let dual = 0.0;
    let mut column = Column { b, work, weight, primal, dual, gap_then: gap, restarted: 0, ray: 1.0, gap };
    column.check(f64::NEG_INFINITY);
    column.first_dual();
    column.restart(0);
    let mut steps = 0;
    while !job.enough(column.primal - column.dual, b.sums[0]) && !job.reached(before + steps) {
        let some = CHECK_EVERY.min(job.settings.max_iter - before - steps);
        let from_chi = column.steps(some);
        steps += some;
        column.check(from_chi);
        let length = steps - column.restarted;
        if column.gap <= 0.2 * column.gap_then || length * 3 > steps {
            column.adapt_weight();
            column.restart(steps);
        }
    }
    let Column { primal, dual, work, .. } = column;
    x.copy_from_slice(&work.x_best[..b.r]);
    job.close(b, x, (primal, dual, false), before + steps, (&mut work.tile, &mut work.evidence.g))
}

/// The state of a column.
struct Column<'a, 'b> {
    b: &'a Block<'b, f64>,
    work: &'a mut Work<f64>,
    /// ω.
    weight: f64,
    /// The best primal and dual values found.
    primal: f64,
    dual: f64,
    /// The gap and the step of the last restart.
    gap_then: f64,
    restarted: usize,
    /// At the last check: the factor to the best ray, and the gap of the current pair.
    ray: f64,
    gap: f64,
}

impl Column<'_, '_> {
    /// Takes some primal-dual steps. Returns the dual value of the final χ.
    fn steps(&mut self, count: usize) -> f64 {
        let (b, Work { tile, evidence, sigma, chi, x, x_bar, tau, simplex, .. }) = (self.b, &mut *self.work);
        let g = &mut evidence.g;
        let mut primal_dual = PrimalDual { prox: Prox::NonNegative, tile, x, x_bar, tau, g, simplex };
        for _ in 0..count {
            primal_dual.step(b, &mut DualStep::<_, false>::new(b.a, sigma, chi));
        }
        let (x, g) = (&x[..b.r], &mut evidence.g[..b.r]);
        g.iter_mut().for_each(|g| *g = -*g);
        b.cost.dual(0, b.sums[0], x, kernel::weighted_log(b.a, chi), g)
    }

    /// Computes the primal value on the best ray, the two dual values, and the gap.
    fn check(&mut self, from_chi: f64) {
        let (b, sum) = (self.b, self.b.sums[0]);
        let Work { tile, evidence, z, x, x_best, .. } = &mut *self.work;
        let (x, g) = (&x[..b.r], &mut evidence.g[..b.r]);
        let mut map = (Keep { z: &mut z[..], p: b.p, height: b.p }, LogSums::certifying(b.a, 1));
        b.pass(x, Some(g), tile, &mut map);
        self.ray = b.cost.ray(0, sum, x);
        let primal = b.cost.value(0, sum, self.ray, map.1.sum(0), x);
        let from_x = primal - b.cost.gap(0, sum, self.ray, x, g);
        let dual = if from_x.is_finite() { from_x.max(from_chi) } else { from_chi };
        self.gap = if primal.is_finite() { primal - dual } else { f64::INFINITY };
        self.dual = self.dual.max(dual);
        if primal < self.primal {
            self.primal = primal;
            x_best.iter_mut().zip(x).for_each(|(best, x)| *best = *x * self.ray);
        }
    }

    /// χ = −a/(Kx), scaled to be feasible.
    fn first_dual(&mut self) {
        let Work { evidence, z, chi, .. } = &mut *self.work;
        let live = evidence.g.iter().zip(self.b.cost.of(0)).filter(|(_, c)| **c > 0.0);
        let s = live.map(|(g, c)| g / c).fold(0.0, f64::max);
        for ((chi, a), z) in chi.iter_mut().zip(self.b.a).zip(z.iter()) {
            *chi = if *a > 0.0 { -a / (*z * s) } else { 0.0 };
        }
    }

    /// Moves ω half-way to the ratio of the distances that x and χ have moved since the last restart.
    fn adapt_weight(&mut self) {
        let (Work { sigma, chi, chi_then, x, x_then, tau, .. }, b) = (&*self.work, self.b);
        let primal = moved(&x[..b.r], x_then, tau) * self.weight;
        let dual = moved(&chi[..b.p], chi_then, sigma) / self.weight;
        let ratio = (primal / dual).sqrt();
        if ratio.is_finite() && ratio > 0.0 {
            self.weight = (self.weight * ratio.clamp(1e-2, 1e3)).sqrt();
        }
    }

    /// Recomputes the metric at the current x, on its best ray.
    fn restart(&mut self, steps: usize) {
        let (b, ray) = (self.b, self.ray);
        let Work { z, sigma, chi, chi_then, x, x_bar, x_then, tau, .. } = &mut *self.work;
        let metric = Metric::new(self.weight, SPREAD, b.sums[0], b.r);
        for ((sigma, z), share) in sigma.iter_mut().zip(z.iter()).zip(b.shares) {
            *sigma = metric.sigma(*z * ray, *share);
        }
        x[..b.r].iter_mut().for_each(|x| *x *= ray);
        metric.taus(b.k_sum, &x[..b.r], tau);
        x_bar[..b.r].copy_from_slice(&x[..b.r]);
        x_then[..b.r].copy_from_slice(&x[..b.r]);
        chi_then[..b.p].copy_from_slice(&chi[..b.p]);
        self.gap_then = self.gap;
        self.restarted = steps;
    }
}

/// Σ (x − then)²/step.
fn moved(x: &[f64], then: &[f64], step: &[f64]) -> f64 {
    let numbers = x.iter().zip(then).zip(step).filter(|(_, step)| **step > 0.0);
    numbers.map(|((x, t), s)| (x - t) * (x - t) / s).sum()
}
