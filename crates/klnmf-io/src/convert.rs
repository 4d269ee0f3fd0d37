//! Conversion into a [`Folder`] in bounded memory.
//!
//! The entries of a file come in any order. A first pass counts them by column and by row. A second one
//! distributes them to files on disk, each for some consecutive lines that fit in memory. Then every such file
//! is read, sorted and packed. The folder gets its name when it is complete.

use crate::error::{Error, Fault};
use crate::folder::{Folder, MAGIC};
use crate::format::Format;
use crate::held::Held;
use crate::npy::write_texts;
use crate::packed::pack;
use crate::source::Source;
use crate::{anndata, mtx, read_layer, tenx};
use klnmf::{Entry, Matrix, Order, Sparse};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Bytes of an entry on its way: line, position, value.
const ENTRY: usize = 16;
/// Bytes of memory for an entry while it is sorted.
const IN_MEMORY: u64 = 40;
/// The most files for one order.
const MOST_BUCKETS: u64 = 200;

/// Receives the entries of a matrix.
type Put<'a> = &'a mut dyn FnMut(usize, usize, f64) -> Result<(), Fault>;

/// Converts the matrix in `from` into the folder `to`, with about `memory` bytes of memory.
///
/// AnnData, 10x Genomics and MatrixMarket are read piece by piece; other formats are read as a whole. Nothing is
/// left behind if it fails. An existing folder of the same data is used as it is; any other is an error.
pub fn convert(from: &Path, layer: Option<&str>, to: &Path, memory: u64) -> Result<Folder, Error> {
    let origin = Origin::open(from, layer)?;
    let source = identity(from, layer).map_err(|why| Fault::Io(why).at(from))?;
    if to.exists() {
        let found = Folder::open(to)?;
        if found.source == source {
            return Ok(found);
        }
        let what =
            format!("it holds other data than {}: remove it, or choose another folder", from.display());
        return Err(Fault::Content(what).at(to));
    }
    let failed = |why| Error::Write { path: to.to_owned(), why };
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let prefix = format!(".{name}.");
    remove_leftovers(parent, &prefix);
    let hidden = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(failed)?;
    let place = hidden.path();
    // Locked until the end, so that another conversion does not take this folder for a leftover.
    let lock = File::create_new(place.join(LOCK)).map_err(failed)?;
    let _ = lock.try_lock();
    match origin.write(place, &source, memory) {
        Ok(()) => {}
        Err(Stop::Read(fault)) => return Err(fault.at(from)),
        Err(Stop::Write(why)) => return Err(failed(why)),
    }
    fs::remove_file(place.join(LOCK)).map_err(failed)?;
    fs::rename(place, to).map_err(failed)?;
    Folder::open(to)
}

/// The file that is locked during a conversion.
const LOCK: &str = "lock";

