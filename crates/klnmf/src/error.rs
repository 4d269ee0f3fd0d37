//! The one error type. Every message names what is wrong, where, and what to do.

use crate::Solver;

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
    /// A negative entry.
    #[error(
        "V[{row}, {col}] = {value} is negative (counting from 0): remove or replace it, the KL divergence needs V ≥ 0"
    )]
    Negative {
        /// Row of the first negative entry.
        row: usize,
        /// Its column.
        col: usize,
        /// The entry.
        value: f64,
    },
    /// An entry that is NaN or infinite.
    #[error("V[{row}, {col}] = {value} is not a finite number (counting from 0): remove or replace it")]
    NotFinite {
        /// Row of the first such entry.
        row: usize,
        /// Its column.
        col: usize,
        /// The entry.
        value: f64,
    },
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
    #[error("{name}[{row}, {col}] = {value}: factors must be finite and not negative (counting from 0)")]
    BadFactor {
        /// `W` or `H`.
        name: &'static str,
        /// Row of the first such entry.
        row: usize,
        /// Its column.
        col: usize,
        /// The entry.
        value: f64,
    },
    /// A factor whose entries are finite one by one but not added up.
    #[error("the sums of {name} are too large for 64-bit numbers: divide {name} by a constant")]
    FactorOverflow {
        /// `W` or `H`.
        name: &'static str,
    },
    /// A positive entry that the dictionary cannot explain.
    #[error(
        "V[{row}, {col}] = {value} but row {row} of the dictionary is zero (counting from 0): the divergence is \
         infinite whatever the weights; drop the row or give the dictionary a positive entry there"
    )]
    ZeroRow {
        /// The row.
        row: usize,
        /// The first column with a positive entry there.
        col: usize,
        /// The entry.
        value: f64,
    },
    /// A start whose divergence is infinite.
    #[error(
        "V[{row}, {col}] = {value} but (W·H)[{row}, {col}] = 0 at the start (counting from 0): the divergence is \
         infinite; start from positive W and H"
    )]
    InfiniteStart {
        /// The row.
        row: usize,
        /// The column.
        col: usize,
        /// The entry of V.
        value: f64,
    },
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
