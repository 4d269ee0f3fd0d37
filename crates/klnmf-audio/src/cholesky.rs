//! A dense Cholesky factorisation for the normal equations of the evaluation.

use rayon::prelude::*;

/// Rows that are factorised before the rows below are updated in parallel.
const BLOCK: usize = 64;

/// A pivot below this fraction of its diagonal entry is only rounding error.
const ROUNDING: f64 = 1e-13;

/// A = L·Lᵀ of a symmetric matrix, or of A plus a small multiple of the identity if A is singular to
/// rounding.
pub(crate) struct Cholesky {
    n: usize,
    /// L row by row; entries right of the diagonal are not used.
    rows: Vec<f64>,
}

impl Cholesky {
    /// Factors the n × n matrix whose lower triangle is `entry(i, j)`, i ≥ j, with some positive entry on the
    /// diagonal.
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Self {
        let largest = (0..n).map(|i| entry(i, i)).fold(0.0, f64::max);
        let mut ridge = 0.0;
        loop {
            let mut rows = vec![0.0; n * n];
            rows.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
                (0..=i).for_each(|j| row[j] = entry(i, j));
                row[i] += ridge;
            });
            if factor(n, &mut rows) {
                return Self { n, rows };
            }
            // A ridge as large as the matrix always succeeds, so this ends.
            ridge = (ridge * 10.0).max(2.0 * ROUNDING * largest);
        }
    }

    /// Solves A x = b in place.
    pub fn solve(&self, x: &mut [f64]) {
        for (i, row) in self.rows.chunks_exact(self.n).enumerate() {
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for (i, row) in self.rows.chunks_exact(self.n).enumerate().rev() {
            x[i] /= row[i];
            let (rest, last) = x.split_at_mut(i);
            rest.iter_mut().zip(row).for_each(|(x, l)| *x -= l * last[0]);
        }
    }
}

/// Turns the lower triangle into L, row by row; false if a pivot is not positive up to rounding.
fn factor(n: usize, rows: &mut [f64]) -> bool {
    for first in (0..n).step_by(BLOCK) {
        let end = n.min(first + BLOCK);
        let (above, below) = rows.split_at_mut(end * n);
        for i in first..end {
            let (done, row) = above.split_at_mut(i * n);
            substitute(&done[first * n..], n, first, row);
            let square = row[i] - dot(&row[..i], &row[..i]);
            if square.is_nan() || square <= ROUNDING * row[i] {
                return false;
            }
            row[i] = square.sqrt();
        }
        below.par_chunks_mut(n).for_each(|row| substitute(&above[first * n..], n, first, row));
    }
    true
}

/// Computes the entries of a row of L from `first` on, from the finished rows `done` of L that begin there.
fn substitute(done: &[f64], n: usize, first: usize, row: &mut [f64]) {
    for (j, l) in (first..).zip(done.chunks_exact(n)) {
        row[j] = (row[j] - dot(&row[..j], &l[..j])) / l[j];
    }
}

/// A dot product in eight sums, which the compiler keeps in vector registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|k| sums[k] += a[k] * b[k]);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_beyond_one_block() {
        let n = 3 * BLOCK / 2;
        let entry = |i: usize, j: usize| 0.9f64.powi(i.abs_diff(j) as i32) + if i == j { 0.5 } else { 0.0 };
        let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| entry(i, j) * x[j]).sum()).collect();
        Cholesky::new(n, entry).solve(&mut b);
        assert!(x.iter().zip(&b).all(|(x, b)| (x - b).abs() < 1e-12));
    }

    #[test]
    fn a_singular_matrix_gets_a_ridge() {
        // All ones: any x + y = 2 solves it, and the ridge keeps both small.
        let mut b = [2.0, 2.0];
        Cholesky::new(2, |_, _| 1.0).solve(&mut b);
        assert!((b[0] + b[1] - 2.0).abs() < 1e-9 && b[0].abs() < 3.0);
    }
}