/// Removes the hidden folders of conversions that were killed. The system has released their locks.
fn remove_leftovers(parent: &Path, prefix: &str) {
    let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(hidden) {
        if File::open(entry.path().join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            // If it cannot be removed, it stays, and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// What tells two sources apart: path, length, time of the last change, and layer.
fn identity(from: &Path, layer: Option<&str>) -> io::Result<String> {
    let file = tenx::matrix_of(from).unwrap_or(from.to_owned());
    let mut stamps = String::new();
    for file in std::iter::once(file.clone()).chain(tenx::lists_of(from)) {
        let facts = fs::metadata(&file)?;
        let changed = facts.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        stamps += &format!("{} {} ", facts.len(), changed.as_nanos());
    }
    let name = fs::canonicalize(&file)?.display().to_string().replace(['\n', '\r'], " ");
    let layer = layer.unwrap_or("X").replace(['\n', '\r'], " ");
    Ok(format!("{stamps}{layer} {name}"))
}

/// Why a conversion ended.
enum Stop {
    Read(Fault),
    Write(io::Error),
}

impl From<io::Error> for Stop {
    fn from(why: io::Error) -> Self {
        Stop::Write(why)
    }
}

/// Passes all entries of a matrix on.
type Entries = dyn Fn(Put) -> Result<(), Fault>;

/// A matrix that can be read several times.
struct Origin {
    shape: (usize, usize),
    sparse: bool,
    names: [Option<Vec<String>>; 2],
    entries: Box<Entries>,
}

impl Origin {
    fn open(path: &Path, layer: Option<&str>) -> Result<Self, Error> {
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

    /// Writes all files of the folder, the header last.
    fn write(&self, place: &Path, source: &str, memory: u64) -> Result<(), Stop> {
        let (rows, cols) = self.shape;
        let [mut by_column, mut by_row] = [vec![0u64; cols], vec![0u64; rows]];
        let count = &mut |row: usize, col: usize, value: f64| {
            by_column[col] += 1;
            by_row[row] += 1;
            let entry = Entry { row, col, value };
            match value.is_finite() {
                true if value >= 0.0 => Ok(()),
                true => Err(klnmf::Error::Negative(entry).into()),
                false => Err(klnmf::Error::NotFinite(entry).into()),
            }
        };
        (self.entries)(count).map_err(Stop::Read)?;
        let mut orders = [
            Buckets::new(place, "columns", &by_column, memory / 2)?,
            Buckets::new(place, "rows", &by_row, memory / 2)?,
        ];
        drop((by_column, by_row));
        let mut failed = None;
        let distribute = &mut |i: usize, j: usize, value: f64| {
            let written = orders[0].put(j, i, value).and_then(|()| orders[1].put(i, j, value));
            written.map_err(|why| {
                failed = Some(why);
                Fault::content("")
            })
        };
        let distributed = (self.entries)(distribute);
        if let Some(why) = failed {
            return Err(Stop::Write(why));
        }
        distributed.map_err(Stop::Read)?;
        let [columns, rows_order] = orders;
        let columns = columns.pack(place, rows, self.sparse)?;
        let packed_rows = rows_order.pack(place, cols, self.sparse)?;
        for (name, names) in ["row_names", "col_names"].into_iter().zip(&self.names) {
            if let Some(names) = names {
                let mut out = BufWriter::new(File::create(place.join(format!("{name}.npy")))?);
                write_texts(&mut out, names, &[names.len() as u64])?;
                out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            }
        }
        let mut header = File::create(place.join("header"))?;
        write!(
            header,
            "{MAGIC}\nrows {rows}\ncolumns {cols}\nsparse {}\nstored {}\nnonzero {}\nlongest_column {}\n\
             longest_row {}\nsource {source}\n",
            u8::from(self.sparse),
            columns.stored,
            columns.nonzero,
            columns.longest,
            packed_rows.longest
        )?;
        header.sync_all()?;
        Ok(())
    }
}

/// Entries on disk, in files for consecutive lines.
struct Buckets {
    name: &'static str,
    /// The file of every line.
    of_line: Vec<u32>,
    files: Vec<BufWriter<File>>,
}

/// What is known of packed lines.
struct Facts {
    stored: u64,
    nonzero: u64,
    longest: usize,
}

impl Buckets {
    fn new(place: &Path, name: &'static str, counts: &[u64], memory: u64) -> io::Result<Self> {
        let most = (memory / IN_MEMORY).max(counts.iter().sum::<u64>() / MOST_BUCKETS).max(1);
        let (mut of_line, mut bucket, mut filled) = (Vec::with_capacity(counts.len()), 0u32, 0);
        for count in counts {
            if filled > 0 && filled + count > most {
                (bucket, filled) = (bucket + 1, 0);
            }
            filled += count;
            of_line.push(bucket);
        }
        let file = |bucket| Ok(BufWriter::new(File::create_new(place.join(format!("{name}.{bucket}")))?));
        Ok(Self { name, of_line, files: (0..=bucket).map(file).collect::<io::Result<_>>()? })
    }

    fn put(&mut self, line: usize, position: usize, value: f64) -> io::Result<()> {
        let file = &mut self.files[self.of_line[line] as usize];
        file.write_all(&(line as u32).to_le_bytes())?;
        file.write_all(&(position as u32).to_le_bytes())?;
        file.write_all(&value.to_le_bytes())
    }

    /// Sorts and packs the lines, which have this length, and removes the files.
    fn pack(self, place: &Path, length: usize, sparse: bool) -> Result<Facts, Stop> {
        let mut out = BufWriter::new(File::create_new(place.join(self.name))?);
        let (mut ends, mut end, mut begin) = (Vec::with_capacity(8 * self.of_line.len()), 0u64, 0);
        let mut facts = Facts { stored: 0, nonzero: 0, longest: 0 };
        for (bucket, file) in (0u32..).zip(self.files) {
            file.into_inner().map_err(io::IntoInnerError::into_error)?;
            let lines = self.of_line[begin..].partition_point(|of| *of <= bucket);
            let path = place.join(format!("{}.{bucket}", self.name));
            let matrix = sorted(&path, begin, (lines, length)).map_err(|why| match why {
                klnmf::Error::TooLarge { .. } => Stop::Read(why.into()),
                why => Stop::Write(io::Error::other(why.to_string())),
            })?;
            fs::remove_file(&path)?;
            facts.nonzero += matrix.nnz() as u64;
            let mut record = Vec::new();
            for_each_line(matrix.view(), sparse, |idx, values| {
                record.clear();
                pack(idx, values, &mut record);
                out.write_all(&crc32fast::hash(&record).to_le_bytes())?;
                out.write_all(&record)?;
                end += 4 + record.len() as u64;
                ends.extend_from_slice(&end.to_le_bytes());
                facts.stored += values.len() as u64;
                facts.longest = facts.longest.max(values.len());
                Ok(())
            })?;
            begin += lines;
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        let checksum = crc32fast::hash(&ends).to_le_bytes();
        ends.extend_from_slice(&checksum);
        fs::write(place.join(format!("{}.ends", self.name)), ends)?;
        Ok(facts)
    }
}

/// The lines from `first` on in a file of entries, sorted. Equal positions are added in the order of the file,
/// as if the matrix were read into memory.
fn sorted(path: &Path, first: usize, (lines, length): (usize, usize)) -> klnmf::Result<Sparse<f64>> {
    let read = |put: &mut dyn FnMut(usize, usize, f64) -> klnmf::Result<()>| {
        let unreadable = |why: io::Error| klnmf::Error::Unreadable(why.to_string());
        let mut input = BufReader::with_capacity(1 << 20, File::open(path).map_err(unreadable)?);
        let entries = input.get_ref().metadata().map_err(unreadable)?.len() / ENTRY as u64;
        let (mut four, mut eight) = ([0; 4], [0; 8]);
        for _ in 0..entries {
            input.read_exact(&mut four).map_err(unreadable)?;
            let line = u32::from_le_bytes(four) as usize - first;
            input.read_exact(&mut four).map_err(unreadable)?;
            let position = u32::from_le_bytes(four) as usize;
            input.read_exact(&mut eight).map_err(unreadable)?;
            put(line, position, f64::from_le_bytes(eight))?;
        }
        Ok(())
    };
    Sparse::from_triplets(lines, length, Order::Rows, read)
}

/// Calls `f` with positions and values of every row; with all values if the matrix is not to be `sparse`.
fn for_each_line(
    rows: Matrix<'_, f64>,
    sparse: bool,
    mut f: impl FnMut(Option<&[u32]>, &[f64]) -> io::Result<()>,
) -> io::Result<()> {
    let mut entries = rows.entries().peekable();
    let (mut idx, mut values) = (Vec::new(), Vec::new());
    for line in 0..rows.rows() {
        idx.clear();
        values.clear();
        if !sparse {
            values.resize(rows.cols(), 0.0);
        }
        while let Some((_, position, value)) = entries.next_if(|entry| entry.0 == line) {
            if sparse {
                idx.push(position as u32);
                values.push(value);
            } else {
                values[position] = value;
            }
        }
        f(sparse.then_some(&idx[..]), &values)?;
    }
    Ok(())
}
