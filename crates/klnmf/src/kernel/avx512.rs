//! Registers of AVX-512.
//!
//! The processor takes 16 cycles or more for the quotients or roots of eight doubles, as long as the products
//! of a pass with 16 to 32 atoms. Instead we refine its 14-bit estimates by Newton steps, which run in the
//! pipes of the products; the last step uses the exact residual. An estimate with error 2⁻¹⁴ gives a
//! reciprocal with error 2⁻²⁸ and a quotient with error 2⁻⁵⁶ before rounding (2⁻²⁸ in single precision, where
//! the reciprocal is not refined). Results therefore differ from the IEEE operations by at most the last bit,
//! and rarely (tested). Registers with a divisor or radicand far from 1, or zero, use the exact instructions.

use super::isa::Avx512;
use super::lanes::Lanes;
use super::x86::x86_lanes;
use pulp::{MemMask, Simd};
use std::arch::x86_64::*;

/// Defines a register type. The precisions differ in names and in the number of refinements of an estimate.
macro_rules! register {
    ($name:ident, $t:ident, $doc:literal, $shift:ident, $refine:literal, $small:expr, $large:expr, $all:expr,
     $equal:ident $at_least:ident $masked_cmp:ident $minus_product:ident $rcp:ident $rsqrt:ident $to_f64:ident) => {
        x86_lanes!($name, $t, Avx512, $doc, $shift, (_token, mask) => mask.0 != 0, {
            #[inline(always)]
            fn over(self, z: Self) -> Self {
                let y = z.estimate();
                let y = if $refine { y.refined(z) } else { y };
                let q = self * y;
                let quotient = self.less(z, q).mul_add(y, q);
                // If the refinement fails, above all for a z of 0 or ∞, the result is NaN.
                if self.1.$equal(quotient.0, quotient.0).0 == $all {
                    return quotient;
                }
                (self / z).where_positive(self)
            }

            #[inline(always)]
            fn reciprocal(self) -> Self {
                let y = self.estimate().refined(self);
                if $refine { y.refined(self) } else { y }
            }

            /// Refines the root and half the reciprocal root together, then corrects the root once.
            #[inline(always)]
            fn sqrt(self) -> Self {
                let token = self.1;
                // Within these bounds no intermediate result overflows or loses digits.
                let (small, large) = (Self::splat(token, $small), Self::splat(token, $large));
                let (x, f) = (pulp::cast(self.0), token.avx512f);
                let fits = token.$at_least(self.0, small.0).0;
                let fits = f.$masked_cmp::<_CMP_LE_OQ>(fits, x, pulp::cast(large.0));
                if fits != $all {
                    return self.root();
                }
                let y = Self(pulp::cast(token.avx512f.$rsqrt(pulp::cast(self.0))), token);
                let half = Self::splat(token, 0.5);
                let (mut g, mut h) = (self * y, half * y);
                if $refine {
                    let r = half.less(h, g);
                    (g, h) = (g.mul_add(r, g), h.mul_add(r, h));
                }
                self.less(g, g).mul_add(h, g)
            }

            #[inline(always)]
            fn sums(of: [Self; 8]) -> [f64; 8] {
                let token = of[0].1;
                let mut all = [token.avx512f._mm512_setzero_pd(); 8];
                for (to, lanes) in all.iter_mut().zip(of) {
                    *to = $to_f64(token, pulp::cast(lanes.0));
                }
                add_lanes(token, all)
            }
        });

        impl $name {
            /// self − a·b, rounded once.
            #[inline(always)]
            fn less(self, a: Self, b: Self) -> Self {
                Self(self.1.$minus_product(a.0, b.0, self.0), self.1)
            }

            /// 1 / self to 14 bits.
            #[inline(always)]
            fn estimate(self) -> Self {
                Self(pulp::cast(self.1.avx512f.$rcp(pulp::cast(self.0))), self.1)
            }

            /// Takes a Newton step from an estimate of 1/z.
            #[inline(always)]
            fn refined(self, z: Self) -> Self {
                Self::splat(self.1, 1.0).less(z, self).mul_add(self, self)
            }
        }
    };
}

/// The lane sums of eight registers.
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

/// a₀₁ + a₂₃, a₄₅ + a₆₇, b₀₁ + b₂₃, b₄₅ + b₆₇, where each operand is a pair of lanes.
#[inline(always)]
fn add_pairs(token: Avx512, a: __m512d, b: __m512d) -> __m512d {
    let f = token.avx512f;
    f._mm512_add_pd(f._mm512_shuffle_f64x2::<0x88>(a, b), f._mm512_shuffle_f64x2::<0xdd>(a, b))
}

/// Returns a register of double precision unchanged.
#[inline(always)]
fn whole(_: Avx512, x: __m512d) -> __m512d {
    x
}

/// The sum of the two halves of a register, in double precision.
#[inline(always)]
fn halves(token: Avx512, x: __m512) -> __m512d {
    let [low, high]: [__m256; 2] = pulp::cast(x);
    token.avx512f._mm512_cvtps_pd(token.avx._mm256_add_ps(low, high))
}

register!(
    F64x8, f64, "Eight numbers in double precision.", shr_const_u64x8,
    true, f64::from_bits(511 << 52), f64::from_bits(1534 << 52), u8::MAX,
    equal_f64s greater_than_or_equal_f64s _mm512_mask_cmp_pd_mask negate_mul_add_f64s
    _mm512_rcp14_pd _mm512_rsqrt14_pd whole
);
register!(
    F32x16, f32, "Sixteen numbers in single precision.", shr_const_u32x16,
    false, f32::from_bits(63 << 23), f32::from_bits(190 << 23), u16::MAX,
    equal_f32s greater_than_or_equal_f32s _mm512_mask_cmp_ps_mask negate_mul_add_f32s
    _mm512_rcp14_ps _mm512_rsqrt14_ps halves
);
