//! `--solver`: its names and their help are the library's.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use klnmf::Solver;

/// Any of the library's solvers.
pub fn any() -> impl TypedValueParser<Value = Solver> {
    among(Solver::ALL)
}

/// One of these.
pub fn among(solvers: impl IntoIterator<Item = Solver>) -> impl TypedValueParser<Value = Solver> {
    let value = |solver: Solver| PossibleValue::new(solver.spec().name).help(solver.spec().help);
    PossibleValuesParser::new(solvers.into_iter().map(value)).try_map(|name| name.parse::<Solver>())
}
