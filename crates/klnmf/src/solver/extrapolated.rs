//! Extrapolation of any half-step, with Nesterov's momentum and restarts after Ang & Gillis (2019).
//!
//! fastTopics (Carbonetto et al. 2021) extrapolates coordinate descent in this way. Hien, Leplat & Gillis
//! (2024) extrapolate multiplicative updates with a guarantee instead of restarts.
//!
//! | letter | meaning |
//! | --- | --- |
//! | x | the last result of a half-step, for both factors |
//! | y | the extrapolated point x + β(x − x_before), where the next half-step starts |
//! | f | D at y, a by-product of the first half-step of a round |
//!
//! The method reports the best y so far. The report lags one round behind, because the next half-step
//! measures D at y.
//!
//! While f decreases, β grows. If f increases, β shrinks and y is reset to x. This may still increase f,
//! because each factor in x was computed with the extrapolated other factor. Then y is reset to the last good
//! point and the method continues with a half-step that never increases the divergence: the primal-dual one,
//! which can leave zeros, or the extrapolated half-step itself if it has that property.

use super::method::{Built, Factors, HalfStep, Method, Site, alternate};
use super::mu::MU;
use super::place::{FactorsOf, Place};
use super::{Setup, Side, Store};
use crate::{Result, Scalar};

/// Steps on each factor when the method falls back to the primal-dual algorithm.
const FALLBACK_STEPS: usize = 5;

/// A half-step and its momentum: β = (t − 1)/t⁺ with Nesterov's t⁺ = ½(1 + √(1 + 4t²)).
pub struct Momentum<S: Scalar> {
    step: &'static dyn HalfStep<S>,
    pub t: f64,
    /// Extrapolates increases only, for half-steps in which a weight that reaches zero stays there.
    upwards: bool,
}

impl<S: Scalar> Momentum<S> {
    pub fn new(step: &'static dyn HalfStep<S>, upwards: bool) -> Self {
        Self { step, t: 1.0, upwards }
    }

    fn beta(&self) -> f64 {
        (self.t - 1.0) / next(self.t)
    }

    fn fell(&mut self) {
        self.t = next(self.t);
    }

    /// Moves t half-way back to its start.
    fn rose(&mut self) {
        self.t = (0.5 * self.t).max(1.0);
    }
}

fn next(t: f64) -> f64 {
    0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt())
}

/// An extrapolated alternation, wherever its factors are stored.
pub struct Extrapolated<S: Scalar, P: Site<S>> {
    pub site: P,
    order: Vec<Side>,
    /// ΣV.
    sum: f64,
    pub momentum: Momentum<S>,
    x: Factors<P::Factor>,
    y: Factors<P::Factor>,
    /// y at the start of the current round.
    found: Factors<P::Factor>,
    /// The lowest D of all good y. The caller holds the last good y, as the result so far.
    pub f: f64,
    /// The half-step that continues from the last good y; if none, the extrapolated half-step itself.
    fallback: Option<&'static dyn HalfStep<S>>,
    /// Number of resets to the last good y.
    pub failures: usize,
    /// The β with which y was extrapolated; 0 if y is x.
    beta: f64,
}

/// See [`Solver::Mue`](crate::Solver::Mue).
pub fn mue<'a, P: Place + 'a, S: Scalar>(
    setup: &Setup<'a, P>,
    factors: &FactorsOf<P, S>,
) -> Built<'a, P::Factor<S>> {
    let (site, order) = setup.site(HalfStep::<S>::parts(&MU), Side::H);
    let (sum, momentum) = (setup.place.facts().sum, Momentum::new(&MU, true));
    Ok(Box::new(Extrapolated::new(site, order, sum, factors, momentum, None)))
}

impl<S: Scalar, P: Site<S>> Extrapolated<S, P> {
    /// Without a fallback, the half-step must never increase the divergence.
    pub fn new(
        site: P,
        order: Vec<Side>,
        sum: f64,
        factors: &Factors<P::Factor>,
        momentum: Momentum<S>,
        fallback: Option<&'static dyn HalfStep<S>>,
    ) -> Self {
        let (x, y, found) = (factors.clone(), factors.clone(), factors.clone());
        Self { site, order, sum, momentum, x, y, found, f: f64::INFINITY, fallback, failures: 0, beta: 0.0 }
    }

