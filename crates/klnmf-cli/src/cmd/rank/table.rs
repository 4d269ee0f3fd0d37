//! The numbers of every rank, as CSV and as JSON.

use klnmf_select::{Choice, Rank};
use serde_json::{Map, Value, json};

/// The names and numbers of one rank. Those that are not defined are not numbers.
fn row(found: &Rank, at: usize) -> Vec<(&'static str, f64)> {
    let row = &found.rows[at];
    let pair = |pair: Option<(f64, f64)>| pair.unwrap_or((f64::NAN, f64::NAN));
    let held_out = |choice: &Option<Choice>| {
        choice.as_ref().map_or((f64::NAN, f64::NAN), |choice| (choice.totals[at], choice.errors[at]))
    };
    let (cosine, silhouette) = (pair(row.stability.cosine()), pair(row.stability.silhouette()));
    let (poisson, over) = (held_out(&found.poisson), held_out(&found.over_dispersed));
    vec![
        ("rank", row.rank as f64),
        ("divergence", row.fit.divergence),
        ("relative_gap", row.fit.relative_gap),
        ("fits", row.fits as f64),
        ("unconverged", row.unconverged as f64),
        ("held_out", poisson.0),
        ("held_out_error", poisson.1),
        ("held_out_over_dispersed", over.0),
        ("held_out_over_dispersed_error", over.1),
        ("cosine_mean", cosine.0),
        ("cosine_least", cosine.1),
        ("silhouette_mean", silhouette.0),
        ("silhouette_least", silhouette.1),
    ]
}

/// The table as CSV. Numbers that are not defined are empty.
pub fn csv(found: &Rank) -> String {
    let rows: Vec<_> = (0..found.rows.len()).map(|at| row(found, at)).collect();
    let names = rows.first().map_or(vec![], |row| row.iter().map(|(name, _)| name.to_string()).collect());
    let line = |row: &Vec<(&str, f64)>| {
        row.iter().map(|(_, x)| if x.is_finite() { x.to_string() } else { String::new() }).collect::<Vec<_>>()
    };
    let lines = [names].into_iter().chain(rows.iter().map(line));
    lines.map(|cells| cells.join(",") + "\n").collect()
}

/// One rank as a JSON object.
pub fn object(found: &Rank, at: usize) -> Value {
    let whole = |name: &str| matches!(name, "rank" | "fits" | "unconverged");
    let value = |name: &str, x: f64| if whole(name) { json!(x as u64) } else { crate::summary::number(x) };
    let row = row(found, at).into_iter();
    Value::Object(row.map(|(name, x)| (name.to_owned(), value(name, x))).collect::<Map<_, _>>())
}
