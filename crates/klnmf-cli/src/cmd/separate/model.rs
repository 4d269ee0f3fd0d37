//! Known parts of sources, and how a mix is made of them and others.

use super::groups::bundle;
use anyhow::{Context, bail};
use klnmf::{Decomposition, Mat, Solution, Status};
use klnmf_audio::Stft;
use klnmf_io::Model;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The spectra of some sources, side by side.
pub struct Dictionary {
    pub w: Mat<f64>,
    /// For every source its name and how many columns are its.
    sources: Vec<(String, usize)>,
}

impl Dictionary {
    pub fn new() -> Self {
        Self { w: Mat::zeros(0, 0), sources: Vec::new() }
    }

    pub fn add(&mut self, name: &str, w: Mat<f64>) {
        let (rows, cols) = (w.rows(), self.w.cols() + w.cols());
        self.sources.push((name.to_owned(), w.cols()));
        let data = [self.w.as_slice(), w.as_slice()].concat();
        self.w = Mat::from_fn(rows, cols, |i, k| data[k * rows + i]);
    }

    /// A model without weights: H is one column of ones.
    pub fn write(&self, path: &Path, stft: &Stft, rate: u32, spectrogram: &str) -> anyhow::Result<()> {
        let parts = self.sources.iter().flat_map(|(name, n)| vec![name.clone(); *n]).collect();
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
            part_names: Some(parts),
            columns: Vec::new(),
        };
        Ok(klnmf_io::write_model(path, &model)?)
    }

    /// What [`Dictionary::write`] wrote; it must be for the same kind of spectrogram.
    pub fn read(path: &Path, stft: &Stft, rate: u32, spectrogram: &str) -> anyhow::Result<Self> {
        let model = klnmf_io::read_model::<f64>(path)?;
        let facts: Value = serde_json::from_str(&model.metadata).unwrap_or_default();
        let wanted = [
            ("rate", json!(rate)),
            ("window", json!(stft.window())),
            ("hop", json!(stft.hop())),
            ("spectrogram", json!(spectrogram)),
        ];
        for (what, here) in wanted {
            if facts[what] != here {
                bail!(
                    "{}: it is for {what} {} and the recording has {here}: use the same --window, --overlap, --spectrogram \
                     and --rate",
                    path.display(),
                    facts[what]
                );
            }
        }
        let names = model.part_names.with_context(|| format!("{}: it names no sources", path.display()))?;
        let mut sources: Vec<(String, usize)> = Vec::new();
        for name in names {
            match sources.last_mut() {
                Some((last, n)) if *last == name => *n += 1,
                _ => sources.push((name, 1)),
            }
        }
        Ok(Self { w: model.w, sources })
    }

    fn groups(&self) -> (Vec<String>, Vec<Vec<usize>>) {
        let mut first = 0;
        let group = |(name, n): &(String, usize)| {
            first += n;
            (name.clone(), (first - n..first).collect())
        };
        self.sources.iter().map(group).unzip()
    }
}

/// A mix as components, and which of them make up which source.
pub struct Sources {
    pub mode: &'static str,
    pub w: Mat<f64>,
    pub h: Mat<f64>,
    pub groups: Vec<Vec<usize>>,
    pub names: Vec<String>,
    pub status: Status,
    pub iterations: usize,
    pub divergence: f64,
    pub relative_gap: f64,
}

impl Sources {
    /// Nothing was known.
    pub fn blind(found: Solution<f64>, sources: Option<usize>) -> Self {
        Self::learned("blind", (Vec::new(), Vec::new()), 0, found, sources)
    }

    /// Some sources were known, others were learned.
    pub fn semi(known: Dictionary, found: Solution<f64>, sources: Option<usize>) -> Self {
        Self::learned("semi", known.groups(), known.w.cols(), found, sources)
    }

    fn learned(
        mode: &'static str,
        (mut names, mut groups): (Vec<String>, Vec<Vec<usize>>),
        fixed: usize,
        found: Solution<f64>,
        sources: Option<usize>,
    ) -> Self {
        let free = found.w.cols() - fixed;
        let mut new = bundle(&found.w, &found.h, fixed, sources.unwrap_or(free));
        // The loudest first.
        let loudness = found.h.row_sums();
        let loud = |group: &Vec<usize>| group.iter().map(|k| loudness[*k]).sum::<f64>();
        new.sort_by(|a, b| loud(b).total_cmp(&loud(a)));
        let what = if sources.is_some() { "source" } else { "part" };
        names.extend((1..=new.len()).map(|n| format!("{what}{n:02}")));
        groups.extend(new);
        let Solution { w, h, info, status } = found;
        Self {
            mode,
            w,
            h,
            groups,
            names,
            status,
            iterations: info.iteration,
            divergence: info.divergence,
            relative_gap: info.relative_gap(),
        }
    }

    /// All sources were known.
    pub fn supervised(known: Dictionary, found: Decomposition<f64>, sum: f64) -> Self {
        let (names, groups) = known.groups();
        Self {
            mode: "supervised",
            groups,
            names,
            status: found.status,
            iterations: found.columns.iter().map(|c| c.iterations).max().unwrap_or(0),
            divergence: found.divergence(),
            relative_gap: if sum > 0.0 { found.gap() / sum } else { 0.0 },
            w: known.w,
            h: found.h,
        }
    }
}

/// Writes the model with the facts that do not change from run to run.
pub fn write(path: &Path, sources: &Sources, facts: &Map<String, Value>) -> anyhow::Result<()> {
    let mut metadata = facts.clone();
    ["seconds", "threads", "files"].iter().for_each(|key| drop(metadata.remove(*key)));
    metadata.insert("kind".into(), json!("separation"));
    metadata.insert("klnmf".into(), json!(env!("CARGO_PKG_VERSION")));
    let mut parts = vec![String::new(); sources.w.cols()];
    for (name, group) in sources.names.iter().zip(&sources.groups) {
        group.iter().for_each(|k| parts[*k].clone_from(name));
    }
    let model = Model {
        w: sources.w.clone(),
        h: sources.h.clone(),
        metadata: Value::Object(metadata).to_string(),
        row_names: None,
        col_names: None,
        part_names: Some(parts),
        columns: Vec::new(),
    };
    Ok(klnmf_io::write_model(path, &model)?)
}
