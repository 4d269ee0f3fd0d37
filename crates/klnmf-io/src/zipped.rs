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
        if out.get_ref().metadata()?.is_file() {
            return write_to(out, fill);
        }
        // An archive is not written from beginning to end, so a pipe gets a copy of a file.
        let mut file = BufWriter::new(tempfile::tempfile()?);
        write_to(&mut file, fill)?;
        let mut file = file.into_inner()?;
        file.rewind()?;
        io::copy(&mut file, out).map(|_| ())
    })
}

fn write_to(
    out: &mut BufWriter<File>,
    fill: impl FnOnce(&mut Zip<'_, '_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = Patient::new(out);
    let written = {
        let mut archive = Zip { zip: ZipWriter::new(&mut out) };
        fill(&mut archive).and_then(|()| archive.zip.finish()?.flush())
    };
    out.failure.map_or(written, Err)
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

/// A writer that remembers its first error and from then on only counts. Otherwise the zip library would try
/// to close the archive when it is dropped, and print to standard error, or panic at a wrong position.
pub(crate) struct Patient<W> {
    out: W,
    failure: Option<io::Error>,
    /// The position and the length, if nothing had failed.
    at: u64,
    length: u64,
}

impl<W> Patient<W> {
    fn new(out: W) -> Self {
        Self { out, failure: None, at: 0, length: 0 }
    }

    /// The result of an action on the file, or `instead` if it or an earlier one has failed.
    fn attempt<V>(&mut self, action: impl FnOnce(&mut W) -> io::Result<V>, instead: V) -> V {
        if self.failure.is_some() {
            return instead;
        }
        action(&mut self.out).unwrap_or_else(|why| {
            self.failure = Some(why);
            instead
        })
    }
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(|out| out.write(bytes), bytes.len());
        self.at += written as u64;
        self.length = self.length.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush, ());
        Ok(())
    }
}

impl<W: Seek> Seek for Patient<W> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let to_be = match to {
            io::SeekFrom::Start(at) => at,
            io::SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            io::SeekFrom::End(by) => self.length.saturating_add_signed(by),
        };
        self.at = self.attempt(|out| out.seek(to), to_be);
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A file on a disk with room for so many bytes.
    struct Disk {
        file: Cursor<Vec<u8>>,
        room: u64,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.file.position() + bytes.len() as u64 > self.room {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => self.file.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    /// Wherever the disk is full, the zip library neither panics nor hides the failure.
    #[test]
    fn a_full_disk_is_one_error() {
        let (mut failed, mut whole) = (0, 0);
        for room in 0..1500 {
            let mut out = Patient::new(Disk { file: Cursor::new(Vec::new()), room });
            {
                let mut zip = ZipWriter::new(&mut out);
                for (name, method) in [
                    ("a", CompressionMethod::Stored),
                    ("b", CompressionMethod::Deflated),
                    ("c", CompressionMethod::Stored),
                ] {
                    zip.start_file(name, options(method, 300)).unwrap();
                    zip.write_all(&[7; 300]).unwrap();
                }
                zip.finish().unwrap();
            }
            match out.failure {
                Some(why) => failed += usize::from(why.kind() == io::ErrorKind::StorageFull),
                None => whole += 1,
            }
        }
        assert!(failed + whole == 1500 && failed > 600 && whole > 100, "{failed} {whole}");
    }
}
