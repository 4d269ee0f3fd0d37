//! Writing archives of arrays that numpy opens. The same arrays always give the same bytes.

use crate::error::Error;
use crate::npy;
use crate::output::{Target, atomically};
use klnmf::{Mat, Scalar};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// An array of names may have this many letters of padding, or three times its own letters if that is more.
const PADDING: usize = 1 << 22;

/// An archive that is being written.
pub(crate) struct Zip<'a, 'f> {
    zip: ZipWriter<&'a mut Patient<&'f mut BufWriter<File>>>,
}

/// Writes an archive completely or not at all.
pub(crate) fn write(
    target: Target<'_>,
    fill: impl FnOnce(&mut Zip<'_, '_>) -> io::Result<()>,
) -> Result<(), Error> {
    atomically(target, |out| {
        let mut out = Patient { out, failure: None };
        let written = {
            let mut archive = Zip { zip: ZipWriter::new(&mut out) };
            fill(&mut archive).and_then(|()| archive.zip.finish()?.flush())
        };
        out.failure.map_or(written, Err)
    })
}

impl Zip<'_, '_> {
    /// Adds an array of so many bytes, uncompressed: floating-point numbers hardly compress, and are read at
    /// the speed of the disk this way.
    pub(crate) fn stored(
        &mut self,
        name: &str,
        bytes: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.zip.start_file(format!("{name}.npy"), options(CompressionMethod::Stored, bytes))?;
        write(&mut self.zip)
    }

    pub(crate) fn matrix<T: Scalar>(&mut self, name: &str, matrix: &Mat<T>) -> io::Result<()> {
        let bytes = size_of_val(matrix.as_slice()) as u64;
        self.stored(name, bytes, |mut out| npy::write_matrix(&mut out, matrix))
    }

    pub(crate) fn numbers(&mut self, name: &str, numbers: &[f64]) -> io::Result<()> {
        self.stored(name, 8 * numbers.len() as u64, |mut out| npy::write_numbers(&mut out, numbers))
    }

    /// A text without dimensions.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.texts(name, &[text.to_owned()], &[])
    }

    /// A list of names: an array, or one text in JSON if the array would be mostly padding.
    pub(crate) fn names(&mut self, name: &str, names: &[String]) -> io::Result<()> {
        let letters: usize = names.iter().map(|name| name.chars().count()).sum();
        if longest(names).saturating_mul(names.len()) - letters > PADDING.max(3 * letters) {
            return self.text(name, &serde_json::to_string(names)?);
        }
        self.texts(name, names, &[names.len() as u64])
    }

    fn texts(&mut self, name: &str, texts: &[String], shape: &[u64]) -> io::Result<()> {
        let bytes = 4 * longest(texts) as u64 * texts.len() as u64;
        self.zip.start_file(format!("{name}.npy"), options(CompressionMethod::Deflated, bytes))?;
        npy::write_texts(&mut self.zip, texts, shape)
    }
}

fn longest(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Options without a time stamp. An entry near 4 GiB needs the wider fields.
fn options(method: CompressionMethod, bytes: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .large_file(bytes > 0xf000_0000)
}

/// A writer that remembers its first error and then discards all data. Otherwise the zip library would try to
/// close the archive when it is dropped, and print to standard error.
pub(crate) struct Patient<W> {
    out: W,
    failure: Option<io::Error>,
}

impl<W> Patient<W> {
    /// The result, or `instead` if a write has failed.
    fn keep<V>(&mut self, result: io::Result<V>, instead: V) -> io::Result<V> {
        result.or_else(|why| {
            self.failure.get_or_insert(why);
            Ok(instead)
        })
    }
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Ok(bytes.len());
        }
        let result = self.out.write(bytes);
        self.keep(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.keep(result, ())
    }
}

impl<W: Seek> Seek for Patient<W> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let result = self.out.seek(to);
        self.keep(result, 0)
    }
}
