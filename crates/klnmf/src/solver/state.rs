//! Everything that a run carries from one iteration to the next, as one value.

use crate::{Error, Mat, Result, Scalar, Solver};
use std::collections::BTreeMap;

/// The state of a run between two iterations: taken out with [`Run::state`](crate::Run::state), put back with
/// [`Problem::resume`](crate::Problem::resume). A run that is cut and continued gives the same bits as one
/// that is not.
///
/// Numbers and arrays have names and are all in f64, which holds f32 exactly. A format that stores them must know
/// infinity, which a number may be before the first sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The solver that it belongs to.
    pub solver: Solver,
    /// Iterations so far.
    pub iteration: usize,
    /// Seconds of work so far, without the certificates.
    pub seconds: f64,
    /// What the method counts and measures.
    pub numbers: BTreeMap<String, f64>,
    /// The factors as they are shown (`w` is Wᵀ), and whatever else the method keeps.
    pub arrays: BTreeMap<String, Mat<f64>>,
}

impl State {
    pub(crate) fn new(solver: Solver) -> Self {
        let (numbers, arrays) = (BTreeMap::new(), BTreeMap::new());
        Self { solver, iteration: 0, seconds: 0.0, numbers, arrays }
    }

    /// A number that must be there.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        self.numbers.get(name).copied().ok_or_else(|| missing(name))
    }
}

/// A state on its way: the same list of names serves for both ways.
pub enum Store<'s> {
    /// What one names is put into the state; this never fails.
    Save(&'s mut State),
    /// What one names is taken out of it, and must be there.
    Load(&'s State),
}

impl Store<'_> {
    pub fn number(&mut self, name: &str, x: &mut f64) -> Result<()> {
        match self {
            Store::Save(state) => drop(state.numbers.insert(name.into(), *x)),
            Store::Load(state) => *x = state.number(name)?,
        }
        Ok(())
    }

    pub fn count(&mut self, name: &str, x: &mut usize) -> Result<()> {
        let mut number = *x as f64;
        self.number(name, &mut number)?;
        *x = number as usize;
        Ok(())
    }

    pub fn flag(&mut self, name: &str, x: &mut bool) -> Result<()> {
        let mut number = usize::from(*x);
        self.count(name, &mut number)?;
        *x = number != 0;
        Ok(())
    }

    /// An array must also have the shape of `x`.
    pub fn array<T: Scalar>(&mut self, name: &str, x: &mut Mat<T>) -> Result<()> {
        let state = match self {
            Store::Save(state) => {
                state.arrays.insert(name.into(), x.cast());
                return Ok(());
            }
            Store::Load(state) => state,
        };
        let (from, rows, cols) = (state.arrays.get(name).ok_or_else(|| missing(name))?, x.rows(), x.cols());
        if (from.rows(), from.cols()) != (rows, cols) {
            let is = format!("{} × {}", from.rows(), from.cols());
            return Err(Error::State(format!("its array {name} is {is} where {rows} × {cols} is needed")));
        }
        *x = from.cast();
        Ok(())
    }
}

pub fn missing(name: &str) -> Error {
    Error::State(format!("it has no {name}"))
}
