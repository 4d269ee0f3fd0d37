//! Block Newton coordinate descent: four weights of a column at a time.
//!
//! Hsieh & Dhillon (2011) introduced coordinate descent for this divergence. NNLM (Lin & Boutros 2020),
//! fastTopics (Carbonetto et al. 2021) and the scalar Newton method of Hien & Gillis (2021) also update one
//! weight at a time.
//!
//! | letter | meaning |
//! | --- | --- |
//! | K, a, x | the dictionary, a column of V, its weights |
//! | z | Kx, kept up to date |
//! | t, u | a/z and a/z² |
//! | g, h | for the four weights of a block: Kᵀt, and the upper triangle of KᵀDiag(u)K |
//! | d | the change of the four weights |
//!
//! As a function of the weights of a block, the divergence has the gradient c − g and the Hessian h, with
//! c = Kᵀ1. One pass over the rows applies the change of the previous block to z and sums g and h. A
//! quadratic program with four variables then gives the next change. The quadratic model ignores the pole at
//! z = 0. If z becomes zero in a row with a > 0, the column therefore takes a step back. Eight columns are
//! processed in turn with the same four atoms, and their quadratic programs are solved together.

// Loops over the columns of a group index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::method::{HalfStep, Moving};
use crate::Scalar;
use crate::block::{Block, DictionaryParts, Layout, MOST_BLOCKS, Work, take};
use crate::cost::Cost;
use crate::kernel::newton_pass::{B, BlockPass, C, H, LastPass, Pass, Sums, Totals, chunks};
use crate::kernel::{self, Isa, Keep, KeepAndMeasure, LogSums};
use std::array;
use std::ops::Range;

/// The start of each row in the upper triangle, and which of its entries lie on the diagonal.
const FIRST: [usize; B] = [0, 4, 7, 9];
const DIAGONAL: [bool; H] = [true, false, false, false, true, false, false, true, false, true];
/// Lower bound of Kx, in units of the machine epsilon and the sum of the column.
const FLOOR: f64 = 1e-3;
/// Rounding errors of z, in units of that bound. Below them z cannot be distinguished from zero.
const ROUNDING: f64 = 2e3;
/// The most sweeps of the quadratic program, and the relative change at which it stops.
const QP_SWEEPS: usize = 8;
const QP_TOL: f64 = 1e-3;

/// The half-step, which is stateless.
pub struct Newton;

impl<S: Scalar> HalfStep<S> for Newton {
    fn parts(&self) -> DictionaryParts {
        DictionaryParts { atoms: true, arrays: true, ..DictionaryParts::default() }
    }

    fn layout(&self) -> Layout {
        Layout::Gathered(MOST_BLOCKS)
    }

    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>) {
        let Moving { blocks, x, mut columns, steps, measure } = moving;
        for (b, x, z) in each_with_z(blocks, x, &mut work.z) {
            if measure {
                let keep = Keep { z, p: b.p, height: b.height() };
                let mut map = KeepAndMeasure { keep, logs: LogSums::new(b.a, b.a, b.q) };
                b.pass(x, None, &mut work.tile, &mut map);
                for (c, (column, x)) in take(&mut columns, b.q).iter_mut().zip(x.chunks(b.r)).enumerate() {
                    column.value = b.value(c, map.logs.sum(c), x);
                }
            } else {
                keep_z(b, x, z, &mut work.tile);
            }
        }
        descend(blocks, x, work, steps, |_| false);
    }
}

/// Computes z = Kx, with each column padded.
pub fn keep_z<T: Scalar>(b: &Block<'_, T>, x: &[T], z: &mut [T], tile: &mut [T]) {
    b.pass(x, None, tile, &mut Keep { z, p: b.p, height: b.height() });
}

/// Each block with its weights and its part of z.
pub fn each_with_z<'a, T: Scalar>(
    blocks: &'a [Block<'a, T>],
    mut x: &'a [T],
    mut z: &'a mut [T],
) -> impl Iterator<Item = (&'a Block<'a, T>, &'a [T], &'a mut [T])> {
    blocks.iter().map(move |b| {
        let (mine, rest) = x.split_at(b.q * b.r);
        x = rest;
        (b, mine, take(&mut z, b.q * b.height()))
    })
}

