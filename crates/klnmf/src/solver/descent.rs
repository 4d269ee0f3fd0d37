//! Sweeps of block Newton steps over the weights of some columns; [`newton`](super::newton) has the letters.

// Loops over the columns of a group index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::active::Active;
use crate::Scalar;
use crate::block::{Block, Work, take};
use crate::cost::Cost;
use crate::kernel::Isa;
use crate::kernel::newton_pass::{B, BlockPass, C, LastPass, Pass, Sums, Totals, chunks};
use crate::kernel::quadratic::{FIRST, QuadraticPrograms};
use std::array;
use std::ops::Range;

/// Lower bound of Kx, in units of the machine epsilon and the sum of the column.
const FLOOR: f64 = 1e-3;
/// Rounding errors of z, in units of that bound. Below them z cannot be distinguished from zero.
const ROUNDING: f64 = 2e3;

/// Lower bound of Kx for a column with this sum.
pub fn floor_of<T: Scalar>(sum: f64) -> T {
    (T::EPSILON * T::from_f64(FLOOR * sum)).max(T::TINY)
}

/// Whether a z as small as this may be zero but for rounding errors.
pub fn suspicious<T: Scalar>(least: T, floor: T) -> bool {
    least <= floor * T::from_f64(ROUNDING)
}

/// Moves the weights of a column a tenth of the way back to the start.
pub fn step_back<T: Scalar>(x: &mut [T], old: &[T], held: usize) {
    let tenth = T::from_f64(0.1);
    for (x, old) in x.iter_mut().zip(old).skip(held) {
        let new = *x + tenth * (*old - *x);
        *x = if new < T::TINY { T::ZERO } else { new };
    }
}

/// The weights that the columns of some blocks move.
#[derive(Clone, Copy)]
pub struct Lists<'a> {
    pub active: &'a Active,
    /// The position of the first column in these lists.
    pub first: usize,
    /// Whether the blocks have only these atoms.
    pub copied: bool,
}

/// Makes `sweeps` sweeps over the listed weights of the columns of some blocks. `work.z` holds their z,
/// padded. Columns for which `skip` is true keep their weights.
pub fn descend<T: Scalar>(
    blocks: &[Block<'_, T>],
    lists: Lists<'_>,
    x: &mut [T],
    work: &mut Work<T>,
    sweeps: usize,
    skip: impl Fn(usize) -> bool,
) {
    let Work { z, a, zeros, x_then, .. } = work;
    let (mut z, mut a, zeros) = (&mut z[..], &mut a[..], &zeros[..]);
    let r = blocks[0].r;
    let old = &mut x_then[..x.len()];
    old.copy_from_slice(x);
    let columns = blocks.iter().flat_map(|b| (0..b.q).map(move |c| (b, c)));
    // Between two blocks there may be columns that do not take part.
    let (start, mut passed) = (blocks[0].first, 0);
    let mut weights = x.chunks_mut(r).zip(old.chunks(r));
    let columns = columns.filter_map(move |(b, c)| {
        let (column, height) = (b.first + c - start, b.height());
        let (x, old) = weights.nth(column - passed)?;
        passed = column + 1;
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
        let floor = floor_of(b.sums[c]);
        let (list, copied, cost) = (lists.active.of(lists.first + column), lists.copied, b.cost.from(c));
        let atoms = Atoms { all: b.atoms, zeros: &zeros[..height], list, copied };
        let (first, left) = (cost.held, if list.len() > cost.held { sweeps } else { 0 });
        let (d, before, k) = ([T::ZERO; B], [atoms.zeros; B], atoms.four(first));
        Some(Lane { atoms, cost, floor, a: data, z, x, old, d, before, k, first, left })
    });
    run_lanes(columns);
}

/// Updates columns, sixteen at a time. As soon as one is done, the next takes its place. Columns do not
/// depend on each other.
fn run_lanes<'a, T: Scalar>(mut columns: impl Iterator<Item = Lane<'a, T>>) {
    let (isa, mut sums) = (Isa::get(), [Sums::ZERO; C]);
    let mut lanes: [Option<Lane<'a, T>>; C] = array::from_fn(|_| None);
    loop {
        for lane in &mut lanes {
            while lane.as_ref().is_none_or(|column| column.left == 0) {
                lane.iter_mut().for_each(|column| column.finish(isa));
                *lane = columns.next();
                if lane.is_none() {
                    break;
                }
            }
        }
        if lanes.iter().all(Option::is_none) {
            break;
        }
        update_block(isa, &mut lanes, &mut sums);
    }
}

/// The atoms of a column.
#[derive(Clone, Copy)]
struct Atoms<'a, T> {
    all: &'a [T],
    /// Replaces missing atoms if the list is shorter than B.
    zeros: &'a [T],
    /// The weights in use, the held ones first.
    list: &'a [u32],
    /// Whether there are only the atoms in the list.
    copied: bool,
}

impl<'a, T: Scalar> Atoms<'a, T> {
    /// The atom at a place of the list.
    #[inline(always)]
    fn at(&self, place: usize) -> &'a [T] {
        let Some(k) = self.list.get(place) else { return self.zeros };
        let height = self.zeros.len();
        &self.all[if self.copied { place } else { *k as usize } * height..][..height]
    }

    /// The atoms of the block that begins at a place of the list.
    #[inline(always)]
    fn four(&self, first: usize) -> [&'a [T]; B] {
        [self.at(first), self.at(first + 1), self.at(first + 2), self.at(first + 3)]
    }
}

