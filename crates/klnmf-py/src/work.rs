//! Runs work on its own thread, while the caller's thread serves Python.
//!
//! The library's work can be long, so it runs on a second thread without Python's lock. The calling thread
//! waits for reports, passes them to the callback, and lets Python check for signals in between. Ctrl-C sets
//! the library's stop flag, and the exception is raised when the work has stopped. No thread outlives the
//! call, except those of a prepared dictionary, which is created again after a fork: see `decomposer`.

use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// The longest time until Ctrl-C is noticed.
const PATIENCE: Duration = Duration::from_millis(50);

/// A flag that ends the work when it is set.
pub type Stop = Arc<AtomicBool>;

/// Runs `work`; `hear` receives its reports. An exception, from a signal or from `hear`, ends it.
pub fn run<M: Send, R: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce(Sender<M>) -> R + Send,
    mut hear: impl FnMut(Python<'_>, M) -> PyResult<()> + Send,
) -> PyResult<R> {
    py.detach(|| {
        thread::scope(|scope| {
            let (tell, news) = channel();
            let worker = scope.spawn(move || work(tell));
            let mut outcome = Ok(());
            loop {
                let message = match news.recv_timeout(PATIENCE) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if outcome.is_ok() {
                    outcome = Python::attach(|py| {
                        py.check_signals()?;
                        message.map_or(Ok(()), |message| hear(py, message))
                    });
                    stop.fetch_or(outcome.is_err(), Ordering::Relaxed);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            outcome.map(|()| result)
        })
    })
}

/// The same for work without reports. If it ignores `stop`, the exception is raised when it is over.
pub fn run_quietly<R: Send>(py: Python<'_>, stop: &Stop, work: impl FnOnce() -> R + Send) -> PyResult<R> {
    run(py, stop, move |_: Sender<()>| work(), |_, ()| Ok(()))
}

/// A report that waits for an answer: whether to stop.
pub struct Question<M> {
    pub news: M,
    answer: SyncSender<bool>,
}

impl<M> Question<M> {
    /// Asks from the thread of the work. No answer means stop: the other side has raised an exception.
    pub fn ask(to: &Sender<Self>, news: M) -> ControlFlow<()> {
        let (answer, reply) = sync_channel(1);
        let heard = to.send(Question { news, answer });
        match heard.ok().and_then(|()| reply.recv().ok()) {
            Some(false) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    /// Calls a Python function with the report and returns whether it answered `True`.
    pub fn pass_on<'py, A>(self, py: Python<'py>, callback: &Py<PyAny>) -> PyResult<()>
    where
        M: Into<A>,
        A: pyo3::call::PyCallArgs<'py>,
    {
        let stop = callback.bind(py).call1(self.news.into())?.is_truthy()?;
        // The work always waits for the answer.
        let _ = self.answer.send(stop);
        Ok(())
    }
}
