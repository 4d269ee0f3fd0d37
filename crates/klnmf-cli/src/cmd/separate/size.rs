//! The memory and file sizes of a separation.

use super::Separate;
use super::material::Material;
use super::model::Dictionary;
use super::recording::Recording;
use crate::cmd::thread_count;
use crate::{input, summary};
use anyhow::bail;
use klnmf::Memory;
use klnmf_audio::{Sound, Stft};

impl Separate {
    /// Fails if more components are requested than the spectrogram has entries.
    pub(super) fn check_components(&self, mix: &Recording, stft: &Stft) -> anyhow::Result<()> {
        let Some(sound) = mix.sound() else { return Ok(()) };
        let (most, wanted) = (stft.bins() * stft.frames(sound.len()), self.free(self.knows()));
        if wanted > most {
            bail!("--components {wanted}: the spectrogram has only {most} entries; choose fewer");
        }
        Ok(())
    }

    /// Fails before the work starts if the stems cannot fit into their files, or the data that are needed as
    /// a whole into the free memory.
    pub(super) fn check_size(
        &self,
        material: &Material,
        stft: &Stft,
        known: Option<&Dictionary>,
        stems: usize,
    ) -> anyhow::Result<()> {
        let mix = &material.mix;
        self.format.wav().check(mix.rate(), mix.channels(), mix.promised().unwrap_or(0))?;
        let Some(free) = input::available_memory() else { return Ok(()) };
        let fixed = known.map_or(material.training.len() * self.per_source, |known| known.w.cols());
        let components = fixed + self.free(fixed > 0);
        let frames = material.training.iter().map(|(_, sound)| stft.frames(sound.len())).collect();
        let learning = learning(stft.bins(), frames, self.per_source, thread_count(self.threads));
        let mixing = self.mixing(mix.sound(), stft, components, stems);
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

    /// Bytes that the mix needs beyond what has been read: signals for the scores, and the spectrogram and
    /// its factors if components are learned from it. Without either, it is processed in blocks.
    fn mixing(&self, sound: Option<&Sound>, stft: &Stft, components: usize, stems: usize) -> u128 {
        let Some(sound) = sound else { return 0 };
        let signals = if self.evaluate.is_empty() { 0 } else { 8 * sound.len() as u128 * stems as u128 };
        let whole = !self.knows() || self.free(true) > 0;
        let (bins, frames) = (stft.bins(), stft.frames(sound.len()));
        signals + if whole { factoring(bins, frames, components, thread_count(self.threads)) } else { 0 }
    }
}

/// Bytes that learning needs beyond what has been read: the spectrograms of all recordings, and the
/// factorisation of as many as there are threads, in the worst case the longest.
fn learning(bins: usize, mut frames: Vec<usize>, components: usize, threads: usize) -> u128 {
    frames.sort_unstable_by(|a, b| b.cmp(a));
    let (now, later) = frames.split_at(threads.min(frames.len()));
    let waiting = later.iter().map(|frames| 8 * bins as u128 * *frames as u128);
    now.iter().map(|frames| factoring(bins, *frames, components, threads)).chain(waiting).sum()
}

/// Bytes of a spectrogram while it is factorised.
fn factoring(bins: usize, frames: usize, components: usize, threads: usize) -> u128 {
    Memory::dense::<f64>(bins, frames, components, threads).total()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_wait_take_their_spectrogram_only() {
        let (bins, long, short) = (93, 100_000, 1000);
        let alone = factoring(bins, long, 24, 1);
        assert!(alone >= 8 * (2 * 93 * 100_000 + 12 * 24 * 100_093));
        assert_eq!(learning(bins, vec![], 24, 2), 0);
        assert_eq!(learning(bins, vec![long], 24, 1), alone);
        // Whatever the order, the longest may be the one that is worked on.
        for frames in [vec![long, short], vec![short, long]] {
            assert_eq!(learning(bins, frames.clone(), 24, 1), alone + 8 * 93 * 1000);
            let both = factoring(bins, long, 24, 2) + factoring(bins, short, 24, 2);
            assert_eq!(learning(bins, frames, 24, 2), both);
        }
        assert!(factoring(bins, long, 100, 1) > 2 * alone);
    }
}
