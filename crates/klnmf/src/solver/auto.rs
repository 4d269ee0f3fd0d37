//! The choice between a cheap method and a strong one, by what they achieve for the work.
//!
//! Extrapolated multiplicative updates come first: from a random start, coordinate descent tends to converge
//! early to a poor local optimum. Then block Newton steps, which gain more for the work on all data that were
//! tried; but they carry no guarantee. After a window of iterations in which several of them had to be taken
//! back, multiplicative updates are tried again, and kept while a window of them lowers ln D by more for the
//! work than that one did. Work is counted, not timed, so the choice is the same on every machine.

use super::extrapolated::{Extrapolated, Momentum};
use super::method::{Built, HalfStep, Local, Method, Pair};
use super::mu::Mu;
use super::newton::Newton;
use super::{Setup, Side, State};
use crate::block::DictionaryParts;
use crate::{Result, Scalar};

/// Iterations between two decisions.
const WINDOW: usize = 10;

/// Steps of a window that had to be taken back, from which on something must be wrong.
const TOO_OFTEN: usize = 3;

/// The work on an entry of V in one half-step, in multiply-adds, as measured: a product takes one for each
/// atom, and a division as much as twelve; the sums of a block of four weights 28, hence 7 for each atom; a
/// row of the dictionary, gathered for a sparse column, 6 for each atom.
fn work(r: usize, steps: usize, gathers: bool, newton: bool) -> f64 {
    let (r, steps, division) = (r as f64, steps as f64, 12.0);
    let gathered = if gathers { 6.0 * r } else { 0.0 };
    if newton {
        gathered + r + division + steps * (7.0 * r + division)
    } else {
        steps * (gathered + 2.0 * r + division)
    }
}

/// What the present window is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Multiplicative updates.
    WarmUp,
    /// Block Newton steps.
    Newton,
    /// Multiplicative updates after all, while they gain more than this for the work.
    Cheap { to_beat: f64 },
}

impl Stage {
    /// What comes after a window that lowered ln D by `rate` for the work and had to take back `failures`
    /// steps.
    fn next(self, rate: f64, failures: usize) -> Self {
        match self {
            Stage::Newton if failures >= TOO_OFTEN => Stage::Cheap { to_beat: rate },
            Stage::Cheap { to_beat } if rate > to_beat => self,
            _ => Stage::Newton,
        }
    }
}

impl Stage {
    fn save(self, state: &mut State) {
        let (stage, to_beat) = match self {
            Stage::WarmUp => (0.0, 0.0),
            Stage::Newton => (1.0, 0.0),
            Stage::Cheap { to_beat } => (2.0, to_beat),
        };
        state.put("stage", stage);
        state.put("to_beat", to_beat);
    }

    fn load(state: &State) -> Result<Self> {
        let to_beat = state.number("to_beat")?;
        Ok(match state.number("stage")? {
            0.0 => Stage::WarmUp,
            1.0 => Stage::Newton,
            _ => Stage::Cheap { to_beat },
        })
    }
}

/// Extrapolated multiplicative updates and block Newton steps in turn.
pub struct Auto<'a, T: Scalar> {
    walk: Extrapolated<T, Local<'a, T>>,
    gathers: bool,
    newton_only: bool,
    /// Of multiplicative updates and of Newton.
    momenta: [Momentum; 2],
    stage: Stage,
    /// Of this window: iterations and work so far, and the divergence it began with.
    iterations: usize,
    work: f64,
    f: f64,
}

/// See [`Solver::Auto`](crate::Solver::Auto).
pub fn build<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    Ok(Box::new(Auto::new(setup, factors, false)))
}

/// See [`Solver::Newton`](crate::Solver::Newton): after the warm-up nothing else, whatever it achieves.
pub fn build_newton<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    Ok(Box::new(Auto::new(setup, factors, true)))
}

impl<'a, T: Scalar> Auto<'a, T> {
    fn new(setup: &Setup<'a, T>, factors: &Pair<T>, newton_only: bool) -> Self {
        // Newton falls back to the primal-dual steps, which want the shares.
        let parts = DictionaryParts { shares: true, ..HalfStep::<T>::parts(&Newton) };
        let site = setup.site(factors, parts);
        let gathers = site.gathers();
        let walk = Extrapolated::new(site, setup.order(Side::H), factors, true);
        let (momenta, stage) = (
            [Momentum::new(true), Momentum::new(false)],
            if setup.begun { Stage::Newton } else { Stage::WarmUp },
        );
        Self { walk, gathers, newton_only, momenta, stage, iterations: 0, work: 0.0, f: f64::INFINITY }
    }

    /// Some of `steps` steps; how many.
    fn part(&mut self, factors: &mut Pair<T>, steps: usize) -> usize {
        let (r, gathers, failures) = (factors.h.rows(), self.gathers, self.walk.failures);
        let (newton, [up, any]) = (self.stage == Stage::Newton, &mut self.momenta);
        let steps = if newton { steps } else { 1 };
        if newton {
            self.walk.sweep(&Newton, any, factors, steps);
        } else {
            self.walk.sweep(&Mu, up, factors, steps);
        }
        self.iterations += steps;
        self.work += work(r, steps, gathers, newton);
        if self.walk.failures > failures {
            // What was taken back: half a sweep of its own, and a sweep of multiplicative updates instead.
            self.work += 0.5 * work(r, steps, gathers, newton) + work(r, steps, gathers, false);
        }
        steps
    }

    /// What to do in the next window.
    fn decide(&mut self) {
        let fell = (self.f / self.walk.f).ln();
        let rate = if fell.is_finite() { fell / self.work } else { 0.0 };
        let stage = if self.newton_only { Stage::Newton } else { self.stage.next(rate, self.walk.failures) };
        if (stage == Stage::Newton) != (self.stage == Stage::Newton) {
            self.walk.settle();
        }
        (self.stage, self.walk.failures) = (stage, 0);
        (self.iterations, self.work, self.f) = (0, 0.0, self.walk.f);
    }
}

impl<T: Scalar> Method<T> for Auto<'_, T> {
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize) {
        let mut left = steps;
        while left > 0 {
            left -= self.part(factors, left);
            if !self.f.is_finite() {
                // There is no rate from the start, whose divergence nobody has measured.
                (self.work, self.f) = (0.0, self.walk.f);
            }
            if self.iterations >= WINDOW {
                self.decide();
            }
        }
    }

    fn latest(&self, _: f64) -> Option<Pair<T>> {
        Some(self.walk.latest())
    }

    fn save(&self, state: &mut State) {
        self.walk.save(state);
        self.stage.save(state);
        let [up, any] = &self.momenta;
        let numbers = [
            ("t.mu", up.t),
            ("t.newton", any.t),
            ("window.iterations", self.iterations as f64),
            ("window.work", self.work),
            ("window.f", self.f),
        ];
        numbers.iter().for_each(|(name, value)| state.put(name, *value));
    }

    fn load(&mut self, state: &State) -> Result<()> {
        self.walk.load(state)?;
        self.stage = Stage::load(state)?;
        self.momenta[0].t = state.number("t.mu")?;
        self.momenta[1].t = state.number("t.newton")?;
        self.iterations = state.number("window.iterations")? as usize;
        self.work = state.number("window.work")?;
        self.f = state.number("window.f")?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/auto.rs"]
mod tests;
