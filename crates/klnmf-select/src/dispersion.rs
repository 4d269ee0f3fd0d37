//! Whether counts vary more than Poisson's distribution allows.
//!
//! Negative binomial counts of mean Λ and size b have the variance Λ + Λ²/b; Poisson counts have b = ∞. For a
//! fit Λ = WH that leaves df of N entries as degrees of freedom, the size solves
//!
//! Σ (V−Λ)² / (Λ + Λ²/b) = df, and φ = Σ (V−Λ)²/Λ / df is 1 for Poisson counts.
//!
//! A fit of too high a rank follows the noise, and one of too low a rank misses what is not noise. So the
//! size is measured at the rank that Akaike's criterion chooses by the negative binomial likelihood.

use klnmf::{Mat, Matrix, Order};

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
/// The sizes that are tried in one pass over V, and the passes: together they give four digits.
const SIZES: usize = 15;
const PASSES: usize = 5;

impl Dispersion {
    /// Measures the dispersion of V around W·H. The means are computed line by line in every pass over V, so
    /// that nothing of the size of a dense V is stored.
    pub fn measure(v: Matrix<'_, f64>, w: &Mat<f64>, h: &Mat<f64>) -> Self {
        if v.order() == Order::Rows {
            return Self::measure(v.transpose(), &h.transpose(), &w.transpose());
        }
        let (n, m, rank) = (v.rows(), v.cols(), w.cols());
        let free = (rank * (n + m).saturating_sub(rank)) as f64;
        let [entries] = sums(v, w, h, |_, _| [1.0]);
        let df = (entries - free).max(1.0);
        let [widest, poisson] = sums(v, w, h, |x, mean| [POISSON, f64::INFINITY].map(|b| chi2(x, mean, b)));
        // χ² increases with b.
        let (mut low, mut high) = (1.0 / POISSON, POISSON);
        for _ in 0..if widest > df { PASSES } else { 0 } {
            let step = (high / low).powf(1.0 / (SIZES + 1) as f64);
            let sizes: [f64; SIZES] = std::array::from_fn(|k| low * step.powi(k as i32 + 1));
            let found = sums(v, w, h, |x, mean| sizes.map(|b| chi2(x, mean, b)));
            let below = found.partition_point(|chi2| *chi2 <= df);
            low = if below > 0 { sizes[below - 1] } else { low };
            high = sizes.get(below).copied().unwrap_or(high);
        }
        let [likelihood] = sums(v, w, h, |x, mean| [log_likelihood(x, mean, high)]);
        let size = if high < POISSON { high } else { f64::INFINITY };
        Self { rank, phi: poisson / df, size, criterion: 2.0 * (free - likelihood) }
    }

    /// Whether the counts vary clearly more than Poisson's distribution allows.
    pub fn is_over(&self) -> bool {
        self.phi > LIMIT && self.size.is_finite()
    }
}

/// The term of an entry in χ².
fn chi2(x: f64, mean: f64, size: f64) -> f64 {
    (x - mean) * (x - mean) / (mean + mean * mean / size)
}

/// Sums over all entries of V and their means, column by column, without those that the fit excludes, which
/// say nothing on the variance. V is stored by columns.
fn sums<const N: usize>(
    v: Matrix<'_, f64>,
    w: &Mat<f64>,
    h: &Mat<f64>,
    terms: impl Fn(f64, f64) -> [f64; N],
) -> [f64; N] {
    let (mut total, mut counts, mut means) = ([0.0; N], vec![0.0; v.rows()], vec![0.0; v.rows()]);
    for j in 0..v.cols() {
        counts.fill(0.0);
        v.entries_in(j..j + 1).for_each(|(i, _, x)| counts[i] = x);
        means.fill(0.0);
        for (k, weight) in h.col(j).iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            means.iter_mut().zip(w.col(k)).for_each(|(mean, part)| *mean += part * weight);
        }
        let mut of_column = [0.0; N];
        for (x, mean) in counts.iter().zip(&means).filter(|(_, mean)| **mean > 0.0) {
            of_column.iter_mut().zip(terms(*x, *mean)).for_each(|(sum, term)| *sum += term);
        }
        total.iter_mut().zip(of_column).for_each(|(sum, term)| *sum += term);
    }
    total
}

/// The logarithm of the negative binomial probability of x.
fn log_likelihood(x: f64, mean: f64, size: f64) -> f64 {
    let of_zero = -size * (mean / size).ln_1p();
    if x == 0.0 {
        return of_zero;
    }
    of_zero + ln_gamma(x + size) - ln_gamma(size) - ln_gamma(x + 1.0) + x * (mean / (size + mean)).ln()
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
