//! Random numbers that depend only on a key, and exact draws from them.

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

    /// The number of successes in `n` trials with probability `p`, exactly and with about 2·n random bits:
    /// every trial compares a random number with p, binary digit by binary digit, and all trials that are
    /// still equal draw their next digits at once.
    pub fn binomial(&mut self, n: u64, mut p: f64) -> u64 {
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
}
