//! A factorisation on several processes, which a Python object reaches.
//!
//! The object has the methods of [`klnmf::Cluster`]. Factors are Python objects that only it understands. An
//! exception of a method ends the run and is raised again.

use crate::data::{array, factor};
use crate::error::{from_io, from_library};
use crate::model::{Facts, Numbers, duration, facts, numbers, update_of};
use crate::pieces::{columns, rows};
use klnmf::{
    Begin, Cluster, Entry, Error, Handle, Mat, Nonzero, RemoteRun, Result, Scalar, Settings, Side, Step, Test,
};
use klnmf_io::{Checkpoint, DataHash, Target};
use numpy::Element;
use pyo3::exceptions::{PyRuntimeWarning, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The state of a run, and the parts that keep their order in its result.
#[pyclass(frozen, module = "klnmf._klnmf")]
pub struct State {
    state: klnmf::State,
    given: usize,
}

#[pymethods]
impl State {
    /// The state in a checkpoint, if it belongs to V.
    #[new]
    fn new(path: PathBuf, shape: (usize, usize), fingerprint: &str, rank: Option<usize>) -> PyResult<Self> {
        let found = klnmf_io::read_checkpoint(&path).map_err(from_io)?;
        if let Some(what) = found.difference(shape, fingerprint, rank) {
            let text = format!("cannot continue {}: {what}", path.display());
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { state: found.state, given: found.given })
    }
}

/// The hash of V from its shape and the part of its entries.
#[pyfunction]
pub fn hash_text(shape: (usize, usize), part: u64) -> String {
    let mut hash = DataHash::new(shape.0, shape.1);
    hash.add_part(part);
    hash.text()
}

/// What a checkpoint says of V with this hash.
#[pyfunction]
pub fn fingerprint(hash: &str, sparse: bool, single: bool) -> String {
    match single {
        true => klnmf_io::fingerprint::<f32>(hash, sparse),
        false => klnmf_io::fingerprint::<f64>(hash, sparse),
    }
}

/// The beginning of a run.
#[derive(FromPyObject)]
pub enum Start<'py> {
    /// Rank, seed.
    Random(usize, u64),
    /// W, H.
    Given(Bound<'py, PyAny>, Bound<'py, PyAny>),
    State(PyRef<'py, State>),
}

/// How a run is made: solver, mixed, update, fixed, inner, max_iter, tol, time_limit, check_every.
type How = (String, Option<bool>, String, usize, Option<usize>, usize, f64, Option<f64>, Option<usize>);
/// A file for checkpoints, or none, and the seconds between two.
type Saving = (Option<PathBuf>, f64);

/// W, H, the facts, the trace, the status, the hash of V. The object's `last` becomes the last state.
#[pyfunction]
pub fn factorize_on<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    start: Start<'py>,
    how: How,
    saving: Saving,
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (solver, mixed, update, fixed, inner, max_iter, tol, time_limit, check_every) = how;
    let settings = Settings {
        seed: if let Start::Random(_, seed) = start { seed } else { 0 },
        solver: solver.parse().map_err(from_library)?,
        mixed,
        update: update_of(&update)?,
        fixed,
        inner,
        max_iter,
        tol,
        time_limit: duration("time_limit", time_limit)?,
        check_every,
        ..Settings::default()
    };
    let saving = (saving.0, duration("every", Some(saving.1))?.unwrap_or_default());
    let single: bool = object.getattr("single")?.extract()?;
    let object = Object::new(&object)?;
    match single {
        true => factorize_in::<f32>(py, &object, start, &settings, saving, callback),
        false => factorize_in::<f64>(py, &object, start, &settings, saving, callback),
    }
}

