//! One method from one start: the only place that calls the solvers.

use super::trace::{Point, Trace};
use indicatif::ProgressBar;
use klnmf::{Mat, Matrix, Problem, Settings, Solution, Solver, Status, Update};
use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What every run of an experiment has in common.
pub struct Lab {
    pub seed: u64,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// Set by Ctrl-C.
    pub stop: Arc<AtomicBool>,
    pub bar: ProgressBar,
    /// Runs that have ended.
    pub runs: Cell<usize>,
}

/// Steps of the progress bar for a run.
pub const STEPS: usize = 1000;

/// Points of a run that are evaluated at most: each costs about as much as an access.
const MOST_POINTS: usize = 1200;

/// A method with its settings and its name in the figures.
#[derive(Clone)]
pub struct Entrant {
    pub name: String,
    pub settings: Settings,
}

/// Ctrl-C was pressed.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Names of the methods in figures and data.
pub const MUA: &str = "MUA";
pub const FPA: &str = "FPA";
pub const ADMM: &str = "ADMM";
/// ADMM with the best of the ρ that were tried.
pub const BEST_ADMM: &str = "ADMM best ρ";
pub const OUR_FPA: &str = "fpa (ours)";
pub const AUTO: &str = "auto (ours)";

impl Entrant {
    fn new(name: &str, settings: Settings) -> Self {
        Self { name: name.into(), settings }
    }

    /// The authors' multiplicative updates, W first.
    pub fn mua() -> Self {
        Self::new(MUA, Settings { solver: Solver::MuAuthors, ..Settings::default() })
    }

    /// The authors' ADMM.
    pub fn admm(name: &str, rho: f64) -> Self {
        Self::new(name, Settings { solver: Solver::AdmmAuthors, rho: Some(rho), ..Settings::default() })
    }

    /// The authors' first-order primal-dual algorithm with so many steps on one factor.
    pub fn fpa(name: &str, inner: usize) -> Self {
        Self::new(name, Settings { solver: Solver::FpaAuthors, inner: Some(inner), ..Settings::default() })
    }

    /// A solver of ours with its default settings.
    pub fn ours(name: &str, solver: Solver) -> Self {
        Self::new(name, Settings { solver, ..Settings::default() })
    }

    /// The same for the convex problem, where every step is looked at.
    pub fn only(mut self, update: Update) -> Self {
        self.settings.update = update;
        self.settings.inner = Some(1);
        self
    }
}

impl Lab {
    /// Runs a method for so many accesses and records every loop, or every few of a long run.
    pub fn race(
        &self,
        problem: &str,
        entrant: &Entrant,
        v: &Problem<'_, f64>,
        (w, h): (&Mat<f64>, &Mat<f64>),
        accesses: usize,
    ) -> anyhow::Result<(Trace, Solution<f64>)> {
        let settings = Settings {
            max_iter: accesses,
            tol: 0.0,
            check_every: Some(accesses.div_ceil(MOST_POINTS).max(1)),
            threads: self.threads,
            seed: self.seed,
            stop: Some(self.stop.clone()),
            ..entrant.settings.clone()
        };
        self.bar.set_message(format!("{problem}: {}", entrant.name));
        let mut points: Vec<Point> = Vec::new();
        let solution = v.factorize_from(w.clone(), h.clone(), &settings, |info| {
            points.push(info.into());
            let share = info.iteration * STEPS / accesses.max(1);
            self.bar.set_position((self.runs.get() * STEPS + share) as u64);
            ControlFlow::Continue(())
        })?;
        if solution.status == Status::Stopped {
            return Err(Interrupted.into());
        }
        self.runs.set(self.runs.get() + 1);
        let mut trace = Trace { problem: problem.into(), method: entrant.name.clone(), points };
        trace.thin();
        Ok((trace, solution))
    }

    /// The paper's start: |N(0, 1)| and a small offset; scaled by one number so that ΣWH = ΣV.
    pub fn start(&self, v: &Problem<'_, f64>, rank: usize) -> klnmf::Result<(Mat<f64>, Mat<f64>)> {
        v.init(rank, &Settings { seed: self.seed, ..Settings::default() })
    }

    /// V, ready for every method.
    pub fn prepare<'v>(&self, v: impl Into<Matrix<'v, f64>>) -> klnmf::Result<Problem<'v, f64>> {
        Problem::new(v, self.threads)
    }
}

#[cfg(test)]
pub fn quiet_lab(seed: u64) -> Lab {
    Lab { seed, threads: 1, stop: Arc::default(), bar: ProgressBar::hidden(), runs: Cell::new(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn data() -> Mat<f64> {
        Mat::from_fn(12, 20, |i, j| 1.0 + ((i * 7 + j * 13 + i * j) % 11) as f64)
    }

    #[test]
    fn a_race_records_what_the_library_says() {
        let (lab, v) = (quiet_lab(3), data());
        let prepared = lab.prepare(&v).unwrap();
        let (w, h) = lab.start(&prepared, 3).unwrap();
        let entrants = [Entrant::mua(), Entrant::admm(ADMM, 2.0), Entrant::fpa(FPA, 5)];
        for (entrant, solver) in
            entrants.iter().zip([Solver::MuAuthors, Solver::AdmmAuthors, Solver::FpaAuthors])
        {
            let (trace, solution) = lab.race("nmf", entrant, &prepared, (&w, &h), 20).unwrap();
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
                seen.push((info.iteration, info.divergence, info.gap_w, info.gap_h));
                ControlFlow::Continue(())
            })
            .unwrap();
            let traced: Vec<_> =
                trace.points.iter().map(|p| (p.iteration, p.divergence, p.gap_w, p.gap_h)).collect();
            assert_eq!(traced, seen);
            assert_eq!((solution.w, solution.h), (direct.w, direct.h));
        }
        assert_eq!(lab.runs.get(), 3);
    }

    #[test]
    fn an_interrupted_race_is_no_result() {
        let (lab, v) = (quiet_lab(0), data());
        let prepared = lab.prepare(&v).unwrap();
        let (w, h) = lab.start(&prepared, 2).unwrap();
        lab.stop.store(true, Ordering::Relaxed);
        let error = lab.race("nmf", &Entrant::mua(), &prepared, (&w, &h), 20).unwrap_err();
        assert!(error.is::<Interrupted>());
    }
}
