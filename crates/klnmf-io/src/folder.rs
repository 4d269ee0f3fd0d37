//! A matrix in a folder `NAME.klnmf`: packed columns and packed rows, for data larger than memory.
//!
//! | file | content |
//! | --- | --- |
//! | `header` | text: version, shape, entries, and the source |
//! | `columns`, `rows` | the packed lines one after the other, each after its checksum |
//! | `columns.ends`, `rows.ends` | where each line ends, and a checksum |
//! | `row_names.npy`, `col_names.npy` | the names, if there are any |

use crate::error::{Error, Fault};
use crate::npy::Array;
use crate::packed::{PADDING, unpack};
use crate::source::Source;
use crate::table::{Stored, Table};
use klnmf::{LineBuffer, Lines, Mat, Order, Scalar, Sparse};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The first line of a header.
pub(crate) const MAGIC: &str = "klnmf packed matrix, version 1";
/// The extension of such folders.
const EXTENSION: &str = "klnmf";

/// A converted matrix: see [`convert`](crate::convert).
pub struct Folder {
    /// The columns, for the half-steps on H and for decompositions.
    pub columns: PackedLines,
    /// The rows, for the half-steps on W.
    pub rows: PackedLines,
    /// One name per row.
    pub row_names: Option<Vec<String>>,
    /// One name per column.
    pub col_names: Option<Vec<String>>,
    /// The numbers that are stored: all if dense, the non-zero ones if sparse.
    pub stored: u64,
    /// The numbers that are not zero.
    pub nonzero: u64,
    /// What the data were converted from.
    pub(crate) source: String,
}

impl Folder {
    /// Whether the path is that of a converted matrix, by its name and its header.
    pub fn is_at(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == EXTENSION) && path.join("header").is_file()
    }

    /// Opens a converted matrix. Only positions and names are read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::load(path).map_err(|fault| fault.at(path))
    }

    fn load(path: &Path) -> Result<Self, Fault> {
        let text = fs::read_to_string(path.join("header"))?;
        let damaged =
            || Fault::content("the header is damaged: remove the folder and convert the data again");
        let mut lines = text.lines();
        if lines.next() != Some(MAGIC) {
            return Err(Fault::content("another version wrote this folder: convert the data again"));
        }
        let facts: HashMap<&str, &str> = lines.filter_map(|line| line.split_once(' ')).collect();
        let number = |key| facts.get(key).and_then(|text| text.parse::<u64>().ok()).ok_or_else(damaged);
        let (rows, cols) = (number("rows")? as usize, number("columns")? as usize);
        let sparse = number("sparse")? == 1;
        let source = (*facts.get("source").ok_or_else(damaged)?).to_owned();
        let names = |name: &str, length| names(&path.join(name), length);
        Ok(Self {
            columns: PackedLines::open(path, "columns", (cols, rows), sparse, number("longest_column")?)?,
            rows: PackedLines::open(path, "rows", (rows, cols), sparse, number("longest_row")?)?,
            row_names: names("row_names.npy", rows)?,
            col_names: names("col_names.npy", cols)?,
            stored: number("stored")?,
            nonzero: number("nonzero")?,
            source,
        })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.columns.length, self.rows.length)
    }

    /// Whether only non-zero numbers are stored.
    pub fn is_sparse(&self) -> bool {
        self.columns.sparse
    }

    /// Reads the whole matrix into memory.
    pub(crate) fn table<T: Scalar>(self) -> Result<Table<T>, Fault> {
        let (rows, cols) = self.shape();
        let mut all = LineBuffer::default();
        self.columns.read(0..cols, &mut all).map_err(Fault::Content)?;
        let values = all.values.iter().map(|x| T::from_f64(*x)).collect();
        let matrix = if self.is_sparse() {
            all.ends.insert(0, 0);
            Stored::Sparse(Sparse::new(rows, cols, Order::Columns, all.ends, all.idx, values)?)
        } else {
            Stored::Dense(Mat::new(rows, cols, values)?)
        };
        Ok(Table { matrix, row_names: self.row_names, col_names: self.col_names })
    }
}

fn names(path: &Path, length: usize) -> Result<Option<Vec<String>>, Fault> {
    if !path.exists() {
        return Ok(None);
    }
    let source = Source::new(path)?;
    let stream = source.stream()?;
    let names = Array::open(stream.input, stream.length)?.texts()?;
    if names.len() != length {
        return Err(Fault::content("the number of names is wrong: convert the data again"));
    }
    Ok(Some(names))
}

/// The packed columns or rows of a [`Folder`].
pub struct PackedLines {
    path: PathBuf,
    file: File,
    ends: Vec<u64>,
    length: usize,
    sparse: bool,
    longest: usize,
}

impl PackedLines {
    fn open(
        folder: &Path,
        name: &str,
        (lines, length): (usize, usize),
        sparse: bool,
        longest: u64,
    ) -> Result<Self, Fault> {
        let damaged = || Fault::Content(format!("the file {name} is damaged: convert the data again"));
        let path = folder.join(name);
        let mut bytes = Vec::new();
        // One end per line and a checksum; a longer file need not be read.
        let most = 8 * lines as u64 + 5;
        File::open(folder.join(format!("{name}.ends")))?.take(most).read_to_end(&mut bytes)?;
        let checksum = bytes.len().checked_sub(4).map(|at| bytes.split_off(at)).ok_or_else(damaged)?;
        if crc32fast::hash(&bytes).to_le_bytes()[..] != checksum || bytes.len() != 8 * lines {
            return Err(damaged());
        }
        let ends: Vec<u64> = bytes.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end)).collect();
        let file = File::open(&path)?;
        let whole = ends.last().copied().unwrap_or(0) == file.metadata()?.len();
        if !whole || !ends.is_sorted() || longest > length as u64 {
            return Err(damaged());
        }
        Ok(Self { path, file, ends, length, sparse, longest: longest as usize })
    }

    fn end(&self, lines: usize) -> u64 {
        if lines == 0 { 0 } else { self.ends[lines - 1] }
    }
}

impl Lines for PackedLines {
    fn shape(&self) -> (usize, usize) {
        (self.ends.len(), self.length)
    }

    fn is_sparse(&self) -> bool {
        self.sparse
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn read(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String> {
        let name = self.path.display();
        let start = self.end(lines.start);
        let mut bytes = vec![0; (self.end(lines.end) - start) as usize + PADDING];
        let size = bytes.len() - PADDING;
        read_exact_at(&self.file, &mut bytes[..size], start)
            .map_err(|why| format!("cannot read {name}: {why}; convert the data again if it was moved"))?;
        for line in lines {
            let here = (self.end(line) - start) as usize..(self.end(line + 1) - start) as usize;
            let record = &bytes[here.start..here.end + PADDING];
            let sound = record.split_first_chunk::<4>().filter(|(checksum, rest)| {
                rest.len() >= PADDING
                    && crc32fast::hash(&rest[..rest.len() - PADDING]).to_le_bytes() == **checksum
            });
            sound.and_then(|(_, packed)| unpack(packed, self.sparse, to)).ok_or_else(|| {
                format!("{name}: line {line} is damaged: remove the folder and convert again")
            })?;
        }
        Ok(())
    }
}

/// Reads from a position, without moving that of the file, so that threads can share it.
#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Reads from a position. Every reading gives its position, so that threads can share the file.
#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, at) = (&mut bytes[read..], at + read as u64),
        }
    }
    Ok(())
}
