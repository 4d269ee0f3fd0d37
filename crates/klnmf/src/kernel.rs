//! Loops over numbers, written plainly and compiled for the processor found at run time.
//!
//! Sums run in eight fixed lanes, so their order, hence every bit, is the same whatever the vector width.

// Loops over the lanes index several arrays at once.
#![allow(clippy::needless_range_loop)]

use crate::Scalar;
use crate::lanes::Lanes;
use crate::level::Level;

/// Runs `f`, which must be `#[inline(always)]`, compiled for this processor; see [`Level::run`].
#[inline(always)]
pub(crate) fn simd<R>(f: impl FnOnce() -> R) -> R {
    Level::get().run(f)
}

/// One logarithm, in a form that a loop over it vectorises.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    Lanes([x]).ln().0[0]
}

const LANES: usize = 8;

/// The lanes added up, always in the same order.
#[inline(always)]
fn fold<S: Scalar>(sum: [S; LANES]) -> S {
    let [a, b, c, d, e, f, g, h] = sum;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Folds f over pairs in eight lanes: f takes the running sum of its lane.
#[inline(always)]
fn lanes_sum<A: Copy, B: Copy, S: Scalar>(a: &[A], b: &[B], f: impl Fn(A, B, S) -> S) -> S {
    let n = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..n].as_chunks::<LANES>(), b[..n].as_chunks::<LANES>());
    let mut sum = [S::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sum[l] = f(a[l], b[l], sum[l]);
        }
    }
    for (l, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sum[l] = f(*a, *b, sum[l]);
    }
    fold(sum)
}

/// How many terms are computed before they are added: a plain loop that fills a buffer is what compilers vectorise best.
const BLOCK: usize = 64;

/// Adds the terms lane by lane.
#[inline(always)]
fn add_terms(terms: &[f64], sum: &mut [f64; LANES]) {
    let (whole, rest) = terms.as_chunks::<LANES>();
    for terms in whole {
        for l in 0..LANES {
            sum[l] += terms[l];
        }
    }
    rest.iter().zip(sum).for_each(|(term, sum)| *sum += term);
}

/// Σ f(a_i, b_i) for an f with many operations.
#[inline(always)]
fn sum_of<A: Copy, B: Copy>(a: &[A], b: &[B], f: impl Fn(A, B) -> f64) -> f64 {
    let (mut sum, mut terms) = ([0.0; LANES], [0.0; BLOCK]);
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        terms.iter_mut().zip(a).zip(b).for_each(|((term, a), b)| *term = f(*a, *b));
        add_terms(&terms[..a.len().min(b.len())], &mut sum);
    }
    fold(sum)
}

/// z ← K x for a column-major p × r matrix with columns `ld` apart.
pub(crate) fn multiply<S: Scalar>(k: &[S], ld: usize, x: &[S], z: &mut [S]) {
    simd(
        #[inline(always)]
        || {
            let p = z.len();
            z.fill(S::ZERO);
            let mut l = 0;
            // Four columns at a time: one load and store of z for four products.
            while l + 4 <= x.len() {
                let [k0, k1, k2, k3] = std::array::from_fn(|c| &k[(l + c) * ld..][..p]);
                let [x0, x1, x2, x3] = [x[l], x[l + 1], x[l + 2], x[l + 3]];
                for i in 0..p {
                    z[i] = k3[i].mul_add(x3, k2[i].mul_add(x2, k1[i].mul_add(x1, k0[i].mul_add(x0, z[i]))));
                }
                l += 4;
            }
            while l < x.len() {
                let (column, xl) = (&k[l * ld..][..p], x[l]);
                for i in 0..p {
                    z[i] = column[i].mul_add(xl, z[i]);
                }
                l += 1;
            }
        },
    );
}

/// g ← g + Kᵀ t for a column-major p × r matrix with columns `ld` apart.
pub(crate) fn multiply_transposed<S: Scalar>(k: &[S], ld: usize, t: &[S], g: &mut [S]) {
    simd(
        #[inline(always)]
        || {
            for (l, g) in g.iter_mut().enumerate() {
                *g += lanes_sum(&k[l * ld..][..t.len()], t, |k: S, t: S, sum: S| k.mul_add(t, sum));
            }
        },
    );
}

/// Σ over a > 0 of a·ln((a + ε)/(z + ε)) − a + z, and Σ over a > 0 of z. Infinite if some z + ε ≤ 0 there.
pub(crate) fn divergence_terms(a: &[f64], z: &[f64], epsilon: f64) -> (f64, f64) {
    let term = |a: f64, z: f64| {
        let below = z + epsilon;
        let term = a * ln((a + epsilon) / below) - a + z;
        let term = if below > 0.0 { term } else { f64::INFINITY };
        if a > 0.0 { term } else { 0.0 }
    };
    simd(
        #[inline(always)]
        || {
            (
                sum_of(a, z, term),
                lanes_sum(a, z, |a: f64, z: f64, sum: f64| sum + if a > 0.0 { z } else { 0.0 }),
            )
        },
    )
}

/// Σ over a > 0 of a·ln(−y); −∞ if some y ≥ 0 there.
pub(crate) fn weighted_log(a: &[f64], y: &[f64]) -> f64 {
    simd(
        #[inline(always)]
        || {
            sum_of(
                a,
                y,
                #[inline(always)]
                |a: f64, y: f64| {
                    let term = a * ln(-y);
                    let term = if y < 0.0 { term } else { f64::NEG_INFINITY };
                    if a > 0.0 { term } else { 0.0 }
                },
            )
        },
    )
}

/// Numbers in another precision, as many as there is room for.
pub(crate) fn convert<A: Scalar, B: Scalar>(from: &[A], to: &mut [B]) {
    simd(
        #[inline(always)]
        || to.iter_mut().zip(from).for_each(|(to, x)| *to = B::from_f64(x.to_f64())),
    );
}

/// Σ a_i·b_i in double precision.
pub(crate) fn dot<A: Scalar, B: Scalar>(a: &[A], b: &[B]) -> f64 {
    simd(
        #[inline(always)]
        || lanes_sum(a, b, |a: A, b: B, sum: f64| sum + a.to_f64() * b.to_f64()),
    )
}

/// The sum of the columns of a matrix, in double precision.
pub(crate) fn add_columns<S: Scalar>(columns: &[S], sums: &mut [f64]) {
    sums.fill(0.0);
    simd(
        #[inline(always)]
        || {
            for column in columns.chunks_exact(sums.len()) {
                sums.iter_mut().zip(column).for_each(|(sum, x)| *sum += x.to_f64());
            }
        },
    );
}
