//! Topic models. Counts are words × documents here, as in the library; the Python code transposes them.

use crate::data::{Lent, array, factor};
use crate::error::from_library;
use crate::model::duration;
use crate::work::{self, Question, Stop};
use klnmf::{TopicInfo, TopicSettings, Weights};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ops::ControlFlow;

/// Iteration, seconds, objective: the fields of Python's `TopicInfo`.
type Facts = (usize, f64, f64);

fn facts(info: &TopicInfo) -> Facts {
    (info.iteration, info.seconds, info.objective)
}

/// Topics, their weights (as in [`topic_weights`]), iterations, the trace, the status.
#[pyfunction]
pub fn topics<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    w: &Bound<'py, PyAny>,
    h: &Bound<'py, PyAny>,
    solver: &str,
    topic_prior: f64,
    word_prior: f64,
    max_iter: usize,
    tol: f64,
    weights_tol: f64,
    time_limit: Option<f64>,
    threads: usize,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let stop = Stop::default();
    let settings = TopicSettings {
        solver: solver.parse().map_err(from_library)?,
        topic_prior,
        word_prior,
        max_iter,
        tol,
        weights_tol,
        time_limit: duration("time_limit", time_limit)?,
        stop: Some(stop.clone()),
        threads,
        ..TopicSettings::default()
    };
    let (v, w, h) = (Lent::<f64>::new(v)?, factor(w)?, factor(h)?);
    let asked = callback.is_some();
    let mut trace: Vec<Facts> = Vec::new();
    let (found, hash) = v.with(|v| {
        let (kept, settings) = (&mut trace, &settings);
        work::run(
            py,
            &stop,
            move |tell| {
                klnmf::topics_from(v, w, h, settings, &mut |info| {
                    kept.push(facts(info));
                    if asked { Question::ask(&tell, facts(info)) } else { ControlFlow::Continue(()) }
                })
            },
            |py, question| {
                callback.as_ref().map_or(Ok(()), |callback| question.pass_on::<Facts>(py, callback))
            },
        )
    })?;
    let found = found.map_err(from_library)?;
    let weights = of_documents(py, found.weights, hash)?;
    (array(py, found.topics)?, weights, found.iterations, trace, found.status.name()).into_pyobject(py)
}

/// Weights; gap and log-likelihood of every document; the number that did not converge; the status; the hash
/// of the counts.
#[pyfunction]
pub fn topic_weights<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    topics: &Bound<'py, PyAny>,
    topic_prior: f64,
    weights_tol: f64,
    time_limit: Option<f64>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let stop = Stop::default();
    let settings = TopicSettings {
        topic_prior,
        weights_tol,
        time_limit: duration("time_limit", time_limit)?,
        stop: Some(stop.clone()),
        threads,
        ..TopicSettings::default()
    };
    let (v, topics) = (Lent::<f64>::new(v)?, factor(topics)?);
    let asked = progress.is_some();
    let (found, hash) = v.with(|v| {
        let (settings, topics) = (&settings, &topics);
        work::run(
            py,
            &stop,
            move |tell| {
                klnmf::topic_weights(v, topics, settings, &|done| {
                    if asked {
                        // If the receiver is gone, it has set the stop flag.
                        let _ = tell.send(done);
                    }
                })
            },
            |py, done| progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(drop)),
        )
    })?;
    of_documents(py, found.map_err(from_library)?, hash)
}

/// The weights as returned to Python.
pub fn of_documents(py: Python<'_>, found: Weights, hash: String) -> PyResult<Bound<'_, PyTuple>> {
    let Weights { weights, gaps, log_likelihood, unconverged, status } = found;
    let each = |values| PyArray1::from_vec(py, values);
    (array(py, weights)?, each(gaps), each(log_likelihood), unconverged, status.name(), hash)
        .into_pyobject(py)
}
