//! Threads, the loop over panels of columns, and sums that do not depend on either.
//!
//! The results of a column do not depend on the panel that it lies in. One thread processes a panel and
//! writes only to its columns. Sums over columns are computed afterwards, in chunks of fixed size. Hence the
//! bits are the same for any number of threads, and for any partition of the columns at multiples of
//! [`CHUNK`].

use crate::error::require;
use crate::kernel::Isa;
use crate::{Error, Result};
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Columns whose values are summed before their sum is added to the total.
pub const CHUNK: usize = 64;

/// The sum of one number per column, chunk by chunk.
pub fn total(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let (mut total, mut chunk) = (0.0, 0.0);
    for (column, value) in values.enumerate() {
        if column % CHUNK == 0 {
            total += chunk;
            chunk = 0.0;
        }
        chunk += value;
    }
    total + chunk
}

/// The threads of a call: its own, or those of the rayon pool in which it was called.
pub struct Pool {
    own: Option<rayon::ThreadPool>,
}

impl Pool {
    /// `threads` threads, 0 for one per core. Inside a rayon pool, that pool is used instead.
    pub fn new(threads: usize) -> Result<Self> {
        check_threads(threads)?;
        Isa::chosen()?;
        if rayon::current_thread_index().is_some() {
            return Ok(Self { own: None });
        }
        let own = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::Threads { threads, why: e.to_string() })?;
        Ok(Self { own: Some(own) })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.own.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads())
    }

    /// Runs `f` on the threads.
    pub fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        let (mut f, mut result) = (Some(f), None);
        self.enter(&mut || result = f.take().map(|f| f()));
        result.expect("f has run")
    }

    /// The half of [`Pool::run`] that is not generic, so that it is compiled once.
    fn enter(&self, f: &mut (dyn FnMut() + Send)) {
        match &self.own {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }

    /// Creates one value per thread, for workspaces.
    pub fn each<S>(&self, mut make: impl FnMut() -> S) -> PerThread<S> {
        PerThread((0..self.threads()).map(|_| Mutex::new(make())).collect())
    }

    /// Cuts `a` and `b` into panels of `width` columns (`per_a`, `per_b` entries per column) and calls `f`
    /// with the first column and the two pieces of each panel.
    pub fn panels<A: Send, B: Send>(
        &self,
        width: usize,
        a: (&mut [A], usize),
        b: (&mut [B], usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        self.panels_beginning_at(0, width, a, b, f);
    }

    /// [`Pool::panels`], beginning with the panel of column `heaviest`. If a panel with much of the work came
    /// last, the other threads would wait for it.
    pub fn panels_beginning_at<A: Send, B: Send>(
        &self,
        heaviest: usize,
        width: usize,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        // Waking a thread takes longer than a small panel.
        if a.len() <= width * per_a {
            return f(0, a, b);
        }
        let pieces = a.chunks_mut(width * per_a).zip(b.chunks_mut(width * per_b)).enumerate();
        let mut pieces: Vec<_> = pieces.collect();
        pieces.swap(0, heaviest / width);
        self.run(|| for_each(pieces.into_iter(), |(panel, (a, b))| f(panel * width, a, b)));
    }
}

/// Calls `f` with every task, on all threads if called in a pool. Any thread may take the next one, because
/// tasks differ in work.
pub fn for_each<A: Send>(tasks: impl Iterator<Item = A>, f: impl Fn(A) + Sync) {
    let tasks: Vec<_> = tasks.map(|task| Mutex::new(Some(task))).collect();
    in_any_order(tasks.len(), &|at| {
        let task = lock(&tasks[at]).take();
        task.into_iter().for_each(&f);
    });
}

/// The results of `f` for all tasks, in their order. Runs like [`for_each`].
pub fn map<A: Send, R: Send>(tasks: impl Iterator<Item = A>, f: impl Fn(A) -> R + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = Vec::new();
    let tasks: Vec<A> = tasks.collect();
    results.resize_with(tasks.len(), || None);
    for_each(tasks.into_iter().zip(&mut results), |(task, result)| *result = Some(f(task)));
    results.into_iter().flatten().collect()
}

/// Runs both, at the same time if called in a pool.
pub fn both(a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    let (mut a, mut b) = (Some(a), Some(b));
    let run: [&mut (dyn FnMut() + Send); 2] =
        [&mut || a.take().map_or((), |a| a()), &mut || b.take().map_or((), |b| b())];
    for_each(run.into_iter(), |run| run());
}

/// The half of [`for_each`] that is not generic, so that it is compiled once.
fn in_any_order(count: usize, f: &(dyn Fn(usize) + Sync)) {
    match rayon::current_thread_index() {
        Some(_) => (0..count).into_par_iter().with_max_len(1).for_each(f),
        None => (0..count).for_each(f),
    }
}

/// A thread that panicked ends the call anyway.
fn lock<A>(mutex: &Mutex<A>) -> MutexGuard<'_, A> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of threads that a setting asks for: 0 means one per core.
pub fn thread_count(asked: usize) -> usize {
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// Checks that the number of threads is at most 1024.
pub fn check_threads(threads: usize) -> Result<()> {
    // A larger number is almost certainly a typing mistake.
    require(threads <= 1024, "threads", threads, "at most 1024 are possible")
}

/// One value per thread of a pool.
pub struct PerThread<S>(Vec<Mutex<S>>);

impl<S> PerThread<S> {
    /// Lends the calling thread its value. Threads of the pool that it was created for never have to wait.
    pub fn with<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        let mine = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        f(&mut lock(&self.0[mine]))
    }
}
