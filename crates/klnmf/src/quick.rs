//! Quotients and square roots of whole registers, faster than the instructions for them where the processor has AVX-512.
//!
//! The hardware takes 16 cycles for eight quotients of doubles and more for eight roots, as long as it takes for the
//! products of a pass with 16 to 32 atoms. Here the 14-bit estimates of the processor are refined by Newton steps whose
//! last one uses the exact residual, in the pipes that the products use. With an estimate that is right to 2⁻¹⁴ the
//! refined reciprocal is right to 2⁻²⁸ and the corrected quotient to 2⁻⁵⁶ before rounding (2⁻²⁸ in single precision,
//! where the reciprocal is not refined), so results are those of the IEEE operations but for a last bit in rare cases
//! (tested: at most one unit in the last place). Registers that hold a divisor or radicand far from 1, zeros included, take
//! the ordinary instructions.

use crate::Scalar;
use crate::level::Level;
use crate::map::each;

/// a/z where a > 0, else 0.
#[inline(always)]
pub(crate) fn ratio<S: Scalar, const L: usize>(level: Level, a: [S; L], z: [S; L]) -> [S; L] {
    #[cfg(target_arch = "x86_64")]
    if let Level::Avx512(simd) = level {
        use avx512::{double, single};
        if let (Some(a), Some(z)) = (same(a), same(z)) {
            return same(pulp::cast::<_, [f64; 8]>(double::ratio(
                simd,
                pulp::cast::<[f64; 8], _>(a),
                pulp::cast::<[f64; 8], _>(z),
            )))
            .unwrap_or([S::ZERO; L]);
        }
        if let (Some(a), Some(z)) = (same(a), same(z)) {
            return same(pulp::cast::<_, [f32; 16]>(single::ratio(
                simd,
                pulp::cast::<[f32; 16], _>(a),
                pulp::cast::<[f32; 16], _>(z),
            )))
            .unwrap_or([S::ZERO; L]);
        }
    }
    let _ = level;
    each(
        #[inline(always)]
        |l| if a[l] > S::ZERO { a[l] / z[l] } else { S::ZERO },
    )
}

/// √x.
#[inline(always)]
pub(crate) fn root<S: Scalar, const L: usize>(level: Level, x: [S; L]) -> [S; L] {
    #[cfg(target_arch = "x86_64")]
    if let Level::Avx512(simd) = level {
        use avx512::{double, single};
        if let Some(x) = same(x) {
            return same(pulp::cast::<_, [f64; 8]>(double::root(simd, pulp::cast::<[f64; 8], _>(x))))
                .unwrap_or([S::ZERO; L]);
        }
        if let Some(x) = same(x) {
            return same(pulp::cast::<_, [f32; 16]>(single::root(simd, pulp::cast::<[f32; 16], _>(x))))
                .unwrap_or([S::ZERO; L]);
        }
    }
    let _ = level;
    each(
        #[inline(always)]
        |l| x[l].sqrt(),
    )
}

/// Natural logarithm of non-negative numbers, without branches or tables.
///
/// x = 2ᵉ·m with m in [√½, √2); ln x = e·ln 2 + 2·artanh(f), f = (m − 1)/(m + 1), the series in f² cut where it
/// drops below the rounding. The error is below 2 units in the last place over the normal range (tested); ln 0 = −∞, and
/// what is no number or infinite stays so. Numbers below the normal range count as about the smallest normal one.
#[inline(always)]
pub(crate) fn ln<S: Scalar, const L: usize>(level: Level, x: [S; L]) -> [S; L] {
    let parts: [(S, S); L] = {
        let mut parts = [(S::ZERO, S::ZERO); L];
        for l in 0..L {
            parts[l] = x[l].exponent_and_rest();
        }
        parts
    };
    // u may be negative, and `ratio` wants its numerator positive: f = 1 − 2/(u + 2) would lose digits, u·(1/(u + 2)) not.
    let below = each(
        #[inline(always)]
        |l| parts[l].1 + S::from_f64(2.0),
    );
    let inverse = ratio(level, [S::ONE; L], below);
    let (ln2_high, ln2_low) = S::LN_2;
    each(
        #[inline(always)]
        |l| {
            let (e, u) = parts[l];
            let f = u * inverse[l];
            let s = f * f;
            let mut series = S::ZERO;
            let mut k = S::LN_TERMS;
            while k > 0 {
                series = series.mul_add(s, S::from_f64(1.0 / (2 * k + 1) as f64));
                k -= 1;
            }
            // 2f = u − f·u keeps the leading term exact, which a product 2f would not.
            let tail = (f + f) * (series * s) - f * u;
            let value = e * ln2_high + (u + (tail + e * ln2_low));
            let value = if x[l] > S::ZERO { value } else { -S::INFINITY };
            // No comparison with what is no number holds.
            if x[l] < S::INFINITY { value } else { x[l] }
        },
    )
}

