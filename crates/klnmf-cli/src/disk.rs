//! Data that do not fit in memory: converted once into a folder, and read from there.

use crate::cmd::{Data, Output, thread_count};
use crate::input::{self, available_memory};
use crate::outputs::named_after;
use crate::summary::bytes;
use anyhow::{Context, bail};
use klnmf::{LineBuffer, Lines, Memory, Order, Problem, Scalar, Solver, Sparse};
use klnmf_io::{DataHash, Facts, Folder, Summary, Table};
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
    /// Reads V, or opens its folder if V does not fit in memory beside what a factorisation needs.
    pub fn open(data: &Data, (rank, solver): (usize, Solver), output: &Output) -> anyhow::Result<Self> {
        output.tell(|| format!("reading {}", data.path.display()));
        let folder = open(data, rank, solver, output)?;
        let table = match &folder {
            Some(folder) => outline(data, folder)?,
            None => input::in_pool(data, || input::read(data))??,
        };
        Ok(Self { table, folder })
    }

    /// Whether V is sparse.
    pub fn is_sparse(&self) -> bool {
        self.folder.as_ref().map_or(self.table.matrix.view().is_sparse(), Folder::is_sparse)
    }

    /// The number of entries of V that are not zero.
    pub fn nnz(&self) -> u64 {
        self.folder
            .as_ref()
            .map_or_else(|| self.table.matrix.view().nnz() as u64, |folder| folder.facts.nonzero)
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
        let in_memory = || Ok((sums().iter().sum(), self.hash(data)?));
        self.folder.as_ref().map_or_else(in_memory, |folder| scan::<T>(data, folder))
    }

    /// The hash of V.
    pub fn hash(&self, data: &Data) -> anyhow::Result<String> {
        let in_memory = || input::in_pool(data, || klnmf_io::data_hash_text(self.table.matrix.view()));
        self.folder.as_ref().map_or_else(in_memory, |folder| Ok(scan::<T>(data, folder)?.1))
    }
}

/// The folder to work from if V does not fit in memory, or nothing if it does. The data are converted into
/// that folder unless they have been already.
fn open(data: &Data, rank: usize, solver: Solver, output: &Output) -> anyhow::Result<Option<Folder>> {
    let limit = data.memory.map(u128::from).or_else(available_memory);
    let Some((limit, facts)) = limit.zip(known(data)) else { return Ok(None) };
    let need = memory_in(data, &facts, rank);
    let total = need.total() + need.beyond(solver);
    if total <= limit {
        return Ok(None);
    }
    let (name, is_folder) = (data.path.display(), Folder::is_at(&data.path));
    let to = if is_folder { data.path.clone() } else { name_for(&data.path, data.layer.as_deref()) };
    // The workspace depends on the longest line, which may not be known before the conversion.
    let shortest = if is_folder { facts.longest } else { (1, 1) };
    let least = memory_in(data, &Facts { longest: shortest, ..facts }, rank);
    fits(data, rank, limit, from_disk(&least, solver, data))?;
    output.note(&format!(
        "{name} needs up to {} of memory and {} can be used, so V stays on disk, in {}; the result is the same",
        bytes(total),
        bytes(limit),
        to.display()
    ));
    let folder = if is_folder { Folder::open(&to)? } else { converted(data, &to, limit)? };
    fits(data, rank, limit, from_disk(&memory_in(data, &folder.facts, rank), solver, data))?;
    if folder.is_stale() {
        let source = folder.facts.source.display();
        output.note(&format!("{source} has changed since {name} was made: remove {name} and convert again"));
    }
    Ok(Some(folder))
}

/// Fails if a factorisation from disk needs more memory than can be used.
fn fits(data: &Data, rank: usize, limit: u128, least: u128) -> anyhow::Result<()> {
    if least <= limit {
        return Ok(());
    }
    bail!(
        "{}: rank {rank} needs up to {} of memory, even with V on disk, and {} can be used: use a smaller \
         rank or a machine with more memory",
        data.path.display(),
        bytes(least),
        bytes(limit)
    )
}

/// The memory of a factorisation whose V is on disk.
fn from_disk(need: &Memory, solver: Solver, data: &Data) -> u128 {
    // No more is decoded than there is.
    need.total() + need.beyond(solver) - 2 * need.v
        + (thread_count(data.threads) as u128 * DECODED).min(2 * need.v)
}

