//! Factorisations and their gaps.

use crate::data::{Data, Lent, array, factor};
use crate::error::{from_library, setting};
use crate::work::{self, Question, Stop};
use klnmf::{Info, Init, Mat, Problem, Scalar, Settings, Solver, Update};
use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ops::ControlFlow;
use std::time::Duration;

/// Iteration, seconds, divergence, gap_w, gap_h, sum, precision: the fields of Python's `Info`.
type Facts = (usize, f64, f64, f64, f64, f64, &'static str);
/// The numeric fields, for the trace.
type Numbers = (usize, f64, f64, f64, f64, f64);

fn facts(info: &Info) -> Facts {
    let (iteration, seconds, divergence, gap_w, gap_h, sum) = numbers(info);
    (iteration, seconds, divergence, gap_w, gap_h, sum, info.precision.name())
}

fn numbers(info: &Info) -> Numbers {
    (info.iteration, info.seconds, info.divergence, info.gap_w, info.gap_h, info.sum)
}

/// The name and description of every solver.
#[pyfunction]
pub fn solvers() -> Vec<(&'static str, &'static str)> {
    Solver::ALL.iter().map(|solver| (solver.spec().name, solver.spec().help)).collect()
}

/// The start of a factorisation.
#[derive(FromPyObject)]
pub enum Start<'py> {
    /// Rank, the name of the start, seed.
    Named(usize, String, u64),
    /// W, H.
    Given(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

/// W, H, the facts, the trace, the status, the starts, the hash of V.
#[pyfunction]
pub fn factorize<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    start: Start<'py>,
    solver: &str,
    mixed: Option<bool>,
    update: &str,
    fixed: usize,
    inner: Option<usize>,
    max_iter: usize,
    tol: f64,
    time_limit: Option<f64>,
    check_every: Option<usize>,
    threads: usize,
    rho: Option<f64>,
    starts: usize,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let stop = Stop::default();
    let (init, seed) = match &start {
        Start::Named(_, how, seed) => (init_of(how)?, *seed),
        Start::Given(..) => (Init::default(), 0),
    };
    let settings = Settings {
        init,
        seed,
        solver: solver.parse().map_err(from_library)?,
        mixed,
        update: update_of(update)?,
        fixed,
        inner,
        max_iter,
        tol,
        time_limit: duration(time_limit)?,
        stop: Some(stop.clone()),
        check_every,
        starts,
        threads,
        rho,
    };
    match Data::of(v)? {
        Data::Single(v) => factorize_in(py, v, start, &settings, &stop, callback),
        Data::Double(v) => factorize_in(py, v, start, &settings, &stop, callback),
    }
}

fn factorize_in<'py, T: Element + Scalar>(
    py: Python<'py>,
    v: Lent<'py, T>,
    start: Start<'py>,
    settings: &Settings,
    stop: &Stop,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    settings.validate().map_err(from_library)?;
    /// The same, with the factors in the library's types.
    enum Begin<T> {
        Rank(usize),
        From(Mat<T>, Mat<T>),
    }
    let begin = match start {
        Start::Named(rank, ..) => Begin::Rank(rank),
        Start::Given(w, h) => Begin::From(factor::<T>(&w)?, factor::<T>(&h)?),
    };
    let asked = callback.is_some();
    let mut trace: Vec<Numbers> = Vec::new();
    let (found, hash) = v.with(|v| {
        let kept = &mut trace;
        work::run(
            py,
            stop,
            move |tell| {
                let problem = Problem::new(v, settings.threads)?;
                // A given start keeps its order, so that its parts can be followed.
                let ((w, h), sort_from) = match begin {
                    Begin::Rank(rank) => (problem.init(rank, settings)?, 0),
                    Begin::From(w, h) => ((w, h), usize::MAX),
                };
                let first = problem.run(w, h, settings)?.sort_from(sort_from).to_end(|info| {
                    kept.push(numbers(info));
                    if asked { Question::ask(&tell, facts(info)) } else { ControlFlow::Continue(()) }
                })?;
                problem.challenge(first, settings)
            },
            |py, question| {
                callback.as_ref().map_or(Ok(()), |callback| question.pass_on::<Facts>(py, callback))
            },
        )
    })?;
    let found = found.map_err(from_library)?;
    let (status, info) = (found.status.name(), facts(&found.info));
    let starts: Vec<(u64, usize, f64, bool)> =
        found.starts.iter().map(|s| (s.seed, s.iterations, s.divergence, s.finished)).collect();
    (array(py, found.w)?, array(py, found.h)?, info, trace, status, starts, hash).into_pyobject(py)
}

