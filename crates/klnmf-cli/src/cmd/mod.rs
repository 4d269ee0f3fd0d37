//! The verbs, one per file.

mod checkpoint;
mod choices;
mod compare;
mod completions;
mod consensus;
mod convert;
mod decompose;
mod demo;
mod factorize;
mod info;
mod man;
mod many;
mod rank;
mod reproduce;
mod separate;
mod topics;
mod trace;

pub use klnmf::{Precision, thread_count};

use crate::names::Names;
use crate::{command_line, disk, summary};
use anyhow::Context;
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
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
/// the name. Single cells: .h5ad (AnnData), .h5 (10x Genomics), and folders with matrix.mtx.gz. These are
/// read as genes × cells with their names, so they need no --transpose. Data larger than memory stay on disk:
/// see klnmf convert.
#[derive(Parser)]
#[command(name = "klnmf", version, max_term_width = 110, after_help = FIRST)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// What to type first.
const FIRST: &str = "\
Examples:
  klnmf demo                              # what it does, on built-in data
  klnmf info counts.csv                   # what a file holds
  klnmf factorize counts.csv --rank 10    # its parts and weights
  klnmf factorize --help                  # every option of a verb";

#[derive(Subcommand)]
enum Verb {
    Factorize(factorize::Factorize),
    Decompose(decompose::Decompose),
    Topics(topics::Topics),
    Separate(separate::Separate),
    Rank(rank::Ranks),
    Consensus(consensus::Join),
    Compare(compare::Compare),
    Info(info::Info),
    Convert(convert::Convert),
    Demo(demo::Demo),
    Reproduce(reproduce::Reproduce),
    Completions(completions::Completions),
    Man(man::Man),
}

/// The program with its verbs. Their options take negative numbers, so that a wrong one is told from a wrong
/// option.
fn program() -> Command {
    let option = |option: Arg| {
        let negative = !option.is_positional() && option.get_action().takes_values();
        option.allow_negative_numbers(negative)
    };
    Cli::command().mut_subcommands(|verb| verb.mut_args(option))
}

/// Runs a command line, whose first word is the program. The exit code is 0, or 130 after an interruption. A
/// line that cannot be parsed ends the program.
pub fn run(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> anyhow::Result<ExitCode> {
    let mut program = program();
    let matches = match program.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(why) => return help(&why),
    };
    let command = command_line::record(&program, &matches);
    let Some(verb) = Cli::from_arg_matches(&matches).unwrap_or_else(|why| why.exit()).verb else {
        summary::print(&format!("klnmf factors a non-negative matrix into parts and weights. {FIRST}\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    match verb {
        Verb::Factorize(verb) => verb.run(&command),
        Verb::Decompose(verb) => verb.run(&command),
        Verb::Topics(verb) => verb.run(&command),
        Verb::Separate(verb) => verb.run(),
        Verb::Rank(verb) => verb.run(&command),
        Verb::Consensus(verb) => verb.run(&command),
        Verb::Compare(verb) => verb.run(),
        Verb::Info(verb) => verb.run(),
        Verb::Convert(verb) => verb.run(),
        Verb::Demo(verb) => verb.run(),
        Verb::Reproduce(verb) => verb.run(),
        Verb::Completions(verb) => verb.run(program),
        Verb::Man(verb) => verb.run(program),
    }
}

/// Prints the help or the version, which clap returns as an error. A usage error ends the program. Clap itself
/// ignores that standard output cannot be written.
fn help(found: &clap::Error) -> anyhow::Result<ExitCode> {
    if found.use_stderr() {
        found.exit();
    }
    let printed = found.print().and_then(|()| std::io::stdout().flush());
    printed.context("cannot print the help")?;
    Ok(ExitCode::SUCCESS)
}

/// The data and how to read them: the same for every verb that reads V.
#[derive(Args)]
pub struct Data {
    /// The matrix V: .npy, .npz, .mtx, .csv, .tsv or .txt; rows are features, columns are samples. Also
    /// .h5ad, 10x .h5 and 10x folders, whose cells are the samples
    #[arg(value_name = "V")]
    pub path: PathBuf,
    /// Layer of an .h5ad file to read instead of X; raw stands for its raw/X
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
    /// Transpose the file, which holds samples × features
    #[arg(long)]
    pub transpose: bool,
    #[command(flatten)]
    pub names: Names,
    /// Number format of V, W, H and the iterations of factorize; decompose and the gaps are always computed
    /// in f64 [default: f64; factorize with auto: mixed]
    #[arg(long, value_parser = choices::precision())]
    pub precision: Option<Precision>,
    /// Number of threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Memory that may be used, such as 4GiB. If V does not fit, it is converted once into a folder beside
    /// the file and stays on disk; the result is the same [default: the free memory]
    #[arg(long, value_name = "SIZE", value_parser = disk::parse_bytes)]
    pub memory: Option<u64>,
}

impl Data {
    /// The files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        self.names.files().chain([&self.path]).cloned().collect()
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
    /// Print what is done, and the progress line by line, on standard error
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
}

impl Output {
    /// Prints the facts of a verb as one JSON object, as text, or not at all.
    pub fn print(&self, facts: Value, text: impl FnOnce(&Value) -> String) -> anyhow::Result<()> {
        if self.json {
            return summary::print_json(&facts);
        }
        if self.quiet {
            return Ok(());
        }
        summary::print(&text(&facts))
    }

    /// Prints a note on standard error, unless it must be quiet.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            complain(&format!("note: {text}"));
        }
    }

    /// Prints a line on standard error if it must be verbose.
    pub fn tell(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            complain(&text());
        }
    }
}

