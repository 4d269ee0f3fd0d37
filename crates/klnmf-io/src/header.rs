//! The header of a [`Folder`](crate::Folder): what it holds, and what it was made from.
//!
//! It is text, one fact per line, with a checksum at the end. The checksums of all other files of the folder
//! begin from the [`Origin`](Facts::seed), so parts of different folders do not fit together.

use crate::error::Fault;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The first line of a header, with the version of the folder.
const MAGIC: &str = "klnmf packed matrix, version 2";
/// The longest header that is read.
const LONGEST: u64 = 1 << 20;

/// What the header of a folder says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Whether only the numbers that are not zero are stored.
    pub sparse: bool,
    /// The numbers that are stored: all if dense, the non-zero ones if sparse.
    pub stored: u64,
    /// The numbers that are not zero.
    pub nonzero: u64,
    /// The most stored numbers in a row and in a column.
    pub longest: (usize, usize),
    /// The rows and the columns that hold only zeros.
    pub empty: (usize, usize),
    /// The sum of all numbers, column by column.
    pub sum: f64,
    /// The [`DataHash`](crate::DataHash) of the matrix, as text.
    pub hash: String,
    /// That of the transposed matrix.
    pub transposed_hash: String,
    /// Whether f32 holds all numbers exactly.
    pub single: bool,
    /// The file that was converted.
    pub source: PathBuf,
    /// The layer of that file; empty for X.
    pub layer: String,
    /// Length and time of the last change of that file, and of those that belong to it.
    pub stamp: String,
    /// Columns, and rows, that are packed together.
    pub together: (usize, usize),
    /// Checksums of the names of rows and columns, if there are any.
    pub names: [Option<u64>; 2],
}

impl Facts {
    /// Reads the header of the folder at `path`, and nothing else.
    pub fn read(path: &Path) -> Result<Self, crate::Error> {
        Self::load(path).map_err(|fault| fault.at(path))
    }

    pub(crate) fn load(folder: &Path) -> Result<Self, Fault> {
        let mut text = String::new();
        File::open(folder.join("header"))?.take(LONGEST).read_to_string(&mut text)?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.lines().next() != Some(MAGIC) {
            let what = "another version wrote this folder, or its header is damaged: remove the folder and \
                        convert the data again";
            return Err(Fault::content(what));
        }
        let sound = text.rsplit_once("checksum ").filter(|(facts, checksum)| {
            u64::from_str_radix(checksum.trim_end(), 16) == Ok(xxh3_64(facts.as_bytes()))
        });
        let facts = sound.map(|(facts, _)| facts.lines().filter_map(|line| line.split_once(' ')).collect());
        let damaged = "the header is damaged: remove the folder and convert the data again";
        facts.and_then(Self::of).ok_or_else(|| Fault::content(damaged))
    }

    fn of(facts: HashMap<&str, &str>) -> Option<Self> {
        let text = |key| facts.get(key).map(|text| (*text).to_owned());
        let number = |key| facts.get(key)?.parse::<u64>().ok();
        let size = |key| usize::try_from(number(key)?).ok();
        let checksum = |key| u64::from_str_radix(facts.get(key)?, 16).ok();
        Some(Self {
            rows: size("rows")?,
            cols: size("columns")?,
            sparse: number("sparse")? == 1,
            stored: number("stored")?,
            nonzero: number("nonzero")?,
            longest: (size("longest_row")?, size("longest_column")?),
            empty: (size("empty_rows")?, size("empty_columns")?),
            sum: facts.get("sum")?.parse().ok()?,
            hash: text("hash")?,
            transposed_hash: text("transposed_hash")?,
            single: number("single")? == 1,
            source: text("source")?.into(),
            layer: text("layer").unwrap_or_default(),
            stamp: text("stamp")?,
            together: (size("columns_together")?, size("rows_together")?),
            names: [checksum("row_names"), checksum("column_names")],
        })
    }

    /// Writes the header, and waits until it is on the disk.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = format!("{MAGIC}\n");
        let mut line = |key: &str, value: &dyn std::fmt::Display| text += &format!("{key} {value}\n");
        line("rows", &self.rows);
        line("columns", &self.cols);
        line("sparse", &u8::from(self.sparse));
        line("stored", &self.stored);
        line("nonzero", &self.nonzero);
        line("longest_row", &self.longest.0);
        line("longest_column", &self.longest.1);
        line("empty_rows", &self.empty.0);
        line("empty_columns", &self.empty.1);
        line("sum", &self.sum);
        line("hash", &self.hash);
        line("transposed_hash", &self.transposed_hash);
        line("single", &u8::from(self.single));
        line("source", &one_line(&self.source.display().to_string()));
        line("layer", &one_line(&self.layer));
        line("stamp", &self.stamp);
        line("columns_together", &self.together.0);
        line("rows_together", &self.together.1);
        for (key, checksum) in ["row_names", "column_names"].into_iter().zip(self.names) {
            checksum.iter().for_each(|checksum| line(key, &format!("{checksum:x}")));
        }
        let checksum = xxh3_64(text.as_bytes());
        let mut file = File::create_new(folder.join("header"))?;
        file.write_all(format!("{text}checksum {checksum:x}\n").as_bytes())?;
        file.sync_all()
    }

    /// The facts about a source: where it is, when it was changed last, and its layer.
    pub(crate) fn of_source(files: &[PathBuf], layer: Option<&str>) -> io::Result<Self> {
        let source = fs::canonicalize(&files[0])?;
        let layer = one_line(layer.unwrap_or_default());
        Ok(Self { source, layer, stamp: stamp(files)?, ..Self::default() })
    }

    /// Where the checksums of a file of the folder begin.
    pub(crate) fn seed(&self, of: &str) -> u64 {
        let source =
            format!("{} {} {}", self.stamp, self.layer, one_line(&self.source.display().to_string()));
        xxh3_64_with_seed(of.as_bytes(), xxh3_64(source.as_bytes()))
    }

    /// What differs between the source of this folder and `other`, in words; none if it is the same. A file
    /// that was moved is the same.
    pub(crate) fn differs_from(&self, other: &Self) -> Option<String> {
        let name = self.source.display();
        // The header holds the name as text.
        let file_name = |facts: &Self| {
            let text = one_line(&facts.source.display().to_string());
            Path::new(&text).file_name().map(|name| name.to_owned())
        };
        if file_name(self) != file_name(other) || self.layer != other.layer {
            let layer = if self.layer.is_empty() { String::new() } else { format!(", layer {}", self.layer) };
            Some(format!("it holds the data of {name}{layer}"))
        } else if self.stamp != other.stamp {
            Some(format!("{} has changed since this folder was made", other.source.display()))
        } else {
            None
        }
    }
}

/// Length and time of the last change of some files.
pub(crate) fn stamp(files: &[PathBuf]) -> io::Result<String> {
    let mut stamps = Vec::new();
    for file in files {
        let facts = fs::metadata(file)?;
        let changed = facts.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        stamps.push(format!("{} {}", facts.len(), changed.as_nanos()));
    }
    Ok(stamps.join(" "))
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
