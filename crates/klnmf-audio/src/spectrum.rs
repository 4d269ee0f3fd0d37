//! The kinds of spectrogram.

use realfft::num_complex::Complex;

/// The meaning of the entries of a spectrogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spectrum {
    /// The squared magnitude, as in the paper.
    Power,
    /// The magnitude.
    Magnitude,
}

impl Spectrum {
    /// The name in the program's output.
    pub fn name(self) -> &'static str {
        match self {
            Spectrum::Power => "power",
            Spectrum::Magnitude => "magnitude",
        }
    }

    /// Computes every entry; panics if the lengths differ.
    pub(crate) fn of(self, bins: &[Complex<f64>], to: &mut [f64]) {
        assert_eq!(bins.len(), to.len(), "entries of the frames");
        let bins = to.iter_mut().zip(bins);
        match self {
            Spectrum::Power => bins.for_each(|(to, z)| *to = z.norm_sqr()),
            Spectrum::Magnitude => bins.for_each(|(to, z)| *to = z.norm()),
        }
    }
}
