//! One half of the problem, and the blocks in which it is worked.
//!
//! A half-step holds a dictionary K (p × r) fixed and moves X (r × q) so that KX comes near V (p × q). With
//! V, W and H it is the H-step, with Vᵀ, Hᵀ and Wᵀ the W-step. Both factors are therefore kept with r rows,
//! as H and Wᵀ.
//!
//! A [`Block`] is a few columns of V with the dictionary restricted to the rows that matter: a panel of
//! columns with all of K if V is dense, one column with the rows of K at its entries if V is sparse.
//! [`Blocks`] is the one seam to the data: a storage hands out blocks, and everything above it does not know
//! which storage it was. [`HalfProblem`] walks over the blocks; threads, order and sums are decided there and
//! nowhere else.

mod column_data;
mod dictionary;
mod half_problem;
#[cfg(test)]
#[path = "../../tests/unit/masked.rs"]
mod masked;
mod work;

pub use column_data::ColumnData;
pub use dictionary::{Dictionary, DictionaryParts, Terms};
pub use half_problem::HalfProblem;
pub use work::{Load, Work, workspace_bytes};

use crate::Scalar;
use crate::cost::Cost;
use crate::kernel::{self, Isa, LogSums, Packed, Ratio, TileMap};
use std::ops::{AddAssign, Range};

/// The most rows of KX that are worked at a time, so that they stay in cache between the two products.
pub const TILE_ROWS: usize = 192;

/// Rows of a tile of p rows in all: about two thirds of the most, in whole strips. Tiles are as even as strips
/// allow, because the last one costs nearly as much as a whole one however short it is.
fn tile_rows(p: usize) -> usize {
    let tiles = ((p + 64) / 128).max(1);
    p.max(1).div_ceil(tiles).next_multiple_of(32)
}

/// The most columns that a block has.
pub const MOST_COLUMNS: usize = 48;

/// The most sparse columns that are loaded together.
pub const MOST_BLOCKS: usize = 8;

/// Rows of a dictionary that is kept atom by atom, padded so that every atom fills whole registers.
fn padded<S>(p: usize) -> usize {
    p.next_multiple_of(64 / size_of::<S>())
}

/// Cuts the first `n` entries off.
pub fn take<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    from.split_off_mut(..n).expect("the slice is long enough")
}

/// V or Vᵀ as blocks of columns, in the precision of the work: dense, sparse, converted, weighted or decoded
/// from disk.
pub trait Blocks<S: Scalar>: Sync {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Σα of every column.
    fn sums(&self) -> &[f64];

    /// Columns in a panel, which one of so many threads works; results do not depend on it. `arrays`: the
    /// method keeps arrays of the size of a panel, which must not be large then.
    fn panel(&self, arrays: bool, threads: usize) -> usize;

    /// The most rows that blocks loaded together have, all told.
    fn most_rows(&self) -> usize;

    /// Whether blocks hold rows of the dictionary that were gathered for one column, instead of all of it.
    fn gathers(&self) -> bool;

    /// Hands the columns `cols` to `f`: as one block, or in turn as groups of up to `most` single columns.
    fn load(
        &self,
        cols: Range<usize>,
        most: usize,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&[Block<'_, S>]),
    );
}

/// Some columns of V, all with the same rows of the dictionary.
#[derive(Clone, Copy)]
pub struct Block<'a, S> {
    /// The first column's number in V.
    pub first: usize,
    /// Rows, columns, atoms.
    pub p: usize,
    pub q: usize,
    pub r: usize,
    /// p × q: the columns of V.
    pub a: &'a [S],
    /// The dictionary on these rows, packed for products. Without it the products use the atoms.
    pub packed: Option<&'a Packed<S>>,
    /// The dictionary on these rows atom by atom: r times [`Block::height`] numbers, zeros after the first p.
    /// Where it is packed, only if the method wants it.
    pub atoms: &'a [S],
    /// Kᵀ1 over *all* rows, also those that a sparse block leaves out: the metric of the primal-dual steps.
    pub k_sum: &'a [S],
    /// K(1/Kᵀ1) on these rows, if the method wants it.
    pub shares: &'a [S],
    /// What the weights cost beside the data.
    pub cost: Cost<'a, S>,
    /// Σα of these columns.
    pub sums: &'a [f64],
}

