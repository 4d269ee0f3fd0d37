//! One half of the problem, and the blocks into which it is divided.
//!
//! A half-step keeps a dictionary K (p × r) fixed and updates X (r × q) such that KX approximates V (p × q).
//! With V, W and H it is the H-step, with Vᵀ, Hᵀ and Wᵀ the W-step. Both factors are therefore stored with r
//! rows, as H and Wᵀ.
//!
//! A [`Block`] is a few columns of V with the dictionary. Sparse columns read the rows of K at their entries
//! in place, or come as blocks of one column with a [copy](gather) of these rows. [`Blocks`] is the interface
//! of the half-steps to the data: a [`Storage`] provides blocks, and the code above does not depend on it.
//! [`HalfProblem`] iterates over the blocks. It alone decides threads, order and sums.

mod batch;
mod column_data;
mod dictionary;
mod gather;
mod half_problem;
#[cfg(test)]
#[path = "../../tests/unit/masked.rs"]
mod masked;
mod streamed;
mod work;

pub use batch::COPIES;
pub use column_data::ColumnData;
pub use dictionary::{Dictionary, DictionaryParts, Terms};
pub use gather::Gather;
pub use half_problem::HalfProblem;
pub use streamed::{Failure, LineBuffer, Lines, Streamed};
pub use work::{Load, Work, workspace_bytes};

use crate::Scalar;
use crate::cost::Cost;
use crate::kernel::{self, Given, Isa, LogSums, Packed, Ratio, SparseRows, TileMap};
use std::ops::{AddAssign, Range};

/// The most rows of KX processed at a time, so that they stay in cache between the two products.
pub const TILE_ROWS: usize = 192;

/// Rows of a tile if there are p rows: about 128, a multiple of the widest strip. The tiles are about equally
/// tall, because a short tile costs nearly as much as a whole one.
fn tile_rows(p: usize) -> usize {
    let tiles = ((p + 64) / 128).max(1);
    p.max(1).div_ceil(tiles).next_multiple_of(32)
}

/// The most columns in a block.
pub const MOST_COLUMNS: usize = 96;

/// The most sparse columns loaded together.
pub const MOST_BLOCKS: usize = 16;

/// Rows of a dictionary stored atom by atom, padded so that every atom fills whole registers.
fn padded<S>(p: usize) -> usize {
    p.next_multiple_of(64 / size_of::<S>())
}

/// Splits off the first `n` entries.
pub fn take<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    from.split_off_mut(..n).expect("the slice is long enough")
}

/// How a pass wants the columns of a sparse V. Dense columns come in panels either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All columns of a panel in one block, which reads the rows of the dictionary where they lie: best if
    /// each entry is used once or twice.
    InPlace,
    /// Single columns, up to this many at a time, each with the rows of the dictionary at its entries copied
    /// atom by atom: best if several sweeps over the entries follow.
    Gathered(usize),
}

/// V or Vᵀ as blocks of columns in the precision of the computation: dense, sparse, converted, weighted or
/// decoded from disk.
pub trait Blocks<S: Scalar>: Sync {
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Σα of every column.
    fn sums(&self) -> &[f64];

    /// The entries that are not zero.
    fn nonzero(&self) -> Nonzero;

    /// Columns in a panel, which one of `threads` threads processes. Results do not depend on it. `arrays`:
    /// the method keeps arrays of the size of a panel, which must then be small.
    fn panel(&self, arrays: bool, threads: usize) -> usize;

    /// The most rows, in total, of blocks loaded together.
    fn most_rows(&self) -> usize;

    /// Whether columns are sparse, so that blocks use the dictionary by rows.
    fn gathers(&self) -> bool;

    /// The column with most entries. 0 if they hardly differ, or if that is not known.
    fn heaviest(&self) -> usize {
        0
    }

    /// Passes the columns `cols` to `f` as one block.
    fn load(
        &self,
        cols: Range<usize>,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&Block<'_, S>),
    );
}

/// V or Vᵀ as blocks in either precision.
pub trait Storage: Blocks<f32> + Blocks<f64> + Send {}

impl<D: Blocks<f32> + Blocks<f64> + Send> Storage for D {}

/// The number of non-zero entries, the smallest and the largest; ∞ and 0 if there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nonzero {
    /// Their number.
    pub count: usize,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Nonzero {
    /// No entries.
    pub const NONE: Self = Self { count: 0, least: f64::INFINITY, most: 0.0 };

    /// These entries and others.
    pub fn and(self, other: Self) -> Self {
        let (least, most) = (self.least.min(other.least), self.most.max(other.most));
        Self { count: self.count + other.count, least, most }
    }
}

/// Some columns of V that share the same rows of the dictionary.
#[derive(Clone, Copy)]
pub struct Block<'a, S> {
    /// The index of the first column in V.
    pub first: usize,
    /// Rows, columns, atoms.
    pub p: usize,
    pub q: usize,
    pub r: usize,
    /// p × q: the columns of V, or the entries of sparse columns.
    pub a: &'a [S],
    /// The places of the entries of sparse columns in [`Layout::InPlace`], where p is 0.
    pub rows: Option<SparseRows<'a, S>>,
    /// The dictionary on these rows, packed for products. If there is none, products use the atoms.
    pub packed: Option<&'a Packed<S>>,
    /// The dictionary on these rows atom by atom: r times [`Block::height`] numbers, zeros after the first p.
    /// If it is packed, only methods that need the atoms have them.
    pub atoms: &'a [S],
    /// Kᵀ1 over *all* rows, including those that a sparse block omits: the metric of the primal-dual steps.
    pub k_sum: &'a [S],
    /// K(1/Kᵀ1) on these rows, if the method needs it.
    pub shares: &'a [S],
    /// The cost of the weights besides the data.
    pub cost: Cost<'a, S>,
    /// Σα of these columns.
    pub sums: &'a [f64],
}

