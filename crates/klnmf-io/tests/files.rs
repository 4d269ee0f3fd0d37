//! All integration tests of the readers and writers, in one program, which compiles and links once.

mod common;

mod checkpoint;
mod convert;
mod hash;
mod hdf5;
mod hostile;
mod model;
mod mtx;
mod npy;
mod npz;
mod output;
mod pieces;
mod real;
mod text;
