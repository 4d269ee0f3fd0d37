//! The public error type.

use crate::Dropped;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Errors of texts. Every message is a single line, whatever the file or its name contains.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system could not read the file or folder.
    #[error("cannot read {}: {}", one_line(path.display()), one_line(why))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        why: io::Error,
    },
    /// The content of the file or folder as a whole is wrong.
    #[error("{}: {}", one_line(path.display()), one_line(what))]
    Content {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong and what to do.
        what: String,
    },
    /// A line of a file is wrong.
    #[error("{}, line {line}: {}", one_line(path.display()), one_line(what))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1 as editors do.
        line: usize,
        /// What is wrong and what to do.
        what: String,
    },
    /// An option has an invalid value.
    #[error("{}: {}", one_line(quoted(value)), one_line(must))]
    Setting {
        /// The value.
        value: String,
        /// The requirement.
        must: String,
    },
    /// No word is left to be counted.
    #[error("no words are left in {documents} documents: {}", reasons(dropped))]
    NoWords {
        /// Number of documents.
        documents: usize,
        /// Number of words that each rule has removed.
        dropped: Dropped,
    },
    /// The core library rejects the counts.
    #[error(transparent)]
    Matrix(#[from] klnmf::Error),
}

impl Error {
    pub(crate) fn read(path: &Path, why: io::Error) -> Self {
        Error::Read { path: path.to_owned(), why }
    }

    pub(crate) fn content(path: &Path, what: impl Into<String>) -> Self {
        Error::Content { path: path.to_owned(), what: what.into() }
    }

    pub(crate) fn setting(value: impl Display, must: impl Into<String>) -> Self {
        Error::Setting { value: value.to_string(), must: must.into() }
    }
}

/// The words that were left out, with the option that would keep them.
fn reasons(dropped: &Dropped) -> String {
    let rules = [
        (dropped.stop_words, "stop words (choose other --stop-words)"),
        (dropped.rare, "in too few documents (lower --min-df)"),
        (dropped.common, "in too many documents (raise --max-df)"),
        (dropped.surplus, "beyond the number asked for (raise --max-words)"),
    ];
    let fell = rules.iter().filter(|(words, _)| *words > 0).map(|(words, rule)| format!("{words} {rule}"));
    let fell: Vec<String> = fell.collect();
    if fell.is_empty() { "the texts have none".into() } else { format!("left out were {}", fell.join(", ")) }
}

/// A piece of the input in quotes, shortened for a message.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        None => format!("\"{text}\""),
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
    }
}

/// The message that a named part is missing, with the parts that exist and the option to choose one.
pub(crate) fn missing<'a>(
    part: &str,
    name: &str,
    present: impl Iterator<Item = &'a str>,
    option: &str,
) -> String {
    const MOST: usize = 20;
    let mut others: Vec<String> = present.take(MOST + 1).map(quoted).collect();
    if others.is_empty() {
        return format!("there is no {part} {}, nor any other", quoted(name));
    }
    if others.len() > MOST {
        others[MOST] = "…".into();
    }
    format!("there is no {part} {} but {}: choose with {option} NAME", quoted(name), others.join(", "))
}

/// The text with line breaks and control characters escaped.
pub(crate) fn one_line(text: impl Display) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut line = String::new();
    for c in text.to_string().chars() {
        if breaks(c) { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}
