//! The one error type. Every message names what is wrong, where, and what to do.

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
        write!(f, "[{}, {}] = {}", self.row, self.col, self.value)
    }
}

/// What can go wrong before a solver runs. Reaching a limit is not an error but a [`Status`](crate::Status).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Arrays whose sizes do not fit together.
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
    /// A negative entry: the first one.
    #[error("V{0} is negative (counting from 0): remove or replace it, the KL divergence needs V ≥ 0")]
    Negative(Entry),
    /// An entry that is NaN or infinite: the first one.
    #[error("V{0} is not a finite number (counting from 0): remove or replace it")]
    NotFinite(Entry),
    /// Entries that are finite one by one but not together.
    #[error("the sum of V is too large for 64-bit numbers: divide V by a constant")]
    SumOverflow,
    /// Weights that leave the range of the precision.
    #[error("the factors leave the range of {precision}: divide V by a constant, or compute in f64")]
    Overflow {
        /// `f32` or `f64`.
        precision: &'static str,
    },
    /// A factor with a negative, NaN or infinite entry.
    #[error("{name}{entry}: factors must be finite and not negative (counting from 0)")]
    BadFactor {
        /// `W` or `H`.
        name: &'static str,
        /// The first such entry.
        entry: Entry,
    },
    /// A factor whose entries are finite one by one but not added up.
    #[error("the sums of {name} are too large for 64-bit numbers: divide {name} by a constant")]
    FactorOverflow {
        /// `W` or `H`.
        name: &'static str,
    },
    /// A positive entry of V that the dictionary cannot explain: the first one, row by row.
    #[error(
        "V{} but row {} of the dictionary is zero (counting from 0): the divergence is infinite whatever the \
         weights; drop the row or give the dictionary a positive entry there", .0, .0.row
    )]
    ZeroRow(Entry),
    /// A start whose divergence is infinite: the first positive entry of V that it does not explain.
    #[error(
        "V{} but (W·H)[{}, {}] = 0 at the start (counting from 0): the divergence is infinite; start from \
         positive W and H", .0, .0.row, .0.col
    )]
    InfiniteStart(Entry),
    /// A rank that makes no sense for the matrix.
    #[error("rank {rank}: choose a rank from 1 to {max}")]
    Rank {
        /// The rank asked for.
        rank: usize,
        /// The largest that is accepted for this matrix.
        max: usize,
    },
    /// A setting out of range.
    #[error("{name} = {value}: {must}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it must be.
        must: &'static str,
    },
    /// A solver that does not exist.
    #[error("there is no solver {name:?}: choose {}", Solver::ALL.map(Solver::name).join(", "))]
    UnknownSolver {
        /// What was asked for.
        name: String,
    },
    /// A stored state that does not fit the problem or the settings.
    #[error("the stored state cannot be continued: {0}")]
    State(String),
    /// A method that keeps a dense auxiliary matrix, asked to work on sparse data.
    #[error("{solver} works on dense matrices only and V is sparse: use solver auto, or store V dense")]
    NeedsDense {
        /// Its name.
        solver: &'static str,
    },
    /// More memory than can be had.
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
    /// The operating system gave no threads.
    #[error("cannot start {threads} threads: {why}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        why: String,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Passes if `ok`; otherwise a setting has a value that it must not have.
pub(crate) fn require(ok: bool, name: &'static str, value: impl ToString, must: &'static str) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::Setting { name, value: value.to_string(), must }) }
}
