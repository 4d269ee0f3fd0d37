//! The operations on lanes that fill a register of AVX-512, each an instruction or a few.
//!
//! Lanes of 64 bytes exist only where the processor has AVX-512 (the kernels ask for the level before they use them), so
//! that every instruction here may be used.

use super::{Lanes, single};
use crate::Scalar;
use std::arch::x86_64::*;

/// The same 64 bytes as another type.
#[inline(always)]
fn cast<A: Copy, B: Copy>(a: A) -> B {
    debug_assert_eq!(size_of::<A>(), size_of::<B>());
    // Safety: registers and lanes are plain numbers, and the sizes are the same.
    unsafe { std::mem::transmute_copy(&a) }
}

/// Functions of lanes in the precision that they have.
macro_rules! of_lanes {
    ($($name:ident($($arg:ident),*))*) => {$(
        #[inline(always)]
        pub fn $name<S: Scalar, const L: usize>($($arg: Lanes<S, L>),*) -> Lanes<S, L> {
            if const { single::<S>() } {
                cast(self::single::$name($(cast($arg)),*))
            } else {
                cast(self::double::$name($(cast($arg)),*))
            }
        }
    )*};
}

of_lanes! {
    add(a, b) sub(a, b) mul(a, b) mul_add(a, b, c) where_positive(x, a) over(a, z) sqrt(x) unless_extreme(value, x)
}

#[inline(always)]
pub fn load_some<S: Scalar, const L: usize>(from: &[S]) -> Lanes<S, L> {
    let (mask, at) = (first_bits(from.len()), from.as_ptr());
    // Safety: only what is in the slice is read.
    unsafe {
        if const { single::<S>() } {
            cast(_mm512_mask_loadu_ps(_mm512_set1_ps(1.0), mask, at.cast()))
        } else {
            cast(_mm512_mask_loadu_pd(_mm512_set1_pd(1.0), mask as u8, at.cast()))
        }
    }
}

#[inline(always)]
pub fn store_some<S: Scalar, const L: usize>(lanes: Lanes<S, L>, to: &mut [S]) {
    let (mask, at) = (first_bits(to.len()), to.as_mut_ptr());
    // Safety: only what is in the slice is written.
    unsafe {
        if const { single::<S>() } {
            _mm512_mask_storeu_ps(at.cast(), mask, cast(lanes));
        } else {
            _mm512_mask_storeu_pd(at.cast(), mask as u8, cast(lanes));
        }
    }
}

#[inline(always)]
pub fn first<S: Scalar, const L: usize>(lanes: Lanes<S, L>, live: usize) -> Lanes<S, L> {
    let mask = first_bits(live);
    // Safety: see the top of the file.
    unsafe {
        if const { single::<S>() } {
            cast(_mm512_mask_mov_ps(_mm512_set1_ps(1.0), mask, cast(lanes)))
        } else {
            cast(_mm512_mask_mov_pd(_mm512_set1_pd(1.0), mask as u8, cast(lanes)))
        }
    }
}

#[inline(always)]
fn first_bits(live: usize) -> u16 {
    ((1u32 << live) - 1) as u16
}

#[inline(always)]
pub fn exponent_and_rest<S: Scalar, const L: usize>(x: Lanes<S, L>) -> (Lanes<S, L>, Lanes<S, L>) {
    if const { single::<S>() } {
        let (e, u) = self::single::exponent_and_rest(cast(x));
        (cast(e), cast(u))
    } else {
        let (e, u) = self::double::exponent_and_rest(cast(x));
        (cast(e), cast(u))
    }
}

