//! Single columns of a matrix that is stored by columns.

use super::{IndexSlice, Matrix, Order, Storage};
use crate::Scalar;

/// One column: all entries, or the stored ones with their rows.
pub(crate) enum Column<'a, T> {
    Dense(&'a [T]),
    Sparse(IndexSlice<'a>, &'a [T]),
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// Dense columns of `rows` numbers each.
    pub(crate) fn by_columns(rows: usize, cols: usize, data: &'a [T]) -> Self {
        debug_assert_eq!(data.len(), rows * cols);
        Self { rows, cols, order: Order::Columns, storage: Storage::Dense(data) }
    }

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
