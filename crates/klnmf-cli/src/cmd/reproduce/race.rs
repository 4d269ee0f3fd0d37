//! One method from one start: the only place that calls the solvers.

use super::starts;
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

/// Points of a run that are evaluated at most: each costs about as much as an iteration.
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

/// Names of the methods in figures and data; those of the paper come first.
pub const MUA: &str = "MUA";
pub const FPA: &str = "FPA";
pub const ADMM: &str = "ADMM";
/// ADMM with the best of the ρ that were tried.
pub const BEST_ADMM: &str = "ADMM best ρ";
/// Algorithm 2 as it is printed.
pub const PRINTED: &str = "FPA as printed";
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

    /// Algorithm 2 as it is printed, if the library has it.
    pub fn printed(inner: usize) -> Option<Self> {
        let solver = "fpa-printed".parse().ok()?;
        Some(Self::new(PRINTED, Settings { solver, inner: Some(inner), ..Settings::default() }))
    }

    /// Those of the timed start: the paper's three, FPA as printed, and ours.
    pub fn all(rho: f64, inner: usize) -> Vec<Self> {
        let mut all = vec![Self::mua(), Self::admm(ADMM, rho), Self::fpa(FPA, inner)];
        all.extend(Self::printed(inner));
        all.extend([Self::ours(OUR_FPA, Solver::Fpa), Self::ours(AUTO, Solver::Auto)]);
        all
    }

    /// How many that are.
    pub fn count() -> usize {
        Self::all(1.0, 1).len()
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
    /// Runs a method for so many iterations and records every loop, or every few of a long run.
    pub fn race(
        &self,
        problem: &str,
        entrant: &Entrant,
        v: &Problem<'_, f64>,
        start: (&Mat<f64>, &Mat<f64>),
        iterations: usize,
    ) -> anyhow::Result<(Trace, Solution<f64>)> {
        let every = iterations.div_ceil(MOST_POINTS).max(1);
        let (mut trace, solution) = self.run(problem, entrant, v, start, iterations, every)?;
        trace.thin();
        Ok((trace, solution))
    }

    /// The same from a further start, where few points are looked at.
    pub fn repeat(
        &self,
        problem: &str,
        entrant: &Entrant,
        v: &Problem<'_, f64>,
        start: (&Mat<f64>, &Mat<f64>),
        iterations: usize,
    ) -> anyhow::Result<(Trace, Solution<f64>)> {
        self.run(problem, entrant, v, start, iterations, (starts::few(iterations) / 2).max(1))
    }

    fn run(
        &self,
        problem: &str,
        entrant: &Entrant,
        v: &Problem<'_, f64>,
        (w, h): (&Mat<f64>, &Mat<f64>),
        iterations: usize,
        every: usize,
    ) -> anyhow::Result<(Trace, Solution<f64>)> {
        let settings = Settings {
            max_iter: iterations,
            tol: 0.0,
            check_every: Some(every),
            threads: self.threads,
            seed: self.seed,
            stop: Some(self.stop.clone()),
            ..entrant.settings.clone()
        };
        self.bar.set_message(format!("{problem}: {}", entrant.name));
        let mut points: Vec<Point> = Vec::new();
        let solution = v.factorize_from(w.clone(), h.clone(), &settings, |info| {
            points.push(info.into());
            let share = info.iteration * STEPS / iterations.max(1);
            self.bar.set_position((self.runs.get() * STEPS + share) as u64);
            ControlFlow::Continue(())
        })?;
        if solution.status == Status::Stopped {
            return Err(Interrupted.into());
        }
        self.runs.set(self.runs.get() + 1);
        Ok((Trace { problem: problem.into(), method: entrant.name.clone(), points }, solution))
    }

    /// The paper's start: |N(0, 1)| and a small offset; scaled by one number so that ΣWH = ΣV. Number 0 is the one that is timed.
    pub fn start(
        &self,
        v: &Problem<'_, f64>,
        rank: usize,
        number: usize,
    ) -> klnmf::Result<(Mat<f64>, Mat<f64>)> {
        v.init(rank, &Settings { seed: self.seed.wrapping_add(number as u64), ..Settings::default() })
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
        let (w, h) = lab.start(&prepared, 3, 0).unwrap();
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
                seen.push((info.iteration, info.divergence, info.gap_w, info.gap_h, info.dual));
                ControlFlow::Continue(())
            })
            .unwrap();
            let traced: Vec<_> =
                trace.points.iter().map(|p| (p.iteration, p.divergence, p.gap_w, p.gap_h, p.dual)).collect();
            assert_eq!(traced, seen);
            assert_eq!((solution.w, solution.h), (direct.w, direct.h));
        }
        assert_eq!(lab.runs.get(), 3);
    }

    #[test]
    fn an_interrupted_race_is_no_result() {
        let (lab, v) = (quiet_lab(0), data());
        let prepared = lab.prepare(&v).unwrap();
        let (w, h) = lab.start(&prepared, 2, 0).unwrap();
        lab.stop.store(true, Ordering::Relaxed);
        let error = lab.race("nmf", &Entrant::mua(), &prepared, (&w, &h), 20).unwrap_err();
        assert!(error.is::<Interrupted>());
    }
}
