//! All integration tests of the sound crate, in one program, which compiles and links once.

mod common;

mod ensemble;
mod evaluate;
mod hostile;
mod pieces;
mod real;
mod resample;
mod separator;
mod sound;
mod stft;
mod wiener;
