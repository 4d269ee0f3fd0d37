//! The memory of a separation.

use crate::{Separator, Stft};
use klnmf::Memory;

impl Separator {
    /// Bytes that [`Separator::learn`] needs beyond recordings of these lengths in samples: all spectrograms,
    /// and the factorisation of as many as there are threads, in the worst case the longest.
    pub fn learning_memory(&self, lengths: &[usize], stft: &Stft) -> u128 {
        let mut frames: Vec<usize> = lengths.iter().map(|samples| stft.frames(*samples)).collect();
        frames.sort_unstable_by(|a, b| b.cmp(a));
        let (now, later) = frames.split_at(klnmf::thread_count(self.threads).min(frames.len()));
        let waiting = later.iter().map(|frames| 8 * stft.bins() as u128 * *frames as u128);
        now.iter().map(|frames| self.factoring(*frames, self.per_source, stft)).chain(waiting).sum()
    }

    /// Bytes that [`Separator::separate`] needs beyond a mix of this length that is in memory: its
    /// spectrogram and factors if components are learned from it. Otherwise it is processed in blocks, which
    /// are small.
    pub fn mix_memory(&self, samples: usize, known_components: usize, stft: &Stft) -> u128 {
        if self.components == 0 {
            return 0;
        }
        self.factoring(stft.frames(samples), known_components + self.components, stft)
    }

    /// Bytes of a spectrogram while it is factorised.
    fn factoring(&self, frames: usize, components: usize, stft: &Stft) -> u128 {
        Memory::dense::<f64>(stft.bins(), frames, components, klnmf::thread_count(self.threads)).total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_wait_take_their_spectrogram_only() {
        let stft = Stft::new(184, 92).unwrap();
        let (long, short) = (92 * 100_000, 92 * 1000);
        let of = |threads: usize, lengths: &[usize]| {
            Separator { threads, ..Separator::default() }.learning_memory(lengths, &stft)
        };
        let alone = of(1, &[long]);
        assert!(alone >= 8 * (2 * 93 * 100_000 + 12 * 24 * 100_093));
        assert_eq!(of(2, &[]), 0);
        // Whatever the order, the longest may be the one that is worked on.
        for lengths in [[long, short], [short, long]] {
            assert_eq!(of(1, &lengths), alone + 8 * 93 * stft.frames(short) as u128);
            assert_eq!(of(2, &lengths), of(2, &[long]) + of(2, &[short]));
        }
        let mix = Separator { components: 76, threads: 1, ..Separator::default() };
        assert!(mix.mix_memory(long, 24, &stft) > 2 * alone);
        assert_eq!(Separator::default().mix_memory(long, 24, &stft), 0);
    }
}
