//! `klnmf convert`: a matrix as a folder that can be factorised from disk.

use super::Output;
use crate::summary::bytes;
use crate::{disk, interrupt};
use anyhow::bail;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert V into a folder of packed rows and columns, to factorise it from disk
///
/// factorize and decompose do this themselves if V does not fit in memory. The
/// folder takes 1 to 5 bytes per count for both orders, and other numbers are kept
/// exactly. .h5ad, 10x files and .mtx are read piece by piece; other formats are
/// read into memory first. factorize, decompose and info read the folder in place
/// of the file.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf convert huge.h5ad --layer counts
  klnmf convert huge.mtx.gz --out packed.klnmf --memory 4GiB"
)]
pub struct Convert {
    /// The matrix, in any format that factorize reads
    #[arg(value_name = "V")]
    path: PathBuf,
    /// Layer of an .h5ad file to read instead of X; raw stands for its raw/X
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// Folder to write, with a name that ends in .klnmf [default: beside V, with its name
    /// and that of the layer]
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Memory to use, such as 4GiB [default: half of the free memory]
    #[arg(long, value_name = "SIZE", value_parser = disk::parse_bytes)]
    memory: Option<u64>,
    #[command(flatten)]
    output: Output,
}

impl Convert {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let layer = self.layer.as_deref();
        let out = self.out.unwrap_or_else(|| disk::name_for(&self.path, layer));
        if out.extension().is_none_or(|extension| extension != "klnmf") {
            bail!(
                "--out {}: give a name that ends in .klnmf, by which the folder is recognised",
                out.display()
            );
        }
        let memory = disk::conversion_memory(self.memory)?;
        // Ctrl-C removes the hidden folder.
        interrupt::flag();
        interrupt::nothing_to_save();
        let found = klnmf_io::convert(&self.path, layer, &out, memory)?;
        let size: u64 = ["columns", "rows"]
            .iter()
            .filter_map(|name| std::fs::metadata(out.join(name)).ok())
            .map(|file| file.len())
            .sum();
        let (rows, cols) = found.shape();
        let facts = json!({
            "folder": out.display().to_string(),
            "shape": [rows, cols],
            "stored": found.facts.stored,
            "nnz": found.facts.nonzero,
            "bytes": size,
        });
        self.output.print(facts, |_| {
            format!(
                "V            {rows} × {cols}, {} entries\nfolder       {}, {}, {:.2} bytes per entry\n",
                found.facts.stored,
                out.display(),
                bytes(size.into()),
                size as f64 / found.facts.stored.max(1) as f64
            )
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
