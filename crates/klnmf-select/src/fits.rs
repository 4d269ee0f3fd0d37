//! The fits of one matrix: made on all threads, each kept in a file of its own.
//!
//! If there are more fits than threads, every fit has one thread, because that wastes nothing; otherwise the
//! threads are shared. The bits of a fit depend on neither. All fits share V and its one [`Problem`]; a
//! bootstrap or a fold is made for its fit and dropped after it.

use crate::Error;
use crate::fit::{Fit, FitSettings};
use crate::job::{Draw, Job};
use klnmf::{Mat, Matrix, Problem};
use klnmf_io::Target;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The share of one process among several: every `of`-th fit, beginning with the one numbered `number`, from
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The number of this process, from 0.
    pub number: usize,
    /// The number of processes.
    pub of: usize,
}

/// An amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Fits.
    pub fits: usize,
    /// Their work, which is taken to be in proportion to their ranks.
    pub work: usize,
}

/// Receives what is done and all that is to be done, from any thread.
type Watch<'v> = Box<dyn Fn(Progress, Progress) + Sync + 'v>;

/// The fits of V, in a folder or in memory.
pub struct Fits<'v> {
    /// The data.
    pub v: Matrix<'v, f64>,
    /// Settings of every fit.
    pub settings: FitSettings,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// The share of this process; `None` if other processes make all fits.
    pub worker: Option<Worker>,
    /// Called after every fit.
    pub watch: Watch<'v>,
    folder: Option<PathBuf>,
    kept: Mutex<HashMap<String, Fit>>,
}

/// The file that says which data and settings the fits of a folder have.
pub const PLAN: &str = "plan.json";
/// The folder of the fits in it.
pub const FITS: &str = "fits";

impl<'v> Fits<'v> {
    /// No fits yet; they will be kept in memory.
    pub fn in_memory(v: Matrix<'v, f64>) -> Result<Self, Error> {
        v.check()?;
        Ok(Self {
            v,
            settings: FitSettings::default(),
            threads: 0,
            worker: Some(Worker { number: 0, of: 1 }),
            watch: Box::new(|_, _| ()),
            folder: None,
            kept: Mutex::default(),
        })
    }

    /// The fits in a folder, which is created. It may hold fits of the same data with the same settings.
    pub fn in_folder(self, folder: &Path) -> Result<Self, Error> {
        let FitSettings { seed, starts, tol, max_iter, .. } = self.settings;
        let data = klnmf_io::data_hash_text(self.v);
        // Other versions and instruction levels compute other bits.
        let (version, level) = (env!("CARGO_PKG_VERSION"), klnmf::instruction_level()?);
        let plan = json!({ "data": data, "seed": seed, "starts": starts, "tol": tol, "max_iter": max_iter,
                           "version": version, "instruction_level": level });
        let (text, path) = (format!("{plan}\n"), folder.join(PLAN));
        match std::fs::read_to_string(&path) {
            Ok(there) if there != text => return Err(Error::Other(refusal(folder, &there, &plan))),
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::NotFound => {
                klnmf_io::write_text(&path, &text)?;
            }
            Err(why) => return Err(Error::Other(format!("cannot read {}: {why}", path.display()))),
        }
        let fits = folder.join(FITS);
        std::fs::create_dir_all(&fits)
            .map_err(|why| Error::Other(format!("cannot create the folder {}: {why}", fits.display())))?;
        Ok(Self { folder: Some(fits), ..self })
    }

    /// All of these fits. Those that are missing are made; with several processes, the share of this one.
    /// Each is read when the iterator comes to it, so that the caller decides how many are in memory.
    pub fn get(&self, jobs: &[Job]) -> Result<impl Iterator<Item = Result<Fit, Error>>, Error> {
        let mine = |at: &usize| self.worker.is_some_and(|worker| at % worker.of == worker.number);
        self.make(&(0..jobs.len()).filter(mine).map(|at| jobs[at]).collect::<Vec<_>>())?;
        self.read_all(jobs)
    }

    /// The same, but every process makes all that are missing, whatever its share is.
    pub fn get_here(&self, jobs: &[Job]) -> Result<impl Iterator<Item = Result<Fit, Error>>, Error> {
        if self.worker.is_some() {
            self.make(jobs)?;
        }
        self.read_all(jobs)
    }

    fn read_all(&self, jobs: &[Job]) -> Result<impl Iterator<Item = Result<Fit, Error>>, Error> {
        match self.missing(jobs) {
            missing if missing.is_empty() => Ok(jobs.iter().map(|job| self.read(job))),
            missing => Err(Error::Incomplete { missing, all: jobs.len() }),
        }
    }

