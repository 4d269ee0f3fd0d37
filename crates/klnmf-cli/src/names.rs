//! Names of rows and columns from files of their own, for formats that hold none.

use anyhow::bail;
use clap::Args;
use klnmf_io::Table;
use std::path::{Path, PathBuf};

/// `--row-names` and `--column-names`.
#[derive(Args)]
pub struct Names {
    /// Names of the rows of the file, before any --transpose; a text file with one name per line
    #[arg(long, value_name = "FILE")]
    row_names: Option<PathBuf>,
    /// Names of the columns of the file, in the same form
    #[arg(long, value_name = "FILE")]
    column_names: Option<PathBuf>,
}

impl Names {
    /// The files that are given.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.row_names, &self.column_names].into_iter().flatten()
    }

    /// The names of the rows and of the columns of a matrix of this shape, in the file `path`.
    pub fn read(
        &self,
        path: &Path,
        (rows, cols): (usize, usize),
    ) -> anyhow::Result<[Option<Vec<String>>; 2]> {
        let read = |file: &Option<PathBuf>, sides: [(&str, usize); 2]| {
            file.as_deref().map(|file| read_for(file, path, sides)).transpose()
        };
        let sides = [("rows", rows), ("columns", cols)];
        Ok([read(&self.row_names, sides)?, read(&self.column_names, [sides[1], sides[0]])?])
    }

    /// Names the rows and columns of a table. Names in its own file are replaced.
    pub fn apply<T: klnmf::Scalar>(&self, path: &Path, table: &mut Table<T>) -> anyhow::Result<()> {
        let [rows, cols] = self.read(path, (table.matrix.rows(), table.matrix.cols()))?;
        table.row_names = rows.or(table.row_names.take());
        table.col_names = cols.or(table.col_names.take());
        Ok(())
    }
}

/// The names in `file` of one side of the matrix in `path`; the second side is the other one.
pub fn read_for(
    file: &Path,
    path: &Path,
    [(what, count), other]: [(&str, usize); 2],
) -> anyhow::Result<Vec<String>> {
    let names = klnmf_io::read_names(file)?;
    if names.len() != count {
        let fits = if names.len() == other.1 { format!("; they fit its {}", other.0) } else { String::new() };
        bail!(
            "{} has {} names and {} has {count} {what}: give one name per line and one line for each of the \
             {what}{fits}",
            file.display(),
            names.len(),
            path.display()
        );
    }
    Ok(names)
}
