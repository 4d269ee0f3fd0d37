//! The page with players for the stems.

use super::score::Row;
use super::told::Told;
use klnmf_report::html;
use minijinja::context;
use serde_json::Value;

/// The page; it plays the sound files beside it.
pub fn page(
    name: &str,
    loudness: &[f64],
    told: &Told<'_>,
    facts: &Value,
    svg: &str,
) -> anyhow::Result<String> {
    let sources = told.sources;
    let total: f64 = loudness.iter().sum();
    let share =
        |group: &Vec<usize>| group.iter().map(|k| loudness[*k]).sum::<f64>() / total.max(f64::MIN_POSITIVE);
    let stems: Vec<_> = sources
        .names
        .iter()
        .zip(told.files)
        .zip(&sources.groups)
        .map(|((name, file), group)| {
            context! { name, file, components => group.len(), share => format!("{:.1}", 100.0 * share(group)) }
        })
        .collect();
    let row = |Row { truth, stem, values }: &Row| {
        context! { name => truth, stem, values => values.map(|x| format!("{x:.1}")) }
    };
    let rows: Vec<_> = told.scores.iter().flat_map(|scores| &scores.rows).map(row).collect();
    let number = |key: &str| facts[key].as_f64().unwrap_or_default();
    let whole = |key: &str| facts[key].as_u64().unwrap_or_default();
    let values = context! {
        name,
        stems,
        rows,
        notes => told.notes.to_vec(),
        taps => told.scores.map(|scores| scores.taps as u64),
        svg,
        mode => told.mode,
        seconds => format!("{:.1}", number("samples") / number("rate").max(1.0)),
        rate => whole("rate"),
        channels => whole("channels"),
        window => whole("window"),
        hop => whole("hop"),
        spectrogram => facts["spectrogram"].as_str(),
        components => sources.w.cols(),
        status => sources.status.name(),
        gap => format!("{:.1e}", sources.relative_gap),
    };
    Ok(html::render("separate.html", include_str!("separate.html"), values)?)
}
