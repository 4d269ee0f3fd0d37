//! The experiments of Yanez & Bach, *Primal-dual algorithms for NMF with the Kullback-Leibler divergence*
//! (2014), and a report that compares every claim of the paper with the measurements. `klnmf reproduce` runs
//! them.
//!
//! A [`Study`] has the settings. [`Study::load`] reads the data of an experiment, [`Study::measure`] runs it
//! and writes its tables, and [`draw`] makes the report from the tables alone.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use klnmf_paper::{Experiment, Study, draw};
//!
//! let study = Study { out: "report".into(), ..Study::default() };
//! let task = study.load(Experiment::SyntheticNd)?;
//! study.measure(&task, &Default::default(), |doing, share| println!("{doing}: {:.0} %", 100.0 * share))?;
//! draw(&study.out)?;
//! # Ok(())
//! # }
//! ```

mod checksum;
mod claim;
mod corpus;
mod decomposition;
mod dictionary;
mod experiment;
mod faces;
mod factorisation;
mod front;
mod grow;
pub mod images;
mod judge;
mod manifest;
mod music;
mod optimum;
mod page;
mod race;
mod random;
mod record;
mod restart_claims;
mod section;
mod size;
mod spread;
mod starts;
mod study;
mod sweep;
pub mod swimmer;
mod synthetic_nd;
mod synthetic_nmf;
mod topics;
mod trace;
mod warm_restart;

pub use claim::{VERDICTS, Verdict};
pub use experiment::{EXPERIMENTS, Experiment};
pub use page::{Shown, draw};
pub use race::Interrupted;
pub use random::Random;
pub use size::Size;
pub use study::{Earlier, Study, Task};
