//! The factorisation: the outer loop, written once for every method.

use crate::block::Half;
use crate::divergence::{Certificate, Certifier, check_factors};
use crate::engine::Watch;
use crate::init::{self, Init};
use crate::matrix::Matrix;
use crate::parallel::{Pool, check_threads};
use crate::solver::{Factors, Method, Side, Solver, Update, build, check_tol};
use crate::{Error, Mat, Result, Scalar};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Accesses between two tests of the tolerance.
const TEST_EVERY: usize = 10;

/// How [`factorize`] works and when it stops.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The method.
    pub solver: Solver,
    /// Repeat the programs of the paper's authors step for step: `auto` and `fpa` with scalar steps and a dual that is carried on
    /// (dense only), `mu` with W first. The divergence then is the authors', who add 2.2e-16 inside the logarithm, so that
    /// it is finite even where WH = 0 < V. For comparisons; slower and less robust than the default.
    pub paper: bool,
    /// Work in f32 until ten accesses, after the first ten, lower the divergence by less than 1e-6 of ΣV, then in f64. It takes half the time, and
    /// no more memory. `None`: so with `auto`, not with the other solvers. It does nothing where the data are f32, where one
    /// factor is fixed, with `admm` and `paper`, and where V or the start hold positive numbers outside 1e-25 … 1e25.
    pub mixed: Option<bool>,
    /// Which factors move. [`Update::H`] with any solver is the convex problem, where [`decompose`](crate::decompose) is
    /// the quick way and this the way to compare methods.
    pub update: Update,
    /// The first so many columns of W stay exactly as they are, the others move: known parts and new ones. With `auto`, `mue`
    /// and `mu`; `auto` is `mue` then. `gap_w` is about the columns that move.
    pub fixed: usize,
    /// Steps on one factor before the other has its turn. `None`: 5 for `fpa`, 2 for `auto` and `newton` on sparse data, else 1.
    pub inner: Option<usize>,
    /// The most accesses to the data: a step on H and a step on W together are one.
    pub max_iter: usize,
    /// Stop when `gap_w` and `gap_h`, or the one of the factor that moves, are at most `tol` times the sum of V. 0 never
    /// stops early.
    pub tol: f64,
    /// Stop after this much time on the clock. Results then depend on the machine.
    pub time_limit: Option<Duration>,
    /// Set to true from anywhere, a signal handler say, it ends the work after the present sweep, and the search for a
    /// start with the singular vectors found so far.
    pub stop: Option<Arc<AtomicBool>>,
    /// Accesses between two certificates for the callback. `None`: 10. The tolerance is tested every 10 accesses in any
    /// case, so that watching does not change the result.
    pub check_every: Option<usize>,
    /// How to start.
    pub init: Init,
    /// Of the random numbers in the start. The same seed gives the same bits on any number of threads.
    pub seed: u64,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// The penalty ρ of `admm`. `None`: V is measured in units of its mean and ρ = 10.
    pub rho: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            solver: Solver::default(),
            paper: false,
            mixed: None,
            update: Update::default(),
            fixed: 0,
            inner: None,
            max_iter: 1000,
            tol: 1e-4,
            time_limit: None,
            stop: None,
            check_every: None,
            init: Init::default(),
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
        let positive = |name, value: Option<usize>| match value {
            Some(0) => Err(Error::Setting { name, value: "0".into(), must: "at least 1 is needed" }),
            _ => Ok(()),
        };
        positive("inner", self.inner)?;
        positive("check_every", self.check_every)?;
        if self.paper && matches!(self.solver, Solver::Newton | Solver::Mue | Solver::Simplex) {
            let must = "the authors have no such program: only fpa, mu and admm repeat theirs";
            return Err(Error::Setting { name: "solver", value: self.solver.name().into(), must });
        }
        if self.fixed > 0 && (self.paper || !matches!(self.solver, Solver::Auto | Solver::Mue | Solver::Mu)) {
            let must = "only auto, mue and mu can hold some columns of W fixed";
            return Err(Error::Setting { name: "solver", value: self.solver.name().into(), must });
        }
        match self.rho {
            Some(rho) if !(rho.is_finite() && rho > 0.0) => Err(Error::Setting {
                name: "rho",
                value: rho.to_string(),
                must: "a finite number > 0 is needed",
            }),
            _ => Ok(()),
        }
    }

    /// Whether somebody asked for an end.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The larger gap of the factors that move.
    fn open_gap(&self, info: &Info) -> f64 {
        let of = |side, gap: f64| if self.update.moves(side) { gap } else { 0.0 };
        of(Side::H, info.gap_h).max(of(Side::W, info.gap_w))
    }

    fn converged(&self, info: &Info) -> bool {
        self.open_gap(info) <= self.tol * info.sum
    }

    fn inner(&self, sparse: bool) -> usize {
        self.inner.unwrap_or(match self.solver {
            Solver::Fpa | Solver::Simplex => 5,
            // The authors' program, whatever it is called.
            Solver::Auto if self.paper => 5,
            // The gathering of a sparse column costs as much as a sweep over its weights.
            Solver::Newton | Solver::Auto if sparse => 2,
            _ => 1,
        })
    }
}

