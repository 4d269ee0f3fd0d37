//! The public error type.

/// Errors of sounds. Every message is a single line that says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written, or its content is wrong.
    #[error(transparent)]
    File(#[from] klnmf_io::Error),
    /// A setting outside its range.
    #[error("{name} = {value}: {must}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        must: String,
    },
    /// Sizes that do not match.
    #[error("wrong shape: {0}")]
    Shape(String),
    /// A factor with a negative, NaN or infinite entry.
    #[error(transparent)]
    Factor(#[from] klnmf::Error),
    /// A source whose recording cannot be learned from.
    #[error("source {name:?}: {why}")]
    Source {
        /// Its name.
        name: String,
        /// What is wrong with the recording and what to do.
        why: String,
    },
    /// A signal that cannot be used.
    #[error("{name} {number} (counting from 0) {why}")]
    Signal {
        /// `reference` or `estimate`, `channel`.
        name: &'static str,
        /// Its number.
        number: usize,
        /// What is wrong with it and what to do.
        why: String,
    },
}

impl Error {
    pub(crate) fn setting(name: &'static str, value: impl ToString, must: impl Into<String>) -> Self {
        Error::Setting { name, value: value.to_string(), must: must.into() }
    }

    pub(crate) fn signal(name: &'static str, number: usize, why: impl Into<String>) -> Self {
        Error::Signal { name, number, why: why.into() }
    }
}
