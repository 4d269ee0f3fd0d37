//! Scores of separated sources when the true ones are known: BSS Eval (version 3) and SI-SDR.
//!
//! The estimate x is projected onto all filterings of the reference s_j with L taps (P_j x), and onto those
//! of all references (P x). This splits it into target, interference and artefacts:
//!
//! x = P_j x + (P x − P_j x) + (x − P x),
//! SDR = ‖P_j x‖²/‖x − P_j x‖²,  SIR = ‖P_j x‖²/‖P x − P_j x‖²,  SAR = ‖P x‖²/‖x − P x‖², in decibels.
//!
//! The filters solve normal equations with the correlations of the references, which are computed by Fourier
//! transforms. The values agree with `bss_eval_sources` of the Python package `mir_eval`.
//!
//! E. Vincent, R. Gribonval & C. Févotte, *Performance measurement in blind audio source separation* (2006).
//! J. Le Roux, S. Wisdom, H. Erdogan & J. Hershey, *SDR – half-baked or well done?* (2019).

use crate::Error;
use crate::cholesky::Cholesky;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::ops::Range;
use std::sync::Arc;

/// The usual length of the filters.
pub const TAPS: usize = 512;

/// The largest number of sources: the pairings of more would not fit in memory.
const MOST_SOURCES: usize = 16;

/// The largest number of unknowns: more would need over 2 GiB.
const MOST_UNKNOWNS: usize = 1 << 14;

const FITS: &str = "the buffers are made for the transform";

/// How well an estimate matches its reference, in decibels. Larger is better; infinite means no error.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Score {
    /// The estimate that is paired with this reference, counted from 0.
    pub estimate: usize,
    /// Signal to distortion: all errors.
    pub sdr: f64,
    /// Signal to interference: the remains of other sources.
    pub sir: f64,
    /// Signal to artefacts: errors that belong to no source.
    pub sar: f64,
    /// Scale-invariant signal to distortion: only a change of loudness is allowed.
    pub si_sdr: f64,
}

/// The scores of the estimates, one for each reference, in the pairing with the largest mean SIR.
///
/// `taps` is the length of the filters, usually [`TAPS`]. A silent reference or estimate is an error, because
/// no ratio is defined for it. For references that are filtered copies of one another, the scores are the
/// limit of a small ridge.
pub fn evaluate<R: AsRef<[f64]>, E: AsRef<[f64]>>(
    references: &[R],
    estimates: &[E],
    taps: usize,
) -> Result<Vec<Score>, Error> {
    let references: Vec<&[f64]> = references.iter().map(AsRef::as_ref).collect();
    let estimates: Vec<&[f64]> = estimates.iter().map(AsRef::as_ref).collect();
    check(&references, &estimates, taps)?;
    let space = Space::new(&references, taps);
    let scores: Vec<Vec<Score>> = estimates.par_iter().enumerate().map(|(e, x)| space.scores(e, x)).collect();
    let pairs = best_pairs(references.len(), |e, j| scores[e][j].sir);
    Ok(pairs.iter().enumerate().map(|(j, e)| scores[*e][j]).collect())
}

/// The scale-invariant ratio of signal to distortion in decibels; NaN if either signal is silent.
pub fn si_sdr(reference: &[f64], estimate: &[f64]) -> f64 {
    let product: f64 = reference.iter().zip(estimate).map(|(s, x)| s * x).sum();
    let scale = product / energy(reference);
    let target: Vec<f64> = reference.iter().map(|s| scale * s).collect();
    if energy(estimate) == 0.0 { f64::NAN } else { decibels(energy(&target), distance(&target, estimate)) }
}

/// Fails if the number of taps or sources is out of range.
pub fn check_taps(sources: usize, taps: usize) -> Result<(), Error> {
    let most = MOST_UNKNOWNS / sources.max(1);
    if (1..=most).contains(&taps) {
        return Ok(());
    }
    Err(Error::setting("taps", taps, format!("1 to {most} are possible with {sources} sources")))
}

