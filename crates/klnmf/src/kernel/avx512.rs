//! Registers of AVX-512.
//!
//! The processor takes 16 cycles and more for the quotients or roots of eight doubles, as long as the
//! products of a pass with 16 to 32 atoms. Here they are its 14-bit estimates, refined by Newton steps in the
//! pipes that the products use; the last step takes the exact residual. An estimate right to 2⁻¹⁴ gives a
//! reciprocal right to 2⁻²⁸ and a quotient right to 2⁻⁵⁶ before rounding (2⁻²⁸ in single precision, where the
//! reciprocal is not refined). Results therefore differ from the IEEE operations in a last bit at most, and
//! rarely (tested). Registers with a divisor or radicand far from 1, zeros included, take the ordinary
//! instructions.

use super::isa::Avx512;
use super::lanes::{Lanes, x86_lanes};
use std::arch::x86_64::*;

/// Both precisions differ in names and in whether an estimate must be refined more than once.
macro_rules! register {
    ($name:ident, $reg:ident, $mask:ident, $t:ident, $n:literal, $doc:literal, $refine:literal, $small:expr,
     $large:expr, ($($shared:tt)*),
     $set:ident $mul:ident $fma:ident $fnma:ident $div:ident $sqrt:ident $rcp:ident $rsqrt:ident $cmp:ident
     $masked_cmp:ident $blend:ident $load:ident $store:ident, $to_f64:ident) => {
        x86_lanes!($name, $reg, Avx512, $t, $n, $doc, $($shared)*, {
            #[inline(always)]
            fn first(self, live: usize) -> Self {
                if live == $n {
                    return self;
                }
                let f = self.1.avx512f;
                Self(f.$blend(Self::leading(live), f.$set(1.0), self.0), self.1)
            }

            #[inline(always)]
            fn if_positive(self, a: Self, other: Self) -> Self {
                Self(self.1.avx512f.$blend(a.positive(), other.0, self.0), self.1)
            }

            #[inline(always)]
            fn over(self, z: Self) -> Self {
                let f = self.1.avx512f;
                let mut y = f.$rcp(z.0);
                if $refine {
                    y = f.$fma(f.$fnma(z.0, y, f.$set(1.0)), y, y);
                }
                let q = f.$mul(self.0, y);
                let quotient = f.$fma(f.$fnma(z.0, q, self.0), y, q);
                // What the refinement cannot do, a z of 0 or ∞ first of all, ends as NaN.
                if f.$cmp::<_CMP_UNORD_Q>(quotient, quotient) == 0 {
                    return Self(quotient, self.1);
                }
                Self(f.$div(self.0, z.0), self.1).where_positive(self)
            }

            #[inline(always)]
            fn reciprocal(self) -> Self {
                let f = self.1.avx512f;
                let mut y = f.$rcp(self.0);
                y = f.$fma(f.$fnma(self.0, y, f.$set(1.0)), y, y);
                if $refine {
                    y = f.$fma(f.$fnma(self.0, y, f.$set(1.0)), y, y);
                }
                Self(y, self.1)
            }

            /// Root and half the reciprocal root are refined together, then the root is corrected once.
            #[inline(always)]
            fn sqrt(self) -> Self {
                let f = self.1.avx512f;
                // Within these bounds no intermediate result overflows or loses digits.
                let fits = f.$cmp::<_CMP_GE_OQ>(self.0, f.$set($small));
                let fits = f.$masked_cmp::<_CMP_LE_OQ>(fits, self.0, f.$set($large));
                if fits != $mask::MAX {
                    return Self(f.$sqrt(self.0), self.1);
                }
                let half = f.$set(0.5);
                let y = f.$rsqrt(self.0);
                let (mut g, mut h) = (f.$mul(self.0, y), f.$mul(half, y));
                if $refine {
                    let r = f.$fnma(h, g, half);
                    (g, h) = (f.$fma(g, r, g), f.$fma(h, r, h));
                }
                Self(f.$fma(f.$fnma(g, g, self.0), h, g), self.1)
            }

            #[inline(always)]
            fn is_normal_where(self, b: Self) -> bool {
                let (f, positive) = (self.1.avx512f, b.positive());
                let small = f.$masked_cmp::<_CMP_NGE_UQ>(positive, self.0, f.$set($t::MIN_POSITIVE));
                let large = f.$masked_cmp::<_CMP_NLT_UQ>(positive, self.0, f.$set($t::INFINITY));
                small | large == 0
            }

            #[inline(always)]
            fn sums(of: [Self; 8]) -> [f64; 8] {
                let token = of[0].1;
                let mut all = [token.avx512f._mm512_setzero_pd(); 8];
                for (to, lanes) in all.iter_mut().zip(of) {
                    *to = $to_f64(token, lanes.0);
                }
                add_lanes(token, all)
            }
        });

        impl $name {
            #[inline(always)]
            fn positive(self) -> $mask {
                self.1.avx512f.$cmp::<_CMP_GT_OQ>(self.0, self.1.avx512f.$set(0.0))
            }

            /// The mask of the first `live` places.
            #[inline(always)]
            fn leading(live: usize) -> $mask {
                ((1u32 << live) - 1) as $mask
            }

            #[inline(always)]
            fn load_some(token: Avx512, from: &[$t]) -> Self {
                let (f, mask) = (token.avx512f, Self::leading(from.len()));
                // Safety: the mask has as many places as the slice has numbers.
                Self(unsafe { f.$load(f.$set(1.0), mask, from.as_ptr()) }, token)
            }

            #[inline(always)]
            fn store_some(self, to: &mut [$t]) {
                // Safety: the mask has as many places as the slice has numbers.
                unsafe { self.1.avx512f.$store(to.as_mut_ptr(), Self::leading(to.len()), self.0) }
            }
        }
    };
}

