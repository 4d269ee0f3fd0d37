//! A matrix that was read from a file.

use crate::error::{Error, Fault};
use crate::folder::Folder;
use crate::format::Format;
use crate::source::Source;
use crate::{anndata, archive, mtx, npy, number, tenx, text};
use klnmf::{Mat, Matrix, Scalar, Sparse};
use std::path::Path;

/// A matrix read from a file, with names where the file has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T> {
    /// The numbers.
    pub matrix: Stored<T>,
    /// One name per row.
    pub row_names: Option<Vec<String>>,
    /// One name per column.
    pub col_names: Option<Vec<String>>,
}

/// A matrix that owns its numbers, dense or sparse as in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored<T> {
    /// All numbers.
    Dense(Mat<T>),
    /// The non-zero numbers.
    Sparse(Sparse<T>),
}

impl<T: Scalar> Stored<T> {
    /// The borrowed view that the solvers take.
    pub fn view(&self) -> Matrix<'_, T> {
        match self {
            Stored::Dense(matrix) => matrix.into(),
            Stored::Sparse(matrix) => matrix.into(),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.view().rows()
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.view().cols()
    }

    /// The transposed matrix: rearranged in memory if dense, at no cost if sparse.
    pub fn transpose(self) -> Self {
        match self {
            Stored::Dense(matrix) => Stored::Dense(matrix.transpose()),
            Stored::Sparse(matrix) => Stored::Sparse(matrix.transpose()),
        }
    }
}

impl<T: Scalar> Table<T> {
    /// The transposed matrix, with the names exchanged.
    pub fn transpose(self) -> Self {
        Self { matrix: self.matrix.transpose(), row_names: self.col_names, col_names: self.row_names }
    }
}

/// Reads a matrix. The extension of the name gives the format; see the [crate documentation](crate).
///
/// Negative numbers and NaN are accepted here: the core library's check reports the first one with its
/// position.
///
/// A folder with `matrix.mtx` or `matrix.mtx.gz` is read with the names beside it, as 10x Genomics writes
/// them.
pub fn read<T: Scalar>(path: &Path) -> Result<Table<T>, Error> {
    read_layer(path, None)
}

/// Whether a path holds single cells, which are read as features × cells: `.h5ad`, `.h5`, or a folder of
/// 10x Genomics.
pub fn holds_cells(path: &Path) -> bool {
    tenx::matrix_of(path).is_some() || matches!(Format::of(path), Ok(Format::H5ad | Format::H5))
}

/// Reads a matrix, or another layer of an AnnData file instead of its X. `raw` stands for `raw/X`.
pub fn read_layer<T: Scalar>(path: &Path, layer: Option<&str>) -> Result<Table<T>, Error> {
    // What was read before does not count.
    number::rounded_to_zero();
    let mut table = match tenx::matrix_of(path) {
        _ if Folder::is_at(path) && layer.is_none() => {
            Folder::open(path)?.table().map_err(|fault| fault.at(path))?
        }
        Some(matrix) if layer.is_none() => tenx::read_folder(path, &matrix)?,
        _ => load(path, layer).map_err(|fault| fault.at(path))?,
    };
    let (rows, cols) = (table.matrix.rows(), table.matrix.cols());
    if rows == 0 || cols == 0 {
        return Err(Error::matrix(path, klnmf::Error::Empty { rows, cols }));
    }
    // Arrays of text in numpy end their elements with zeros, so a name that ends in one would change there.
    for name in table.row_names.iter_mut().chain(&mut table.col_names).flatten() {
        name.truncate(name.trim_end_matches('\0').len());
    }
    Ok(table)
}

/// Reads a matrix that must be dense, such as a dictionary or a start.
pub fn read_dense<T: Scalar>(path: &Path) -> Result<Mat<T>, Error> {
    read(path)?.matrix.into_dense(path)
}

impl<T: Scalar> Stored<T> {
    /// The matrix if it is dense, else an error about the file that it came from.
    pub fn into_dense(self, path: &Path) -> Result<Mat<T>, Error> {
        match self {
            Stored::Dense(matrix) => Ok(matrix),
            Stored::Sparse(_) => Err(Fault::content(
                "the matrix is sparse, but a dense one is needed: save it with .toarray()",
            )
            .at(path)),
        }
    }
}

fn load<T: Scalar>(path: &Path, layer: Option<&str>) -> Result<Table<T>, Fault> {
    // A missing file is reported before an unknown extension.
    let source = Source::new(path)?;
    let format = Format::of(path)?;
    if layer.is_some() && format != Format::H5ad {
        return Err(Fault::content("only .h5ad files have layers: leave out --layer"));
    }
    match format {
        Format::Npy => npy::read(&source),
        Format::Npz => archive::read(&source),
        Format::Mtx => mtx::read(&source),
        Format::Csv | Format::Tsv | Format::Txt => text::read(&source, format),
        Format::H5ad => anndata::Cells::open(&source, layer)?.table(),
        Format::H5 => tenx::Counts::open(&source)?.table(),
    }
}