fn check(references: &[&[f64]], estimates: &[&[f64]], taps: usize) -> Result<(), Error> {
    let sources = references.len();
    if !(1..=MOST_SOURCES).contains(&sources) {
        return Err(Error::setting("sources", sources, format!("1 to {MOST_SOURCES} can be evaluated")));
    }
    check_taps(sources, taps)?;
    if estimates.len() != sources {
        let estimates = estimates.len();
        return Err(Error::Shape(format!(
            "{sources} references but {estimates} estimates: give one for each"
        )));
    }
    for (name, signals) in [("reference", references), ("estimate", estimates)] {
        for (number, signal) in signals.iter().enumerate() {
            let (len, must) = (signal.len(), references[0].len());
            if len != must {
                return Err(Error::signal(
                    name,
                    number,
                    format!("has {len} samples but reference 0 has {must}: give signals of one length"),
                ));
            }
            let loudness = energy(signal);
            if loudness == 0.0 {
                return Err(Error::signal(name, number, "is silent: leave it out, no ratio is defined"));
            }
            if !loudness.is_finite() {
                return Err(Error::signal(name, number, "is not finite or far too loud: scale it to −1..1"));
            }
        }
    }
    Ok(())
}

/// The references and all their delays by less than `taps` samples.
struct Space {
    taps: usize,
    /// Samples of a filtered reference.
    len: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    references: Vec<Vec<f64>>,
    spectra: Vec<Vec<Complex<f64>>>,
    /// The normal equations of each reference alone.
    each: Vec<Cholesky>,
    /// The normal equations of all of them.
    all: Cholesky,
}

impl Space {
    fn new(references: &[&[f64]], taps: usize) -> Self {
        let len = references[0].len() + taps - 1;
        let size = len.next_power_of_two().max(2);
        let mut planner = RealFftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
        let spectra: Vec<_> = references.par_iter().map(|signal| spectrum(&*forward, signal)).collect();
        let sources = references.len();
        let lags: Vec<Vec<f64>> = (0..sources * sources)
            .into_par_iter()
            .map(|pair| correlation(&*inverse, &spectra[pair / sources], &spectra[pair % sources]))
            .collect();
        // Reference i delayed by a against reference j delayed by b: their correlation at the lag b − a.
        let inner = |i: usize, a: usize, j: usize, b: usize| lags[i * sources + j][(b + size - a) % size];
        let each = (0..sources).map(|j| Cholesky::new(taps, |a, b| inner(j, a, j, b))).collect();
        let all = Cholesky::new(sources * taps, |p, q| inner(p / taps, p % taps, q / taps, q % taps));
        let references = references.iter().map(|signal| signal.to_vec()).collect();
        Self { taps, len, forward, inverse, references, spectra, each, all }
    }

    /// The scores of one estimate against every reference.
    fn scores(&self, number: usize, estimate: &[f64]) -> Vec<Score> {
        let own = spectrum(&*self.forward, estimate);
        let size = self.forward.len();
        let products: Vec<f64> = (self.spectra.iter())
            .flat_map(|reference| {
                let lags = correlation(&*self.inverse, reference, &own);
                (0..self.taps).map(move |a| lags[(size - a) % size])
            })
            .collect();
        let mut estimate = estimate.to_vec();
        let near = |j: usize, x: &[f64]| si_sdr(&self.references[j], x);
        let si_sdrs: Vec<f64> = (0..self.spectra.len()).map(|j| near(j, &estimate)).collect();
        estimate.resize(self.len, 0.0);
        let explained = self.project(&self.all, 0..self.spectra.len(), &products);
        let score = |(j, si_sdr): (usize, f64)| {
            let products = &products[j * self.taps..][..self.taps];
            let target = self.project(&self.each[j], j..j + 1, products);
            Score {
                estimate: number,
                sdr: decibels(energy(&target), distance(&target, &estimate)),
                sir: decibels(energy(&target), distance(&target, &explained)),
                sar: decibels(energy(&explained), distance(&explained, &estimate)),
                si_sdr,
            }
        };
        si_sdrs.into_iter().enumerate().map(score).collect()
    }

