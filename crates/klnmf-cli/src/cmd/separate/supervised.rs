//! Known sources: the recording is read, explained and written block by block, so memory does not grow with
//! its length.
//!
//! Every frame is a convex problem of its own, so working on blocks changes nothing. Only the sums of the
//! divergences and gaps and pictures of fixed size are kept for all frames; the weights are stored on disk
//! until the model is written.

use super::Separate;
use super::model::{Dictionary, Sources, Weights};
use super::recording::Recording;
use super::scene::Scene;
use super::stems::Stems;
use super::thumbnail::Thumbnail;
use crate::progress;
use klnmf::{DecomposeSettings, Decomposer, Decomposition, Mat, Status};
use klnmf_audio::{Blocks, Splitter, Stft};
use klnmf_io::Spool;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The largest number of frames, and of entries, in a block: enough work for many threads, and 16 MB.
const MOST_FRAMES: usize = 1536;
const MOST_ENTRIES: usize = 1 << 21;

impl Separate {
    /// Explains the recording by the known sources and splits it into stems. After an interruption they end
    /// where the work ended.
    pub(super) fn supervised(
        &self,
        known: Dictionary,
        mix: &mut Recording,
        stft: &Stft,
        settings: &klnmf::Settings,
        begun: Instant,
        aside: &Path,
        scene: &mut Scene,
        stems: &mut Stems,
    ) -> anyhow::Result<(Sources, Weights)> {
        let groups = known.groups();
        let frames = mix.promised().map(|samples| stft.frames(samples as usize));
        let bar = progress::bar(frames.unwrap_or(0), self.output.quiet);
        let mut blocks =
            Blocks::new(stft, mix.channels(), (MOST_ENTRIES / stft.bins()).clamp(1, MOST_FRAMES));
        let mut splitter = Splitter::new(stft, &known.w, &groups, mix.channels())?;
        let decomposer = Decomposer::new(&known.w, settings.threads)?;
        let mut weights = Spool::beside(aside, known.w.cols())?;
        let mut tally = Tally::new(known.w.cols());
        'recording: loop {
            let over = match mix.piece()? {
                None => true,
                Some(piece) => {
                    scene.hear(&piece);
                    blocks.push(&piece);
                    false
                }
            };
            while let Some(block) = blocks.block(over) {
                let v = block.spectrogram(stft, self.spectrogram.spectrum());
                let convex = DecomposeSettings {
                    tol: settings.tol,
                    max_iter: self.max_steps(),
                    threads: settings.threads,
                    time_limit: self.left(begun),
                    stop: settings.stop.clone(),
                    ..DecomposeSettings::default()
                };
                let told = |done| bar.set_position((block.first + done) as u64);
                let found = decomposer.decompose_with(&v, &convex, &told)?;
                if found.status == Status::Stopped && block.first > 0 {
                    // Frames without weights cannot be split into stems.
                    tally.status = Status::Stopped;
                    break 'recording;
                }
                scene.see(&v);
                tally.add(&v, &found);
                weights.push(&found.h)?;
                splitter.split(&block, found.h.as_slice(), |pieces| stems.take(pieces))?;
                if settings.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    tally.status = Status::Stopped;
                    break 'recording;
                }
            }
            if over {
                break;
            }
        }
        bar.finish_and_clear();
        Ok((Sources::supervised(known, tally), Weights::Aside(weights)))
    }
}

/// Totals over all blocks so far.
pub struct Tally {
    pub status: Status,
    /// The largest number of iterations of any frame.
    pub iterations: usize,
    pub divergence: f64,
    pub gap: f64,
    /// ΣV.
    pub sum: f64,
    /// The row sums of H, and thumbnails of the rows.
    pub loudness: Vec<f64>,
    pub activations: Thumbnail,
}

impl Tally {
    fn new(components: usize) -> Self {
        Self {
            status: Status::Converged,
            iterations: 0,
            divergence: 0.0,
            gap: 0.0,
            sum: 0.0,
            loudness: vec![0.0; components],
            activations: Thumbnail::new(components),
        }
    }

    /// Adds entry by entry, so that the sums have the same bits whatever the blocks.
    fn add(&mut self, v: &Mat<f64>, found: &Decomposition<f64>) {
        for column in &found.columns {
            self.divergence += column.divergence;
            self.gap += column.gap;
            self.iterations = self.iterations.max(column.iterations);
        }
        self.sum = v.as_slice().iter().fold(self.sum, |sum, x| sum + x);
        for weights in found.h.as_slice().chunks(self.loudness.len()) {
            self.loudness.iter_mut().zip(weights).for_each(|(sum, x)| *sum += x);
            self.activations.add(weights.iter().copied());
        }
        if found.status != Status::Converged {
            self.status = found.status;
        }
    }
}
