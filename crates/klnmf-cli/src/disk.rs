//! Data that do not fit in memory: converted once into a folder, and read from there.

use crate::cmd::{Data, Output, thread_count};
use crate::input::{self, available_memory};
use crate::summary::bytes;
use anyhow::{Context, bail};
use klnmf::{LineBuffer, Lines, Memory, Order, Problem, Scalar, Sparse};
use klnmf_io::{DataHash, Folder, Summary, Table};
use std::path::{Path, PathBuf};

/// Formats whose size is known only when they have been read.
const READ_IN_FULL: [&str; 3] = ["csv", "tsv", "txt"];
/// Bytes that a thread decodes at a time.
const DECODED: u128 = 32 << 20;

/// V in memory, or its outline and the folder that holds it.
pub struct Source<T> {
    pub table: Table<T>,
    pub folder: Option<Folder>,
}

impl<T: Scalar> Source<T> {
    /// Reads V, or opens its folder if V does not fit in memory beside the factors of this rank.
    pub fn open(data: &Data, rank: usize, output: &Output) -> anyhow::Result<Self> {
        output.tell(|| format!("reading {}", data.path.display()));
        let folder = open(data, rank, output)?;
        let table = match &folder {
            Some(folder) => outline(data, folder)?,
            None => input::read(data)?,
        };
        Ok(Self { table, folder })
    }

    /// Whether V is sparse.
    pub fn is_sparse(&self) -> bool {
        self.folder.as_ref().map_or(self.table.matrix.view().is_sparse(), Folder::is_sparse)
    }

    /// The number of entries of V that are not zero.
    pub fn nnz(&self) -> u64 {
        self.folder.as_ref().map_or_else(|| self.table.matrix.view().nnz() as u64, |folder| folder.nonzero)
    }

    /// V, prepared.
    pub fn problem(&self, data: &Data) -> klnmf::Result<Problem<'_, T>> {
        let Some(folder) = &self.folder else { return Problem::new(self.table.matrix.view(), data.threads) };
        let [columns, rows] = halves(data, folder);
        Problem::from_lines(columns, rows, data.threads)
    }

    /// ΣV and the hash of V.
    pub fn scan(&self, data: &Data) -> anyhow::Result<(f64, String)> {
        let v = self.table.matrix.view();
        // Line by line, as from disk, so that the sums have the same bits.
        let sums = || if data.transpose { v.row_sums() } else { v.col_sums() };
        let in_memory = || Ok((sums().iter().sum(), klnmf_io::data_hash_text(v)));
        self.folder.as_ref().map_or_else(in_memory, |folder| scan::<T>(data, folder))
    }
}

/// The folder to work from if V does not fit in memory, or nothing if it does. The data are converted into that
/// folder unless they have been already.
fn open(data: &Data, rank: usize, output: &Output) -> anyhow::Result<Option<Folder>> {
    let Some((need, least, limit)) = memory(data, rank) else { return Ok(None) };
    if need <= limit {
        return Ok(None);
    }
    let name = data.path.display();
    if least > limit {
        bail!(
            "{name}: rank {rank} needs up to {} of memory, even with V on disk, and {} can be used: choose a \
             smaller rank, or a larger machine",
            bytes(least.min(need)),
            bytes(limit)
        );
    }
    let folder = if Folder::is_at(&data.path) {
        data.path.clone()
    } else {
        name_for(&data.path, data.layer.as_deref())
    };
    output.note(&format!(
        "{name} needs up to {} of memory and {} can be used, so V stays on disk, in {}; the result is the same",
        bytes(need),
        bytes(limit),
        folder.display()
    ));
    if folder == data.path {
        return Ok(Some(Folder::open(&folder)?));
    }
    let found = klnmf_io::convert(&data.path, data.layer.as_deref(), &folder, (limit / 2) as u64);
    let advice = || format!("klnmf convert {name} --out FOLDER.klnmf chooses another place");
    Ok(Some(match found {
        Err(why @ klnmf_io::Error::Write { .. }) => return Err(anyhow::Error::from(why).context(advice())),
        found => found?,
    }))
}

