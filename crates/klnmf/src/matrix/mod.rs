//! Storage of V, and the one seam between dense and sparse.
//!
//! [`Mat`] owns a dense matrix, [`Sparse`] a compressed one; [`Matrix`] is the borrowed view of either that
//! every solver takes. A view can lie on memory of someone else (numpy, scipy) without a copy, in either
//! order, with 32- or 64-bit indices. Transposing a view costs nothing: it swaps the shape and says that rows
//! are now columns.

mod columns;
mod dense;
mod reorder;
mod sparse;

pub(crate) use columns::Column;
pub use dense::Mat;
pub use sparse::{Indices, Sparse};

use crate::parallel::Pool;
use crate::{Error, Result, Scalar};
use rayon::prelude::*;
pub(crate) use sparse::Index;
use std::ops::Range;

/// Writes the transpose of column-major numbers, `rows` to a column, to `to`, on all threads.
pub(crate) fn transpose_into<T: Scalar>(pool: &Pool, (rows, from): (usize, &[T]), to: &mut Mat<T>) {
    let cols = to.rows();
    pool.panels(64, (to.as_mut_slice(), cols), (&mut vec![(); rows], 1), |first, to, _| {
        dense::transpose_part(rows, cols, from, first, to);
    });
}

/// Which lines of a matrix are contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Column after column (Fortran order; CSC if sparse).
    Columns,
    /// Row after row (C order; CSR if sparse).
    Rows,
}

impl Order {
    /// How many lines a `rows × cols` matrix has in this order, and how long they are.
    pub(crate) fn lines(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Order::Columns => (cols, rows),
            Order::Rows => (rows, cols),
        }
    }

    /// The order with the fewer lines, hence the fewer pointers, for a sparse `rows × cols` matrix.
    pub fn shorter(rows: usize, cols: usize) -> Self {
        if rows < cols { Order::Rows } else { Order::Columns }
    }

    /// The order of the transposed matrix on the same memory.
    pub fn flipped(self) -> Self {
        match self {
            Order::Columns => Order::Rows,
            Order::Rows => Order::Columns,
        }
    }
}

