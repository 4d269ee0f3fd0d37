//! Loops over numbers, written plainly and compiled for the processor found at run time.
//!
//! Sums run in eight fixed lanes, so their order, hence every bit, is the same whatever the vector width.

// Loops over the lanes index several arrays at once.
#![allow(clippy::needless_range_loop)]

use crate::Scalar;
use crate::level::Level;
use crate::scalar::ln;

/// Runs `f`, which must be `#[inline(always)]`, compiled for this processor; see [`Level::run`].
#[inline(always)]
pub(crate) fn simd<R>(f: impl FnOnce() -> R) -> R {
    Level::get().run(f)
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

/// z ← a/z where a > 0, else 0: minus the dual point, and the quotient of the multiplicative update.
pub(crate) fn ratio<S: Scalar>(a: &[S], z: &mut [S]) {
    #[cfg(target_arch = "x86_64")]
    if let (Level::Avx512(simd), Some(a), Some(z)) = (Level::get(), S::as_f64(a), S::as_f64_mut(z)) {
        return crate::quick::ratio(simd, a, z);
    }
    simd(
        #[inline(always)]
        || {
            for (z, a) in z.iter_mut().zip(a) {
                *z = if *a > S::ZERO { *a / *z } else { S::ZERO };
            }
        },
    );
}

/// χ ← prox of σF* at χ + σz, in place: ½(χ' − √(χ'² + 4σa)) where a > 0, else 0. Also copied to z.
pub(crate) fn dual_step<S: Scalar>(a: &[S], sigma: &[S], chi: &mut [S], z: &mut [S]) {
    #[cfg(target_arch = "x86_64")]
    if let (Level::Avx512(simd), Some(a), Some(sigma)) = (Level::get(), S::as_f64(a), S::as_f64(sigma))
        && let (Some(chi), Some(z)) = (S::as_f64_mut(chi), S::as_f64_mut(z))
    {
        return crate::quick::dual_step(simd, a, sigma, chi, z);
    }
    simd(
        #[inline(always)]
        || {
            for (((chi, z), a), sigma) in chi.iter_mut().zip(z).zip(a).zip(sigma) {
                dual_entry(*a, *sigma, chi, z);
            }
        },
    );
}

/// One entry of [`dual_step`].
#[inline(always)]
pub(crate) fn dual_entry<S: Scalar>(a: S, sigma: S, chi: &mut S, z: &mut S) {
    let moved = sigma.mul_add(*z, *chi);
    let root = moved.mul_add(moved, S::from_f64(4.0) * sigma * a).sqrt();
    *chi = if a > S::ZERO { S::from_f64(0.5) * (moved - root) } else { S::ZERO };
    *z = *chi;
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

/// Σ over a > 0 of a·ln(z0/z), in double precision; +∞ if some z ≤ 0 there.
pub(crate) fn log_change<S: Scalar>(a: &[S], z0: &[S], z: &[S]) -> f64 {
    simd(
        #[inline(always)]
        || {
            let (mut sum, mut terms) = ([0.0; LANES], [0.0; BLOCK]);
            for ((a, z0), z) in a.chunks(BLOCK).zip(z0.chunks(BLOCK)).zip(z.chunks(BLOCK)) {
                for (((term, a), z0), z) in terms.iter_mut().zip(a).zip(z0).zip(z) {
                    let value = a.to_f64() * ln(z0.to_f64() / z.to_f64());
                    let value = if *z > S::ZERO { value } else { f64::INFINITY };
                    *term = if *a > S::ZERO { value } else { 0.0 };
                }
                add_terms(&terms[..a.len().min(z0.len()).min(z.len())], &mut sum);
            }
            fold(sum)
        },
    )
}

/// Σ a_i·b_i in double precision.
pub(crate) fn dot<S: Scalar>(a: &[S], b: &[S]) -> f64 {
    simd(
        #[inline(always)]
        || lanes_sum(a, b, |a: S, b: S, sum: f64| sum + a.to_f64() * b.to_f64()),
    )
}
