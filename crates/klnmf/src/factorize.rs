//! The factorisation: its settings, its progress and its result.

use crate::error::require;
use crate::matrix::Matrix;
use crate::parallel::check_threads;
use crate::problem::Problem;
use crate::{Init, Mat, Result, Scalar, Solver, Start, Update};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Settings of [`factorize`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The method.
    pub solver: Solver,
    /// Compute in f32 until ten iterations, after the first ten, decrease the divergence by less than 1e-6 of
    /// ΣV, and in f64 from then on. This takes half the time and no more memory. `None`: with `auto` only.
    /// The setting has no effect if the data are f32, if a factor or a part of W is fixed, with `admm` and
    /// the authors' programs, and if V or the start hold positive numbers outside 1e-25 … 1e25.
    /// [`Info::precision`] reports what was done.
    pub mixed: Option<bool>,
    /// The factors to update. [`Update::H`] with any solver is the convex problem.
    /// [`decompose`](crate::decompose) solves it faster; this setting serves to compare methods.
    pub update: Update,
    /// The first `fixed` columns of W stay exactly as given and the others move: known parts and new ones.
    /// `gap_w` refers to the moving columns. See [`Spec::holds_parts`](crate::Spec::holds_parts).
    pub fixed: usize,
    /// Steps on one factor before the other moves. `None`: the default in the solver's [`Spec`](crate::Spec).
    pub inner: Option<usize>,
    /// Iteration limit. One iteration is a step on H and a step on W.
    pub max_iter: usize,
    /// Stop when `gap_w` and `gap_h` (with one factor fixed, the gap of the other) are at most `tol` times
    /// [`Info::unit`], which is the divergence unless the fit is nearly exact. With 3e-3, the default,
    /// changing one factor could lower the divergence by at most 0.3 %. 0 never stops early.
    pub tol: f64,
    /// Limit of the elapsed time. Results then depend on the machine.
    pub time_limit: Option<Duration>,
    /// Setting this to true, from any thread or a signal handler, ends the work after the current round. The
    /// search for an NNDSVD start ends with the singular vectors found so far.
    pub stop: Option<Arc<AtomicBool>>,
    /// Iterations between two certificates for the callback. `None`: 10. The tolerance is tested every 10
    /// iterations in any case, so the callback does not change the result. With `stream` both numbers are 1,
    /// because its certificates cost nothing.
    pub check_every: Option<usize>,
    /// The kind of start.
    pub init: Init,
    /// The number of starts, of which the best is kept; their seeds are `seed`, `seed` + 1 and so on. The
    /// first one runs to its end, so the result is never worse than that of one start. Most others are
    /// stopped early: all together take about twice the work of the first, and more than 2.5 times only if
    /// another turns out lower. Every start needs memory for its own factors.
    pub starts: usize,
    /// Seed of the random start. The same seed gives the same bits on any number of threads.
    pub seed: u64,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// The penalty ρ of `admm`. `None`: V is divided by its mean and ρ = 10.
    pub rho: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            solver: Solver::default(),
            mixed: None,
            update: Update::default(),
            fixed: 0,
            inner: None,
            max_iter: 2000,
            tol: 3e-3,
            time_limit: None,
            stop: None,
            check_every: None,
            init: Init::default(),
            starts: 1,
            seed: 0,
            threads: 0,
            rho: None,
        }
    }
}

impl Settings {
    /// Checks that every setting is in range.
    pub fn validate(&self) -> Result<()> {
        check_tol(self.tol)?;
        check_threads(self.threads)?;
        for (name, value) in
            [("inner", self.inner), ("check_every", self.check_every), ("starts", Some(self.starts))]
        {
            require(value != Some(0), name, 0, "at least 1 is needed")?;
        }
        let must = "this solver cannot keep columns of W fixed: choose auto";
        require(self.fixed == 0 || self.solver.spec().holds_parts, "solver", self.solver, must)?;
        let must = "admm-authors repeats the authors' program, which needs a penalty: give one, such as 10";
        require(self.rho.is_some() || self.solver != Solver::AdmmAuthors, "rho", "none", must)?;
        let rho = self.rho.unwrap_or(1.0);
        require(rho.is_finite() && rho > 0.0, "rho", rho, "a finite number > 0 is needed")
    }

    /// Whether an end was requested.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Progress of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Iterations so far.
    pub iteration: usize,
    /// Seconds of work so far, without the evaluation of certificates.
    pub seconds: f64,
    /// D(V‖WH).
    pub divergence: f64,
    /// No change of W alone can decrease the divergence by more than this.
    pub gap_w: f64,
    /// No change of H alone can decrease the divergence by more than this.
    pub gap_h: f64,
    /// ΣV.
    pub sum: f64,
    /// The precision of the computation so far.
    pub precision: Precision,
    /// The value of the dual point that the method carries, scaled to be feasible: no choice of the moving
    /// factor has a lower D(V‖WH). Only `fpa-authors` and `fpa-printed` have one, if the other factor is
    /// fixed. The gaps take it into account.
    pub dual: Option<f64>,
}

