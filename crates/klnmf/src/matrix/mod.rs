//! Storage of V, and the common interface to dense and sparse data.
//!
//! [`Mat`] owns a dense matrix and [`Sparse`] a compressed one. [`Matrix`] is the borrowed view of either
//! that every solver takes. A view can refer to foreign memory (numpy, scipy) without a copy, in either
//! order. Transposing a view costs nothing: it swaps the shape and exchanges rows and columns.

mod dense;
mod line;
mod reorder;
mod sparse;

pub use dense::Mat;
pub(crate) use dense::transpose_into;
pub use sparse::Sparse;

use crate::{Entry, Error, Result, Scalar, parallel};
use std::ops::Range;

/// Which lines of a matrix are contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Column after column (Fortran order; CSC if sparse).
    Columns,
    /// Row after row (C order; CSR if sparse).
    Rows,
}

impl Order {
    /// (rows, columns) as (lines, their length) and (row, column) as (line, position), and back. For columns
    /// the two are swapped.
    pub(crate) fn lines_first<X>(self, rows: X, cols: X) -> (X, X) {
        match self {
            Order::Columns => (cols, rows),
            Order::Rows => (rows, cols),
        }
    }

    /// The order with fewer lines, and hence fewer pointers, for a sparse `rows × cols` matrix.
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

/// A borrowed non-negative matrix: dense or sparse, by columns or by rows.
///
/// Create one from a [`Mat`] or a [`Sparse`] with `into()`, or directly on foreign memory with
/// [`Matrix::dense`] and [`Matrix::sparse`].
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    rows: usize,
    cols: usize,
    order: Order,
    /// All entries, or the stored ones, in storage order.
    pub(crate) values: &'a [T],
    /// The positions of the stored entries, if the matrix is sparse.
    pub(crate) compressed: Option<Compressed<'a>>,
}

