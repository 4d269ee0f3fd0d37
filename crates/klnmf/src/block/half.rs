//! V or its transpose, cut into blocks.

use super::{Block, Dictionary, MOST_BLOCKS, MOST_COLUMNS, Scratch, TILE_ROWS, Work, take};
use crate::matrix::{Columns, Matrix};
use crate::parallel::{PerThread, Pool};
use crate::{Result, Scalar};
use std::any::TypeId;

/// Rows for which there is room when sparse columns are gathered together, even if no column is so long.
const GATHERED_ROWS: usize = 2048;

/// Rows that can be gathered together if the longest column has `longest` entries.
fn gathered_rows(longest: usize) -> usize {
    // 16 numbers fill a register in either precision.
    let longest = longest.next_multiple_of(16);
    (MOST_BLOCKS * longest).min(longest.max(GATHERED_ROWS))
}

/// Columns in a panel. It depends on the data alone: some panels for every thread, yet wide enough for the products, and no
/// more than a mebibyte of doubles, so that the workspace is bounded.
fn panel_width(rows: usize, cols: usize, sparse: bool) -> usize {
    if sparse {
        return cols.div_ceil(64).clamp(1, 64);
    }
    // Eight panels or more, in multiples of the number of columns that the kernels take at a time. Wide panels read the
    // dictionary less often.
    let fits = ((1 << 17) / rows.max(1)).clamp(1, MOST_COLUMNS);
    let width = cols.div_ceil(8);
    if width >= 8 { width.next_multiple_of(8).min(fits) } else { width.clamp(1, fits) }
}

/// Bytes of the workspaces of one thread for a `rows × cols` half whose longest column has `longest` stored entries: the
/// solver's, which gathers and keeps three p × q arrays, and the certifier's, which gathers.
pub(crate) fn workspace_bytes(rows: usize, cols: usize, longest: usize, sparse: bool, r: usize) -> u128 {
    let r = r as u128;
    let (p, q) = if sparse {
        (gathered_rows(longest) as u128, 1)
    } else {
        (rows as u128, panel_width(rows, cols, sparse) as u128)
    };
    let gathered = if sparse { p * (r + 1) } else { 0 };
    8 * (2 * gathered + 4 * (p + 16) * q + 12 * r * q.max(8) + 2 * TILE_ROWS as u128 * q)
}

/// V by columns, and the sums of its columns.
pub struct Half<'a, T> {
    v: Columns<'a, T>,
    pub sums: Vec<f64>,
}

impl<'a, T: Scalar> Half<'a, T> {
    pub fn new(v: Matrix<'a, T>) -> Result<Self> {
        let v = Columns::new(v)?;
        let view = v.view();
        let sums = (0..view.cols()).map(|j| view.column_values(j).iter().map(|a| a.to_f64()).sum()).collect();
        Ok(Self { v, sums })
    }

    pub fn view(&self) -> Matrix<'_, T> {
        self.v.view()
    }

    /// Columns in a panel.
    pub fn width(&self) -> usize {
        let view = self.view();
        panel_width(view.rows(), view.cols(), view.is_sparse())
    }

    /// Columns in a block.
    fn block_cols(&self) -> usize {
        if self.view().is_sparse() { 1 } else { self.width() }
    }

    /// Rows of the tallest block, or of the blocks that are gathered together.
    fn block_rows(&self) -> usize {
        let view = self.view();
        if view.is_sparse() {
            gathered_rows((0..view.cols()).map(|j| view.column_values(j).len()).max().unwrap_or(0))
        } else {
            view.rows()
        }
    }

    /// Workspaces for blocks of this half, one per thread.
    pub fn scratch<S: Scalar>(&self, pool: &Pool, r: usize) -> PerThread<Scratch<S>> {
        let (p, q) = (self.block_rows(), self.block_cols());
        let sparse = self.view().is_sparse();
        pool.each(|| Scratch::new(p, q, r, sparse, TypeId::of::<S>() != TypeId::of::<T>()))
    }

    /// Calls `f` for every block, in parallel, with the block's columns of `a` and `b` (`per_a`, `per_b` entries a column).
    pub fn for_each_block<S: Scalar, A: Send, B: Send>(
        &self,
        pool: &Pool,
        scratch: &PerThread<Scratch<S>>,
        dictionary: &Dictionary<S>,
        a: (&mut [A], usize),
        b: (&mut [B], usize),
        f: impl Fn(&Block<'_, S>, &mut [A], &mut [B], &mut Work<S>) + Sync,
    ) {
        self.for_each_group(pool, scratch, dictionary, a, b, 1, |b, x, y, work| f(&b[0], x, y, work), |_| ());
    }

    /// The same for groups of blocks: one if V is dense, up to `most` single columns if it is sparse. After each panel `then`
    /// is called with the number of its columns. It may be the user's code and do what it likes, also start work on these
    /// threads: no lock is held.
    pub fn for_each_group<S: Scalar, A: Send, B: Send>(
        &self,
        pool: &Pool,
        scratch: &PerThread<Scratch<S>>,
        dictionary: &Dictionary<S>,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        most: usize,
        f: impl Fn(&[Block<'_, S>], &mut [A], &mut [B], &mut Work<S>) + Sync,
        then: impl Fn(usize) + Sync,
    ) {
        pool.panels(self.width(), (a, per_a), (b, per_b), |mut first, mut a, mut b| {
            let cols = a.len() / per_a;
            let end = first + cols;
            scratch.with(|Scratch { load, work }| {
                while first < end {
                    let (count, blocks) = load.blocks(self, first..end, most, dictionary);
                    let blocks = &blocks[..count];
                    let cols: usize = blocks.iter().map(|b| b.q).sum();
                    f(blocks, take(&mut a, cols * per_a), take(&mut b, cols * per_b), work);
                    first += cols;
                }
            });
            then(cols);
        });
    }
}
