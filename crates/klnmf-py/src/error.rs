//! The library's errors as Python's, with the same text.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};

/// What is wrong with numbers or settings is a `ValueError`.
pub fn from_library(error: klnmf::Error) -> PyErr {
    let text = error.to_string();
    match error {
        // As for `init` and `update`, which the library does not know by name.
        klnmf::Error::UnknownSolver { name } => {
            let names = klnmf::Solver::ALL.map(klnmf::Solver::name).join(", ");
            setting("solver", name, &format!("choose {names}"))
        }
        klnmf::Error::TooLarge { .. } => PyMemoryError::new_err(text),
        klnmf::Error::Threads { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The same for sounds.
pub fn from_audio(error: klnmf_audio::Error) -> PyErr {
    match error {
        klnmf_audio::Error::Factor(error) => from_library(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// A setting that Python got wrong before the library saw it, in the library's words.
pub fn setting(name: &str, value: impl std::fmt::Display, must: &str) -> PyErr {
    PyValueError::new_err(format!("{name} = {value}: {must}"))
}
