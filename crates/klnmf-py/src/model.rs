//! Factorisations and their gaps.

use crate::data::{Data, Lent, array, factor};
use crate::error::{from_io, from_library, setting};
use crate::work::{self, Question, Stop};
use klnmf::{Info, Init, Mat, Problem, Run, Scalar, Settings, Solver, Update};
use klnmf_io::{Checkpoint, Saver, read_checkpoint};
use numpy::Element;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Iteration, seconds, divergence, gap_w, gap_h, sum, precision: the fields of Python's `Info`.
pub type Facts = (usize, f64, f64, f64, f64, f64, &'static str);
/// The numeric fields, for the trace.
pub type Numbers = (usize, f64, f64, f64, f64, f64);

pub fn facts(info: &Info) -> Facts {
    let (iteration, seconds, divergence, gap_w, gap_h, sum) = numbers(info);
    (iteration, seconds, divergence, gap_w, gap_h, sum, info.precision.name())
}

pub fn numbers(info: &Info) -> Numbers {
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

/// The file of the checkpoint, the file to continue from, seconds between two writes.
type Files = (Option<PathBuf>, Option<PathBuf>, f64);

/// W, H, the facts, the trace, the status, the starts, why there is no checkpoint, the hash of V, the names of
/// the parts.
#[pyfunction]
pub fn factorize<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    start: Option<Start<'py>>,
    names: Option<Vec<String>>,
    files: Files,
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
        Some(Start::Named(_, how, seed)) => (init_of(how)?, *seed),
        Some(Start::Given(..)) | None => (Init::default(), 0),
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
        time_limit: duration("time_limit", time_limit)?,
        stop: Some(stop.clone()),
        check_every,
        starts,
        threads,
        rho,
    };
    match Data::of(v)? {
        Data::Single(v) => factorize_in(py, v, (start, names), files, &settings, &stop, callback),
        Data::Double(v) => factorize_in(py, v, (start, names), files, &settings, &stop, callback),
    }
}

/// A [`Start`] in the library's types, or a stored state.
enum Begin<T> {
    Rank(usize),
    From(Mat<T>, Mat<T>),
    /// With the rank that it must have.
    State(Box<Checkpoint>, Option<usize>),
}

impl<T: Element + Scalar> Begin<T> {
    fn new(start: Option<Start<'_>>, resume: Option<&Path>) -> PyResult<Self> {
        match (start, resume) {
            (start, Some(path)) => {
                let rank = if let Some(Start::Named(rank, ..)) = start { Some(rank) } else { None };
                Ok(Begin::State(Box::new(read_checkpoint(path).map_err(from_io)?), rank))
            }
            (Some(Start::Named(rank, ..)), None) => Ok(Begin::Rank(rank)),
            (Some(Start::Given(w, h)), None) => Ok(Begin::From(factor(&w)?, factor(&h)?)),
            (None, None) => Err(setting("init", "None", "a start or a checkpoint to resume is needed")),
        }
    }

