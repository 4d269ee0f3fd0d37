//! A dense matrix that owns its numbers, column after column.

use super::sparse::try_vec;
use super::{Matrix, Order};
use crate::parallel::Pool;
use crate::{Result, Scalar, kernel};
use std::ops::{Index, IndexMut};

/// A dense `rows × cols` matrix in column-major order.
///
/// ```
/// use klnmf::Mat;
/// let a = Mat::from_rows(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]);
/// assert_eq!((a.rows(), a.cols()), (2, 3));
/// assert_eq!(a[(1, 2)], 6.0);
/// assert_eq!(a.as_slice(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mat<T> {
    rows: usize,
    cols: usize,
    data: Vec<T>,
}

impl<T: Scalar> Mat<T> {
    /// Wraps column-major `data`.
    pub fn new(rows: usize, cols: usize, data: Vec<T>) -> Result<Self> {
        Matrix::dense(rows, cols, Order::Columns, &data)?;
        Ok(Self { rows, cols, data })
    }

    /// A matrix of zeros. Panics if a `Vec` of that size would; see [`Mat::try_zeros`].
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let entries = rows.checked_mul(cols).expect("a matrix has at most usize::MAX entries");
        Self { rows, cols, data: vec![T::ZERO; entries] }
    }

    /// A matrix of zeros, or an error if the memory cannot be allocated.
    pub fn try_zeros(rows: usize, cols: usize) -> Result<Self> {
        Ok(Self { rows, cols, data: try_vec(rows, cols, T::ZERO)? })
    }

    /// The matrix whose entry (i, j) is `f(i, j)`; `f` is called column by column.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for j in 0..cols {
            data.extend((0..rows).map(|i| f(i, j)));
        }
        Self { rows, cols, data }
    }

    /// The matrix with the given rows. Panics if they differ in length.
    pub fn from_rows(rows: &[&[T]]) -> Self {
        let cols = rows.first().map_or(0, |row| row.len());
        assert!(rows.iter().all(|row| row.len() == cols), "rows of different length");
        Self::from_fn(rows.len(), cols, |i, j| rows[i][j])
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All numbers, column after column.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All numbers, column after column, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The numbers, column after column.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Column `j`.
    pub fn col(&self, j: usize) -> &[T] {
        &self.data[j * self.rows..][..self.rows]
    }

    /// Column `j`, mutable.
    pub fn col_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.rows..][..self.rows]
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> Self {
        let mut out = Self::zeros(self.cols, self.rows);
        transpose_part((self.rows, &self.data), self.cols, 0, &mut out.data);
        out
    }

    /// Converts the matrix to another precision.
    pub fn cast<S: Scalar>(&self) -> Mat<S> {
        let data = self.data.iter().map(|v| S::from_f64(v.to_f64())).collect();
        Mat { rows: self.rows, cols: self.cols, data }
    }

    /// Sums of the columns, in double precision.
    pub fn col_sums(&self) -> Vec<f64> {
        (0..self.cols).map(|j| self.col(j).iter().map(|v| v.to_f64()).sum()).collect()
    }

    /// Sums of the rows, in double precision.
    pub fn row_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows];
        if self.rows > 0 {
            kernel::add_columns(&self.data, &mut sums);
        }
        sums
    }
}

/// Writes the transpose of column-major numbers, `rows` per column, to `to`, on all threads.
pub(crate) fn transpose_into<T: Scalar>(pool: &Pool, from: (usize, &[T]), to: &mut Mat<T>) {
    let (cols, rows) = (to.rows, to.cols);
    pool.panels(64, (&mut to.data, cols), (&mut vec![(); rows], 1), |first, to, _| {
        transpose_part(from, cols, first, to);
    });
}

/// Writes the columns of the transpose from `first` on that fit into `to`, in cache-sized square tiles.
fn transpose_part<T: Scalar>((rows, from): (usize, &[T]), cols: usize, first: usize, to: &mut [T]) {
    const TILE: usize = 32;
    let here = to.len() / cols.max(1);
    for j0 in (0..cols).step_by(TILE) {
        for i0 in (0..here).step_by(TILE) {
            for i in i0..(i0 + TILE).min(here) {
                for j in j0..(j0 + TILE).min(cols) {
                    to[i * cols + j] = from[j * rows + first + i];
                }
            }
        }
    }
}

impl<T> Index<(usize, usize)> for Mat<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &self.data[j * self.rows + i]
    }
}

impl<T> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &mut self.data[j * self.rows + i]
    }
}
