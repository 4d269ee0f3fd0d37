//! What several test files need.
#![allow(dead_code, reason = "each test file is its own program and uses its own part")]

use klnmf_text::{Documents, Error, ReadOptions, read_documents};
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// A folder that vanishes at the end, with these files in it.
pub fn folder<C: AsRef<[u8]>>(files: &[(&str, C)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// Reads `content` as a file of the given name; options are (column, id).
pub fn read_with(
    name: &str,
    content: &[u8],
    column: Option<&str>,
    id: Option<&str>,
) -> Result<Documents, Error> {
    let options = ReadOptions { column: column.map(Into::into), id: id.map(Into::into) };
    read_documents(&folder(&[(name, content)]).path().join(name), &options)
}

pub fn read(name: &str, content: impl AsRef<[u8]>) -> Documents {
    read_with(name, content.as_ref(), None, None).unwrap()
}

pub fn read_folder(path: &Path) -> Result<Documents, Error> {
    read_documents(path, &ReadOptions::default())
}

/// The message of the error, without the folder; it must be one line.
pub fn message<V>(result: Result<V, Error>) -> String {
    let Err(error) = result else { panic!("an error was expected") };
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    let end = text.find(": ").unwrap_or(text.len());
    let start = text[..end].rfind('/').map_or(0, |slash| slash + 1);
    text[start..].to_owned()
}

/// The error of reading `content`.
pub fn refused(name: &str, content: impl AsRef<[u8]>) -> String {
    message(read_with(name, content.as_ref(), None, None))
}

/// Documents called "0", "1", … with these texts.
pub fn documents<T: ToString>(texts: &[T]) -> Documents {
    let names = (0..texts.len()).map(|at| at.to_string()).collect();
    Documents { names, texts: texts.iter().map(T::to_string).collect(), notes: Vec::new() }
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The text in UTF-16 with a byte order mark.
pub fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
}
