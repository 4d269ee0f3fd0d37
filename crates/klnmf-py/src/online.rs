//! Learning from blocks of columns that arrive one after the other.

use crate::data::{Data, Lent, array, factor};
use crate::decomposer::by_columns;
use crate::error::from_library;
use crate::work::{self, Stop};
use klnmf::{OnlineSettings, OnlineState, Scalar};
use numpy::{Element, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The number of blocks, the parts × features, and the share of every feature.
type State<'py> = (usize, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A factorisation that learns from one block at a time. It owns no threads between two blocks.
#[pyclass(module = "klnmf._klnmf")]
pub struct Online {
    online: klnmf::Online,
    settings: OnlineSettings,
}

#[pymethods]
impl Online {
    /// Begins with random parts, or continues from a state.
    #[new]
    fn new(
        rank: usize,
        state: Option<(usize, Bound<'_, PyAny>, PyReadonlyArray1<'_, f64>)>,
        forgetting: f64,
        seed: u64,
        tol: f64,
        threads: usize,
    ) -> PyResult<Self> {
        let mut settings = OnlineSettings { forgetting, seed, ..OnlineSettings::default() };
        (settings.weights.tol, settings.weights.threads) = (tol, threads);
        let online = match state {
            None => klnmf::Online::new(rank, settings.clone()),
            Some((blocks, parts, features)) => {
                let (parts, features) = (factor(&parts)?, features.as_slice()?.to_vec());
                klnmf::Online::resume(OnlineState { blocks, parts, features }, settings.clone())
            }
        };
        Ok(Self { online: online.map_err(from_library)?, settings })
    }

    /// What was learned.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let OnlineState { blocks, parts, features } = self.online.state().clone();
        Ok((blocks, array(py, parts)?, PyArray1::from_vec(py, features)))
    }

    /// The parts, one per column.
    fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.online.dictionary())
    }

    /// Learns from a block. Returns what `Decomposer.decompose` returns.
    fn push<'py>(&mut self, py: Python<'py>, v: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        match Data::of(v)? {
            Data::Single(v) => self.push_in(py, v),
            Data::Double(v) => self.push_in(py, v),
        }
    }
}

impl Online {
    fn push_in<'py, T: Element + Scalar>(
        &mut self,
        py: Python<'py>,
        v: Lent<'py, T>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let stop = Stop::default();
        let mut settings = self.settings.clone();
        settings.weights.stop = Some(stop.clone());
        // What was learned is replaced only if the block was not changed or the work stopped meanwhile.
        let (found, hash) = v.with(|v| {
            let state = self.online.state().clone();
            work::run_quietly(py, &stop, move || {
                let mut next = klnmf::Online::resume(state, settings)?;
                let found = next.push(v)?;
                Ok::<_, klnmf::Error>((next.state().clone(), found))
            })
        })?;
        let (state, found) = found.map_err(from_library)?;
        self.online = klnmf::Online::resume(state, self.settings.clone()).map_err(from_library)?;
        by_columns(py, (found, hash))
    }
}
