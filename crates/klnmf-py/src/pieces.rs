//! Some columns of V or of Vᵀ in a worker, and what it computes from them.
//!
//! A factor with r rows is an array with a row of r numbers for each column, so that pieces of it follow each
//! other in memory.

use crate::data::{Data, Lent};
use crate::error::{from_io, from_library};
use klnmf::{Column, Entry, Mat, Matrix, Order, Scalar, Sparse, Step};
use klnmf_io::{DataHash, Folder, Stored};
use numpy::{
    Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// A matrix by columns, checked and owned.
#[pyclass(frozen, module = "klnmf._klnmf")]
pub struct Piece(Precision);

enum Precision {
    Single(klnmf::Piece<'static, f32>),
    Double(klnmf::Piece<'static, f64>),
}

/// Calls the same for either precision.
macro_rules! either {
    ($piece:expr, $found:ident => $work:expr) => {
        match &$piece.0 {
            Precision::Single($found) => $work,
            Precision::Double($found) => $work,
        }
    };
}

#[pymethods]
impl Piece {
    /// Takes a copy of an array or of a scipy matrix.
    #[new]
    fn new(py: Python<'_>, v: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        fn own<T: Element + Scalar>(
            py: Python<'_>,
            v: Lent<'_, T>,
            threads: usize,
        ) -> PyResult<klnmf::Piece<'static, T>> {
            v.view(|v| {
                let make = || klnmf::Piece::new(v, threads)?.into_owned();
                py.detach(make).map_err(from_library)
            })
        }
        Ok(Self(match Data::of(v)? {
            Data::Single(v) => Precision::Single(own(py, v, threads)?),
            Data::Double(v) => Precision::Double(own(py, v, threads)?),
        }))
    }

    /// Rows, columns, the sums of 64 columns each, the number of non-zero entries, the smallest, the largest,
    /// and whether the storage is sparse.
    fn facts(&self) -> (usize, usize, Vec<f64>, usize, f64, f64, bool) {
        let ((rows, cols), sums, nonzero, sparse) = either!(self, piece => piece.facts());
        (rows, cols, sums, nonzero.count, nonzero.least, nonzero.most, sparse)
    }

    /// The part of these columns, from column `first` on, in the hash of V.
    fn hash(&self, py: Python<'_>, rows: usize, cols: usize, first: usize) -> u64 {
        fn of<T: Scalar>(v: Matrix<'_, T>, mut hash: DataHash, first: usize) -> u64 {
            v.entries().for_each(|(row, col, x)| hash.add(row, first + col, x.to_f64()));
            hash.part()
        }
        py.detach(|| either!(self, piece => of(piece.view(), DataHash::new(rows, cols), first)))
    }

    /// The new weights, the new state of the columns, and the measured sums.
    #[allow(clippy::too_many_arguments)]
    fn half_step<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        k: Vec<Bound<'py, PyAny>>,
        x: &Bound<'py, PyAny>,
        weights: PyReadonlyArray1<'py, f64>,
        how: (usize, usize, bool),
        threads: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        fn moved<'py, S: Element + Scalar>(
            piece: &Piece,
            py: Python<'py>,
            step: Step<'_>,
            (k, x): (Mat<S>, Mat<S>),
            weights: &[f64],
            threads: usize,
        ) -> PyResult<Bound<'py, PyTuple>> {
            let mut columns: Vec<Column> =
                weights.iter().map(|weight| Column { weight: *weight, value: 0.0 }).collect();
            let mut x = x;
            let sums = py
                .detach(|| either!(piece, piece => piece.half_step(step, &k, &mut x, &mut columns, threads)));
            let sums = PyArray1::from_vec(py, sums.map_err(from_library)?);
            let weights = PyArray1::from_iter(py, columns.iter().map(|column| column.weight));
            (rows(py, x)?, weights, sums).into_pyobject(py)
        }
        let (steps, held, measure) = how;
        let (step, weights) = (Step { name, steps, held, measure }, weights.as_slice()?);
        match columns::<f32>(x) {
            Ok(x) => moved(self, py, step, (joined(&k)?, x), weights, threads),
            Err(_) => moved(self, py, step, (joined(&k)?, columns::<f64>(x)?), weights, threads),
        }
    }

    /// The divergence, the one that bounds refer to, and the gap, for 64 columns each.
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        k: Vec<Bound<'py, PyAny>>,
        x: &Bound<'py, PyAny>,
        how: (usize, bool),
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let found = either!(self, piece => {
            let (k, x) = (joined(&k)?, columns(x)?);
            py.detach(|| piece.evaluate(&k, &x, how, threads))
        });
        let sums: Vec<Vec<f64>> = found.map_err(from_library)?.iter().map(|sums| sums.to_vec()).collect();
        Ok(PyArray2::from_vec2(py, &sums)?)
    }

    /// Row, column and value of the first entry that is positive where the model is zero.
    fn first_infinite(
        &self,
        py: Python<'_>,
        k: Vec<Bound<'_, PyAny>>,
        x: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Option<(usize, usize, f64)>> {
        let found = either!(self, piece => {
            let (k, x) = (joined(&k)?, columns(x)?);
            py.detach(|| piece.first_infinite(&k, &x, threads))
        });
        Ok(found.map_err(from_library)?.map(|Entry { row, col, value }| (row, col, value)))
    }

    /// What [`Piece::new`] makes the same piece from.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        either!(self, piece => arrays(py, piece.view()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((py.import("klnmf._pieces")?.getattr("piece")?, self.arrays(py)?))
    }

    fn __sizeof__(&self) -> usize {
        either!(self, piece => piece.view().bytes())
    }
}

