//! `klnmf info`: what a file holds, and the memory that a factorisation of it needs.

use super::{Precision, choices, thread_count};
use crate::disk;
use crate::names::Names;
use crate::summary::{self, bytes, six};
use clap::Args;
use klnmf::{Matrix, Memory, Scalar, Solver};
use klnmf_io::{Facts, Folder, Summary};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a file holds, and the memory that a factorisation of it needs
///
/// For a matrix: shape, entries, empty rows and columns, and the memory formula with its value for --rank.
/// For a model: how it was made (version, command or call, seed, instruction level, hash of the data), its
/// divergence and its gaps. The hash of a matrix does not depend on its storage, so it tells whether a model
/// was made from this file; a model made with --transpose has the hash of the transposed matrix.
/// For a checkpoint: the solver, the iterations so far, and the data that it belongs to.
#[derive(Args)]
#[command(after_help = "\
Examples:
  klnmf info cells.npz --rank 20
  klnmf info counts-r10.npz --json")]
pub struct Info {
    /// File with a matrix, a model or a checkpoint
    file: PathBuf,
    /// Layer of an .h5ad file to look at instead of X; raw stands for its raw/X
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    #[command(flatten)]
    names: Names,
    /// Number of parts to compute the memory for
    #[arg(
        long,
        short = 'k',
        visible_aliases = ["components", "topics"],
        value_name = "R",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    rank: u32,
    /// Method to compute the memory for
    #[arg(long, value_name = "SOLVER", value_parser = choices::any_solver(), default_value_t = Solver::Auto)]
    solver: Solver,
    /// Number format to compute the memory for
    #[arg(long, value_parser = choices::precision(), default_value = "f64")]
    precision: Precision,
    /// Number of threads to compute the memory for; 0 means one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

impl Info {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let mut found = klnmf_io::peek_layer(&self.file, self.layer.as_deref())?;
        let shape = found.shape.map_or((0, 0), |(n, m)| (n as usize, m as usize));
        let [rows, cols] = self.names.read(&self.file, shape)?;
        found.row_names |= rows.is_some();
        found.col_names |= cols.is_some();
        let mut facts = json!({
            "kind": found.kind,
            "shape": found.shape,
            "stored": found.stored,
            "dtype": found.dtype,
            "row_names": found.row_names,
            "col_names": found.col_names,
        });
        if !found.layers.is_empty() {
            facts["layers"] = json!(found.layers);
        }
        if found.kind == "klnmf model" {
            let metadata = klnmf_io::read_model::<f64>(&self.file)?.metadata;
            facts["metadata"] = serde_json::from_str(&metadata).unwrap_or(Value::String(metadata));
        } else if Folder::is_at(&self.file) {
            self.of_folder(&mut facts)?;
        } else if found.kind == "klnmf checkpoint" {
            let stored = klnmf_io::read_checkpoint(&self.file)?;
            facts["shape"] = json!([stored.shape.0, stored.shape.1]);
            facts["metadata"] = state(&stored);
        } else if found.shape.is_some() || self.layer.is_some() {
            match self.precision {
                Precision::F32 => self.look_inside::<f32>(&mut facts)?,
                _ => self.look_inside::<f64>(&mut facts)?,
            }
        }
        if self.json {
            summary::print_json(&facts)?;
        } else {
            summary::print(&self.text(&found, &facts))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The facts of a converted matrix, from its header.
    fn of_folder(&self, facts: &mut Value) -> anyhow::Result<()> {
        let found = Facts::read(&self.file)?;
        facts["source"] = json!(found.source.display().to_string());
        let (rank, threads) = (self.rank as usize, thread_count(self.threads));
        let memory = match self.precision {
            Precision::F32 => disk::memory_of::<f32>(&found, rank, threads),
            _ => disk::memory_of::<f64>(&found, rank, threads),
        };
        self.add(facts, &found, memory);
        facts["usable"] = json!("yes: all entries are finite and not negative");
        Ok(())
    }

    /// Reads the matrix for the facts that depend on its entries.
    fn look_inside<T: Scalar>(&self, facts: &mut Value) -> anyhow::Result<()> {
        let table = klnmf_io::read_layer::<T>(&self.file, self.layer.as_deref())?;
        let v = table.matrix.view();
        if self.layer.is_some() {
            facts["shape"] = json!([v.rows(), v.cols()]);
            facts["stored"] = json!(v.stored());
        }
        let found = Facts {
            layer: self.layer.clone().unwrap_or_default(),
            nonzero: v.nnz() as u64,
            sum: v.sum(),
            hash: klnmf_io::data_hash_text(v),
            empty: v.empty(),
            ..Facts::default()
        };
        self.add(facts, &found, klnmf::memory(v, self.rank as usize, thread_count(self.threads)));
        facts["usable"] = json!(usable(v));
        Ok(())
    }

    /// Adds what is known of the entries, and the memory of a factorisation.
    fn add(&self, facts: &mut Value, found: &Facts, mut memory: Memory) {
        if !found.layer.is_empty() {
            facts["layer"] = json!(found.layer);
        }
        facts["nnz"] = json!(found.nonzero);
        facts["sum"] = summary::number(found.sum);
        facts["data_hash"] = json!(found.hash);
        facts["empty_rows"] = json!(found.empty.0);
        facts["empty_cols"] = json!(found.empty.1);
        memory.workspace += memory.beyond(self.solver);
        facts["rank"] = json!(self.rank);
        facts["memory"] = json!(memory.total() as f64);
        facts["memory_formula"] = json!(format!(
            "2·V + 12·(W + H) + workspace = 2·{} + 12·{} + {}",
            bytes(memory.v),
            bytes(memory.factors),
            bytes(memory.workspace)
        ));
    }

    fn text(&self, found: &Summary, facts: &Value) -> String {
        let mut lines = vec![("kind".to_owned(), found.kind.clone())];
        let mut line = |key: &str, text: String| lines.push((key.to_owned(), text));
        if let Some(layer) = &self.layer {
            line("layer", layer.clone());
        }
        let shape: Option<(u64, u64)> = serde_json::from_value(facts["shape"].clone()).unwrap_or_default();
        if let Some((n, m)) = shape {
            line("shape", format!("{n} × {m}"));
        }
        if !found.layers.is_empty() {
            line("layers", found.layers.join(", "));
        }
        if let Some(source) = facts.get("source") {
            line("source", shown(source));
        }
        if let Some(dtype) = &found.dtype {
            line("numbers", dtype.clone());
        }
        match (found.row_names, found.col_names) {
            (true, true) => line("names", "of rows and columns".into()),
            (true, false) => line("names", "of rows".into()),
            (false, true) => line("names", "of columns".into()),
            (false, false) => {}
        }
        if let (Some(nnz), Some((n, m))) = (facts.get("nnz").and_then(Value::as_u64), shape) {
            line("non-zero", format!("{nnz} ({} %)", six(100.0 * nnz as f64 / (n as f64 * m as f64))));
            line("sum", shown(&facts["sum"]));
            line("data_hash", shown(&facts["data_hash"]));
            line("empty", format!("{} rows, {} columns", facts["empty_rows"], facts["empty_cols"]));
            line("usable", shown(&facts["usable"]));
            line("memory", self.memory(facts));
        }
        if let Some(metadata) = facts.get("metadata").and_then(Value::as_object) {
            let told = metadata.iter().filter(|(key, value)| !value.is_null() && *key != "shape");
            told.for_each(|(key, value)| line(key, shown(value)));
        }
        for array in &found.arrays {
            line("array", format!("{} {} {:?}", array.name, array.dtype, array.shape));
        }
        let width = lines.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
        let rows = lines.iter().map(|(key, text)| format!("  {key:<width$}  {text}\n"));
        format!("{}\n{}", self.file.display(), rows.collect::<String>())
    }

    fn memory(&self, facts: &Value) -> String {
        format!(
            "at most {} = {} in {} at rank {}",
            shown(&facts["memory_formula"]),
            bytes(facts["memory"].as_f64().unwrap_or_default() as u128),
            if self.precision == Precision::F32 { "f32" } else { "f64" },
            self.rank
        )
    }
}

/// The state of a run, and how to go on from it.
fn state(stored: &klnmf_io::Checkpoint) -> Value {
    json!({
        "solver": stored.state.solver.name(),
        "iterations": stored.state.iteration,
        "seconds": stored.state.seconds,
        "rank": stored.rank(),
        "data": stored.fingerprint,
        "advice": "klnmf factorize V --resume FILE continues the run, with the same V and settings",
    })
}

/// A value as text; whole numbers in full, others with six significant digits.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => six(number.as_f64().unwrap_or_default()),
        Value::Null => "not a finite number".into(),
        other => other.to_string(),
    }
}

/// Whether the matrix can be factorised as it is.
fn usable<T: Scalar>(v: Matrix<'_, T>) -> String {
    match v.check() {
        Ok(()) => "yes: all entries are finite and not negative".into(),
        Err(why) => format!("no: {why}"),
    }
}