/// The result of one pass over the rows of a block, for its columns at the weights x. Like Σα and c it is
/// additive over rows: the results of passes over disjoint rows of the same columns sum to that of one pass
/// over all.
pub struct Evidence<S> {
    /// r × q: g = Kᵀ(α/Kx).
    pub g: Vec<S>,
    /// Σα·ln(α/Kx) of every column, if requested.
    pub logs: Vec<f64>,
}

impl<S: Scalar> AddAssign<&Evidence<S>> for Evidence<S> {
    /// Adds the result for other rows of the same columns.
    fn add_assign(&mut self, other: &Self) {
        self.g.iter_mut().zip(&other.g).for_each(|(to, g)| *to += *g);
        self.logs.iter_mut().zip(&other.logs).for_each(|(to, logs)| *to += *logs);
    }
}

impl<S: Scalar> Block<'_, S> {
    /// Rows including padding: the distance between atoms in [`Block::atoms`].
    pub fn height(&self) -> usize {
        padded::<S>(self.p)
    }

    /// Row and value of the entries of column `c`, or of the stored ones.
    pub fn entries(&self, c: usize) -> impl Iterator<Item = (usize, S)> {
        let here = self.rows.map_or(c * self.p..(c + 1) * self.p, |rows| rows.entries(c));
        let row = move |at: usize, i| self.rows.map_or(i, |rows| rows.idx()[at] as usize);
        here.enumerate().map(move |(i, at)| (row(at, i), self.a[at]))
    }

    /// The numbers of column `c`, or the stored ones.
    pub fn values(&self, c: usize) -> &[S] {
        &self.a[self.rows.map_or(c * self.p..(c + 1) * self.p, |rows| rows.entries(c))]
    }

    /// Computes g = Kᵀ(α/Kx), and Σα·ln(α/Kx) if `logs` is set.
    pub fn evidence(&self, x: &[S], logs: bool, tile: &mut [S], out: &mut Evidence<S>) {
        if logs {
            return self.measure(x, false, tile, out);
        }
        self.both_products(x, &mut out.g, tile, &mut Ratio { a: self.a });
    }

    /// g and the logarithms. To `certify`, g is not finite in a column where Kx has lost digits to underflow.
    pub fn measure(&self, x: &[S], certify: bool, tile: &mut [S], out: &mut Evidence<S>) {
        let mut sums = LogSums::new(self.a, self.a, self.q);
        sums.certify = certify;
        self.both_products(x, &mut out.g, tile, &mut sums);
        (0..self.q).for_each(|c| out.logs[c] = sums.sum(c));
    }

    /// F of column `c` at its weights x, from Σα·ln(α/Kx).
    pub fn value(&self, c: usize, logs: f64, x: &[S]) -> f64 {
        self.cost.value(c, self.sums[c], 1.0, logs, x)
    }

    /// [`pass`](Self::pass) in either layout.
    fn both_products(&self, x: &[S], g: &mut [S], tile: &mut [S], map: &mut impl TileMap<S>) {
        match self.rows {
            Some(rows) => rows.pass(x, self.r, g, map),
            None => self.pass(x, Some(g), tile, map),
        }
    }

    /// Makes one pass over a block that is not in place, tile by tile: z = Kx for the r × q weights `x`,
    /// t = map(z), g = Kᵀt. The map is applied strip by strip while z is in the L1 cache. Without `g` there
    /// is one product.
    pub fn pass<F: TileMap<S>>(&self, x: &[S], mut g: Option<&mut [S]>, tile: &mut [S], map: &mut F) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(tile_rows(p)) {
            let rows = start..(start + tile_rows(p)).min(p);
            let t = &mut tile[..rows.len() * q];
            if let Some(k) = self.packed.filter(|_| F::READS) {
                k.multiply_map(&rows, &x[..r * q], q, t, map);
            } else {
                if F::READS {
                    kernel::multiply(&self.atoms[start..], self.height(), &x[..r], t);
                }
                for (c, t) in t.chunks_exact_mut(rows.len()).enumerate() {
                    map.apply(Isa::get(), c, c * p + start, t);
                }
            }
            let Some(g) = &mut g else { continue };
            if let Some(k) = self.packed {
                k.multiply_transposed(&rows, t, q, &mut g[..r * q]);
            } else {
                kernel::multiply_transposed(&self.atoms[start..], self.height(), t, &mut g[..r]);
            }
        }
    }

    /// g = Kᵀt for an array t like [`Block::a`].
    pub fn back(&self, t: &[S], g: &mut [S], tile: &mut [S]) {
        self.both_products(&[], g, tile, &mut Given { t });
    }

    /// Column `c` as a block of its own.
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
}