fn converted(data: &Data, to: &Path, limit: u128) -> anyhow::Result<Folder> {
    klnmf_io::convert(&data.path, data.layer.as_deref(), to, (limit / 2) as u64).map_err(|why| {
        let advice =
            format!("klnmf convert {} --out FOLDER.klnmf chooses another place", data.path.display());
        match why {
            why @ klnmf_io::Error::Write { .. } => anyhow::Error::from(why).context(advice),
            why => why.into(),
        }
    })
}

/// What is known of V before it is read, if its size is. Its longest lines count as full.
fn known(data: &Data) -> Option<Facts> {
    if Folder::is_at(&data.path) {
        return Facts::read(&data.path).ok();
    }
    if data.memory.is_none() && READ_IN_FULL.contains(&klnmf_io::extension(&data.path).as_str()) {
        return None;
    }
    // An error is reported when the data are read.
    let found = klnmf_io::peek_layer(&data.path, data.layer.as_deref()).ok()?;
    let Summary { shape: Some((n, m)), stored: Some(stored), .. } = found else { return None };
    let stored = if found.symmetric { stored.saturating_mul(2) } else { stored };
    let (rows, cols) = (usize::try_from(n).ok()?, usize::try_from(m).ok()?);
    let sparse = n.checked_mul(m) != Some(stored);
    Some(Facts { rows, cols, sparse, stored, longest: (cols, rows), ..Facts::default() })
}

fn memory_in(data: &Data, facts: &Facts, rank: usize) -> Memory {
    let (shape, longest) = ((facts.rows, facts.cols), facts.longest);
    let ((rows, cols), longest) =
        if data.transpose { (swapped(shape), swapped(longest)) } else { (shape, longest) };
    let facts = &Facts { rows, cols, longest, ..facts.clone() };
    let threads = thread_count(data.threads);
    match data.precision {
        Some(crate::cmd::Precision::F32) => memory_of::<f32>(facts, rank, threads),
        _ => memory_of::<f64>(facts, rank, threads),
    }
}

/// The memory for a matrix of which these facts are known.
pub fn memory_of<T: Scalar>(facts: &Facts, rank: usize, threads: usize) -> Memory {
    let Facts { rows, cols, stored, longest, .. } = *facts;
    match facts.sparse {
        true => Memory::sparse::<T>((rows, cols), stored, Some(longest), rank, threads),
        false => Memory::dense::<T>(rows, cols, rank, threads),
    }
}

/// The folder beside a file that its conversion goes to.
pub fn name_for(path: &Path, layer: Option<&str>) -> PathBuf {
    let layer = layer.map_or(String::new(), |layer| format!(".{}", layer.replace(['/', '\\'], "_")));
    path.with_file_name(named_after(path, &format!("{layer}.klnmf")))
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

/// ΣV and the hash of V: from the header, unless the precision changes the entries.
fn scan<T: Scalar>(data: &Data, folder: &Folder) -> anyhow::Result<(f64, String)> {
    let facts = &folder.facts;
    if facts.single || T::NAME == "f64" {
        let hash = if data.transpose { &facts.transposed_hash } else { &facts.hash };
        return Ok((facts.sum, hash.clone()));
    }
    let (rows, cols) = if data.transpose { swapped(folder.shape()) } else { folder.shape() };
    let (mut sum, mut hash, mut buffer) = (0.0, DataHash::new(rows, cols), LineBuffer::<T>::default());
    let (lines, length) = folder.columns.shape();
    let together = folder.columns.together().max(1);
    for first in (0..lines).step_by(together) {
        buffer.clear();
        let some = first..(first + together).min(lines);
        T::lines(&folder.columns, some.clone(), &mut buffer).map_err(anyhow::Error::msg)?;
        let mut start = 0;
        for line in some {
            let end = buffer.ends.get(line - first).copied().unwrap_or(start + length);
            let mut of_line = 0.0;
            for at in start..end {
                let (x, place) =
                    (buffer.values[at].to_f64(), buffer.idx.get(at).map_or(at - start, |i| *i as usize));
                let (row, col) = if data.transpose { (line, place) } else { (place, line) };
                hash.add(row, col, x);
                of_line += x;
            }
            (start, sum) = (end, sum + of_line);
        }
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
