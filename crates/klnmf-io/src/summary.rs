//! The content of a file, without loading it if the format allows.

use crate::archive::Archive;
use crate::error::{Error, Fault};
use crate::folder::Folder;
use crate::format::Format;
use crate::header::Facts;
use crate::held::Held;
use crate::lines::Lines;
use crate::npy::{Array, Header};
use crate::scipy::{self, Layout};
use crate::source::{Source, must_last};
use crate::{anndata, checkpoint, hdf5, model, mtx, tenx, text};
use std::path::Path;

/// The result of [`peek`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The kind of file, such as `numpy array`.
    pub kind: String,
    /// Rows and columns of the matrix; of W·H for a model. None if the file holds no matrix or several.
    pub shape: Option<(u64, u64)>,
    /// Numbers stored in the file: all if dense, the listed ones if sparse.
    pub stored: Option<u64>,
    /// Whether the numbers off the diagonal stand for two entries each.
    pub symmetric: bool,
    /// Type of the numbers as the file names it, such as `<f8` or `integer`.
    pub dtype: Option<String>,
    /// Whether rows have names.
    pub row_names: bool,
    /// Whether columns have names.
    pub col_names: bool,
    /// The arrays of an archive; empty for other files.
    pub arrays: Vec<ArrayInfo>,
    /// The matrices besides X in an AnnData file, as [`read_layer`](crate::read_layer) takes them.
    pub layers: Vec<String>,
}

/// One array of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// Its name.
    pub name: String,
    /// Its type as numpy writes it.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
}

/// Describes the content of a file. Only csv, tsv and txt are read in full, because their size is not known
/// before the last line.
pub fn peek(path: &Path) -> Result<Summary, Error> {
    peek_layer(path, None)
}

/// [`peek`] at a layer of an .h5ad file instead of X.
pub fn peek_layer(path: &Path, layer: Option<&str>) -> Result<Summary, Error> {
    must_last(path).map_err(|fault| fault.at(path))?;
    match tenx::matrix_of(path) {
        _ if Folder::is_at(path) => Ok(of_packed(&Facts::read(path)?)),
        Some(matrix) => folder(path, &matrix),
        None => look(path, layer).map_err(|fault| fault.at(path)),
    }
}

/// A folder of packed lines.
fn of_packed(found: &Facts) -> Summary {
    Summary {
        kind: format!("packed matrix, {}", if found.sparse { "sparse" } else { "dense" }),
        shape: Some((found.rows as u64, found.cols as u64)),
        stored: Some(found.stored),
        row_names: found.names[0].is_some(),
        col_names: found.names[1].is_some(),
        ..Summary::default()
    }
}

/// A folder of 10x Genomics.
fn folder(path: &Path, matrix: &Path) -> Result<Summary, Error> {
    let found = look(matrix, None).map_err(|fault| fault.at(matrix))?;
    let shape = found.shape.unwrap_or_default();
    let [rows, cols] = tenx::folder_names(path, (shape.0 as usize, shape.1 as usize))?;
    let kind = "10x folder, features × cells".into();
    Ok(Summary { kind, row_names: rows.is_some(), col_names: cols.is_some(), ..found })
}

fn look(path: &Path, layer: Option<&str>) -> Result<Summary, Fault> {
    let source = Source::new(path)?;
    let format = Format::of(path)?;
    match format {
        Format::Npy => array(&source),
        Format::Npz => archive(&source),
        Format::Mtx => matrix_market(&source),
        Format::Csv | Format::Tsv | Format::Txt => table(&source, format),
        Format::H5ad => cells(&source, layer),
        Format::H5 => {
            let found = tenx::Counts::open(&source)?;
            Ok(of_held("10x Genomics, features × cells", &found.matrix))
        }
    }
}

/// An AnnData file. Without X, it is described by its layers alone.
fn cells(source: &Source, layer: Option<&str>) -> Result<Summary, Fault> {
    let layers = anndata::layers(&hdf5::root(source)?)?;
    let found = match anndata::Cells::open(source, layer) {
        Ok(found) => {
            let (name, layout) = (layer.unwrap_or("X"), found.matrix.layout());
            let kind = format!("AnnData, {name} {layout}, shown as genes × cells");
            let (row_names, col_names) = (found.genes.is_some(), found.cells.is_some());
            Summary { row_names, col_names, ..of_held(&kind, &found.matrix) }
        }
        Err(_) if layer.is_none() && !layers.is_empty() => {
            Summary { kind: "AnnData without X".into(), ..Summary::default() }
        }
        Err(fault) => return Err(fault),
    };
    Ok(Summary { layers, ..found })
}

