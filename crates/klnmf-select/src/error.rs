//! Errors.

use crate::Job;

/// Why fits could not be made, kept or compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The data or the settings.
    #[error(transparent)]
    Library(#[from] klnmf::Error),
    /// A file.
    #[error(transparent)]
    File(#[from] klnmf_io::Error),
    /// Something else, in one line.
    #[error("{0}")]
    Other(String),
    /// Other processes have not yet made their fits.
    #[error("{} of {all} fits are missing: other workers make them", missing.len())]
    Incomplete {
        /// The fits that are missing, the longest first.
        missing: Vec<Job>,
        /// Fits in all.
        all: usize,
    },
    /// The caller asked to stop. The fits so far are kept.
    #[error("stopped after {done} of {all} fits")]
    Stopped {
        /// Fits that are done.
        done: usize,
        /// Fits in all.
        all: usize,
    },
}
