//! Registers of AVX-512.
//!
//! Quotients and roots of the processor take 16 cycles and more for eight doubles, as long as the products of a pass with
//! 16 to 32 atoms. Here they are its 14-bit estimates refined by Newton steps whose last one uses the exact residual, in
//! the pipes that the products use. With an estimate that is right to 2⁻¹⁴ the refined reciprocal is right to 2⁻²⁸ and the
//! corrected quotient to 2⁻⁵⁶ before rounding (2⁻²⁸ in single precision, where the reciprocal is not refined), so results
//! are those of the IEEE operations but for a last bit in rare cases (tested: at most one unit in the last place).
//! Registers that hold a divisor or radicand far from 1, zeros included, take the ordinary instructions.

use super::register::{Register, arithmetic, cast};
use std::arch::x86_64::*;

/// Both precisions differ in names and in whether an estimate must be refined more than once.
macro_rules! register {
    ($reg:ident, $mask:ident, $refine:expr, $small:expr, $large:expr, $arithmetic:tt,
     $fnma:ident $div:ident $sqrt:ident $rcp:ident $rsqrt:ident $cmp:ident $masked_cmp:ident $blend:ident $load:ident
     $store:ident) => {
        impl Register for $reg {
            arithmetic! $arithmetic;

            type Mask = $mask;

            #[inline(always)]
            fn over(self, z: Self) -> Self {
                let one = Self::splat(1.0);
                unsafe {
                    let mut y = $rcp(z);
                    if $refine {
                        y = $fnma(z, y, one).mul_add(y, y);
                    }
                    let q = self.mul(y);
                    let quotient = $fnma(z, q, self).mul_add(y, q);
                    // What the refinement cannot do, a z of 0 or ∞ first of all, ends as no number.
                    if quotient.compare::<_CMP_UNORD_Q>(quotient) == 0 {
                        return quotient;
                    }
                    $div(self, z).where_positive(self)
                }
            }

            /// Root and half the reciprocal root refined together, then one correction of the root.
            #[inline(always)]
            fn sqrt(self) -> Self {
                unsafe {
                    // Within these bounds no intermediate result overflows or loses digits.
                    let fits = self.compare::<_CMP_GE_OQ>(Self::splat($small));
                    let fits = $masked_cmp::<_CMP_LE_OQ>(fits, self, Self::splat($large));
                    if fits != $mask::MAX {
                        return $sqrt(self);
                    }
                    let half = Self::splat(0.5);
                    let y = $rsqrt(self);
                    let (mut g, mut h) = (self.mul(y), half.mul(y));
                    if $refine {
                        let r = $fnma(h, g, half);
                        (g, h) = (g.mul_add(r, g), h.mul_add(r, h));
                    }
                    $fnma(g, g, self).mul_add(h, g)
                }
            }

            #[inline(always)]
            fn compare<const HOW: i32>(self, other: Self) -> $mask {
                unsafe { $cmp::<HOW>(self, other) }
            }

            #[inline(always)]
            fn leading(live: usize) -> $mask {
                ((1u32 << live) - 1) as $mask
            }

            #[inline(always)]
            fn or_else(self, mask: $mask, other: Self) -> Self {
                unsafe { $blend(mask, other, self) }
            }

            #[inline(always)]
            unsafe fn load_some(from: *const Self::Number, live: usize) -> Self {
                unsafe { $load(Self::splat(1.0), Self::leading(live), from) }
            }

            #[inline(always)]
            unsafe fn store_some(self, to: *mut Self::Number, live: usize) {
                unsafe { $store(to, Self::leading(live), self) }
            }
        }
    };
}

register!(
    __m512d, __mmask8, true, f64::from_bits(511 << 52), f64::from_bits(1534 << 52),
    (f64, 1023, 52, i64, 0x3fe6_a09e_667f_3bcd,
     _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_fmadd_pd
     _mm512_set1_epi64 _mm512_add_epi64 _mm512_srli_epi64 _mm512_and_si512 _mm512_or_si512),
    _mm512_fnmadd_pd _mm512_div_pd _mm512_sqrt_pd _mm512_rcp14_pd _mm512_rsqrt14_pd _mm512_cmp_pd_mask
    _mm512_mask_cmp_pd_mask _mm512_mask_blend_pd _mm512_mask_loadu_pd _mm512_mask_storeu_pd
);
register!(
    __m512, __mmask16, false, f32::from_bits(63 << 23), f32::from_bits(190 << 23),
    (f32, 127, 23, i32, 0x3f35_04f3,
     _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_fmadd_ps
     _mm512_set1_epi32 _mm512_add_epi32 _mm512_srli_epi32 _mm512_and_si512 _mm512_or_si512),
    _mm512_fnmadd_ps _mm512_div_ps _mm512_sqrt_ps _mm512_rcp14_ps _mm512_rsqrt14_ps _mm512_cmp_ps_mask
    _mm512_mask_cmp_ps_mask _mm512_mask_blend_ps _mm512_mask_loadu_ps _mm512_mask_storeu_ps
);
