//! Model files, as the program writes them.

use crate::data::{array, factor};
use crate::error::{from_io, from_library};
use klnmf::Scalar;
use klnmf_io::{Model, Target};
use numpy::{Element, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::io::Write;
use std::path::PathBuf;

/// The names of features, samples and parts.
type Names = (Option<Vec<String>>, Option<Vec<String>>, Option<Vec<String>>);
/// Arrays with a number for every sample.
type Columns = Vec<(String, Vec<f64>)>;

/// The instructions that the kernels use here.
#[pyfunction]
pub fn instruction_level() -> PyResult<&'static str> {
    klnmf::instruction_level().map_err(from_library)
}

/// Writes a model in the precision of W, over an existing file only if it may be replaced.
#[pyfunction]
pub fn write_model(
    py: Python<'_>,
    path: PathBuf,
    replace: bool,
    w: &Bound<'_, PyAny>,
    h: &Bound<'_, PyAny>,
    metadata: String,
    names: Names,
    columns: Columns,
) -> PyResult<()> {
    fn write<T: Element + Scalar>(py: Python<'_>, target: Target<'_>, model: Model<T>) -> PyResult<()> {
        py.detach(|| klnmf_io::write_model(target, &model)).map_err(from_io)
    }
    // A file that appears during the work is not replaced either.
    let target = Target::new(&path, replace);
    let (row_names, col_names, part_names) = names;
    if w.extract::<PyReadonlyArray2<'_, f32>>().is_ok() {
        let (w, h) = (factor::<f32>(w)?, factor(h)?);
        write(py, target, Model { w, h, metadata, row_names, col_names, part_names, columns })
    } else {
        let (w, h) = (factor::<f64>(w)?, factor(h)?);
        write(py, target, Model { w, h, metadata, row_names, col_names, part_names, columns })
    }
}

/// Writes a file completely or not at all, over an existing one only if it may be replaced.
#[pyfunction]
pub fn write_file(py: Python<'_>, path: PathBuf, replace: bool, content: &[u8]) -> PyResult<()> {
    let write = || klnmf_io::atomically(Target::new(&path, replace), |out| out.write_all(content));
    py.detach(write).map_err(from_io)
}

/// W, H, metadata, names, columns.
#[pyfunction]
pub fn read_model(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyTuple>> {
    fn read<T: Element + Scalar>(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyTuple>> {
        let model = py.detach(|| klnmf_io::read_model::<T>(&path)).map_err(from_io)?;
        let names: Names = (model.row_names, model.col_names, model.part_names);
        let (w, h) = (array(py, model.w)?, array(py, model.h)?);
        (w, h, model.metadata, names, model.columns).into_pyobject(py)
    }
    match klnmf_io::peek(&path).map_err(from_io)?.dtype.as_deref() {
        Some("<f4") => read::<f32>(py, path),
        _ => read::<f64>(py, path),
    }
}
