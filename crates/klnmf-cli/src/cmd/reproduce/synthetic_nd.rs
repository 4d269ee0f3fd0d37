//! Section 4.1.1: the convex problems on uniform numbers.

use super::decomposition::{self, Setup};
use super::race::Lab;
use super::record::Record;
use super::section::{OTHER_SIZE, Section};
use super::size::Size;
use crate::random::Random;
use klnmf::Mat;
use serde_json::json;

/// ADMM's penalty in the paper.
const RHO: f64 = 0.15;
/// The name of the figure.
const ID: &str = "figure-01-synthetic-nd-distance";

/// n, m, rank, multiplicative updates for the optimum, iterations.
fn sizes(size: Size) -> (usize, usize, usize, usize, usize) {
    size.pick((20, 40, 3, 200, 60), (100, 400, 10, 2000, 600), (200, 1000, 15, 5000, 1200))
}

/// V of the paper's synthetic experiments: independent numbers from 0 to 750, column by column.
pub fn uniform(n: usize, m: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed);
    Mat::from_fn(n, m, |_, _| 750.0 * random.uniform())
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let (n, m, rank, updates, iterations) = sizes(size);
    let mut record = Record::default();
    let facts = json!({ "rows": n, "columns": m, "rank": rank, "updates": updates, "iterations": iterations, "rho": RHO });
    record.facts = facts.as_object().cloned().unwrap_or_default();
    let v = uniform(n, m, lab.seed);
    decomposition::run(lab, &v, &Setup { rank, updates, iterations, rho: RHO }, &mut record)?;
    Ok(record)
}

pub fn section(record: &Record) -> Section {
    let fact = |name| record.fact(name);
    let (rows, columns, rank, updates, iterations) = sizes(Size::Full);
    let paper = [
        ("rows", rows),
        ("columns", columns),
        ("rank", rank),
        ("updates", updates),
        ("iterations", iterations),
    ];
    Section {
        title: "Synthetic data: the convex problems",
        paper: "V is 200 × 1000 from the uniform distribution on (0, 750), r = 15. H* and W* come from 5000 multiplicative updates; then \
                W is found for H*, and H for W*, in 1200 iterations; ADMM has ρ = 0.15."
            .into(),
        ours: vec![
            format!(
                "V is {} × {}, r = {}; H* and W* from {} multiplicative updates, then {} iterations of each method.",
                fact("rows"),
                fact("columns"),
                fact("rank"),
                fact("updates"),
                fact("iterations")
            ),
            "The optimum p* of each problem is not taken from the updates but found anew and certified by its duality gap.".into(),
            "W* and H* are scaled, part by part, to the sums of the start's W, so that both problems start with ΣWH = ΣV; the paper \
             does not say what it does here."
                .into(),
            "The problems are convex and were run from one start.".into(),
        ],
        claims: decomposition::claims(record, ID, "4.1.1, Figure 1", RHO),
        items: decomposition::items(record, ID),
        ..Section::default()
    }
    .judged_if(record.has(&paper), OTHER_SIZE)
}
