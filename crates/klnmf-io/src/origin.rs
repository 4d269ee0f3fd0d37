//! The entries of a matrix in a file of any format, which can be read several times.

use crate::error::{Error, Fault};
use crate::format::Format;
use crate::held::Held;
use crate::source::Source;
use crate::{anndata, mtx, read_layer, tenx};
use std::path::{Path, PathBuf};

/// Receives the entries of a matrix.
pub(crate) type Put<'a> = &'a mut dyn FnMut(usize, usize, f64) -> Result<(), Fault>;

/// Passes all entries of a matrix on.
pub(crate) type Entries = dyn Fn(Put) -> Result<(), Fault>;

/// A matrix that can be read several times.
pub(crate) struct Origin {
    pub(crate) shape: (usize, usize),
    pub(crate) sparse: bool,
    pub(crate) names: [Option<Vec<String>>; 2],
    pub(crate) entries: Box<Entries>,
}

impl Origin {
    pub(crate) fn open(path: &Path, layer: Option<&str>) -> Result<Self, Error> {
        if let Some(matrix) = tenx::matrix_of(path).filter(|_| layer.is_none()) {
            let market = Self::market(&matrix).map_err(|fault| fault.at(&matrix))?;
            let names = tenx::folder_names(path, market.shape)?;
            return Ok(Self { names, ..market });
        }
        let fault = |fault: Fault| fault.at(path);
        let format = Source::new(path).and_then(|_| Format::of(path)).map_err(fault)?;
        match format {
            Format::H5ad | Format::H5 => Self::held(path, format, layer).map_err(fault),
            Format::Mtx if layer.is_none() => Self::market(path).map_err(fault),
            _ => {
                let table = read_layer::<f64>(path, layer)?;
                let (rows, cols) = (table.matrix.rows(), table.matrix.cols());
                let names = [table.row_names, table.col_names];
                let (sparse, matrix) = (table.matrix.view().is_sparse(), table.matrix);
                let entries = move |put: Put| matrix.view().entries().try_for_each(|(i, j, x)| put(i, j, x));
                Ok(Self { shape: (rows, cols), sparse, names, entries: Box::new(entries) })
            }
        }
    }

    fn held(path: &Path, format: Format, layer: Option<&str>) -> Result<Self, Fault> {
        let source = Source::new(path)?;
        let (matrix, names): (Held, _) = if format == Format::H5ad {
            let found = anndata::Cells::open(&source, layer)?;
            (found.matrix, [found.genes, found.cells])
        } else {
            let found = tenx::Counts::open(&source)?;
            (found.matrix, [Some(found.features), Some(found.cells)])
        };
        let (shape, sparse) = ((matrix.rows, matrix.cols), matrix.layout() != "dense");
        Ok(Self { shape, sparse, names, entries: Box::new(move |put| matrix.entries(put)) })
    }

    fn market(path: &Path) -> Result<Self, Fault> {
        let source = Source::new(path)?;
        let preamble = mtx::Preamble::read(&mut crate::lines::Lines::of(&source)?)?;
        if !preamble.coordinate {
            let matrix = mtx::read::<f64>(&source)?.matrix;
            let shape = (matrix.rows(), matrix.cols());
            let entries = move |put: Put| matrix.view().entries().try_for_each(|(i, j, x)| put(i, j, x));
            return Ok(Self { shape, sparse: false, names: [None, None], entries: Box::new(entries) });
        }
        let (rows, cols) = crate::memory::check_sparse(preamble.rows, preamble.cols, 0)?;
        let entries = move |put: Put| mtx::replay(&source, &preamble, put);
        Ok(Self { shape: (rows, cols), sparse: true, names: [None, None], entries: Box::new(entries) })
    }
}

/// The files that belong to the matrix at a path, the one with the numbers first.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let matrix = tenx::matrix_of(path).unwrap_or(path.to_owned());
    std::iter::once(matrix).chain(tenx::lists_of(path)).collect()
}
