//! The instruction set that the kernels use, found once at run time.

use crate::lanes::single;
use std::sync::OnceLock;

/// Work on numbers `S` that is written once for registers of any width.
///
/// It is used up when it runs: a closure that could be called again would get a wrapper that need not be inlined, and
/// would be compiled for a plain processor then.
pub trait Wide<S> {
    /// What comes of it.
    type Output;

    /// With `L` numbers in a register; must be `#[inline(always)]`, see [`Level::run`].
    fn run<const L: usize>(self) -> Self::Output;
}

/// The widest instruction set of this processor that the kernels are compiled for.
#[derive(Clone, Copy)]
pub enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    /// 16-byte vectors, which every processor has.
    Plain,
}

impl Level {
    /// The level of this processor.
    pub fn get() -> Self {
        static LEVEL: OnceLock<Level> = OnceLock::new();
        *LEVEL.get_or_init(Self::detect)
    }

    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = pulp::x86::V4::try_new() {
                return Level::Avx512(simd);
            }
            if let Some(simd) = pulp::x86::V3::try_new() {
                return Level::Avx2(simd);
            }
        }
        Level::Plain
    }

    /// Every level that this processor can run, for tests.
    #[cfg(test)]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Level::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(pulp::x86::V3::try_new().map(Level::Avx2));
            all.extend(pulp::x86::V4::try_new().map(Level::Avx512));
        }
        all
    }

    /// Bytes of a vector.
    pub fn vector_bytes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(_) => 64,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => 32,
            Level::Plain => 16,
        }
    }

    /// Runs `f` compiled for this level. `f` must be `#[inline(always)]`: only what is inlined here is compiled for it, and a
    /// fused multiply-add left outside becomes a call.
    #[inline(always)]
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.vectorize(f),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(simd) => simd.vectorize(f),
            Level::Plain => f(),
        }
    }

    /// Runs work compiled for this level, with its registers full of numbers.
    #[inline(always)]
    pub fn run_wide<S, W: Wide<S>>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.vectorize(
                #[inline(always)]
                || if const { single::<S>() } { work.run::<16>() } else { work.run::<8>() },
            ),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(simd) => simd.vectorize(
                #[inline(always)]
                || if const { single::<S>() } { work.run::<8>() } else { work.run::<4>() },
            ),
            // Not the width of a wider register, see `Lanes`.
            Level::Plain => {
                if const { single::<S>() } {
                    work.run::<4>()
                } else {
                    work.run::<2>()
                }
            }
        }
    }
}
