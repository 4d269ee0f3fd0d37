//! Lends Python's matrices to the library without copying.
//!
//! C-ordered arrays are stored by rows, Fortran-ordered ones by columns; the values of CSR and CSC are used
//! as they are. The Python code makes numbers f32 or f64 and arrays contiguous, and copies only where needed.
//!
//! The work runs without Python's lock, so another thread may write into the arrays meanwhile. Two measures
//! make that safe. The index arrays are copied, because the library reads them without checks once it has
//! checked them. The values are hashed before and after the work, and the result is dropped if they differ.

use crate::error::from_library;
use klnmf::{Mat, Matrix, Order, Scalar, Sparse};
use klnmf_io::data_hash_text;
use numpy::npyffi::NPY_ORDER;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A matrix in its own precision.
pub enum Data<'py> {
    Single(Lent<'py, f32>),
    Double(Lent<'py, f64>),
}

impl<'py> Data<'py> {
    pub fn of(v: &Bound<'py, PyAny>) -> PyResult<Self> {
        match Lent::new(v) {
            Ok(single) => Ok(Data::Single(single)),
            Err(_) => Lent::new(v).map(Data::Double),
        }
    }
}

/// A matrix that Python owns.
pub enum Lent<'py, T: Element> {
    Dense(Order, PyReadonlyArray2<'py, T>),
    Sparse {
        shape: (usize, usize),
        order: Order,
        ptr: Lines<'py>,
        idx: Lines<'py>,
        val: PyReadonlyArray1<'py, T>,
    },
}

impl<'py, T: Element + Scalar> Lent<'py, T> {
    /// An array, or an object with `format`, `shape`, `indptr`, `indices` and `data` like a scipy matrix.
    pub fn new(v: &Bound<'py, PyAny>) -> PyResult<Self> {
        if !v.hasattr("indptr")? {
            let array: PyReadonlyArray2<'py, T> = v.extract()?;
            let order = if array.is_c_contiguous() { Order::Rows } else { Order::Columns };
            return Ok(Lent::Dense(order, array));
        }
        let format: String = v.getattr("format")?.extract()?;
        let order = match format.as_str() {
            "csr" => Order::Rows,
            "csc" => Order::Columns,
            other => {
                return Err(PyValueError::new_err(format!(
                    "format {other}: convert the matrix to CSR or CSC"
                )));
            }
        };
        Ok(Lent::Sparse {
            shape: v.getattr("shape")?.extract()?,
            order,
            ptr: v.getattr("indptr")?.extract()?,
            idx: v.getattr("indices")?.extract()?,
            val: v.getattr("data")?.extract()?,
        })
    }

    /// Calls `f` with a view of the memory, and fails if the memory has changed meanwhile. Beside the result
    /// is the hash of the matrix, as it is written in models.
    pub fn with<R>(&self, f: impl FnOnce(Matrix<'_, T>) -> PyResult<R>) -> PyResult<(R, String)> {
        self.with_hash(|v, _| f(v))
    }

    /// The same, where `f` gets the hash too.
    pub fn with_hash<R>(&self, f: impl FnOnce(Matrix<'_, T>, &str) -> PyResult<R>) -> PyResult<(R, String)> {
        self.view(|v| {
            let before = data_hash_text(v);
            // Numbers that change may break what the library relies on, and panic.
            let result = catch_unwind(AssertUnwindSafe(|| f(v, &before)));
            if let Ok(Err(exception)) = result {
                return Err(exception);
            }
            if data_hash_text(v) != before {
                return Err(PyValueError::new_err(
                    "V was changed during the call, by another thread: give a copy, or wait for the result",
                ));
            }
            Ok((result.unwrap_or_else(|panic| resume_unwind(panic))?, before))
        })
    }

    /// Calls `f` with a view of the memory. Unsorted indices and duplicates are sorted and merged in a copy
    /// first.
    pub fn view<R>(&self, f: impl FnOnce(Matrix<'_, T>) -> PyResult<R>) -> PyResult<R> {
        match self {
            Lent::Dense(order, array) => {
                let (rows, cols) = (array.shape()[0], array.shape()[1]);
                f(Matrix::dense(rows, cols, *order, array.as_slice()?).map_err(from_library)?)
            }
            Lent::Sparse { shape: (rows, cols), order, ptr, idx, val } => {
                let (ptr, idx, values) = (ptr.pointers()?, idx.indices()?, val.as_slice()?);
                if let Ok(view) = Matrix::sparse(*rows, *cols, *order, &ptr, &idx, values) {
                    return f(view);
                }
                let owned = Sparse::new(*rows, *cols, *order, ptr, idx, values.to_vec());
                f((&owned.map_err(from_library)?).into())
            }
        }
    }

    /// Bytes of index arrays beyond those of the view that [`Lent::view`] makes of its copies: the originals.
    pub fn extra_bytes(&self) -> u128 {
        let Lent::Sparse { shape: (rows, cols), idx, .. } = self else { return 0 };
        let indices = match idx {
            Lines::Narrow(idx) => 4 * idx.len(),
            Lines::Wide(idx) => 8 * idx.len(),
        };
        (8 * (rows.max(cols) + 1) + indices) as u128
    }
}

/// An index array of scipy with 32 or 64 bits.
#[derive(FromPyObject)]
pub enum Lines<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

impl Lines<'_> {
    /// As pointers. What was negative is now larger than any matrix, and the library refuses it.
    fn pointers(&self) -> PyResult<Vec<usize>> {
        Ok(match self {
            Lines::Narrow(lines) => lines.as_slice()?.iter().map(|at| *at as usize).collect(),
            Lines::Wide(lines) => lines.as_slice()?.iter().map(|at| *at as usize).collect(),
        })
    }

    /// As indices. What has no place in 32 bits becomes the largest number there, and what was negative is
    /// now large: no line is so long, and the library refuses it.
    fn indices(&self) -> PyResult<Vec<u32>> {
        Ok(match self {
            Lines::Narrow(lines) => lines.as_slice()?.iter().map(|i| *i as u32).collect(),
            Lines::Wide(lines) => {
                lines.as_slice()?.iter().map(|i| u32::try_from(*i).unwrap_or(u32::MAX)).collect()
            }
        })
    }
}

/// A copy of a factor, which the library must own.
pub fn factor<T: Element + Scalar>(array: &Bound<'_, PyAny>) -> PyResult<Mat<T>> {
    let array: PyReadonlyArray2<'_, T> = array.extract()?;
    let view = array.as_array();
    let mut copy = Mat::try_zeros(view.nrows(), view.ncols()).map_err(from_library)?;
    for (j, column) in view.columns().into_iter().enumerate() {
        copy.col_mut(j).iter_mut().zip(column).for_each(|(to, from)| *to = *from);
    }
    Ok(copy)
}

/// A factor as a Fortran-ordered array, without a copy.
pub fn array<T: Element + Scalar>(py: Python<'_>, factor: Mat<T>) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = [factor.rows(), factor.cols()];
    PyArray1::from_vec(py, factor.into_vec()).reshape_with_order(shape, NPY_ORDER::NPY_FORTRANORDER)
}
