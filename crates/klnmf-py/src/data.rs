//! Lends Python's matrices to the library without copying.
//!
//! C-ordered arrays are stored by rows, Fortran-ordered ones by columns; CSR and CSC are used as they are.
//! The Python code makes numbers f32 or f64 and arrays contiguous, and copies only where needed.

use crate::error::from_library;
use klnmf::{Mat, Matrix, Order, Scalar, Sparse};
use numpy::npyffi::NPY_ORDER;
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::borrow::Cow;

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

    /// Calls `f` with a view of the memory. Unsorted indices and duplicates are sorted and merged in a copy
    /// first.
    pub fn with<R>(&self, f: impl FnOnce(Matrix<'_, T>) -> PyResult<R>) -> PyResult<R> {
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
                let owned = Sparse::new(*rows, *cols, *order, ptr, idx.into_owned(), values.to_vec());
                f((&owned.map_err(from_library)?).into())
            }
        }
    }

    /// Bytes of index arrays beyond those of the view that [`Lent::with`] makes: its copy of the pointers, and
    /// of indices of 64 bits, which themselves have twice the bytes.
    pub fn extra_bytes(&self) -> u128 {
        let Lent::Sparse { shape: (rows, cols), idx, .. } = self else { return 0 };
        let wide = if let Lines::Wide(idx) = idx { idx.len() } else { 0 };
        8 * (rows.max(cols) + 1 + wide) as u128
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

    /// As indices, where they lie if they have 32 bits. What has no place in 32 bits becomes the largest number
    /// there, and what was negative is now large: no line is so long, and the library refuses it.
    fn indices(&self) -> PyResult<Cow<'_, [u32]>> {
        Ok(match self {
            Lines::Narrow(lines) => {
                let lines = lines.as_slice()?;
                // SAFETY: i32 and u32 have one size and alignment, and all their bit patterns are valid.
                Cow::Borrowed(unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len()) })
            }
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
