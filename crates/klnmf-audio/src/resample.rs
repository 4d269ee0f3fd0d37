//! Resampling by the Fourier transform of the whole signal. It is exact for the frequencies that both rates
//! can represent, of a periodic signal; a jump between end and beginning causes ringing there.

use crate::{Error, Sound};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

impl Sound {
    /// Resamples the sound, without the frequencies that the new rate cannot represent.
    pub fn resampled(&self, rate: u32) -> Result<Sound, Error> {
        self.check()?;
        if rate == 0 {
            return Err(Error::setting("rate", 0, "a sound needs at least 1 sample per second"));
        }
        if rate == self.rate || self.is_empty() {
            return Ok(Sound { rate, ..self.clone() });
        }
        let length = (self.len() as f64 * f64::from(rate) / f64::from(self.rate)).round().max(1.0) as usize;
        let channels = self.channels.iter().map(|channel| resample(channel, length)).collect();
        Ok(Sound { rate, channels, notes: self.notes.clone() })
    }
}

fn resample(signal: &[f64], length: usize) -> Vec<f64> {
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(signal.len()), planner.plan_fft_inverse(length));
    let (mut samples, mut spectrum) = (signal.to_vec(), forward.make_output_vec());
    let (mut bins, mut out) = (inverse.make_input_vec(), inverse.make_output_vec());
    // The lengths match the plans, and the spectrum of a real signal begins with a real number.
    let _ = forward.process(&mut samples, &mut spectrum);
    bins.iter_mut().zip(&spectrum).for_each(|(to, from)| *to = from / signal.len() as f64);
    if let Some(first) = bins.first_mut() {
        first.im = 0.0;
    }
    let middle = signal.len() / 2;
    if signal.len().is_multiple_of(2) && length > signal.len() {
        // The middle of an even spectrum stands for both its sides; in a longer spectrum each side gets half.
        bins[middle] *= 0.5;
    }
    if length.is_multiple_of(2)
        && let Some(last) = bins.last_mut()
    {
        // The middle of an even spectrum is real.
        *last = Complex::new(last.re, 0.0);
    }
    let _ = inverse.process(&mut bins, &mut out);
    out
}