/// Both precisions differ in names and in how far an estimate must be refined. For safety see the top of the file.
macro_rules! precision {
    ($name:ident, $t:ident, $reg:ident, $refine:expr, $all:expr, $exponent:expr, $bits:expr, $int:ident, $root_half:expr,
     $set:ident $add:ident $sub:ident $mul:ident $fma:ident $fnma:ident $div:ident $sqrt:ident $rcp:ident $rsqrt:ident
     $cmp:ident $masked_cmp:ident $keep:ident $blend:ident
     $set_int:ident $add_int:ident $shift:ident $to_int:ident $from_int:ident) => {
        mod $name {
            use std::arch::x86_64::*;

            /// Within these bounds no intermediate result overflows or loses digits.
            const SMALL: $t = $t::from_bits(($exponent / 2) << $bits);
            const LARGE: $t = $t::from_bits(($exponent + $exponent / 2) << $bits);

            #[inline(always)]
            pub fn add(a: $reg, b: $reg) -> $reg {
                unsafe { $add(a, b) }
            }

            #[inline(always)]
            pub fn sub(a: $reg, b: $reg) -> $reg {
                unsafe { $sub(a, b) }
            }

            #[inline(always)]
            pub fn mul(a: $reg, b: $reg) -> $reg {
                unsafe { $mul(a, b) }
            }

            #[inline(always)]
            pub fn mul_add(a: $reg, b: $reg, c: $reg) -> $reg {
                unsafe { $fma(a, b, c) }
            }

            #[inline(always)]
            pub fn where_positive(x: $reg, a: $reg) -> $reg {
                unsafe { $keep($cmp::<_CMP_GT_OQ>(a, $set(0.0)), x) }
            }

            #[inline(always)]
            pub fn over(a: $reg, z: $reg) -> $reg {
                unsafe {
                    let quotient = divide(a, z);
                    // What the refinement cannot do, a z of 0 or ∞ first of all, ends as no number.
                    if $cmp::<_CMP_UNORD_Q>(quotient, quotient) == 0 {
                        return quotient;
                    }
                    where_positive($div(a, z), a)
                }
            }

            #[inline(always)]
            fn divide(a: $reg, z: $reg) -> $reg {
                unsafe {
                    let mut y = $rcp(z);
                    if $refine {
                        y = $fma($fnma(z, y, $set(1.0)), y, y);
                    }
                    let q = $mul(a, y);
                    $fma($fnma(z, q, a), y, q)
                }
            }

            /// Root and half the reciprocal root refined together, then one correction of the root.
            #[inline(always)]
            pub fn sqrt(x: $reg) -> $reg {
                unsafe {
                    let fits = $cmp::<_CMP_GE_OQ>(x, $set(SMALL));
                    let fits = $masked_cmp::<_CMP_LE_OQ>(fits, x, $set(LARGE));
                    if fits != $all {
                        return $sqrt(x);
                    }
                    let half = $set(0.5);
                    let y = $rsqrt(x);
                    let (mut g, mut h) = ($mul(x, y), $mul(half, y));
                    if $refine {
                        let r = $fnma(h, g, half);
                        (g, h) = ($fma(g, r, g), $fma(h, r, h));
                    }
                    $fma($fnma(g, g, x), h, g)
                }
            }

            /// As for single numbers, see `Scalar`.
            #[inline(always)]
            pub fn exponent_and_rest(x: $reg) -> ($reg, $reg) {
                const TWO_TO_BITS: $t = (1u64 << $bits) as $t;
                const MANTISSA: $int = (1 << $bits) - 1;
                unsafe {
                    let one = $t::to_bits(1.0);
                    let bits = $add_int($to_int(x), $set_int((one - $root_half) as $int));
                    let exponent = _mm512_or_si512($shift::<$bits>(bits), $to_int($set(TWO_TO_BITS)));
                    let e = $sub($from_int(exponent), $set(TWO_TO_BITS + $exponent as $t));
                    let rest = _mm512_and_si512(bits, $set_int(MANTISSA));
                    let m = $from_int($add_int(rest, $set_int($root_half)));
                    (e, $sub(m, $set(1.0)))
                }
            }

            #[inline(always)]
            pub fn unless_extreme(value: $reg, x: $reg) -> $reg {
                unsafe {
                    let value = $blend($cmp::<_CMP_GT_OQ>(x, $set(0.0)), $set($t::NEG_INFINITY), value);
                    $blend($cmp::<_CMP_LT_OQ>(x, $set($t::INFINITY)), x, value)
                }
            }
        }
    };
}

precision!(
    double, f64, __m512d, true, 0xff, 1023, 52, i64, 0x3fe6_a09e_667f_3bcd,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_fmadd_pd _mm512_fnmadd_pd _mm512_div_pd _mm512_sqrt_pd
    _mm512_rcp14_pd _mm512_rsqrt14_pd _mm512_cmp_pd_mask _mm512_mask_cmp_pd_mask _mm512_maskz_mov_pd _mm512_mask_blend_pd
    _mm512_set1_epi64 _mm512_add_epi64 _mm512_srli_epi64 _mm512_castpd_si512 _mm512_castsi512_pd
);
precision!(
    single, f32, __m512, false, 0xffff, 127, 23, i32, 0x3f35_04f3,
    _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_fmadd_ps _mm512_fnmadd_ps _mm512_div_ps _mm512_sqrt_ps
    _mm512_rcp14_ps _mm512_rsqrt14_ps _mm512_cmp_ps_mask _mm512_mask_cmp_ps_mask _mm512_maskz_mov_ps _mm512_mask_blend_ps
    _mm512_set1_epi32 _mm512_add_epi32 _mm512_srli_epi32 _mm512_castps_si512 _mm512_castsi512_ps
);
