//! A recording that is separated while it is heard: frame by frame, with a dictionary that learns (Lefèvre,
//! Bach & Févotte 2011).
//!
//! A frame is decomposed with the spectra as they are, which then learn from it. Its stems are complete one
//! window later. Known sources are where the spectra begin; they move, too.

use crate::{Blocks, Dictionary, Error, Listener, Progress, Recording, Separator, Sources, Splitter};
use crate::{Stft, Watch};
use klnmf::{Mat, Online, OnlineSettings, OnlineState, Status};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Frames that known spectra count as, beside those that are heard.
const KNOWN: usize = 100;

/// What is known about a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Seconds of work on it. Stems follow its last sample by this, if frames arrive one at a time.
    pub latency: f64,
    /// D(v‖Wh).
    pub divergence: f64,
    /// No other weights have a divergence that is lower by more than this.
    pub gap: f64,
    /// Σv.
    pub sum: f64,
}

impl Separator {
    /// Separates a mix while it is read. After an interruption the stems end where the work ended.
    pub(crate) fn follow<L: Listener>(
        &self,
        mix: &mut Recording,
        stft: &Stft,
        known: Option<&Dictionary>,
        watch: Watch<'_>,
        listener: &mut L,
    ) -> Result<Sources, L::Error> {
        let mut online = self.begin(stft, known).map_err(Error::from)?;
        let groups =
            known.map_or_else(|| (0..self.components).map(|k| vec![k]).collect(), Dictionary::groups);
        let nothing = spectra(&online, stft);
        let mut splitter = Splitter::new(stft, &nothing, &groups, mix.channels())?;
        let mut blocks = Blocks::new(stft, mix.channels(), 1);
        let (mut all, mut over, mut status) = (Vec::new(), false, Status::Converged);
        while !over && status == Status::Converged {
            over = !blocks.read(mix, listener)?;
            let mut begun = Instant::now();
            while let Some(block) = blocks.block(over) {
                let v = block.spectrogram(stft, self.spectrum);
                let found = online.push(&v).map_err(Error::from)?;
                splitter.set(spectra(&online, stft));
                listener.frames(&v, &found.h)?;
                splitter.split(&block, found.h.as_slice(), |pieces| listener.stems(pieces))?;
                let (column, sum) = (found.columns[0], v.as_slice().iter().sum());
                let latency = begun.elapsed().as_secs_f64();
                let frame = Frame { latency, divergence: column.divergence, gap: column.gap, sum };
                listener.heard(frame);
                all.push(frame);
                watch(Progress::Frames(all.len()));
                if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    status = Status::Stopped;
                    break;
                }
                begun = Instant::now();
            }
        }
        let total = |of: fn(&Frame) -> f64| all.iter().map(of).sum::<f64>();
        let (sum, gap) = (total(|f| f.sum), total(|f| f.gap));
        Ok(Sources {
            w: spectra(&online, stft),
            groups,
            names: known.map_or_else(|| self.names(&[]), Dictionary::names),
            status,
            iterations: all.len(),
            divergence: total(|f| f.divergence),
            relative_gap: if sum > 0.0 { gap / sum } else { 0.0 },
        })
    }

    /// The spectra before the first frame.
    fn begin(&self, stft: &Stft, known: Option<&Dictionary>) -> klnmf::Result<Online> {
        let mut settings = OnlineSettings { seed: self.seed, ..OnlineSettings::default() };
        settings.forgetting = self.online.unwrap_or_default();
        settings.weights.threads = self.threads;
        settings.weights.max_iter = self.frame_iter;
        settings.weights.tol = self.tol.unwrap_or(settings.weights.tol);
        let Some(known) = known else { return Online::new(self.components, settings) };
        let scale = 1.0 / known.w.as_slice().iter().sum::<f64>();
        let parts = Mat::from_fn(known.w.cols(), stft.bins(), |k, i| scale * known.w[(i, k)]);
        let features = parts.col_sums();
        Online::resume(OnlineState { blocks: KNOWN, parts, features }, settings)
    }
}

/// The spectra as learned so far, and zeros while there was only silence.
fn spectra(online: &Online, stft: &Stft) -> Mat<f64> {
    let w = online.dictionary();
    if w.rows() == stft.bins() { w } else { Mat::zeros(stft.bins(), w.cols()) }
}