/// A column whose weights are being updated.
struct Lane<'a, T> {
    atoms: Atoms<'a, T>,
    cost: Cost<'a, T>,
    /// Lower bound of z.
    floor: T,
    a: &'a [T],
    z: &'a mut [T],
    x: &'a mut [T],
    /// The weights at the start.
    old: &'a [T],
    /// The change of the previous block, which z does not include yet, and the atoms of that block.
    d: [T; B],
    before: [&'a [T]; B],
    /// The atoms of the next block, and its place in the list.
    k: [&'a [T]; B],
    first: usize,
    /// The number of sweeps that are left.
    left: usize,
}

impl<'a, T: Scalar> Lane<'a, T> {
    /// The weights of the next block.
    #[inline(always)]
    fn block(&self) -> impl Iterator<Item = (usize, usize)> + use<'a, T> {
        self.atoms.list[self.first..].iter().take(B).map(|k| *k as usize).enumerate()
    }

    /// Goes on to the next block. The last block overlaps the previous one instead of being shorter.
    fn advance(&mut self) {
        let (end, held) = (self.atoms.list.len(), self.cost.held);
        if self.first + B >= end {
            (self.first, self.left) = (held, self.left - 1);
        } else {
            self.first = (self.first + B).min(end - B);
        }
        (self.before, self.k) = (self.k, self.atoms.four(self.first));
    }

    /// Applies the last change. If it makes z zero in a row with a > 0, the column takes a step back.
    fn finish(&mut self, isa: Isa) {
        let least = isa.run_wide(LastPass(&mut self.rows(0..self.z.len())));
        if suspicious(least, self.floor) && self.vanishes() {
            step_back(self.x, self.old, self.cost.held);
        }
    }

    /// Recomputes z = Kx without accumulated rounding errors, and tells whether it is zero in a row with
    /// a > 0. Weights that are not in the list are zero.
    fn vanishes(&mut self) -> bool {
        self.z.fill(T::ZERO);
        for (place, k) in self.atoms.list.iter().enumerate() {
            let (x, atom) = (self.x[*k as usize], self.atoms.at(place));
            self.z.iter_mut().zip(atom).for_each(|(z, k)| *z += x * *k);
        }
        self.z.iter().zip(self.a).any(|(z, a)| *z < T::TINY && *a > T::ZERO)
    }

    /// The operands of a pass over some rows.
    #[inline(always)]
    fn rows(&mut self, rows: Range<usize>) -> Pass<'_, T> {
        Pass {
            before: cut(self.before, &rows),
            k: cut(self.k, &rows),
            a: &self.a[rows.clone()],
            z: &mut self.z[rows],
            d: self.d,
            floor: self.floor,
            next: [&[]; 2],
        }
    }
}

/// Some rows of the atoms of a block.
#[inline(always)]
fn cut<'a, T>([a, b, c, d]: [&'a [T]; B], rows: &Range<usize>) -> [&'a [T]; B] {
    [&a[rows.clone()], &b[rows.clone()], &c[rows.clone()], &d[rows.clone()]]
}

/// Updates the next block of weights in every lane.
fn update_block<T: Scalar>(isa: Isa, lanes: &mut [Option<Lane<'_, T>>; C], sums: &mut [Sums<T>; C]) {
    let tallest = lanes.iter().flatten().map(|lane| lane.z.len()).max().unwrap_or(0);
    // Chunk by chunk, so that atoms that several columns use are in cache.
    for rows in chunks::<T>(tallest) {
        for c in 0..C {
            let (before, after) = lanes.split_at_mut(c + 1);
            let Some(lane) = before[c].as_mut().filter(|lane| rows.start < lane.z.len()) else { continue };
            let (fresh, mine) = (rows.start == 0, rows.start..rows.end.min(lane.z.len()));
            let mut pass = lane.rows(mine);
            if let Some(Some(next)) = after.first()
                && rows.end <= next.z.len()
            {
                pass.next = [&next.a[rows.clone()], &next.z[rows.clone()]];
            }
            isa.run_wide(BlockPass { pass: &mut pass, fresh, sums: &mut sums[c] });
        }
    }
    let (mut x, mut gradient) = ([[0.0; C]; B], [[0.0; C]; B]);
    let mut totals = isa.run_wide(Totals(sums));
    for (c, lane) in lanes.iter().enumerate() {
        let Some(lane) = lane else { continue };
        if lane.z.is_empty() {
            // A column without rows has no sums.
            totals.iter_mut().for_each(|total| total[c] = 0.0);
        }
        for (l, k) in lane.block() {
            x[l][c] = lane.x[k].to_f64();
            gradient[l][c] = lane.cost.slope(0, k, x[l][c]) - totals[l][c];
        }
        if lane.cost.ridge > T::ZERO {
            (0..B).for_each(|l| totals[B + FIRST[l]][c] += lane.cost.ridge.to_f64());
        }
    }
    let [_, _, _, _, h @ ..] = &totals;
    let start = x;
    isa.run_wide(QuadraticPrograms { x: &mut x, gradient: &gradient, h });
    for (c, lane) in lanes.iter_mut().enumerate() {
        let Some(lane) = lane else { continue };
        lane.d = [T::ZERO; B];
        for (l, k) in lane.block() {
            let new = T::from_f64(x[l][c]);
            // Below the floor a weight no longer contributes to Kx and is converging to zero. Setting it to
            // zero avoids subnormal numbers, which are slow. The weight of a zero atom does not matter and is
            // kept.
            let cost = lane.cost.of(0)[k];
            let new = if cost > T::ZERO && new * cost < lane.floor { T::ZERO } else { new };
            // The change of the stored weight, so that z stays consistent with it.
            lane.d[l] = T::from_f64(new.to_f64() - start[l][c]);
            lane.x[k] = new;
        }
        lane.advance();
    }
}
