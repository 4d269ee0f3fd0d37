//! The two precisions, and the elementary functions the kernels need in a form that vectorises.

use std::fmt::{Debug, Display, LowerExp};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// `f32` or `f64`.
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Default
    + PartialOrd
    + Debug
    + Display
    + LowerExp
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The distance from 1 to the next number.
    const EPSILON: Self;
    /// The smallest normal number divided by [`EPSILON`](Scalar::EPSILON): what is below may as well be zero.
    const TINY: Self;
    /// ∞.
    const INFINITY: Self;
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// The nearest number of this precision.
    fn from_f64(x: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The larger of the two; the other one if one is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of the two; the other one if one is NaN.
    fn min(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The slice as doubles, if that is what it holds.
    fn as_f64(x: &[Self]) -> Option<&[f64]>;
    /// The slice as doubles to be changed, if that is what it holds.
    fn as_f64_mut(x: &mut [Self]) -> Option<&mut [f64]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! scalar {
    ($t:ident, $x:ident, $as_f64:expr) => {
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const EPSILON: Self = $t::EPSILON;
            const TINY: Self = $t::MIN_POSITIVE / $t::EPSILON;
            const INFINITY: Self = $t::INFINITY;
            const NAME: &'static str = stringify!($t);
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $t::min(self, other)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $t::mul_add(self, a, b)
            }
            #[inline(always)]
            fn as_f64($x: &[Self]) -> Option<&[f64]> {
                $as_f64
            }
            #[inline(always)]
            fn as_f64_mut($x: &mut [Self]) -> Option<&mut [f64]> {
                $as_f64
            }
        }
    };
}

scalar!(f32, _x, None);
scalar!(f64, x, Some(x));

/// Natural logarithm of a non-negative number, without branches or tables so that a loop over it vectorises.
///
/// x = 2ᵉ·m with m in [√½, √2); ln x = e·ln 2 + 2·artanh(f), f = (m − 1)/(m + 1), the series in f² cut where it
/// drops below the rounding. The error is below 2 units in the last place over the normal range (tested); subnormal
/// numbers are scaled up first.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    // ln 2 in two parts: the first has 32 trailing zero bits, so that e times it is exact.
    const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
    const TINY: f64 = f64::MIN_POSITIVE;
    const SCALE: f64 = 18_014_398_509_481_984.0; // 2⁵⁴
    let whole = x;
    let subnormal = x < TINY;
    let x = if subnormal { x * SCALE } else { x };
    let shift = if subnormal { 54.0 } else { 0.0 };
    // Adding this to the bits carries into the exponent exactly when the mantissa is at least √2. It wraps for what is no
    // positive number; the selections at the end put that right.
    let bits = x.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_667f_3bcd);
    // A 52-bit integer laid into the mantissa of 2⁵² converts to f64 without an integer instruction.
    let e = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0) - shift;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_667f_3bcd);
    let u = m - 1.0;
    let f = u / (u + 2.0);
    let s = f * f;
    // ln m = 2f·(1 + s/3 + s²/5 + …); |f| < 0.1716, so eleven terms leave less than 1e-18.
    let w = s * s;
    let even = w * (1.0 / 5.0 + w * (1.0 / 9.0 + w * (1.0 / 13.0 + w * (1.0 / 17.0 + w * (1.0 / 21.0)))));
    let odd = s * (1.0 / 3.0 + w * (1.0 / 7.0 + w * (1.0 / 11.0 + w * (1.0 / 15.0 + w * (1.0 / 19.0)))));
    // 2f = u − f·u keeps the leading term exact, which a product 2f would not.
    let tail = 2.0 * f * (even + odd) - f * u;
    let value = e * LN2_HI + (u + (tail + e * LN2_LO));
    let value = if whole > 0.0 { value } else { f64::NEG_INFINITY };
    if whole < f64::INFINITY { value } else { whole }
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn ln_is_within_two_units_in_the_last_place() {
        let mut worst: f64 = 0.0;
        let mut x = 1e-310;
        while x < 1e308 {
            for y in [x, x * 1.37, x * std::f64::consts::SQRT_2, 1.0 + x.min(1.0) * 1e-3] {
                let exact = y.ln();
                worst = worst.max((ln(y) - exact).abs() / exact.abs().max(f64::MIN_POSITIVE) / f64::EPSILON);
            }
            x *= 1.0173;
        }
        assert!(worst <= 2.0, "{worst} ulp");
        assert_eq!(ln(1.0), 0.0);
        assert_eq!((ln(0.0), ln(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