/// The start W, H.
#[pyfunction]
pub fn init<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    rank: usize,
    how: &str,
    seed: u64,
    threads: usize,
) -> PyResult<Bound<'py, PyTuple>> {
    let stop = Stop::default();
    let settings =
        Settings { init: init_of(how)?, seed, threads, stop: Some(stop.clone()), ..Settings::default() };
    fn start<'py, T: Element + Scalar>(
        py: Python<'py>,
        v: Lent<'py, T>,
        rank: usize,
        settings: &Settings,
        stop: &Stop,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (found, _) = v.with(|v| work::run_quietly(py, stop, move || klnmf::init(v, rank, settings)))?;
        let (w, h) = found.map_err(from_library)?;
        (array(py, w)?, array(py, h)?).into_pyobject(py)
    }
    match Data::of(v)? {
        Data::Single(v) => start(py, v, rank, &settings, &stop),
        Data::Double(v) => start(py, v, rank, &settings, &stop),
    }
}

/// Divergence, gap_w, gap_h.
#[pyfunction]
pub fn certificate<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    w: &Bound<'py, PyAny>,
    h: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<(f64, f64, f64)> {
    fn certify<'py, T: Element + Scalar>(
        py: Python<'py>,
        v: Lent<'py, T>,
        w: &Bound<'py, PyAny>,
        h: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<(f64, f64, f64)> {
        let (w, h) = (factor::<T>(w)?, factor::<T>(h)?);
        let stop = Stop::default();
        let (found, _) =
            v.with(|v| work::run_quietly(py, &stop, || klnmf::certificate(v, &w, &h, threads)))?;
        let found = found.map_err(from_library)?;
        Ok((found.divergence, found.gap_w, found.gap_h))
    }
    match Data::of(v)? {
        Data::Single(v) => certify(py, v, w, h, threads),
        Data::Double(v) => certify(py, v, w, h, threads),
    }
}

/// [W, 0] and [H; ν].
#[pyfunction]
pub fn grow<'py>(
    py: Python<'py>,
    w: &Bound<'py, PyAny>,
    h: &Bound<'py, PyAny>,
    rank: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyTuple>> {
    fn grown<'py, T: Element + Scalar>(
        py: Python<'py>,
        (w, h): (klnmf::Mat<T>, klnmf::Mat<T>),
        rank: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (w, h) = klnmf::grow(&w, &h, rank, seed).map_err(from_library)?;
        (array(py, w)?, array(py, h)?).into_pyobject(py)
    }
    match factor::<f32>(w) {
        Ok(w) => grown(py, (w, factor(h)?), rank, seed),
        Err(_) => grown(py, (factor::<f64>(w)?, factor(h)?), rank, seed),
    }
}

/// Bytes of V, of the factors and of the workspace, and the upper bound for a factorisation.
#[pyfunction]
pub fn memory(v: &Bound<'_, PyAny>, rank: usize, threads: usize) -> PyResult<(u128, u128, u128, u128)> {
    let threads =
        if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
    let (memory, extra) = match Data::of(v)? {
        Data::Single(v) => (v.view(|v| Ok(klnmf::memory(v, rank, threads)))?, v.extra_bytes()),
        Data::Double(v) => (v.view(|v| Ok(klnmf::memory(v, rank, threads)))?, v.extra_bytes()),
    };
    Ok((memory.v, memory.factors, memory.workspace + extra, memory.total() + extra))
}

fn init_of(name: &str) -> PyResult<Init> {
    match name {
        "random" => Ok(Init::Random),
        "nndsvd" => Ok(Init::Nndsvd),
        other => Err(setting("init", other, "random, nndsvd or a pair (W, H) is possible")),
    }
}

fn update_of(name: &str) -> PyResult<Update> {
    match name {
        "both" => Ok(Update::Both),
        "W" => Ok(Update::W),
        "H" => Ok(Update::H),
        other => Err(setting("update", other, "choose both, W or H")),
    }
}

/// The time limit, if there is one.
pub fn duration(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let exact = |seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| setting("time_limit", seconds, "a number of seconds ≥ 0 is needed"))
    };
    seconds.map(exact).transpose()
}
