//! A matrix in a folder `NAME.klnmf`: packed columns and packed rows, for data larger than memory.
//!
//! | file | content |
//! | --- | --- |
//! | `header` | text: version, shape, entries, the source, and a checksum |
//! | `columns`, `rows` | the packed lines, some together, each time after a checksum |
//! | `columns.ends`, `rows.ends` | where they end, and a checksum |
//! | `row_names.npy`, `col_names.npy` | the names, if there are any, with checksums in the header |

use crate::error::{Error, Fault};
use crate::header::{Facts, stamp};
use crate::npy::Array;
use crate::packed_lines::PackedLines;
use crate::source::Source;
use crate::table::{Stored, Table};
use klnmf::{LineBuffer, Lines, Mat, Order, Scalar, Sparse};
use std::fs;
use std::ops::Range;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The extension of such folders.
const EXTENSION: &str = "klnmf";
/// Lines that are read at a time.
const AT_A_TIME: usize = 1024;

/// A converted matrix: see [`convert`](crate::convert).
pub struct Folder {
    /// What the header says.
    pub facts: Facts,
    /// The columns, for the half-steps on H and for decompositions.
    pub columns: PackedLines,
    /// The rows, for the half-steps on W.
    pub rows: PackedLines,
    /// One name per row.
    pub row_names: Option<Vec<String>>,
    /// One name per column.
    pub col_names: Option<Vec<String>>,
}

impl Folder {
    /// Whether the path is that of a converted matrix, by its name and its header.
    pub fn is_at(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == EXTENSION) && path.join("header").is_file()
    }

    /// Opens a converted matrix. Only the header, positions and names are read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::load(path).map_err(|fault| fault.at(path))
    }

    fn load(path: &Path) -> Result<Self, Fault> {
        let facts = Facts::load(path)?;
        let names = |name: &str, length, checksum| names(path, &facts, name, length, checksum);
        Ok(Self {
            columns: PackedLines::open(path, &facts, "columns")?,
            rows: PackedLines::open(path, &facts, "rows")?,
            row_names: names("row_names", facts.rows, facts.names[0])?,
            col_names: names("col_names", facts.cols, facts.names[1])?,
            facts,
        })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.facts.rows, self.facts.cols)
    }

    /// Whether only non-zero numbers are stored.
    pub fn is_sparse(&self) -> bool {
        self.facts.sparse
    }

    /// Whether the file that was converted has changed since. A file that is gone has not.
    pub fn is_stale(&self) -> bool {
        let Facts { source, stamp: then, .. } = &self.facts;
        stamp(std::slice::from_ref(source)).is_ok_and(|now| !then.starts_with(&now))
    }

    /// Reads some columns or some rows into memory, as the columns of a matrix.
    pub fn part<T: Scalar>(&self, rows: bool, range: Range<usize>) -> Result<Stored<T>, Error> {
        let lines = if rows { &self.rows } else { &self.columns };
        some(lines, range).map_err(|fault| fault.at(lines.path()))
    }

    /// Reads the whole matrix into memory.
    pub(crate) fn table<T: Scalar>(self) -> Result<Table<T>, Fault> {
        let matrix = some(&self.columns, 0..self.shape().1)?;
        Ok(Table { matrix, row_names: self.row_names, col_names: self.col_names })
    }
}

/// Reads some lines, as the columns of a matrix.
fn some<T: Scalar>(lines: &PackedLines, range: Range<usize>) -> Result<Stored<T>, Fault> {
    let (length, cols, sparse) = (lines.shape().1, range.len(), lines.is_sparse());
    let (mut ptr, mut idx, mut values, mut some) = (vec![0], vec![], vec![], LineBuffer::<T>::default());
    for first in range.clone().step_by(AT_A_TIME) {
        some.clear();
        T::lines(lines, first..(first + AT_A_TIME).min(range.end), &mut some).map_err(Fault::Content)?;
        ptr.extend(some.ends.iter().map(|end| values.len() + end));
        idx.extend_from_slice(&some.idx);
        values.extend_from_slice(&some.values);
    }
    Ok(if sparse {
        Stored::Sparse(Sparse::new(length, cols, Order::Columns, ptr, idx, values)?)
    } else {
        Stored::Dense(Mat::new(length, cols, values)?)
    })
}

/// The names of rows or columns, if the header has a checksum of them.
fn names(
    folder: &Path,
    facts: &Facts,
    name: &str,
    length: usize,
    checksum: Option<u64>,
) -> Result<Option<Vec<String>>, Fault> {
    let Some(checksum) = checksum else { return Ok(None) };
    let bytes = fs::read(folder.join(format!("{name}.npy")))?;
    let what = format!("the file {name}.npy is damaged: remove the folder and convert the data again");
    if xxh3_64_with_seed(&bytes, facts.seed(name)) != checksum {
        return Err(Fault::Content(what));
    }
    let source = Source::Memory(bytes);
    let stream = source.stream()?;
    let names = Array::open(stream.input, stream.length)?.texts()?;
    if names.len() == length { Ok(Some(names)) } else { Err(Fault::Content(what)) }
}
