//! Threads: a pool that belongs to one call, and the walk over panels of columns.
//!
//! Panels have a size that depends on the data alone; each is worked by one thread and writes only its own columns.
//! Sums over columns are taken afterwards in column order. Hence the same bits for any number of threads.

use crate::{Error, Result};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// More threads than this can only be a slip of the keyboard.
const MOST: usize = 1024;

/// A pool of threads owned by one call of the library: nothing global, nothing left behind.
pub struct Pool {
    pool: rayon::ThreadPool,
}

impl Pool {
    /// `threads` threads, 0 for as many as there are cores.
    pub fn new(threads: usize) -> Result<Self> {
        check_threads(threads)?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|e| Error::Threads { threads, why: e.to_string() })?;
        Ok(Self { pool })
    }

    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// One value per thread, for workspaces.
    pub fn each<S>(&self, mut make: impl FnMut() -> S) -> PerThread<S> {
        PerThread((0..self.threads()).map(|_| Mutex::new(make())).collect())
    }

    /// Does two things at once, if there are two threads.
    pub fn both(&self, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
        self.pool.install(|| rayon::join(a, b));
    }

    /// Cuts `a` and `b` into panels of `width` columns (`per_a`, `per_b` entries a column) and calls `f` with the first
    /// column and the two pieces of each panel.
    pub fn panels<A: Send, B: Send>(
        &self,
        width: usize,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        self.pool.install(|| {
            a.par_chunks_mut(width * per_a)
                .zip(b.par_chunks_mut(width * per_b))
                .enumerate()
                // Every panel may go to any thread: panels of sparse data differ in weight.
                .with_max_len(1)
                .for_each(|(panel, (a, b))| f(panel * width, a, b));
        });
    }
}

/// Checks that a pool of so many threads is to be had.
pub fn check_threads(threads: usize) -> Result<()> {
    if threads <= MOST {
        return Ok(());
    }
    Err(Error::Setting { name: "threads", value: threads.to_string(), must: "at most 1024 are possible" })
}

/// One value per thread of a pool.
pub struct PerThread<S>(Vec<Mutex<S>>);

impl<S> PerThread<S> {
    /// Lends the calling thread its value. The lock is never contended: it only convinces the compiler.
    pub fn with<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        let mine = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        f(&mut self.0[mine].lock().unwrap_or_else(PoisonError::into_inner))
    }
}