/// A matrix by columns: (array, None), or (values, (indices, pointers, shape)).
fn arrays<'py, T: Element + Scalar>(py: Python<'py>, v: Matrix<'_, T>) -> PyResult<Bound<'py, PyTuple>> {
    let Some((ptr, idx)) = v.positions() else {
        let columns = PyArray1::from_slice(py, v.values()).reshape([v.cols(), v.rows()])?;
        return (columns.transpose()?, py.None()).into_pyobject(py);
    };
    let ptr = PyArray1::from_iter(py, ptr.iter().map(|at| *at as i64));
    let idx = PyArray1::from_iter(py, idx.iter().map(|at| i64::from(*at)));
    (PyArray1::from_slice(py, v.values()), (idx, ptr, (v.rows(), v.cols()))).into_pyobject(py)
}

/// y extrapolated from x.
#[pyfunction]
pub fn carry_on<'py>(
    y: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    beta: f64,
    upwards: bool,
) -> PyResult<Bound<'py, PyAny>> {
    fn next<'py, S: Element + Scalar>(
        py: Python<'py>,
        (mut y, mut x): (Mat<S>, Mat<S>),
        beta: f64,
        upwards: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        py.detach(|| klnmf::carry_on(y.as_mut_slice(), x.as_mut_slice(), beta, upwards));
        Ok(rows(py, y)?.into_any())
    }
    match columns::<f32>(y) {
        Ok(single) => next(y.py(), (single, columns(x)?), beta, upwards),
        Err(_) => next(y.py(), (columns::<f64>(y)?, columns(x)?), beta, upwards),
    }
}