    /// The projection onto some of the references, from the products of their delays with the projected
    /// signal.
    fn project(&self, equations: &Cholesky, sources: Range<usize>, products: &[f64]) -> Vec<f64> {
        let mut filters = products.to_vec();
        equations.solve(&mut filters);
        let mut sum = vec![Complex::default(); self.forward.complex_len()];
        for (filter, reference) in filters.chunks_exact(self.taps).zip(&self.spectra[sources]) {
            let filter = spectrum(&*self.forward, filter);
            sum.iter_mut().zip(filter.iter().zip(reference)).for_each(|(sum, (f, r))| *sum += f * r);
        }
        let mut signal = back(&*self.inverse, sum);
        signal.truncate(self.len);
        signal
    }
}

/// The Fourier transform of a signal padded with zeros.
fn spectrum(transform: &dyn RealToComplex<f64>, signal: &[f64]) -> Vec<Complex<f64>> {
    let (mut padded, mut spectrum) = (transform.make_input_vec(), transform.make_output_vec());
    padded[..signal.len()].copy_from_slice(signal);
    transform.process(&mut padded, &mut spectrum).expect(FITS);
    spectrum
}

/// The signal of a spectrum.
fn back(transform: &dyn ComplexToReal<f64>, mut spectrum: Vec<Complex<f64>>) -> Vec<f64> {
    let mut signal = transform.make_output_vec();
    // Products of these may be −0 or a rounding error.
    spectrum[0].im = 0.0;
    spectrum[transform.len() / 2].im = 0.0;
    transform.process(&mut spectrum, &mut signal).expect(FITS);
    let scale = 1.0 / transform.len() as f64;
    signal.iter_mut().for_each(|x| *x *= scale);
    signal
}

/// Σ_n a[n + lag]·b[n] for every lag, negative ones counted from the end.
fn correlation(transform: &dyn ComplexToReal<f64>, a: &[Complex<f64>], b: &[Complex<f64>]) -> Vec<f64> {
    back(transform, a.iter().zip(b).map(|(a, b)| a * b.conj()).collect())
}

fn energy(signal: &[f64]) -> f64 {
    signal.iter().map(|x| x * x).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn decibels(signal: f64, noise: f64) -> f64 {
    10.0 * (signal / noise).log10()
}

/// For every reference, the estimate in the pairing with the largest sum of gains.
///
/// Dynamic programming: for every set of estimates, from small to large, finds the best pairing with the
/// first references.
fn best_pairs(count: usize, gain: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    // Infinities of opposite sign must not be added.
    let gain = |e, j| gain(e, j).clamp(-1e4, 1e4);
    let mut best = vec![(f64::NEG_INFINITY, 0); 1 << count];
    best[0].0 = 0.0;
    for set in 1usize..1 << count {
        let last = set.count_ones() as usize - 1;
        for e in (0..count).filter(|e| set >> e & 1 == 1) {
            let total = best[set ^ 1 << e].0 + gain(e, last);
            if total > best[set].0 {
                best[set] = (total, e);
            }
        }
    }
    let mut set = (1 << count) - 1;
    let mut pairs = vec![0; count];
    for pair in pairs.iter_mut().rev() {
        *pair = best[set].1;
        set ^= 1 << *pair;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::best_pairs;

    #[test]
    fn the_best_pairing_is_not_the_greedy_one() {
        // gains[estimate][reference]
        let gains = [[9.0, 8.0, 0.0], [8.0, 1.0, 0.0], [f64::NEG_INFINITY, 0.0, f64::INFINITY]];
        assert_eq!(best_pairs(3, |e, j| gains[e][j]), [1, 0, 2]);
    }
}
