//! Extrapolated multiplicative updates: those of [`mu`](super::mu) on the way of [`extrapolate`](super::extrapolate).

use super::extrapolate::{Momentum, Walk};
use super::mu::Mu;
use super::{Factors, Method};
use crate::Scalar;

/// The walk and how far it is carried on.
pub(crate) struct Mue<'a, 'v, T> {
    walk: Walk<'a, 'v, T>,
    momentum: Momentum,
}

impl<'a, 'v, T: Scalar> Mue<'a, 'v, T> {
    pub fn new(walk: Walk<'a, 'v, T>) -> Self {
        Self { walk, momentum: Momentum::new(true) }
    }
}

impl<T: Scalar> Method<T> for Mue<'_, '_, T> {
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize) {
        self.walk.sweep(&mut Mu, &mut self.momentum, factors, steps);
    }

    fn latest(&mut self) -> Option<&Factors<T>> {
        Some(&self.walk.x)
    }
}
