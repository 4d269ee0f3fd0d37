//! Splits a signal that arrives in pieces into blocks of frames.
//!
//! Frame j of [`Stft::forward`] ends with hop j + 1, so it is complete when that many samples have arrived. A
//! block begins with the samples before it that its first frame needs; there are as many of them as samples
//! of silence before the first frame of the signal. So every block can be processed on its own.

use crate::{Error, Listener, Recording, Spectrum, Stft, mean};
use klnmf::Mat;

/// Collects the samples of all channels as they arrive and returns blocks of frames.
pub struct Blocks {
    stft: Stft,
    /// The largest number of frames in a block.
    most: usize,
    /// The samples from the start of the next frame on, including the leading silence.
    samples: Vec<Vec<f64>>,
    /// Samples per channel so far.
    len: usize,
    /// The number of frames that were returned, and of those whose samples are still stored.
    given: usize,
    spent: usize,
}

/// Some frames of a signal of one or more channels.
pub struct Block<'a> {
    /// The number of the first frame.
    pub first: usize,
    /// The number of frames.
    pub frames: usize,
    /// The samples of every channel, from the start of the first frame on; missing samples at the end are
    /// silence.
    pub(crate) samples: &'a [Vec<f64>],
    /// The number of samples of the signal that no later frame uses.
    pub(crate) finished: usize,
}

impl Blocks {
    /// Splits a signal of `channels` channels into blocks of at most `most` frames.
    pub fn new(stft: &Stft, channels: usize, most: usize) -> Self {
        let samples = vec![vec![0.0; stft.lead()]; channels];
        Self { stft: stft.clone(), most: most.max(1), samples, len: 0, given: 0, spent: 0 }
    }

    /// Adds the next samples of every channel; panics if their numbers differ.
    pub fn push<S: AsRef<[f64]>>(&mut self, piece: &[S]) {
        let added = piece.first().map_or(0, |channel| channel.as_ref().len());
        assert_eq!(piece.len(), self.samples.len(), "channels of every piece");
        for (samples, channel) in self.samples.iter_mut().zip(piece) {
            assert_eq!(channel.as_ref().len(), added, "samples of every channel");
            samples.extend_from_slice(channel.as_ref());
        }
        self.len += added;
    }

    /// Adds the next samples of a mix, which the listener gets too. False at its end.
    pub(crate) fn read(&mut self, mix: &mut Recording, listener: &mut impl Listener) -> Result<bool, Error> {
        let Some(piece) = mix.piece()? else { return Ok(false) };
        listener.samples(&piece);
        self.push(&piece);
        Ok(true)
    }

    /// Samples per channel so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no samples have arrived yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next block, if it is full; when the signal is `over`, also the rest.
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
