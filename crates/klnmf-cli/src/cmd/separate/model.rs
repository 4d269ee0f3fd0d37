//! The files of dictionaries and models.

use anyhow::{Context, bail};
use klnmf::Mat;
use klnmf_audio::{Dictionary, Sources, Stft};
use klnmf_io::{Model, Spool, Target};
use serde_json::{Value, json};
use std::path::Path;

pub const MODEL: &str = "model.npz";
pub const PICTURE: &str = "picture.svg";
pub const FRAMES: &str = "frames.csv";
pub const PAGE: &str = "index.html";

/// The files that a run has written into a folder, by its model; none if it has no model of a separation.
pub fn written(folder: &Path) -> Vec<String> {
    let facts = klnmf_io::read_metadata(&folder.join(MODEL)).unwrap_or_default();
    let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
    if facts["kind"] != "separation" {
        return Vec::new();
    }
    let stems = facts["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let frames = (facts["online"] == true).then_some(FRAMES);
    stems.chain([MODEL, PICTURE, PAGE]).chain(frames).map(str::to_owned).collect()
}

/// Writes a dictionary as a model without weights: H is one column of ones.
pub fn write_dictionary(
    target: Target<'_>,
    known: &Dictionary,
    stft: &Stft,
    rate: u32,
    spectrogram: &str,
) -> anyhow::Result<()> {
    let metadata = json!({
        "kind": "dictionary", "rate": rate, "window": stft.window(), "hop": stft.hop(),
        "spectrogram": spectrogram, "klnmf": env!("CARGO_PKG_VERSION"),
    });
    let h = Mat::from_fn(known.w.cols(), 1, |_, _| 1.0);
    Ok(klnmf_io::write_model(target, &model(&known.w, h, metadata, known.columns.clone()))?)
}

/// Reads what [`write_dictionary`] wrote; the spectrogram must be of the same kind.
pub fn read_dictionary(path: &Path, stft: &Stft, rate: u32, spectrogram: &str) -> anyhow::Result<Dictionary> {
    let none = || {
        format!("--dictionary {}: give a file of --save, or the model.npz of a separation", path.display())
    };
    let model = klnmf_io::read_model::<f64>(path).with_context(none)?;
    let facts: Value = serde_json::from_str(&model.metadata).unwrap_or_default();
    if !matches!(facts["kind"].as_str(), Some("dictionary" | "separation")) {
        bail!("{}", none());
    }
    let wanted = [
        ("rate", json!(rate)),
        ("window", json!(stft.window())),
        ("hop", json!(stft.hop())),
        ("spectrogram", json!(spectrogram)),
    ];
    for (what, here) in wanted {
        if facts[what] != here {
            bail!(
                "{}: the dictionary has {what} {} and the recording {here}: use the same --window, \
                 --overlap, --spectrogram and --rate",
                path.display(),
                facts[what]
            );
        }
    }
    let columns = model
        .part_names
        .with_context(|| format!("{}: it has no names of sources; write it with --save", path.display()))?;
    Ok(Dictionary { w: model.w, columns })
}

/// Writes the model with the facts that do not change between runs.
pub fn write(path: &Path, sources: &Sources, weights: &mut Spool, facts: &Value) -> anyhow::Result<()> {
    let mut metadata = facts.clone();
    if let Some(all) = metadata.as_object_mut() {
        all.retain(|key, _| !["seconds", "threads", "folder", "latency"].contains(&key.as_str()));
    }
    metadata["kind"] = json!("separation");
    metadata["klnmf"] = json!(env!("CARGO_PKG_VERSION"));
    let mut parts = vec![String::new(); sources.w.cols()];
    for (name, group) in sources.names.iter().zip(&sources.groups) {
        group.iter().for_each(|k| parts[*k].clone_from(name));
    }
    let h = Mat::zeros(sources.w.cols(), 0);
    let model = model(&sources.w, h, metadata, parts);
    Ok(klnmf_io::write_spooled_model(path, &model, weights)?)
}

fn model(w: &Mat<f64>, h: Mat<f64>, metadata: Value, parts: Vec<String>) -> Model<f64> {
    Model { part_names: Some(parts), ..Model::new(w.clone(), h, metadata.to_string()) }
}
