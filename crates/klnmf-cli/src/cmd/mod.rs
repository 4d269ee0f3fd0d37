//! The verbs, one per file.

mod decompose;
mod demo;
mod factorize;
mod info;
mod reproduce;
mod separate;
mod solvers;
mod topics;

use crate::summary;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::process::ExitCode;

/// Non-negative matrix factorisation with the Kullback-Leibler divergence
///
/// V ≈ W·H with V, W, H ≥ 0. Rows of V are features and columns are samples. Columns of W are parts
/// (signatures, topics, spectra), and columns of H are weights: how much of each part a sample holds.
///
/// For fixed parts, `decompose` finds the weights with an optimality gap for every column: a bound on the
/// distance to the optimum. For a factorisation, two single-factor gaps say what changing W alone or H alone
/// could still gain; another start may end lower.
///
/// Files: .npy, .npz (numpy, scipy.sparse), .mtx, .csv, .tsv, .txt; all but .npz also gzipped, with .gz after
/// the name.
#[derive(Parser)]
#[command(name = "klnmf", version, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Factorize(factorize::Factorize),
    Decompose(decompose::Decompose),
    Topics(topics::Topics),
    Separate(separate::Separate),
    Info(info::Info),
    Demo(demo::Demo),
    Reproduce(reproduce::Reproduce),
}

impl Cli {
    /// Runs the verb. The exit code is 0, or 130 after an interruption.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.verb {
            Verb::Factorize(verb) => verb.run(),
            Verb::Decompose(verb) => verb.run(),
            Verb::Topics(verb) => verb.run(),
            Verb::Separate(verb) => verb.run(),
            Verb::Info(verb) => verb.run(),
            Verb::Demo(verb) => verb.run(),
            Verb::Reproduce(verb) => verb.run(),
        }
    }
}

/// The data and how to read them: the same for every verb that reads V.
#[derive(Args)]
pub struct Data {
    /// The matrix V: .npy, .npz, .mtx, .csv, .tsv or .txt; rows are features, columns are samples
    #[arg(value_name = "V")]
    pub path: PathBuf,
    /// Transpose the file, which holds samples × features
    #[arg(long)]
    pub transpose: bool,
    /// Number format of V, W, H and the iterations of factorize; decompose and the gaps are always computed
    /// in f64 [default: f64; factorize with auto: mixed]
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// Number of threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub threads: usize,
}

/// Number formats.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Precision {
    /// 32 bits: faster, half the memory; the relative gaps of a factorisation stall near 1e-5
    F32,
    /// 64 bits
    F64,
    /// Early iterations in f32, the rest in f64; the same as f64 where nothing is factorised
    Mixed,
}

impl Precision {
    /// The same for the library.
    pub fn library(self) -> klnmf::Precision {
        match self {
            Precision::F32 => klnmf::Precision::F32,
            Precision::F64 => klnmf::Precision::F64,
            Precision::Mixed => klnmf::Precision::Mixed,
        }
    }
}

/// What to print.
#[derive(Args)]
pub struct Output {
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    pub json: bool,
    /// Show no progress bar and print no text
    #[arg(long, short)]
    pub quiet: bool,
}

impl Output {
    /// Prints the facts of a verb as one JSON object, as text, or not at all.
    pub fn print(
        &self,
        facts: Map<String, Value>,
        text: impl FnOnce(&Map<String, Value>) -> String,
    ) -> anyhow::Result<()> {
        if self.json {
            return summary::print_json(facts);
        }
        if self.quiet {
            return Ok(());
        }
        summary::print(&text(&facts))
    }
}

/// The number of threads for `--threads`.
pub fn thread_count(asked: usize) -> usize {
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, |n| n.get()) }
}

/// A duration in seconds from the command line.
pub fn parse_seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number of seconds"))?;
    std::time::Duration::try_from_secs_f64(seconds).map_err(|_| "give a number of seconds ≥ 0".into())
}
