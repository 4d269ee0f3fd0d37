//! The native half of the Python package: conversions, and nothing else.
//!
//! * `data` lends numpy arrays and scipy.sparse matrices to the library where they lie, and hands its factors back.
//! * `work` runs the library on a thread of its own while Python's lock is free, hears callbacks and Ctrl-C.
//! * `model`, `topics` and `sound` are the functions, one for one those of the library.
//! * `decomposer` has the dictionaries that are kept between calls, the only thing here that owns threads.
//!
//! Defaults, names of results and everything that Python can say as well live in `python/klnmf`.

mod data;
mod decomposer;
mod error;
mod model;
mod sound;
mod topics;
mod work;

use pyo3::prelude::*;

/// The native half of the package `klnmf`.
#[pymodule]
mod _klnmf {
    #[pymodule_export]
    use crate::decomposer::{Decomposer, TopicDecomposer};
    #[pymodule_export]
    use crate::model::{certificate, factorize, grow, init, memory, solvers};
    #[pymodule_export]
    use crate::sound::{spectrogram, wiener, window_for};
    #[pymodule_export]
    use crate::topics::{topic_weights, topics};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn start(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
