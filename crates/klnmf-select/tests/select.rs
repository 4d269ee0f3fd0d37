//! Tests of the crate, in one program.

mod common;
mod consensus;
mod fits;
mod rank;
mod stability;
mod thinning;
