//! `klnmf rank`: how many parts.

mod page;
mod table;
mod tree;

use super::many::{Many, incomplete};
use super::{Data, Output, metadata};
use crate::out_folder::OutFolder;
use clap::Args;
use klnmf_io::{Model, Table};
use klnmf_select::{Choice, Rank, RankSettings};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Compare ranks: how many parts are there?
///
/// Every rank of a range is fitted several times. Two questions are asked of each. Do
/// its fits predict counts that were held out? Are its parts the same in every fit? The
/// answer is a range: from the smallest rank that predicts as well as the best one
/// (within a standard error) to the best one; or that prediction still improves at the
/// end of the range. Data that are not counts cannot be split into folds that are
/// independent, so that only the second question is asked.
///
/// Every fit has a file of its own. After Ctrl-C or a crash, the same command continues.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    name = "rank",
    after_help = "\
Examples:
  klnmf rank counts.csv --from 2 --to 20
  klnmf rank counts.csv --to 12 --replicates 20 --bootstrap --out ranks
  klnmf rank counts.csv --to 40 --out large --worker 3/8   # one of eight jobs"
)]
pub struct Ranks {
    #[command(flatten)]
    data: Data,
    /// Smallest rank
    #[arg(long, value_name = "R", default_value_t = 2)]
    from: usize,
    /// Largest rank
    #[arg(long, value_name = "R", default_value_t = 20)]
    to: usize,
    /// Fits of each rank, whose parts are compared
    #[arg(long, value_name = "N", default_value_t = 10)]
    replicates: usize,
    /// Folds of the counts: each is predicted from the others; 0 holds nothing out
    #[arg(long, value_name = "K", default_value_t = RankSettings::default().folds)]
    folds: usize,
    #[command(flatten)]
    many: Many,
    #[command(flatten)]
    output: Output,
}

/// The files in the folder, beside the fits.
const FILES: [&str; 6] = ["plan.json", "fits", "models", "rank.csv", "rank.json", "index.html"];

impl Ranks {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        if self.from == 0 || self.from > self.to || self.folds == 1 {
            anyhow::bail!(
                "--from {} --to {} --folds {}: give ranks from 1 on, the smaller one first, and 0 or at least \
                 2 folds",
                self.from,
                self.to,
                self.folds
            );
        }
        let path = self.many.out(&self.data, "-ranks");
        let folder = OutFolder::new(&path, &FILES)?;
        self.many.check_results(&folder.file("rank.json"), &self.settings())?;
        let table = self.many.read(&self.data, self.to)?;
        let v = table.matrix.view();
        super::note_rank(&self.output, (v.rows(), v.cols()), self.to);
        let fits = self.many.fits(v, (&self.data, &self.output), (&folder, &path))?;
        let settings = RankSettings {
            ranks: (self.from..=self.to).collect(),
            replicates: self.replicates,
            folds: self.folds,
            bootstrap: self.many.bootstrap,
        };
        let found = match klnmf_select::rank(&fits, &settings) {
            Ok(found) => found,
            Err(why) => return incomplete(&self.output, why),
        };
        let mut facts = facts(&found, (v.rows(), v.cols()));
        facts["settings"] = self.settings();
        write_models(&path.join("models"), &table, &found, command)?;
        self.write(&path, &table, &found, &facts)?;
        self.output.print(facts, |_| text(&found, &path, (v.rows(), v.cols())))?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the results depend on, beside the fits.
    fn settings(&self) -> Value {
        json!({ "from": self.from, "to": self.to, "replicates": self.replicates, "folds": self.folds,
                "bootstrap": self.many.bootstrap })
    }

    fn write(&self, folder: &Path, table: &Table<f64>, found: &Rank, facts: &Value) -> anyhow::Result<()> {
        let put = |name: &str, text: String| klnmf_io::write_text(&folder.join(name), &text);
        put("rank.csv", table::csv(found))?;
        put("rank.json", format!("{facts}\n"))?;
        Ok(put("index.html", page::page(&self.data.path, table, found)?)?)
    }
}

