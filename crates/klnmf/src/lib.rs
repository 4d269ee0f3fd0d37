//! Non-negative matrix factorisation with the Kullback-Leibler divergence.

mod block;
mod decompose;
mod divergence;
mod error;
mod factorize;
mod init;
mod kernel;
mod linalg;
pub mod matrix;
mod parallel;
mod scalar;
mod solver;

pub use decompose::{ColumnInfo, DecomposeSettings, Decomposition, decompose, decompose_with};
pub use divergence::{Certificate, certificate};
pub use error::{Error, Result};
pub use factorize::{Info, Settings, Solution, Status, factorize, factorize_from};
pub use init::{Init, grow, init};
pub use matrix::{IndexSlice, Indices, Mat, Matrix, Order, Sparse};
pub use scalar::Scalar;
pub use solver::{Solver, Update};
