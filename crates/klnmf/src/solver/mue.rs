//! Extrapolated multiplicative updates: those of [`mu`](super::mu), or of [`smooth`](super::smooth), carried
//! on as in [`extrapolated`](super::extrapolated).

use super::extrapolated::{Extrapolated, Momentum};
use super::method::{Built, HalfStep, Local, Method, Pair};
use super::mu::Mu;
use super::{Setup, Side, State};
use crate::{Result, Scalar};

/// The alternation, its steps and how far it is carried on.
pub struct Mue<'a, T: Scalar, H> {
    pub walk: Extrapolated<T, Local<'a, T>>,
    pub step: H,
    pub momentum: Momentum,
}

/// See [`Solver::Mue`](crate::Solver::Mue).
pub fn build<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    let site = setup.site(factors, HalfStep::<T>::parts(&Mu));
    let walk = Extrapolated::new(site, setup.order(Side::H), factors, false);
    Ok(Box::new(Mue { walk, step: Mu, momentum: Momentum::new(true) }))
}

impl<T: Scalar, H: HalfStep<T> + Send> Method<T> for Mue<'_, T, H> {
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize) {
        self.walk.sweep(&self.step, &mut self.momentum, factors, steps);
    }

    fn latest(&self, _: f64) -> Option<Pair<T>> {
        Some(self.walk.latest())
    }

    fn save(&self, state: &mut State) {
        self.walk.save(state);
        state.put("t", self.momentum.t);
    }

    fn load(&mut self, state: &State) -> Result<()> {
        self.momentum.t = state.number("t")?;
        self.walk.load(state)
    }
}
