//! Dictionaries that are checked and packed once for many decompositions.

use crate::data::{Lent, array, factor};
use crate::error::from_library;
use crate::model::duration;
use crate::work::{self, Stop};
use klnmf::{DecomposeSettings, Decomposition, Mat, Matrix, Scalar, Weights};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::process;
use std::sync::Arc;

/// A prepared dictionary, and the process that owns its threads.
struct Prepared<T> {
    decomposer: Arc<klnmf::Decomposer<T>>,
    pid: u32,
}

impl<T: Scalar> Prepared<T> {
    fn new(py: Python<'_>, w: &Mat<T>, threads: usize) -> PyResult<Self> {
        let decomposer = py.detach(|| klnmf::Decomposer::new(w, threads)).map_err(from_library)?;
        Ok(Self { decomposer: Arc::new(decomposer), pid: process::id() })
    }
}

impl<T> Drop for Prepared<T> {
    /// In a forked child the threads no longer exist, and one may have held a lock. Ending them could wait
    /// forever, so the child leaks the object.
    fn drop(&mut self) {
        if self.pid != process::id() {
            let _ = Arc::into_raw(self.decomposer.clone());
        }
    }
}

/// When a decomposition stops, and who receives the number of finished columns.
struct Limits {
    settings: DecomposeSettings,
    stop: Stop,
    progress: Option<Py<PyAny>>,
}

impl Limits {
    fn new(
        tol: f64,
        max_iter: usize,
        time_limit: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let (stop, time_limit) = (Stop::default(), duration("time_limit", time_limit)?);
        let settings = DecomposeSettings {
            tol,
            max_iter,
            time_limit,
            stop: Some(stop.clone()),
            ..DecomposeSettings::default()
        };
        Ok(Self { settings, stop, progress })
    }
}

/// The weights of V, passed to `then` while Python's lock is still released, and the hash of V.
fn solve<'py, T: Element + Scalar, R: Send>(
    py: Python<'py>,
    prepared: &Prepared<T>,
    v: &Bound<'py, PyAny>,
    limits: &Limits,
    then: impl FnOnce(klnmf::Matrix<'_, T>, Decomposition<T>) -> klnmf::Result<R> + Send,
) -> PyResult<(R, String)> {
    let v = Lent::<T>::new(v)?;
    let Limits { settings, stop, progress } = limits;
    let (decomposer, asked) = (&prepared.decomposer, progress.is_some());
    let (found, hash) = v.with(|v| {
        work::run(
            py,
            stop,
            move |tell| {
                let found = decomposer.decompose_with(v, settings, &|done| {
                    if asked {
                        // If the receiver is gone, it has set the stop flag.
                        let _ = tell.send(done);
                    }
                })?;
                then(v, found)
            },
            |py, done| progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop)),
        )
    })?;
    Ok((found.map_err(from_library)?, hash))
}

/// A dictionary W in f32 or f64, for data of the same precision.
#[pyclass(frozen, module = "klnmf._klnmf")]
pub struct Decomposer(Precision);

enum Precision {
    Single(Prepared<f32>),
    Double(Prepared<f64>),
}

#[pymethods]
impl Decomposer {
    #[new]
    fn new(py: Python<'_>, w: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        // An array of the other precision is a TypeError; lack of memory is not.
        Ok(Self(if w.extract::<numpy::PyReadonlyArray2<'_, f32>>().is_ok() {
            Precision::Single(Prepared::new(py, &factor(w)?, threads)?)
        } else {
            Precision::Double(Prepared::new(py, &factor(w)?, threads)?)
        }))
    }

    /// The process that the threads belong to. In another one it cannot be used.
    #[getter]
    fn pid(&self) -> u32 {
        match &self.0 {
            Precision::Single(prepared) => prepared.pid,
            Precision::Double(prepared) => prepared.pid,
        }
    }

    /// H; divergence, gap, iterations and convergence of every column; the status; the hash of V.
    fn decompose<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
        tol: f64,
        max_iter: usize,
        time_limit: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let limits = Limits::new(tol, max_iter, time_limit, progress)?;
        match &self.0 {
            Precision::Single(prepared) => {
                by_columns(py, solve(py, prepared, v, &limits, |_, found| Ok(found))?)
            }
            Precision::Double(prepared) => {
                by_columns(py, solve(py, prepared, v, &limits, |_, found| Ok(found))?)
            }
        }
    }
}

pub fn by_columns<T: Element + Scalar>(
    py: Python<'_>,
    (found, hash): (Decomposition<T>, String),
) -> PyResult<Bound<'_, PyTuple>> {
    let each = |f: fn(&klnmf::ColumnInfo) -> f64| PyArray1::from_iter(py, found.columns.iter().map(f));
    let (divergence, gap) = (each(|c| c.divergence), each(|c| c.gap));
    let iterations = PyArray1::from_iter(py, found.columns.iter().map(|c| c.iterations as i64));
    let converged = PyArray1::from_iter(py, found.columns.iter().map(|c| c.converged));
    (array(py, found.h)?, divergence, gap, iterations, converged, found.status.name(), hash).into_pyobject(py)
}

/// Topics, words × topics, for documents whose weights have no prior: [`klnmf::topic_weights`] with
/// `topic_prior` 0.
#[pyclass(frozen, module = "klnmf._klnmf")]
pub struct TopicDecomposer {
    topics: Mat<f64>,
    prepared: Prepared<f64>,
}

#[pymethods]
impl TopicDecomposer {
    #[new]
    fn new(py: Python<'_>, topics: &Bound<'_, PyAny>, threads: usize) -> PyResult<Self> {
        let topics = klnmf::distributions(&factor(topics)?).map_err(from_library)?;
        let prepared = Prepared::new(py, &topics, threads)?;
        Ok(Self { topics, prepared })
    }

    /// The process that the threads belong to. In another one it cannot be used.
    #[getter]
    fn pid(&self) -> u32 {
        self.prepared.pid
    }

    /// Like [`crate::topics::topic_weights`].
    fn topic_weights<'py>(
        &self,
        py: Python<'py>,
        v: &Bound<'py, PyAny>,
        weights_tol: f64,
        time_limit: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let max_iter = DecomposeSettings::default().max_iter;
        let limits = Limits::new(weights_tol, max_iter, time_limit, progress)?;
        let of = |v: Matrix<'_, f64>, found| Weights::of(found, v, &self.topics);
        let (found, hash) = solve(py, &self.prepared, v, &limits, of)?;
        crate::topics::of_documents(py, found, hash)
    }
}
