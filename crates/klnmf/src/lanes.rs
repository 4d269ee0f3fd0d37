//! As many numbers as a register holds, and what the passes compute with them.
//!
//! What fills a register of AVX-512 is computed by its instructions, named one by one in `wide`: left to itself the
//! compiler takes such arrays apart and puts them together in odd pieces. Other widths are plain loops, which it turns
//! into vector instructions well enough.
//!
//! Quotients and roots of the processor take 16 cycles and more for eight doubles, as long as the products of a pass with
//! 16 to 32 atoms. With AVX-512 they are therefore its 14-bit estimates refined by Newton steps whose last one uses the
//! exact residual, in the pipes that the products use. With an estimate that is right to 2⁻¹⁴ the refined reciprocal is
//! right to 2⁻²⁸ and the corrected quotient to 2⁻⁵⁶ before rounding (2⁻²⁸ in single precision, where the reciprocal is not
//! refined), so results are those of the IEEE operations but for a last bit in rare cases (tested: at most one unit in the
//! last place). Registers that hold a divisor or radicand far from 1, zeros included, take the ordinary instructions.

use crate::Scalar;
use std::ops::{Add, Mul, Neg, Sub};

#[cfg(target_arch = "x86_64")]
mod wide;

/// `L` numbers in a register. If they have 64 bytes, the code must run at the level of AVX-512.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Lanes<S, const L: usize>(pub [S; L]);

/// Whether numbers have four bytes: known when code is generated, so that only one branch is.
pub(crate) const fn single<S>() -> bool {
    size_of::<S>() == 4
}

/// The operation in `wide` if that is the width, else the loop.
macro_rules! choose {
    ($wide:ident($($arg:expr),*), $plain:expr) => {{
        #[cfg(target_arch = "x86_64")]
        if const { L * size_of::<S>() == 64 } {
            return wide::$wide($($arg),*);
        }
        $plain
    }};
}

/// Lanes from a function of the place, always inlined.
#[inline(always)]
fn each<S: Scalar, const L: usize>(f: impl Fn(usize) -> S) -> Lanes<S, L> {
    let mut all = [S::ZERO; L];
    let mut l = 0;
    while l < L {
        all[l] = f(l);
        l += 1;
    }
    Lanes(all)
}

impl<S: Scalar, const L: usize> Lanes<S, L> {
    #[inline(always)]
    pub fn splat(x: S) -> Self {
        Self([x; L])
    }

    /// `live` numbers from `at` on; ones after them, with which nothing can go wrong.
    #[inline(always)]
    pub fn load(from: &[S], at: usize, live: usize) -> Self {
        let from = &from[at..at + live];
        if live == L {
            // Safety: the slice holds L numbers.
            return unsafe { from.as_ptr().cast::<Self>().read_unaligned() };
        }
        choose!(load_some(from), {
            let mut all = [S::ONE; L];
            all[..live].copy_from_slice(from);
            Self(all)
        })
    }

    /// Writes the first `live` numbers.
    #[inline(always)]
    pub fn store(self, to: &mut [S], at: usize, live: usize) {
        let to = &mut to[at..at + live];
        if live == L {
            // Safety: the slice has room for L numbers.
            return unsafe { to.as_mut_ptr().cast::<Self>().write_unaligned(self) };
        }
        choose!(store_some(self, to), to.copy_from_slice(&self.0[..live]))
    }

    /// The first `live` numbers, and ones after them.
    #[inline(always)]
    pub fn first(self, live: usize) -> Self {
        if live == L {
            return self;
        }
        choose!(
            first(self, live),
            each(
                #[inline(always)]
                |l| if l < live { self.0[l] } else { S::ONE }
            )
        )
    }

    /// self · a + b, rounded once.
    #[inline(always)]
    pub fn mul_add(self, a: Self, b: Self) -> Self {
        choose!(
            mul_add(self, a, b),
            each(
                #[inline(always)]
                |l| self.0[l].mul_add(a.0[l], b.0[l])
            )
        )
    }

    /// The numbers where a > 0, zeros elsewhere.
    #[inline(always)]
    pub fn where_positive(self, a: Self) -> Self {
        choose!(
            where_positive(self, a),
            each(
                #[inline(always)]
                |l| if a.0[l] > S::ZERO { self.0[l] } else { S::ZERO }
            )
        )
    }

    /// self / z where self > 0, else 0.
    #[inline(always)]
    pub fn over(self, z: Self) -> Self {
        choose!(
            over(self, z),
            each(
                #[inline(always)]
                |l| if self.0[l] > S::ZERO { self.0[l] / z.0[l] } else { S::ZERO }
            )
        )
    }

