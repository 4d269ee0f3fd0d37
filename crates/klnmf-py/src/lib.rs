//! The native module of the Python package: conversions only.
//!
//! * `data` lends numpy arrays and scipy.sparse matrices to the library without copying, and returns its
//!   factors.
//! * `work` runs the library on its own thread without Python's lock, and handles callbacks and Ctrl-C.
//! * `model`, `topics` and `sound` wrap the functions of the library, one by one.
//! * `select` compares many fits.
//! * `pieces` and `cluster` serve factorisations on several processes: what a worker computes, and the run
//!   that decides.
//! * `file` reads and writes models through `klnmf-io`.
//! * `online` holds what was learned from a stream.
//! * `decomposer` holds the dictionaries that are kept between calls; nothing else here owns threads.
//!
//! Defaults, names of results and everything that can be written in Python are in `python/klnmf`.

mod cluster;
mod data;
mod decomposer;
mod error;
mod file;
mod model;
mod online;
mod pieces;
mod select;
mod sound;
mod topics;
mod work;

use pyo3::prelude::*;

/// The native module of the package `klnmf`.
#[pymodule]
mod _klnmf {
    #[pymodule_export]
    use crate::cluster::{State, factorize_on, fingerprint, hash_text};
    #[pymodule_export]
    use crate::decomposer::{Decomposer, TopicDecomposer};
    #[pymodule_export]
    use crate::file::{instruction_level, read_model, write_file, write_model};
    #[pymodule_export]
    use crate::model::{certificate, factorize, grow, init, memory, solvers};
    #[pymodule_export]
    use crate::online::Online;
    #[pymodule_export]
    use crate::pieces::{
        Piece, carry_on, convert, folder, read_lines, read_matrix, row_sums, set_instruction_level,
    };
    #[pymodule_export]
    use crate::select::{MissingFits, consensus, make_fit, match_parts, rank};
    #[pymodule_export]
    use crate::sound::{learn, spectrogram, wiener, window_for};
    #[pymodule_export]
    use crate::topics::{topic_weights, topics};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn start(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
