//! What lanes that fill a register of AVX2 or AVX-512 are computed with.

use crate::Scalar;
use std::arch::x86_64::{_CMP_GT_OQ, _CMP_LT_OQ};

/// A register full of numbers, each operation an instruction or a few.
///
/// Its functions may only be used where the processor has the instructions: AVX2 and FMA for registers of 32 bytes, AVX-512
/// for those of 64. The kernels ask for the level before they use lanes of such a width, so the calls of intrinsics are safe.
pub trait Register: Copy {
    type Number: Scalar;
    /// Which numbers of a register an operation concerns.
    type Mask: Copy;

    fn splat(x: Self::Number) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// self · a + b, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// self / z, and 0 where self is 0, whatever z is. No numerator is negative.
    fn over(self, z: Self) -> Self;
    fn sqrt(self) -> Self;
    /// As for single numbers, see `Scalar`.
    fn exponent_and_rest(self) -> (Self, Self);

    /// Where the comparison `HOW` holds.
    fn compare<const HOW: i32>(self, other: Self) -> Self::Mask;
    /// The first `live` places.
    fn leading(live: usize) -> Self::Mask;
    /// The numbers in the places of the mask, those of `other` elsewhere.
    fn or_else(self, mask: Self::Mask, other: Self) -> Self;

    /// `live` numbers, and ones after them.
    ///
    /// # Safety
    /// There are as many at this address.
    unsafe fn load_some(from: *const Self::Number, live: usize) -> Self;
    /// Writes the first `live` numbers.
    ///
    /// # Safety
    /// There is room for as many at this address.
    unsafe fn store_some(self, to: *mut Self::Number, live: usize);

    #[inline(always)]
    fn first(self, live: usize) -> Self {
        self.or_else(Self::leading(live), Self::splat(Self::Number::ONE))
    }

    #[inline(always)]
    fn where_positive(self, a: Self) -> Self {
        let zero = Self::splat(Self::Number::ZERO);
        self.or_else(a.compare::<_CMP_GT_OQ>(zero), zero)
    }

    #[inline(always)]
    fn unless_extreme(self, x: Self) -> Self {
        let [zero, infinity] = [Self::Number::ZERO, Self::Number::INFINITY];
        self.or_else(x.compare::<_CMP_GT_OQ>(Self::splat(zero)), Self::splat(-infinity))
            .or_else(x.compare::<_CMP_LT_OQ>(Self::splat(infinity)), x)
    }
}

/// The same bytes as another type of the same size.
#[inline(always)]
pub fn cast<A: Copy, B: Copy>(a: A) -> B {
    // Known when code is generated, so that it costs nothing; where it fails is never reached.
    assert!(size_of::<A>() == size_of::<B>());
    // Safety: registers and lanes are plain numbers, and the sizes are the same.
    unsafe { std::mem::transmute_copy(&a) }
}

/// Functions of `Register` in which precisions and widths differ only in names and in the layout of a number.
macro_rules! arithmetic {
    ($t:ident, $exponent:expr, $bits:expr, $int:ident, $root_half:expr,
     $set:ident $add:ident $sub:ident $mul:ident $fma:ident
     $set_int:ident $add_int:ident $shift:ident $and:ident $or:ident) => {
        type Number = $t;

        #[inline(always)]
        fn splat(x: $t) -> Self {
            unsafe { $set(x) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            unsafe { $add(self, other) }
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            unsafe { $sub(self, other) }
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            unsafe { $mul(self, other) }
        }

        #[inline(always)]
        fn mul_add(self, a: Self, b: Self) -> Self {
            unsafe { $fma(self, a, b) }
        }

        #[inline(always)]
        fn exponent_and_rest(self) -> (Self, Self) {
            const TWO_TO_BITS: $t = (1u64 << $bits) as $t;
            const MANTISSA: $int = (1 << $bits) - 1;
            unsafe {
                let one = $t::to_bits(1.0);
                let bits = $add_int(cast(self), $set_int((one - $root_half) as $int));
                let exponent: Self = cast($or($shift::<$bits>(bits), cast($set(TWO_TO_BITS))));
                let rest = $and(bits, $set_int(MANTISSA));
                let m: Self = cast($add_int(rest, $set_int($root_half)));
                ($sub(exponent, $set(TWO_TO_BITS + $exponent as $t)), $sub(m, $set(1.0)))
            }
        }
    };
}

pub(super) use arithmetic;
