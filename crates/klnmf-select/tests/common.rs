//! Planted factorisations with counts of known distributions.

use klnmf::Mat;

/// A small generator (SplitMix64), so that tests do not depend on that of the crate.
pub struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Marsaglia and Tsang's method.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = (1.0 - self.uniform()).powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let (d, c) = (shape - 1.0 / 3.0, 1.0 / (9.0 * (shape - 1.0 / 3.0)).sqrt());
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.uniform()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// The number of arrivals before the sum of exponential waiting times exceeds the mean.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        loop {
            sum -= (1.0 - self.uniform()).ln();
            if sum > mean {
                return count;
            }
            count += 1.0;
        }
    }
}

/// Counts of a planted factorisation, and its parts. With a finite size they are negative binomial.
pub fn planted(
    seed: u64,
    (n, m): (usize, usize),
    rank: usize,
    depth: f64,
    size: f64,
) -> (Mat<f64>, Mat<f64>) {
    let mut random = Random(seed.wrapping_mul(1_000_003) + 17);
    let mut w = Mat::from_fn(n, rank, |_, _| random.gamma(0.3) + 1e-6);
    for k in 0..rank {
        let sum: f64 = w.col(k).iter().sum();
        w.col_mut(k).iter_mut().for_each(|x| *x /= sum);
    }
    let h = Mat::from_fn(rank, m, |_, _| random.gamma(0.5) * depth / rank as f64);
    let v = Mat::from_fn(n, m, |i, j| {
        let mean: f64 = (0..rank).map(|k| w[(i, k)] * h[(k, j)]).sum();
        let mean = if size.is_finite() { mean * random.gamma(size) / size } else { mean };
        random.poisson(mean)
    });
    (v, w)
}
