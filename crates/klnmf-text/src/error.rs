//! The public error type.

use crate::Dropped;
use klnmf_io::{one_line, quoted};
use std::fmt::Display;
use std::io;
use std::path::Path;

/// Errors of texts. Every message is a single line, whatever the file or its name contains.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or folder cannot be read, or its content is wrong.
    #[error(transparent)]
    File(#[from] klnmf_io::Error),
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
        klnmf_io::Error::Read { path: path.to_owned(), why }.into()
    }

    pub(crate) fn content(path: &Path, what: impl Into<String>) -> Self {
        klnmf_io::Error::Content { path: path.to_owned(), what: what.into() }.into()
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
