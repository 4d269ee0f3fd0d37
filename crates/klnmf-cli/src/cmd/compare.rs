//! `klnmf compare`: which part of one model corresponds to which part of another.

use super::Output;
use crate::{input, outputs};
use clap::Args;
use klnmf::{Mat, Match, cosines, match_parts};
use klnmf_io::{Model, Target};
use klnmf_report::html;
use minijinja::context;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Match the parts of two models one to one
///
/// The pairs are those with the largest sum of cosines. If one model has more parts, some
/// of them have no partner.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf compare counts-r8.npz counts-r8-seed1.npz
  klnmf compare counts-r8.npz counts-r10.npz --report compare.html"
)]
pub struct Compare {
    /// First model (.npz)
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Second model (.npz)
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Write a self-contained HTML page that shows the cosines of all pairs
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

impl Compare {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let outputs: Vec<outputs::Output> =
            self.report.iter().map(|path| ("--report", path.clone())).collect();
        outputs::check(&[self.a.clone(), self.b.clone()], &outputs, self.force)?;
        let [a, b] = [&self.a, &self.b].map(|path| klnmf_io::read_model::<f64>(path));
        let (a, b): (Model<f64>, Model<f64>) = (a?, b?);
        input::same_names(&self.a.display().to_string(), &a.row_names, &b.row_names)?;
        let pairs = match_parts(&a.w, &b.w)?;
        if let Some(path) = &self.report {
            let page = self.page(&cosines(&a.w, &b.w)?, &pairs)?;
            klnmf_io::atomically(Target::new(path, self.force), |out| out.write_all(page.as_bytes()))?;
        }
        self.output.print(facts(&a, &b, &pairs), |_| text(&a, &b, &pairs))?;
        Ok(ExitCode::SUCCESS)
    }

    fn page(&self, table: &Mat<f64>, pairs: &[Match]) -> anyhow::Result<String> {
        let values = context! {
            a => self.a.display().to_string(),
            b => self.b.display().to_string(),
            picture => picture(table, pairs),
        };
        Ok(html::render("compare.html", include_str!("compare.html"), values)?)
    }
}

/// The parts that have no partner.
fn alone(count: usize, paired: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..count).filter(|k| !paired(*k)).collect()
}

fn left(a: &Model<f64>, b: &Model<f64>, pairs: &[Match]) -> [Vec<usize>; 2] {
    let first = alone(a.w.cols(), |k| pairs.iter().any(|pair| pair.first == k));
    [first, alone(b.w.cols(), |k| pairs.iter().any(|pair| pair.second == k))]
}

fn facts(a: &Model<f64>, b: &Model<f64>, pairs: &[Match]) -> Map<String, Value> {
    let pair = |pair: &Match| json!({ "a": pair.first, "b": pair.second, "cosine": pair.cosine });
    let [only_a, only_b] = left(a, b, pairs);
    let mean = pairs.iter().map(|pair| pair.cosine).sum::<f64>() / pairs.len().max(1) as f64;
    let least = pairs.iter().map(|pair| pair.cosine).fold(1.0, f64::min);
    let object = json!({
        "pairs": pairs.iter().map(pair).collect::<Vec<_>>(),
        "only_a": only_a,
        "only_b": only_b,
        "mean_cosine": mean,
        "least_cosine": least,
    });
    object.as_object().cloned().unwrap_or_default()
}

/// The name of a part.
fn name(model: &Model<f64>, k: usize) -> String {
    model.part_names.as_ref().map_or_else(|| format!("part {}", k + 1), |names| names[k].clone())
}

fn text(a: &Model<f64>, b: &Model<f64>, pairs: &[Match]) -> String {
    let mut text = String::new();
    for pair in pairs {
        let (first, second) = (name(a, pair.first), name(b, pair.second));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{first:<12} {second:<12} cosine {:.4}", pair.cosine);
    }
    let [only_a, only_b] = left(a, b, pairs);
    for k in only_a {
        let _ = writeln!(text, "{:<12} has no partner", name(a, k));
    }
    for k in only_b {
        let _ = writeln!(text, "{:<12} {:<12} has no partner", "", name(b, k));
    }
    text
}

/// The cosines as squares, the parts of the second model in the order of their partners.
fn picture(table: &Mat<f64>, pairs: &[Match]) -> String {
    const CELL: f64 = 26.0;
    let rest = alone(table.cols(), |k| pairs.iter().any(|pair| pair.second == k));
    let order: Vec<usize> = pairs.iter().map(|pair| pair.second).chain(rest).collect();
    let (width, height) = (40.0 + CELL * order.len() as f64, 24.0 + CELL * table.rows() as f64);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" style=\"width:{width}px;max-width:none\" role=\"img\" \
         aria-label=\"cosines between the parts of both models\">"
    );
    for (column, k) in order.iter().enumerate() {
        let x = 40.0 + CELL * (column as f64 + 0.5);
        let _ = write!(svg, "<text x=\"{x}\" y=\"15\" text-anchor=\"middle\">{}</text>", k + 1);
    }
    for row in 0..table.rows() {
        let y = 22.0 + CELL * row as f64;
        let _ = write!(svg, "<text x=\"32\" y=\"{}\" text-anchor=\"end\">{}</text>", y + 17.0, row + 1);
        for (column, k) in order.iter().enumerate() {
            let (x, value) = (40.0 + CELL * column as f64, table[(row, *k)].clamp(0.0, 1.0));
            let paired = pairs.iter().any(|pair| (pair.first, pair.second) == (row, *k));
            let class = if paired { "pair" } else { "cell" };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2}\">\
                 <title>{} and {}: cosine {value:.4}</title></rect>",
                x + 1.0,
                y + 1.0,
                CELL - 2.0,
                CELL - 2.0,
                value * value,
                row + 1,
                k + 1
            );
        }
    }
    svg + "</svg>"
}