/// Prints a line on standard error, which may be closed.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "klnmf: {text}");
}

/// Tells that a smaller rank does as well.
pub fn note_rank(output: &Output, (n, m): (usize, usize), rank: usize) {
    if rank > n.min(m) {
        let least = n.min(m);
        output.note(&format!(
            "rank {rank} is above min(rows, columns) = {least}, and {least} parts can already reproduce V \
             exactly: choose a smaller rank if the parts are to mean something"
        ));
    }
}

/// A result as the metadata of a model: its facts without what differs between runs and machines, with the
/// command and the settings that the facts do not hold.
pub fn metadata(facts: &Value, command: &str, more: Value) -> String {
    let all = [facts, &more].into_iter().filter_map(Value::as_object).flatten();
    let lasting = all.filter(|(key, _)| !["seconds", "threads"].contains(&key.as_str()));
    let mut metadata: Value = lasting.map(|(key, value)| (key.clone(), value.clone())).collect();
    metadata["command"] = json!(command);
    metadata.to_string()
}

/// A duration from the command line: seconds, or a number with s, m or h after it.
pub fn parse_seconds(text: &str) -> Result<std::time::Duration, String> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let in_units = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let (number, unit) = in_units.unwrap_or((text, 1.0));
    let number: f64 =
        number.parse().map_err(|_| format!("{text:?} is not a number of seconds, or a time such as 10m"))?;
    std::time::Duration::try_from_secs_f64(unit * number).map_err(|_| "give a number of seconds ≥ 0".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every verb ends its help with examples, and the program understands each of them.
    #[test]
    fn the_examples_of_every_help_can_be_typed() {
        for verb in program().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  klnmf ")).collect();
            assert!(help.starts_with("Examples:") && !lines.is_empty(), "{}: {help}", verb.get_name());
            for line in lines {
                let words = line.split(['#', '|', '>']).next().unwrap_or_default().split_whitespace();
                let parsed = program().try_get_matches_from(["klnmf"].into_iter().chain(words));
                assert!(parsed.is_ok_and(|words| words.subcommand_name() == Some(verb.get_name())), "{line}");
            }
        }
    }
}