/// The sums over all columns of a factor in pieces.
#[pyfunction]
pub fn row_sums(pieces: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<f64>> {
    match joined::<f32>(&pieces) {
        Ok(single) => Ok(single.row_sums()),
        Err(_) => Ok(joined::<f64>(&pieces)?.row_sums()),
    }
}

/// The factor of an array with a row for each column.
pub fn columns<S: Element + Scalar>(array: &Bound<'_, PyAny>) -> PyResult<Mat<S>> {
    joined(std::slice::from_ref(array))
}

fn joined<S: Element + Scalar>(pieces: &[Bound<'_, PyAny>]) -> PyResult<Mat<S>> {
    let arrays: Vec<PyReadonlyArray2<'_, S>> =
        pieces.iter().map(|piece| piece.extract()).collect::<Result<_, _>>()?;
    let (r, cols) = (arrays.first().map_or(0, |array| array.shape()[1]), arrays.iter().map(|a| a.shape()[0]));
    let mut all = Vec::with_capacity(r * cols.clone().sum::<usize>());
    for array in &arrays {
        all.extend_from_slice(array.as_slice()?);
    }
    Mat::new(r, cols.sum(), all).map_err(from_library)
}

/// An array with a row for each column of a factor.
pub fn rows<S: Element + Scalar>(py: Python<'_>, factor: Mat<S>) -> PyResult<Bound<'_, PyArray2<S>>> {
    let shape = [factor.cols(), factor.rows()];
    PyArray1::from_vec(py, factor.into_vec()).reshape(shape)
}

/// The matrix of a file by columns, and the names of its rows and columns.
#[pyfunction]
pub fn read_matrix(
    py: Python<'_>,
    path: PathBuf,
    layer: Option<String>,
    single: bool,
) -> PyResult<Bound<'_, PyTuple>> {
    fn read<'py, T: Element + Scalar>(
        py: Python<'py>,
        path: &std::path::Path,
        layer: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let table = py.detach(|| klnmf_io::read_layer::<T>(path, layer)).map_err(from_io)?;
        let names = (table.row_names, table.col_names);
        let by_columns = match table.matrix {
            Stored::Sparse(v) if v.view().order() == Order::Rows => {
                Stored::Sparse(py.detach(|| Sparse::reordered(v.view())).map_err(from_library)?)
            }
            matrix => matrix,
        };
        (arrays(py, by_columns.view())?, names).into_pyobject(py)
    }
    match single {
        true => read::<f32>(py, &path, layer.as_deref()),
        false => read::<f64>(py, &path, layer.as_deref()),
    }
}

/// Some columns (side 0) or rows (side 1) of a converted matrix, as columns.
#[pyfunction]
pub fn read_lines(
    py: Python<'_>,
    path: PathBuf,
    side: usize,
    first: usize,
    end: usize,
    single: bool,
) -> PyResult<Bound<'_, PyTuple>> {
    fn read<'py, T: Element + Scalar>(
        py: Python<'py>,
        folder: &Folder,
        side: usize,
        range: std::ops::Range<usize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let stored = py.detach(|| folder.part::<T>(side == 1, range)).map_err(from_io)?;
        arrays(py, stored.view())
    }
    let folder = Folder::open(&path).map_err(from_io)?;
    match single {
        true => read::<f32>(py, &folder, side, first..end),
        false => read::<f64>(py, &folder, side, first..end),
    }
}

/// Of a converted matrix: the work of every column and of every row, and their names.
#[pyfunction]
pub fn folder(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyTuple>> {
    let found = Folder::open(&path).map_err(from_io)?;
    let work = |bytes: Vec<u64>| PyArray1::from_vec(py, bytes);
    let (columns, rows) = (work(found.columns.bytes()), work(found.rows.bytes()));
    (columns, rows, found.row_names, found.col_names).into_pyobject(py)
}

/// Converts a file into a folder of which some lines can be read.
#[pyfunction]
pub fn convert(
    py: Python<'_>,
    source: PathBuf,
    layer: Option<String>,
    to: PathBuf,
    memory: u64,
) -> PyResult<()> {
    py.detach(|| klnmf_io::convert(&source, layer.as_deref(), &to, memory)).map(drop).map_err(from_io)
}

/// Sets the instruction level of this process.
#[pyfunction]
pub fn set_instruction_level(name: &str) -> PyResult<()> {
    klnmf::set_instruction_level(name).map_err(from_library)
}