/// How far a factorisation has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Accesses to the data so far.
    pub iteration: usize,
    /// Seconds of work so far, without the evaluation of certificates.
    pub seconds: f64,
    /// D(V‖WH).
    pub divergence: f64,
    /// No change of W alone can lower the divergence by more than this.
    pub gap_w: f64,
    /// No change of H alone can lower the divergence by more than this.
    pub gap_h: f64,
    /// ΣV, to which gaps are compared.
    pub sum: f64,
}

impl Info {
    /// The larger gap relative to ΣV: what [`Settings::tol`] is compared with where both factors move.
    pub fn relative_gap(&self) -> f64 {
        let gap = self.gap_w.max(self.gap_h);
        if self.sum > 0.0 { gap / self.sum } else { gap }
    }
}

/// Why a solver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The gap is within the tolerance.
    Converged,
    /// The iteration limit was reached.
    IterationLimit,
    /// The time limit was reached.
    TimeLimit,
    /// The callback asked to stop.
    Stopped,
}

impl Status {
    /// One word or two, as in the program's output.
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
    /// n × r; every column that is not zero sums to 1, unless one factor was fixed.
    pub w: Mat<T>,
    /// r × m.
    pub h: Mat<T>,
    /// Iterations, time and certificate of exactly these factors.
    pub info: Info,
    /// Why it ended.
    pub status: Status,
}

/// Factors V (n × m) into W (n × r) and H (r × m), both non-negative, so that D(V‖WH) is small.
///
/// ```
/// use klnmf::{factorize, Mat, Settings};
/// let v = Mat::from_fn(20, 30, |i, j| ((i % 3) * (j % 4) + (i % 5) * (j % 2)) as f64);
/// let model = factorize(&v, 2, &Settings::default())?;
/// assert!(model.info.relative_gap() <= 1e-4);
/// assert!((model.w.col_sums()[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn factorize<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    rank: usize,
    settings: &Settings,
) -> Result<Solution<T>> {
    let v = v.into();
    settings.validate()?;
    let (w, h) = init::init(v, rank, settings)?;
    // Nobody watches.
    let settings = Settings { check_every: Some(settings.max_iter.max(1)), ..settings.clone() };
    factorize_from(v, w, h, &settings, |_| ControlFlow::Continue(()))
}

/// Factors V starting from given factors: a start of one's own, an earlier [`Solution`], or one that has
/// [grown](crate::grow).
///
/// `watch` is told of every certificate, the first one before any work; if it breaks, the factors so far are returned.
pub fn factorize_from<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: Mat<T>,
    h: Mat<T>,
    settings: &Settings,
    mut watch: impl FnMut(&Info) -> ControlFlow<()>,
) -> Result<Solution<T>> {
    T::factorize(v.into(), w, h, settings, &mut watch)
}

