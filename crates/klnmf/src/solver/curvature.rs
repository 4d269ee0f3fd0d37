//! A quadratic model of the divergence in every row of W, summed over the columns of V as they pass.
//!
//! | letter | meaning |
//! | --- | --- |
//! | w, b | a row of W, and the row sums of H |
//! | g | Σ_j h_j·V_j/(w·h_j) over the columns j of V: the gradient is b − g |
//! | Q | Σ_j h_j·h_jᵀ·V_j/(w·h_j)² |
//! | d | the step: minimises (b − g)ᵀd + ½dᵀQd with w + d ≥ w/10 |
//!
//! Only diagonal blocks of Q are kept if the whole of it would need too much memory.

use crate::Scalar;
use crate::kernel::{self, simd};

/// A weight keeps at least this share of its value, because the model ignores the pole of the logarithm.
const LEAST: f64 = 0.1;
/// The most sweeps over the weights of a row, and the relative change at which they end.
const SWEEPS: usize = 20;
const TOL: f64 = 1e-3;

/// The most bytes for the blocks of all rows, unless blocks of four weights need more.
const MOST_BYTES: usize = 512 << 20;
const LEAST_BLOCK: usize = 4;

/// The upper triangles of the diagonal blocks of Q, for every row of W.
pub struct Curvature<S> {
    pub shape: Blocks,
    pub rows: Vec<S>,
}

impl<S: Scalar> Curvature<S> {
    /// Zero for n rows of r weights, in the largest blocks for which there is memory.
    pub fn new(n: usize, r: usize) -> Self {
        let shape = Blocks::of::<S>(n, r);
        Self { shape, rows: vec![S::ZERO; n * shape.numbers()] }
    }

    /// The bytes of a new one.
    pub fn bytes(n: usize, r: usize) -> u128 {
        (n as u128 * size_of::<S>() as u128).saturating_mul(Blocks::of::<S>(n, r).numbers() as u128)
    }
}

/// The blocks of a row. The last one may be smaller than the others.
#[derive(Clone, Copy)]
pub struct Blocks {
    r: usize,
    size: usize,
}

impl Blocks {
    /// The largest blocks of r weights for which there is memory in n rows.
    fn of<S>(n: usize, r: usize) -> Self {
        let triangles = MOST_BYTES / size_of::<S>() / n.saturating_mul(r).max(1);
        Self { r, size: (2 * triangles).saturating_sub(1).max(LEAST_BLOCK).min(r) }
    }

    /// The first weight of each block, and the one after its last.
    fn each(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.r).step_by(self.size).map(move |first| (first, (first + self.size).min(self.r)))
    }

    /// Numbers for a row.
    pub fn numbers(self) -> usize {
        let triangle = |size: usize| size.saturating_mul(size + 1) / 2;
        let (whole, rest) = (self.r / self.size.max(1), self.r % self.size.max(1));
        whole.saturating_mul(triangle(self.size)).saturating_add(triangle(rest))
    }

    /// Adds u·h·hᵀ to the numbers of a row.
    pub fn add<S: Scalar>(self, row: &mut [S], u: S, h: &[S]) {
        simd(
            #[inline(always)]
            || {
                let mut at = 0;
                for (first, end) in self.each() {
                    for k in first..end {
                        let (scale, rest) = (u * h[k], &h[k..end]);
                        if scale != S::ZERO {
                            let row = &mut row[at..][..rest.len()];
                            row.iter_mut().zip(rest).for_each(|(q, h)| *q += scale * *h);
                        }
                        at += rest.len();
                    }
                }
            },
        );
    }

    /// Moves the weights of a row from `held` on to the minimum of the model of each block.
    pub fn step<S: Scalar>(self, row: &[S], w: &mut [S], g: &[f64], b: &[f64], held: usize) {
        let (mut q, mut at) = (vec![0.0; self.size * self.size], 0);
        for (first, end) in self.each() {
            let size = end - first;
            for k in 0..size {
                for l in k..size {
                    (q[k * size + l], q[l * size + k]) = (row[at].to_f64(), row[at].to_f64());
                    at += 1;
                }
            }
            let old: Vec<f64> = w[first..end].iter().map(|w| w.to_f64()).collect();
            let mut x = old.clone();
            let mut slope: Vec<f64> = (first..end).map(|k| b[k] - g[k]).collect();
            descend(&q, &old, &mut x, &mut slope, held.saturating_sub(first));
            w[first..end].iter_mut().zip(&x).for_each(|(w, x)| *w = S::from_f64(*x));
        }
    }
}

/// Minimises slopeᵀ(x − old) + ½(x − old)ᵀQ(x − old) over x ≥ old/10, without the first `held`.
fn descend(q: &[f64], old: &[f64], x: &mut [f64], slope: &mut [f64], held: usize) {
    let size = x.len();
    for _ in 0..SWEEPS {
        let mut moved = false;
        for k in held.min(size)..size {
            let (curvature, least) = (q[k * size + k], LEAST * old[k]);
            let new = if curvature > 1e-280 {
                (x[k] - slope[k] / curvature).max(least)
            } else if slope[k] > 0.0 {
                least
            } else {
                x[k]
            };
            let d = new - x[k];
            if d != 0.0 && new.is_finite() {
                moved |= d.abs() > TOL * new;
                x[k] = new;
                slope.iter_mut().zip(&q[k * size..]).for_each(|(slope, q)| *slope += d * q);
            }
        }
        if !moved {
            break;
        }
    }
}

/// V/(w·h)², the weight of a column in Q, and zero if that is not a number.
pub fn weight<S: Scalar>(v: f64, w: &[S], h: &[S]) -> S {
    let z = kernel::dot(w, h);
    let u = S::from_f64(v / z / z);
    if u.is_finite() { u } else { S::ZERO }
}

#[cfg(test)]
#[path = "../../tests/unit/curvature.rs"]
mod tests;