    /// The fits that are missing, the longest first, so that no thread is left with a long one at the end.
    fn missing(&self, jobs: &[Job]) -> Vec<Job> {
        let mut missing: Vec<Job> = jobs.iter().filter(|job| !self.has(job)).copied().collect();
        missing.sort_by_key(|job| std::cmp::Reverse(job.rank));
        missing
    }

    /// Makes the fits that are missing.
    fn make(&self, jobs: &[Job]) -> Result<(), Error> {
        let jobs = self.missing(jobs);
        if jobs.is_empty() {
            return Ok(());
        }
        let threads = klnmf::thread_count(self.threads);
        let at_once = threads.min(jobs.len());
        let pools = (0..at_once).map(|_| pool(threads / at_once)).collect::<Result<Vec<_>, Error>>()?;
        // Prepared inside a pool, so that it uses the threads of whoever works with it.
        let whole = pools[0].install(|| Problem::new(self.v, 0))?;
        let all = Progress { fits: jobs.len(), work: jobs.iter().map(|job| job.rank).sum() };
        let (next, outcome) = (AtomicUsize::new(0), Mutex::new((Progress::default(), Ok(()))));
        let work = |pool: &ThreadPool| {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let fit = pool.install(|| job.run(self.v, &whole, &self.settings));
                let kept = fit.and_then(|fit| self.keep(fit));
                let (done, result) = &mut *lock(&outcome);
                if let Err(why) = kept {
                    // The other threads end, too.
                    next.store(jobs.len(), Ordering::Relaxed);
                    *result = std::mem::replace(result, Ok(())).and(Err(why));
                    return;
                }
                *done = Progress { fits: done.fits + 1, work: done.work + job.rank };
                (self.watch)(*done, all);
            }
        };
        std::thread::scope(|scope| pools.iter().for_each(|pool| drop(scope.spawn(|| work(pool)))));
        let (done, result) = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.map_err(|why| match why {
            Error::Stopped { .. } => Error::Stopped { done: done.fits, all: all.fits },
            why => why,
        })
    }

    fn file(&self, job: &Job) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{job}.npz")))
    }

    fn has(&self, job: &Job) -> bool {
        match self.file(job) {
            Some(file) => file.exists(),
            None => lock(&self.kept).contains_key(&job.to_string()),
        }
    }

    fn keep(&self, fit: Fit) -> Result<(), Error> {
        match self.file(&fit.job) {
            Some(file) => klnmf_io::write_model(Target::new(&file, true), &fit.to_model())?,
            None => drop(lock(&self.kept).insert(fit.job.to_string(), without_factors(fit))),
        }
        Ok(())
    }

    fn read(&self, job: &Job) -> Result<Fit, Error> {
        let Some(file) = self.file(job) else { return Ok(lock(&self.kept)[&job.to_string()].clone()) };
        let fit = Fit::from_model(klnmf_io::read_model(&file)?).filter(|fit| fit.job == *job);
        let broken = || Error::Other(format!("{} does not hold the fit {job}: remove it", file.display()));
        fit.map(without_factors).ok_or_else(broken)
    }
}

/// Why a folder with this plan cannot hold fits of that one.
fn refusal(folder: &Path, there: &str, plan: &Value) -> String {
    let (there, folder) = (serde_json::from_str(there).unwrap_or(Value::Null), folder.display());
    let of = |plan: &Value, key: &str| plan[key].as_str().unwrap_or("unknown").to_owned();
    for (key, what) in [("version", "version"), ("instruction_level", "instruction level")] {
        let [theirs, ours] = [&there, plan].map(|plan| of(plan, key));
        if theirs != ours {
            let how = if key == "version" { "" } else { ", or set KLNMF_LEVEL on every machine" };
            return format!(
                "{folder} holds fits of {what} {theirs}, this is {ours}: give another folder{how}"
            );
        }
    }
    format!("{folder} holds fits of other data or with other settings: give another folder")
}

/// Only the scores of a training fold are compared.
fn without_factors(fit: Fit) -> Fit {
    match fit.job.draw {
        Draw::Fold(..) => Fit { w: Mat::zeros(0, 0), h: Mat::zeros(0, 0), ..fit },
        _ => fit,
    }
}

/// A thread that panicked ends the program anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pool(threads: usize) -> Result<ThreadPool, Error> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|why| Error::Other(format!("cannot start {threads} threads: {why}")))
}
