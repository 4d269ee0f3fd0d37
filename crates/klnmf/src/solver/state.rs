//! The state of a run between two iterations, as one value.

use crate::{Error, Mat, Result, Scalar, Solver};
use std::collections::BTreeMap;

/// The state of a run between two iterations, from [`Run::state`](crate::Run::state). With
/// [`Problem::resume`](crate::Problem::resume) the run continues from there and gives the same bits as an
/// uninterrupted run.
///
/// Numbers and arrays have names and are stored in f64, which represents f32 exactly. A storage format must
/// support infinity, which some numbers are before the first round.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The solver that made it.
    pub solver: Solver,
    /// Iterations so far.
    pub iteration: usize,
    /// Seconds of work so far, without the certificates.
    pub seconds: f64,
    /// Counters and measurements of the method.
    pub numbers: BTreeMap<String, f64>,
    /// The reported factors (`w` is Wᵀ) and further arrays of the method.
    pub arrays: BTreeMap<String, Mat<f64>>,
}

impl State {
    pub(crate) fn new(solver: Solver) -> Self {
        let (numbers, arrays) = (BTreeMap::new(), BTreeMap::new());
        Self { solver, iteration: 0, seconds: 0.0, numbers, arrays }
    }

    /// A number that must be present.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        self.numbers.get(name).copied().ok_or_else(|| missing(name))
    }
}

/// A transfer to or from a state. One list of names serves both directions.
pub enum Store<'s> {
    /// Saves named values into the state; never fails.
    Save(&'s mut State),
    /// Loads named values from the state, where they must exist.
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

    /// Transfers an array. On loading it must have the shape of `x`.
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
