//! The summary of a separation.

use super::results::Results;
use super::score::Scores;
use super::{Separate, frames};
use crate::cmd::thread_count;
use crate::summary;
use klnmf_audio::{Recording, Sources, Stft};
use serde_json::{Value, json};

/// What the summary and the page are about.
pub struct Told<'a> {
    pub mode: &'static str,
    pub sources: &'a Sources,
    pub scores: Option<&'a Scores>,
    pub notes: &'a [String],
    /// The files of the stems.
    pub files: &'a [String],
}

impl Separate {
    /// The keys and values of the JSON output.
    pub(super) fn facts(
        &self,
        told: &Told<'_>,
        mix: &Recording,
        stft: &Stft,
        results: &Results,
        seconds: f64,
    ) -> Value {
        let sources = told.sources;
        let mut facts = json!({
            "mode": told.mode,
            "online": self.online,
            "solver": if self.goes_along() { "decompose" } else { self.solver.name() },
            "status": summary::status(sources.status),
            "iterations": sources.iterations,
            "seconds": seconds,
            "divergence": summary::number(sources.divergence),
            "relative_gap": summary::number(sources.relative_gap),
            "components": sources.w.cols(),
            "sources": sources.names,
            "folder": self.out().display().to_string(),
            "files": told.files,
            "rate": mix.rate(),
            "channels": mix.channels(),
            "samples": results.samples,
            "window": stft.window(),
            "hop": stft.hop(),
            "spectrogram": self.spectrogram.name(),
            "shape": [stft.bins(), results.scene.frames],
            "seed": self.seed,
            "threads": thread_count(self.threads),
            "scores": told.scores.map_or(Value::Null, Scores::json),
            "notes": told.notes,
        });
        if self.online {
            let hop = 1e3 * stft.hop() as f64 / f64::from(mix.rate());
            facts["latency"] = frames::latency(&results.heard, hop);
        }
        facts
    }

    /// Prints the summary.
    pub(super) fn tell(&self, told: &Told<'_>, facts: Value) -> anyhow::Result<()> {
        let sources = told.sources;
        self.output.print(facts, |facts| {
            let number = |key: &str| facts[key].as_f64().unwrap_or_default();
            let mut text = format!(
                "sound        {:.1} s, {} Hz, {} channel{}\n",
                number("samples") / number("rate").max(1.0),
                facts["rate"],
                facts["channels"],
                if facts["channels"] == 1 { "" } else { "s" }
            );
            for note in told.notes {
                text += &format!("note         {note}\n");
            }
            text += &format!(
                "spectrogram  {} × {}, {}, windows of {} samples every {}\n",
                facts["shape"][0],
                facts["shape"][1],
                self.spectrogram.name(),
                facts["window"],
                facts["hop"]
            );
            text += &format!(
                "{:<12} {} components, {}, relative gap {:.1e}; all in {:.1} s\n",
                told.mode,
                sources.w.cols(),
                sources.status.name(),
                sources.relative_gap,
                number("seconds")
            );
            if let Some(latency) = facts.get("latency") {
                text += &frames::text(latency);
            }
            if let Some(scores) = told.scores {
                text += &scores.text();
            }
            text += &format!(
                "results      {}: {} stems, model.npz, picture.svg, index.html{}\n",
                self.out().display(),
                sources.names.len(),
                if self.online { ", frames.csv" } else { "" }
            );
            text
        })
    }
}
