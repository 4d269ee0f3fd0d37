//! The choice between cheap and strong half-steps, by their progress per unit of work.
//!
//! The method starts with extrapolated multiplicative updates, because from a random start coordinate descent
//! tends to converge early to a poor local optimum. It then switches to block Newton steps, which made more
//! progress per unit of work on all data that we tried. They carry no guarantee. If several of them had to be
//! undone in a window of iterations, the method returns to multiplicative updates, and keeps them while a
//! window of them decreases ln D by more per unit of work than that window of Newton steps did. Work is
//! counted, not timed, so the choice is the same on every machine.

use super::extrapolated::{Extrapolated, Momentum};
use super::fpa::FPA;
use super::method::{Built, Factors, HalfStep, Method, Site};
use super::mu::MU;
use super::newton::Newton;
use super::place::{FactorsOf, Place};
use super::{Setup, Side, Store, WARM_UP};
use crate::block::DictionaryParts;
use crate::{Result, Scalar};

/// Iterations between two decisions. The first one ends the warm-up.
const WINDOW: usize = WARM_UP;

/// Steps undone in one window at which the method leaves Newton.
const TOO_OFTEN: usize = 3;

/// Work for one entry of V in one half-step, in multiply-adds (measured). A product takes 1 for each atom and
/// a division 12. The sums of a block of four weights take 28, so 7 for each atom. Gathering a row of the
/// dictionary for a sparse column takes 6 for each atom; multiplicative updates read it in place.
fn work(r: usize, steps: usize, gathers: bool, newton: bool) -> f64 {
    let (r, steps, division) = (r as f64, steps as f64, 12.0);
    let gathered = if gathers { 6.0 * r } else { 0.0 };
    if newton { gathered + r + division + steps * (7.0 * r + division) } else { steps * (2.0 * r + division) }
}

/// The half-step of the current window, and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Multiplicative updates.
    WarmUp,
    /// Block Newton steps.
    Newton,
    /// Multiplicative updates again, while their progress per unit of work exceeds `to_beat`.
    Cheap { to_beat: f64 },
}

impl Stage {
    /// The stage after a window that decreased ln D by `rate` per unit of work and undid `failures` steps.
    fn next(self, rate: f64, failures: usize) -> Self {
        match self {
            Stage::Newton if failures >= TOO_OFTEN => Stage::Cheap { to_beat: rate },
            Stage::Cheap { to_beat } if rate > to_beat => self,
            _ => Stage::Newton,
        }
    }
}

/// Alternates between extrapolated multiplicative updates and block Newton steps.
struct Auto<S: Scalar, P: Site<S>> {
    walk: Extrapolated<S, P>,
    /// Momentum of the half-step not in use: multiplicative updates in the Newton stage, else Newton.
    other: Momentum<S>,
    rank: usize,
    /// Whether sparse columns gather rows of the dictionary.
    gathers: bool,
    newton_only: bool,
    stage: Stage,
    /// In this window: iterations and work so far, and the divergence at its start.
    iterations: usize,
    work: f64,
    f: f64,
}

/// See [`Solver::Auto`](crate::Solver::Auto), and [`Solver::Newton`](crate::Solver::Newton), which after the
/// warm-up takes only Newton steps, whatever their progress.
pub fn auto<'a, P: Place + 'a, S: Scalar>(
    setup: &Setup<'a, P>,
    factors: &FactorsOf<P, S>,
    newton_only: bool,
) -> Built<'a, P::Factor<S>> {
    // Newton falls back to primal-dual steps, which need the shares.
    let parts = DictionaryParts { shares: true, ..HalfStep::<S>::parts(&Newton) };
    let (site, order) = setup.site(parts, Side::H);
    let (facts, momentum) = (setup.place.facts(), Momentum::new(&MU, true));
    let (rank, gathers) = (setup.rank, facts.gathers);
    let walk = Extrapolated::new(site, order, facts.sum, factors, momentum, Some(&FPA));
    let (other, stage, f) = (Momentum::new(&Newton, false), Stage::WarmUp, f64::INFINITY);
    let mut auto = Auto { walk, other, rank, gathers, newton_only, stage, iterations: 0, work: 0.0, f };
    if setup.begun {
        auto.enter(Stage::Newton);
    }
    Ok(Box::new(auto))
}

impl<S: Scalar, P: Site<S> + Send> Auto<S, P> {
    /// Enters a stage and selects its half-step. Returns whether the half-step has changed.
    fn enter(&mut self, stage: Stage) -> bool {
        let other = (stage == Stage::Newton) != (self.stage == Stage::Newton);
        if other {
            std::mem::swap(&mut self.walk.momentum, &mut self.other);
        }
        self.stage = stage;
        other
    }

    /// Takes up to `steps` steps and returns how many.
    fn part(&mut self, factors: &mut Factors<P::Factor>, steps: usize) -> usize {
        let (r, gathers, failures) = (self.rank, self.gathers, self.walk.failures);
        let newton = self.stage == Stage::Newton;
        let steps = if newton { steps } else { 1 };
        self.walk.advance(factors, steps);
        self.iterations += steps;
        self.work += work(r, steps, gathers, newton);
        if self.walk.failures > failures {
            // Undoing costs half a round, and the replacement about one round of multiplicative updates.
            self.work += 0.5 * work(r, steps, gathers, newton) + work(r, steps, gathers, false);
        }
        steps
    }

    /// Chooses the stage of the next window.
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

impl<S: Scalar, P: Site<S> + Send> Method<P::Factor> for Auto<S, P> {
    fn advance(&mut self, factors: &mut Factors<P::Factor>, steps: usize) {
        let mut left = steps;
        while left > 0 {
            left -= self.part(factors, left);
            if !self.f.is_finite() {
                // The divergence at the start is unknown, so the first round yields no rate.
                (self.work, self.f) = (0.0, self.walk.f);
            }
            if self.iterations >= WINDOW {
                self.decide();
            }
        }
    }

    fn latest(&self, divergence: f64) -> Option<Factors<P::Factor>> {
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