/// A value as one of type `B` if that is its type.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn same<A: Copy + 'static, B: Copy + 'static>(a: A) -> Option<B> {
    // Safety: the types are the same.
    (std::any::TypeId::of::<A>() == std::any::TypeId::of::<B>())
        .then(|| unsafe { std::mem::transmute_copy(&a) })
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    /// Both precisions differ in names and in how far an estimate must be refined.
    macro_rules! precision {
        ($name:ident, $t:ty, $reg:ty, $exponent:expr, $bits:expr, $cmp:ident, $masked_cmp:ident, $set:ident, $zero:ident, $all:expr,
         $div:ident, $sqrt:ident, $rcp:ident, $rsqrt:ident, $mul:ident, $fma:ident, $fnma:ident, $mov:ident, $refine:expr) => {
            pub mod $name {
                use pulp::x86::V4;
                use std::arch::x86_64::*;
                /// Within these bounds no intermediate result overflows or loses digits.
                const SMALL: $t = <$t>::from_bits(($exponent / 2) << $bits);
                const LARGE: $t = <$t>::from_bits(($exponent + $exponent / 2) << $bits);

                #[inline(always)]
                pub fn ratio(simd: V4, a: $reg, z: $reg) -> $reg {
                    let f = simd.avx512f;
                    let quotient = divide(simd, a, z);
                    // What the refinement cannot do, a z of 0 or ∞ first of all, ends as no number.
                    if f.$cmp::<_CMP_UNORD_Q>(quotient, quotient) == 0 {
                        return quotient;
                    }
                    f.$mov(f.$cmp::<_CMP_GT_OQ>(a, f.$zero()), f.$div(a, z))
                }

                #[inline(always)]
                fn divide(simd: V4, a: $reg, z: $reg) -> $reg {
                    let f = simd.avx512f;
                    let mut y = f.$rcp(z);
                    if $refine {
                        y = f.$fma(f.$fnma(z, y, f.$set(1.0)), y, y);
                    }
                    let q = f.$mul(a, y);
                    f.$fma(f.$fnma(z, q, a), y, q)
                }

                /// Root and half the reciprocal root refined together, then one correction of the root.
                #[inline(always)]
                pub fn root(simd: V4, x: $reg) -> $reg {
                    let f = simd.avx512f;
                    let fits = f.$cmp::<_CMP_GE_OQ>(x, f.$set(SMALL));
                    let fits = f.$masked_cmp::<_CMP_LE_OQ>(fits, x, f.$set(LARGE));
                    if fits != $all {
                        return f.$sqrt(x);
                    }
                    let half = f.$set(0.5);
                    let y = f.$rsqrt(x);
                    let (mut g, mut h) = (f.$mul(x, y), f.$mul(half, y));
                    if $refine {
                        let r = f.$fnma(h, g, half);
                        (g, h) = (f.$fma(g, r, g), f.$fma(h, r, h));
                    }
                    f.$fma(f.$fnma(g, g, x), h, g)
                }
            }
        };
    }

    precision!(
        double,
        f64,
        __m512d,
        1023,
        52,
        _mm512_cmp_pd_mask,
        _mm512_mask_cmp_pd_mask,
        _mm512_set1_pd,
        _mm512_setzero_pd,
        0xff,
        _mm512_div_pd,
        _mm512_sqrt_pd,
        _mm512_rcp14_pd,
        _mm512_rsqrt14_pd,
        _mm512_mul_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd,
        _mm512_maskz_mov_pd,
        true
    );
    precision!(
        single,
        f32,
        __m512,
        127,
        23,
        _mm512_cmp_ps_mask,
        _mm512_mask_cmp_ps_mask,
        _mm512_set1_ps,
        _mm512_setzero_ps,
        0xffff,
        _mm512_div_ps,
        _mm512_sqrt_ps,
        _mm512_rcp14_ps,
        _mm512_rsqrt14_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps,
        _mm512_maskz_mov_ps,
        false
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{DualStep, Map, Ratio};

    /// Numbers over a wide range of exponents, and the extremes.
    fn numbers<S: Scalar>(seed: u64, exponents: i32) -> Vec<S> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut number = |exponents: i32| {
            let mantissa = 1.0 + next() as f64 / (1u64 << 53) as f64;
            S::from_f64(mantissa * 2f64.powi((next() % (2 * exponents as u64)) as i32 - exponents))
        };
        let mut all: Vec<S> = (0..20_000).map(|_| number(exponents)).collect();
        all.extend((0..20_000).map(|_| number(1)));
        all.extend([0.0, 1.0, 3.0, 1e-300, 1e300, f64::MIN_POSITIVE, 0.0, 7.0].map(S::from_f64));
        all
    }

    fn ulps<S: Scalar>(a: S, exact: f64) -> f64 {
        let rounded = S::from_f64(exact).to_f64();
        let a = a.to_f64();
        if a == rounded || (a.is_nan() && rounded.is_nan()) {
            return 0.0;
        }
        (a - exact).abs() / (exact.abs() * S::EPSILON.to_f64()) * 2.0
    }

    fn quotients_and_roots<S: Scalar>(exponents: i32) {
        let (a, z) = (numbers::<S>(1, exponents), numbers::<S>(2, exponents));
        let mut quick = z.clone();
        Ratio::new(&a).apply(0, 0, &mut quick);
        for ((a, z), q) in a.iter().zip(&z).zip(quick) {
            let exact = if *a > S::ZERO { (*a / *z).to_f64() } else { 0.0 };
            assert!(ulps(q, exact) <= 2.0, "{a} / {z}: {q} for {exact}");
        }
        // With χ = 0, σ = ¼ and z = 0 the step is −½√a.
        let (mut chi, mut z) = (vec![S::ZERO; a.len()], vec![S::ZERO; a.len()]);
        DualStep::new(&a, &vec![S::from_f64(0.25); a.len()], &mut chi).apply(0, 0, &mut z);
        for (a, y) in a.iter().zip(chi) {
            let exact = if *a > S::ZERO { -0.5 * a.sqrt().to_f64() } else { 0.0 };
            assert!(ulps(y, exact) <= 2.0, "root of {a}: {y} for {exact}");
        }
    }

    #[test]
    fn quotients_and_roots_are_within_a_unit_in_the_last_place() {
        quotients_and_roots::<f64>(500);
        quotients_and_roots::<f32>(60);
    }

    fn worst_logarithm<S: Scalar>(from: f64, to: f64) -> f64 {
        let (mut worst, mut x): (f64, f64) = (0.0, from);
        while x < to {
            for y in [x, x * 1.37, x * std::f64::consts::SQRT_2, 1.0 + x.min(1.0) * 1e-3] {
                let y = S::from_f64(y);
                let exact = y.to_f64().ln();
                let error = ln(Level::Plain, [y])[0].to_f64() - exact;
                worst = worst.max(error.abs() / exact.abs().max(f64::MIN_POSITIVE) / S::EPSILON.to_f64());
            }
            x *= 1.0173;
        }
        worst
    }

    #[test]
    fn logarithms_are_within_two_units_in_the_last_place() {
        assert!(worst_logarithm::<f64>(1e-307, 1e308) <= 2.0);
        assert!(worst_logarithm::<f32>(1e-37, 1e38) <= 2.0);
        let some = [0.0, 1.0, f64::INFINITY, f64::NAN];
        let [zero, one, infinite, none] = ln(Level::Plain, some);
        assert_eq!((zero, one, infinite), (f64::NEG_INFINITY, 0.0, f64::INFINITY));
        assert!(none.is_nan());
        let wide: [f64; 8] = [0.5, 1.0, 3.0, 1e300, 1e-300, 0.0, f64::INFINITY, 7.0];
        for level in Level::all() {
            for (x, log) in wide.iter().zip(ln(level, wide)) {
                assert!(log == x.ln() || (log - x.ln()).abs() <= 2.0 * f64::EPSILON * x.ln().abs());
            }
        }
    }
}
