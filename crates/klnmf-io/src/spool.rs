//! A matrix that is collected on disk, column by column, because its size is not known beforehand.

use crate::Error;
use crate::npy::{bytes_of, write_header};
use crate::output::NewFile;
use klnmf::Mat;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Columns stored on disk. The file is hidden, and removed when this is dropped.
pub struct Spool {
    path: PathBuf,
    file: NewFile,
    out: BufWriter<File>,
    rows: usize,
    cols: usize,
}

impl Spool {
    /// Creates a store for columns of `rows` numbers, in a hidden file beside `path`.
    pub fn beside(path: &Path, rows: usize) -> Result<Self, Error> {
        let file = NewFile::hidden(path)?;
        let out = file.writer().map_err(|why| Error::Write { path: path.to_owned(), why })?;
        Ok(Self { path: path.to_owned(), file, out, rows, cols: 0 })
    }

    /// Appends columns; panics if they have another height.
    pub fn push(&mut self, columns: &Mat<f64>) -> Result<(), Error> {
        assert_eq!(columns.rows(), self.rows, "rows of every piece");
        self.cols += columns.cols();
        bytes_of(&mut self.out, columns.as_slice())
            .map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns so far.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Writes the matrix as a numpy array.
    pub(crate) fn write_npy(&mut self, out: &mut impl Write) -> io::Result<()> {
        write_header(out, "<f8", &[self.rows as u64, self.cols as u64])?;
        self.out.flush()?;
        let file = self.file.file()?;
        file.rewind()?;
        let copied = io::copy(file, out)?;
        if copied != 8 * (self.rows * self.cols) as u64 {
            return Err(io::Error::other("another program has changed the temporary file with the columns"));
        }
        Ok(())
    }
}
