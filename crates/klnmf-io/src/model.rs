//! The result of a run as one file: an archive of arrays that numpy opens without this library.

use crate::archive::Archive;
use crate::error::{Error, Fault};
use crate::names::check_count;
use crate::output::Target;
use crate::source::Source;
use crate::spool::Spool;
use crate::version;
use crate::zipped::{self, Zip};
use klnmf::{Mat, Scalar};
use std::io;
use std::path::Path;

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
    /// A model without names and columns.
    pub fn new(w: Mat<T>, h: Mat<T>, metadata: String) -> Self {
        let columns = Vec::new();
        Self { w, h, metadata, row_names: None, col_names: None, part_names: None, columns }
    }

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
        check_count("row", self.row_names.as_deref(), w.0)?;
        check_count("column", self.col_names.as_deref(), h.1)?;
        check_count("part", self.part_names.as_deref(), h.0)
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
    version::check("model", &text)?;
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
/// names, `row_names`, `col_names` and `part_names`, and the arrays of `columns`. Numpy pads every name to
/// the longest. Where that would take megabytes, the names are one text without dimensions, a list in JSON.
pub fn write_model<'p, T: Scalar>(target: impl Into<Target<'p>>, model: &Model<T>) -> Result<(), Error> {
    write_with(target.into(), model, None)
}

/// [`write_model`] for weights that are stored on disk; `model.h` has their rows and no columns.
pub fn write_spooled_model(path: &Path, model: &Model<f64>, h: &mut Spool) -> Result<(), Error> {
    if (model.h.rows(), model.h.cols()) != (h.rows(), 0) {
        let what = format!("the weights on disk have {} rows and the model {}", h.rows(), model.h.rows());
        return Err(Fault::Content(what).at(path));
    }
    write_with(path.into(), model, Some(h))
}

fn write_with<T: Scalar>(target: Target<'_>, model: &Model<T>, h: Option<&mut Spool>) -> Result<(), Error> {
    model.check().map_err(|fault| fault.at(target.path()))?;
    zipped::write(target, |zip| write(zip, model, h))
}

fn write<T: Scalar>(zip: &mut Zip<'_, '_>, model: &Model<T>, spool: Option<&mut Spool>) -> io::Result<()> {
    zip.matrix("W", &model.w)?;
    match spool {
        Some(h) => zip.stored("H", 8 * h.rows() as u64 * h.cols() as u64, |mut out| h.write_npy(&mut out))?,
        None => zip.matrix("H", &model.h)?,
    }
    for (name, numbers) in &model.columns {
        zip.numbers(name, numbers)?;
    }
    zip.text("metadata", &version::stamped(&model.metadata))?;
    let names =
        [("row_names", &model.row_names), ("col_names", &model.col_names), ("part_names", &model.part_names)];
    for (name, names) in names {
        names.as_ref().map_or(Ok(()), |names| zip.names(name, names))?;
    }
    Ok(())
}
