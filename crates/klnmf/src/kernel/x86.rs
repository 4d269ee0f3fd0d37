//! Registers of AVX2, and the code they share with AVX-512. The instructions are those of pulp, which have
//! the same name on both.
//!
//! On AVX2 quotients and roots use the processor's own instructions, because its estimates have only 12 bits
//! and exist only in single precision.

use super::isa::Avx2;
use super::lanes::{Lanes, MOST};
use pulp::{MemMask, Simd};

/// Defines a register type for a level and a precision. Precisions differ in the names of the instructions.
/// The level adds a bit shift, a test whether a mask has any lane set, and functions of its own.
macro_rules! x86_lanes {
    ($name:ident, f64, $($of_level:tt)*) => {
        x86_lanes!(@register $name f64 u64 f64s F64_LANES 52,
            splat_f64s add_f64s sub_f64s mul_f64s div_f64s max_f64s min_f64s mul_add_f64s sqrt_f64s,
            greater_than_f64s greater_than_or_equal_f64s less_than_f64s select_f64s and_m64s not_m64s,
            mask_between_m64s mask_load_ptr_f64s mask_store_ptr_f64s,
            splat_u64s add_u64s and_u64s or_u64s transmute_u64s_f64s transmute_f64s_u64s, $($of_level)*);
    };
    ($name:ident, f32, $($of_level:tt)*) => {
        x86_lanes!(@register $name f32 u32 f32s F32_LANES 23,
            splat_f32s add_f32s sub_f32s mul_f32s div_f32s max_f32s min_f32s mul_add_f32s sqrt_f32s,
            greater_than_f32s greater_than_or_equal_f32s less_than_f32s select_f32s and_m32s not_m32s,
            mask_between_m32s mask_load_ptr_f32s mask_store_ptr_f32s,
            splat_u32s add_u32s and_u32s or_u32s transmute_u32s_f32s transmute_f32s_u32s, $($of_level)*);
    };
    (@register $name:ident $t:ident $int:ident $floats:ident $n:ident $bits:literal,
     $set:ident $add:ident $sub:ident $mul:ident $div:ident $max:ident $min:ident $mul_add:ident $sqrt:ident,
     $more:ident $at_least:ident $less:ident $select:ident $both:ident $not:ident,
     $between:ident $load:ident $store:ident,
     $set_int:ident $add_int:ident $and:ident $or:ident $to_int:ident $from_int:ident,
     $token:ident, $doc:literal, $shift:ident, ($level:ident, $mask:ident) => $any:expr, { $($own:tt)* }) => {
        #[doc = $doc]
        #[derive(Clone, Copy)]
        pub struct $name(<$token as Simd>::$floats, $token);

        x86_lanes!(@operator $name Add add $add);
        x86_lanes!(@operator $name Sub sub $sub);
        x86_lanes!(@operator $name Mul mul $mul);
        x86_lanes!(@operator $name Div div $div);

        impl Lanes<$t> for $name {
            type Token = $token;
            const N: usize = $token::$n;

            #[inline(always)]
            fn token(self) -> $token {
                self.1
            }

            #[inline(always)]
            fn splat(token: $token, x: $t) -> Self {
                Self(token.$set(x), token)
            }

            #[inline(always)]
            fn load_or(token: $token, from: &[$t], at: usize, live: usize, rest: $t) -> Self {
                let from = &from[at..at + live];
                if live == Self::N {
                    // Safety: the slice has as many numbers as the register.
                    return unsafe { Self::read(token, from.as_ptr()) };
                }
                let mask = token.$between(0, live as $int).mask();
                // Safety: the mask has as many lanes as the slice has numbers.
                let some = unsafe { token.$load(MemMask::new(mask), from.as_ptr()) };
                Self(token.$select(mask, some, token.$set(rest)), token)
            }

            #[inline(always)]
            unsafe fn read(token: $token, from: *const $t) -> Self {
                // Safety: the caller has checked it.
                Self(unsafe { from.cast::<<$token as Simd>::$floats>().read_unaligned() }, token)
            }

            #[inline(always)]
            fn store(self, to: &mut [$t], at: usize, live: usize) {
                let to = &mut to[at..at + live];
                if live == Self::N {
                    let to = to.as_mut_ptr().cast::<<$token as Simd>::$floats>();
                    // Safety: the slice has as many numbers as the register.
                    return unsafe { to.write_unaligned(self.0) };
                }
                let mask = MemMask::new(self.1.$between(0, live as $int).mask());
                // Safety: the mask has as many lanes as the slice has numbers.
                unsafe { self.1.$store(mask, to.as_mut_ptr(), self.0) }
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Self(self.1.$mul_add(self.0, a.0, b.0), self.1)
            }

            #[inline(always)]
            fn if_positive(self, a: Self, other: Self) -> Self {
                let positive = self.1.$more(a.0, self.1.$set(0.0));
                Self(self.1.$select(positive, self.0, other.0), self.1)
            }

            #[inline(always)]
            fn root(self) -> Self {
                Self(self.1.$sqrt(self.0), self.1)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(self.1.$max(self.0, other.0), self.1)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Self(self.1.$min(self.0, other.0), self.1)
            }

            #[inline(always)]
            fn exponent_and_rest(self) -> (Self, Self) {
                const TWO_TO_BITS: $t = (1u64 << $bits) as $t;
                const BIAS: $t = ($t::MAX_EXP - 1) as $t;
                const ROOT_HALF: $int = std::$t::consts::FRAC_1_SQRT_2.to_bits();
                let token = self.1;
                // This addition carries into the exponent exactly if the mantissa is at least √2.
                let carry = token.$set_int($t::to_bits(1.0) - ROOT_HALF);
                let bits = token.$add_int(token.$to_int(self.0), carry);
                // An integer in the mantissa of 2^bits converts without a conversion instruction.
                let laid = token.$or(token.$shift::<$bits>(bits), token.$set_int(TWO_TO_BITS.to_bits()));
                let e = Self(token.$from_int(laid), token) - Self::splat(token, TWO_TO_BITS + BIAS);
                let rest = token.$and(bits, token.$set_int((1 << $bits) - 1));
                let m = token.$from_int(token.$add_int(rest, token.$set_int(ROOT_HALF)));
                (e, Self(m, token) - Self::splat(token, 1.0))
            }

            #[inline(always)]
            fn is_normal_where(self, b: Self) -> bool {
                let $level = self.1;
                let large = $level.$at_least(self.0, $level.$set($t::MIN_POSITIVE));
                let finite = $level.$less(self.0, $level.$set($t::INFINITY));
                let positive = $level.$more(b.0, $level.$set(0.0));
                let $mask = $level.$both(positive, $level.$not($level.$both(large, finite)));
                !$any
            }

            $($own)*
        }
    };
    (@operator $name:ident $trait:ident $function:ident $instruction:ident) => {
        impl std::ops::$trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self(self.1.$instruction(self.0, other.0), self.1)
            }
        }
    };
}

