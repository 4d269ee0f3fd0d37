//! `klnmf consensus`: the parts that many fits have in common.

mod page;

use super::many::{Many, incomplete};
use super::{Data, Output, metadata};
use crate::out_folder::OutFolder;
use crate::{outputs, summary};
use clap::Args;
use klnmf_io::{Model, Table};
use klnmf_select::ConsensusSettings;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Join the parts of many fits of one rank
///
/// V is fitted many times, from other starts or (--bootstrap) with its counts drawn
/// again. The parts of all fits are matched one to one, and the median of each cluster
/// is a consensus part. Its weights come with an optimality gap for every column. The
/// silhouettes say which parts can be trusted.
///
/// Every fit has a file of its own. After Ctrl-C or a crash, the same command continues.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    name = "consensus",
    after_help = "\
Examples:
  klnmf consensus counts.csv --rank 8
  klnmf consensus counts.csv --rank 8 --replicates 50 --bootstrap --out drawn
  klnmf consensus cells.h5ad --layer counts --rank 12 --density 0.5 --sweeps 100"
)]
pub struct Join {
    #[command(flatten)]
    data: Data,
    /// Number of parts
    #[arg(long, short = 'k', visible_aliases = ["components", "topics"], value_name = "R")]
    rank: usize,
    /// Number of fits
    #[arg(long, value_name = "N", default_value_t = 100)]
    replicates: usize,
    /// Leave out parts whose mean distance to their nearest neighbours is larger, as cNMF does; 0.5 is
    /// strict, 2 keeps all [default: all are kept]
    #[arg(long, value_name = "DISTANCE")]
    density: Option<f64>,
    /// Iterations on parts and weights at the end; 0 leaves the medians as they are
    #[arg(long, value_name = "N", default_value_t = 0)]
    sweeps: usize,
    #[command(flatten)]
    many: Many,
    #[command(flatten)]
    output: Output,
}

/// The files in the folder, beside the fits.
const FILES: [&str; 5] = ["plan.json", "fits", "consensus.npz", "consensus.json", "index.html"];

impl Join {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        let path = self.many.out(&self.data, &format!("-consensus-r{}", self.rank));
        let folder = OutFolder::new(&path, &FILES)?;
        self.many.check_results(&folder.file("consensus.json"), &self.settings())?;
        let table = self.many.read(&self.data, self.rank)?;
        let v = table.matrix.view();
        super::note_rank(&self.output, (v.rows(), v.cols()), self.rank);
        let fits = self.many.fits(v, (&self.data, &self.output), (&folder, &path))?;
        let settings = ConsensusSettings {
            rank: self.rank,
            replicates: self.replicates,
            bootstrap: self.many.bootstrap,
            density: self.density,
            sweeps: self.sweeps,
        };
        let found = match klnmf_select::consensus(&fits, &settings) {
            Ok(found) => found,
            Err(why) => return incomplete(&self.output, why),
        };
        let facts = self.facts(&found, (v.rows(), v.cols()));
        write(&path, &table, &found, &facts, command)?;
        klnmf_io::write_text(&path.join("index.html"), &page::page(&self.data.path, &found)?)?;
        self.output.print(facts, |_| text(&found, &path))?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the results depend on, beside the fits.
    fn settings(&self) -> Value {
        json!({ "rank": self.rank, "replicates": self.replicates, "bootstrap": self.many.bootstrap,
                "density": self.density, "sweeps": self.sweeps })
    }

    /// The keys and values of the JSON output.
    fn facts(&self, found: &klnmf_select::Consensus, (n, m): (usize, usize)) -> Value {
        let numbers = |values: &[f64]| values.iter().map(|x| summary::number(*x)).collect::<Vec<_>>();
        json!({
            "rank": found.w.cols(),
            "shape": [n, m],
            "replicates": found.fits.len(),
            "unconverged": found.fits.iter().filter(|fit| !fit.converged).count(),
            "settings": self.settings(),
            "left_out": found.left_out,
            "divergence": summary::number(found.divergence),
            "gap": summary::number(found.gaps.iter().sum()),
            "best_divergence": summary::number(found.fits[0].divergence),
            "members": found.members.iter().map(Vec::len).collect::<Vec<_>>(),
            "cosines": numbers(&found.stability.cosines),
            "silhouettes": numbers(&found.stability.silhouettes),
        })
    }
}

fn write(
    folder: &Path,
    table: &Table<f64>,
    found: &klnmf_select::Consensus,
    facts: &Value,
    command: &str,
) -> anyhow::Result<()> {
    let hash = klnmf_io::data_hash_text(table.matrix.view());
    let metadata = metadata(facts, command, json!({ "kind": "consensus", "data_hash": hash }));
    let model = Model {
        row_names: table.row_names.clone(),
        col_names: table.col_names.clone(),
        columns: vec![("gaps".into(), found.gaps.clone())],
        ..Model::new(found.w.clone(), found.h.clone(), metadata)
    };
    klnmf_io::write_model(&folder.join("consensus.npz"), &model)?;
    Ok(klnmf_io::write_text(&folder.join("consensus.json"), &format!("{facts}\n"))?)
}

fn text(found: &klnmf_select::Consensus, folder: &Path) -> String {
    let unconverged = found.fits.iter().filter(|fit| !fit.converged).count();
    let mut text = format!("fits         {}, of which {unconverged} have not converged\n", found.fits.len());
    if found.left_out > 0 {
        text += &format!("left out     {} parts without near neighbours\n", found.left_out);
    }
    for (k, members) in found.members.iter().enumerate() {
        let (cosine, silhouette) = (found.stability.cosines[k], found.stability.silhouettes[k]);
        let number = |x: f64| if x.is_finite() { format!("{x:.3}") } else { "not defined".into() };
        text += &format!(
            "{:<12} {} members, cosine {}, silhouette {}\n",
            outputs::part(k),
            members.len(),
            number(cosine),
            number(silhouette)
        );
    }
    let gap: f64 = found.gaps.iter().sum();
    text += &format!(
        "divergence   {:.6e}, the best fit has {:.6e}\n",
        found.divergence, found.fits[0].divergence
    );
    text += &format!("gap          optimality gap {gap:.3e}: other weights gain at most this\n");
    text + &format!("page         {}\n", folder.join("index.html").display())
}