/// The precision of the computation. Certificates are always in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// f32 throughout.
    F32,
    /// f64 throughout.
    F64,
    /// f32 in early iterations, then f64.
    Mixed,
}

impl Precision {
    /// The precision of factors T, or of a mixture.
    pub(crate) fn of<T>(mixed: bool) -> Self {
        match size_of::<T>() {
            _ if mixed => Precision::Mixed,
            4 => Precision::F32,
            _ => Precision::F64,
        }
    }

    /// The name in the program's output.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
            Precision::Mixed => "mixed",
        }
    }
}

impl Info {
    /// What gaps are relative to: the divergence, so that a relative gap means the same on data that fit well
    /// and on data that do not. The divergence of an exact fit is zero, which rounding never reaches; so the
    /// unit is at least 1e-5 of ΣV, and 1e-2 of ΣV if all of the work is in f32.
    pub fn unit(&self) -> f64 {
        let least = if self.precision == Precision::F32 { 1e-2 } else { 1e-5 };
        self.divergence.max(least * self.sum)
    }

    /// The larger gap relative to [`Info::unit`]. [`Settings::tol`] applies to it if both factors move.
    pub fn relative_gap(&self) -> f64 {
        self.relative(self.gap_w.max(self.gap_h))
    }

    /// A gap relative to [`Info::unit`].
    pub(crate) fn relative(&self, gap: f64) -> f64 {
        if gap > 0.0 && gap.is_finite() { gap / self.unit() } else { gap }
    }

    /// What is left to gain, in words.
    pub fn left(&self) -> String {
        let gap = self.gap_w.max(self.gap_h);
        if !gap.is_finite() {
            return "the model is zero where V is not, so its gaps are infinite".into();
        }
        if self.divergence < self.unit() {
            let share = if self.sum > 0.0 { 100.0 * self.divergence / self.sum } else { 0.0 };
            return format!("the fit is nearly exact: the divergence is {share:.1e} % of the sum of V");
        }
        let percent = 100.0 * self.relative_gap().min(1.0);
        format!("changing one factor could lower the divergence by at most {percent:.2} %")
    }
}

/// Why a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The gap is within the tolerance.
    Converged,
    /// The iteration limit was reached.
    IterationLimit,
    /// The time limit was reached.
    TimeLimit,
    /// The caller asked to stop.
    Stopped,
}

impl Status {
    /// The name in the program's output.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::IterationLimit => "iteration limit",
            Status::TimeLimit => "time limit",
            Status::Stopped => "stopped",
        }
    }
}

/// A factorisation V ≈ WH with its certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution<T> {
    /// n × r. Every non-zero column sums to 1, unless it or a whole factor was fixed.
    pub w: Mat<T>,
    /// r × m.
    pub h: Mat<T>,
    /// Iterations, time and the certificate of exactly these factors.
    pub info: Info,
    /// Why it ended.
    pub status: Status,
    /// How far each start came, by seed. Empty if there was one.
    pub starts: Vec<Start>,
}

/// Factorises V (n × m) into non-negative W (n × r) and H (r × m) with a small D(V‖WH). The part with the
/// largest share of ΣWH comes first.
///
/// ```
/// use klnmf::{factorize, Mat, Settings};
/// let v = Mat::from_fn(20, 30, |i, j| ((i % 3) * (j % 4) + (i % 5) * (j % 2)) as f64);
/// let model = factorize(&v, 2, &Settings::default())?;
/// assert!(model.info.relative_gap() <= 3e-3);
/// assert!((model.w.col_sums()[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn factorize<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    rank: usize,
    settings: &Settings,
) -> Result<Solution<T>> {
    settings.validate()?;
    Problem::new(v, settings.threads)?.factorize(rank, settings)
}

/// Factorises V from given factors: your own start, an earlier [`Solution`], or a [grown](crate::grow) one.
/// The parts keep their order; [`Run::sort_from`](crate::Run::sort_from) changes that.
///
/// `watch` is called with every certificate, the first time before any iteration. If it breaks, the current
/// factors are returned.
pub fn factorize_from<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: Mat<T>,
    h: Mat<T>,
    settings: &Settings,
    watch: impl FnMut(&Info) -> ControlFlow<()>,
) -> Result<Solution<T>> {
    settings.validate()?;
    Problem::new(v, settings.threads)?.factorize_from(w, h, settings, watch)
}

/// The reason to stop that comes from outside, if there is one.
pub(crate) fn interrupted(
    stop: &Option<Arc<AtomicBool>>,
    limit: Option<Duration>,
    begun: Instant,
) -> Option<Status> {
    if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        return Some(Status::Stopped);
    }
    limit.is_some_and(|limit| begun.elapsed() >= limit).then_some(Status::TimeLimit)
}

/// Checks that a relative tolerance is finite and non-negative.
pub(crate) fn check_tol(tol: f64) -> Result<()> {
    require(tol.is_finite() && tol >= 0.0, "tol", tol, "a finite number ≥ 0 is needed")
}
