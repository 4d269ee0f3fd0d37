//! Random numbers for generated data, the same on every machine.

/// SplitMix64, which is small and good enough for data.
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A uniform number from 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A Poisson number. It multiplies uniform numbers, in pieces so that the product does not underflow.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        let (mut left, mut count) = (mean, 0.0);
        while left > 0.0 {
            let limit = (-left.min(500.0)).exp();
            left -= 500.0;
            let mut product = self.uniform();
            while product > limit {
                product *= self.uniform();
                count += 1.0;
            }
        }
        count
    }
}
