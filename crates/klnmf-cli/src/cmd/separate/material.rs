//! The input of a separation.

use super::Separate;
use anyhow::{Context, bail};
use klnmf_audio::{Reader, Recording, Sound};
use rayon::prelude::*;
use std::path::Path;

/// The recording, the true stems if they are known, and recordings to learn from.
pub struct Material {
    pub name: String,
    pub mix: Recording,
    pub truth: Vec<(String, Sound)>,
    pub training: Vec<(String, Sound)>,
    /// Problems of files other than the recording.
    pub notes: Vec<String>,
}

impl Separate {
    /// Reads the files that the options name, or creates those of the demonstration.
    pub(super) fn material(&self) -> anyhow::Result<Material> {
        if self.demo {
            return demo(self.rate.unwrap_or(16_000), self.seed);
        }
        let path = self.path.as_deref().context("the recording is missing: name a sound file")?;
        let mix = self.recording(path)?;
        let named = |option: &String| -> anyhow::Result<(String, Sound)> {
            let (name, file) = option
                .split_once('=')
                .filter(|(name, file)| !name.trim().is_empty() && !file.is_empty())
                .with_context(|| {
                    format!("--train {option}: give a name and a file, for example piano=piano.wav")
                })?;
            Ok((name.to_owned(), self.read(Path::new(file))?))
        };
        let training = together(&self.train, named)?;
        for (at, (name, sound)) in training.iter().enumerate() {
            if training[..at].iter().any(|(other, _)| other == name) {
                bail!("--train {name}: two sources have this name; give each its own");
            }
            if sound.rate != mix.rate() {
                bail!(
                    "--train {name} has {} samples per second and the recording has {}: resample both with \
                     --rate {}",
                    sound.rate,
                    mix.rate(),
                    sound.rate.min(mix.rate())
                );
            }
        }
        let truth = together(&self.evaluate, |path| Ok((stem_name(path), self.read(path)?)))?;
        let notes = [notes("--train", &training), notes("--evaluate", &truth)].concat();
        let name = klnmf_io::file_name(path);
        Ok(Material { name, mix, truth, training, notes })
    }

    /// Opens the recording itself. If all sources are known, or with --online, it is read piece by piece,
    /// unless it is compared with the true stems or resampled: both need whole signals.
    fn recording(&self, path: &Path) -> anyhow::Result<Recording> {
        if self.goes_along() && self.evaluate.is_empty() {
            let reader = Reader::open(path)?;
            if self.rate.is_none_or(|rate| rate == reader.rate()) {
                return Ok(reader.into());
            }
        }
        Ok(self.read(path)?.into())
    }

    fn read(&self, path: &Path) -> anyhow::Result<Sound> {
        let sound = klnmf_audio::read(path)?;
        Ok(match self.rate {
            Some(rate) => sound.resampled(rate)?,
            None => sound,
        })
    }
}

/// Reads all files in parallel. Of several errors, the first in the order of the files is returned.
fn together<O: Sync>(
    options: &[O],
    read: impl Fn(&O) -> anyhow::Result<(String, Sound)> + Send + Sync,
) -> anyhow::Result<Vec<(String, Sound)>> {
    let all: Vec<anyhow::Result<_>> = options.par_iter().map(read).collect();
    all.into_iter().collect()
}

/// Problems of the files of an option.
fn notes(option: &str, sounds: &[(String, Sound)]) -> Vec<String> {
    let told = |(name, sound): &(String, Sound)| -> Vec<String> {
        sound.notes.iter().map(|note| format!("{option} {name}: {note}")).collect()
    };
    sounds.iter().flat_map(told).collect()
}

/// Ten seconds of the built-in ensemble, and each instrument alone to learn from.
fn demo(rate: u32, seed: u64) -> anyhow::Result<Material> {
    const SECONDS: f64 = 10.0;
    let owned =
        |parts: Vec<(&'static str, Sound)>| parts.into_iter().map(|(n, s)| (n.to_owned(), s)).collect();
    let truth: Vec<(String, Sound)> = owned(klnmf_audio::ensemble(SECONDS, rate, seed)?);
    let training = owned(klnmf_audio::training(SECONDS, rate, seed.wrapping_add(1))?);
    let len = truth.first().map_or(0, |(_, sound)| sound.len());
    let sum = |i: usize| truth.iter().map(|(_, sound)| sound.channels[0][i]).sum();
    let mix = Sound::new(rate, vec![(0..len).map(sum).collect()])?;
    let name = "the built-in ensemble".into();
    Ok(Material { name, mix: mix.into(), truth, training, notes: Vec::new() })
}

fn stem_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
