//! The short-time Fourier transform with sine windows, and its exact inverse.
//!
//! Frame j holds the samples from j·hop − (window − hop) on, padded with silence, so every sample lies in the
//! same number of frames. Frames are weighted by sin(π(i + ½)/window) before the transform and after the
//! inverse transform. The sum of the frames is divided by the sum of the squared windows, which repeats every
//! hop.

use crate::{Error, Spectrum};
use klnmf::Mat;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// The usual length of a window in milliseconds: 256 samples at 11 025 Hz.
pub const WINDOW_MS: f64 = 23.2;

const FITS: &str = "the buffers are made for the transform";

/// The even number of samples nearest to `ms` milliseconds, at least 2.
pub fn window_for(rate: u32, ms: f64) -> usize {
    2 * ((f64::from(rate) * ms / 2000.0).round() as usize).max(1)
}

/// A short-time Fourier transform of one window and hop.
#[derive(Clone)]
pub struct Stft {
    window: usize,
    hop: usize,
    analysis: Vec<f64>,
    /// The window of the inverse, with all its divisions.
    synthesis: Vec<f64>,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

impl Stft {
    /// Windows of `window` samples, even or odd, at a distance of `hop`; they must overlap by at least half.
    pub fn new(window: usize, hop: usize) -> Result<Self, Error> {
        const LONGEST: usize = 1 << 24;
        if !(2..=LONGEST).contains(&window) {
            return Err(Error::setting("window", window, format!("2 to {LONGEST} samples are possible")));
        }
        if !(1..=window / 2).contains(&hop) {
            return Err(Error::setting(
                "hop",
                hop,
                format!("1 to {} (half a window) are possible", window / 2),
            ));
        }
        let sine = |i| (std::f64::consts::PI * (i as f64 + 0.5) / window as f64).sin();
        let analysis: Vec<f64> = (0..window).map(sine).collect();
        let overlap = |i: usize| analysis[i..].iter().step_by(hop).map(|a| a * a).sum::<f64>();
        let overlaps: Vec<f64> = (0..hop).map(overlap).collect();
        let synthesis = (0..window).map(|i| analysis[i] / (overlaps[i % hop] * window as f64)).collect();
        let mut planner = RealFftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(window), planner.plan_fft_inverse(window));
        Ok(Self { window, hop, analysis, synthesis, forward, inverse })
    }

    /// The usual transform for a sample rate: windows of [`WINDOW_MS`] that overlap by half.
    pub fn for_rate(rate: u32) -> Result<Self, Error> {
        let window = window_for(rate, WINDOW_MS);
        Self::new(window, window / 2)
    }

    /// Samples per window.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Samples from one window to the next.
    pub fn hop(&self) -> usize {
        self.hop
    }

    /// Frequencies per frame.
    pub fn bins(&self) -> usize {
        self.window / 2 + 1
    }

    /// Frames of a signal of `len` samples.
    pub fn frames(&self, len: usize) -> usize {
        if len == 0 { 0 } else { (len - 1 + self.lead()) / self.hop + 1 }
    }

    /// The frames of a signal.
    pub fn forward(&self, signal: &[f64]) -> Frames {
        self.transform(signal, self.frames(signal.len()), self.lead())
    }

    /// The spectrogram of a signal, bins × frames, without storing its complex frames, which take twice the
    /// memory.
    pub fn spectrogram(&self, signal: &[f64], spectrum: Spectrum) -> Mat<f64> {
        self.spectra(signal, self.frames(signal.len()), self.lead(), spectrum)
    }

    /// The frames that lie entirely within the signal, 1 + (len − window)/hop of them, as in the literature.
    /// They have no inverse, because samples near the ends are missing or faint.
    pub fn forward_unpadded(&self, signal: &[f64]) -> Frames {
        let frames = signal.len().checked_sub(self.window).map_or(0, |rest| 1 + rest / self.hop);
        self.transform(signal, frames, 0)
    }

    /// The signal of `len` samples with these frames; panics if their number or height is wrong.
    pub fn inverse(&self, frames: &Frames, len: usize) -> Vec<f64> {
        let (bins, count) = (self.bins(), self.frames(len));
        let shape = (frames.bins, frames.frames, frames.data.len());
        assert_eq!(shape, (bins, count, bins * count), "bins, frames and entries of {len} samples");
        let mut work = self.work();
        let (mut bins, mut piece) = (self.forward.make_output_vec(), vec![0.0; self.window]);
        let mut sums = Sums::new(self);
        let mut signal = Vec::with_capacity(len);
        for frame in frames.data.chunks_exact(self.bins()) {
            bins.copy_from_slice(frame);
            self.synthesise(&mut bins, &mut piece, &mut work);
            sums.add(&piece, &mut signal);
        }
        signal.truncate(len);
        signal
    }

    /// The number of samples of silence before the signal.
    pub(crate) fn lead(&self) -> usize {
        self.window - self.hop
    }

