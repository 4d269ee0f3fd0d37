//! Section 4.1.1: the convex problems on uniform random data.

use crate::decomposition;
use crate::race::Lab;
use crate::random::Random;
use crate::record::Record;
use crate::section::{OTHER_SIZE, Section};
use crate::size::Size;
use klnmf::Mat;
use serde_json::{Value, json};

/// ADMM's penalty in the paper.
const RHO: f64 = 0.15;
/// The name of the figure.
const ID: &str = "figure-01-synthetic-nd-distance";

/// Sizes and settings, by the names of the facts.
fn facts(size: Size) -> Value {
    let (n, m, rank, updates, iterations) =
        size.pick((20, 40, 3, 200, 60), (100, 400, 10, 2000, 600), (200, 1000, 15, 5000, 1200));
    json!({ "rows": n, "columns": m, "rank": rank, "updates": updates, "iterations": iterations, "rho": RHO })
}

/// V of the paper's synthetic experiments: independent and uniform on (0, 750), generated column by column.
pub fn uniform(n: usize, m: usize, seed: u64) -> Mat<f64> {
    let mut random = Random::new(seed);
    Mat::from_fn(n, m, |_, _| 750.0 * random.uniform())
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let mut record = Record::new(facts(size));
    let v = uniform(record.count("rows"), record.count("columns"), lab.seed);
    decomposition::run(lab, &v, RHO, &mut record)?;
    Ok(record)
}

pub fn section(record: &Record) -> Section {
    Section {
        claims: decomposition::claims(record, ID, "§4.1.1, Figure 1", RHO),
        items: decomposition::items(record, ID),
        ..Section::new("synthetic-nd", record)
    }
    .judged_if(record.has(facts(Size::Full)), OTHER_SIZE)
}
