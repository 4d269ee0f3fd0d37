//! V or Vᵀ by columns, ready to be handed out as blocks.

use super::Blocks;
use super::dense::{DenseColumns, panel_width};
use super::sparse::{SparseColumns, gathered_rows};
use crate::matrix::{Matrix, Order, Sparse, Storage};
use crate::parallel::Pool;
use crate::{Result, Scalar};
use std::borrow::Cow;

/// V with contiguous columns: the caller's memory where its order allows, else a reordered copy.
pub enum ColumnData<'v, T: Scalar> {
    Dense(DenseColumns<'v, T>),
    Sparse(SparseColumns<'v, T>),
}

impl<'v, T: Scalar> ColumnData<'v, T> {
    pub fn new(pool: &Pool, v: Matrix<'v, T>) -> Result<Self> {
        let shape = (v.rows(), v.cols());
        Ok(match (v.storage(), v.order()) {
            (Storage::Dense(data), Order::Columns) => {
                Self::Dense(DenseColumns::new(pool, shape, Cow::Borrowed(data)))
            }
            (Storage::Dense(data), Order::Rows) => Self::Dense(DenseColumns::transposed(pool, shape, data)?),
            (Storage::Sparse { .. }, Order::Columns) => Self::Sparse(SparseColumns::borrowed(pool, v)),
            (Storage::Sparse { .. }, Order::Rows) => {
                Self::Sparse(SparseColumns::owned(pool, pool.run(|| Sparse::reordered(v))?))
            }
        })
    }

    /// The data as blocks in the precision of the work.
    pub fn blocks<S: Scalar>(&self) -> &dyn Blocks<S> {
        match self {
            Self::Dense(data) => data,
            Self::Sparse(data) => data,
        }
    }

    /// The matrix, by columns.
    pub fn view(&self) -> Matrix<'_, T> {
        match self {
            Self::Dense(data) => {
                let (rows, cols) = Blocks::<T>::shape(data);
                Matrix::by_columns(rows, cols, data.data())
            }
            Self::Sparse(data) => data.view(),
        }
    }

    /// The sums of the columns.
    pub fn sums(&self) -> &[f64] {
        self.blocks::<T>().sums()
    }
}

/// Rows and columns of the largest block of a `rows × cols` half whose longest column has `longest` stored
/// entries, if it is sparse, for a method that keeps arrays.
pub fn largest_block(rows: usize, cols: usize, longest: Option<usize>) -> (usize, usize) {
    match longest {
        Some(longest) => (gathered_rows(longest), 1),
        None => (rows, panel_width(rows, cols, true, 1)),
    }
}
