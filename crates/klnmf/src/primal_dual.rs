//! The last part of a decomposition: the primal-dual algorithm, for columns that nothing quicker has settled.
//!
//! | letter | meaning |
//! | --- | --- |
//! | a, x | a column of V and its weights |
//! | χ | the dual point, negative where a > 0 and 0 elsewhere |
//! | w | the metric: x plus a tenth of an even spread of Σa over the atoms |
//! | σ, τ | dual and primal steps: σ = 1/(c·Kw), τ = c·w/Kᵀ1 |
//! | c | the primal weight |
//!
//! The steps are those of [the alternation](crate::Solver::Fpa), but here they go on until the duality gap of the column
//! is small, so the column is *restarted* now and then: the metric is renewed at the present x, and c moves half-way (in
//! logarithms) to the ratio of the distances that x and χ have travelled since the last restart, measured in the metric, as
//! PDLP does for linear programs. A restart happens when the gap has fallen to a fifth, or when the last one lies more
//! than a third of all steps back. Two dual points are tried at every check, −a/(Kx) and χ, and the best primal and the
//! best dual value seen make the certificate. A column that is done leaves its block and costs nothing more.

use crate::block::{Block, Work};
use crate::decompose::{ColumnInfo, Limits, divergence_of};
use crate::divergence::{largest_ratio, non_negative};
use crate::map::{DualStep, Map, Ratio};
use crate::{Scalar, kernel};
use std::ops::Range;

/// Steps between two looks at the gap, which cost about as much as one step and a half.
const CHECK_EVERY: usize = 20;
/// The share of the even spread that the metric adds to x.
const SPREAD: f64 = 0.1;

/// One block of columns on its way to the optimum.
pub(crate) struct PrimalDual<'a, 'b> {
    pub b: &'a Block<'b, f64>,
    pub tol: f64,
    pub limits: &'a Limits,
    /// Where the columns begin, r × q, and the steps that they have taken to get there.
    pub start: &'a [f64],
    pub steps: usize,
}

/// A column that is still being worked on. Its place in the compacted arrays is its place in the list.
struct Slot {
    /// Its number in the block.
    column: usize,
    /// Σa.
    sum: f64,
    /// The primal weight.
    c: f64,
    /// The best primal and dual values seen.
    primal: f64,
    dual: f64,
    /// The gap at the last restart, and when that was.
    gap_then: f64,
    restarted: usize,
    /// At the last check: the factor to the best ray, and the gap of the present pair.
    ray: f64,
    gap_now: f64,
    /// max_k (K_Sᵀ(−χ))_k/(Kᵀ1)_k of the present χ.
    s_chi: f64,
    /// Σ_S a·ln(a/z) while a check is under way.
    logs: f64,
}

/// The compacted arrays of the active columns: p × q and r × q, names as in the head of this file.
struct Arrays<'w> {
    tile: &'w mut [f64],
    a: &'w mut [f64],
    z: &'w mut [f64],
    sigma: &'w mut [f64],
    chi: &'w mut [f64],
    chi_then: &'w mut [f64],
    x: &'w mut [f64],
    x_bar: &'w mut [f64],
    x_then: &'w mut [f64],
    x_best: &'w mut [f64],
    tau: &'w mut [f64],
    g: &'w mut [f64],
}

impl PrimalDual<'_, '_> {
    /// Fills `out` (r × q) and `info` for every column of the block that has not converged.
    pub fn run<T: Scalar>(&self, out: &mut [T], info: &mut [ColumnInfo], work: &mut Work<f64>) {
        let Work { tile, big: [a, z, sigma, chi, chi_then], small: [x, x_bar, x_then, x_best, tau, g, _] } =
            work;
        let mut arrays = Arrays { tile, a, z, sigma, chi, chi_then, x, x_bar, x_then, x_best, tau, g };
        let mut slots = self.open(info, &mut arrays);
        self.check(&mut slots, &mut arrays);
        for (place, slot) in slots.iter_mut().enumerate() {
            self.first_dual(place, &mut arrays);
            self.restart(place, slot, &mut arrays, 0);
        }
        let mut iteration = 0;
        loop {
            let last = self.limits.reached(self.steps + iteration);
            self.close_finished(&mut slots, &mut arrays, out, info, self.steps + iteration, last);
            if slots.is_empty() {
                break;
            }
            let steps = CHECK_EVERY.min(self.limits.max_iter - self.steps - iteration);
            (0..steps).for_each(|_| self.step(slots.len(), &mut arrays));
            iteration += steps;
            self.check(&mut slots, &mut arrays);
            for (place, slot) in slots.iter_mut().enumerate() {
                let length = iteration - slot.restarted;
                if slot.gap_now <= 0.2 * slot.gap_then || length * 3 > iteration {
                    self.adapt_weight(place, slot, &arrays);
                    self.restart(place, slot, &mut arrays, iteration);
                }
            }
        }
    }

