//! The library's errors as Python exceptions, with the same text.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};

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

/// The same for errors of files: an `OSError` if the system refused, else a `ValueError`.
pub fn from_io(error: klnmf_io::Error) -> PyErr {
    let text = error.to_string();
    match error {
        klnmf_io::Error::Read { why, .. } if why.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        klnmf_io::Error::Write { why, .. } if why.kind() == std::io::ErrorKind::AlreadyExists => {
            PyFileExistsError::new_err(text)
        }
        klnmf_io::Error::Read { .. } | klnmf_io::Error::Write { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// An error about a setting that is checked here, in the library's words.
pub fn setting(name: &str, value: impl std::fmt::Display, must: &str) -> PyErr {
    PyValueError::new_err(format!("{name} = {value}: {must}"))
}
