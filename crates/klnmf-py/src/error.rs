//! The library's errors as Python exceptions, with the same text.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};

/// Errors about numbers or settings become a `ValueError`.
pub fn from_library(error: klnmf::Error) -> PyErr {
    let text = error.to_string();
    match error {
        // Like `init` and `update`, whose names the library does not know.
        klnmf::Error::UnknownSolver(name) => {
            let names = klnmf::Solver::ALL.map(klnmf::Solver::name).join(", ");
            setting("solver", name, &format!("choose {names}"))
        }
        klnmf::Error::TooLarge { .. } => PyMemoryError::new_err(text),
        klnmf::Error::Threads { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The same for errors about sounds.
pub fn from_audio(error: klnmf_audio::Error) -> PyErr {
    match error {
        klnmf_audio::Error::Factor(error) => from_library(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// An error about a setting that is checked here, in the library's words.
pub fn setting(name: &str, value: impl std::fmt::Display, must: &str) -> PyErr {
    PyValueError::new_err(format!("{name} = {value}: {must}"))
}
