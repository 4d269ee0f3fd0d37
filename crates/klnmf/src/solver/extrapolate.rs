//! Extrapolation around any half-step, with Nesterov's momentum and, after Ang & Gillis (2019), a way back.
//!
//! | letter | meaning |
//! | --- | --- |
//! | x | the last result of a half-step, for both factors |
//! | y | x carried on in the direction it moved, x + β(x − x_before): where the next half-step starts |
//! | f | D at y, which the first half-step of a sweep finds on its way |
//!
//! What the method shows of itself is the last y whose f was the lowest so far: never worse than what it has shown before,
//! one sweep behind.
//!
//! While f falls, β grows. When it rises, β shrinks and y goes back to x; if that is no better either (x pairs each factor with
//! the other one carried on, so nothing guarantees it), it goes back to the last y that was good, and goes on from there with a
//! method that never raises the divergence: the primal-dual one, which leaves zeros, or the step itself if it is such a one.

use super::fpa::Fpa;
use super::{Factors, HalfState, Measuring, Side};
use crate::{Mat, Scalar};

/// Steps on each factor when it falls back to the primal-dual algorithm.
const FALLBACK_STEPS: usize = 5;

/// How far to carry on: β = (t − 1)/t⁺ with Nesterov's t⁺ = ½(1 + √(1 + 4t²)).
pub(crate) struct Momentum {
    t: f64,
    /// Only upwards: for a method where what falls may end at zero, and stay.
    upwards: bool,
}

impl Momentum {
    pub fn new(upwards: bool) -> Self {
        Self { t: 1.0, upwards }
    }

    fn beta(&self) -> f64 {
        (self.t - 1.0) / next(self.t)
    }

    fn fell(&mut self) {
        self.t = next(self.t);
    }

    /// Half the way back to the beginning.
    fn rose(&mut self) {
        self.t = (0.5 * self.t).max(1.0);
    }
}

fn next(t: f64) -> f64 {
    0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt())
}

/// Where the alternation stands.
pub(crate) struct Walk<'a, 'v, T> {
    halves: [HalfState<'a, 'v, T>; 2],
    order: Vec<Side>,
    pub x: Factors<T>,
    y: Factors<T>,
    /// y as the present sweep found it.
    found: Factors<T>,
    /// The lowest D of the y that were good, the last of which is kept outside, as the method's result so far.
    pub f: f64,
    /// ΣV.
    sum: f64,
    /// What goes on from the last good y: the step itself, not carried on, if there is nothing here.
    fallback: Option<Fpa>,
    /// How often it had to go back to the last good y.
    pub failures: usize,
    /// Whether y is not x.
    carried: bool,
}

impl<'a, 'v, T: Scalar> Walk<'a, 'v, T> {
    /// `leaves_zeros`: what it falls back to must do so too. Without it the step must be one that never raises the divergence.
    pub fn new(
        halves: [HalfState<'a, 'v, T>; 2],
        order: Vec<Side>,
        factors: &Factors<T>,
        leaves_zeros: bool,
    ) -> Self {
        let fallback = leaves_zeros.then(|| Fpa::new(factors.wt.cols(), factors.h.cols()));
        let (x, y, found) = (factors.clone(), factors.clone(), factors.clone());
        let sum = halves[0].sum();
        Self { halves, order, x, y, found, f: f64::INFINITY, sum, failures: 0, fallback, carried: false }
    }

    /// A sweep from y; `good` takes the y that it began with, if that was good.
    pub fn sweep(
        &mut self,
        step: &mut impl Measuring<T>,
        momentum: &mut Momentum,
        good: &mut Factors<T>,
        steps: usize,
    ) {
        let mut f = self.first(step, steps);
        // What is no number has not fallen.
        let fell = f <= self.f;
        if self.carried && !fell {
            momentum.rose();
            self.settle();
            f = self.first(step, steps);
        } else if fell {
            momentum.fell();
        }
        let fell = f <= self.f + self.slack();
        if !fell {
            return self.go_back(step, good, steps);
        }
        std::mem::swap(good, &mut self.found);
        // The lowest, so that what is let pass as rounding does not add up.
        self.f = self.f.min(f);
        let beta = momentum.beta();
        for n in 0..self.order.len() {
            let Factors { wt, h } = &mut self.y;
            let (side, half) = (self.order[n], &mut self.halves[self.order[n] as usize]);
            let (kt, y, x) = match side {
                Side::H => (wt, h, &mut self.x.h),
                Side::W => (h, wt, &mut self.x.wt),
            };
            if n > 0 {
                step.update(half, kt, y, steps);
            }
            carry_on(y, x, beta, momentum.upwards);
            step.keep(half, y);
        }
        self.carried = beta > 0.0;
    }

    /// At the end f moves by rounding alone, which is no reason to go back: in f32 one measurement differs from the next by some
    /// 1e-8 of ΣV, and the luckiest of them must not make all later ones fail.
    fn slack(&self) -> f64 {
        let slack = 1e-12 * self.f.abs() + T::EPSILON.to_f64() * self.sum;
        if slack.is_finite() { slack } else { 0.0 }
    }

    /// The first half-step of a sweep from y, and D there.
    fn first(&mut self, step: &mut impl Measuring<T>, steps: usize) -> f64 {
        self.found.copy_from(&self.y);
        let Factors { wt, h } = &mut self.y;
        match self.order.first() {
            Some(Side::H) => step.update_and_measure(&mut self.halves[0], wt, h, steps),
            Some(Side::W) => step.update_and_measure(&mut self.halves[1], h, wt, steps),
            None => f64::NEG_INFINITY,
        }
    }

    /// y ← x.
    pub fn settle(&mut self) {
        self.y.copy_from(&self.x);
        self.carried = false;
    }

    /// On from the last good point by a method that cannot make it worse.
    fn go_back(&mut self, step: &mut impl Measuring<T>, good: &Factors<T>, steps: usize) {
        self.failures += 1;
        self.y.copy_from(good);
        match &mut self.fallback {
            Some(fpa) => {
                super::alternate(&mut self.halves, &self.order, fpa, &mut self.y, steps.max(FALLBACK_STEPS));
            }
            None => {
                (0..steps)
                    .for_each(|_| super::alternate(&mut self.halves, &self.order, step, &mut self.y, 1));
            }
        }
        self.x.copy_from(&self.y);
        self.carried = false;
    }
}

/// x ← y, y ← max(y + β(y − x_before), y/100): what carrying on alone would bring to zero might be all there was to explain
/// an entry of V.
fn carry_on<T: Scalar>(y: &mut Mat<T>, x: &mut Mat<T>, beta: f64, upwards: bool) {
    let (beta, least) = (T::from_f64(beta), T::from_f64(0.01));
    for (y, x) in y.as_mut_slice().iter_mut().zip(x.as_mut_slice()) {
        let (now, before) = (*y, *x);
        let moved = now - before;
        let moved = if upwards { moved.max(T::ZERO) } else { moved };
        *x = now;
        let next = (now + beta * moved).max(least * now);
        // What has not moved stays as it is, however small: it may be fixed.
        *y = if next < T::TINY && next != now { T::ZERO } else { next };
    }
}
