//! The outer loop, shared by all methods: iterate, certify, decide, report.

use crate::certificate::Certificate;
use crate::error::require;
use crate::factorize::{Info, Precision, Settings, Solution, Status};
use crate::kernel::Isa;
use crate::problem::Problem;
use crate::solver::method::{Factors, Method, Pair};
use crate::solver::place::{FactorsOf, Place, Test};
use crate::solver::{Setup, Side, State, Store, Update, mixed};
use crate::{Error, Result, Scalar, Solver};
use std::ops::ControlFlow;
use std::time::Instant;

/// Iterations between two tests of the tolerance.
const TEST_EVERY: usize = 10;

/// A factorisation in progress.
///
/// ```
/// use klnmf::{Mat, Problem, Settings};
/// let v = Mat::from_fn(20, 30, |i, j| ((i % 3) * (j % 4) + (i % 5) * (j % 2)) as f64);
/// let (problem, settings) = (Problem::new(&v, 1)?, Settings { tol: 0.0, max_iter: 50, ..Settings::default() });
/// let (w, h) = problem.init(2, &settings)?;
/// let whole = problem.run(w.clone(), h.clone(), &settings)?.to_end(|_| std::ops::ControlFlow::Continue(()))?;
///
/// let mut run = problem.run(w, h, &settings)?;
/// (0..7).for_each(|_| run.advance());
/// let state = run.state();
/// let resumed = problem.resume(&state, &settings)?.to_end(|_| std::ops::ControlFlow::Continue(()))?;
/// assert_eq!((whole.w, whole.h), (resumed.w, resumed.h));
/// # Ok::<(), klnmf::Error>(())
/// ```
pub struct Run<'a, T: Scalar, P: Place<Data = T> = &'a Problem<'a, T>> {
    place: P,
    settings: &'a Settings,
    method: Box<dyn Method<P::Factor<T>> + 'a>,
    certifier: P::Certifier,
    /// The factors that the method reports: the best so far.
    factors: FactorsOf<P, T>,
    /// Iterations so far, and before the last round.
    iteration: usize,
    before: usize,
    begun: Instant,
    /// Seconds of computation, without the certificates.
    seconds: f64,
    /// The last certificate and its iteration.
    info: Info,
    /// The parts from this one on are sorted in the result.
    sort_from: Option<usize>,
}

impl<'a, T: Scalar> Run<'a, T> {
    pub(crate) fn begin(
        problem: &'a Problem<'_, T>,
        factors: Pair<T>,
        settings: &'a Settings,
        state: Option<&State>,
    ) -> Result<Self> {
        let rank = factors.h.rows();
        Self::begin_at(problem, rank, factors, settings, state)
    }

    /// Makes one round: some steps on each factor, and a certificate if one is due.
    pub fn advance(&mut self) {
        T::advance(self);
    }

    /// Runs until there is a reason to stop. `watch` is called with each certificate due, and may break.
    pub fn to_end(self, mut watch: impl FnMut(&Info) -> ControlFlow<()>) -> Result<Solution<T>> {
        let shown = |run: &mut Self| if run.shows() { watch(run.info()) } else { ControlFlow::Continue(()) };
        self.to_end_with(shown)
    }

    /// Runs until there is a reason to stop. `each` is called before every round and before the end, between
    /// two iterations, so that it can store [`Run::state`]. If it breaks, the run ends.
    pub fn to_end_with(self, mut each: impl FnMut(&mut Self) -> ControlFlow<()>) -> Result<Solution<T>> {
        T::to_end(self, &mut each)
    }

    /// The current result with its certificate and, without another reason to end, [`Status::Stopped`].
    pub fn finish(self) -> Result<Solution<T>> {
        T::finish(self)
    }
}

