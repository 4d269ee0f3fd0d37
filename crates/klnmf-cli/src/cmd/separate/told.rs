//! The summary of a separation.

use super::Separate;
use super::model::Sources;
use super::recording::Recording;
use super::scene::Scene;
use super::score::Scores;
use super::stems::Written;
use crate::cmd::thread_count;
use crate::summary;
use klnmf_audio::Stft;
use serde_json::{Map, Value, json};
use std::path::Path;

impl Separate {
    /// The keys and values of the JSON output.
    pub(super) fn facts(
        &self,
        mix: &Recording,
        stft: &Stft,
        scene: &Scene,
        stems: &Written,
        sources: &Sources,
        scores: Option<&Scores>,
        folder: &Path,
        files: &[String],
        notes: &[String],
        seconds: f64,
    ) -> Map<String, Value> {
        let object = json!({
            "mode": sources.mode,
            "solver": if sources.mode == "supervised" { "decompose" } else { self.solver.name() },
            "status": summary::status(sources.status),
            "iterations": sources.iterations,
            "seconds": seconds,
            "divergence": summary::number(sources.divergence),
            "relative_gap": summary::number(sources.relative_gap),
            "components": sources.w.cols(),
            "sources": sources.names,
            "folder": folder.display().to_string(),
            "files": files,
            "rate": mix.rate(),
            "channels": mix.channels(),
            "samples": stems.samples,
            "window": stft.window(),
            "hop": stft.hop(),
            "spectrogram": self.spectrogram.name(),
            "shape": [stft.bins(), scene.frames],
            "seed": self.seed,
            "threads": thread_count(self.threads),
            "scores": scores.map_or(Value::Null, Scores::json),
            "notes": notes,
        });
        object.as_object().cloned().unwrap_or_default()
    }

    /// Prints the summary.
    pub(super) fn tell(
        &self,
        sources: &Sources,
        scores: Option<&Scores>,
        notes: &[String],
        facts: Map<String, Value>,
    ) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let number = |key: &str| facts[key].as_f64().unwrap_or_default();
            let mut text = format!(
                "sound        {:.1} s, {} Hz, {} channel{}\n",
                number("samples") / number("rate").max(1.0),
                facts["rate"],
                facts["channels"],
                if facts["channels"] == 1 { "" } else { "s" }
            );
            for note in notes {
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
                sources.mode,
                sources.w.cols(),
                sources.status.name(),
                sources.relative_gap,
                number("seconds")
            );
            if let Some(scores) = scores {
                text += &scores.text();
            }
            text += &format!(
                "results      {}: {} stems, model.npz, picture.svg, index.html\n",
                facts["folder"].as_str().unwrap_or_default(),
                sources.names.len()
            );
            text
        })
    }
}
