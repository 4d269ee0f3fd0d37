//! The choice between a cheap method and a strong one, by what they achieve for the work.
//!
//! Extrapolated multiplicative updates come first: from a random start, coordinate descent tends to converge
//! early to a poor local optimum. Then block Newton steps, which gain more for the work on all data that were
//! tried; but they carry no guarantee. After a window of iterations in which several of them had to be taken
//! back, multiplicative updates are tried again, and kept while a window of them lowers ln D by more for the
//! work than that one did. Work is counted, not timed, so the choice is the same on every machine.

use super::extrapolated::{Extrapolated, Momentum};
use super::fpa::FPA;
use super::method::{Built, HalfStep, Local, Method, Pair};
use super::mu::MU;
use super::newton::Newton;
use super::{Setup, Side, Store};
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

/// Extrapolated multiplicative updates and block Newton steps in turn.
struct Auto<'a, T: Scalar> {
    walk: Extrapolated<T, Local<'a, T>>,
    /// Of multiplicative updates during Newton's stage, else of Newton.
    other: Momentum<T>,
    newton_only: bool,
    stage: Stage,
    /// Of this window: iterations and work so far, and the divergence it began with.
    iterations: usize,
    work: f64,
    f: f64,
}

/// See [`Solver::Auto`](crate::Solver::Auto), and [`Solver::Newton`](crate::Solver::Newton), which does
/// nothing else after the warm-up, whatever it achieves.
pub fn auto<'a, T: Scalar, S: Scalar>(
    setup: &Setup<'a, T>,
    factors: &Pair<S>,
    newton_only: bool,
) -> Built<'a, S> {
    // Newton falls back to the primal-dual steps, which want the shares.
    let parts = DictionaryParts { shares: true, ..HalfStep::<S>::parts(&Newton) };
    let (site, order) = setup.site(factors, parts, Side::H);
    let (sum, momentum) = (setup.problem.sum, Momentum::new(&MU, true));
    let walk = Extrapolated::new(site, order, sum, factors, momentum, Some(&FPA));
    let (other, stage, f) = (Momentum::new(&Newton, false), Stage::WarmUp, f64::INFINITY);
    let mut auto = Auto { walk, other, newton_only, stage, iterations: 0, work: 0.0, f };
    if setup.begun {
        auto.enter(Stage::Newton);
    }
    Ok(Box::new(auto))
}

impl<T: Scalar> Auto<'_, T> {
    /// Changes the stage, and to the half-step of the new one; whether that is another.
    fn enter(&mut self, stage: Stage) -> bool {
        let other = (stage == Stage::Newton) != (self.stage == Stage::Newton);
        if other {
            std::mem::swap(&mut self.walk.momentum, &mut self.other);
        }
        self.stage = stage;
        other
    }

    /// Some of `steps` steps; how many.
    fn part(&mut self, factors: &mut Pair<T>, steps: usize) -> usize {
        let (r, gathers, failures) = (factors.h.rows(), self.walk.site.gathers(), self.walk.failures);
        let newton = self.stage == Stage::Newton;
        let steps = if newton { steps } else { 1 };
        self.walk.sweep(factors, steps);
        self.iterations += steps;
        self.work += work(r, steps, gathers, newton);
        if self.walk.failures > failures {
            // What was taken back costs half a sweep, and what was done instead about one of multiplicative updates.
            self.work += 0.5 * work(r, steps, gathers, newton) + work(r, steps, gathers, false);
        }
        steps
    }

    /// What to do in the next window.
    fn decide(&mut self) {
        let fell = (self.f / self.walk.f).ln();
        let rate = if fell.is_finite() { fell / self.work } else { 0.0 };
        let stage = if self.newton_only { Stage::Newton } else { self.stage.next(rate, self.walk.failures) };
        if self.enter(stage) {
            self.walk.settle();
        }
        (self.walk.failures, self.iterations, self.work, self.f) = (0, 0, 0.0, self.walk.f);
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

    fn latest(&self, divergence: f64) -> Option<Pair<T>> {
        self.walk.latest(divergence)
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        let (mut stage, mut to_beat) = match self.stage {
            Stage::WarmUp => (0, 0.0),
            Stage::Newton => (1, 0.0),
            Stage::Cheap { to_beat } => (2, to_beat),
        };
        store.count("stage", &mut stage)?;
        store.number("to_beat", &mut to_beat)?;
        self.enter([Stage::WarmUp, Stage::Newton, Stage::Cheap { to_beat }][stage.min(2)]);
        self.walk.carry(store)?;
        store.number("t.other", &mut self.other.t)?;
        store.count("window.iterations", &mut self.iterations)?;
        store.number("window.work", &mut self.work)?;
        store.number("window.f", &mut self.f)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/auto.rs"]
mod tests;
