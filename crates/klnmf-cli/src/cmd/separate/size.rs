//! The memory and file sizes of a separation.

use super::Separate;
use super::material::Material;
use crate::{input, summary};
use anyhow::bail;
use klnmf_audio::{Dictionary, Recording, Separator, Sound, Stft};

impl Separate {
    /// Fails if more components are requested than the spectrogram has entries.
    pub(super) fn check_components(&self, mix: &Recording, stft: &Stft) -> anyhow::Result<()> {
        let Some(sound) = mix.sound() else { return Ok(()) };
        let (most, wanted) = (stft.bins() * stft.frames(sound.len()), self.free());
        if wanted > most {
            bail!("--components {wanted}: the spectrogram has only {most} entries; choose fewer");
        }
        Ok(())
    }

    /// Fails before the work starts if the stems cannot fit into their files, or the data that are needed as
    /// a whole into the free memory.
    pub(super) fn check_size(
        &self,
        separator: &Separator,
        material: &Material,
        stft: &Stft,
        known: Option<&Dictionary>,
        stems: usize,
    ) -> anyhow::Result<()> {
        let mix = &material.mix;
        self.format.check(mix.rate(), mix.channels(), mix.promised().unwrap_or(0))?;
        let Some(free) = input::available_memory() else { return Ok(()) };
        let lengths: Vec<usize> = material.training.iter().map(|(_, sound)| sound.len()).collect();
        let learning = separator.learning_memory(&lengths, stft);
        let fixed = known.map_or(lengths.len() * self.per_source, |known| known.w.cols());
        let signals = |sound: &Sound| 8 * (sound.len() * stems * self.evaluate.len().min(1)) as u128;
        let mixing =
            mix.sound().map_or(0, |sound| signals(sound) + separator.mix_memory(sound.len(), fixed, stft));
        let (what, need, remedy) = if learning > mixing {
            (
                "learning from these recordings",
                learning,
                "cut the recordings of --train or use fewer --threads",
            )
        } else {
            ("this recording", mixing, "cut the recording, or learn dictionaries first (--train, --save)")
        };
        if need > free {
            bail!(
                "{what} needs up to {} more memory and {} are free: lower the --rate, {remedy}",
                summary::bytes(need),
                summary::bytes(free)
            );
        }
        Ok(())
    }
}
