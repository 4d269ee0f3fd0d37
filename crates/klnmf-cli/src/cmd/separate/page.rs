//! The page with players for the stems.

use super::model::Sources;
use super::score::Scores;
use minijinja::{Environment, context};
use serde_json::{Map, Value};

/// The page; it plays the sound files beside it.
pub fn html(
    name: &str,
    sources: &Sources,
    files: &[String],
    facts: &Map<String, Value>,
    notes: &[String],
    scores: Option<&Scores>,
    svg: &str,
) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.add_template("separate.html", include_str!("separate.html"))?;
    let total: f64 = sources.loudness.iter().sum();
    let share = |group: &Vec<usize>| {
        group.iter().map(|k| sources.loudness[*k]).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    };
    let stems: Vec<_> = sources
        .names
        .iter()
        .zip(files)
        .zip(&sources.groups)
        .map(|((name, file), group)| {
            context! { name, file, components => group.len(), share => format!("{:.1}", 100.0 * share(group)) }
        })
        .collect();
    let rows: Vec<_> = scores.map_or(Vec::new(), |scores| {
        let row = |([name, stem], values): ([&str; 2], [f64; 5])| {
            context! { name, stem, values => values.map(|x| format!("{x:.1}")) }
        };
        scores.rows().into_iter().map(row).collect()
    });
    let number = |key: &str| facts[key].as_f64().unwrap_or_default();
    let whole = |key: &str| facts[key].as_u64().unwrap_or_default();
    Ok(environment.get_template("separate.html")?.render(context! {
        name,
        stems,
        rows,
        notes => notes.to_vec(),
        taps => scores.map(|scores| scores.taps as u64),
        svg,
        mode => sources.mode,
        seconds => format!("{:.1}", number("samples") / number("rate").max(1.0)),
        rate => whole("rate"),
        channels => whole("channels"),
        window => whole("window"),
        hop => whole("hop"),
        spectrogram => facts["spectrogram"].as_str(),
        components => sources.w.cols(),
        status => sources.status.name(),
        gap => format!("{:.1e}", sources.relative_gap),
    })?)
}
