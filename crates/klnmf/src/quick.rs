//! Division and square root for 512-bit vectors of doubles, faster than the instructions for them.
//!
//! The hardware takes 16 cycles for eight quotients and more for eight roots, as long as it takes for the products of a
//! pass with 16 to 32 atoms. Here the 14-bit estimates of the processor are refined by Newton steps and a last correction
//! with the exact residual, in the pipes that the products use. The results are those of the IEEE operations but for a
//! last bit in rare cases (tested: at most one unit in the last place). Vectors with a number outside 2^±500, zeros
//! included, take the ordinary instructions.
#![cfg(target_arch = "x86_64")]

use pulp::x86::V4;
use std::arch::x86_64::{__m512d, _CMP_GE_OQ, _CMP_GT_OQ, _CMP_LE_OQ};

const LANES: usize = 8;
const SMALL: f64 = f64::from_bits((1023 - 500) << 52);
const LARGE: f64 = f64::from_bits((1023 + 500) << 52);

/// z ← a/z where a > 0, else 0.
pub(crate) fn ratio(simd: V4, a: &[f64], z: &mut [f64]) {
    let whole = a.len().min(z.len()) / LANES * LANES;
    let f = simd.avx512f;
    simd.vectorize(
        #[inline(always)]
        || {
            for at in (0..whole).step_by(LANES) {
                let (av, zv) = (load(simd, a, at), load(simd, z, at));
                let used = f._mm512_cmp_pd_mask::<_CMP_GT_OQ>(av, f._mm512_setzero_pd());
                // Where a = 0 the quotient is not used, so any z will do.
                let z_fits = f._mm512_mask_cmp_pd_mask::<_CMP_GE_OQ>(used, zv, f._mm512_set1_pd(SMALL));
                let z_fits = f._mm512_mask_cmp_pd_mask::<_CMP_LE_OQ>(z_fits, zv, f._mm512_set1_pd(LARGE));
                let fits = f._mm512_mask_cmp_pd_mask::<_CMP_LE_OQ>(z_fits, av, f._mm512_set1_pd(LARGE));
                let quotient = if fits == used { divide(simd, av, zv) } else { f._mm512_div_pd(av, zv) };
                store(simd, z, at, f._mm512_maskz_mov_pd(used, quotient));
            }
        },
    );
    for (z, a) in z[whole..].iter_mut().zip(&a[whole..]) {
        *z = if *a > 0.0 { *a / *z } else { 0.0 };
    }
}

/// χ ← ½(χ' − √(χ'² + 4σa)) with χ' = χ + σz where a > 0, else 0; also copied to z.
pub(crate) fn dual_step(simd: V4, a: &[f64], sigma: &[f64], chi: &mut [f64], z: &mut [f64]) {
    let whole = a.len().min(z.len()).min(sigma.len()).min(chi.len()) / LANES * LANES;
    let f = simd.avx512f;
    simd.vectorize(
        #[inline(always)]
        || {
            for at in (0..whole).step_by(LANES) {
                let (av, sv) = (load(simd, a, at), load(simd, sigma, at));
                let moved = f._mm512_fmadd_pd(sv, load(simd, z, at), load(simd, chi, at));
                let square = f._mm512_mul_pd(f._mm512_mul_pd(f._mm512_set1_pd(4.0), sv), av);
                let square = f._mm512_fmadd_pd(moved, moved, square);
                let root = root(simd, square);
                let next = f._mm512_mul_pd(f._mm512_set1_pd(0.5), f._mm512_sub_pd(moved, root));
                let used = f._mm512_cmp_pd_mask::<_CMP_GT_OQ>(av, f._mm512_setzero_pd());
                let next = f._mm512_maskz_mov_pd(used, next);
                store(simd, chi, at, next);
                store(simd, z, at, next);
            }
        },
    );
    let rest = chi[whole..].iter_mut().zip(&mut z[whole..]).zip(&a[whole..]).zip(&sigma[whole..]);
    rest.for_each(|(((chi, z), a), sigma)| crate::kernel::dual_entry(*a, *sigma, chi, z));
}

