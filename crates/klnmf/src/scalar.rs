//! The two precisions, and elementary functions for the kernels in a form that vectorises.

use crate::block::{Blocks, LineBuffer, Lines, Storage};
use crate::compiled::Compiled;
use crate::kernel::{self, Lanes};
use std::fmt::{Debug, Display, LowerExp};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Range, Sub};

/// `f32` or `f64`, and no other.
pub trait Scalar:
    Compiled
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
    /// The smallest normal number divided by [`EPSILON`](Scalar::EPSILON). Smaller weights count as zero.
    const TINY: Self;
    /// ∞.
    const INFINITY: Self;
    /// `"f32"` or `"f64"`.
    const NAME: &'static str;
    /// The nearest number of this precision.
    fn from_f64(x: f64) -> Self;
    /// The nearest number of this precision.
    fn from_u32(x: u32) -> Self;
    /// This number in double precision.
    fn to_f64(self) -> f64;
    /// Neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// The larger of the two. If one is NaN, the other.
    fn max(self, other: Self) -> Self;
    /// The smaller of the two. If one is NaN, the other.
    fn min(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `self · a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The blocks of a storage in this precision.
    #[doc(hidden)]
    fn blocks(storage: &dyn Storage) -> &dyn Blocks<Self>;
    /// Some lines of a storage in this precision.
    #[doc(hidden)]
    fn lines(of: &dyn Lines, lines: Range<usize>, to: &mut LineBuffer<Self>) -> Result<(), String>;
    /// ln 2 in two parts. The first has enough trailing zero bits that its product with an exponent is exact.
    #[doc(hidden)]
    const LN_2: (Self, Self);
    /// The polynomial in s = f² closest to (artanh(f)/f − 1)/s = 1/3 + s/5 + s²/7 + … for |f| ≤ 0.1716,
    /// lowest power first. Its error times s is at most 1e-9 (f32) and 2e-18 (f64). The series would need two
    /// and three more terms.
    #[doc(hidden)]
    const LN_POLYNOMIAL: &'static [f64];
    /// (e, m − 1) with x = 2ᵉ·m and m in [√½, √2), for a normal number x > 0.
    #[doc(hidden)]
    fn exponent_and_rest(self) -> (Self, Self);
    /// Registers of 16 bytes.
    #[doc(hidden)]
    type Wide128: Lanes<Self, Token = ()>;
    /// Registers of AVX2.
    #[doc(hidden)]
    #[cfg(target_arch = "x86_64")]
    type Wide256: Lanes<Self, Token = kernel::Avx2>;
    /// Registers of AVX-512.
    #[doc(hidden)]
    #[cfg(target_arch = "x86_64")]
    type Wide512: Lanes<Self, Token = kernel::Avx512>;
}

macro_rules! scalar {
    ($t:ident, $read:ident, $wide256:ident, $wide512:ident, $ln_2:expr, $ln_series:expr) => {
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
            fn from_u32(x: u32) -> Self {
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
            fn blocks(storage: &dyn Storage) -> &dyn Blocks<Self> {
                storage
            }
            fn lines(of: &dyn Lines, lines: Range<usize>, to: &mut LineBuffer<Self>) -> Result<(), String> {
                of.$read(lines, to)
            }
            type Wide128 = kernel::Array<$t, { 16 / size_of::<$t>() }, { kernel::FUSED }>;
            #[cfg(target_arch = "x86_64")]
            type Wide256 = kernel::$wide256;
            #[cfg(target_arch = "x86_64")]
            type Wide512 = kernel::$wide512;
            const LN_2: (Self, Self) = $ln_2;
            const LN_POLYNOMIAL: &'static [f64] = $ln_series;
            #[inline(always)]
            fn exponent_and_rest(self) -> (Self, Self) {
                const BITS: u32 = $t::MANTISSA_DIGITS - 1;
                const TWO_TO_BITS: $t = (1u64 << BITS) as $t;
                const BIAS: $t = ($t::MAX_EXP - 1) as $t;
                let root_half = std::$t::consts::FRAC_1_SQRT_2.to_bits();
                // This addition carries into the exponent exactly if the mantissa is at least √2.
                let bits = self.to_bits().wrapping_add($t::to_bits(1.0) - root_half);
                // An integer in the mantissa of 2^bits converts without an integer instruction.
                let e = $t::from_bits((bits >> BITS) | TWO_TO_BITS.to_bits()) - (TWO_TO_BITS + BIAS);
                let m = $t::from_bits((bits & ((1 << BITS) - 1)) + root_half);
                (e, m - 1.0)
            }
        }
    };
}

scalar!(
    f32,
    read_f32,
    F32x8,
    F32x16,
    (f32::from_bits(0x3f31_7000), 3.194_618_5e-5),
    &[0.333_333_882_076_133_8, 0.199_887_684_837_902_45, 0.149_359_312_827_901_25]
);
scalar!(
    f64,
    read_f64,
    F64x4,
    F64x8,
    (f64::from_bits(0x3fe6_2e42_fee0_0000), 1.908_214_929_270_587_7e-10),
    &[
        0.333_333_333_333_336_7,
        0.199_999_999_997_071_6,
        0.142_857_143_712_376_93,
        0.111_110_992_817_246_46,
        0.090_917_824_339_773_77,
        0.076_570_179_071_620_42,
        0.073_980_527_779_787_38,
    ]
);