pub(super) use x86_lanes;

x86_lanes!(F64x4, f64, Avx2, "Four numbers in double precision.", shr_const_u64x4,
    (token, mask) => token.avx._mm256_movemask_pd(pulp::cast(mask)) != 0, {
    #[inline(always)]
    fn sum_each(of: [Self; MOST]) -> Self {
        let avx = of[0].1.avx;
        let pairs = |l: usize| avx._mm256_hadd_pd(pulp::cast(of[l].0), pulp::cast(of[l + 1].0));
        let (a, b) = (pairs(0), pairs(2));
        let low = avx._mm256_permute2f128_pd::<0x20>(a, b);
        let high = avx._mm256_permute2f128_pd::<0x31>(a, b);
        Self(pulp::cast(avx._mm256_add_pd(low, high)), of[0].1)
    }

    #[inline(always)]
    fn sum_four([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        pulp::cast(Self::sum_each([a, b, c, d, a, a, a, a, a, a, a, a, a, a, a, a]).0)
    }
});
x86_lanes!(F32x8, f32, Avx2, "Eight numbers in single precision.", shr_const_u32x8,
    (token, mask) => token.avx._mm256_movemask_ps(pulp::cast(mask)) != 0, {
    #[inline(always)]
    fn sum_each(of: [Self; MOST]) -> Self {
        let avx = of[0].1.avx;
        let pairs = |l: usize| avx._mm256_hadd_ps(pulp::cast(of[l].0), pulp::cast(of[l + 1].0));
        let (a, b) = (avx._mm256_hadd_ps(pairs(0), pairs(2)), avx._mm256_hadd_ps(pairs(4), pairs(6)));
        let low = avx._mm256_permute2f128_ps::<0x20>(a, b);
        let high = avx._mm256_permute2f128_ps::<0x31>(a, b);
        Self(pulp::cast(avx._mm256_add_ps(low, high)), of[0].1)
    }

    #[inline(always)]
    fn sum_four([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        let avx = a.1.avx;
        let ab = avx._mm256_hadd_ps(pulp::cast(a.0), pulp::cast(b.0));
        let cd = avx._mm256_hadd_ps(pulp::cast(c.0), pulp::cast(d.0));
        let [low, high]: [std::arch::x86_64::__m128; 2] = pulp::cast(avx._mm256_hadd_ps(ab, cd));
        pulp::cast(a.1.sse._mm_add_ps(low, high))
    }
});