    /// Frames of a signal with `lead` samples of silence before it.
    pub(crate) fn transform(&self, signal: &[f64], frames: usize, lead: usize) -> Frames {
        let mut data = vec![Complex::default(); self.bins() * frames];
        data.par_chunks_mut(self.bins())
            .enumerate()
            .for_each_init(|| self.work(), |work, (j, bins)| self.analyse_at(signal, j, lead, bins, work));
        Frames { bins: self.bins(), frames, data }
    }

    /// The spectrogram of a signal with `lead` samples of silence before it.
    pub(crate) fn spectra(&self, signal: &[f64], frames: usize, lead: usize, spectrum: Spectrum) -> Mat<f64> {
        let mut all = Mat::zeros(self.bins(), frames);
        all.as_mut_slice().par_chunks_mut(self.bins()).enumerate().for_each_init(
            || (self.work(), self.forward.make_output_vec()),
            |(work, bins), (j, column)| {
                self.analyse_at(signal, j, lead, bins, work);
                spectrum.of(bins, column);
            },
        );
        all
    }

    /// Frame `j` of a signal that begins with its lead.
    pub(crate) fn analyse(&self, signal: &[f64], j: usize, bins: &mut [Complex<f64>], work: &mut Work) {
        self.analyse_at(signal, j, 0, bins, work);
    }

    /// Frame `j` where `lead` samples of silence come before the signal.
    fn analyse_at(&self, signal: &[f64], j: usize, lead: usize, bins: &mut [Complex<f64>], work: &mut Work) {
        let silent = lead.saturating_sub(j * self.hop);
        let rest = &signal[(j * self.hop).saturating_sub(lead)..];
        work.frame.fill(0.0);
        let weighted = work.frame.iter_mut().zip(&self.analysis).skip(silent);
        weighted.zip(rest).for_each(|((x, a), sample)| *x = a * sample);
        self.forward.process_with_scratch(&mut work.frame, bins, &mut work.scratch).expect(FITS);
    }

    /// The weighted samples of one frame, whose bins are overwritten.
    pub(crate) fn synthesise(&self, bins: &mut [Complex<f64>], piece: &mut [f64], work: &mut Work) {
        // A real signal has no imaginary part at 0 Hz, nor at half the rate if the window is even.
        bins[0].im = 0.0;
        if self.window.is_multiple_of(2) {
            bins[self.window / 2].im = 0.0;
        }
        self.inverse.process_with_scratch(bins, piece, &mut work.scratch).expect(FITS);
        piece.iter_mut().zip(&self.synthesis).for_each(|(x, s)| *x *= s);
    }

    /// Buffers for one thread.
    pub(crate) fn work(&self) -> Work {
        let scratch = self.forward.get_scratch_len().max(self.inverse.get_scratch_len());
        Work { frame: vec![0.0; self.window], scratch: vec![Complex::default(); scratch] }
    }
}

/// Buffers of the transforms.
pub(crate) struct Work {
    frame: Vec<f64>,
    scratch: Vec<Complex<f64>>,
}

/// Complex spectra, one column per frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// Rows: frequencies from 0 to half the sample rate.
    pub bins: usize,
    /// Columns.
    pub frames: usize,
    /// The entries, column by column.
    pub data: Vec<Complex<f64>>,
}

impl Frames {
    /// The squared magnitudes.
    pub fn power(&self) -> Mat<f64> {
        self.each(Spectrum::Power)
    }

    /// The magnitudes.
    pub fn magnitude(&self) -> Mat<f64> {
        self.each(Spectrum::Magnitude)
    }

    fn each(&self, spectrum: Spectrum) -> Mat<f64> {
        let mut all = Mat::zeros(self.bins, self.frames);
        spectrum.of(&self.data, all.as_mut_slice());
        all
    }
}

/// Adds up the frames of one signal in order, and releases the samples that no later frame uses.
pub(crate) struct Sums {
    sums: Vec<f64>,
    hop: usize,
    /// Samples of the leading silence that are still to be dropped.
    lead: usize,
}

impl Sums {
    pub fn new(stft: &Stft) -> Self {
        Self { sums: vec![0.0; stft.window], hop: stft.hop, lead: stft.lead() }
    }

    /// Adds the next frame, and appends the finished samples to `signal`; the last frames may extend beyond
    /// its end.
    pub fn add(&mut self, piece: &[f64], signal: &mut Vec<f64>) {
        self.sums.iter_mut().zip(piece).for_each(|(sum, x)| *sum += x);
        let dropped = self.lead.min(self.hop);
        signal.extend_from_slice(&self.sums[dropped..self.hop]);
        self.lead -= dropped;
        self.sums.copy_within(self.hop.., 0);
        let end = self.sums.len() - self.hop;
        self.sums[end..].fill(0.0);
    }
}
