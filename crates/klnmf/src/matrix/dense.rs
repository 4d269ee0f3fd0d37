//! A dense matrix that owns its numbers, column after column.

use crate::{Error, Result, Scalar};
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
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(Error::Shape(format!("{rows} × {cols} numbers expected, {} given", data.len())));
        }
        Ok(Self { rows, cols, data })
    }

    /// A matrix of zeros. Panics only where a `Vec` of that size would; see [`Mat::try_zeros`].
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![T::ZERO; rows * cols] }
    }

    /// A matrix of zeros, or an error if that much memory cannot be had.
    pub fn try_zeros(rows: usize, cols: usize) -> Result<Self> {
        let too_large =
            || Error::TooLarge { rows, cols, bytes: rows as u128 * cols as u128 * size_of::<T>() as u128 };
        let len = rows.checked_mul(cols).ok_or_else(too_large)?;
        let mut data = Vec::new();
        data.try_reserve_exact(len).map_err(|_| too_large())?;
        data.resize(len, T::ZERO);
        Ok(Self { rows, cols, data })
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

    /// All numbers, column after column, to be changed.
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

    /// Column `j`, to be changed.
    pub fn col_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.rows..][..self.rows]
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> Self {
        let mut out = Self::zeros(self.cols, self.rows);
        transpose(self.rows, self.cols, &self.data, &mut out.data);
        out
    }

    /// The same matrix in another precision.
    pub fn cast<S: Scalar>(&self) -> Mat<S> {
        Mat {
            rows: self.rows,
            cols: self.cols,
            data: self.data.iter().map(|v| S::from_f64(v.to_f64())).collect(),
        }
    }

    /// Sums of the columns, in double precision.
    pub fn col_sums(&self) -> Vec<f64> {
        (0..self.cols).map(|j| self.col(j).iter().map(|v| v.to_f64()).sum()).collect()
    }

    /// Sums of the rows, in double precision.
    pub fn row_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows];
        for j in 0..self.cols {
            for (s, v) in sums.iter_mut().zip(self.col(j)) {
                *s += v.to_f64();
            }
        }
        sums
    }
}

/// Writes the transpose of the column-major `rows × cols` matrix `from` to `to`.
pub(crate) fn transpose<T: Scalar>(rows: usize, cols: usize, from: &[T], to: &mut [T]) {
    transpose_part(rows, cols, from, 0, to);
}

/// The columns of the transpose from `first` on, as many as `to` has room for, in square tiles that stay in
/// cache.
pub(crate) fn transpose_part<T: Scalar>(rows: usize, cols: usize, from: &[T], first: usize, to: &mut [T]) {
    const TILE: usize = 32;
    let here = to.len() / cols.max(1);
    for j0 in (0..cols).step_by(TILE) {
        let j1 = (j0 + TILE).min(cols);
        for i0 in (0..here).step_by(TILE) {
            let i1 = (i0 + TILE).min(here);
            for i in i0..i1 {
                for j in j0..j1 {
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
