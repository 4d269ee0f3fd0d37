//! Non-negative matrix factorisation with the Kullback-Leibler divergence, with a certificate for every answer.
//!
//! # The problem
//!
//! Given V (n × m) ≥ 0, find W (n × r) ≥ 0 and H (r × m) ≥ 0 so that V ≈ WH in the sense of the generalised
//! Kullback-Leibler divergence, which is maximum likelihood for Poisson counts:
//!
//! D(V‖WH) = Σ_ij [ V_ij log(V_ij/(WH)_ij) − V_ij + (WH)_ij ],  0·log 0 = 0.
//!
//! * [`factorize`] finds both factors. The problem is not convex, but it is in each factor alone: `gap_w` and `gap_h`
//!   bound how much the divergence can still fall by changing one of them.
//! * [`decompose`] finds H for a fixed W ("NNLS, but for counts"). This is convex: every column comes with a duality gap,
//!   a bound on its distance to the optimum.
//! * [`topics`] fits a topic model: topics are distributions over words, documents are mixtures of topics.
//! * [`certificate`] certifies factors from anywhere.
//!
//! # Quick start
//!
//! ```
//! use klnmf::{factorize, Mat, Settings};
//!
//! let v = Mat::from_fn(30, 50, |i, j| ((i % 3) * (j % 5) + (i % 7) * (j % 2)) as f64);
//! let model = factorize(&v, 2, &Settings::default())?;
//! println!("D = {:.3}, within {:.1e} of ΣV", model.info.divergence, model.info.relative_gap());
//! # Ok::<(), klnmf::Error>(())
//! ```
//!
//! Sparse data stays sparse ([`Sparse`], or a borrowed [`Matrix`]), in `f32` or `f64`:
//!
//! ```
//! use klnmf::{decompose, DecomposeSettings, Mat, Order, Sparse};
//!
//! let words = [(0, 0, 3.0f32), (2, 0, 1.0), (1, 1, 2.0), (2, 1, 4.0)];
//! let v = Sparse::from_triplets(3, 2, Order::Columns, |put| words.iter().try_for_each(|&(i, j, x)| put(i, j, x)))?;
//! let topics = Mat::from_rows(&[&[0.7, 0.1], &[0.1, 0.4], &[0.2, 0.5]]);
//! let found = decompose(&v, &topics, &DecomposeSettings { tol: 1e-8, ..Default::default() })?;
//! assert!(found.columns.iter().all(|c| c.gap <= 1e-6));
//! # Ok::<(), klnmf::Error>(())
//! ```
//!
//! # What is promised
//!
//! * **Same seed, same bits**, on any number of threads.
//! * **No panic, no NaN** on any input: an [`Error`] that names the place, or a defined answer. An empty row or column of V
//!   gets zero weights. A positive entry that no weights can explain is an error. Nothing is clipped or nudged, with two
//!   exceptions, stated where they happen: a weight that underflows in a multiplicative update becomes zero, and so does one
//!   whose whole share of a column is below the rounding errors of the column's sum in a Newton step.
//! * **Memory**: at most 2·(bytes of V) + 12·(bytes of W and H) + a workspace that is known beforehand; see [`memory()`].
//!
//! # Map
//!
//! The files read in this order: `divergence` (one page of mathematics: the divergence, its dual, the gap), `block` (the
//! one seam between dense and sparse), `decompose` and `solver/fpa` (the primal-dual algorithm), `sweeps` and `polish` (the
//! quick ways to the optimum of a column), `solver/mu`, `solver/extrapolate` and `solver/newton` (the quick methods for whole
//! factorisations), `solver/auto` (the choice between them), `solver/mixed` (f32, then f64), `solver/admm`, `solver/paper`
//! (the authors' program, step for step), `simplex` and `topics` (projections, topic models), `factorize` (the outer loop, written once), `init` (starts, and growing a model). Speed
//! is made in `packed` (the products), `map` (what happens between them) and `lanes` (arithmetic on registers: quotients, roots, logarithms).
//!
//! # References
//!
//! F. Yanez & F. Bach, *Primal-dual algorithms for non-negative matrix factorization with the Kullback-Leibler divergence*
//! (2014). A. Chambolle & T. Pock, *A first-order primal-dual algorithm* (2011). T. Pock & A. Chambolle, *Diagonal
//! preconditioning for first order primal-dual algorithms* (2011). D. Lee & S. Seung, *Algorithms for non-negative matrix
//! factorization* (2000). D. Sun & C. Févotte, *Alternating direction method of multipliers for NMF with the beta
//! divergence* (2014).
//! A. Ang & N. Gillis, *Accelerating nonnegative matrix factorization algorithms using extrapolation* (2019).
//! D. Bertsekas, *Projected Newton methods for optimization problems with simple constraints* (1982).

mod block;
mod decompose;
mod divergence;
mod engine;
mod error;
mod factorize;
mod init;
mod kernel;
mod lanes;
mod level;
mod linalg;
mod map;
pub mod matrix;
mod memory;
mod packed;
mod parallel;
mod polish;
mod primal_dual;
mod probe;
mod scalar;
mod simplex;
mod solver;
mod sweeps;
mod topics;

pub use decompose::{ColumnInfo, DecomposeSettings, Decomposition, decompose, decompose_with};
pub use divergence::{Certificate, certificate, check_factors};
pub use error::{Error, Result};
pub use factorize::{Info, Settings, Solution, Status, factorize, factorize_from};
pub use init::{Init, check_rank, grow, init};
pub use matrix::{IndexSlice, Indices, Mat, Matrix, Order, Sparse};
pub use memory::{Memory, memory};
#[doc(hidden)]
pub use probe::{Parts, multiply_adds, parts};
pub use scalar::Scalar;
pub use simplex::project_onto_simplex;
pub use solver::{Solver, Update};
pub use topics::{
    TopicInfo, TopicModel, TopicSettings, Weights, log_likelihoods, perplexity, to_poisson, to_topics,
    topic_weights, topics, topics_from,
};