/// What one pass over the rows of a block says of its columns at the weights x. It adds up over rows, as do
/// Σα and c: two passes over different rows of the same columns, added, say what one pass over all these rows
/// would.
pub struct Evidence<S> {
    /// r × q: g = Kᵀ(α/Kx).
    pub g: Vec<S>,
    /// Σα·ln(α/Kx) of every column, if it was asked for.
    pub logs: Vec<f64>,
}

impl<S: Scalar> AddAssign<&Evidence<S>> for Evidence<S> {
    /// Adds what other rows say of the same columns.
    fn add_assign(&mut self, other: &Self) {
        self.g.iter_mut().zip(&other.g).for_each(|(to, g)| *to += *g);
        self.logs.iter_mut().zip(&other.logs).for_each(|(to, logs)| *to += *logs);
    }
}

impl<S: Scalar> Block<'_, S> {
    /// Rows with padding: where the next atom begins in [`Block::atoms`].
    pub fn height(&self) -> usize {
        padded::<S>(self.p)
    }

    /// g = Kᵀ(α/Kx), and Σα·ln(α/Kx) if `logs`.
    pub fn evidence(&self, x: &[S], logs: bool, tile: &mut [S], out: &mut Evidence<S>) {
        if logs {
            self.measure(x, false, tile, out);
        } else {
            self.pass(x, Some(&mut out.g), tile, &mut Ratio { a: self.a });
        }
    }

    /// g and the logarithms. To `certify`, g is not finite in a column where Kx has lost digits to underflow.
    pub fn measure(&self, x: &[S], certify: bool, tile: &mut [S], out: &mut Evidence<S>) {
        let mut sums = LogSums::new(self.a, self.a, self.q);
        sums.certify = certify;
        self.pass(x, Some(&mut out.g), tile, &mut sums);
        (0..self.q).for_each(|c| out.logs[c] = sums.sum(c));
    }

    /// F of column `c` at its weights x, from Σα·ln(α/Kx).
    pub fn value(&self, c: usize, logs: f64, x: &[S]) -> f64 {
        self.cost.value(c, self.sums[c], 1.0, logs, x)
    }

    /// One pass over the block, tile by tile: z = Kx for the r × q weights `x`, t = map(z), g = Kᵀt. The map
    /// is applied strip by strip while z is in the nearest cache. Without `g` there is no second product.
    pub fn pass(&self, x: &[S], mut g: Option<&mut [S]>, tile: &mut [S], map: &mut impl TileMap<S>) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(tile_rows(p)) {
            let rows = start..(start + tile_rows(p)).min(p);
            let t = &mut tile[..rows.len() * q];
            if let Some(k) = self.packed {
                k.multiply_map(&rows, &x[..r * q], q, t, map);
            } else {
                kernel::multiply(&self.atoms[start..], self.height(), &x[..r], t);
                map.apply(Isa::get(), 0, start, t);
            }
            if let Some(g) = &mut g {
                self.add_back(&rows, t, g);
            }
        }
    }

    /// g = Kᵀt for a p × q array t.
    pub fn back(&self, t: &[S], g: &mut [S], tile: &mut [S]) {
        let Block { p, q, r, .. } = *self;
        g[..r * q].fill(S::ZERO);
        for start in (0..p).step_by(tile_rows(p)) {
            let rows = start..(start + tile_rows(p)).min(p);
            let tile = &mut tile[..rows.len() * q];
            for (c, tile) in tile.chunks_exact_mut(rows.len()).enumerate() {
                tile.copy_from_slice(&t[c * p..][rows.clone()]);
            }
            self.add_back(&rows, tile, g);
        }
    }

    /// One of the columns, as a block of its own.
    pub fn column(&self, c: usize) -> Self {
        Self {
            first: self.first + c,
            q: 1,
            a: &self.a[c * self.p..][..self.p],
            cost: self.cost.from(c),
            sums: &self.sums[c..][..1],
            ..*self
        }
    }

    /// g ← g + Kᵀt for the rows of one tile.
    pub fn add_back(&self, rows: &Range<usize>, t: &[S], g: &mut [S]) {
        let Block { q, r, .. } = *self;
        if let Some(k) = self.packed {
            k.multiply_transposed(rows, t, q, &mut g[..r * q]);
        } else {
            kernel::multiply_transposed(&self.atoms[rows.start..], self.height(), t, &mut g[..r]);
        }
    }
}
