//! Registers as arrays, for processors without AVX2. The compiler turns these loops over 16 bytes into SSE2
//! or NEON code.

use super::lanes::Lanes;
use crate::Scalar;
use std::ops::{Add, Div, Mul, Sub};

/// Whether every processor of this target has a fused multiply-add. Otherwise `mul_add` is a slow call.
pub const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// `N` numbers; `F` says whether `mul_add` is fused.
#[derive(Clone, Copy)]
pub struct Array<S, const N: usize, const F: bool>(pub [S; N]);

impl<S: Scalar, const N: usize, const F: bool> Array<S, N, F> {
    /// Creates numbers from a function of the lane. This level needs no special instructions, so closures
    /// need not be marked for inlining.
    #[inline(always)]
    fn each(f: impl Fn(usize) -> S) -> Self {
        let mut all = [S::ZERO; N];
        for (l, x) in all.iter_mut().enumerate() {
            *x = f(l);
        }
        Self(all)
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(S, S) -> S) -> Self {
        Self::each(|l| f(self.0[l], other.0[l]))
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident) => {
        impl<S: Scalar, const N: usize, const F: bool> $trait for Array<S, N, F> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                self.zip(other, S::$name)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl<S: Scalar, const N: usize, const F: bool> Lanes<S> for Array<S, N, F> {
    type Token = ();
    const N: usize = N;

    #[inline(always)]
    fn token(self) {}

    #[inline(always)]
    fn splat((): (), x: S) -> Self {
        Self([x; N])
    }

    #[inline(always)]
    fn load_or((): (), from: &[S], at: usize, live: usize, rest: S) -> Self {
        let from = &from[at..at + live];
        if let Some(all) = from.first_chunk() {
            return Self(*all);
        }
        let mut all = [rest; N];
        all[..live].copy_from_slice(from);
        Self(all)
    }

    #[inline(always)]
    unsafe fn read((): (), from: *const S) -> Self {
        // Safety: the caller has checked it.
        Self(unsafe { from.cast::<[S; N]>().read_unaligned() })
    }

    #[inline(always)]
    fn store(self, to: &mut [S], at: usize, live: usize) {
        to[at..at + live].copy_from_slice(&self.0[..live]);
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::each(|l| if F { self.0[l].mul_add(a.0[l], b.0[l]) } else { self.0[l] * a.0[l] + b.0[l] })
    }

    #[inline(always)]
    fn if_positive(self, a: Self, other: Self) -> Self {
        Self::each(|l| if a.0[l] > S::ZERO { self.0[l] } else { other.0[l] })
    }

    #[inline(always)]
    fn root(self) -> Self {
        Self::each(|l| self.0[l].sqrt())
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn exponent_and_rest(self) -> (Self, Self) {
        let (mut e, mut rest) = (self, self);
        for l in 0..N {
            (e.0[l], rest.0[l]) = self.0[l].exponent_and_rest();
        }
        (e, rest)
    }

    #[inline(always)]
    fn is_normal_where(self, b: Self) -> bool {
        let normal = |x: S| (x >= S::TINY * S::EPSILON) & (x < S::INFINITY);
        (0..N).fold(true, |all, l| all & (normal(self.0[l]) | (b.0[l] <= S::ZERO)))
    }
}
