//! Random numbers that depend only on a key, and exact draws from them.

/// Binomial draws of at most so many trials use their bits.
const FEW: u64 = 4096;

/// A stream of random bits (SplitMix64) for a key, such as (seed, row, column). Streams can be begun in any
/// order and on any thread.
pub struct Stream(u64);

impl Stream {
    /// The stream of a key.
    pub fn new(key: &[u64]) -> Self {
        let mut stream = Self(0x6b6c_6e6d_6600_0001);
        for part in key {
            stream.0 = stream.bits() ^ part.wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        stream.bits();
        stream
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to but not including 1.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The number of ones among `n` random bits.
    fn ones(&mut self, n: u64) -> u64 {
        let whole: u64 = (0..n / 64).map(|_| u64::from(self.bits().count_ones())).sum();
        let rest = n % 64;
        whole + if rest > 0 { u64::from((self.bits() >> (64 - rest)).count_ones()) } else { 0 }
    }

    /// The number of successes in `n` trials with probability `p`, in O(log n) steps: of many trials, the
    /// median of their random numbers says how half of them compare with p (Devroye, *Non-uniform random
    /// variate generation*, 1986, X.4.3).
    pub fn binomial(&mut self, mut n: u64, mut p: f64) -> u64 {
        let mut successes = 0;
        while n > FEW && p > 0.0 && p < 1.0 {
            let middle = n / 2 + 1;
            let [below, above] = [middle, n + 1 - middle].map(|shape| self.ln_gamma(shape as f64).exp());
            let median = below / (below + above);
            if median <= p {
                successes += middle;
                (n, p) = (n - middle, (p - median) / (1.0 - median));
            } else {
                (n, p) = (middle - 1, p / median);
            }
        }
        successes + self.few(n, p)
    }

    /// The same for a few trials, exactly and with about 2·n random bits: every trial compares a random
    /// number with p, binary digit by binary digit, and all trials that are still equal draw their next
    /// digits at once.
    fn few(&mut self, n: u64, mut p: f64) -> u64 {
        if p >= 1.0 {
            return n;
        }
        let (mut equal, mut successes) = (n, 0);
        while equal > 0 && p > 0.0 {
            p *= 2.0;
            let ones = self.ones(equal);
            if p >= 1.0 {
                p -= 1.0;
                successes += equal - ones;
                equal = ones;
            } else {
                equal -= ones;
            }
        }
        successes
    }

    /// The logarithm of a gamma variate of this shape, which cannot underflow (Marsaglia & Tsang, *A simple
    /// method for generating gamma variables*, 2000).
    pub fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = (1.0 - self.uniform()).ln() / shape;
            return self.ln_gamma(shape + 1.0) + boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let y = c * self.normal();
            // ln(1 + y) without the first terms of its series, which cancel.
            let rest = if y.abs() < 0.01 {
                y.powi(4) * (-0.25 + y * (0.2 - y / 6.0))
            } else {
                y.ln_1p() - y + y * y / 2.0 - y.powi(3) / 3.0
            };
            if y > -1.0 && (1.0 - self.uniform()).ln() < 3.0 * d * rest {
                return d.ln() + 3.0 * y.ln_1p();
            }
        }
    }

    /// A normal variate.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