/// Makes `sweeps` sweeps over the weights of the columns of some blocks. `work.z` holds their z, padded.
/// Columns for which `skip` is true keep their weights.
pub fn descend<T: Scalar>(
    blocks: &[Block<'_, T>],
    x: &mut [T],
    work: &mut Work<T>,
    sweeps: usize,
    skip: impl Fn(usize) -> bool,
) {
    let Work { z, a, zeros, x_then, .. } = work;
    let (mut z, mut a, zeros) = (&mut z[..], &mut a[..], &zeros[..]);
    let (isa, mut sums, r) = (Isa::get(), [Sums::ZERO; C], blocks[0].r);
    let old = &mut x_then[..x.len()];
    old.copy_from_slice(x);
    let columns = blocks.iter().flat_map(|b| (0..b.q).map(move |c| (b, c)));
    let weights = x.chunks_mut(r).zip(old.chunks(r));
    let mut columns = columns.zip(weights).enumerate().filter_map(|(column, ((b, c), (x, old)))| {
        let height = b.height();
        let (z, a) = (take(&mut z, height), take(&mut a, height));
        if skip(column) {
            return None;
        }
        let mut data = &b.a[c * b.p..][..b.p];
        if b.p < height {
            // Pads the column with zeros to whole registers; they do not contribute.
            a[..b.p].copy_from_slice(data);
            a[b.p..].fill(T::ZERO);
            z[b.p..].fill(T::ONE);
            data = a;
        }
        let floor = (T::EPSILON * T::from_f64(FLOOR * b.sums[c])).max(T::TINY);
        let cost = b.cost.from(c);
        Some(Weights { height, atoms: b.atoms, zeros, cost, floor, a: data, z, x, old, d: [T::ZERO; B] })
    });
    loop {
        let group: [Option<Weights<'_, T>>; C] = array::from_fn(|_| columns.next());
        if group[0].is_none() {
            break;
        }
        Group { isa, free: blocks[0].cost.held..r, columns: group, sums: &mut sums }.run(sweeps);
    }
}

/// A column whose weights are being updated.
struct Weights<'a, T> {
    height: usize,
    atoms: &'a [T],
    /// Replaces missing atoms if r < B.
    zeros: &'a [T],
    cost: Cost<'a, T>,
    /// Lower bound of z.
    floor: T,
    a: &'a [T],
    z: &'a mut [T],
    x: &'a mut [T],
    /// The weights at the start.
    old: &'a [T],
    /// The change of the previous block, which z does not include yet.
    d: [T; B],
}

impl<T: Scalar> Weights<'_, T> {
    /// Moves the weights a tenth of the way back to the start.
    fn step_back(&mut self) {
        let tenth = T::from_f64(0.1);
        for (x, old) in self.x.iter_mut().zip(self.old).skip(self.cost.held) {
            let new = *x + tenth * (*old - *x);
            *x = if new < T::TINY { T::ZERO } else { new };
        }
    }

    /// Recomputes z = Kx without accumulated rounding errors, and tells whether it is zero in a row with
    /// a > 0.
    fn vanishes(&mut self) -> bool {
        kernel::multiply(self.atoms, self.height, self.x, self.z);
        self.z.iter().zip(self.a).any(|(z, a)| *z < T::TINY && *a > T::ZERO)
    }

    /// The operands of a pass over some rows: the change of the atoms from `before` on, and the atoms from
    /// `first` on, whose g and h are summed.
    fn rows(&mut self, before: usize, first: usize, rows: Range<usize>) -> Pass<'_, T> {
        let (r, height, atoms, zeros) = (self.x.len(), self.height, self.atoms, self.zeros);
        let atom = |k: usize| {
            let all = if k < r { &atoms[k * height..] } else { zeros };
            &all[rows.clone()]
        };
        Pass {
            a: &self.a[rows.clone()],
            z: &mut self.z[rows.clone()],
            before: array::from_fn(|l| atom(before + l)),
            d: self.d,
            k: array::from_fn(|l| atom(first + l)),
            floor: self.floor,
        }
    }
}

/// Columns with the same number of atoms.
struct Group<'a, T> {
    isa: Isa,
    /// The weights that move.
    free: Range<usize>,
    columns: [Option<Weights<'a, T>>; C],
    sums: &'a mut [Sums<T>; C],
}

