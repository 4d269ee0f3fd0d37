//! Dictionaries of known sources, and the model of a mix.

use super::groups::bundle;
use super::supervised::Tally;
use super::thumbnail::Thumbnail;
use anyhow::{Context, bail};
use klnmf::{Mat, Solution, Status};
use klnmf_audio::Stft;
use klnmf_io::{Model, Spool};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The spectra of some sources, side by side.
pub struct Dictionary {
    pub w: Mat<f64>,
    /// The source of every column.
    columns: Vec<String>,
}

impl Dictionary {
    pub fn new() -> Self {
        Self { w: Mat::zeros(0, 0), columns: Vec::new() }
    }

    pub fn add(&mut self, name: &str, w: Mat<f64>) {
        let (rows, cols) = (w.rows(), self.w.cols() + w.cols());
        self.columns.extend(vec![name.to_owned(); w.cols()]);
        let data = [self.w.as_slice(), w.as_slice()].concat();
        self.w = Mat::from_fn(rows, cols, |i, k| data[k * rows + i]);
    }

    /// Writes a model without weights: H is one column of ones.
    pub fn write(&self, path: &Path, stft: &Stft, rate: u32, spectrogram: &str) -> anyhow::Result<()> {
        let metadata = json!({
            "kind": "dictionary", "rate": rate, "window": stft.window(), "hop": stft.hop(), "spectrogram": spectrogram,
            "klnmf": env!("CARGO_PKG_VERSION"),
        });
        let model = Model {
            w: self.w.clone(),
            h: Mat::from_fn(self.w.cols(), 1, |_, _| 1.0),
            metadata: metadata.to_string(),
            row_names: None,
            col_names: None,
            part_names: Some(self.columns.clone()),
            columns: Vec::new(),
        };
        Ok(klnmf_io::write_model(path, &model)?)
    }

    /// Reads what [`Dictionary::write`] wrote; the spectrogram must be of the same kind.
    pub fn read(path: &Path, stft: &Stft, rate: u32, spectrogram: &str) -> anyhow::Result<Self> {
        let none = || {
            format!(
                "--dictionary {}: give a file of --save, or the model.npz of a separation",
                path.display()
            )
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
        let names = model.part_names.with_context(|| {
            format!("{}: it has no names of sources; write it with --save", path.display())
        })?;
        Ok(Self { w: model.w, columns: names })
    }

    /// The names of the sources, in the order of their first columns.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.columns.iter().for_each(|name| {
            if !names.contains(name) {
                names.push(name.clone());
            }
        });
        names
    }

    /// The columns of every source.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let of = |name: &String| (0..self.columns.len()).filter(|k| self.columns[*k] == *name).collect();
        self.names().iter().map(of).collect()
    }
}

/// The weights of all frames.
pub enum Weights {
    Here(Mat<f64>),
    /// Stored on disk, for a recording of any length.
    Aside(Spool),
}

/// The model of a mix: its components, and which of them belong to which source.
pub struct Sources {
    pub mode: &'static str,
    pub w: Mat<f64>,
    /// The row sums of H, and thumbnails of the rows.
    pub loudness: Vec<f64>,
    pub activations: Thumbnail,
    pub groups: Vec<Vec<usize>>,
    pub names: Vec<String>,
    pub status: Status,
    pub iterations: usize,
    pub divergence: f64,
    pub relative_gap: f64,
}

impl Sources {
    /// Components that were learned with their weights. The first ones are those of `known`; the others are
    /// grouped.
    pub fn learned(
        known: Option<&Dictionary>,
        found: Solution<f64>,
        sources: Option<usize>,
        names: Vec<String>,
    ) -> (Self, Mat<f64>) {
        let Solution { w, h, info, status } = found;
        let fixed = known.map_or(0, |known| known.w.cols());
        let mut new = bundle(&w, &h, fixed, sources.unwrap_or(w.cols() - fixed));
        // Sort the loudest first.
        let loudness = h.row_sums();
        let loud = |group: &Vec<usize>| group.iter().map(|k| loudness[*k]).sum::<f64>();
        new.sort_by(|a, b| loud(b).total_cmp(&loud(a)));
        let mut groups = known.map_or(Vec::new(), Dictionary::groups);
        groups.extend(new);
        let mut activations = Thumbnail::new(h.rows());
        (0..h.cols()).for_each(|j| activations.add(h.col(j).iter().copied()));
        let sources = Self {
            mode: if known.is_some() { "semi" } else { "blind" },
            w,
            loudness,
            activations,
            groups,
            names,
            status,
            iterations: info.iteration,
            divergence: info.divergence,
            relative_gap: info.relative_gap(),
        };
        (sources, h)
    }

    /// A mix of known sources only.
    pub fn supervised(known: Dictionary, found: Tally) -> Self {
        Self {
            mode: "supervised",
            groups: known.groups(),
            names: known.names(),
            w: known.w,
            loudness: found.loudness,
            activations: found.activations,
            status: found.status,
            iterations: found.iterations,
            divergence: found.divergence,
            relative_gap: if found.sum > 0.0 { found.gap / found.sum } else { 0.0 },
        }
    }
}

/// Writes the model with the facts that do not change between runs; `written` is as in [`super::earlier`].
pub fn write(
    path: &Path,
    sources: &Sources,
    weights: Weights,
    written: Value,
    facts: &Map<String, Value>,
) -> anyhow::Result<()> {
    let mut metadata = facts.clone();
    metadata.insert("written".into(), written);
    ["seconds", "threads", "folder", "files"].iter().for_each(|key| drop(metadata.remove(*key)));
    metadata.insert("kind".into(), json!("separation"));
    metadata.insert("klnmf".into(), json!(env!("CARGO_PKG_VERSION")));
    let mut parts = vec![String::new(); sources.w.cols()];
    for (name, group) in sources.names.iter().zip(&sources.groups) {
        group.iter().for_each(|k| parts[*k].clone_from(name));
    }
    let (h, aside) = match weights {
        Weights::Here(h) => (h, None),
        Weights::Aside(spool) => (Mat::zeros(spool.rows(), 0), Some(spool)),
    };
    let model = Model {
        w: sources.w.clone(),
        h,
        metadata: Value::Object(metadata).to_string(),
        row_names: None,
        col_names: None,
        part_names: Some(parts),
        columns: Vec::new(),
    };
    match aside {
        None => klnmf_io::write_model(path, &model)?,
        Some(mut h) => klnmf_io::write_spooled_model(path, &model, &mut h)?,
    }
    Ok(())
}
