//! The first stage: sweeps of block Newton steps, which solve most columns within a few sweeps.
//!
//! Certificates are computed on the best ray through x. From a certain number of sweeps on, columns that are
//! still above the tolerance also get Newton's method on the free weights before every certificate. The
//! primal-dual algorithm, which has a guarantee, continues with those that this stage does not solve.

use super::free_set_newton::{self, FreeSetNewton};
use super::{ColumnInfo, Job, columns, spread};
use crate::block::{Block, Work, take};
use crate::solver::descent::{Lists, descend};
use crate::solver::newton::{each_with_z, keep_z};

/// Sweeps before the first certificate. The interval grows by half each time, up to `LONGEST`.
const FIRST: usize = 2;
const LONGEST: usize = 40;
/// Sweeps after which a column gets Newton's method, and after which this stage gives up.
const FREE_SET_AT: usize = 60;
const MOST: usize = 1000;

/// Updates the columns of a group of blocks until they are certified or this stage gives up. Returns the
/// number of steps.
pub(super) fn run(
    job: &Job,
    blocks: &[Block<'_, f64>],
    x: &mut [f64],
    info: &mut [ColumnInfo],
    work: &mut Work<f64>,
) -> usize {
    let (stages, max_iter) = (job.settings.stages, job.settings.max_iter);
    let (mut sweeps, mut pause) = (0, FIRST);
    let used = stages.newton_sweeps || stages.free_set_newton;
    let mut active = std::mem::take(&mut work.active);
    active.all(info.len());
    let lists = Lists { active: &active, first: 0, copied: false };
    while used && sweeps < MOST && !job.reached(sweeps) && info.iter().any(|c| !c.converged) {
        if stages.newton_sweeps {
            let steps = pause.min(max_iter - sweeps).min(MOST - sweeps);
            for (b, x, z) in each_with_z(blocks, x, &mut work.z) {
                keep_z(b, x, z, &mut work.tile);
            }
            descend(blocks, lists, x, work, steps, |column| info[column].converged);
            sweeps += steps;
            pause = (pause + pause / 2).min(LONGEST);
            check(job, blocks, x, info, work, sweeps);
        }
        if stages.free_set_newton && (sweeps >= FREE_SET_AT || !stages.newton_sweeps) {
            free_set_newton(job, blocks, x, info, sweeps);
            // Counts all of them, whatever a column took: the count must not depend on its neighbours.
            sweeps = (sweeps + free_set_newton::STEPS).min(max_iter);
            check(job, blocks, x, info, work, sweeps);
        }
    }
    work.active = active;
    sweeps
}

/// Takes Newton steps for the columns that are not certified yet.
fn free_set_newton(job: &Job, blocks: &[Block<'_, f64>], x: &mut [f64], info: &[ColumnInfo], sweeps: usize) {
    for ((x, info), b) in x.chunks_mut(blocks[0].r).zip(info).zip(columns(blocks)) {
        if !info.converged {
            let enough = |step| job.reached(sweeps + step);
            FreeSetNewton::new(&b).run(x, 0.5 * job.settings.tol, enough);
        }
    }
}

/// Certifies the columns that are not certified yet, and moves each to its best ray.
fn check(
    job: &Job,
    blocks: &[Block<'_, f64>],
    mut x: &mut [f64],
    mut info: &mut [ColumnInfo],
    work: &mut Work<f64>,
    sweeps: usize,
) {
    let Work { tile, evidence, x_bar, .. } = work;
    for b in blocks {
        let (x, info) = (take(&mut x, b.q * b.r), take(&mut info, b.q));
        if info.iter().all(|c| c.converged) {
            continue;
        }
        b.measure(x, true, tile, evidence);
        let columns = x.chunks_mut(b.r).zip(evidence.g.chunks(b.r)).zip(info).enumerate();
        for (c, ((x, g), info)) in columns.filter(|(_, (_, info))| !info.converged) {
            let sum = b.sums[c];
            let ray = b.cost.ray(c, sum, x);
            let primal = b.cost.value(c, sum, ray, evidence.logs[c], x);
            let gap = b.cost.gap(c, sum, ray, x, g).min(primal);
            if !(primal.is_finite() && gap.is_finite() && ray.is_finite()) {
                spread(&b.column(c), x);
                continue;
            }
            x.iter_mut().for_each(|x| *x *= ray);
            if job.enough(gap, sum) {
                // Far from the best ray, the two logarithms in `primal` cancel.
                let exact = (0.5..=2.0).contains(&ray);
                let values = (primal, primal - gap, exact);
                *info = job.close(&b.column(c), x, values, sweeps, (tile, x_bar));
            }
        }
    }
}
