//! Loops over slices: products of a sparse column, logarithms of a column, conversions and sums.
//!
//! Sums use lanes of 64 bytes, whatever the register width, and are added by halves. So the order of the
//! additions, and hence every bit, is the same on AVX2 and AVX-512.

// Loops over the registers of 64 bytes index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::isa::{Isa, Wide, simd};
use super::lanes::{Lanes, weighted_ln};
use super::plain::Array;
use crate::Scalar;

/// The logarithm of one positive normal number, with the same bits on every processor.
pub(crate) fn ln(x: f64) -> f64 {
    Array::<f64, 1, true>([x]).ln().0[0]
}

/// The most registers in 64 bytes.
const MOST_REGISTERS: usize = 4;

/// Number of registers in 64 bytes.
#[inline(always)]
const fn registers<S: Scalar, L: Lanes<S>>() -> usize {
    64 / (L::N * size_of::<S>())
}

/// The sum of the lanes of 64 bytes.
#[inline(always)]
fn total<S: Scalar, L: Lanes<S>>(mut sums: [L; MOST_REGISTERS]) -> S {
    let mut half = registers::<S, L>() / 2;
    while half > 0 {
        for j in 0..half {
            sums[j] = sums[j] + sums[j + half];
        }
        half /= 2;
    }
    sums[0].sum()
}

/// z ← K x for a column-major p × r matrix with columns `ld` apart.
pub(crate) fn multiply<S: Scalar>(k: &[S], ld: usize, x: &[S], z: &mut [S]) {
    Isa::get().run_wide(Multiply { k, ld, x, z });
}

struct Multiply<'a, S> {
    k: &'a [S],
    ld: usize,
    x: &'a [S],
    z: &'a mut [S],
}

impl<S: Scalar> Wide<S> for Multiply<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(mut self, token: L::Token) {
        let at = self.whole::<L, 8>(token, 0);
        let at = self.whole::<L, 4>(token, at);
        let at = self.whole::<L, 2>(token, at);
        let at = self.whole::<L, 1>(token, at);
        if at < self.z.len() {
            self.rows::<L, 1>(token, at, self.z.len() - at);
        }
    }
}

impl<S: Scalar> Multiply<'_, S> {
    /// Processes rows from `at` on, `R` full registers at a time. Returns the first row that is left.
    #[inline(always)]
    fn whole<L: Lanes<S>, const R: usize>(&mut self, token: L::Token, mut at: usize) -> usize {
        while at + R * L::N <= self.z.len() {
            self.rows::<L, R>(token, at, L::N);
            at += R * L::N;
        }
        at
    }

    /// Processes rows from `at` on in `R` registers of `live` numbers. The sums stay in the registers.
    #[inline(always)]
    fn rows<L: Lanes<S>, const R: usize>(&mut self, token: L::Token, at: usize, live: usize) {
        let mut sums = [L::splat(token, S::ZERO); R];
        for (l, x) in self.x.iter().enumerate() {
            let (k, x) = (&self.k[l * self.ld + at..][..R * live], L::splat(token, *x));
            for (v, sum) in sums.iter_mut().enumerate() {
                *sum = L::load(token, k, v * live, live).mul_add(x, *sum);
            }
        }
        let z = &mut self.z[at..][..R * live];
        for (v, sum) in sums.iter().enumerate() {
            sum.store(z, v * live, live);
        }
    }
}

/// g ← g + Kᵀ t for a column-major p × r matrix with columns `ld` apart.
pub(crate) fn multiply_transposed<S: Scalar>(k: &[S], ld: usize, t: &[S], g: &mut [S]) {
    Isa::get().run_wide(Transposed { k, ld, t, g });
}

struct Transposed<'a, S> {
    k: &'a [S],
    ld: usize,
    t: &'a [S],
    g: &'a mut [S],
}

impl<S: Scalar> Wide<S> for Transposed<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(mut self, token: L::Token) {
        let mut l = 0;
        while l + 4 <= self.g.len() {
            self.atoms::<L, 4>(token, l);
            l += 4;
        }
        while l < self.g.len() {
            self.atoms::<L, 1>(token, l);
            l += 1;
        }
    }
}

