//! `klnmf compare`: which part of one model corresponds to which part of another, or of a dictionary.

use super::Output;
use crate::dictionary::Dictionary;
use crate::outputs;
use anyhow::bail;
use clap::Args;
use klnmf::{Mat, Match, cosines, match_parts};
use klnmf_io::Target;
use klnmf_report::html;
use minijinja::context;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Match the parts of two models one to one
///
/// The pairs are those with the largest sum of cosines. If one model has more parts, some
/// of them have no partner. A model can also be a matrix whose columns are parts, such as
/// the signatures of COSMIC. If the rows have names in both files, they are matched by name.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf compare counts-r8.npz counts-r8-seed1.npz
  klnmf compare counts-r8.npz counts-r10.npz --report compare.html
  klnmf compare counts-r8.npz signatures.csv --csv pairs.csv
  klnmf compare counts-r8.npz cosmic.npy --part-names cosmic.txt"
)]
pub struct Compare {
    /// First model (.npz), or a matrix of features × parts
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Second model (.npz), or a matrix of features × parts
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Names of the parts of B; a text file with one name per line
    #[arg(long, value_name = "FILE")]
    part_names: Option<PathBuf>,
    /// Write a self-contained HTML page that shows the cosines of all pairs
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the pairs as CSV: a,b,cosine, with an empty cell where a part has no partner
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

/// With more parts than this without a partner, their number is printed and not their names.
const ALONE: usize = 10;

/// Labels of parts in the picture have at most this many characters.
const LABEL: usize = 20;

impl Compare {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let outputs = [("--report", &self.report), ("--csv", &self.csv)];
        let outputs: Vec<outputs::Output> =
            outputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?))).collect();
        let inputs: Vec<PathBuf> = [&self.a, &self.b].into_iter().chain(&self.part_names).cloned().collect();
        outputs::check(&inputs, &outputs, self.force)?;
        let a = Dictionary::<f64>::read(&self.a, None)?;
        let mut b = Dictionary::<f64>::read(&self.b, self.part_names.as_deref())?;
        self.align(&a, &mut b)?;
        let (pairs, table) = (match_parts(&a.w, &b.w)?, cosines(&a.w, &b.w)?);
        if let Some(path) = &self.report {
            let page = self.page([&a, &b], &table, &pairs)?;
            klnmf_io::write_text(Target::new(path, self.force), &page)?;
        }
        if let Some(path) = &self.csv {
            klnmf_io::write_text(Target::new(path, self.force), &csv(&a, &b, &pairs))?;
        }
        self.output.print(facts(&a, &b, &pairs), |_| self.text(&a, &b, &table, &pairs))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Puts the rows of B in the order of A.
    fn align(&self, a: &Dictionary<f64>, b: &mut Dictionary<f64>) -> anyhow::Result<()> {
        let (first, second) = (self.a.display(), self.b.display());
        if a.w.rows() != b.w.rows() {
            let turned = if a.w.rows() == b.w.cols() { "; it fits if you transpose it" } else { "" };
            bail!(
                "{second} has {} rows and {first} has {}: both need one row for every feature{turned}",
                b.w.rows(),
                a.w.rows()
            );
        }
        if a.rows.is_some() != b.rows.is_some() {
            let unnamed = if a.rows.is_none() { first } else { second };
            self.output
                .note(&format!("the rows of {unnamed} have no names, so they are matched by position"));
        }
        b.align(&self.b.display().to_string(), &a.rows, &self.a.display().to_string())
    }

    fn page(
        &self,
        parts: [&Dictionary<f64>; 2],
        table: &Mat<f64>,
        pairs: &[Match],
    ) -> anyhow::Result<String> {
        let values = context! {
            a => klnmf_io::file_name(&self.a),
            b => klnmf_io::file_name(&self.b),
            picture => picture(parts, table, pairs),
            pairs => pairs.iter().map(|pair| told(parts, table, pair)).collect::<Vec<_>>(),
        };
        Ok(html::render("compare.html", include_str!("compare.html"), values)?)
    }

    fn text(&self, a: &Dictionary<f64>, b: &Dictionary<f64>, table: &Mat<f64>, pairs: &[Match]) -> String {
        let mut text = String::new();
        for pair in pairs {
            let [first, second, cosine, nearer] = told([a, b], table, pair);
            let nearer = if nearer.is_empty() { nearer } else { format!(", nearer to {nearer}") };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{first:<12} {second:<12} cosine {cosine}{nearer}");
        }
        let sides = [(a, &self.a, ""), (b, &self.b, "             ")];
        for (alone, (parts, path, indent)) in left(a, b, pairs).into_iter().zip(sides) {
            if alone.len() > ALONE {
                let _ = writeln!(text, "{} parts of {} have no partner", alone.len(), path.display());
                continue;
            }
            for k in alone {
                let _ = writeln!(text, "{indent}{:<12} has no partner", parts.name(k));
            }
        }
        text
    }
}