fn factorize_in<'py, T: Element + Scalar>(
    py: Python<'py>,
    object: &Object,
    start: Start<'py>,
    settings: &Settings,
    saving: (Option<PathBuf>, Duration),
    callback: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (begin, given) = match &start {
        Start::Random(rank, _) => (Begin::Rank(*rank), 0),
        Start::Given(w, h) => (Begin::From(factor::<T>(w)?, factor::<T>(h)?), usize::MAX),
        Start::State(state) => (Begin::State(&state.state, state.given), state.given),
    };
    let mut trace: Vec<Numbers> = Vec::new();
    let mut saver = Saver { object, saving, given, last: Instant::now() };
    let found = klnmf::factorize_on(object, begin, settings, |run| {
        let answer = saver.save(run).and_then(|()| {
            py.check_signals()?;
            if !run.shows() {
                return Ok(false);
            }
            trace.push(numbers(run.info()));
            let answer = callback.as_ref().map(|callback| callback.bind(py).call1(facts(run.info())));
            answer.map_or(Ok(false), |answer| answer?.is_truthy())
        });
        // Every process asks, so that all end together.
        let stop = answer.unwrap_or_else(|exception| object.keep(exception));
        if object.agree(stop).unwrap_or(true) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(exception) = object.exception.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(exception);
    }
    let (found, hash) = (found.map_err(from_library)?, object.hash.clone());
    let told: Facts = facts(&found.info);
    (array(py, found.w)?, array(py, found.h)?, told, trace, found.status.name(), hash).into_pyobject(py)
}

/// Keeps the states of a run, in memory and in a file.
struct Saver<'a> {
    object: &'a Object,
    saving: (Option<PathBuf>, Duration),
    given: usize,
    last: Instant,
}

impl Saver<'_> {
    /// Takes the state if it is time to. Factors then no longer depend on older ones.
    fn save<T: Scalar>(&mut self, run: &mut RemoteRun<'_, T>) -> PyResult<()> {
        let (path, every) = (&self.saving.0, self.saving.1);
        // A run with a higher limit does not pass through the state after a round that was cut short.
        let (cut_next, cut_last) = run.cut();
        let end = path.is_some() && (cut_next || run.ended().is_some());
        let due = self.object.agree(self.last.elapsed() >= every).map_err(from_library)? || end;
        if cut_last || !due {
            return Ok(());
        }
        let (state, given) = (run.state(), self.given);
        run.check().map_err(from_library)?;
        if let Some(path) = path.as_ref().filter(|_| self.object.writes) {
            let (shape, fingerprint) = (self.object.facts.shape, self.object.fingerprint::<T>());
            let checkpoint = Checkpoint { state: state.clone(), shape, fingerprint, given, part_names: None };
            if let Err(why) = klnmf_io::write_checkpoint(Target::new(path, true), &checkpoint) {
                // The run is worth more than its checkpoint.
                warn(&format!("the state of the run is not saved: {why}"))?;
            }
        }
        run.reload(&state).map_err(from_library)?;
        self.last = Instant::now();
        Python::attach(|py| self.object.object.bind(py).setattr("last", State { state, given }))
    }
}

/// Warns the caller in Python.
fn warn(text: &str) -> PyResult<()> {
    let text = CString::new(text.replace('\0', " ")).expect("there is no zero left");
    Python::attach(|py| PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1))
}

/// The Python object that reaches the processes.
struct Object {
    object: Py<PyAny>,
    facts: klnmf::Facts,
    hash: String,
    /// Whether this process writes checkpoints.
    writes: bool,
    exception: Mutex<Option<PyErr>>,
}

impl Object {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        /// Shape; sum; number, minimum and maximum of the non-zero entries; whether V is sparse; its hash.
        type Said = ((usize, usize), f64, (usize, f64, f64), bool, u64);
        let (shape, sum, (count, least, most), gathers, part): Said = object.getattr("facts")?.extract()?;
        let facts = klnmf::Facts { shape, sum, nonzero: Nonzero { count, least, most }, gathers };
        let (hash, writes) = (hash_text(shape, part), object.getattr("writes")?.extract()?);
        Ok(Self { object: object.clone().unbind(), facts, hash, writes, exception: Mutex::new(None) })
    }

    fn fingerprint<T: Scalar>(&self) -> String {
        klnmf_io::fingerprint::<T>(&self.hash, self.facts.gathers)
    }

    /// Keeps the first exception, to be raised at the end. Returns that the run must stop.
    fn keep(&self, exception: PyErr) -> bool {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
        true
    }

    /// Calls a method.
    fn call<R>(&self, f: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<R>) -> Result<R> {
        Python::attach(|py| f(py, self.object.bind(py))).map_err(|exception| {
            let text = exception.to_string();
            self.keep(exception);
            Error::Unreadable(text)
        })
    }
}