impl<S: Scalar> Transposed<'_, S> {
    /// Processes `A` atoms from atom `l` on. Their sums are independent, and t is loaded once for all.
    #[inline(always)]
    fn atoms<L: Lanes<S>, const A: usize>(&mut self, token: L::Token, l: usize) {
        let (p, across) = (self.t.len(), registers::<S, L>() * L::N);
        let mut sums = [[L::splat(token, S::ZERO); MOST_REGISTERS]; A];
        let mut k = [self.t; A];
        for (a, k) in k.iter_mut().enumerate() {
            *k = &self.k[(l + a) * self.ld..][..p];
        }
        let whole = p - p % across;
        for at in (0..whole).step_by(across) {
            for j in 0..registers::<S, L>() {
                let at = at + j * L::N;
                let t = L::load(token, self.t, at, L::N);
                for a in 0..A {
                    sums[a][j] = L::load(token, k[a], at, L::N).mul_add(t, sums[a][j]);
                }
            }
        }
        if whole < p {
            for j in 0..registers::<S, L>() {
                let at = (whole + j * L::N).min(p);
                let live = (p - at).min(L::N);
                let t = L::load_or(token, self.t, at, live, S::ZERO);
                for a in 0..A {
                    sums[a][j] = L::load(token, k[a], at, live).mul_add(t, sums[a][j]);
                }
            }
        }
        for (g, sums) in self.g[l..].iter_mut().zip(sums) {
            *g += total(sums);
        }
    }
}

/// Σ over a > 0 of a·ln((a + ε)/(z + ε)); infinite if some z + ε ≤ 0 there.
pub(crate) fn log_sum(a: &[f64], z: &[f64], epsilon: f64) -> f64 {
    let pairs = a.iter().zip(z).filter(|(a, _)| **a > 0.0);
    pairs.map(|(a, z)| weighted_ln(*a, a + epsilon, z + epsilon)).sum()
}

/// Σ over a > 0 of a·ln(−y); −∞ if some y ≥ 0 there.
pub(crate) fn weighted_log(a: &[f64], y: &[f64]) -> f64 {
    let pairs = a.iter().zip(y).filter(|(a, _)| **a > 0.0);
    pairs.map(|(a, y)| a * (-y).max(0.0).ln()).sum()
}

const LANES: usize = 8;

/// Converts numbers to another precision, as many as fit into `to`.
pub(crate) fn convert<A: Scalar, B: Scalar>(from: &[A], to: &mut [B]) {
    simd(
        #[inline(always)]
        || to.iter_mut().zip(from).for_each(|(to, x)| *to = B::from_f64(x.to_f64())),
    );
}

/// [`convert`] of rows of `n` numbers into rows that are `stride` apart.
pub(crate) fn convert_rows<A: Scalar, B: Scalar>(from: &[A], n: usize, to: &mut [B], stride: usize) {
    simd(
        #[inline(always)]
        || {
            for (to, from) in to.chunks_exact_mut(stride).zip(from.chunks_exact(n)) {
                to.iter_mut().zip(from).for_each(|(to, x)| *to = B::from_f64(x.to_f64()));
            }
        },
    );
}

/// Σ a_i·b_i in double precision, in eight lanes that the compiler vectorises.
pub(crate) fn dot<A: Scalar, B: Scalar>(a: &[A], b: &[B]) -> f64 {
    simd(
        #[inline(always)]
        || {
            let n = a.len().min(b.len());
            let ((a, a_rest), (b, b_rest)) = (a[..n].as_chunks::<LANES>(), b[..n].as_chunks::<LANES>());
            let mut sum = Array::<f64, LANES, false>([0.0; LANES]);
            for (a, b) in a.iter().zip(b) {
                for l in 0..LANES {
                    sum.0[l] += a[l].to_f64() * b[l].to_f64();
                }
            }
            let rest = a_rest.iter().zip(b_rest);
            sum.0.iter_mut().zip(rest).for_each(|(sum, (a, b))| *sum += a.to_f64() * b.to_f64());
            sum.sum()
        },
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

#[cfg(test)]
#[path = "../../tests/unit/loops.rs"]
mod tests;