/// Compressed lines: `ptr[l]..ptr[l + 1]` are the positions of line `l` in `idx` and in the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compressed<'a> {
    pub ptr: &'a [usize],
    pub idx: &'a [u32],
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// A view of `rows × cols` numbers in `data`, line after line.
    pub fn dense(rows: usize, cols: usize, order: Order, data: &'a [T]) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(Error::Shape(format!("{rows} × {cols} numbers expected, {} given", data.len())));
        }
        Ok(Self { rows, cols, order, values: data, compressed: None })
    }

    /// A view of compressed lines: CSC for [`Order::Columns`], CSR for [`Order::Rows`].
    ///
    /// Indices must increase strictly within a line. Explicit zeros are allowed. [`Sparse::new`] takes arrays
    /// in any order and with duplicates, but must own them.
    pub fn sparse(
        rows: usize,
        cols: usize,
        order: Order,
        ptr: &'a [usize],
        idx: &'a [u32],
        values: &'a [T],
    ) -> Result<Self> {
        let new = Self { rows, cols, order, values, compressed: Some(Compressed { ptr, idx }) };
        new.check_structure(true)?;
        Ok(new)
    }

    /// All entries, or the stored ones, in storage order.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The ends of the lines and the positions of the stored entries in them, if the matrix is sparse: line
    /// `l` holds the entries `ptr[l]..ptr[l + 1]`.
    pub fn positions(&self) -> Option<(&'a [usize], &'a [u32])> {
        self.compressed.map(|Compressed { ptr, idx }| (ptr, idx))
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
        self.compressed.is_some()
    }

    /// Number of stored entries: all of them if dense.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Number of non-zero entries.
    pub fn nnz(&self) -> usize {
        self.values.iter().filter(|v| **v != T::ZERO).count()
    }

    /// Bytes of the storage.
    pub fn bytes(&self) -> usize {
        let places = self.compressed.map_or(0, |c| size_of_val(c.ptr) + size_of_val(c.idx));
        size_of_val(self.values) + places
    }

    /// The sum of all entries, in double precision.
    pub fn sum(&self) -> f64 {
        self.values.iter().map(|v| v.to_f64()).sum()
    }

    /// Row, column and value of every entry, or of every stored one, in storage order.
    pub fn entries(self) -> impl Iterator<Item = (usize, usize, T)> {
        self.entries_in(0..self.lines().0)
    }

    /// The same for some lines: columns if the matrix is stored by columns, else rows.
    pub fn entries_in(self, lines: Range<usize>) -> impl Iterator<Item = (usize, usize, T)> {
        lines.flat_map(move |l| {
            self.line(l).entries().map(move |(place, value)| {
                let (row, col) = self.order.lines_first(l, place);
                (row, col, value)
            })
        })
    }

    /// The sums of the columns, in double precision.
    pub fn col_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.cols];
        self.entries().for_each(|(_, j, x)| sums[j] += x.to_f64());
        sums
    }

    /// The sums of the rows, in double precision.
    pub fn row_sums(&self) -> Vec<f64> {
        self.transpose().col_sums()
    }

    /// Numbers of rows and of columns that hold only zeros.
    pub fn empty(&self) -> (usize, usize) {
        let empty = |counts: Vec<usize>| counts.into_iter().filter(|n| *n == 0).count();
        let (rows, cols) = self.counts(|x| x != T::ZERO);
        (empty(rows), empty(cols))
    }

    /// The largest numbers of stored entries in a row and in a column.
    pub fn longest(&self) -> (usize, usize) {
        let Some(Compressed { ptr, idx }) = self.compressed else { return (self.cols, self.rows) };
        let mut across = vec![0; self.lines().1];
        idx.iter().for_each(|i| across[*i as usize] += 1);
        let most = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(0);
        let along = most(&mut ptr.windows(2).map(|ends| ends[1] - ends[0]));
        self.order.lines_first(along, most(&mut across.into_iter()))
    }

    /// The numbers of stored entries in every row and in every column for which `such` holds.
    fn counts(&self, such: impl Fn(T) -> bool) -> (Vec<usize>, Vec<usize>) {
        let (mut rows, mut cols) = (vec![0; self.rows], vec![0; self.cols]);
        for (i, j, _) in self.entries().filter(|entry| such(entry.2)) {
            rows[i] += 1;
            cols[j] += 1;
        }
        (rows, cols)
    }

    /// The transposed view of the same memory.
    pub fn transpose(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.flipped(), ..self }
    }

    /// Checks that there is a row and a column.
    pub(crate) fn check_not_empty(&self) -> Result<()> {
        let (rows, cols) = (self.rows, self.cols);
        if rows > 0 && cols > 0 { Ok(()) } else { Err(Error::Empty { rows, cols }) }
    }

    /// Checks that every entry is finite and non-negative, and that their sum is finite, on all threads if
    /// called in a pool. The error names the first invalid entry in storage order.
    pub fn check(&self) -> Result<()> {
        self.check_entries()?;
        let sum = |part: &[T]| part.iter().map(|v| v.to_f64()).sum::<f64>();
        let sums = parallel::map(self.values.chunks(1 << 16), sum);
        if sums.iter().sum::<f64>().is_finite() { Ok(()) } else { Err(Error::SumOverflow) }
    }

    /// Checks the entries without their sum, on all threads if called in a pool.
    pub(crate) fn check_entries(&self) -> Result<()> {
        let bad = |v: &T| !(v.is_finite() && *v >= T::ZERO);
        // A fold without early exit is several times faster on valid data, the usual case.
        let any_bad = |chunk: &[T]| chunk.iter().fold(false, |any, v| any | bad(v));
        let any = parallel::map(self.values.chunks(1 << 16), any_bad).contains(&true);
        let first = if any { self.entries().find(|entry| bad(&entry.2)) } else { None };
        first.map_or(Ok(()), |(row, col, x)| {
            let entry = Entry { row, col, value: x.to_f64() };
            Err(if x.is_finite() { Error::Negative(entry) } else { Error::NotFinite(entry) })
        })
    }
}

impl<'a, T: Scalar> From<&'a Mat<T>> for Matrix<'a, T> {
    fn from(m: &'a Mat<T>) -> Self {
        let (rows, cols, values) = (m.rows(), m.cols(), m.as_slice());
        Matrix { rows, cols, order: Order::Columns, values, compressed: None }
    }
}

impl<'a, T: Scalar> From<&'a Sparse<T>> for Matrix<'a, T> {
    fn from(s: &'a Sparse<T>) -> Self {
        s.view()
    }
}
