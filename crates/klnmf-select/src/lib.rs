//! How many parts, and which of them can be trusted: many fits of one matrix, compared.
//!
//! * A [`Job`] is one fit: a rank, and V itself, a bootstrap of it, or a training fold. It is a small value
//!   with a text form, and [`Job::run`] is a function of V and the job alone.
//! * [`Fits`] runs jobs on all threads, and keeps every fit in a file of its own, so that a
//!   killed run continues to the same bytes and several processes can share the work.
//! * [`rank`] compares ranks: the held-out likelihood of thinned counts, the stability of the parts, and a
//!   range of ranks that are as good as the best one.
//! * [`consensus`] joins the parts of many fits of one rank.
//!
//! ```
//! use klnmf::Mat;
//! use klnmf_select::{Fits, RankSettings, rank};
//!
//! let v = Mat::from_fn(20, 30, |i, j| (((i % 3) * (j % 4) + (i % 5) * (j % 2)) * 20) as f64);
//! let settings = RankSettings { ranks: vec![1, 2, 3], replicates: 3, ..RankSettings::default() };
//! let found = rank(&Fits::in_memory((&v).into())?, &settings)?;
//! assert_eq!(found.rows.len(), 3);
//! # Ok::<(), klnmf_select::Error>(())
//! ```

mod choice;
mod consensus;
mod dispersion;
mod error;
mod fit;
mod fits;
mod job;
mod random;
mod rank;
mod stability;
mod thinning;
mod tree;

pub use choice::{Choice, Curve, choose, stable_ranks};
pub use consensus::{Consensus, ConsensusSettings, consensus};
pub use dispersion::Dispersion;
pub use error::Error;
pub use fit::{Fit, FitSettings};
pub use fits::{Fits, Progress, Worker};
pub use job::{Draw, Job};
pub use rank::{Rank, RankRow, RankSettings, rank};
pub use stability::{Clusters, Stability, cluster};
pub use thinning::{Split, are_counts, bootstrap, split};
pub use tree::{Branch, tree};
