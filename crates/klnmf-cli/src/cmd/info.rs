//! `klnmf info`: what a file holds, and the memory that a factorisation of it needs.

use super::{Precision, thread_count};
use crate::summary::{self, bytes};
use clap::Args;
use klnmf::{Matrix, Scalar};
use klnmf_io::Summary;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a file holds, and the memory that a factorisation of it needs
///
/// For a matrix: shape, entries, empty rows and columns, and the memory formula with its value for --rank.
/// For a model: how it was made, its divergence and its gaps.
#[derive(Args)]
pub struct Info {
    /// File with a matrix or a model
    file: PathBuf,
    /// Number of parts to compute the memory for
    #[arg(long, short, value_name = "R", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rank: u32,
    /// Number format to compute the memory for
    #[arg(long, value_enum, default_value = "f64")]
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
        let found = klnmf_io::peek(&self.file)?;
        let mut facts = Map::new();
        facts.insert("kind".into(), json!(found.kind));
        facts.insert("shape".into(), found.shape.map_or(Value::Null, |(n, m)| json!([n, m])));
        facts.insert("stored".into(), json!(found.stored));
        facts.insert("dtype".into(), json!(found.dtype));
        facts.insert("row_names".into(), json!(found.row_names));
        facts.insert("col_names".into(), json!(found.col_names));
        if found.kind == "klnmf model" {
            let metadata = klnmf_io::read_model::<f64>(&self.file)?.metadata;
            facts.insert(
                "metadata".into(),
                serde_json::from_str(&metadata).unwrap_or(Value::String(metadata)),
            );
        } else if found.shape.is_some() {
            match self.precision {
                Precision::F32 => self.look_inside::<f32>(&mut facts)?,
                _ => self.look_inside::<f64>(&mut facts)?,
            }
        }
        if self.json {
            summary::print_json(facts)?;
        } else {
            summary::print(&self.text(&found, &facts))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Reads the matrix for the facts that depend on its entries.
    fn look_inside<T: Scalar>(&self, facts: &mut Map<String, Value>) -> anyhow::Result<()> {
        let table = klnmf_io::read::<T>(&self.file)?;
        let v = table.matrix.view();
        let (empty_rows, empty_cols) = v.empty();
        facts.insert("nnz".into(), json!(v.nnz()));
        facts.insert("sum".into(), summary::number(v.sum()));
        facts.insert("empty_rows".into(), json!(empty_rows));
        facts.insert("empty_cols".into(), json!(empty_cols));
        let memory = klnmf::memory(v, self.rank as usize, thread_count(self.threads));
        facts.insert("rank".into(), json!(self.rank));
        facts.insert("memory".into(), json!(memory.total() as f64));
        facts.insert(
            "memory_formula".into(),
            json!(format!(
                "2·V + 12·(W + H) + workspace = 2·{} + 12·{} + {}",
                bytes(memory.v),
                bytes(memory.factors),
                bytes(memory.workspace)
            )),
        );
        facts.insert("usable".into(), json!(usable(v)));
        Ok(())
    }

    fn text(&self, found: &Summary, facts: &Map<String, Value>) -> String {
        let mut text = format!("{}\n  kind       {}\n", self.file.display(), found.kind);
        if let Some((n, m)) = found.shape {
            text += &format!("  shape      {n} × {m}\n");
        }
        if let Some(dtype) = &found.dtype {
            text += &format!("  numbers    {dtype}\n");
        }
        if found.row_names || found.col_names {
            let which = match (found.row_names, found.col_names) {
                (true, true) => "rows and columns",
                (true, false) => "rows",
                _ => "columns",
            };
            text += &format!("  names      of {which}\n");
        }
        if let (Some(nnz), Some((n, m))) = (facts.get("nnz").and_then(Value::as_u64), found.shape) {
            let share = 100.0 * nnz as f64 / (n as f64 * m as f64);
            text += &format!("  non-zero   {nnz} ({share:.3} %), sum {}\n", facts["sum"]);
            text += &format!("  empty      {} rows, {} columns\n", facts["empty_rows"], facts["empty_cols"]);
            text += &format!("  usable     {}\n", facts["usable"].as_str().unwrap_or_default());
            text += &format!(
                "  memory     at most {} = {} in {} at rank {}\n",
                facts["memory_formula"].as_str().unwrap_or_default(),
                bytes(facts["memory"].as_f64().unwrap_or_default() as u128),
                if self.precision == Precision::F32 { "f32" } else { "f64" },
                self.rank
            );
        }
        if let Some(metadata) = facts.get("metadata").and_then(Value::as_object) {
            for (key, value) in metadata.iter().filter(|(key, value)| !value.is_null() && *key != "shape") {
                text += &format!("  {key:<11} {}\n", value.as_str().map_or(value.to_string(), str::to_owned));
            }
        }
        for array in &found.arrays {
            text += &format!("  array      {} {} {:?}\n", array.name, array.dtype, array.shape);
        }
        text
    }
}

/// Whether the matrix can be factorised as it is.
fn usable<T: Scalar>(v: Matrix<'_, T>) -> String {
    match v.check() {
        Ok(()) => "yes: all entries are finite and not negative".into(),
        Err(why) => format!("no: {why}"),
    }
}
