//! The text of one file, decompressed and decoded.

use crate::Error;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use flate2::bufread::MultiGzDecoder;
use std::fs;
use std::io::Read;
use std::path::Path;

const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: String,
    /// Whether the file was not UTF-8 and was read as Windows-1252.
    pub(crate) guessed: bool,
}

impl<'a> Source<'a> {
    /// Reads a file; `None` if it is binary.
    pub(crate) fn try_read(path: &'a Path) -> Result<Option<Self>, Error> {
        Ok(decoded(content(path)?).map(|(text, guessed)| Self { path, text, guessed }))
    }

    /// Reads a file that must be text.
    pub(crate) fn read(path: &'a Path) -> Result<Self, Error> {
        Self::try_read(path)?
            .ok_or_else(|| Error::content(path, "this is binary data, not text: save it as text in UTF-8"))
    }

    /// The error that this file as a whole is wrong.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::content(self.path, what)
    }

    /// The error that a line, counted from 1, is wrong.
    pub(crate) fn wrong_line(&self, line: usize, what: impl Into<String>) -> Error {
        klnmf_io::Error::Line { path: self.path.to_owned(), line: line as u64, what: what.into() }.into()
    }
}

/// The bytes of the file, decompressed if they are gzipped.
fn content(path: &Path) -> Result<Vec<u8>, Error> {
    let raw = fs::read(path).map_err(|why| Error::read(path, why))?;
    if !raw.starts_with(&GZIP) {
        return Ok(raw);
    }
    let mut content = Vec::new();
    match MultiGzDecoder::new(raw.as_slice()).read_to_end(&mut content) {
        Ok(_) => Ok(content),
        Err(why) => {
            Err(Error::content(path, format!("the gzip data is damaged ({why}): copy the file again")))
        }
    }
}

/// The text, and whether its encoding was guessed; `None` for binary data. A zero byte means binary data,
/// unless a byte order mark says that characters have two bytes.
fn decoded(bytes: Vec<u8>) -> Option<(String, bool)> {
    let mark = Encoding::for_bom(&bytes);
    let wide = mark.is_some_and(|(encoding, _)| encoding != UTF_8);
    if !wide && bytes.contains(&0) {
        return None;
    }
    if let Some((encoding, length)) = mark {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[length..]);
        return Some((text.into_owned(), false));
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        // Every byte is a character in Windows-1252, so this cannot fail.
        Err(not_utf8) => {
            let (text, _) = WINDOWS_1252.decode_without_bom_handling(not_utf8.as_bytes());
            (text.into_owned(), true)
        }
    })
}
