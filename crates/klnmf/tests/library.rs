//! All integration tests of the library, in one program. Every further program would compile and link the
//! generic code again.

mod cluster;
mod common;
mod convex;
mod defects;
mod edges;
mod extremes;
mod fixed;
mod golden;
mod identities;
mod levels;
mod matching;
mod mixed;
mod online;
mod oracle;
mod pieces;
mod properties;
mod resume;
mod solvers;
mod stages;
mod starts;
mod stopping;
mod stream;
mod streamed;
mod topics;