impl<T: Scalar> Group<'_, T> {
    fn run(mut self, sweeps: usize) {
        let mut before = self.free.start;
        for _ in 0..sweeps {
            for block in 0..self.free.len().div_ceil(B) {
                // The last block overlaps the previous one instead of being shorter.
                let first = self.free.start + (block * B).min(self.free.len().saturating_sub(B));
                self.block(before, first);
                before = first;
            }
        }
        for column in self.columns.iter_mut().flatten() {
            // The smallest z in a row with a > 0, after the change of the last block.
            let least = self.isa.run_wide(LastPass(&mut column.rows(before, before, 0..column.height)));
            if least <= column.floor * T::from_f64(ROUNDING) && column.vanishes() {
                column.step_back();
            }
        }
    }

    /// Updates the weights from `first` on in every column.
    fn block(&mut self, before: usize, first: usize) {
        let isa = self.isa;
        let tallest = self.columns.iter().flatten().map(|c| c.height).max().unwrap_or(0);
        // Chunk by chunk, so that the atoms of a chunk are in cache for every column.
        for rows in chunks::<T>(tallest) {
            for (column, sums) in self.columns.iter_mut().flatten().zip(&mut *self.sums) {
                if rows.start < column.height {
                    let rows = rows.start..rows.end.min(column.height);
                    let fresh = rows.start == 0;
                    isa.run_wide(BlockPass { pass: &mut column.rows(before, first, rows), fresh, sums });
                }
            }
        }
        let weights = B.min(self.free.len());
        let (mut x, mut gradient, mut h) = ([[0.0; C]; B], [[0.0; C]; B], [[1.0; C]; H]);
        let totals = isa.run_wide(Totals(self.sums));
        for (c, column) in self.columns.iter().flatten().enumerate() {
            // A column without rows has no sums.
            let some = |sum: f64| if column.height > 0 { sum } else { 0.0 };
            for l in 0..weights {
                x[l][c] = column.x[first + l].to_f64();
                gradient[l][c] = column.cost.slope(0, first + l, x[l][c]) - some(totals[l][c]);
            }
            for e in 0..H {
                h[e][c] = some(totals[B + e][c]) + if DIAGONAL[e] { column.cost.ridge.to_f64() } else { 0.0 };
            }
        }
        let start = x;
        kernel::simd(
            #[inline(always)]
            || quadratic_program(&mut x, &mut gradient, &h),
        );
        for (c, column) in self.columns.iter_mut().flatten().enumerate() {
            for l in 0..weights {
                let new = T::from_f64(x[l][c]);
                // Below the floor a weight no longer contributes to Kx and is converging to zero. Setting it
                // to zero avoids subnormal numbers, which are slow. The weight of a zero atom does not matter
                // and is kept.
                let k = column.cost.of(0)[first + l];
                let new = if k > T::ZERO && new * k < column.floor { T::ZERO } else { new };
                // The change of the stored weight, so that z stays consistent with it.
                column.d[l] = T::from_f64(new.to_f64() - start[l][c]);
                column.x[first + l] = new;
            }
        }
    }
}

/// Minimises gradient·d + ½ d·h·d over x + d ≥ 0 by sweeps over the coordinates, for eight columns at once.
#[inline(always)]
fn quadratic_program(x: &mut [[f64; C]; B], gradient: &mut [[f64; C]; B], h: &[[f64; C]; H]) {
    let at = |l: usize, m: usize| if l < m { h[FIRST[l] + m - l] } else { h[FIRST[m] + l - m] };
    let inverse: [[f64; C]; B] = array::from_fn(
        #[inline(always)]
        |l| {
            array::from_fn(
                #[inline(always)]
                |c| if at(l, l)[c] > 1e-280 { 1.0 / at(l, l)[c] } else { 0.0 },
            )
        },
    );
    // A converged column no longer changes, so its result does not depend on its neighbours.
    let mut active = [1.0; C];
    for _ in 0..QP_SWEEPS {
        let mut moved = [0.0; C];
        for l in 0..B {
            let mut d = [0.0; C];
            for c in 0..C {
                let new = (x[l][c] - gradient[l][c] * inverse[l][c]).max(0.0);
                // Without curvature, no data support this weight.
                let new = if inverse[l][c] == 0.0 && gradient[l][c] > 0.0 { 0.0 } else { new };
                d[c] = active[c] * (new - x[l][c]);
                x[l][c] = if active[c] > 0.0 { new } else { x[l][c] };
                let change = d[c].abs() - QP_TOL * new;
                moved[c] = if change > moved[c] { change } else { moved[c] };
            }
            for m in 0..B {
                let row = at(l, m);
                for c in 0..C {
                    gradient[m][c] += d[c] * row[c];
                }
            }
        }
        for c in 0..C {
            active[c] = if moved[c] > 0.0 { 1.0 } else { 0.0 };
        }
        if active == [0.0; C] {
            break;
        }
    }
}
