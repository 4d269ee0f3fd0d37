//! The outer loop, written once for every method: sweep, certify, decide, tell.

use crate::certificate::{Certificate, Certifier, check_factors, first_infinite};
use crate::factorize::{Info, Precision, Settings, Solution, Status};
use crate::parallel::total;
use crate::problem::Problem;
use crate::solver::method::{Factors, Method, Pair};
use crate::solver::{Setup, Side, State, Update};
use crate::{Error, Mat, Result, Scalar};
use std::any::TypeId;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Iterations between two tests of the tolerance.
const TEST_EVERY: usize = 10;

/// A factorisation under way.
///
/// ```
/// use klnmf::{Mat, Problem, Settings};
/// let v = Mat::from_fn(20, 30, |i, j| ((i % 3) * (j % 4) + (i % 5) * (j % 2)) as f64);
/// let (problem, settings) = (Problem::new(&v, 1)?, Settings { tol: 0.0, max_iter: 50, ..Settings::default() });
/// let (w, h) = problem.init(2, &settings)?;
/// let whole = problem.run(w.clone(), h.clone(), &settings)?.to_end(|_| std::ops::ControlFlow::Continue(()))?;
///
/// let mut run = problem.run(w, h, &settings)?;
/// (0..7).for_each(|_| run.sweep());
/// let state = run.state();
/// let resumed = problem.resume(&state, &settings)?.to_end(|_| std::ops::ControlFlow::Continue(()))?;
/// assert_eq!((whole.w, whole.h), (resumed.w, resumed.h));
/// # Ok::<(), klnmf::Error>(())
/// ```
pub struct Run<'a, T: Scalar> {
    problem: &'a Problem<'a, T>,
    settings: &'a Settings,
    inner: usize,
    method: Box<dyn Method<T> + 'a>,
    certifier: Certifier<'a>,
    /// The factors that the method reports: the best so far.
    factors: Pair<T>,
    iteration: usize,
    clock: Clock,
    /// The last certificate, and whether it is that of the present factors.
    info: Info,
    fresh: bool,
    /// Whether it is due to be shown, and whether the tolerance is due to be tested.
    show: bool,
    test: bool,
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(crate) fn new(
        problem: &'a Problem<'_, T>,
        w: Mat<T>,
        h: Mat<T>,
        settings: &'a Settings,
    ) -> Result<Self> {
        check_factors(problem.matrix(), &w, &h)?;
        Self::begin(problem, Factors { wt: w.transpose(), h }, settings, None)
    }

    pub(crate) fn resume(problem: &'a Problem<'_, T>, state: &State, settings: &'a Settings) -> Result<Self> {
        if state.solver != settings.solver {
            let why = format!("it belongs to solver {}, not {}", state.solver, settings.solver);
            return Err(Error::State(why));
        }
        let v = problem.matrix();
        let rank = state.arrays.get("h").map_or(0, |h| h.rows());
        let mut factors = Factors { wt: Mat::zeros(rank, v.rows()), h: Mat::zeros(rank, v.cols()) };
        factors.load("", state)?;
        check_factors(v, &factors.wt.transpose(), &factors.h)?;
        for (name, value) in described::<T>(settings) {
            if state.number(name)?.to_bits() != value.to_bits() {
                return Err(Error::State(format!("it was made with another {}", &name["with.".len()..])));
            }
        }
        Self::begin(problem, factors, settings, Some(state))
    }

    fn begin(
        problem: &'a Problem<'_, T>,
        mut factors: Pair<T>,
        settings: &'a Settings,
        state: Option<&State>,
    ) -> Result<Self> {
        settings.validate()?;
        let (spec, rank) = (settings.solver.spec(), factors.h.rows());
        if settings.fixed > rank {
            let must = "no more columns of W can be fixed than it has";
            return Err(Error::Setting { name: "fixed", value: settings.fixed.to_string(), must });
        }
        if spec.dense_only && problem.matrix().is_sparse() {
            return Err(Error::NeedsDense { solver: spec.name });
        }
        let mut certifier = Certifier::new(problem, rank, spec.epsilon, settings.fixed);
        let mut clock = Clock::new(problem.sum, state.map_or(0.0, |state| state.seconds));
        let iteration = state.map_or(0, |state| state.iteration);
        let mut info = clock.info(iteration, certifier.certify(&factors.wt, &factors.h, None));
        // ADMM may pass through such factors, but nothing can start from them.
        if state.is_none()
            && !info.gap_h.is_finite()
            && let Some(error) = first_infinite(problem.matrix(), &factors.wt, &factors.h)
        {
            return Err(error);
        }
        let [columns, rows] = &problem.halves;
        let setup = Setup {
            settings,
            pool: &problem.pool,
            data: [columns.blocks(), rows.blocks()],
            columns: columns.view(),
            narrow: [columns.blocks(), rows.blocks()],
            begun: false,
        };
        let mut method = T::method(&setup, &mut factors, info.divergence, state)?;
        info.precision = precision::<T>(&*method);
        info.dual = method.duals(&mut factors).map(|(_, duals)| total(duals.into_iter()));
        let inner = settings.inner.unwrap_or(if problem.sparse { spec.inner_sparse } else { spec.inner });
        let test = state.map_or(Ok(1.0), |state| state.number("test"))? != 0.0;
        Ok(Self {
            problem,
            settings,
            inner,
            method,
            certifier,
            factors,
            iteration,
            clock,
            info,
            fresh: true,
            show: true,
            test,
        })
    }

    /// How far it has come, as of the last certificate.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Whether a certificate is due to be shown.
    pub fn shows(&self) -> bool {
        self.show
    }

    /// A reason to stop, if there is one.
    pub fn ended(&self) -> Option<Status> {
        let settings = self.settings;
        if self.test && settings.tol > 0.0 && self.converged(&self.info) {
            Some(Status::Converged)
        } else if settings.stopped() {
            Some(Status::Stopped)
        } else if self.iteration >= settings.max_iter {
            Some(Status::IterationLimit)
        } else if settings.time_limit.is_some_and(|limit| self.clock.wall() >= limit) {
            Some(Status::TimeLimit)
        } else {
            None
        }
    }

    /// Some steps on each factor, and a certificate if one is due.
    pub fn sweep(&mut self) {
        let (settings, before) = (self.settings, self.iteration);
        // Beyond the limit a sweep is a whole one.
        let left = settings.max_iter.checked_sub(before).filter(|left| *left > 0);
        let steps = left.map_or(self.inner, |left| self.inner.min(left));
        self.clock.resume();
        let (method, factors) = (&mut self.method, &mut self.factors);
        // All of it on the threads: going there for every pass takes longer than a pass over small data.
        self.problem.pool.run(|| method.sweep(factors, steps));
        self.clock.pause();
        self.iteration += steps;
        self.fresh = false;
        let last = self.iteration >= settings.max_iter;
        let due = |every: usize| last || self.iteration / every > before / every;
        let tests = settings.tol > 0.0 || self.method.wants_progress();
        self.show = due(settings.check_every.unwrap_or(TEST_EVERY));
        self.test = last || (tests && due(TEST_EVERY));
        if self.show || self.test {
            self.certify();
        }
        // Never because of a limit, so that a run with a higher one sees the same.
        if self.method.wants_progress() && self.iteration / TEST_EVERY > before / TEST_EVERY {
            self.method.observe(&self.info);
        }
    }

    /// Sweeps until there is a reason to stop; `watch` is told of every certificate that is due.
    pub fn to_end(mut self, mut watch: impl FnMut(&Info) -> ControlFlow<()>) -> Result<Solution<T>> {
        let status = loop {
            if self.shows() && watch(self.info()).is_break() {
                break Status::Stopped;
            }
            if let Some(status) = self.ended() {
                break status;
            }
            self.sweep();
        };
        self.finish(status)
    }

    /// Everything that it carries on, to be put back with [`Problem::resume`].
    pub fn state(&self) -> State {
        let mut state = State::new(self.settings.solver);
        (state.iteration, state.seconds) = (self.iteration, self.clock.worked.as_secs_f64());
        state.put("test", f64::from(u8::from(self.test)));
        described::<T>(self.settings).iter().for_each(|(name, value)| state.put(name, *value));
        self.factors.save("", &mut state);
        self.method.save(&mut state);
        state
    }

    /// The result, with its certificate.
    pub fn finish(mut self, status: Status) -> Result<Solution<T>> {
        if !self.fresh {
            self.certify();
        }
        if let Some(latest) = self.method.latest(self.info.divergence) {
            let (shown, info) = (self.factors.clone(), self.info);
            self.factors = latest;
            self.normalize();
            let holds = status != Status::Converged || self.converged(&self.info);
            if !(holds && self.info.divergence <= info.divergence) {
                self.factors = shown;
                self.normalize();
            }
        } else {
            self.normalize();
        }
        let Factors { wt, h } = self.factors;
        // Scaling columns of W to sum 1 may leave the range of numbers.
        let vouched = status != Status::Converged || self.info.divergence.is_finite();
        if !vouched || wt.as_slice().iter().chain(h.as_slice()).any(|x| !x.is_finite()) {
            return Err(Error::Overflow { precision: T::NAME });
        }
        Ok(Solution { w: wt.transpose(), h, info: self.info, status })
    }

    /// Factors as they are returned, with the certificate of exactly these.
    fn normalize(&mut self) {
        if self.settings.update == Update::Both {
            self.factors.normalize(self.settings.fixed);
        }
        self.certify();
    }

    fn certify(&mut self) {
        let duals = self.method.duals(&mut self.factors);
        let own = duals.as_ref().map(|(side, duals)| (*side, &duals[..]));
        let certificate = self.certifier.certify(&self.factors.wt, &self.factors.h, own);
        self.info = self.clock.info(self.iteration, certificate);
        self.info.dual = duals.map(|(_, duals)| total(duals.into_iter()));
        self.info.precision = precision::<T>(&*self.method);
        self.fresh = true;
    }

    /// Whether the gaps of the factors that move are within the tolerance.
    fn converged(&self, info: &Info) -> bool {
        let of = |side, gap: f64| if self.settings.update.moves(side) { gap } else { 0.0 };
        let gap = of(Side::H, info.gap_h).max(of(Side::W, info.gap_w));
        info.divergence.is_finite() && gap <= self.settings.tol * self.problem.sum
    }
}

/// The settings that a state depends on, and the precision of the data.
fn described<T>(settings: &Settings) -> [(&'static str, f64); 5] {
    [
        ("with.precision", 8.0 * size_of::<T>() as f64),
        ("with.update", settings.update as usize as f64),
        ("with.fixed", settings.fixed as f64),
        ("with.inner", settings.inner.map_or(0.0, |inner| inner as f64)),
        ("with.rho", settings.rho.unwrap_or(0.0)),
    ]
}

fn precision<T: Scalar>(method: &dyn Method<T>) -> Precision {
    if TypeId::of::<T>() == TypeId::of::<f32>() {
        Precision::F32
    } else if method.is_mixed() {
        Precision::Mixed
    } else {
        Precision::F64
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
    fn new(sum: f64, seconds: f64) -> Self {
        let worked = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self { begun: Instant::now(), worked, since: None, sum }
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

    fn info(&mut self, iteration: usize, c: Certificate) -> Info {
        let (seconds, sum, precision) = (self.worked.as_secs_f64(), self.sum, Precision::F64);
        let Certificate { divergence, gap_w, gap_h } = c;
        Info { iteration, seconds, divergence, gap_w, gap_h, sum, precision, dual: None }
    }
}
