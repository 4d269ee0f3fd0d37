//! Options with a few values, each with a name and perhaps a help.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use klnmf::{Precision, Solver};

/// One of these values, each with its name and its help, which may be empty.
pub fn one_of<V: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (V, &'static str, &'static str)>,
) -> impl TypedValueParser<Value = V> {
    let values: Vec<_> = values.into_iter().collect();
    let shown = values.iter().map(|(_, name, help)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    });
    PossibleValuesParser::new(shown.collect::<Vec<_>>()).try_map(move |given| {
        let found = values.iter().find(|(_, name, _)| *name == given);
        found.map(|(value, ..)| value.clone()).ok_or("no such value")
    })
}

/// Any of the library's solvers.
pub fn any_solver() -> impl TypedValueParser<Value = Solver> {
    solvers(Solver::ALL)
}

/// One of the given solvers. Their names and their help come from the library.
pub fn solvers(solvers: impl IntoIterator<Item = Solver>) -> impl TypedValueParser<Value = Solver> {
    one_of(solvers.into_iter().map(|solver| (solver, solver.spec().name, solver.spec().help)))
}

/// Number formats.
pub fn precision() -> impl TypedValueParser<Value = Precision> {
    let single = "32 bits: faster, half the memory; the relative gaps of a factorisation stall near 1e-5";
    let mixed = "Early iterations in f32, the rest in f64; the same as f64 where nothing is factorised";
    let help = [(Precision::F32, single), (Precision::F64, "64 bits"), (Precision::Mixed, mixed)];
    one_of(help.map(|(precision, help)| (precision, precision.name(), help)))
}
