//! Whether counts vary more than Poisson's distribution allows.
//!
//! Negative binomial counts of mean Λ and size b have the variance Λ + Λ²/b; Poisson counts have b = ∞. For a
//! fit Λ = WH that leaves df of N entries as degrees of freedom, the size solves
//!
//! Σ (V−Λ)² / (Λ + Λ²/b) = df, and φ = Σ (V−Λ)²/Λ / df is 1 for Poisson counts.
//!
//! A fit of too high a rank follows the noise, and one of too low a rank misses what is not noise. So the size
//! is measured at the rank that Akaike's criterion chooses by the negative binomial likelihood.

use klnmf::{Mat, Matrix};

/// The dispersion of counts around a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// The rank of the fit.
    pub rank: usize,
    /// Pearson's χ² per degree of freedom: 1 for Poisson counts.
    pub phi: f64,
    /// The size of the negative binomial distribution; infinite if the counts do not vary more than Poisson.
    pub size: f64,
    /// Akaike's criterion of the fit with this size.
    pub criterion: f64,
}

/// Counts with a larger φ are over-dispersed.
const LIMIT: f64 = 1.3;
/// Sizes from here on count as infinite.
const POISSON: f64 = 1e6;

impl Dispersion {
    /// Measures the dispersion of V around W·H.
    pub fn measure(v: Matrix<'_, f64>, w: &Mat<f64>, h: &Mat<f64>) -> Self {
        let (n, m, rank) = (v.rows(), v.cols(), w.cols());
        let pairs = pairs(v, w, h);
        let free = (rank * (n + m).saturating_sub(rank)) as f64;
        let df = (pairs.len() as f64 - free).max(1.0);
        let chi2 =
            |b: f64| pairs.iter().map(|(x, mean)| (x - mean).powi(2) / (mean + mean * mean / b)).sum::<f64>();
        // χ² increases with b.
        let (mut low, mut high) = (1.0 / POISSON, POISSON);
        if chi2(high) > df {
            for _ in 0..60 {
                let middle = (low * high).sqrt();
                if chi2(middle) > df { high = middle } else { low = middle }
            }
        }
        let size = high;
        let criterion =
            2.0 * free - 2.0 * pairs.iter().map(|(x, mean)| log_likelihood(*x, *mean, size)).sum::<f64>();
        let size = if size < POISSON { size } else { f64::INFINITY };
        Self { rank, phi: chi2(f64::INFINITY) / df, size, criterion }
    }

    /// Whether the counts vary clearly more than Poisson's distribution allows.
    pub fn is_over(&self) -> bool {
        self.phi > LIMIT && self.size.is_finite()
    }
}

/// All entries of V with their means, without those that the fit excludes, which say nothing on the variance.
fn pairs(v: Matrix<'_, f64>, w: &Mat<f64>, h: &Mat<f64>) -> Vec<(f64, f64)> {
    let mut counts = Mat::zeros(v.rows(), v.cols());
    v.entries().for_each(|(i, j, x)| counts[(i, j)] = x);
    let mut pairs = Vec::with_capacity(counts.as_slice().len());
    let mut means = vec![0.0; v.rows()];
    for j in 0..v.cols() {
        means.fill(0.0);
        for (k, weight) in h.col(j).iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            means.iter_mut().zip(w.col(k)).for_each(|(mean, part)| *mean += part * weight);
        }
        pairs
            .extend(counts.col(j).iter().copied().zip(means.iter().copied()).filter(|(_, mean)| *mean > 0.0));
    }
    pairs
}

/// The logarithm of the negative binomial probability of x.
fn log_likelihood(x: f64, mean: f64, size: f64) -> f64 {
    ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0) - size * (mean / size).ln_1p()
        + x * (mean / (size + mean)).ln()
}

/// ln Γ(x) for x > 0, by Stirling's series from 10 on.
fn ln_gamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse / 1260.0)) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}
