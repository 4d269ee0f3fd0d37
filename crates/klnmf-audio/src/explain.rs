//! Known sources: the recording is read, explained and split block by block, so memory does not grow with its
//! length.
//!
//! Every frame is a convex problem of its own, so working on blocks changes nothing.

use crate::{Blocks, Dictionary, Error, Listener, Progress, Recording, Separator, Sources, Splitter};
use crate::{Stft, Watch};
use klnmf::{DecomposeSettings, Decomposer, Decomposition, Mat, Status};
use std::sync::atomic::Ordering;

/// The largest number of frames, and of entries, in a block: enough work for many threads, and 16 MB.
const MOST_FRAMES: usize = 1536;
const MOST_ENTRIES: usize = 1 << 21;

impl Separator {
    /// Explains a mix by known sources and splits it into stems. After an interruption they end where the
    /// work ended.
    pub(crate) fn explain<L: Listener>(
        &self,
        mix: &mut Recording,
        stft: &Stft,
        known: &Dictionary,
        watch: Watch<'_>,
        listener: &mut L,
    ) -> Result<Sources, L::Error> {
        let groups = known.groups();
        let most = (MOST_ENTRIES / stft.bins()).clamp(1, MOST_FRAMES);
        let mut blocks = Blocks::new(stft, mix.channels(), most);
        let mut splitter = Splitter::new(stft, &known.w, &groups, mix.channels())?;
        let decomposer = Decomposer::new(&known.w, self.threads).map_err(Error::from)?;
        let stopped = || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        let mut tally = Tally::default();
        let mut over = false;
        while !over {
            over = !blocks.read(mix, listener)?;
            while let Some(block) = blocks.block(over) {
                let v = block.spectrogram(stft, self.spectrum);
                let told = |done| watch(Progress::Frames(block.first + done));
                let found = decomposer.decompose_with(&v, &self.convex(), &told).map_err(Error::from)?;
                // Frames without weights cannot be split into stems.
                if found.status != Status::Stopped || block.first == 0 {
                    tally.add(&v, &found);
                    listener.frames(&v, &found.h)?;
                    splitter.split(&block, found.h.as_slice(), |pieces| listener.stems(pieces))?;
                }
                if stopped() {
                    return Ok(tally.sources(Status::Stopped, known, groups));
                }
            }
        }
        Ok(tally.sources(tally.status, known, groups))
    }

    /// The settings for the frames.
    fn convex(&self) -> DecomposeSettings {
        let settings = self.settings(true);
        DecomposeSettings {
            tol: settings.tol,
            max_iter: self.frame_iter,
            threads: settings.threads,
            time_limit: settings.time_limit,
            stop: settings.stop,
            ..DecomposeSettings::default()
        }
    }
}

/// Totals over all blocks so far.
struct Tally {
    status: Status,
    /// The largest number of iterations of any frame.
    iterations: usize,
    divergence: f64,
    gap: f64,
    /// ΣV.
    sum: f64,
}

impl Default for Tally {
    fn default() -> Self {
        Self { status: Status::Converged, iterations: 0, divergence: 0.0, gap: 0.0, sum: 0.0 }
    }
}

impl Tally {
    /// Adds entry by entry, so that the sums have the same bits whatever the blocks.
    fn add(&mut self, v: &Mat<f64>, found: &Decomposition<f64>) {
        for column in &found.columns {
            self.divergence += column.divergence;
            self.gap += column.gap;
            self.iterations = self.iterations.max(column.iterations);
        }
        self.sum = v.as_slice().iter().fold(self.sum, |sum, x| sum + x);
        if found.status != Status::Converged {
            self.status = found.status;
        }
    }

    fn sources(&self, status: Status, known: &Dictionary, groups: Vec<Vec<usize>>) -> Sources {
        Sources {
            w: known.w.clone(),
            groups,
            names: known.names(),
            status,
            iterations: self.iterations,
            divergence: self.divergence,
            relative_gap: if self.sum > 0.0 { self.gap / self.sum } else { 0.0 },
        }
    }
}
