//! All integration tests of the program, in one program, which compiles and links once.

mod common;

mod bad_input;
mod cells;
mod compare;
mod disk;
mod docs;
mod examples;
mod factorize;
mod info;
mod manners;
mod other_verbs;
mod outputs;
mod rank;
mod real_data;
mod reproduce;
mod reproduce_ended;
mod resume;
mod separate;
mod separate_folder;
mod topics;
mod weather;
