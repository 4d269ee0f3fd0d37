//! The result of a run as one file: an archive of arrays that numpy opens without this library.

use crate::archive::Archive;
use crate::error::{Error, Fault};
use crate::npy;
use crate::output::atomically;
use crate::source::Source;
use crate::spool::Spool;
use crate::version;
use klnmf::{Mat, Scalar};
use std::io::{self, Seek, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// A factorisation V ≈ W·H with its names and metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<T> {
    /// The parts: one per column.
    pub w: Mat<T>,
    /// The weights: one row per part.
    pub h: Mat<T>,
    /// How the model was made, as JSON text. Writing adds `version` and, if it is missing,
    /// `instruction_level`.
    pub metadata: String,
    /// Names of the rows of W.
    pub row_names: Option<Vec<String>>,
    /// Names of the columns of H.
    pub col_names: Option<Vec<String>>,
    /// Names of the parts.
    pub part_names: Option<Vec<String>>,
    /// Named arrays with a number for every column of H, such as its gap.
    pub columns: Vec<(String, Vec<f64>)>,
}

impl<T: Scalar> Model<T> {
    /// Fails unless all sizes match.
    fn check(&self) -> Result<(), Fault> {
        let (w, h) = ((self.w.rows(), self.w.cols()), (self.h.rows(), self.h.cols()));
        if w.1 != h.0 {
            let what = format!(
                "W is {} × {} and H is {} × {}: W needs as many columns as H has rows",
                w.0, w.1, h.0, h.1
            );
            return Err(Fault::Content(what));
        }
        let names = [
            ("row", &self.row_names, w.0),
            ("column", &self.col_names, h.1),
            ("part", &self.part_names, h.0),
        ];
        for (what, names, length) in names {
            if let Some(names) = names
                && names.len() != length
            {
                return Err(Fault::Content(format!(
                    "{} {what} names where {length} are needed",
                    names.len()
                )));
            }
        }
        Ok(())
    }
}

/// Whether the archive is one that [`write_model`] wrote.
pub(crate) fn is_model(archive: &Archive) -> bool {
    ["W", "H", "metadata"].into_iter().all(|name| archive.has(name))
}

/// Reads a model that [`write_model`] wrote.
pub fn read_model<T: Scalar>(path: &Path) -> Result<Model<T>, Error> {
    read(path).map_err(|fault| fault.at(path))
}

/// Reads [`Model::metadata`] without the numbers of the model.
pub fn read_metadata(path: &Path) -> Result<String, Error> {
    let text = || -> Result<String, Fault> {
        let source = Source::new(path)?;
        metadata(&mut Archive::open(&source)?)
    };
    text().map_err(|fault| fault.at(path))
}

fn metadata(archive: &mut Archive) -> Result<String, Fault> {
    let text = archive.in_array("metadata", |array| array.texts())?.concat();
    version::check(&text)?;
    Ok(text)
}

fn read<T: Scalar>(path: &Path) -> Result<Model<T>, Fault> {
    let source = Source::new(path)?;
    let mut archive = Archive::open(&source)?;
    if let Some(missing) = ["W", "H", "metadata"].into_iter().find(|name| !archive.has(name)) {
        return Err(Fault::Content(format!("this is not a klnmf model: it has no array {missing}")));
    }
    let metadata = metadata(&mut archive)?;
    let w: Mat<T> = archive.in_array("W", |array| array.dense())?;
    let h: Mat<T> = archive.in_array("H", |array| array.dense())?;
    let row_names = archive.names_of("row_names", w.rows())?;
    let col_names = archive.names_of("col_names", h.cols())?;
    let part_names = archive.names_of("part_names", h.rows())?;
    let columns = columns(&mut archive, h.cols())?;
    let model = Model { w, h, metadata, row_names, col_names, part_names, columns };
    model.check()?;
    Ok(model)
}

