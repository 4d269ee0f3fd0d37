//! All integration tests of the text crate, in one program, which compiles and links once.

mod common;

mod corpus;
mod files;
mod folders;
mod hostile;
mod measures;
mod words;
