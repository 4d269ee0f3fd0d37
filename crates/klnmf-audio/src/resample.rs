//! Another number of samples per second, by the Fourier transform of the whole signal: exact for what both rates can hold.

use crate::{Error, Sound};
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

impl Sound {
    /// The same sound at another rate; what that rate cannot hold is left out.
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
    // The lengths are those that the plans asked for, and the spectrum of a real signal begins with a real number.
    let _ = forward.process(&mut samples, &mut spectrum);
    bins.iter_mut().zip(&spectrum).for_each(|(to, from)| *to = from / signal.len() as f64);
    if let Some(first) = bins.first_mut() {
        first.im = 0.0;
    }
    // The middle of an even length is real; half of it came from each side.
    if length % 2 == 0
        && let Some(last) = bins.last_mut()
    {
        *last = Complex::new(last.re, 0.0);
    }
    let _ = inverse.process(&mut bins, &mut out);
    out
}