/// [`factorize_from`], to be compiled once.
pub(crate) fn run<T: Scalar>(
    v: Matrix<'_, T>,
    w: Mat<T>,
    h: Mat<T>,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Solution<T>> {
    settings.validate()?;
    check_factors(v, &w, &h)?;
    if settings.fixed > h.rows() {
        let must = "no more columns of W can be fixed than it has";
        return Err(Error::Setting { name: "fixed", value: settings.fixed.to_string(), must });
    }
    v.check()?;
    let primal_dual = matches!(settings.solver, Solver::Fpa | Solver::Auto);
    let dense_only = settings.solver == Solver::Admm || (settings.paper && primal_dual);
    if dense_only && v.is_sparse() {
        let solver = if settings.paper { "fpa with compat paper" } else { settings.solver.name() };
        return Err(Error::NeedsDense { solver });
    }

    let pool = Pool::new(settings.threads)?;
    let halves = [Half::new(v)?, Half::new(v.transpose())?];
    let epsilon = if settings.paper { f64::EPSILON } else { 0.0 };
    let mut certifier = Certifier::new(&pool, &halves, h.rows(), epsilon).with_fixed(settings.fixed);
    let mut factors = Factors { wt: w.transpose(), h };
    drop(w);
    let mut clock = Clock::new(v.sum());
    let first = clock.info(0, certifier.certify(&factors.wt, &factors.h));
    if !first.gap_h.is_finite()
        && let Some(error) = certifier.first_infinite(&factors.wt, &factors.h)
    {
        return Err(error);
    }
    let mut method = build::method(settings, &pool, &halves, &mut factors, v, first.divergence)?;

    clock.resume();
    let (iteration, last, status) = iterate(
        settings,
        v.is_sparse(),
        first,
        &mut clock,
        &mut *method,
        &mut factors,
        &mut certifier,
        watch,
    );
    clock.pause();
    let (factors, info) = match method.into_latest() {
        None => finish(settings, factors, &clock, iteration, &mut certifier),
        Some(latest) => {
            let now = || clock.info(iteration, certifier.certify(&factors.wt, &factors.h));
            let shown = last.unwrap_or_else(now);
            let (latest, info) = finish(settings, latest, &clock, iteration, &mut certifier);
            let holds = status != Status::Converged || settings.converged(&info);
            if holds && info.divergence <= shown.divergence {
                (latest, info)
            } else {
                finish(settings, factors, &clock, iteration, &mut certifier)
            }
        }
    };
    if factors.wt.as_slice().iter().chain(factors.h.as_slice()).any(|x| !x.is_finite()) {
        return Err(Error::Overflow { precision: T::NAME });
    }
    Ok(Solution { w: factors.wt.transpose(), h: factors.h, info, status })
}

/// Factors as they are returned, with the certificate of exactly these.
fn finish<T: Scalar>(
    settings: &Settings,
    mut factors: Factors<T>,
    clock: &Clock,
    iteration: usize,
    certifier: &mut Certifier<'_, '_, T>,
) -> (Factors<T>, Info) {
    if settings.update == Update::Both {
        factors.normalize(settings.fixed);
    }
    let info = clock.info(iteration, certifier.certify(&factors.wt, &factors.h));
    (factors, info)
}

/// Sweeps until a reason to stop turns up; the number of accesses, the certificate if it is that of the last one, and the
/// reason.
fn iterate<T: Scalar>(
    settings: &Settings,
    sparse: bool,
    mut info: Info,
    clock: &mut Clock,
    method: &mut dyn Method<T>,
    factors: &mut Factors<T>,
    certifier: &mut Certifier<'_, '_, T>,
    watch: &mut Watch<'_>,
) -> (usize, Option<Info>, Status) {
    let show_every = settings.check_every.unwrap_or(TEST_EVERY);
    let inner = settings.inner(sparse);
    let mut iteration = 0;
    let (mut show, mut test) = (true, true);
    loop {
        let latest = (show || test).then_some(info);
        if show && watch(&info).is_break() {
            return (iteration, latest, Status::Stopped);
        }
        if test && settings.tol > 0.0 && settings.converged(&info) {
            return (iteration, latest, Status::Converged);
        }
        if settings.stopped() {
            return (iteration, latest, Status::Stopped);
        }
        if iteration >= settings.max_iter {
            return (iteration, latest, Status::IterationLimit);
        }
        if settings.time_limit.is_some_and(|limit| clock.wall() >= limit) {
            return (iteration, latest, Status::TimeLimit);
        }

        let steps = inner.min(settings.max_iter - iteration);
        method.sweep(factors, steps);
        let last = iteration + steps >= settings.max_iter;
        let due = |every: usize| last || (iteration + steps) / every > iteration / every;
        let tests = settings.tol > 0.0 || method.hears();
        (show, test) = (due(show_every), last || (tests && due(TEST_EVERY)));
        iteration += steps;
        if show || test {
            clock.pause();
            info = clock.info(iteration, certifier.certify(&factors.wt, &factors.h));
            if test && method.hears() {
                method.hear(&info);
            }
            clock.resume();
        }
    }
}

/// Time on the clock, and time of work without the certificates.
struct Clock {
    begun: Instant,
    worked: Duration,
    since: Option<Instant>,
    sum: f64,
}

impl Clock {
    fn new(sum: f64) -> Self {
        Self { begun: Instant::now(), worked: Duration::ZERO, since: None, sum }
    }

    fn pause(&mut self) {
        self.worked += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    fn resume(&mut self) {
        self.since = Some(Instant::now());
    }

    fn wall(&self) -> Duration {
        self.begun.elapsed()
    }

    fn info(&self, iteration: usize, c: Certificate) -> Info {
        let seconds = self.worked.as_secs_f64();
        let Certificate { divergence, gap_w, gap_h } = c;
        Info { iteration, seconds, divergence, gap_w, gap_h, sum: self.sum }
    }
}