/// The memory that a factorisation needs at most, the same with V on disk, and what may be used; none of them
/// if the size of V or of the memory is not known.
fn memory(data: &Data, rank: usize) -> Option<(u128, u128, u128)> {
    let limit = data.memory.map(u128::from).or_else(available_memory)?;
    let text = data.path.to_string_lossy().to_lowercase();
    let extension = text.trim_end_matches(".gz").rsplit('.').next().unwrap_or_default().to_owned();
    if data.memory.is_none() && READ_IN_FULL.contains(&extension.as_str()) {
        return None;
    }
    // An error is reported when the data are read.
    let Summary { shape: Some((n, m)), stored: Some(stored), .. } = summary(data)? else { return None };
    let (rows, cols, threads) =
        (usize::try_from(n).ok()?, usize::try_from(m).ok()?, thread_count(data.threads));
    let dense = n.checked_mul(m) == Some(stored);
    let single = data.precision == Some(crate::cmd::Precision::F32);
    let need = match (dense, single) {
        (true, true) => Memory::dense::<f32>(rows, cols, rank, threads),
        (true, false) => Memory::dense::<f64>(rows, cols, rank, threads),
        (false, true) => Memory::sparse::<f32>(rows, cols, stored, rank, threads),
        (false, false) => Memory::sparse::<f64>(rows, cols, stored, rank, threads),
    };
    let least = 12 * need.factors + need.workspace + threads as u128 * DECODED;
    Some((need.total(), least, limit))
}

/// What the file holds, if it is known without reading it.
fn summary(data: &Data) -> Option<Summary> {
    klnmf_io::peek_layer(&data.path, data.layer.as_deref()).ok().filter(|found| found.shape.is_some())
}

/// The folder beside a file that its conversion goes to.
pub fn name_for(path: &Path, layer: Option<&str>) -> PathBuf {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stem = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let layer = layer.map_or(String::new(), |layer| format!(".{}", layer.replace(['/', '\\'], "_")));
    path.with_file_name(format!("{stem}{layer}.klnmf"))
}

/// A table with the names and the shape of the data, and no entries.
fn outline<T: Scalar>(data: &Data, folder: &Folder) -> anyhow::Result<Table<T>> {
    let (rows, cols) = folder.shape();
    let order = Order::shorter(rows, cols);
    let pointers = vec![0; rows.min(cols) + 1];
    let matrix = klnmf_io::Stored::Sparse(Sparse::new(rows, cols, order, pointers, vec![], vec![])?);
    let (row_names, col_names) = (folder.row_names.clone(), folder.col_names.clone());
    let mut table = Table { matrix, row_names, col_names };
    data.names.apply(&data.path, &mut table)?;
    Ok(if data.transpose { table.transpose() } else { table })
}

/// The columns and the rows of V.
pub fn halves<'f>(data: &Data, folder: &'f Folder) -> [&'f dyn Lines; 2] {
    if data.transpose { [&folder.rows, &folder.columns] } else { [&folder.columns, &folder.rows] }
}

/// ΣV and the hash of V.
fn scan<T: Scalar>(data: &Data, folder: &Folder) -> anyhow::Result<(f64, String)> {
    let (rows, cols) = if data.transpose { swapped(folder.shape()) } else { folder.shape() };
    let (mut sum, mut hash, mut buffer) = (0.0, DataHash::new(rows, cols), LineBuffer::default());
    for line in 0..folder.columns.shape().0 {
        buffer.values.clear();
        buffer.idx.clear();
        buffer.ends.clear();
        folder.columns.read(line..line + 1, &mut buffer).map_err(anyhow::Error::msg)?;
        let mut of_line = 0.0;
        for (at, x) in buffer.values.iter().enumerate() {
            let (x, place) = (T::from_f64(*x).to_f64(), buffer.idx.get(at).map_or(at, |i| *i as usize));
            let (row, col) = if data.transpose { (line, place) } else { (place, line) };
            hash.add(row, col, x);
            of_line += x;
        }
        sum += of_line;
    }
    Ok((sum, hash.text()))
}

fn swapped<X>((a, b): (X, X)) -> (X, X) {
    (b, a)
}

/// The number of parts of a dictionary or a model, 1 if it cannot be read.
pub fn parts_in(path: &Path) -> usize {
    let found = klnmf_io::peek(path).ok();
    let of_model = found.as_ref().and_then(|found| found.arrays.iter().find(|array| array.name == "W"));
    let columns = of_model.and_then(|w| w.shape.get(1)).copied();
    columns.or(found.and_then(|found| found.shape).map(|shape| shape.1)).unwrap_or(1) as usize
}

/// A size on the command line, such as 4GiB.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_lowercase().trim_end_matches('b') {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1024.0 * 1024.0,
        "gi" => 1024.0 * 1024.0 * 1024.0,
        "ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let bytes = number.parse::<f64>().unwrap_or(f64::NAN) * factor;
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err("give a size such as 4GiB or 500MB".into()) }
}

/// The memory for a conversion.
pub fn conversion_memory(given: Option<u64>) -> anyhow::Result<u64> {
    let free = available_memory().map(|free| u64::try_from(free / 2).unwrap_or(u64::MAX));
    given.or(free).context("the free memory is not known: give --memory, such as --memory 1GiB")
}