/// a/z for numbers in range: the reciprocal to full precision, then one correction of the quotient.
#[inline(always)]
fn divide(simd: V4, a: __m512d, z: __m512d) -> __m512d {
    let f = simd.avx512f;
    let one = f._mm512_set1_pd(1.0);
    let mut y = f._mm512_rcp14_pd(z);
    for _ in 0..2 {
        y = f._mm512_fmadd_pd(f._mm512_fnmadd_pd(z, y, one), y, y);
    }
    let q = f._mm512_mul_pd(a, y);
    f._mm512_fmadd_pd(f._mm512_fnmadd_pd(z, q, a), y, q)
}

/// √x: root and half the reciprocal root refined together, then one correction of the root.
#[inline(always)]
fn root(simd: V4, x: __m512d) -> __m512d {
    let f = simd.avx512f;
    let fits = f._mm512_cmp_pd_mask::<_CMP_GE_OQ>(x, f._mm512_set1_pd(SMALL));
    let fits = f._mm512_mask_cmp_pd_mask::<_CMP_LE_OQ>(fits, x, f._mm512_set1_pd(LARGE));
    if fits != 0xff {
        return f._mm512_sqrt_pd(x);
    }
    let half = f._mm512_set1_pd(0.5);
    let y = f._mm512_rsqrt14_pd(x);
    let (mut g, mut h) = (f._mm512_mul_pd(x, y), f._mm512_mul_pd(half, y));
    for _ in 0..2 {
        let r = f._mm512_fnmadd_pd(h, g, half);
        (g, h) = (f._mm512_fmadd_pd(g, r, g), f._mm512_fmadd_pd(h, r, h));
    }
    f._mm512_fmadd_pd(f._mm512_fnmadd_pd(g, g, x), h, g)
}

#[inline(always)]
fn load(simd: V4, from: &[f64], at: usize) -> __m512d {
    let from: &[f64; LANES] = from[at..at + LANES].try_into().unwrap_or(&[0.0; LANES]);
    // Safety: the reference is to eight numbers.
    unsafe { simd.avx512f._mm512_loadu_pd(from.as_ptr()) }
}

#[inline(always)]
fn store(simd: V4, to: &mut [f64], at: usize, value: __m512d) {
    let to = &mut to[at..at + LANES];
    // Safety: the slice holds eight numbers.
    unsafe { simd.avx512f._mm512_storeu_pd(to.as_mut_ptr(), value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers over the whole range, with zeros and the extremes.
    fn numbers(seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut all: Vec<f64> = (0..20_000)
            .map(|_| {
                let mantissa = 1.0 + next() as f64 / (1u64 << 53) as f64;
                mantissa * 2f64.powi((next() % 1000) as i32 - 500)
            })
            .collect();
        all.extend((0..2000).map(|_| 1.0 + next() as f64 / (1u64 << 53) as f64));
        all.extend([0.0, 1.0, 3.0, 1e-300, 1e300, f64::MIN_POSITIVE, 0.0, 7.0]);
        all
    }

    fn ulps(a: f64, b: f64) -> u64 {
        if a == b || (a.is_nan() && b.is_nan()) { 0 } else { a.to_bits().abs_diff(b.to_bits()) }
    }

    #[test]
    fn quotients_and_roots_are_within_a_unit_in_the_last_place() {
        let Some(simd) = V4::try_new() else { return };
        let (a, z) = (numbers(1), numbers(2));
        let mut quick = z.clone();
        ratio(simd, &a, &mut quick);
        for ((a, z), q) in a.iter().zip(&z).zip(quick) {
            let exact = if *a > 0.0 { a / z } else { 0.0 };
            assert!(ulps(exact, q) <= 1, "{a} / {z}: {q} for {exact}");
        }
        // With χ = 0, σ = ¼ and z = 0 the step is −½√a.
        let (mut chi, mut z) = (vec![0.0; a.len()], vec![0.0; a.len()]);
        dual_step(simd, &a, &vec![0.25; a.len()], &mut chi, &mut z);
        for (a, y) in a.iter().zip(chi) {
            let exact = if *a > 0.0 { -0.5 * a.sqrt() } else { 0.0 };
            assert!(ulps(exact, y) <= 1, "root of {a}: {y} for {exact}");
        }
    }
}