    /// The columns that have not converged.
    fn open(&self, info: &[ColumnInfo], arrays: &mut Arrays<'_>) -> Vec<Slot> {
        let Block { p, q, r, .. } = *self.b;
        let mut slots = Vec::with_capacity(q);
        for column in (0..q).filter(|c| !info[*c].converged) {
            let sum = self.b.sums[column];
            let place = slots.len();
            arrays.a[place * p..][..p].copy_from_slice(&self.b.a[column * p..][..p]);
            let start = &self.start[column * r..][..r];
            arrays.x[place * r..][..r].copy_from_slice(start);
            arrays.x_best[place * r..][..r].copy_from_slice(start);
            // There is no dual point yet; what an earlier block left here must not count as one.
            arrays.chi[place * p..][..p].fill(0.0);
            slots.push(Slot {
                column,
                sum,
                c: 3.0,
                primal: f64::INFINITY,
                // The point y = −1 is always feasible, and its value is 0.
                dual: 0.0,
                gap_then: f64::INFINITY,
                restarted: 0,
                ray: 1.0,
                gap_now: f64::INFINITY,
                s_chi: f64::INFINITY,
                logs: 0.0,
            });
        }
        slots
    }

    /// The block with as many columns as are still active.
    fn active(&self, q: usize) -> Block<'_, f64> {
        Block { q, ..*self.b }
    }

    /// One primal-dual step of `q` columns.
    fn step(&self, q: usize, arrays: &mut Arrays<'_>) {
        let b = self.active(q);
        let Arrays { tile, a, sigma, chi, x, x_bar, tau, g, .. } = arrays;
        b.pass_map(x_bar, Some(g), tile, &mut DualStep::new(a, sigma, chi));
        for place in 0..q {
            let at = atoms(&b, place);
            crate::solver::fpa::primal_step(
                &mut x[at.clone()],
                &mut x_bar[at.clone()],
                &tau[at.clone()],
                &g[at],
                b.k_sum,
            );
        }
    }

    /// Looks at every active column: the primal value on the best ray, the two dual values, the gap.
    fn check(&self, slots: &mut [Slot], arrays: &mut Arrays<'_>) {
        let b = self.active(slots.len());
        let Arrays { tile, a, z: z_all, chi, x, x_best, g, .. } = arrays;
        for (place, slot) in slots.iter_mut().enumerate() {
            slot.logs = slot.sum;
            // g still holds K_Sᵀχ of the last step.
            slot.s_chi = largest_ratio(g[atoms(&b, place)].iter().map(|g| -g), b.k_sum);
        }
        b.pass(Some(x), Some(g), tile, |rows, z| {
            for (place, z) in z.chunks_mut(rows.len()).enumerate() {
                let part = b.part(place, &rows);
                let (terms, on_support) = kernel::divergence_terms(&a[part.clone()], z, 0.0);
                slots[place].logs += terms - on_support;
                z_all[part.clone()].copy_from_slice(z);
                Ratio::new(a).apply(place, part.start, z);
            }
        });
        for (place, slot) in slots.iter_mut().enumerate() {
            let at = atoms(&b, place);
            let total = b.total(&x[at.clone()]);
            slot.ray = if total > 0.0 { slot.sum / total } else { 1.0 };
            let primal = slot.logs - slot.sum * slot.ray.ln();
            let from_x =
                primal - slot.sum * (largest_ratio(g[at.clone()].iter().copied(), b.k_sum) / slot.ray).ln();
            let column = b.part(place, &(0..b.p));
            let from_chi = dual_value(&a[column.clone()], &chi[column], slot.sum, slot.s_chi);
            let dual = if from_x.is_finite() { from_x.max(from_chi) } else { from_chi };
            slot.gap_now = if primal.is_finite() { primal - dual } else { f64::INFINITY };
            slot.dual = slot.dual.max(dual);
            if primal < slot.primal {
                slot.primal = primal;
                x_best[at.clone()].iter_mut().zip(&x[at]).for_each(|(best, x)| *best = *x * slot.ray);
            }
        }
    }

    /// χ = −a/(Kx), divided so that it is feasible.
    fn first_dual(&self, place: usize, arrays: &mut Arrays<'_>) {
        let Block { p, .. } = *self.b;
        let column = place * p..(place + 1) * p;
        let s = largest_ratio(arrays.g[atoms(self.b, place)].iter().copied(), self.b.k_sum);
        let Arrays { a, z, chi, .. } = arrays;
        for ((chi, a), z) in chi[column.clone()].iter_mut().zip(&a[column.clone()]).zip(&z[column]) {
            *chi = if *a > 0.0 { -a / (z * s) } else { 0.0 };
        }
    }

    /// Moves c half-way to the ratio of what x and χ have travelled since the last restart.
    fn adapt_weight(&self, place: usize, slot: &mut Slot, arrays: &Arrays<'_>) {
        let (at, column) = (atoms(self.b, place), self.b.part(place, &(0..self.b.p)));
        let primal: f64 = moved(&arrays.x[at.clone()], &arrays.x_then[at.clone()], &arrays.tau[at]) * slot.c;
        let dual: f64 =
            moved(&arrays.chi[column.clone()], &arrays.chi_then[column.clone()], &arrays.sigma[column])
                / slot.c;
        let ratio = (primal / dual).sqrt();
        if ratio.is_finite() && ratio > 0.0 {
            slot.c = (slot.c * ratio.clamp(1e-2, 1e3)).sqrt();
        }
    }

    /// Renews the metric at the present x, moved to its best ray.
    fn restart(&self, place: usize, slot: &mut Slot, arrays: &mut Arrays<'_>, iteration: usize) {
        let Block { p, r, k_sum, u, .. } = *self.b;
        let spread = SPREAD * slot.sum / r as f64;
        let (column, at) = (place * p..(place + 1) * p, atoms(self.b, place));
        let Arrays { z, sigma, chi, chi_then, x, x_bar, x_then, tau, .. } = arrays;
        for ((sigma, z), u) in sigma[column.clone()].iter_mut().zip(&z[column.clone()]).zip(u) {
            *sigma = 1.0 / (slot.c * (z * slot.ray + spread * u));
        }
        for (((x, x_bar), tau), k) in
            x[at.clone()].iter_mut().zip(&mut x_bar[at.clone()]).zip(&mut tau[at.clone()]).zip(k_sum)
        {
            *x *= slot.ray;
            *x_bar = *x;
            *tau = if *k > 0.0 { slot.c * (*x + spread / k) / k } else { 0.0 };
        }
        x_then[at.clone()].copy_from_slice(&x[at]);
        chi_then[column.clone()].copy_from_slice(&chi[column]);
        slot.gap_then = slot.gap_now;
        slot.restarted = iteration;
    }

    /// Writes out the columns that are done, or all of them if this is the end, and closes the ranks.
    fn close_finished<T: Scalar>(
        &self,
        slots: &mut Vec<Slot>,
        arrays: &mut Arrays<'_>,
        out: &mut [T],
        info: &mut [ColumnInfo],
        iterations: usize,
        last: bool,
    ) {
        let mut place = 0;
        while place < slots.len() {
            let slot = &slots[place];
            let converged = slot.primal - slot.dual <= self.tol * slot.sum && self.tol > 0.0;
            if !converged && !last {
                place += 1;
                continue;
            }
            let out = &mut out[slot.column * self.b.r..][..self.b.r];
            let x = &arrays.x_best[atoms(self.b, place)];
            out.iter_mut().zip(x).for_each(|(out, x)| *out = T::from_f64(*x));
            // The extrapolated point of a column that leaves is not needed any more.
            let room = &mut arrays.x_bar[atoms(self.b, place)];
            let divergence = divergence_of(self.b, slot.column, out, arrays.tile, room);
            // Without a number there is nothing to vouch for.
            let gap = non_negative(divergence - slot.dual);
            let converged = converged && gap.is_finite();
            info[slot.column] = ColumnInfo { divergence, gap, iterations, converged };
            slots.swap_remove(place);
            self.move_column(slots.len(), place, arrays);
        }
    }

    /// Moves an active column to another place.
    fn move_column(&self, from: usize, to: usize, arrays: &mut Arrays<'_>) {
        if from == to {
            return;
        }
        let Block { p, r, .. } = *self.b;
        let Arrays { a, z, sigma, chi, chi_then, x, x_bar, x_then, x_best, tau, g, .. } = arrays;
        for big in [a, z, sigma, chi, chi_then] {
            big.copy_within(from * p..(from + 1) * p, to * p);
        }
        for small in [x, x_bar, x_then, x_best, tau, g] {
            small.copy_within(from * r..(from + 1) * r, to * r);
        }
    }
}

/// The places of a column's atoms in an r × q array.
fn atoms(b: &Block<'_, f64>, place: usize) -> Range<usize> {
    place * b.r..(place + 1) * b.r
}

/// Σ (x − then)²/step.
fn moved(x: &[f64], then: &[f64], step: &[f64]) -> f64 {
    x.iter()
        .zip(then)
        .zip(step)
        .filter(|(_, step)| **step > 0.0)
        .map(|((x, t), s)| (x - t) * (x - t) / s)
        .sum()
}

/// The dual value of χ/s; −∞ where it proves nothing.
fn dual_value(a: &[f64], chi: &[f64], sum: f64, s: f64) -> f64 {
    if s > 0.0 && s.is_finite() { kernel::weighted_log(a, chi) - sum * s.ln() } else { f64::NEG_INFINITY }
}
