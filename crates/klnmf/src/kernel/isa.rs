//! The instruction sets that the kernel is compiled for, and the choice between them at run time.

use super::lanes::Lanes;
use crate::error::require;
use crate::{Error, Result, Scalar};
#[cfg(target_arch = "x86_64")]
pub use pulp::x86::{V3 as Avx2, V4 as Avx512};
use std::env;
use std::sync::OnceLock;

/// The environment variable that forces a level.
const VARIABLE: &str = "KLNMF_LEVEL";

/// The level of this process, once it is in use.
static CHOSEN: OnceLock<Isa> = OnceLock::new();

/// Work on numbers `S`, generic over the register width.
///
/// `run` consumes the work, because a closure that can be called again gets a wrapper, and a wrapper that is
/// not inlined is compiled for the baseline processor.
pub trait Wide<S: Scalar> {
    /// The result.
    type Output;

    /// Does the work with registers `L`. Must be `#[inline(always)]`; see [`simd`].
    fn run<L: Lanes<S>>(self, token: L::Token) -> Self::Output;
}

/// An instruction set of this processor. The tokens of the x86 levels exist only if the processor has them.
#[derive(Clone, Copy)]
pub enum Isa {
    /// Vectors of 16 bytes, available on every processor.
    Plain,
    /// AVX2 and FMA, vectors of 32 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512 (F, BW, CD, DQ, VL), vectors of 64 bytes.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Isa {
    /// Bytes of the vectors of AVX2.
    pub const NARROW: usize = 32;

    /// The level in use: the one in `KLNMF_LEVEL`, or the widest if that is not a level of this processor.
    pub fn get() -> Self {
        *CHOSEN.get_or_init(|| Self::chosen().unwrap_or_else(|_| Self::widest()))
    }

    /// The level in `KLNMF_LEVEL`, or the widest if it is not set.
    ///
    /// Every call that starts threads checks this first, so that a wrong value is an error and not a silent
    /// change of speed.
    pub fn chosen() -> Result<Self> {
        match env::var_os(VARIABLE) {
            None => Ok(Self::widest()),
            Some(name) => Self::named(&name.to_string_lossy()),
        }
    }

    fn named(name: &str) -> Result<Self> {
        let error = |must| Error::Setting { name: VARIABLE, value: name.to_owned(), must };
        if !["plain", "avx2", "avx512"].contains(&name) {
            return Err(error("must be plain, avx2 or avx512"));
        }
        let found = Self::all().into_iter().find(|isa| isa.name() == name);
        found.ok_or_else(|| error("this processor lacks these instructions; unset it to use the best ones"))
    }

    /// All levels of this processor, narrowest first.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Isa::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx2::try_new().map(Isa::Avx2));
            all.extend(Avx512::try_new().map(Isa::Avx512));
        }
        all
    }

    fn widest() -> Self {
        Self::all().pop().unwrap_or(Isa::Plain)
    }

    /// The name of the level in `KLNMF_LEVEL`.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Plain => "plain",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => "avx512",
        }
    }

    /// Bytes of a vector.
    pub fn vector_bytes(self) -> usize {
        match self {
            Isa::Plain => 16,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => 32,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => 64,
        }
    }

    /// Runs work compiled for this level, with the registers of this level.
    #[inline(always)]
    pub fn run_wide<S: Scalar, W: Wide<S>>(self, work: W) -> W::Output {
        match self {
            Isa::Plain => work.run::<S::Wide128>(()),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => token.vectorize(
                #[inline(always)]
                || work.run::<S::Wide256>(token),
            ),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => token.vectorize(
                #[inline(always)]
                || work.run::<S::Wide512>(token),
            ),
        }
    }

    /// [`run_wide`](Self::run_wide) with registers of at most [`NARROW`](Self::NARROW) bytes.
    #[inline(always)]
    pub fn run_narrow<S: Scalar, W: Wide<S>>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => Isa::Avx2(*token).run_wide(work),
            level => level.run_wide(work),
        }
    }
}

/// Runs `f` compiled for the level in use. `f` must be `#[inline(always)]`, because only inlined code is
/// compiled for the level. It must not use `mul_add`, which is a slow call without the instruction.
#[inline(always)]
pub(crate) fn simd<R>(f: impl FnOnce() -> R) -> R {
    match Isa::get() {
        Isa::Plain => f(),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(token) => token.vectorize(f),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(token) => token.vectorize(f),
    }
}

/// The instruction level in use: `plain`, `avx2` or `avx512`. `KLNMF_LEVEL` forces one. A level that is
/// unknown or missing on this processor is an error here and in every call that works on V.
pub fn instruction_level() -> Result<&'static str> {
    Isa::chosen().map(|chosen| CHOSEN.get().copied().unwrap_or(chosen).name())
}

/// Sets the instruction level of this process, so that several processes compute the same bits. It cannot
/// change once it is in use.
pub fn set_instruction_level(name: &str) -> Result<()> {
    let wanted = Isa::named(name)?;
    let must =
        "this process already uses another instruction level: restart it with KLNMF_LEVEL set to this one";
    require(CHOSEN.get_or_init(|| wanted).name() == wanted.name(), VARIABLE, name, must)
}

/// The instruction levels of this processor.
pub fn instruction_levels() -> Vec<&'static str> {
    Isa::all().into_iter().map(Isa::name).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/isa.rs"]
mod tests;
