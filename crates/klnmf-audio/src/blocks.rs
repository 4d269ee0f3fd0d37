//! A signal that comes in pieces, cut into blocks of frames.
//!
//! Frame j of [`Stft::forward`] ends where hop j + 1 does, so it is complete as soon as so many samples are there. What a
//! block needs of the samples before it is as long as the silence before the first one: a block is a signal that begins with
//! its lead, and needs nothing else to be worked.

use crate::{Spectrum, Stft, mean};
use klnmf::Mat;

/// Takes the samples of all channels as they come and gives blocks of frames.
pub struct Blocks {
    stft: Stft,
    /// The most frames in a block.
    most: usize,
    /// The samples from the first one of the next frame on, the lead of silence included.
    samples: Vec<Vec<f64>>,
    /// Samples per channel so far.
    len: usize,
    /// Frames that have been given, and those of them whose samples are still here.
    given: usize,
    spent: usize,
}

/// Some frames of a signal of one or more channels.
pub struct Block<'a> {
    /// The number of the first frame.
    pub first: usize,
    /// How many they are.
    pub frames: usize,
    /// The samples of every channel, from the first one of the first frame on; what is missing at the end is silence.
    pub(crate) samples: &'a [Vec<f64>],
    /// How many samples of the signal no later frame touches.
    pub(crate) finished: usize,
}

impl Blocks {
    /// For a signal of so many channels, in blocks of at most `most` frames.
    pub fn new(stft: &Stft, channels: usize, most: usize) -> Self {
        let samples = vec![vec![0.0; stft.lead()]; channels];
        Self { stft: stft.clone(), most: most.max(1), samples, len: 0, given: 0, spent: 0 }
    }

    /// Takes the next samples of every channel; panics if their number differs.
    pub fn push<S: AsRef<[f64]>>(&mut self, piece: &[S]) {
        let added = piece.first().map_or(0, |channel| channel.as_ref().len());
        assert_eq!(piece.len(), self.samples.len(), "channels of every piece");
        for (samples, channel) in self.samples.iter_mut().zip(piece) {
            assert_eq!(channel.as_ref().len(), added, "samples of every channel");
            samples.extend_from_slice(channel.as_ref());
        }
        self.len += added;
    }

    /// Samples per channel so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has come yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next block, if a full one is there; when the signal is `over`, also the rest.
    pub fn block(&mut self, over: bool) -> Option<Block<'_>> {
        let hop = self.stft.hop();
        let spent = std::mem::take(&mut self.spent) * hop;
        self.samples.iter_mut().for_each(|channel| drop(channel.drain(..spent.min(channel.len()))));
        let there = if over { self.stft.frames(self.len) } else { self.len / hop };
        let frames = (there - self.given).min(self.most);
        if frames == 0 || (frames < self.most && !over) {
            return None;
        }
        let ends = |frames: usize| (frames * hop).saturating_sub(self.stft.lead()).min(self.len);
        let first = self.given;
        let finished = ends(first + frames) - ends(first);
        (self.given, self.spent) = (first + frames, frames);
        Some(Block { first, frames, samples: &self.samples, finished })
    }
}

impl Block<'_> {
    /// The spectrogram of the mean of the channels.
    pub fn spectrogram(&self, stft: &Stft, spectrum: Spectrum) -> Mat<f64> {
        stft.spectra(&mean(self.samples), self.frames, 0, spectrum)
    }
}
