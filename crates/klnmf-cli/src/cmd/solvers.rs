//! `--solver`: the names and their help come from the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use klnmf::Solver;

/// Any of the library's solvers.
pub fn any() -> impl TypedValueParser<Value = Solver> {
    among(Solver::ALL)
}

/// One of the given solvers.
pub fn among(solvers: impl IntoIterator<Item = Solver>) -> impl TypedValueParser<Value = Solver> {
    let value = |solver: Solver| PossibleValue::new(solver.spec().name).help(solver.spec().help);
    PossibleValuesParser::new(solvers.into_iter().map(value)).try_map(|name| name.parse::<Solver>())
}
