//! How much a separation takes.

use super::Separate;
use super::material::Material;
use crate::cmd::thread_count;
use crate::{input, summary};
use anyhow::bail;
use klnmf_audio::{Sound, Stft};

impl Separate {
    /// Fails before the work if the stems cannot fit into their files, or what is worked on as a whole into the memory that
    /// is free.
    pub(super) fn check_size(&self, material: &Material, stft: &Stft, stems: usize) -> anyhow::Result<()> {
        let mix = &material.mix;
        self.format.wav().check(mix.rate(), mix.channels(), mix.promised().unwrap_or(0))?;
        let Some(free) = input::available_memory() else { return Ok(()) };
        let (learning, mixing) = (self.learning(material, stft), self.mixing(mix.sound(), stft, stems));
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
                "{what} takes up to {} more and {} of memory are free: lower the --rate, {remedy}",
                summary::bytes(need),
                summary::bytes(free)
            );
        }
        Ok(())
    }

    /// Bytes that learning takes beyond what has been read: there are spectrograms of all recordings, and as many are worked
    /// on at once as there are threads, in the worst case the longest.
    fn learning(&self, material: &Material, stft: &Stft) -> u128 {
        let mut each: Vec<u128> = material.training.iter().map(|(_, sound)| spectra(sound, stft)).collect();
        each.sort_unstable_by(|a, b| b.cmp(a));
        let (at_once, later) = each.split_at(thread_count(self.threads).min(each.len()));
        at_once.iter().sum::<u128>() + later.iter().sum::<u128>() / COPIES
    }

    /// Bytes that the mix takes beyond what has been read: signals for the scores, and the spectra if components are learned
    /// from it. Without either it is worked on in blocks.
    fn mixing(&self, sound: Option<&Sound>, stft: &Stft, stems: usize) -> u128 {
        let Some(sound) = sound else { return 0 };
        let signals = if self.evaluate.is_empty() { 0 } else { 8 * sound.len() as u128 * stems as u128 };
        let whole = !self.knows() || self.free(true) > 0;
        signals + if whole { spectra(sound, stft) } else { 0 }
    }
}

/// Copies of a spectrogram while it is factored: itself, and two by columns and by rows that the solver works on.
const COPIES: u128 = 3;

/// Bytes of the spectrogram of a sound while it is factored.
fn spectra(sound: &Sound, stft: &Stft) -> u128 {
    8 * COPIES * stft.bins() as u128 * stft.frames(sound.len()) as u128
}