impl<'a, T: Scalar, P: Place<Data = T> + 'a> Run<'a, T, P> {
    /// Starts from given factors that fit V, or continues from a stored state with these factors.
    pub(crate) fn begin_at(
        place: P,
        rank: usize,
        mut factors: FactorsOf<P, T>,
        settings: &'a Settings,
        state: Option<&State>,
    ) -> Result<Self> {
        settings.validate()?;
        let (spec, facts) = (settings.solver.spec(), place.facts());
        let must = "it must not exceed the number of columns of W";
        require(settings.fixed <= rank, "fixed", settings.fixed, must)?;
        if spec.dense_only && facts.gathers {
            return Err(Error::NeedsDense(spec.name));
        }
        let begun = Instant::now();
        let mut certifier = place.certifier(rank, spec.epsilon, settings.fixed);
        let (certificate, _) = place.certify(&mut certifier, &factors, None);
        place.check()?;
        let Certificate { divergence, gap_w, gap_h } = certificate;
        // ADMM may pass through such factors, but no method can start from them.
        if state.is_none()
            && !gap_h.is_finite()
            && let Some(entry) = place.first_infinite(&factors)
        {
            return Err(Error::InfiniteStart(entry));
        }
        let mixed = state.map(|state| spec.may_mix && state.numbers.contains_key("mixed.told"));
        let setup = Setup { place: place.clone(), settings, rank, mixed, begun: false, start: certificate };
        let mut method = place.run(|| mixed::method(&setup, &mut factors, divergence))?;
        state.map_or(Ok(()), |state| method.carry(&mut Store::Load(state)))?;
        let (iteration, seconds) = state.map_or((0, 0.0), |state| (state.iteration, state.seconds));
        let before = state.map_or(Ok(0.0), |state| state.number("before"))? as usize;
        let (sum, precision, dual) = (facts.sum, Precision::of::<T>(method.is_mixed()), None);
        let info = Info { iteration, seconds, divergence, gap_w, gap_h, sum, precision, dual };
        let sort_from = None;
        let mut run = Self {
            place,
            settings,
            method,
            certifier,
            factors,
            iteration,
            before,
            begun,
            seconds,
            info,
            sort_from,
        };
        // The dual point of the method may give smaller gaps.
        if run.method.dual_point().is_some() {
            run.certify();
        }
        Ok(run)
    }

    /// Sorts the parts from `first` on by their share of ΣWH in the result, the largest first. Without this
    /// the result has the order of the start. The iterations are the same either way. Fixed parts stay where
    /// they are, and all parts do if one factor is fixed.
    pub fn sort_from(mut self, first: usize) -> Self {
        self.sort_from = Some(first);
        self
    }

    /// The progress at the last certificate.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The iterations so far.
    pub(crate) fn iterations(&self) -> usize {
        self.iteration
    }

    /// Whether a certificate is due for the callback.
    pub fn shows(&self) -> bool {
        self.due(self.settings.check_every.unwrap_or(self.test_every()))
    }

    /// Iterations between two tests of the tolerance. Certificates that cost nothing are all tested.
    fn test_every(&self) -> usize {
        if self.method.certificate().is_some() { 1 } else { TEST_EVERY }
    }

    /// Whether an action is due that takes place at the start, at the limit and every `every` iterations.
    fn due(&self, every: usize) -> bool {
        self.iteration == 0 || self.iteration >= self.settings.max_iter || self.passed(every)
    }

    /// Whether the last round reached or passed a multiple of `every` iterations.
    fn passed(&self, every: usize) -> bool {
        self.iteration / every > self.before / every
    }

    /// The reason to stop, if there is one.
    pub fn ended(&self) -> Option<Status> {
        let settings = self.settings;
        if settings.tol > 0.0 && self.due(self.test_every()) && self.converged() {
            Some(Status::Converged)
        } else if self.place.agree(settings.stopped()) {
            Some(Status::Stopped)
        } else if self.iteration >= settings.max_iter {
            Some(Status::IterationLimit)
        } else if settings.time_limit.is_some_and(|limit| self.place.agree(self.begun.elapsed() >= limit)) {
            Some(Status::TimeLimit)
        } else {
            None
        }
    }

    /// Makes rounds until so many iterations are done or there is a reason to stop, and certifies.
    pub(crate) fn advance_to(&mut self, iterations: usize) {
        while self.iteration < iterations && self.ended().is_none() {
            self.iterate();
        }
        if self.info.iteration != self.iteration {
            self.certify();
        }
    }

    /// The steps on each factor in a whole round.
    fn inner(&self) -> usize {
        let spec = self.settings.solver.spec();
        let inner = if self.place.facts().is_sparse() { spec.inner_sparse } else { spec.inner };
        self.settings.inner.unwrap_or(inner)
    }

    /// Whether the limit cuts the next round short, or has cut the last one. A run with a higher limit does
    /// not pass through the state after such a round.
    pub fn cut(&self) -> (bool, bool) {
        let left = self.settings.max_iter.saturating_sub(self.iteration);
        let (next, last) = (left > 0 && left < self.inner(), self.iteration - self.before < self.inner());
        (next, self.iteration > 0 && last)
    }

    pub(crate) fn iterate(&mut self) {
        let (settings, inner) = (self.settings, self.inner());
        // Beyond the limit, rounds are complete.
        let left = settings.max_iter.checked_sub(self.iteration).filter(|left| *left > 0);
        let steps = left.map_or(inner, |left| inner.min(left));
        let since = Instant::now();
        let (method, factors) = (&mut self.method, &mut self.factors);
        // Enters the thread pool once: doing so for every pass takes longer than a pass over small data.
        self.place.run(|| method.advance(factors, steps));
        self.seconds += since.elapsed().as_secs_f64();
        (self.before, self.iteration) = (self.iteration, self.iteration.saturating_add(steps));
        let tests = settings.tol > 0.0 || self.method.wants_progress();
        if let Some(known) = self.method.certificate() {
            self.report(known, None);
        } else if self.shows() || (tests && self.due(TEST_EVERY)) {
            self.certify();
        }
        // Never because a limit was reached: raising the limit must not change the iterations.
        if self.method.wants_progress() && self.passed(TEST_EVERY) {
            self.method.observe(&self.info);
        }
    }

    pub(crate) fn iterate_to_end(
        mut self,
        each: &mut dyn FnMut(&mut Self) -> ControlFlow<()>,
    ) -> Result<Solution<T>> {
        loop {
            self.place.check()?;
            if each(&mut self).is_break() {
                self.close()?;
                return self.solution(Status::Stopped);
            }
            if self.ended().is_some() {
                let shown = self.close()?;
                if let Some(status) = self.ended() {
                    return self.solution(status);
                }
                // Rounding has moved the normalised factors past the tolerance, so the run goes on.
                self.factors = shown;
            }
            self.iterate();
        }
    }

    /// The state from which [`Problem::resume`] continues. The run does not change; it is borrowed mutably
    /// because one list of names serves saving and loading.
    pub fn state(&mut self) -> State {
        let mut state = State::new(self.settings.solver);
        (state.iteration, state.seconds) = (self.iteration, self.seconds);
        let with = conditions::<T>(self.place.facts().sum, self.settings)
            .map(|(name, value)| (name.to_string(), value));
        state.numbers.extend(with);
        state.numbers.insert("before".into(), self.before as f64);
        let mut store = Store::Save(&mut state);
        let saved = self.place.carry::<T>("", &mut self.factors, &mut store);
        let saved = saved.and_then(|()| self.method.carry(&mut store));
        saved.expect("putting something into a state does not fail");
        state
    }

    /// Fails if V or a factor could not be reached since the start. A state is then worthless.
    pub fn check(&self) -> Result<()> {
        self.place.check()
    }

    /// Loads what [`Run::state`] has just saved, so that handles to factors no longer depend on older ones.
    pub fn reload(&mut self, state: &State) -> Result<()> {
        let mut store = Store::Load(state);
        self.place.carry::<T>("", &mut self.factors, &mut store)?;
        self.method.carry(&mut store)
    }

    pub(crate) fn end(mut self) -> Result<Solution<T>> {
        self.close()?;
        let status = self.ended().unwrap_or(Status::Stopped);
        self.solution(status)
    }

    fn solution(self, status: Status) -> Result<Solution<T>> {
        let Self { place, factors, info, method, certifier, .. } = self;
        // Their memory is enough for the transpose.
        drop((method, certifier));
        let Factors { wt, h } = place.fetch(factors)?;
        Ok(Solution { w: wt.transpose(), h, info, status, starts: Vec::new() })
    }

    /// Replaces the reported factors by the method's latest ones if these are better, and normalises. Returns
    /// the factors as they were reported.
    fn close(&mut self) -> Result<FactorsOf<P, T>> {
        if self.info.iteration != self.iteration {
            self.certify();
        }
        let (divergence, converged) = (self.info.divergence, self.converged());
        // At most two pairs of factors exist here besides those of the method: memory is at its peak.
        let latest = self.method.latest(divergence);
        let replaced = latest.is_some();
        let mut shown = match latest {
            Some(latest) => std::mem::replace(&mut self.factors, latest),
            None => self.factors.clone(),
        };
        self.normalize();
        let better = self.info.divergence <= divergence && self.converged() >= converged;
        if replaced && !better {
            self.factors = shown;
            shown = self.factors.clone();
            self.normalize();
        }
        self.place.check()?;
        // Scaling the columns of W to sum 1 may overflow or underflow.
        let valid = self.place.all(&self.factors, Test::Valid);
        if !valid || (divergence.is_finite() && !self.info.divergence.is_finite()) {
            return Err(Error::Overflow(T::NAME));
        }
        Ok(shown)
    }

    /// Scales the factors as they are returned, and certifies them.
    fn normalize(&mut self) {
        if self.settings.update == Update::Both {
            self.place.normalize(&mut self.factors, self.settings.fixed);
            if let Some(first) = self.sort_from {
                self.place.sort(&mut self.factors, first.max(self.settings.fixed));
            }
        }
        self.certify();
    }

    fn certify(&mut self) {
        let dual = self.method.dual_point();
        let (certificate, dual) = self.place.certify(&mut self.certifier, &self.factors, dual);
        self.report(certificate, dual);
    }

    /// Takes the certificate of the current factors into the progress.
    fn report(&mut self, certificate: Certificate, dual: Option<f64>) {
        let Certificate { divergence, gap_w, gap_h } = certificate;
        let (iteration, seconds) = (self.iteration, self.seconds);
        self.info = Info { iteration, seconds, divergence, gap_w, gap_h, dual, ..self.info };
    }

    /// Whether the gaps of the factors that move are within the tolerance.
    fn converged(&self) -> bool {
        let (info, settings) = (&self.info, self.settings);
        let of = |side, gap: f64| if settings.update.moves(side) { gap } else { 0.0 };
        let gap = of(Side::H, info.gap_h).max(of(Side::W, info.gap_w));
        info.divergence.is_finite() && info.relative(gap) <= settings.tol
    }
}

/// Everything that a state depends on besides what it holds. The start and the seed do not matter any more:
/// the factors are in the state.
pub(crate) fn conditions<T: Scalar>(sum: f64, settings: &Settings) -> [(&'static str, f64); 8] {
    let mixed = size_of::<T>() == 8 && settings.mixed.unwrap_or(settings.solver == Solver::Auto);
    [
        ("with.sum of V", sum),
        ("with.instruction level", Isa::get().vector_bytes() as f64),
        ("with.precision", 8.0 * size_of::<T>() as f64),
        ("with.mixed precision", f64::from(u8::from(mixed))),
        ("with.update", settings.update as usize as f64),
        ("with.fixed", settings.fixed as f64),
        ("with.inner", settings.inner.map_or(0.0, |inner| inner as f64)),
        ("with.rho", settings.rho.unwrap_or(0.0)),
    ]
}
