//! Registers of AVX2. Quotients and roots are the processor's own: its estimates have only 12 bits here and
//! exist only in single precision.

use super::isa::Avx2;
use super::lanes::{Lanes, x86_lanes};
use std::arch::x86_64::*;

macro_rules! register {
    ($name:ident, $reg:ident, $t:ident, $n:literal, $doc:literal,
     $counting:ident $($place:literal)*, ($($shared:tt)*),
     $set:ident $set_int:ident $from_int:ident $more:ident $div:ident $sqrt:ident $cmp:ident $and:ident
     $and_not:ident $movemask:ident $blend:ident $load:ident $store:ident) => {
        x86_lanes!($name, $reg, Avx2, $t, $n, $doc, $($shared)*, {
            #[inline(always)]
            fn first(self, live: usize) -> Self {
                if live == $n {
                    return self;
                }
                let (avx, mask) = (self.1.avx, Self::leading(self.1, live));
                Self(avx.$blend(avx.$set(1.0), self.0, avx.$from_int(mask)), self.1)
            }

            #[inline(always)]
            fn if_positive(self, a: Self, other: Self) -> Self {
                Self(self.1.avx.$blend(other.0, self.0, a.positive()), self.1)
            }

            /// A mask is all ones in its places, so the choice between a number and zero is one instruction.
            #[inline(always)]
            fn where_positive(self, a: Self) -> Self {
                Self(self.1.avx.$and(a.positive(), self.0), self.1)
            }

            #[inline(always)]
            fn over(self, z: Self) -> Self {
                Self(self.1.avx.$div(self.0, z.0), self.1).where_positive(self)
            }

            #[inline(always)]
            fn reciprocal(self) -> Self {
                Self(self.1.avx.$div(self.1.avx.$set(1.0), self.0), self.1)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.1.avx.$sqrt(self.0), self.1)
            }

            #[inline(always)]
            fn is_normal_where(self, b: Self) -> bool {
                let avx = self.1.avx;
                let large = avx.$cmp::<_CMP_GE_OQ>(self.0, avx.$set($t::MIN_POSITIVE));
                let finite = avx.$cmp::<_CMP_LT_OQ>(self.0, avx.$set($t::INFINITY));
                avx.$movemask(avx.$and_not(avx.$and(large, finite), b.positive())) == 0
            }
        });

        impl $name {
            #[inline(always)]
            fn positive(self) -> $reg {
                self.1.avx.$cmp::<_CMP_GT_OQ>(self.0, self.1.avx.$set(0.0))
            }

            /// The mask of the first `live` places.
            #[inline(always)]
            fn leading(token: Avx2, live: usize) -> __m256i {
                token.avx2.$more(token.avx.$set_int(live as _), token.avx.$counting($($place),*))
            }

            #[inline(always)]
            fn load_some(token: Avx2, from: &[$t]) -> Self {
                let mask = Self::leading(token, from.len());
                // Safety: the mask has as many places as the slice has numbers.
                let some = unsafe { token.avx.$load(from.as_ptr(), mask) };
                Self(token.avx.$blend(token.avx.$set(1.0), some, token.avx.$from_int(mask)), token)
            }

            #[inline(always)]
            fn store_some(self, to: &mut [$t]) {
                let mask = Self::leading(self.1, to.len());
                // Safety: the mask has as many places as the slice has numbers.
                unsafe { self.1.avx.$store(to.as_mut_ptr(), mask, self.0) }
            }
        }
    };
}

register!(
    F64x4, __m256d, f64, 4, "Four numbers in double precision.",
    _mm256_setr_epi64x 0 1 2 3,
    (avx _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_max_pd _mm256_min_pd,
     fma _mm256_fmadd_pd, _mm256_set1_epi64x _mm256_castpd_si256 _mm256_castsi256_pd,
     avx2 _mm256_add_epi64 _mm256_srli_epi64 _mm256_and_si256 _mm256_or_si256,
     i64 52 1023.0 0x3fe6_a09e_667f_3bcd),
    _mm256_set1_pd _mm256_set1_epi64x _mm256_castsi256_pd _mm256_cmpgt_epi64 _mm256_div_pd
    _mm256_sqrt_pd _mm256_cmp_pd _mm256_and_pd _mm256_andnot_pd _mm256_movemask_pd _mm256_blendv_pd
    _mm256_maskload_pd _mm256_maskstore_pd
);
register!(
    F32x8, __m256, f32, 8, "Eight numbers in single precision.",
    _mm256_setr_epi32 0 1 2 3 4 5 6 7,
    (avx _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_max_ps _mm256_min_ps,
     fma _mm256_fmadd_ps, _mm256_set1_epi32 _mm256_castps_si256 _mm256_castsi256_ps,
     avx2 _mm256_add_epi32 _mm256_srli_epi32 _mm256_and_si256 _mm256_or_si256,
     i32 23 127.0 0x3f35_04f3),
    _mm256_set1_ps _mm256_set1_epi32 _mm256_castsi256_ps _mm256_cmpgt_epi32 _mm256_div_ps
    _mm256_sqrt_ps _mm256_cmp_ps _mm256_and_ps _mm256_andnot_ps _mm256_movemask_ps _mm256_blendv_ps
    _mm256_maskload_ps _mm256_maskstore_ps
);
