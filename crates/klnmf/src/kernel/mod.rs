//! The arithmetic of the passes over the data: products, quotients, roots and logarithms on registers.
//!
//! All such code has the same form. Work is a value that implements [`Wide`]: a function that is generic over
//! the register type [`Lanes`]. [`Isa::run_wide`] selects the register type of this processor and calls the
//! work inside a function that is compiled for its instruction set. Only code that is inlined into that
//! function is compiled for the instruction set, so everything from `Wide::run` down to the instructions is
//! `#[inline(always)]`.
//!
//! A register can be created only with the token of its instruction set, and a token only after checking the
//! processor. Arithmetic on registers is therefore safe. Simple loops over numbers, which the compiler
//! vectorises itself, use [`simd`] and need no registers.

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod isa;
mod lanes;
mod loops;
mod map;
pub(crate) mod newton_pass;
mod packed;
mod plain;
pub(crate) mod quadratic;
mod rows;
pub(crate) mod side_by_side;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use aligned::Aligned;
pub(crate) use isa::simd;
#[cfg(target_arch = "x86_64")]
pub use isa::{Avx2, Avx512};
pub use isa::{Isa, instruction_level, instruction_levels, set_instruction_level};
pub use lanes::Lanes;
pub(crate) use loops::{
    add_columns, convert, convert_rows, dot, ln, log_sum, multiply, multiply_transposed, weighted_log,
};
pub(crate) use map::{DualStep, Given, Keep, LogSums, Ratio, TileMap};
pub use packed::Packed;
pub use plain::{Array, FUSED};
pub use rows::SparseRows;
#[cfg(target_arch = "x86_64")]
pub use {
    avx512::{F32x16, F64x8},
    x86::{F32x8, F64x4},
};
