//! Named texts from a folder or a file.

use crate::Error;
use crate::source::Source;
use crate::{folder, records, table};
use klnmf_io::one_line;
use std::fs;
use std::path::Path;

/// Texts, their names, and notes for the user on how they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    /// One name per text: a path, the number of a line or row, or the value of the column
    /// [`ReadOptions::id`].
    pub names: Vec<String>,
    /// The texts.
    pub texts: Vec<String>,
    /// Notes on what was left out or guessed, one line each.
    pub notes: Vec<String>,
}

impl Documents {
    pub(crate) fn push(&mut self, name: String, text: String) {
        self.names.push(name);
        self.texts.push(text);
    }

    /// Adds a note on some files: `one` follows the name of a single file, `many` the number of several.
    pub(crate) fn note(&mut self, files: &[String], one: &str, many: &str) {
        self.notes.extend(match files {
            [] => None,
            [only] => Some(format!("{} {one}", one_line(only))),
            [first, ..] => Some(format!("{} files {many}, the first is {}", files.len(), one_line(first))),
        });
    }

    /// Adds a note on files that were not UTF-8.
    pub(crate) fn note_guessed(&mut self, files: &[String]) {
        let one = "is not UTF-8 and was read as Windows-1252";
        self.note(files, one, "are not UTF-8 and were read as Windows-1252");
    }
}

/// Where the texts are in a table or in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The column or field with the text; by default `text`, or the only column.
    pub column: Option<String>,
    /// The column or field with the names; by default documents are numbered.
    pub id: Option<String>,
}

impl ReadOptions {
    /// An option without effect is a misunderstanding, so it is an error.
    fn check_unused(&self, path: &Path) -> Result<(), Error> {
        for (option, value) in [("--column", &self.column), ("--id", &self.id)] {
            if value.is_some() {
                let what = format!("plain text has no columns: leave {option} out, or give a table or JSON");
                return Err(Error::content(path, what));
            }
        }
        Ok(())
    }
}

/// How a file is split into documents.
enum Format {
    Lines,
    Table { separator: u8 },
    Records,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Error> {
        match klnmf_io::extension(path).as_str() {
            "txt" => Ok(Format::Lines),
            "csv" => Ok(Format::Table { separator: b',' }),
            "tsv" => Ok(Format::Table { separator: b'\t' }),
            "jsonl" | "ndjson" => Ok(Format::Records),
            _ => Err(Error::content(
                path,
                "unknown file format: give a folder with .txt files, or a file whose name ends in .txt (one \
                 document per line), .csv, .tsv, .jsonl or .ndjson, also with .gz after that",
            )),
        }
    }
}

/// Reads documents from a folder or a file; see the [crate documentation](crate) for the formats.
pub fn read_documents(path: &Path, options: &ReadOptions) -> Result<Documents, Error> {
    // A missing file is reported before an unknown extension.
    if fs::metadata(path).map_err(|why| Error::read(path, why))?.is_dir() {
        options.check_unused(path)?;
        return folder::read(path);
    }
    let format = Format::of(path)?;
    let source = Source::read(path)?;
    if source.text.is_empty() {
        return Err(source.wrong("the file is empty"));
    }
    let mut documents = match format {
        Format::Lines => {
            options.check_unused(path)?;
            lines(&source)
        }
        Format::Table { separator } => table::read(&source, separator, options)?,
        Format::Records => records::read(&source, options)?,
    };
    if source.guessed {
        documents.note_guessed(&[klnmf_io::file_name(path)]);
    }
    Ok(documents)
}

/// One document per line. An empty line is an empty document, so that numbers agree with those of an editor.
fn lines(source: &Source) -> Documents {
    let mut documents = Documents::default();
    for (at, line) in source.text.lines().enumerate() {
        documents.push(format!("line {}", at + 1), line.to_owned());
    }
    documents
}
