//! Extrapolated multiplicative updates: those of [`mu`](super::mu), or of [`smooth`](super::smooth), on the way of
//! [`extrapolate`](super::extrapolate).

use super::extrapolate::{Momentum, Walk};
use super::mu::Mu;
use super::smooth::Smooth;
use super::{Factors, Measuring, Method};
use crate::Scalar;

/// The walk, its steps and how far it is carried on.
pub(crate) struct Mue<'a, 'v, T, S> {
    pub walk: Walk<'a, 'v, T>,
    step: S,
    momentum: Momentum,
}

impl<'a, 'v, T: Scalar> Mue<'a, 'v, T, Mu> {
    /// The first `fixed` columns of W stay as they are.
    pub fn new(walk: Walk<'a, 'v, T>, fixed: usize) -> Self {
        Self { walk, step: Mu { fixed }, momentum: Momentum::new(true) }
    }
}

impl<'a, 'v, T: Scalar> Mue<'a, 'v, T, Smooth> {
    /// For the steps with pseudo-counts, where nothing ends at zero.
    pub fn smooth(walk: Walk<'a, 'v, T>, step: Smooth) -> Self {
        Self { walk, step, momentum: Momentum::new(false) }
    }
}

impl<T: Scalar, S: Measuring<T>> Method<T> for Mue<'_, '_, T, S> {
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize) {
        self.walk.sweep(&mut self.step, &mut self.momentum, factors, steps);
    }

    fn into_latest(self: Box<Self>) -> Option<Factors<T>> {
        Some(self.walk.x)
    }
}