/// A borrowed row or column index array, 32 or 64 bits wide.
#[derive(Clone, Copy, Debug)]
pub enum IndexSlice<'a> {
    /// 32-bit indices.
    U32(&'a [u32]),
    /// 64-bit indices.
    U64(&'a [u64]),
}

impl IndexSlice<'_> {
    /// How many indices there are.
    pub fn len(&self) -> usize {
        match self {
            IndexSlice::U32(s) => s.len(),
            IndexSlice::U64(s) => s.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index at position `i`.
    pub fn at(&self, i: usize) -> usize {
        match self {
            IndexSlice::U32(s) => s[i] as usize,
            IndexSlice::U64(s) => s[i] as usize,
        }
    }

    /// How many of the rising indices at some positions are below `x`.
    pub(crate) fn count_below(&self, positions: Range<usize>, x: usize) -> usize {
        match self {
            IndexSlice::U32(s) => s[positions].partition_point(|i| (*i as usize) < x),
            IndexSlice::U64(s) => s[positions].partition_point(|i| (*i as usize) < x),
        }
    }

    /// Bytes of one index.
    pub fn width(&self) -> usize {
        match self {
            IndexSlice::U32(_) => 4,
            IndexSlice::U64(_) => 8,
        }
    }
}

/// A borrowed non-negative matrix: dense or sparse, by columns or by rows.
///
/// Build one from a [`Mat`] or a [`Sparse`] with `into()`, or straight on foreign memory with
/// [`Matrix::dense`] and [`Matrix::sparse`].
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    rows: usize,
    cols: usize,
    order: Order,
    storage: Storage<'a, T>,
}

/// What a [`Matrix`] points to; a "line" is a column or a row, after its order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage<'a, T> {
    Dense(&'a [T]),
    /// `ptr[l]..ptr[l + 1]` are the positions of line `l` in `idx` and `val`.
    Sparse {
        ptr: IndexSlice<'a>,
        idx: IndexSlice<'a>,
        val: &'a [T],
    },
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// A view of `rows × cols` numbers in `data`, line after line.
    pub fn dense(rows: usize, cols: usize, order: Order, data: &'a [T]) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(Error::Shape(format!("{rows} × {cols} numbers expected, {} given", data.len())));
        }
        Ok(Self { rows, cols, order, storage: Storage::Dense(data) })
    }

    /// A view of compressed lines: CSC for [`Order::Columns`], CSR for [`Order::Rows`].
    ///
    /// Indices must rise strictly within a line. Explicit zeros are harmless. [`Sparse::new`] takes arrays in
    /// any order and with duplicates, at the price of owning them.
    pub fn sparse(
        rows: usize,
        cols: usize,
        order: Order,
        ptr: IndexSlice<'a>,
        idx: IndexSlice<'a>,
        val: &'a [T],
    ) -> Result<Self> {
        let (lines, length) = order.lines(rows, cols);
        sparse::check_structure(lines, length, ptr, idx, val.len(), true)?;
        Ok(Self { rows, cols, order, storage: Storage::Sparse { ptr, idx, val } })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Which lines are contiguous.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Whether the storage is compressed.
    pub fn is_sparse(&self) -> bool {
        matches!(self.storage, Storage::Sparse { .. })
    }

    /// The stored entries: all of them if dense.
    pub fn stored(&self) -> usize {
        self.values().len()
    }

    /// The entries that are not zero.
    pub fn nnz(&self) -> usize {
        self.values().iter().filter(|v| **v != T::ZERO).count()
    }

    /// Bytes of the storage.
    pub fn bytes(&self) -> usize {
        match self.storage {
            Storage::Dense(data) => size_of_val(data),
            Storage::Sparse { ptr, idx, val } => {
                ptr.len() * ptr.width() + idx.len() * idx.width() + size_of_val(val)
            }
        }
    }

    /// The sum of all entries, in double precision.
    pub fn sum(&self) -> f64 {
        self.values().iter().map(|v| v.to_f64()).sum()
    }

    /// Calls `f` with row, column and value of every entry, or of every stored one, in the order of storage.
    pub fn for_each(&self, mut f: impl FnMut(usize, usize, T)) {
        let (lines, across) = self.order.lines(self.rows, self.cols);
        let mut call = |line: usize, at: usize, value: T| match self.order {
            Order::Columns => f(at, line, value),
            Order::Rows => f(line, at, value),
        };
        for line in 0..lines {
            match self.storage {
                Storage::Dense(data) => {
                    data[line * across..][..across].iter().enumerate().for_each(|(at, v)| call(line, at, *v));
                }
                Storage::Sparse { ptr, idx, val } => {
                    (ptr.at(line)..ptr.at(line + 1)).for_each(|k| call(line, idx.at(k), val[k]));
                }
            }
        }
    }

    /// The sums of the columns, in double precision.
    pub fn col_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.cols];
        self.for_each(|_, j, x| sums[j] += x.to_f64());
        sums
    }

    /// The sums of the rows, in double precision.
    pub fn row_sums(&self) -> Vec<f64> {
        self.transpose().col_sums()
    }

    /// How many rows and how many columns hold nothing but zeros.
    pub fn empty(&self) -> (usize, usize) {
        let (mut rows, mut cols) = (vec![true; self.rows], vec![true; self.cols]);
        self.for_each(|i, j, x| {
            if x != T::ZERO {
                (rows[i], cols[j]) = (false, false);
            }
        });
        let count = |lines: Vec<bool>| lines.into_iter().filter(|empty| *empty).count();
        (count(rows), count(cols))
    }

    /// The most stored entries of a row, and of a column.
    pub fn longest(&self) -> (usize, usize) {
        let Storage::Sparse { ptr, idx, .. } = self.storage else { return (self.cols, self.rows) };
        let (lines, length) = self.order.lines(self.rows, self.cols);
        let mut counts = vec![0; length];
        (0..idx.len()).for_each(|at| counts[idx.at(at)] += 1);
        let along = (0..lines).map(|l| ptr.at(l + 1) - ptr.at(l)).max().unwrap_or(0);
        let across = counts.into_iter().max().unwrap_or(0);
        if self.order == Order::Columns { (across, along) } else { (along, across) }
    }

    /// The transposed view of the same memory.
    pub fn transpose(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.flipped(), storage: self.storage }
    }

    /// Checks that every entry is finite and not negative, and so is their sum; the error names the first
    /// entry, in storage order, that is not.
    pub fn check(&self) -> Result<()> {
        self.check_entries()?;
        if self.sum().is_finite() { Ok(()) } else { Err(Error::SumOverflow) }
    }

    /// The same without the sum; on all threads if this is called in a pool.
    pub(crate) fn check_entries(&self) -> Result<()> {
        let bad = |v: &T| !(v.is_finite() && *v >= T::ZERO);
        // A fold without early exit is several times faster on good data, and data is mostly good.
        let any_bad = |chunk: &[T]| chunk.iter().fold(false, |any, v| any | bad(v));
        let any = match rayon::current_thread_index() {
            Some(_) => self.values().par_chunks(1 << 16).any(any_bad),
            None => self.values().chunks(4096).any(any_bad),
        };
        if !any {
            return Ok(());
        }
        let mut first = Ok(());
        self.for_each(|row, col, x| {
            if first.is_ok() && bad(&x) {
                let value = x.to_f64();
                let negative = value.is_finite();
                first = Err(if negative {
                    Error::Negative { row, col, value }
                } else {
                    Error::NotFinite { row, col, value }
                });
            }
        });
        first
    }

    pub(crate) fn storage(&self) -> Storage<'a, T> {
        self.storage
    }

    /// All entries, or the stored ones, as they lie.
    pub(crate) fn values(&self) -> &'a [T] {
        match self.storage {
            Storage::Dense(data) => data,
            Storage::Sparse { val, .. } => val,
        }
    }
}

impl<'a, T: Scalar> From<&'a Mat<T>> for Matrix<'a, T> {
    fn from(m: &'a Mat<T>) -> Self {
        Matrix::by_columns(m.rows(), m.cols(), m.as_slice())
    }
}

impl<'a, T: Scalar> From<&'a Sparse<T>> for Matrix<'a, T> {
    fn from(s: &'a Sparse<T>) -> Self {
        s.view()
    }
}
