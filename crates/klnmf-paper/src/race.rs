//! Runs one method from one start. Only this file calls the solvers.

use crate::starts;
use crate::study::thread_count;
use crate::trace::Trace;
use klnmf::{Mat, Matrix, Problem, Settings, Solution, Solver, Status, Update};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// The settings shared by all runs of an experiment.
pub struct Lab {
    pub seed: u64,
    /// Number of threads; 0 for one per core.
    pub threads: usize,
    /// Set by Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// The number of runs of the experiment.
    pub all: usize,
    /// The number of finished runs.
    pub runs: AtomicUsize,
    pub progress: Progress,
}

/// Called with the current run and the fraction of the experiment that is done.
pub type Progress = Box<dyn Fn(&str, f64) + Send + Sync>;

/// A problem, its start, and the number of iterations.
#[derive(Clone, Copy)]
pub struct Course<'a> {
    pub problem: &'a str,
    pub v: &'a Problem<'a, f64>,
    pub start: (&'a Mat<f64>, &'a Mat<f64>),
    pub iterations: usize,
}

/// How often a run is evaluated.
#[derive(Clone, Copy, PartialEq)]
pub enum Watch {
    /// Every iteration, or every few iterations of a long run. Such a run is timed and drawn.
    Closely,
    /// At a few iterations, for the other starts.
    Rarely,
}

/// Maximum number of points evaluated in a run. Each costs about as much as an iteration.
const MOST_POINTS: usize = 1200;

/// A method: its settings and its name in the figures.
#[derive(Clone)]
pub struct Entrant {
    pub name: String,
    pub settings: Settings,
}

/// Ctrl-C was pressed.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Names of the methods in figures and data, the paper's first.
pub const MUA: &str = "MUA";
pub const FPA: &str = "FPA";
pub const ADMM: &str = "ADMM";
/// ADMM with the best ρ that was tried.
pub const BEST_ADMM: &str = "ADMM best ρ";
/// Algorithm 2 as printed in the paper.
pub const PRINTED: &str = "FPA as printed";
pub const OUR_FPA: &str = "fpa (ours)";
pub const AUTO: &str = "auto (ours)";
/// The number of methods that run from the timed start.
pub const ENTRANTS: usize = 6;

impl Entrant {
    /// A solver with its default settings.
    pub fn new(name: &str, solver: Solver) -> Self {
        Self { name: name.into(), settings: Settings { solver, ..Settings::default() } }
    }

    /// The authors' multiplicative updates, W first.
    pub fn mua() -> Self {
        Self::new(MUA, Solver::MuAuthors)
    }

    /// The authors' ADMM.
    pub fn admm(name: &str, rho: f64) -> Self {
        let mut admm = Self::new(name, Solver::AdmmAuthors);
        admm.settings.rho = Some(rho);
        admm
    }

    /// The authors' first-order primal-dual algorithm with this number of steps per factor.
    pub fn fpa(name: &str, inner: usize) -> Self {
        Self::new(name, Solver::FpaAuthors).inner(inner)
    }

    fn inner(mut self, steps: usize) -> Self {
        self.settings.inner = Some(steps);
        self
    }

    /// The methods of the timed start: the paper's three, FPA as printed, and ours.
    pub fn all(rho: f64, inner: usize) -> [Self; ENTRANTS] {
        [
            Self::mua(),
            Self::admm(ADMM, rho),
            Self::fpa(FPA, inner),
            Self::new(PRINTED, Solver::FpaPrinted).inner(inner),
            Self::new(OUR_FPA, Solver::Fpa),
            Self::new(AUTO, Solver::Auto),
        ]
    }

    /// The same method for a convex problem, with one step per iteration.
    pub fn only(mut self, update: Update) -> Self {
        self.settings.update = update;
        self.inner(1)
    }
}

