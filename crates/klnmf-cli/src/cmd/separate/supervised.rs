//! Known sources: the recording is read, explained and written block by block, so that its length does not matter.
//!
//! Every frame is a convex problem of its own, so nothing is lost by looking at some of them at a time. What is kept of all
//! frames is the sum of their certificates and pictures of a fixed size; the weights wait on disk for the model.

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

/// Frames at a time, and entries of the spectrogram: enough work for many threads, and 16 MB.
const MOST_FRAMES: usize = 1536;
const MOST_ENTRIES: usize = 1 << 21;

impl Separate {
    /// Explains the recording by what is known and cuts it into stems. After an interruption they end where the work did.
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
                    // Frames that nobody has explained are no stems.
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

/// What is known of all blocks so far.
pub struct Tally {
    pub status: Status,
    /// The most that any frame took.
    pub iterations: usize,
    pub divergence: f64,
    pub gap: f64,
    /// ΣV.
    pub sum: f64,
    /// The sums of the rows of H, and their pictures.
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

    /// Adds entry by entry, so that the sums have the same bits however the frames are cut into blocks.
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