    /// Square roots.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        choose!(
            sqrt(self),
            each(
                #[inline(always)]
                |l| self.0[l].sqrt()
            )
        )
    }

    /// Natural logarithm of non-negative numbers, without branches or tables.
    ///
    /// x = 2ᵉ·m with m in [√½, √2); ln x = e·ln 2 + 2·artanh(f), f = (m − 1)/(m + 1), the series in f² cut where it
    /// drops below the rounding. The error is below 2 units in the last place over the normal range (tested); ln 0 = −∞,
    /// and what is no number or infinite stays so. Numbers below the normal range count as about the smallest normal one.
    #[inline(always)]
    pub fn ln(self) -> Self {
        let (e, u) = self.exponent_and_rest();
        // u may be negative, and `over` wants its numerator positive: f = 1 − 2/(u + 2) would lose digits, u·(1/(u + 2)) not.
        let f = u * Self::splat(S::ONE).over(u + Self::splat(S::from_f64(2.0)));
        let s = f * f;
        let mut series = Self::splat(S::ZERO);
        let mut k = S::LN_TERMS;
        while k > 0 {
            series = series.mul_add(s, Self::splat(S::from_f64(1.0 / (2 * k + 1) as f64)));
            k -= 1;
        }
        // 2f = u − f·u keeps the leading term exact, which a product 2f would not.
        let tail = (f + f) * (series * s) - f * u;
        let (ln2_high, ln2_low) = S::LN_2;
        let value = e * Self::splat(ln2_high) + (u + (tail + e * Self::splat(ln2_low)));
        value.unless_extreme(self)
    }

    /// (e, m − 1) with x = 2ᵉ·m and m in [√½, √2), for normal numbers x > 0.
    #[inline(always)]
    fn exponent_and_rest(self) -> (Self, Self) {
        choose!(exponent_and_rest(self), {
            let parts = self.0.map(
                #[inline(always)]
                |x| x.exponent_and_rest(),
            );
            (
                each(
                    #[inline(always)]
                    |l| parts[l].0,
                ),
                each(
                    #[inline(always)]
                    |l| parts[l].1,
                ),
            )
        })
    }

    /// The logarithm of x: this one, but −∞ where x is zero and x itself where it is infinite or no number.
    #[inline(always)]
    fn unless_extreme(self, x: Self) -> Self {
        choose!(
            unless_extreme(self, x),
            each(
                #[inline(always)]
                |l| {
                    let value = if x.0[l] > S::ZERO { self.0[l] } else { -S::INFINITY };
                    // No comparison with what is no number holds.
                    if x.0[l] < S::INFINITY { value } else { x.0[l] }
                }
            )
        )
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident) => {
        impl<S: Scalar, const L: usize> $trait for Lanes<S, L> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                choose!(
                    $name(self, other),
                    each(
                        #[inline(always)]
                        |l| self.0[l].$name(other.0[l])
                    )
                )
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);

impl<S: Scalar, const L: usize> Neg for Lanes<S, L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::splat(S::ZERO) - self
    }
}

/// The proximal point of σF* at χ' = χ + σz, which is ½(χ' − √(χ'² + 4σa)): the dual step.
#[inline(always)]
pub(crate) fn dual_step<S: Scalar, const L: usize>(
    a: Lanes<S, L>,
    sigma: Lanes<S, L>,
    chi: Lanes<S, L>,
    z: Lanes<S, L>,
) -> Lanes<S, L> {
    let [half, four] = [0.5, 4.0].map(|x| Lanes::splat(S::from_f64(x)));
    let moved = sigma.mul_add(z, chi);
    let square = moved.mul_add(moved, four * sigma * a);
    half * (moved - square.sqrt())
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
                let error = Lanes([y]).ln().0[0].to_f64() - exact;
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
        let [zero, one, infinite, none] = Lanes(some).ln().0;
        assert_eq!((zero, one, infinite), (f64::NEG_INFINITY, 0.0, f64::INFINITY));
        assert!(none.is_nan());
        let logs = |x: &mut [f64]| x.iter_mut().for_each(|x| *x = Lanes([*x]).ln().0[0]);
        let mut one_by_one =
            vec![0.5, 1.0, 3.0, 1e300, 1e-300, 0.0, f64::INFINITY, 7.0, f64::NAN, 0.7, 0.72, 2.0, 1e-5];
        let mut wide = one_by_one.clone();
        Logarithm.apply(0, 0, &mut wide);
        logs(&mut one_by_one);
        for (x, y) in one_by_one.iter().zip(&wide) {
            assert!(
                x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 2.0 * f64::EPSILON * x.abs(),
                "{x} {y}"
            );
        }
    }

    /// Logarithms in registers of the processor's own width.
    struct Logarithm;

    impl<S: Scalar> Map<S> for Logarithm {
        #[inline(always)]
        fn map<const L: usize>(&mut self, _: usize, _: usize, _: usize, z: Lanes<S, L>) -> Lanes<S, L> {
            z.ln()
        }
    }
}