    /// Makes one round from y. If the y at its start was good, `good` receives it.
    pub fn advance(&mut self, good: &mut Factors<P::Factor>, steps: usize) {
        let mut f = self.first(steps);
        // NaN does not count as a decrease.
        let fell = f <= self.f;
        if self.beta > 0.0 && !fell {
            self.momentum.rose();
            self.settle();
            f = self.first(steps);
        } else if fell {
            self.momentum.fell();
        }
        let fell = f <= self.f + self.slack();
        if !fell {
            return self.go_back(good, steps);
        }
        std::mem::swap(good, &mut self.found);
        // The minimum, so that the slack for rounding errors does not accumulate.
        self.f = self.f.min(f);
        self.beta = self.momentum.beta();
        let Momentum { step, upwards, .. } = self.momentum;
        for (n, &side) in self.order.iter().enumerate() {
            if n > 0 {
                let (k, y) = self.y.split(side);
                self.site.half_step(side, step, k, y, steps, false);
            }
            self.site.carry_on(side, self.y.split(side).1, self.x.split(side).1, self.beta, upwards);
        }
    }

    /// The increase of f that counts as rounding error. Close to convergence f changes by rounding errors
    /// only: in f32, by about 1e-8 of ΣV from one measurement to the next. One lucky measurement must not
    /// make all later ones fail.
    fn slack(&self) -> f64 {
        let slack = 1e-12 * self.f.abs() + S::EPSILON.to_f64() * self.sum;
        if slack.is_finite() { slack } else { 0.0 }
    }

    /// Makes the first half-step of a round from y, and returns D at y.
    fn first(&mut self, steps: usize) -> f64 {
        self.site.copy(&self.y, &mut self.found);
        let (side, step) = (self.order[0], self.momentum.step);
        let (k, y) = self.y.split(side);
        self.site.half_step(side, step, k, y, steps, true)
    }

    /// y ← x.
    pub fn settle(&mut self) {
        self.site.copy(&self.x, &mut self.y);
        self.beta = 0.0;
    }

    /// Continues from the last good point with a half-step that cannot increase the divergence.
    fn go_back(&mut self, good: &Factors<P::Factor>, steps: usize) {
        self.failures += 1;
        self.site.copy(good, &mut self.y);
        let (site, order, step, y) = (&mut self.site, &self.order, self.momentum.step, &mut self.y);
        match self.fallback {
            Some(fpa) => alternate(site, order, fpa, y, steps.max(FALLBACK_STEPS)),
            None => (0..steps).for_each(|_| alternate(site, order, step, y, 1)),
        }
        self.site.copy(&self.y, &mut self.x);
        self.beta = 0.0;
    }
}

impl<S: Scalar, P: Site<S> + Send> Method<P::Factor> for Extrapolated<S, P> {
    fn advance(&mut self, factors: &mut Factors<P::Factor>, steps: usize) {
        Extrapolated::advance(self, factors, steps);
    }

    fn latest(&self, _: f64) -> Option<Factors<P::Factor>> {
        Some(self.x.clone())
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        self.site.carry(store)?;
        self.site.carry_factors("x.", &mut self.x, store)?;
        self.site.carry_factors("y.", &mut self.y, store)?;
        store.number("t", &mut self.momentum.t)?;
        store.number("f", &mut self.f)?;
        store.count("failures", &mut self.failures)?;
        store.number("beta", &mut self.beta)
    }
}

/// x ← y, y ← max(y + β(y − x_before), y/100). The lower bound is needed because a weight that extrapolation
/// alone would set to zero might be the only one to explain an entry of V.
pub fn carry_on<T: Scalar>(y: &mut [T], x: &mut [T], beta: f64, upwards: bool) {
    let (beta, least) = (T::from_f64(beta), T::from_f64(0.01));
    for (y, x) in y.iter_mut().zip(x) {
        let (now, before) = (*y, *x);
        let moved = now - before;
        let moved = if upwards { moved.max(T::ZERO) } else { moved };
        *x = now;
        let next = (now + beta * moved).max(least * now);
        // A weight that has not moved keeps its value, however small: it may be held.
        *y = if next < T::TINY && next != now { T::ZERO } else { next };
    }
}

#[cfg(test)]
#[path = "../../tests/unit/extrapolated.rs"]
mod tests;
