//! Generated data to measure on; the same on every run.

use klnmf::{Mat, Scalar, Sparse};

/// Numbers from 0 to 750, as in the paper's synthetic data; the same on every run.
pub fn uniform<T: Scalar>(n: usize, m: usize) -> Mat<T> {
    let mut random = Random(1);
    Mat::from_fn(n, m, |_, _| T::from_f64(750.0 * random.uniform() + 0.01))
}

/// Counts in random places, the rows with very different frequencies, like words.
pub fn scattered<T: Scalar>(rows: usize, cols: usize, entries: usize) -> klnmf::Result<Sparse<T>> {
    Sparse::from_triplets(rows, cols, klnmf::Order::Columns, |put| {
        let mut random = Random(2);
        (0..entries).try_for_each(|_| {
            let u = random.uniform();
            let row = (u * u * u * rows as f64) as usize;
            let col = (random.uniform() * cols as f64) as usize;
            put(row.min(rows - 1), col.min(cols - 1), T::ONE)
        })
    })
}

/// SplitMix64: small, and good enough for bench data.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
