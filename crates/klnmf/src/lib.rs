//! Non-negative matrix factorisation with the Kullback-Leibler divergence, with certificates of optimality.
//!
//! # The problem
//!
//! Given V (n × m) ≥ 0, find W (n × r) ≥ 0 and H (r × m) ≥ 0 such that V ≈ WH, as measured by the generalised
//! Kullback-Leibler divergence. Minimising it is maximum likelihood for Poisson counts:
//!
//! D(V‖WH) = Σ_ij [ V_ij log(V_ij/(WH)_ij) − V_ij + (WH)_ij ],  0·log 0 = 0.
//!
//! * [`factorize`] finds both factors. The problem is convex only in each factor alone: `gap_w` and `gap_h`
//!   bound how much the divergence can still decrease by changing one of them.
//! * [`decompose`] finds H for a fixed W ("NNLS, but for counts"). This is convex: every column comes with a
//!   duality gap, a bound on its distance to the optimum.
//! * [`topics`] fits a topic model: topics are distributions over words, documents are mixtures of topics.
//! * [`certificate`] certifies given factors of any origin.
//!
//! # Quick start
//!
//! ```
//! use klnmf::{factorize, Mat, Settings};
//!
//! let v = Mat::from_fn(30, 50, |i, j| ((i % 3) * (j % 5) + (i % 7) * (j % 2)) as f64);
//! let model = factorize(&v, 2, &Settings::default())?;
//! println!("D = {:.3}; {}", model.info.divergence, model.info.left());
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
//! # Guarantees
//!
//! * **Same seed, same bits**, on any number of threads.
//! * **No panic, no NaN** on any data: either an [`Error`] that names the place, or a defined answer. An
//!   empty row or column of V gets zero weights. A positive entry that no weights can explain is an error.
//!   Nothing is clipped or perturbed, with five exceptions, each documented where it happens:
//!   1. A weight that underflows in a multiplicative update or in an extrapolation becomes zero.
//!   2. In a Newton step, a weight becomes zero if its whole contribution to a column is below the rounding
//!      errors of the column's sum.
//!   3. While a Newton step is computed, WH is kept above 1e-3·ε of the column's sum.
//!   4. An extrapolated weight keeps at least a hundredth of its value. A Newton step that makes WH zero
//!      where V is positive goes back a tenth of the way.
//!   5. When `fpa` falls back to a multiplicative update, a zero weight that should grow gets a millionth
//!      of an even share.
//! * **Memory**: at most 2·(bytes of V) + 12·(bytes of W and H) + a known workspace; see [`memory()`].
//!
//! # Structure of the crate
//!
//! ```text
//! Problem::new             checks, sums and both orders of V, in parallel, once
//! factorize, run           the outer loop: iterate, certify, decide, report; save and restore the state
//!   solver/<method>.rs     the half-steps on one factor and then the other: formulas, legend, step
//!     block/               panels of columns: load, call, store; decides threads, order and sums
//!       kernel/            products, quotients, roots and logarithms on registers, for all instruction sets
//!   cost.rs                best ray, update, prox, gap: the meaning of a step and of a certificate
//!   certificate.rs         the divergence, and bounds on what W alone or H alone could gain
//! Solution                 factors, gaps, status
//! ```
//!
//! `decompose/` holds the stages of the convex problem, `primal_dual.rs` the step of the paper, `topics/` and
//! `simplex.rs` topic models, `init.rs` starts and growth, `cluster.rs` runs on several processes, and
//! `worker.rs` what each of them computes.
//!
//! # References
//!
//! F. Yanez & F. Bach, *Primal-dual algorithms for non-negative matrix factorization with the
//! Kullback-Leibler divergence* (2014). A. Chambolle & T. Pock, *A first-order primal-dual algorithm* (2011).
//! T. Pock & A. Chambolle, *Diagonal preconditioning for first order primal-dual algorithms* (2011). D. Lee &
//! S. Seung, *Algorithms for non-negative matrix factorization* (2000). D. Sun & C. Févotte, *Alternating
//! direction method of multipliers for NMF with the beta divergence* (2014). A. Ang & N. Gillis,
//! *Accelerating nonnegative matrix factorization algorithms using extrapolation* (2019). D. Bertsekas,
//! *Projected Newton methods for optimization problems with simple constraints* (1982).
//!
//! C.-J. Hsieh & I. Dhillon, *Fast coordinate descent methods with variable selection for non-negative matrix
//! factorization* (2011). P. Carbonetto, A. Sarkar, Z. Wang & M. Stephens, *Non-negative matrix factorization
//! algorithms greatly improve topic model fits* (2021). L. T. K. Hien & N. Gillis, *Algorithms for
//! nonnegative matrix factorization with the Kullback-Leibler divergence* (2021). L. T. K. Hien, V. Leplat &
//! N. Gillis, *Block majorization minimization with extrapolation and application to β-NMF* (2024). X. Lin &
//! P. Boutros, *Optimization and expansion of non-negative matrix factorization* (2020). C. Dantas, E.
//! Soubies & C. Févotte, *Expanding boundaries of gap safe screening* (2021). A. Lefèvre, F. Bach & C.
//! Févotte, *Online algorithms for nonnegative matrix factorization with the Itakura-Saito divergence*
//! (2011). D. Applegate et al., *Practical large-scale linear programming using primal-dual hybrid gradient*
//! (2021).

mod algorithm_1;
mod block;
mod certificate;
mod cluster;
mod compiled;
mod cost;
mod decompose;
mod error;
mod factorize;
mod init;
mod kernel;
mod linalg;
mod matching;
pub mod matrix;
mod memory;
mod online;
mod parallel;
mod primal_dual;
mod problem;
mod run;
mod scalar;
mod simplex;
mod solver;
mod starts;
mod topics;
mod worker;

pub use algorithm_1::{Algorithm1, Values, algorithm_1};
pub use block::{LineBuffer, Lines};
pub use certificate::{Certificate, certificate, check_factors};
#[doc(hidden)]
pub use cluster::{Begin, Cluster, Handle, RemoteRun, factorize_on};
pub use decompose::{ColumnInfo, DecomposeSettings, Decomposer, Decomposition, Stages, decompose};
pub use error::{Entry, Error, Result};
pub use factorize::{Info, Precision, Settings, Solution, Status, factorize, factorize_from};
pub use init::{Init, check_rank, grow, init};
pub use kernel::{instruction_level, instruction_levels, set_instruction_level};
pub use matching::{Match, assign, cosine, cosines, match_parts};
pub use matrix::{Mat, Matrix, Order, Sparse};
pub use memory::{Memory, memory};
pub use online::{Online, OnlineSettings, OnlineState};
pub use parallel::thread_count;
pub use problem::Problem;
pub use run::Run;
pub use scalar::Scalar;
pub use simplex::project_onto_simplex;
pub use solver::{Solver, Spec, State, Update};
pub use starts::Start;
pub use topics::{
    TopicInfo, TopicModel, TopicSettings, Weights, log_likelihoods, perplexity, to_poisson, to_topics,
    topic_weights, topics, topics_from,
};
#[doc(hidden)]
pub use worker::{Column, Piece, Step};
#[doc(hidden)]
pub use {
    block::Nonzero,
    matching::{dot, unit_columns},
    solver::Side,
    solver::extrapolated::carry_on,
    solver::place::{Facts, Test},
    topics::distributions,
};
