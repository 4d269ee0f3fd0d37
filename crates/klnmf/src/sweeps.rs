//! The first part of a decomposition: sweeps of block Newton steps, which settle most columns in no time.
//!
//! For one column a with weights x the certificate is that of the head of [`divergence`](crate::divergence): on the best ray
//! through x, which has (Kᵀ1)ᵀx = Σa, the gap is Σa·ln max_k ρ_k. Columns that do not get there are [polished](crate::polish).
//! What is left then goes to the primal-dual algorithm, which has a guarantee, and which starts where the others have ended.

use crate::Scalar;
use crate::block::{Block, Work, take};
use crate::decompose::{ColumnInfo, Limits, divergence_of};
use crate::divergence::{largest_ratio, non_negative};
use crate::lanes::single;
use crate::map::Logs;
use crate::polish::Polish;
use crate::solver::newton::{self, each_with_z};

/// Sweeps before the first certificate; the pause grows by half each time, up to the longest.
const FIRST: usize = 2;
const LONGEST: usize = 40;
/// Sweeps after which a column is polished at every certificate, and those after which it is given up.
const POLISH_AT: usize = 60;
const MOST: usize = 1000;

/// Works the columns of a group of blocks until they are certified to `tol`, or hopeless: `out` (r × q) and `info` are
/// filled for those that are; where the others have come to is in the last of the small arrays of `work`. Returns how many
/// steps that took.
pub(crate) fn run<T: Scalar>(
    blocks: &[Block<'_, f64>],
    out: &mut [T],
    info: &mut [ColumnInfo],
    work: &mut Work<f64>,
    tol: f64,
    limits: &Limits,
) -> usize {
    let mut x = std::mem::take(&mut work.small[START]);
    open(blocks, &mut x, info);
    let (mut sweeps, mut pause) = (0, FIRST);
    let x_all = &mut x[..blocks[0].r * info.len()];
    while tol > 0.0 && sweeps < MOST && !limits.reached(sweeps) && info.iter().any(|c| !c.converged) {
        let steps = pause.min(limits.max_iter - sweeps).min(MOST - sweeps);
        for (b, x, z) in each_with_z(blocks, x_all, &mut work.big[0]) {
            newton::keep_z(b, x, z, &mut work.tile);
        }
        newton::descend(blocks, x_all, work, steps, |column| info[column].converged);
        sweeps += steps;
        pause = (pause + pause / 2).min(LONGEST);
        check_all(blocks, x_all, out, info, work, tol, sweeps);
        if sweeps >= POLISH_AT {
            sweeps += polish(blocks, x_all, info, tol, limits, sweeps);
            check_all(blocks, x_all, out, info, work, tol, sweeps);
        }
    }
    work.small[START] = x;
    sweeps
}

/// Newton steps for the columns that are still open; the most that one took.
fn polish(
    blocks: &[Block<'_, f64>],
    x: &mut [f64],
    info: &[ColumnInfo],
    tol: f64,
    limits: &Limits,
    sweeps: usize,
) -> usize {
    let mut most = 0;
    let columns = blocks.iter().flat_map(|b| (0..b.q).map(move |c| (b, c)));
    for ((x, info), (b, c)) in x.chunks_mut(blocks[0].r).zip(info).zip(columns) {
        if !info.converged {
            most = Polish::new(b, c).run(x, 0.5 * tol, |step| limits.reached(sweeps + step)).max(most);
        }
    }
    most
}

fn check_all<T: Scalar>(
    blocks: &[Block<'_, f64>],
    mut x: &mut [f64],
    mut out: &mut [T],
    mut info: &mut [ColumnInfo],
    work: &mut Work<f64>,
    tol: f64,
    sweeps: usize,
) {
    for b in blocks {
        let n = b.q * b.r;
        check(b, take(&mut x, n), take(&mut out, n), take(&mut info, b.q), work, tol, sweeps);
    }
}

/// Which of the small arrays holds the weights.
pub(crate) const START: usize = 6;

/// An even start for every column that has anything in it. Where there is nothing to explain x = 0 is optimal and the gap zero.
fn open(blocks: &[Block<'_, f64>], x: &mut [f64], info: &mut [ColumnInfo]) {
    let sums = blocks.iter().flat_map(|b| b.sums);
    for ((x, info), sum) in x.chunks_mut(blocks[0].r).zip(info).zip(sums) {
        *info = ColumnInfo { converged: *sum == 0.0, ..ColumnInfo::default() };
        spread(*sum, blocks[0].k_sum, x);
    }
}

/// The same share of a column's sum for every atom.
fn spread(sum: f64, k_sum: &[f64], x: &mut [f64]) {
    let live = k_sum.iter().filter(|k| **k > 0.0).count().max(1) as f64;
    for (x, k) in x.iter_mut().zip(k_sum) {
        *x = if *k > 0.0 { sum / (live * k) } else { 0.0 };
    }
}

/// Certifies the columns of a block that are still open, and moves each to its best ray.
fn check<T: Scalar>(
    b: &Block<'_, f64>,
    x: &mut [f64],
    out: &mut [T],
    info: &mut [ColumnInfo],
    work: &mut Work<f64>,
    tol: f64,
    sweeps: usize,
) {
    if info.iter().all(|c| c.converged) {
        return;
    }
    let Work { tile, small: [g, room, ..], .. } = work;
    let mut logs = Logs::new(b.a, b.a);
    b.pass_map(x, Some(g), tile, &mut logs);
    let columns = x.chunks_mut(b.r).zip(g.chunks(b.r)).zip(out.chunks_mut(b.r)).zip(info.iter_mut());
    for (c, (((x, g), out), info)) in columns.enumerate().filter(|(_, (_, info))| !info.converged) {
        let (sum, total) = (b.sums[c], b.total(x));
        let ray = sum / total;
        let primal = logs.sum(c) - sum * ray.ln();
        let gap = sum * (largest_ratio(g.iter().copied(), b.k_sum) / ray).ln();
        let usable = primal.is_finite() && gap.is_finite() && ray.is_finite();
        if !usable {
            spread(sum, b.k_sum, x);
            continue;
        }
        x.iter_mut().for_each(|x| *x *= ray);
        if gap <= tol * sum {
            out.iter_mut().zip(&*x).for_each(|(out, x)| *out = T::from_f64(*x));
            // Weights that were rounded are measured as they are given out.
            let rounded = const { single::<T>() };
            let divergence =
                if rounded { divergence_of(b, c, out, tile, &mut room[..b.r]) } else { non_negative(primal) };
            let gap = non_negative(divergence - (primal - gap));
            *info = ColumnInfo { divergence, gap, iterations: sweeps, converged: gap.is_finite() };
        }
    }
}