/// The best model of every rank, with the names of V, its hash and the command. Models of ranks that the
/// results do not have any more are removed.
fn write_models(folder: &Path, table: &Table<f64>, found: &Rank, command: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    let hash = klnmf_io::data_hash_text(table.matrix.view());
    let file = |rank: usize| format!("r{rank:02}.npz");
    let written: Vec<String> = found.rows.iter().map(|row| file(row.rank)).collect();
    for entry in std::fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let rank = name.strip_prefix('r').and_then(|name| name.strip_suffix(".npz")?.parse().ok());
        if rank.is_some_and(|rank| file(rank) == name) && !written.contains(&name) {
            std::fs::remove_file(entry.path())?;
        }
    }
    for row in &found.rows {
        let model = row.fit.to_model();
        let facts = serde_json::from_str(&model.metadata)?;
        let metadata = metadata(&facts, command, json!({ "kind": "rank", "data_hash": hash }));
        let (row_names, col_names) = (table.row_names.clone(), table.col_names.clone());
        let model = Model { row_names, col_names, metadata, ..model };
        klnmf_io::write_model(&folder.join(file(row.rank)), &model)?;
    }
    Ok(())
}

/// The keys and values of the JSON output.
fn facts(found: &Rank, (n, m): (usize, usize)) -> Value {
    let choice = |choice: &Choice| {
        json!({ "range": choice.range(), "best": choice.best, "smallest": choice.smallest,
                "still_falling": choice.falling })
    };
    json!({
        "range": found.range(),
        "still_falling": found.choice().is_some_and(|choice| choice.falling),
        "by": if found.choice().is_some() { "held-out counts" } else { "stability" },
        "shape": [n, m],
        "counts": found.counts,
        "dispersion": found.dispersion.map(|d| json!({
            "rank": d.rank, "phi": d.phi, "size": crate::summary::number(d.size), "over": d.is_over()
        })),
        "poisson": found.poisson.as_ref().map(choice),
        "over_dispersed": found.over_dispersed.as_ref().map(choice),
        "stable": found.stable.last(),
        "stable_ranks": found.stable,
        "ranks": found.rows.iter().enumerate().map(|(at, _)| table::object(found, at)).collect::<Vec<_>>(),
    })
}

fn text(found: &Rank, folder: &Path, (n, m): (usize, usize)) -> String {
    let (fits, unconverged) =
        found.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.fits, sum.1 + row.unconverged));
    let (first, last) = (found.rows[0].rank, found.rows[found.rows.len() - 1].rank);
    let mut text = format!("V            {n} × {m}{}\n", if found.counts { ", counts" } else { "" });
    text +=
        &format!("ranks        {first} to {last}, {fits} fits, of which {unconverged} have not converged\n");
    if let Some(line) = dispersion(found) {
        text += &format!("variance     {line}\n");
    }
    text += &format!("range        {}\n", range(found));
    text += &format!("stability    {}\n", stability(found));
    text + &format!("page         {}\n", folder.join("index.html").display())
}

/// What the dispersion of the counts says.
fn dispersion(found: &Rank) -> Option<String> {
    let d = found.dispersion?;
    Some(if d.is_over() {
        format!(
            "{:.1} times that of Poisson counts (negative binomial of size {:.3}), so folds are beta-binomial",
            d.phi, d.size
        )
    } else {
        format!("{:.2} times that of Poisson counts, so folds are multinomial", d.phi)
    })
}

/// The answer in words.
fn range(found: &Rank) -> String {
    let last = found.rows[found.rows.len() - 1].rank;
    match (found.choice(), found.range()) {
        (Some(_), Some((low, high))) if low == high => format!("{low} parts predict held-out counts best"),
        (Some(_), Some((low, high))) => format!(
            "{low} to {high} parts: {high} predict held-out counts best, {low} as well within a standard error"
        ),
        (Some(_), None) => {
            format!("none: the prediction of held-out counts still improves at {last} parts; raise --to")
        }
        (None, Some((_, high))) => format!("{high} parts: the largest rank whose parts are stable"),
        (None, None) => "none: no rank has stable parts".into(),
    }
}

/// What stability says, and why nothing else does if V does not hold counts.
fn stability(found: &Rank) -> String {
    let largest = match &found.stable[..] {
        [] => "no rank has stable parts".into(),
        [rank] => format!("only rank {rank} has stable parts"),
        ranks => format!("stable parts at ranks {}", spans(ranks)),
    };
    let why = "; V does not hold counts, so no folds were held out";
    let rule = " (mean silhouette ≥ 0.8, least ≥ 0.2)";
    format!("{largest}{rule}{}", if found.counts { "" } else { why })
}

/// Numbers in order, as in `2–5, 7`.
fn spans(ranks: &[usize]) -> String {
    let spans = ranks.chunk_by(|a, b| a + 1 == *b).map(|span| match span {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    });
    spans.collect::<Vec<_>>().join(", ")
}