fn held(object: Bound<'_, PyAny>) -> Handle {
    Arc::new(object.unbind())
}

fn of<'py>(py: Python<'py>, handle: &Handle) -> Bound<'py, PyAny> {
    let object: &Py<PyAny> = handle.downcast_ref().expect("handles are made here");
    object.bind(py).clone()
}

impl Cluster for Object {
    fn facts(&self) -> klnmf::Facts {
        self.facts
    }

    fn put(&self, side: Side, array: &Mat<f64>, single: bool) -> Result<Handle> {
        self.call(|py, object| {
            let array = rows(py, array.clone())?;
            object.call_method1(intern!(py, "put"), (side as usize, array, single)).map(held)
        })
    }

    fn get(&self, side: Side, array: &Handle, _: usize) -> Result<Mat<f64>> {
        self.call(|py, object| {
            columns(&object.call_method1(intern!(py, "get"), (side as usize, of(py, array)))?)
        })
    }

    fn half_step(
        &self,
        side: Side,
        Step { name, steps, held: fixed, measure }: Step<'_>,
        (k, x): (&Handle, &Handle),
        columns: &Handle,
    ) -> Result<(Handle, Handle, Vec<f64>)> {
        self.call(|py, object| {
            let how = (name, steps, fixed, measure);
            let factors = (of(py, k), of(py, x), of(py, columns));
            let found = object.call_method1(intern!(py, "half_step"), (side as usize, how, factors))?;
            let (x, weights, sums): (Bound<'_, PyAny>, Bound<'_, PyAny>, Vec<f64>) = found.extract()?;
            Ok((held(x), held(weights), sums))
        })
    }

    fn carry_on(&self, y: &Handle, x: &Handle, beta: f64, upwards: bool) -> Result<Handle> {
        self.call(|py, object| {
            let arguments = (of(py, y), of(py, x), beta, upwards);
            object.call_method1(intern!(py, "carry_on"), arguments).map(held)
        })
    }

    fn cast(&self, x: &Handle, single: bool) -> Result<Handle> {
        self.call(|py, object| object.call_method1(intern!(py, "cast"), (of(py, x), single)).map(held))
    }

    fn scale(&self, x: &Handle, by: &[f64], divide: bool) -> Result<Handle> {
        self.call(|py, object| {
            object.call_method1(intern!(py, "scale"), (of(py, x), by.to_vec(), divide)).map(held)
        })
    }

    fn reorder(&self, x: &Handle, order: &[usize]) -> Result<Handle> {
        self.call(|py, object| {
            object.call_method1(intern!(py, "reorder"), (of(py, x), order.to_vec())).map(held)
        })
    }

    fn row_sums(&self, x: &Handle) -> Result<Vec<f64>> {
        self.call(|py, object| object.call_method1(intern!(py, "row_sums"), (of(py, x),))?.extract())
    }

    fn all(&self, x: &Handle, test: Test) -> Result<bool> {
        let (least, most) = test.range();
        self.call(|py, object| {
            object.call_method1(intern!(py, "within"), (of(py, x), least, most))?.extract()
        })
    }

    fn evaluate(&self, side: Side, (k, x): (&Handle, &Handle), how: (usize, bool)) -> Result<Vec<[f64; 3]>> {
        self.call(|py, object| {
            let arguments = (side as usize, how, (of(py, k), of(py, x)));
            object.call_method1(intern!(py, "evaluate"), arguments)?.extract()
        })
    }

    fn first_infinite(&self, wt: &Handle, h: &Handle) -> Result<Option<Entry>> {
        self.call(|py, object| {
            let found = object.call_method1(intern!(py, "first_infinite"), (of(py, wt), of(py, h)))?;
            let entry: Option<(usize, usize, f64)> = found.extract()?;
            Ok(entry.map(|(row, col, value)| Entry { row, col, value }))
        })
    }

    fn agree(&self, wish: bool) -> Result<bool> {
        self.call(|py, object| object.call_method1(intern!(py, "agree"), (wish,))?.extract())
    }
}