/// The arrays with a number for every column of H.
fn columns(archive: &mut Archive, cols: usize) -> Result<Vec<(String, Vec<f64>)>, Fault> {
    let mut columns = Vec::new();
    for name in archive.names() {
        let header = archive.header(&name)?;
        if header.shape == [cols as u64] && header.dtype.check_real().is_ok() {
            let numbers = archive.in_array(&name, |array| array.dense::<f64>())?;
            columns.push((name, numbers.into_vec()));
        }
    }
    Ok(columns)
}

/// Writes a model as a numpy archive. The same model always gives the same bytes.
///
/// The arrays are `W`, `H` (Fortran order), `metadata` (a text without dimensions) and, where there are
/// names, `row_names`, `col_names` and `part_names`, and the arrays of `columns`.
pub fn write_model<T: Scalar>(path: &Path, model: &Model<T>) -> Result<(), Error> {
    write_with(path, model, None)
}

/// [`write_model`] for weights that are stored on disk; `model.h` has their rows and no columns.
pub fn write_spooled_model(path: &Path, model: &Model<f64>, h: &mut Spool) -> Result<(), Error> {
    if (model.h.rows(), model.h.cols()) != (h.rows(), 0) {
        let what = format!("the weights on disk have {} rows and the model {}", h.rows(), model.h.rows());
        return Err(Fault::Content(what).at(path));
    }
    write_with(path, model, Some(h))
}

fn write_with<T: Scalar>(path: &Path, model: &Model<T>, h: Option<&mut Spool>) -> Result<(), Error> {
    model.check().map_err(|fault| fault.at(path))?;
    atomically(path, |out| {
        let mut out = Patient { out, failure: None };
        let written = write(&mut out, model, h);
        out.failure.map_or(written, Err)
    })
}

/// A writer that remembers its first error and then discards all data. Otherwise the zip library would try to
/// close the archive when it is dropped, and print to standard error.
struct Patient<W> {
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

fn write<T: Scalar>(out: impl Write + Seek, model: &Model<T>, spool: Option<&mut Spool>) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    // Floating-point numbers hardly compress, so they are stored uncompressed and read at the speed of the
    // disk.
    let stored = |rows: usize, cols: usize| {
        options(CompressionMethod::Stored, (rows as u64).saturating_mul((size_of::<T>() * cols) as u64))
    };
    zip.start_file("W.npy", stored(model.w.rows(), model.w.cols()))?;
    npy::write_matrix(&mut zip, &model.w)?;
    match spool {
        Some(h) => {
            zip.start_file("H.npy", stored(h.rows(), h.cols()))?;
            h.write_npy(&mut zip)?;
        }
        None => {
            zip.start_file("H.npy", stored(model.h.rows(), model.h.cols()))?;
            npy::write_matrix(&mut zip, &model.h)?;
        }
    }
    for (name, numbers) in &model.columns {
        zip.start_file(format!("{name}.npy"), options(CompressionMethod::Stored, 8 * numbers.len() as u64))?;
        npy::write_numbers(&mut zip, numbers)?;
    }
    let mut texts = |name: &str, texts: &[String], shape: &[u64]| {
        let longest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let bytes = 4 * longest as u64 * texts.len() as u64;
        zip.start_file(format!("{name}.npy"), options(CompressionMethod::Deflated, bytes))?;
        npy::write_texts(&mut zip, texts, shape)
    };
    texts("metadata", &[version::stamped(&model.metadata)], &[])?;
    let names =
        [("row_names", &model.row_names), ("col_names", &model.col_names), ("part_names", &model.part_names)];
    for (name, names) in names {
        if let Some(names) = names {
            texts(name, names, &[names.len() as u64])?;
        }
    }
    zip.finish()?.flush()
}

/// Options without a time stamp. An entry near 4 GiB needs the wider fields.
fn options(method: CompressionMethod, bytes: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .large_file(bytes > 0xf000_0000)
}