/// A pair in words: its names, its cosine, and the part of B that is nearer to the part of A than its partner.
/// That one has been given to another part, because the assignment is one to one.
fn told([a, b]: [&Dictionary<f64>; 2], table: &Mat<f64>, pair: &Match) -> [String; 4] {
    let cosine = |k: usize| table[(pair.first, k)];
    let nearest = (0..table.cols()).max_by(|k, l| cosine(*k).total_cmp(&cosine(*l)));
    let nearer = nearest.filter(|k| cosine(*k) > pair.cosine);
    let nearer = nearer.map_or(String::new(), |k| format!("{} ({:.4})", b.name(k), cosine(k)));
    [a.name(pair.first), b.name(pair.second), format!("{:.4}", pair.cosine), nearer]
}

/// The parts of both models that have no partner.
fn left(a: &Dictionary<f64>, b: &Dictionary<f64>, pairs: &[Match]) -> [Vec<usize>; 2] {
    let alone = |parts: &Dictionary<f64>, of: fn(&Match) -> usize| {
        (0..parts.w.cols()).filter(|k| pairs.iter().all(|pair| of(pair) != *k)).collect()
    };
    [alone(a, |pair| pair.first), alone(b, |pair| pair.second)]
}

/// A line for every pair, and for every part without a partner.
fn csv(a: &Dictionary<f64>, b: &Dictionary<f64>, pairs: &[Match]) -> String {
    let cell = |parts: &Dictionary<f64>, k: usize| klnmf_io::csv_cell(&parts.name(k));
    let [only_a, only_b] = left(a, b, pairs);
    let pair = |pair: &Match| format!("{},{},{}\n", cell(a, pair.first), cell(b, pair.second), pair.cosine);
    let mut lines = vec!["a,b,cosine\n".to_owned()];
    lines.extend(pairs.iter().map(pair));
    lines.extend(only_a.into_iter().map(|k| format!("{},,\n", cell(a, k))));
    lines.extend(only_b.into_iter().map(|k| format!(",{},\n", cell(b, k))));
    lines.concat()
}

fn facts(a: &Dictionary<f64>, b: &Dictionary<f64>, pairs: &[Match]) -> Value {
    let pair = |pair: &Match| {
        let names = [a.name(pair.first), b.name(pair.second)];
        json!({ "a": pair.first, "b": pair.second, "cosine": pair.cosine, "names": names })
    };
    let [only_a, only_b] = left(a, b, pairs);
    let mean = pairs.iter().map(|pair| pair.cosine).sum::<f64>() / pairs.len().max(1) as f64;
    let least = pairs.iter().map(|pair| pair.cosine).fold(1.0, f64::min);
    json!({
        "pairs": pairs.iter().map(pair).collect::<Vec<_>>(),
        "only_a": only_a,
        "only_b": only_b,
        "mean_cosine": mean,
        "least_cosine": least,
    })
}

/// The names of parts for a picture: their own, shortened, or their numbers.
fn labels(parts: &Dictionary<f64>) -> Vec<String> {
    let label = |k: usize| match &parts.parts {
        Some(names) => names[k].chars().take(LABEL).collect(),
        None => parts.name(k),
    };
    (0..parts.w.cols()).map(label).collect()
}

/// The number of characters of the longest label.
fn longest(labels: &[String]) -> f64 {
    labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64
}

/// The cosines as squares, the parts of the second model in the order of their partners.
fn picture(parts: [&Dictionary<f64>; 2], table: &Mat<f64>, pairs: &[Match]) -> String {
    const CELL: f64 = 26.0;
    let [_, rest] = left(parts[0], parts[1], pairs);
    let order: Vec<usize> = pairs.iter().map(|pair| pair.second).chain(rest).collect();
    let [rows, columns] = parts.map(labels);
    // Labels that are wider than a cell stand upright.
    let (upright, left) = (longest(&columns) > 3.0, f64::max(40.0, 16.0 + 7.0 * longest(&rows)));
    let top = if upright { 14.0 + 7.0 * longest(&columns) } else { 22.0 };
    let (width, height) = (left + CELL * order.len() as f64, top + 2.0 + CELL * table.rows() as f64);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" style=\"width:{width}px;max-width:none\" role=\"img\" \
         aria-label=\"cosines between the parts of both models\">"
    );
    for (column, k) in order.iter().enumerate() {
        let (x, label) = (left + CELL * (column as f64 + 0.5), html::escape(&columns[*k]));
        let place = match upright {
            true => format!("transform=\"translate({} {}) rotate(-90)\"", x + 4.0, top - 6.0),
            false => format!("x=\"{x}\" y=\"15\" text-anchor=\"middle\""),
        };
        let _ = write!(svg, "<text {place}>{label}</text>");
    }
    for row in 0..table.rows() {
        let (y, label) = (top + CELL * row as f64, html::escape(&rows[row]));
        let _ =
            write!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>", left - 8.0, y + 17.0);
        for (column, k) in order.iter().enumerate() {
            let (x, value) = (left + CELL * column as f64, table[(row, *k)].clamp(0.0, 1.0));
            let paired = pairs.iter().any(|pair| (pair.first, pair.second) == (row, *k));
            let class = if paired { "pair" } else { "cell" };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2}\">\
                 <title>{label} and {}: cosine {value:.4}</title></rect>",
                x + 1.0,
                y + 1.0,
                CELL - 2.0,
                CELL - 2.0,
                value * value,
                html::escape(&columns[*k])
            );
        }
    }
    svg + "</svg>"
}
