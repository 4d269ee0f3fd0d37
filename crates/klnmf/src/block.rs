//! One half of the problem, and the blocks in which it is worked.
//!
//! A half-step holds a dictionary K (p × r) fixed and moves X (r × q) so that KX comes near V (p × q): with V = V, K = W,
//! X = H it is the H-step, with Vᵀ, Hᵀ, Wᵀ the W-step. Both factors are therefore kept with r rows, as H and Wᵀ.
//!
//! A [`Block`] is a few columns of V with the dictionary restricted to the rows that matter: a panel of columns with
//! all of K if V is dense, one column with the rows K_S of its non-zeros, gathered, if V is sparse. Everything above
//! this file is written for blocks and does not know which it was.

mod dictionary;
mod half;
mod scratch;

pub use dictionary::{Dictionary, Wants};
pub use half::Half;
pub(crate) use half::workspace_bytes;
pub use scratch::{Scratch, Work};

use crate::map::{Logs, Map, Ratio};
use crate::packed::Packed;
use crate::{Scalar, kernel};
use std::ops::Range;

/// Rows of KX that are worked at a time, so that they stay in cache between the two products.
const TILE_ROWS: usize = 128;

/// The most columns that a block has.
pub(crate) const MOST_COLUMNS: usize = 48;

/// The most sparse columns that are gathered together.
pub(crate) const MOST_BLOCKS: usize = 8;

/// Rows of a dictionary that is kept atom by atom, padded so that every atom fills whole registers.
fn padded<S>(p: usize) -> usize {
    p.next_multiple_of(64 / size_of::<S>())
}

/// Cuts the first `n` entries off.
pub(crate) fn take<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    from.split_off_mut(..n).expect("the slice is long enough")
}

/// The dictionary of a block.
#[derive(Clone, Copy)]
pub enum Atoms<'a, S> {
    /// All of it.
    Packed(&'a Packed<S>),
    /// The rows of one sparse column, atom by atom, p padded.
    Gathered(&'a [S]),
}

/// Some columns of V, all with the same rows of the dictionary.
pub struct Block<'a, S> {
    /// The first column's number in V.
    pub first: usize,
    /// Rows, columns, atoms.
    pub p: usize,
    pub q: usize,
    pub r: usize,
    /// p × q: the columns of V.
    pub a: &'a [S],
    /// p × r: the dictionary on these rows.
    pub k: Atoms<'a, S>,
    /// The same atom by atom, if the method wants it: r times [`Block::height`] numbers, zeros after the first p.
    pub atoms: &'a [S],
    /// K(1/Kᵀ1) on these rows.
    pub u: &'a [S],
    /// Kᵀ1 over *all* rows, also those that a sparse block leaves out.
    pub k_sum: &'a [S],
    /// 1ᵀV of these columns.
    pub sums: &'a [f64],
}

impl<S: Scalar> Block<'_, S> {
    /// The part of a p × q array that belongs to column `c` and `rows`.
    pub fn part(&self, c: usize, rows: &Range<usize>) -> Range<usize> {
        c * self.p + rows.start..c * self.p + rows.end
    }

    /// Rows with padding: where the next atom begins in [`Block::atoms`].
    pub fn height(&self) -> usize {
        padded::<S>(self.p)
    }

    /// (Kᵀ1)ᵀx, the sum of Kx over all rows.
    pub fn total(&self, x: &[S]) -> f64 {
        kernel::dot(self.k_sum, x)
    }

    /// The divergence of every column at x, from the logarithms that a pass with `Logs::new(b.a, b.a)` has added up.
    pub fn divergences(&self, logs: &Logs<'_, S>, x: &[S], values: &mut [f64]) {
        for (c, (value, x)) in values.iter_mut().zip(x.chunks(self.r)).enumerate() {
            *value = logs.sum(c) - self.sums[c] + self.total(x);
        }
    }

    /// One pass over the block, tile by tile: z = Kx (r × q `x`), then `f` turns a tile z into t, then g = Kᵀt.
    ///
    /// `f` gets the rows of the tile and the tile, column after column. Without `x` it must fill the tile itself;
    /// without `g` what it leaves there is not used.
    pub fn pass(
        &self,
        x: Option<&[S]>,
        mut g: Option<&mut [S]>,
        tile: &mut [S],
        mut f: impl FnMut(Range<usize>, &mut [S]),
    ) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(TILE_ROWS) {
            let rows = start..(start + TILE_ROWS).min(p);
            let n = rows.len();
            let z = &mut tile[..n * q];
            if let Some(x) = x {
                match self.k {
                    Atoms::Packed(k) => k.multiply(&rows, &x[..r * q], q, z),
                    Atoms::Gathered(k) => kernel::multiply(&k[start..], self.height(), &x[..r], z),
                }
            }
            f(rows.clone(), z);
            if let Some(g) = &mut g {
                self.add_back(&rows, z, g);
            }
        }
    }

    /// The same where what lies between the products is a [`Map`], applied strip by strip. Without `g` there
    /// is no second product.
    pub fn pass_map(&self, x: &[S], mut g: Option<&mut [S]>, tile: &mut [S], map: &mut impl Map<S>) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(TILE_ROWS) {
            let rows = start..(start + TILE_ROWS).min(p);
            let t = &mut tile[..rows.len() * q];
            match self.k {
                Atoms::Packed(k) => k.multiply_map(&rows, &x[..r * q], q, t, map),
                Atoms::Gathered(k) => {
                    kernel::multiply(&k[start..], self.height(), &x[..r], t);
                    map.apply(0, start, t);
                }
            }
            if let Some(g) = &mut g {
                self.add_back(&rows, t, g);
            }
        }
    }

    /// g ← g + Kᵀt for the rows of one tile.
    fn add_back(&self, rows: &Range<usize>, t: &[S], g: &mut [S]) {
        let Block { q, r, .. } = *self;
        match self.k {
            Atoms::Packed(k) => k.multiply_transposed(rows, t, q, &mut g[..r * q]),
            Atoms::Gathered(k) => {
                kernel::multiply_transposed(&k[rows.start..], self.height(), t, &mut g[..r]);
            }
        }
    }

    /// z ← a/z on the support, for one tile.
    pub fn ratio(&self, rows: &Range<usize>, z: &mut [S]) {
        for (c, z) in z.chunks_mut(rows.len()).enumerate() {
            Ratio::new(self.a).apply(c, self.part(c, rows).start, z);
        }
    }
}
