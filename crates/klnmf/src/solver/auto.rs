//! The choice between a cheap method and a strong one, by what they achieve for the work.
//!
//! Extrapolated multiplicative updates come first: coordinate methods take a random start at its word and settle early, in a
//! poor place. Then block Newton steps, which gain more for the work on all data that were tried; but they carry no guarantee.
//! After a window of accesses in which several of them had to be taken back, multiplicative updates are tried again, and kept
//! while a window of them lowers ln D by more for the work than that one did. Work is counted, not timed, so the choice is the
//! same on every machine.

use super::extrapolate::{Momentum, Walk};
use super::mu::Mu;
use super::newton::Newton;
use super::{Factors, Method};
use crate::Scalar;

/// Accesses between two decisions.
const WINDOW: usize = 10;

/// Steps of a window that had to be taken back, from which on something must be wrong.
const TOO_OFTEN: usize = 3;

/// The work on an entry of V in one half-step, in multiply-adds, as measured: a product takes one for each atom, and
/// a division as much as twelve; the sums of a block of four weights 28, hence 7 for each atom; a row of the dictionary,
/// gathered for a sparse column, 6 for each atom.
fn work(r: usize, steps: usize, sparse: bool, newton: bool) -> f64 {
    let (r, steps, division) = (r as f64, steps as f64, 12.0);
    let gathered = if sparse { 6.0 * r } else { 0.0 };
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
    /// What comes after a window that lowered ln D by `rate` for the work and had to take back `failures` steps.
    fn next(self, rate: f64, failures: usize) -> Self {
        match self {
            Stage::Newton if failures >= TOO_OFTEN => Stage::Cheap { to_beat: rate },
            Stage::Cheap { to_beat } if rate > to_beat => self,
            _ => Stage::Newton,
        }
    }
}

/// Extrapolated multiplicative updates and block Newton steps in turn.
pub(crate) struct Auto<'a, 'v, T> {
    walk: Walk<'a, 'v, T>,
    sparse: bool,
    steadfast: bool,
    /// Of multiplicative updates and of Newton.
    momenta: [Momentum; 2],
    stage: Stage,
    /// Of this window: accesses and work so far, and the divergence it began with.
    accesses: usize,
    work: f64,
    f: f64,
}

impl<'a, 'v, T: Scalar> Auto<'a, 'v, T> {
    /// `begun`: the factors come from this method already. `steadfast`: Newton after the warm-up, whatever it achieves.
    pub fn new(walk: Walk<'a, 'v, T>, sparse: bool, begun: bool, steadfast: bool) -> Self {
        let (momenta, stage) =
            ([Momentum::new(true), Momentum::new(false)], if begun { Stage::Newton } else { Stage::WarmUp });
        Self { walk, sparse, steadfast, momenta, stage, accesses: 0, work: 0.0, f: f64::INFINITY }
    }

    /// Some of `steps` steps; how many.
    fn part(&mut self, factors: &mut Factors<T>, steps: usize) -> usize {
        let (r, sparse, failures) = (factors.h.rows(), self.sparse, self.walk.failures);
        let (newton, [up, any]) = (self.stage == Stage::Newton, &mut self.momenta);
        let steps = if newton { steps } else { 1 };
        if newton {
            self.walk.sweep(&mut Newton, any, factors, steps);
        } else {
            self.walk.sweep(&mut Mu::default(), up, factors, steps);
        }
        self.accesses += steps;
        self.work += work(r, steps, sparse, newton);
        if self.walk.failures > failures {
            // What was taken back: half a sweep of its own, and a sweep of multiplicative updates instead.
            self.work += 0.5 * work(r, steps, sparse, newton) + work(r, steps, sparse, false);
        }
        steps
    }

    /// What to do in the next window.
    fn decide(&mut self) {
        let fell = (self.f / self.walk.f).ln();
        let rate = if fell.is_finite() { fell / self.work } else { 0.0 };
        let stage = if self.steadfast { Stage::Newton } else { self.stage.next(rate, self.walk.failures) };
        if (stage == Stage::Newton) != (self.stage == Stage::Newton) {
            self.walk.settle();
        }
        (self.stage, self.walk.failures) = (stage, 0);
        (self.accesses, self.work, self.f) = (0, 0.0, self.walk.f);
    }
}

impl<T: Scalar> Method<T> for Auto<'_, '_, T> {
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize) {
        let mut left = steps;
        while left > 0 {
            left -= self.part(factors, left);
            if !self.f.is_finite() {
                // There is no rate from the start, whose divergence nobody has measured.
                (self.work, self.f) = (0.0, self.walk.f);
            }
            if self.accesses >= WINDOW {
                self.decide();
            }
        }
    }

    fn into_latest(self: Box<Self>) -> Option<Factors<T>> {
        Some(self.walk.x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_goes_on_until_it_fails_and_comes_back_when_the_other_does_no_better() {
        assert_eq!(Stage::WarmUp.next(1.0, 5), Stage::Newton);
        assert_eq!(Stage::Newton.next(0.0, TOO_OFTEN - 1), Stage::Newton);
        let cheap = Stage::Newton.next(0.25, TOO_OFTEN);
        assert_eq!(cheap, Stage::Cheap { to_beat: 0.25 });
        assert_eq!(cheap.next(0.5, 0), cheap);
        assert_eq!(cheap.next(0.25, 0), Stage::Newton);
    }

    #[test]
    fn work_grows_with_what_is_done() {
        assert!(work(10, 1, false, true) > work(10, 1, false, false));
        assert!(work(10, 1, true, false) > work(10, 1, false, false));
        // A second step on a gathered column costs less than the first.
        assert!(work(10, 2, true, true) < 2.0 * work(10, 1, true, true));
    }
}