fn of_held(kind: &str, held: &Held) -> Summary {
    Summary {
        kind: kind.into(),
        shape: Some((held.rows as u64, held.cols as u64)),
        stored: Some(held.stored()),
        dtype: Some(held.dtype()),
        row_names: true,
        col_names: true,
        ..Summary::default()
    }
}

fn array(source: &Source) -> Result<Summary, Fault> {
    let stream = source.stream()?;
    let header = Array::open(stream.input, stream.length)?.header;
    Ok(of_array("numpy array", &header))
}

fn of_array(kind: &str, header: &Header) -> Summary {
    Summary {
        kind: format!("{kind}, {} order", if header.fortran { "Fortran" } else { "C" }),
        shape: header.rows_and_cols().ok(),
        stored: header.items(),
        dtype: Some(header.dtype.descr.clone()),
        ..Summary::default()
    }
}

fn archive(source: &Source) -> Result<Summary, Fault> {
    let mut archive = Archive::open(source)?;
    let mut arrays = Vec::new();
    for name in archive.names() {
        let header = archive.header(&name)?;
        arrays.push(ArrayInfo { name, dtype: header.dtype.descr, shape: header.shape });
    }
    let of_content = if model::is_model(&archive) {
        of_model(&mut archive)?
    } else if checkpoint::is_checkpoint(&archive) {
        Summary { kind: "klnmf checkpoint".into(), ..Summary::default() }
    } else if scipy::is_sparse(&archive) {
        of_sparse(&mut archive)?
    } else {
        match archive.matrix_name() {
            Ok(name) => of_array(&format!("numpy archive, array {name}"), &archive.header(&name)?),
            Err(_) => Summary { kind: "numpy archive without a single matrix".into(), ..Summary::default() },
        }
    };
    Ok(Summary {
        row_names: archive.has("row_names"),
        col_names: archive.has("col_names"),
        arrays,
        ..of_content
    })
}

fn of_model(archive: &mut Archive) -> Result<Summary, Fault> {
    let (w, h) = (archive.header("W")?, archive.header("H")?);
    let shape = Some((w.rows_and_cols()?.0, h.rows_and_cols()?.1));
    let stored = w.items().zip(h.items()).and_then(|(w, h)| w.checked_add(h));
    Ok(Summary { kind: "klnmf model".into(), shape, stored, ..of_array("", &w) })
}

fn of_sparse(archive: &mut Archive) -> Result<Summary, Fault> {
    let preamble = scipy::preamble(archive)?;
    let layout = match preamble.layout {
        Layout::Csr => "csr",
        Layout::Csc => "csc",
        Layout::Coo => "coo",
    };
    let shape = Some((preamble.rows as u64, preamble.cols as u64));
    let data = of_array("", &archive.header("data")?);
    Ok(Summary { kind: format!("scipy sparse matrix, {layout}"), shape, ..data })
}

fn matrix_market(source: &Source) -> Result<Summary, Fault> {
    let preamble = mtx::Preamble::read(&mut Lines::of(source)?)?;
    let layout = if preamble.coordinate { "coordinate" } else { "array" };
    let symmetry = if preamble.symmetric { "symmetric" } else { "general" };
    Ok(Summary {
        kind: format!("MatrixMarket {layout}, {symmetry}"),
        shape: Some((preamble.rows, preamble.cols)),
        stored: Some(preamble.stored),
        symmetric: preamble.symmetric,
        dtype: Some(preamble.field.into()),
        ..Summary::default()
    })
}

fn table(source: &Source, format: Format) -> Result<Summary, Fault> {
    let table = text::read::<f32>(source, format)?;
    let (rows, cols) = (table.matrix.rows() as u64, table.matrix.cols() as u64);
    Ok(Summary {
        kind: "text table".into(),
        shape: Some((rows, cols)),
        stored: Some(rows * cols),
        dtype: None,
        row_names: table.row_names.is_some(),
        col_names: table.col_names.is_some(),
        ..Summary::default()
    })
}
