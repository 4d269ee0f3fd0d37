//! The error type. Every message says what is wrong, where, and what to do.

use crate::Solver;
use std::fmt::{self, Display, Formatter};

/// An entry of a matrix, counting from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// Its value.
    pub value: f64,
}

impl Display for Entry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { row, col, value } = *self;
        // Without an exponent the smallest numbers have more than 300 digits.
        match value.abs() {
            x if x.is_finite() && x > 0.0 && !(1e-5..1e16).contains(&x) => {
                write!(f, "[{row}, {col}] = {value:e}")
            }
            _ => write!(f, "[{row}, {col}] = {value}"),
        }
    }
}

/// What to try besides, if the factors are in f32.
fn or_f64(precision: &str) -> &'static str {
    if precision == "f32" { ", or compute in f64" } else { "" }
}

/// Errors in the input, and results that overflow. Reaching a limit is not an error but a
/// [`Status`](crate::Status).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arrays whose sizes do not match.
    #[error("wrong shape: {0}")]
    Shape(String),
    /// A matrix with no rows or no columns.
    #[error("the matrix is empty ({rows} × {cols}): it needs at least one row and one column")]
    Empty {
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
    },
    /// The first negative entry.
    #[error("V{0} is negative (counting from 0): remove or replace it, the KL divergence needs V ≥ 0")]
    Negative(Entry),
    /// The first entry that is NaN or infinite.
    #[error("V{0} is not a finite number (counting from 0): remove or replace it")]
    NotFinite(Entry),
    /// Finite entries whose sum overflows.
    #[error("the sum of V is too large for 64-bit numbers: divide V by a constant")]
    SumOverflow,
    /// Factors that exceed the range of the precision, `f32` or `f64`.
    #[error("the factors leave the range of {0}: divide V by a constant{or_f64}", or_f64 = or_f64(.0))]
    Overflow(&'static str),
    /// A factor with a negative, NaN or infinite entry.
    #[error("{name}{entry}: factors must be finite and not negative (counting from 0)")]
    BadFactor {
        /// `W` or `H`.
        name: &'static str,
        /// The first such entry.
        entry: Entry,
    },
    /// A factor, `W` or `H`, with finite entries whose sums overflow.
    #[error("the sums of {0} are too large for 64-bit numbers: divide {0} by a constant")]
    FactorOverflow(&'static str),
    /// The first positive entry of V, row by row, that the dictionary cannot explain.
    #[error(
        "V{} but row {} of the dictionary is zero (counting from 0): the divergence is infinite whatever the \
         weights; drop the row or give the dictionary a positive entry there", .0, .0.row
    )]
    ZeroRow(Entry),
    /// The first positive entry of V that the start does not explain, so that its divergence is infinite.
    #[error(
        "V{} but (W·H)[{}, {}] = 0 at the start (counting from 0): the divergence is infinite; start from \
         positive W and H", .0, .0.row, .0.col
    )]
    InfiniteStart(Entry),
    /// A rank that is out of range for the matrix.
    #[error("rank {rank}: choose a rank from 1 to {max}")]
    Rank {
        /// The requested rank.
        rank: usize,
        /// The largest rank that is accepted for this matrix.
        max: usize,
    },
    /// A setting out of range.
    #[error("{name} = {value}: {must}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The requirement.
        must: &'static str,
    },
    /// An unknown solver.
    #[error("there is no solver {0:?}: choose {all}", all = Solver::ALL.map(Solver::name).join(", "))]
    UnknownSolver(String),
    /// A stored state that does not fit the problem or the settings.
    #[error("the stored state cannot be continued: {0}")]
    State(String),
    /// A method with a dense auxiliary matrix, applied to sparse data.
    #[error("{0} works on dense matrices only and V is sparse: use solver auto, or store V dense")]
    NeedsDense(&'static str),
    /// An array that does not fit in memory.
    #[error(
        "a {rows} × {cols} array of {bytes} bytes does not fit in memory: choose a smaller rank or matrix"
    )]
    TooLarge {
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// Its bytes.
        bytes: u128,
    },
    /// Data outside memory that could not be read: what happened and what to do.
    #[error("{0}")]
    Unreadable(String),
    /// Threads that the operating system could not start.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// Number of threads requested.
        threads: usize,
        /// The system's message.
        why: String,
    },
}

impl Error {
    /// The entry of V that is wrong, if it is a single one.
    pub fn entry(&self) -> Option<Entry> {
        match self {
            Error::Negative(entry)
            | Error::NotFinite(entry)
            | Error::ZeroRow(entry)
            | Error::InfiniteStart(entry) => Some(*entry),
            _ => None,
        }
    }
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns an error for the setting unless `ok`.
pub(crate) fn require(ok: bool, name: &'static str, value: impl ToString, must: &'static str) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::Setting { name, value: value.to_string(), must }) }
}