/// The sums of the lanes of eight registers, in one.
#[inline(always)]
fn add_lanes(token: Avx512, x: [__m512d; 8]) -> [f64; 8] {
    let low = add_pairs(token, add_lane_pairs(token, x[0], x[1]), add_lane_pairs(token, x[2], x[3]));
    let high = add_pairs(token, add_lane_pairs(token, x[4], x[5]), add_lane_pairs(token, x[6], x[7]));
    pulp::cast(add_pairs(token, low, high))
}

/// a₀ + a₁, b₀ + b₁, a₂ + a₃, b₂ + b₃, …
#[inline(always)]
fn add_lane_pairs(token: Avx512, a: __m512d, b: __m512d) -> __m512d {
    let f = token.avx512f;
    f._mm512_add_pd(f._mm512_unpacklo_pd(a, b), f._mm512_unpackhi_pd(a, b))
}

/// The same with pairs of lanes in place of lanes, first those of a, then those of b.
#[inline(always)]
fn add_pairs(token: Avx512, a: __m512d, b: __m512d) -> __m512d {
    let f = token.avx512f;
    f._mm512_add_pd(f._mm512_shuffle_f64x2::<0x88>(a, b), f._mm512_shuffle_f64x2::<0xdd>(a, b))
}

/// A register of double precision as it is.
#[inline(always)]
fn whole(_: Avx512, x: __m512d) -> __m512d {
    x
}

/// The halves of a register added up, in double precision.
#[inline(always)]
fn halves(token: Avx512, x: __m512) -> __m512d {
    let [low, high]: [__m256; 2] = pulp::cast(x);
    token.avx512f._mm512_cvtps_pd(token.avx._mm256_add_ps(low, high))
}

register!(
    F64x8, __m512d, __mmask8, f64, 8, "Eight numbers in double precision.",
    true, f64::from_bits(511 << 52), f64::from_bits(1534 << 52),
    (avx512f _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_max_pd _mm512_min_pd,
     avx512f _mm512_fmadd_pd, _mm512_set1_epi64 _mm512_castpd_si512 _mm512_castsi512_pd,
     avx512f _mm512_add_epi64 _mm512_srli_epi64 _mm512_and_si512 _mm512_or_si512,
     i64 52 1023.0 0x3fe6_a09e_667f_3bcd),
    _mm512_set1_pd _mm512_mul_pd _mm512_fmadd_pd _mm512_fnmadd_pd _mm512_div_pd _mm512_sqrt_pd _mm512_rcp14_pd
    _mm512_rsqrt14_pd _mm512_cmp_pd_mask _mm512_mask_cmp_pd_mask _mm512_mask_blend_pd _mm512_mask_loadu_pd
    _mm512_mask_storeu_pd, whole
);
register!(
    F32x16, __m512, __mmask16, f32, 16, "Sixteen numbers in single precision.",
    false, f32::from_bits(63 << 23), f32::from_bits(190 << 23),
    (avx512f _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_max_ps _mm512_min_ps,
     avx512f _mm512_fmadd_ps, _mm512_set1_epi32 _mm512_castps_si512 _mm512_castsi512_ps,
     avx512f _mm512_add_epi32 _mm512_srli_epi32 _mm512_and_si512 _mm512_or_si512,
     i32 23 127.0 0x3f35_04f3),
    _mm512_set1_ps _mm512_mul_ps _mm512_fmadd_ps _mm512_fnmadd_ps _mm512_div_ps _mm512_sqrt_ps _mm512_rcp14_ps
    _mm512_rsqrt14_ps _mm512_cmp_ps_mask _mm512_mask_cmp_ps_mask _mm512_mask_blend_ps _mm512_mask_loadu_ps
    _mm512_mask_storeu_ps, halves
);
