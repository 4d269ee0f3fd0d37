//! Everything that a run carries from one iteration to the next, as one value.

use crate::{Error, Mat, Result, Scalar, Solver};
use std::collections::BTreeMap;

/// The state of a run between two iterations: taken out with [`Run::state`](crate::Run::state), put back with
/// [`Problem::resume`](crate::Problem::resume). A run that is cut and continued gives the same bits as one
/// that is not.
///
/// Numbers and arrays have names and are all in f64, which holds f32 exactly, so that any format can store
/// them.
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

    pub(crate) fn put(&mut self, name: &str, value: f64) {
        self.numbers.insert(name.into(), value);
    }

    pub(crate) fn put_array<T: Scalar>(&mut self, name: &str, array: &Mat<T>) {
        self.arrays.insert(name.into(), array.cast());
    }

    /// A number that must be there.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        self.numbers.get(name).copied().ok_or_else(|| missing(name))
    }

    /// Fills `to` from an array that must be there and have its shape.
    pub(crate) fn fill<T: Scalar>(&self, name: &str, to: &mut Mat<T>) -> Result<()> {
        let from = self.arrays.get(name).ok_or_else(|| missing(name))?;
        if (from.rows(), from.cols()) != (to.rows(), to.cols()) {
            return Err(Error::State(format!(
                "its array {name} is {} × {} where {} × {} is needed",
                from.rows(),
                from.cols(),
                to.rows(),
                to.cols()
            )));
        }
        to.as_mut_slice().iter_mut().zip(from.as_slice()).for_each(|(to, x)| *to = T::from_f64(*x));
        Ok(())
    }

    /// Adds the numbers and arrays of a part, with the part's name before theirs.
    pub(crate) fn put_part(&mut self, part: &str, inner: State) {
        self.numbers.extend(inner.numbers.into_iter().map(|(name, x)| (format!("{part}.{name}"), x)));
        self.arrays.extend(inner.arrays.into_iter().map(|(name, x)| (format!("{part}.{name}"), x)));
    }

    /// The numbers and arrays of a part.
    pub(crate) fn part(&self, part: &str) -> State {
        fn of<V: Clone>(all: &BTreeMap<String, V>, part: &str) -> BTreeMap<String, V> {
            let mine = |(name, x): (&String, &V)| {
                Some((name.strip_prefix(part)?.strip_prefix('.')?.to_string(), x.clone()))
            };
            all.iter().filter_map(mine).collect()
        }
        State { numbers: of(&self.numbers, part), arrays: of(&self.arrays, part), ..*self }
    }
}

fn missing(name: &str) -> Error {
    Error::State(format!("it has no {name}"))
}
