//! Newton steps on short sparse columns, as many at a time as two registers have lanes.
//!
//! [`descent`](super::descent) passes over the entries of one column after the other, a register at a time,
//! and then adds the lanes of fourteen sums. Short columns have few entries for so many sums. They are
//! therefore copied [side by side](crate::kernel::side_by_side), sorted by length. Whether a column is short
//! depends on nothing but itself, and it does not matter which columns it shares registers with.
//!
//! The steps are those of `descent`, with one difference: quadratic programs are solved in the precision of
//! the computation, there always in f64. A change of a rule belongs in both files.

use super::active::Active;
use super::descent::{floor_of, step_back, suspicious};
use crate::Scalar;
use crate::block::Block;
use crate::kernel::newton_pass::B;
use crate::kernel::side_by_side::{GROUPS, SideBySide};
use crate::kernel::{Isa, SparseRows};
use std::ops::Range;

/// The most numbers of a short column: its entries, Kx, and the listed atoms at its entries (measured).
const MOST_NUMBERS: usize = 256;

/// The workspace, which grows as needed. The arrays are those of [`SideBySide`].
#[derive(Default)]
pub struct Short<S> {
    /// The short columns of a block: their length, and their place in the block.
    columns: Vec<(usize, usize)>,
    a: Vec<S>,
    z: Vec<S>,
    atoms: Vec<S>,
    x: Vec<S>,
    c: Vec<S>,
    floor: Vec<S>,
    least: Vec<S>,
    repeated: Vec<S>,
    /// The weights of a column in their places, see [`place`].
    order: Vec<u32>,
    /// The weights of a column at the start.
    old: Vec<S>,
}

/// The size of columns side by side.
#[derive(Clone, Copy)]
struct Shape {
    groups: usize,
    lanes: usize,
    rows: usize,
    places: usize,
}

impl Shape {
    /// Where the numbers of the `n`-th column begin, if each column has `each`. They are `lanes` apart.
    fn first(self, n: usize, each: usize) -> usize {
        n / self.lanes * self.lanes * each + n % self.lanes
    }
}

impl<S: Scalar> Short<S> {
    /// Makes `sweeps` ≥ 1 sweeps over the listed weights of all short columns of a block, and empties their
    /// lists.
    pub fn descend(
        &mut self,
        b: &Block<'_, S>,
        rows: SparseRows<'_, S>,
        active: &mut Active,
        x: &mut [S],
        sweeps: usize,
    ) {
        debug_assert!(sweeps > 0, "repeated weights get their values in the first sweep");
        let mut columns = std::mem::take(&mut self.columns);
        columns.clear();
        columns.extend((0..b.q).map(|c| (rows.entries(c).len(), c)).filter(|(length, c)| {
            let listed = active.of(*c).len();
            *length > 0 && length * (listed + 2) <= MOST_NUMBERS && listed > b.cost.held
        }));
        columns.sort_unstable();
        let lanes = Isa::get().vector_bytes() / size_of::<S>();
        for some in columns.chunks(GROUPS * lanes) {
            let listed = some.iter().map(|(_, c)| active.of(*c).len()).max().unwrap_or(0);
            let (groups, held) = (some.len().div_ceil(lanes), b.cost.held);
            let places = held + (listed - held).next_multiple_of(B);
            let shape = Shape { groups, lanes, rows: some[some.len() - 1].0, places };
            self.copy(b, rows, active, x, some, shape);
            self.sweep(b, sweeps, shape);
            for (n, (_, c)) in some.iter().enumerate() {
                self.write_back(b, rows, (n, *c), active.of(*c), &mut x[c * b.r..][..b.r], shape);
            }
        }
        columns.iter().for_each(|(_, c)| active.clear(*c));
        self.columns = columns;
    }