impl Lab {
    /// Runs a method from a start.
    pub fn race(
        &self,
        course: &Course<'_>,
        entrant: &Entrant,
        watch: Watch,
    ) -> anyhow::Result<(Trace, Solution<f64>)> {
        let Course { problem, v, start: (w, h), iterations } = *course;
        let every = match watch {
            Watch::Closely => iterations.div_ceil(MOST_POINTS),
            Watch::Rarely => starts::few(iterations) / 2,
        };
        let settings = Settings {
            max_iter: iterations,
            tol: 0.0,
            check_every: Some(every.max(1)),
            seed: self.seed,
            stop: Some(self.stop.clone()),
            ..entrant.settings.clone()
        };
        let doing = format!("{problem}: {}", entrant.name);
        let mut trace = Trace::new(problem, &entrant.name, Vec::new());
        let solution = v.factorize_from(w.clone(), h.clone(), &settings, |info| {
            trace.points.push(info.into());
            let run = info.iteration as f64 / iterations.max(1) as f64;
            (self.progress)(
                &doing,
                (self.runs.load(Ordering::Relaxed) as f64 + run) / self.all.max(1) as f64,
            );
            ControlFlow::Continue(())
        })?;
        if solution.status == Status::Stopped {
            return Err(Interrupted.into());
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        if watch == Watch::Closely {
            trace.thin();
        }
        Ok((trace, solution))
    }

    /// The paper's start: |N(0, 1)| plus a small offset, scaled by one number so that ΣWH = ΣV. Start 0 is
    /// timed.
    pub fn start(
        &self,
        v: &Problem<'_, f64>,
        rank: usize,
        number: usize,
    ) -> klnmf::Result<(Mat<f64>, Mat<f64>)> {
        v.init(rank, &Settings { seed: self.seed.wrapping_add(number as u64), ..Settings::default() })
    }

    /// V, prepared for all methods.
    pub fn prepare<'v>(&self, v: impl Into<Matrix<'v, f64>>) -> klnmf::Result<Problem<'v, f64>> {
        Problem::new(v, self.threads)
    }

    /// Runs the starts from 1 on, several at a time and each on one thread. This gives the same bits as one
    /// after the other on all threads, and takes less time. `run` returns the traces of a start.
    pub fn further_starts(
        &self,
        v: &Mat<f64>,
        starts: usize,
        run: impl Fn(&Problem<'_, f64>, usize) -> anyhow::Result<Vec<Trace>> + Sync,
    ) -> anyhow::Result<Vec<(usize, Trace)>> {
        let next = AtomicUsize::new(1);
        let work = || -> anyhow::Result<Vec<(usize, Trace)>> {
            let (alone, mut done) = (Problem::new(v, 1)?, Vec::new());
            loop {
                let start = next.fetch_add(1, Ordering::Relaxed);
                if start >= starts {
                    return Ok(done);
                }
                done.extend(run(&alone, start)?.into_iter().map(|trace| (start, trace)));
            }
        };
        let mut all = thread::scope(|scope| {
            let threads: Vec<_> = (0..thread_count(self.threads)).map(|_| scope.spawn(work)).collect();
            let ended = threads.into_iter().map(|thread| thread.join().expect("no run panics"));
            ended.collect::<anyhow::Result<Vec<_>>>()
        })?
        .concat();
        all.sort_by_key(|(start, _)| *start);
        Ok(all)
    }
}

#[cfg(test)]
pub fn quiet_lab(seed: u64) -> Lab {
    let progress = Box::new(|_: &str, _| ());
    Lab { seed, threads: 1, stop: Arc::default(), all: 1, runs: AtomicUsize::new(0), progress }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Mat<f64> {
        Mat::from_fn(12, 20, |i, j| 1.0 + ((i * 7 + j * 13 + i * j) % 11) as f64)
    }

    #[test]
    fn a_race_records_what_the_library_reports() {
        let (lab, v) = (quiet_lab(3), data());
        let prepared = lab.prepare(&v).unwrap();
        let (w, h) = lab.start(&prepared, 3, 0).unwrap();
        let course = Course { problem: "nmf", v: &prepared, start: (&w, &h), iterations: 20 };
        let entrants = [Entrant::mua(), Entrant::admm(ADMM, 2.0), Entrant::fpa(FPA, 5)];
        for (entrant, solver) in
            entrants.iter().zip([Solver::MuAuthors, Solver::AdmmAuthors, Solver::FpaAuthors])
        {
            let (trace, solution) = lab.race(&course, entrant, Watch::Closely).unwrap();
            let settings = Settings {
                solver,
                rho: (solver == Solver::AdmmAuthors).then_some(2.0),
                max_iter: 20,
                tol: 0.0,
                check_every: Some(1),
                ..Settings::default()
            };
            let mut seen = Vec::new();
            let direct = klnmf::factorize_from(&v, w.clone(), h.clone(), &settings, |info| {
                seen.push((info.iteration, info.divergence, info.gap_w, info.gap_h, info.dual));
                ControlFlow::Continue(())
            })
            .unwrap();
            let traced: Vec<_> =
                trace.points.iter().map(|p| (p.iteration, p.divergence, p.gap_w, p.gap_h, p.dual)).collect();
            assert_eq!(traced, seen);
            assert_eq!((solution.w, solution.h), (direct.w, direct.h));
        }
        assert_eq!(lab.runs.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn an_interrupted_race_is_an_error() {
        let (lab, v) = (quiet_lab(0), data());
        let prepared = lab.prepare(&v).unwrap();
        let (w, h) = lab.start(&prepared, 2, 0).unwrap();
        let course = Course { problem: "nmf", v: &prepared, start: (&w, &h), iterations: 20 };
        lab.stop.store(true, Ordering::Relaxed);
        let error = lab.race(&course, &Entrant::mua(), Watch::Closely).unwrap_err();
        assert!(error.is::<Interrupted>());
    }
}
