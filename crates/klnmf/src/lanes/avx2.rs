//! Registers of AVX2. Quotients and roots are the processor's own: its estimates have only 12 bits here, in single
//! precision, and half as many numbers take half as long.

use super::register::{Register, arithmetic, cast};
use std::arch::x86_64::*;

macro_rules! register {
    ($reg:ident, $counting:expr, $arithmetic:tt,
     $set_int:ident $more:ident $div:ident $sqrt:ident $cmp:ident $and:ident $blend:ident $load:ident $store:ident) => {
        impl Register for $reg {
            arithmetic! $arithmetic;

            type Mask = Self;

            #[inline(always)]
            fn over(self, z: Self) -> Self {
                unsafe { $div(self, z).where_positive(self) }
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                unsafe { $sqrt(self) }
            }

            /// A mask is all ones in its places, so the choice between a number and zero is one instruction.
            #[inline(always)]
            fn where_positive(self, a: Self) -> Self {
                unsafe { $and(a.compare::<_CMP_GT_OQ>(Self::splat(0.0)), self) }
            }

            #[inline(always)]
            fn compare<const HOW: i32>(self, other: Self) -> Self {
                unsafe { $cmp::<HOW>(self, other) }
            }

            #[inline(always)]
            fn leading(live: usize) -> Self {
                unsafe { cast($more($set_int(live as _), $counting)) }
            }

            #[inline(always)]
            fn or_else(self, mask: Self, other: Self) -> Self {
                unsafe { $blend(other, self, mask) }
            }

            #[inline(always)]
            unsafe fn load_some(from: *const Self::Number, live: usize) -> Self {
                let mask = Self::leading(live);
                unsafe { $load(from, cast(mask)).or_else(mask, Self::splat(1.0)) }
            }

            #[inline(always)]
            unsafe fn store_some(self, to: *mut Self::Number, live: usize) {
                unsafe { $store(to, cast(Self::leading(live)), self) }
            }
        }
    };
}

register!(
    __m256d, _mm256_setr_epi64x(0, 1, 2, 3),
    (f64, 1023, 52, i64, 0x3fe6_a09e_667f_3bcd,
     _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_fmadd_pd
     _mm256_set1_epi64x _mm256_add_epi64 _mm256_srli_epi64 _mm256_and_si256 _mm256_or_si256),
    _mm256_set1_epi64x _mm256_cmpgt_epi64 _mm256_div_pd _mm256_sqrt_pd _mm256_cmp_pd _mm256_and_pd
    _mm256_blendv_pd _mm256_maskload_pd _mm256_maskstore_pd
);
register!(
    __m256, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
    (f32, 127, 23, i32, 0x3f35_04f3,
     _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_fmadd_ps
     _mm256_set1_epi32 _mm256_add_epi32 _mm256_srli_epi32 _mm256_and_si256 _mm256_or_si256),
    _mm256_set1_epi32 _mm256_cmpgt_epi32 _mm256_div_ps _mm256_sqrt_ps _mm256_cmp_ps _mm256_and_ps
    _mm256_blendv_ps _mm256_maskload_ps _mm256_maskstore_ps
);