    /// Copies columns side by side.
    fn copy(
        &mut self,
        b: &Block<'_, S>,
        rows: SparseRows<'_, S>,
        active: &Active,
        x: &[S],
        columns: &[(usize, usize)],
        shape: Shape,
    ) {
        self.clear(shape);
        let lanes = shape.lanes;
        for (n, (_, c)) in columns.iter().enumerate() {
            let (at, at_x) = (shape.first(n, shape.rows), shape.first(n, shape.places));
            b.values(*c).iter().enumerate().for_each(|(i, a)| self.a[at + i * lanes] = *a);
            let repeated = place(active.of(*c), b.cost.held, &mut self.order);
            for (l, k) in self.order.iter().enumerate() {
                self.x[at_x + l * lanes] = x[c * b.r + *k as usize];
                self.c[at_x + l * lanes] = b.cost.of(*c)[*k as usize];
            }
            if !repeated.is_empty() {
                let (blocks, block) = ((shape.places - b.cost.held) / B, (repeated.start - b.cost.held) / B);
                self.repeated[shape.first(n, blocks) + block * lanes] = S::from_u32(repeated.len() as u32);
            }
            // They count once in Kx, and get their values when it is their turn.
            repeated.for_each(|l| self.x[at_x + l * lanes] = S::ZERO);
            self.floor[n] = floor_of(b.sums[*c]);
            let first = shape.first(n, shape.places * shape.rows);
            for (i, row) in rows.idx()[rows.entries(*c)].iter().enumerate() {
                let row = rows.row(*row);
                for (l, k) in self.order.iter().enumerate() {
                    self.atoms[first + (l * shape.rows + i) * lanes] = row[*k as usize];
                }
            }
        }
    }

    /// Makes the sweeps over the copies.
    fn sweep(&mut self, b: &Block<'_, S>, sweeps: usize, shape: Shape) {
        let Self { a, z, atoms, x, c, floor, least, repeated, .. } = self;
        let Shape { groups, rows, places, .. } = shape;
        let (held, ridge) = (b.cost.held, b.cost.ridge);
        Isa::get().run_wide(SideBySide {
            groups,
            rows,
            a,
            z,
            atoms,
            places,
            held,
            repeated,
            x,
            c,
            ridge,
            floor,
            sweeps,
            least,
        });
    }

    /// Takes over the weights of the `n`-th copy, which is column `c` of the block.
    fn write_back(
        &mut self,
        b: &Block<'_, S>,
        rows: SparseRows<'_, S>,
        (n, c): (usize, usize),
        list: &[u32],
        x: &mut [S],
        shape: Shape,
    ) {
        self.old.clear();
        self.old.extend_from_slice(x);
        let first = shape.first(n, shape.places);
        place(list, b.cost.held, &mut self.order);
        self.order.iter().enumerate().for_each(|(l, k)| x[*k as usize] = self.x[first + l * shape.lanes]);
        let z = |row: usize| rows.row(row as u32).iter().zip(&*x).map(|(k, x)| *k * *x).sum::<S>();
        let vanishes = || b.entries(c).any(|(row, a)| a > S::ZERO && z(row) < S::TINY);
        if suspicious(self.least[n], self.floor[n]) && vanishes() {
            step_back(x, &self.old, b.cost.held);
        }
    }

    /// Makes room for columns without data and weights.
    fn clear(&mut self, Shape { groups, lanes, rows, places }: Shape) {
        let set = |to: &mut Vec<S>, n: usize, x: S| {
            to.clear();
            to.resize(groups * lanes * n, x);
        };
        set(&mut self.a, rows, S::ZERO);
        set(&mut self.atoms, rows * places, S::ZERO);
        set(&mut self.x, places, S::ZERO);
        set(&mut self.c, places, S::ONE);
        set(&mut self.repeated, places / B, S::ZERO);
        set(&mut self.floor, 1, S::ONE);
        // These are only written.
        self.z.resize(groups * lanes * rows, S::ZERO);
        self.least.resize(groups * lanes, S::ZERO);
    }
}

/// Puts the listed weights of a column in their places: the held ones first, then blocks of B. The last block
/// repeats weights of the one before instead of being shorter, if there are enough. Returns these places.
fn place(list: &[u32], held: usize, order: &mut Vec<u32>) -> Range<usize> {
    let (free, rest) = (list.len() - held, (list.len() - held) % B);
    order.clear();
    order.extend_from_slice(list);
    if free < B || rest == 0 {
        return 0..0;
    }
    order.truncate(list.len() - rest);
    let first = order.len();
    order.extend_from_slice(&list[list.len() - B..]);
    first..first + B - rest
}

#[cfg(test)]
#[path = "../../tests/unit/short.rs"]
mod tests;