    /// Fails if a stored state belongs to another V.
    fn check(&self, shape: (usize, usize), fingerprint: &str, path: Option<&Path>) -> PyResult<()> {
        match (self, path) {
            (Begin::State(stored, rank), Some(path)) => match stored.difference(shape, fingerprint, *rank) {
                Some(what) => {
                    Err(PyValueError::new_err(format!("cannot continue {}: {what}", path.display())))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The run, and the number of parts whose order is given: they can be followed.
    fn run<'a>(
        self,
        problem: &'a Problem<'a, T>,
        settings: &'a Settings,
    ) -> klnmf::Result<(Run<'a, T>, usize)> {
        match self {
            Begin::Rank(rank) => {
                let (w, h) = problem.init(rank, settings)?;
                Ok((problem.run(w, h, settings)?, 0))
            }
            Begin::From(w, h) => {
                let given = h.rows();
                Ok((problem.run(w, h, settings)?, given))
            }
            Begin::State(stored, _) => Ok((problem.resume(&stored.state, settings)?, stored.given)),
        }
    }
}

/// Writes the states of a run. A failure does not end it, and is told afterwards.
struct Keeper {
    saver: Option<Saver>,
    failure: Option<String>,
}

impl Keeper {
    fn save<T: Scalar>(&mut self, run: &mut Run<'_, T>, now: bool) {
        if let Some(Err(why)) = self.saver.as_mut().map(|saver| saver.save(run, now)) {
            self.failure = Some(why.to_string());
        }
    }
}

fn factorize_in<'py, T: Element + Scalar>(
    py: Python<'py>,
    v: Lent<'py, T>,
    (start, names): (Option<Start<'py>>, Option<Vec<String>>),
    (checkpoint, resume, every): Files,
    settings: &Settings,
    stop: &Stop,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    settings.validate().map_err(from_library)?;
    let begin = Begin::new(start, resume.as_deref())?;
    let names = if let Begin::State(stored, _) = &begin { stored.part_names.clone() } else { names };
    let part_names = names.clone();
    let every = duration("every", Some(every))?.unwrap_or_default();
    let path = checkpoint.or_else(|| resume.clone());
    let replace = path == resume;
    let asked = callback.is_some();
    let mut trace: Vec<Numbers> = Vec::new();
    let (found, hash) = v.with_hash(|v, hash| {
        let (kept, shape) = (&mut trace, (v.rows(), v.cols()));
        let fingerprint = klnmf_io::fingerprint::<T>(hash, v.is_sparse());
        begin.check(shape, &fingerprint, resume.as_deref())?;
        work::run(
            py,
            stop,
            move |tell| {
                let problem = Problem::new(v, settings.threads)?;
                let begun = Instant::now();
                let (run, given) = begin.run(&problem, settings)?;
                let last = Instant::now();
                let saver = path.map(|path| Saver {
                    path,
                    every,
                    shape,
                    fingerprint,
                    given,
                    part_names,
                    replace,
                    last,
                });
                let mut keeper = Keeper { saver, failure: None };
                let first = run.sort_from(given).to_end_with(|run| {
                    let end = run.ended().is_some();
                    keeper.save(run, end);
                    if !run.shows() {
                        return ControlFlow::Continue(());
                    }
                    kept.push(numbers(run.info()));
                    if !asked || Question::ask(&tell, facts(run.info())).is_continue() {
                        return ControlFlow::Continue(());
                    }
                    keeper.save(run, !end);
                    ControlFlow::Break(())
                })?;
                let divergence = first.info.divergence;
                let best = problem.challenge(first, settings, begun)?;
                if best.info.divergence < divergence {
                    // These are the iterations of the first start, not those of the model.
                    kept.clear();
                }
                Ok((best, keeper.failure))
            },
            |py, question| {
                callback.as_ref().map_or(Ok(()), |callback| question.pass_on::<Facts>(py, callback))
            },
        )
    })?;
    let (found, failure) = found.map_err(from_library)?;
    let (status, info) = (found.status.name(), facts(&found.info));
    let starts: Vec<(u64, usize, f64, bool)> =
        found.starts.iter().map(|s| (s.seed, s.iterations, s.divergence, s.finished)).collect();
    let (w, h) = (array(py, found.w)?, array(py, found.h)?);
    (w, h, info, trace, status, starts, failure, hash, names).into_pyobject(py)
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
pub fn memory(
    v: &Bound<'_, PyAny>,
    rank: usize,
    threads: usize,
    solver: &str,
) -> PyResult<(u128, u128, u128, u128)> {
    let threads = klnmf::thread_count(threads);
    let (memory, of_v) = match Data::of(v)? {
        Data::Single(v) => (v.view(|v| Ok(klnmf::memory(v, rank, threads)))?, v.extra_bytes()),
        Data::Double(v) => (v.view(|v| Ok(klnmf::memory(v, rank, threads)))?, v.extra_bytes()),
    };
    let extra = of_v + memory.beyond(solver.parse().map_err(from_library)?);
    Ok((memory.v, memory.factors, memory.workspace + extra, memory.total() + extra))
}

fn init_of(name: &str) -> PyResult<Init> {
    match name {
        "random" => Ok(Init::Random),
        "nndsvd" => Ok(Init::Nndsvd),
        other => Err(setting("init", other, "random, nndsvd or a pair (W, H) is possible")),
    }
}

pub fn update_of(name: &str) -> PyResult<Update> {
    match name {
        "both" => Ok(Update::Both),
        "W" => Ok(Update::W),
        "H" => Ok(Update::H),
        other => Err(setting("update", other, "choose both, W or H")),
    }
}

/// The duration of a setting, if there is one.
pub fn duration(name: &str, seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let exact = |seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| setting(name, seconds, "a number of seconds ≥ 0 is needed"))
    };
    seconds.map(exact).transpose()
}
