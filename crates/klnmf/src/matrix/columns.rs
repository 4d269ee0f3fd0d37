//! A matrix whose columns can be read one after the other: the form in which a half-step sees V, and Vᵀ.

use super::{IndexSlice, Mat, Matrix, Order, Sparse, Storage, dense};
use crate::{Result, Scalar};

/// V with contiguous columns: the caller's memory where its order allows, else a reordered copy.
pub(crate) enum Columns<'a, T> {
    Borrowed(Matrix<'a, T>),
    Dense(Mat<T>),
    Sparse(Sparse<T>),
}

/// One column: all entries, or the stored ones with their rows.
pub(crate) enum Column<'a, T> {
    Dense(&'a [T]),
    Sparse(IndexSlice<'a>, &'a [T]),
}

impl<'a, T: Scalar> Columns<'a, T> {
    pub fn new(v: Matrix<'a, T>) -> Result<Self> {
        Ok(match (v.order(), v.storage()) {
            (Order::Columns, _) => Columns::Borrowed(v),
            (Order::Rows, Storage::Sparse { .. }) => Columns::Sparse(Sparse::reordered(v)?),
            (Order::Rows, Storage::Dense(data)) => {
                let mut copy = Mat::try_zeros(v.rows(), v.cols())?;
                dense::transpose(v.cols(), v.rows(), data, copy.as_mut_slice());
                Columns::Dense(copy)
            }
        })
    }

    pub fn view(&self) -> Matrix<'_, T> {
        match self {
            Columns::Borrowed(v) => *v,
            Columns::Dense(m) => m.into(),
            Columns::Sparse(s) => s.view(),
        }
    }
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// Column `j` of a matrix stored by columns.
    #[inline]
    pub(crate) fn column(&self, j: usize) -> Column<'a, T> {
        debug_assert_eq!(self.order, Order::Columns);
        match self.storage {
            Storage::Dense(data) => Column::Dense(&data[j * self.rows..][..self.rows]),
            Storage::Sparse { ptr, idx, val } => {
                let range = ptr.at(j)..ptr.at(j + 1);
                let idx = match idx {
                    IndexSlice::U32(s) => IndexSlice::U32(&s[range.clone()]),
                    IndexSlice::U64(s) => IndexSlice::U64(&s[range.clone()]),
                };
                Column::Sparse(idx, &val[range])
            }
        }
    }

    /// The values of column `j`; if sparse, the stored ones.
    #[inline]
    pub(crate) fn column_values(&self, j: usize) -> &'a [T] {
        match self.column(j) {
            Column::Dense(values) | Column::Sparse(_, values) => values,
        }
    }

    /// The row of entry number `at` of column `j`.
    pub(crate) fn row_of(&self, j: usize, at: usize) -> usize {
        match self.column(j) {
            Column::Dense(_) => at,
            Column::Sparse(idx, _) => idx.at(at),
        }
    }
}
