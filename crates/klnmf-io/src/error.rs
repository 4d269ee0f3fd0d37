//! The public error type, and the faults of readers before the file name is known.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Errors of files. Every message is a single line, whatever the file or its name contains.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system could not read the file.
    #[error("cannot read {}: {}", name(path), one_line(why))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's message.
        why: io::Error,
    },
    /// The operating system could not write the file. An older file of that name is untouched.
    #[error("cannot write {}: {}", name(path), one_line(why))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's message.
        why: io::Error,
    },
    /// The content of the file as a whole is wrong.
    #[error("{}: {}", name(path), one_line(what))]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// A line of a text file is wrong.
    #[error("{}, line {line}: {}", name(path), one_line(what))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1 as editors do.
        line: u64,
        /// What is wrong and what to do.
        what: String,
    },
    /// A cell of a text file is wrong.
    #[error("{}, line {line}, column {column}: {}", name(path), one_line(what))]
    Cell {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1 as editors do.
        line: u64,
        /// The cell within the line, counted from 1; row names are column 1.
        column: u64,
        /// What is wrong and what to do.
        what: String,
    },
    /// The file was read, but the core library rejects the matrix.
    #[error("{}: {}", name(path), one_line(why))]
    Matrix {
        /// The file.
        path: PathBuf,
        /// The core library's error.
        why: klnmf::Error,
    },
}

impl Error {
    /// The core library's error about the matrix in `path`.
    pub fn matrix(path: impl AsRef<Path>, why: klnmf::Error) -> Self {
        Error::Matrix { path: path.as_ref().to_owned(), why }
    }
}

/// An error whose file is not yet named: readers return it, the public functions add the path.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    Content(String),
    Line { line: u64, what: String },
    Cell { line: u64, column: u64, what: String },
    Matrix(klnmf::Error),
}

impl Fault {
    pub(crate) fn content(what: impl Into<String>) -> Self {
        Fault::Content(what.into())
    }

    pub(crate) fn line(line: u64, what: impl Into<String>) -> Self {
        Fault::Line { line, what: what.into() }
    }

    /// The fault in a piece of a text that so many lines precede.
    pub(crate) fn below(self, lines: u64) -> Self {
        match self {
            Fault::Line { line, what } => Fault::Line { line: line + lines, what },
            Fault::Cell { line, column, what } => Fault::Cell { line: line + lines, column, what },
            other => other,
        }
    }

    /// Adds the name of one array of an archive to the fault.
    pub(crate) fn within(self, array: &str) -> Self {
        match self {
            Fault::Content(what) => Fault::Content(format!("array {array}: {what}")),
            Fault::Matrix(why) => Fault::Content(format!("array {array}: {why}")),
            other => other,
        }
    }

    /// The public error about the file that was read.
    pub(crate) fn at(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            Fault::Io(why) => Error::Read { path, why },
            Fault::Content(what) => Error::Content { path, what },
            Fault::Line { line, what } => Error::Line { path, line, what },
            Fault::Cell { line, column, what } => Error::Cell { path, line, column, what },
            Fault::Matrix(why) => Error::Matrix { path, why },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(why: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match why.kind() {
            // These come from the decompressors and from reads past the end, not from the system.
            UnexpectedEof => Fault::content("the file is cut short: copy it again or write it again"),
            InvalidData | InvalidInput => {
                Fault::Content(format!("the file is damaged ({why}): copy it again or write it again"))
            }
            _ => Fault::Io(why),
        }
    }
}

impl From<zip::result::ZipError> for Fault {
    fn from(why: zip::result::ZipError) -> Self {
        match why {
            zip::result::ZipError::Io(why) => why.into(),
            why => Fault::Content(format!("{why}: copy the file again or write it again with numpy.savez")),
        }
    }
}

impl From<klnmf::Error> for Fault {
    fn from(why: klnmf::Error) -> Self {
        Fault::Matrix(why)
    }
}

/// A piece of a file in quotes, shortened for a message.
pub fn quoted(text: impl AsRef<[u8]>) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(text.as_ref());
    match text.char_indices().nth(LONGEST) {
        None => format!("\"{text}\""),
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
    }
}

fn name(path: &Path) -> String {
    one_line(path.display())
}

/// The text with line breaks and control characters escaped.
pub fn one_line(text: impl Display) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut line = String::new();
    for c in text.to_string().chars() {
        if breaks(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}
