//! What a verb does before its work: read V, and check that the work can succeed.

use crate::cmd::{Data, complain, thread_count};
use crate::summary::bytes;
use anyhow::{anyhow, bail};
use klnmf::{Matrix, Scalar};
use klnmf_io::{Error, Table};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::Path;

/// Runs `work` on the number of threads that the user asked for.
pub fn in_pool<V: Send>(data: &Data, work: impl FnOnce() -> V + Send) -> anyhow::Result<V> {
    Ok(pool(data.threads)?.install(work))
}

/// So many threads; 0 means one per core.
pub fn pool(threads: usize) -> anyhow::Result<ThreadPool> {
    let built = ThreadPoolBuilder::new().num_threads(threads).build();
    built.map_err(|why| anyhow!("cannot start {} threads: {why}; give --threads 1", thread_count(threads)))
}

/// Reads the matrix of a verb. Errors name bad entries by their position in the file, so the check comes
/// before the transposition.
pub fn read<T: Scalar>(data: &Data) -> anyhow::Result<Table<T>> {
    let mut table = klnmf_io::read_layer::<T>(&data.path, data.layer.as_deref())?;
    data.names.apply(&data.path, &mut table)?;
    if let Err(why) = table.matrix.view().check() {
        let infinite = matches!(why, klnmf::Error::NotFinite(entry) if entry.value.is_infinite());
        let hint = match why {
            _ if T::NAME == "f32" && infinite => {
                "; if the number is too large for f32, use --precision f64".into()
            }
            klnmf::Error::Negative(_) => other_layers(data),
            _ => String::new(),
        };
        let names = named(&why, &table);
        bail!("{}{names}{hint}", Error::matrix(&data.path, why));
    }
    if klnmf_io::rounded_to_zero() {
        complain(&format!(
            "warning: {}: positive entries that are too small for f32 become 0: use --precision f64, or \
             multiply V by a constant",
            data.path.display()
        ));
    }
    Ok(if data.transpose { table.transpose() } else { table })
}

/// The names of the row and the column of the entry that is wrong, if the table has names.
pub fn named<T: Scalar>(why: &klnmf::Error, table: &Table<T>) -> String {
    let Some(entry) = why.entry() else { return String::new() };
    let name = |what: &str, names: &Option<Vec<String>>, at: usize| {
        names.as_ref().and_then(|names| names.get(at)).map(|name| format!("{what} {name:?}"))
    };
    let names = [name("row", &table.row_names, entry.row), name("column", &table.col_names, entry.col)];
    let names: Vec<String> = names.into_iter().flatten().collect();
    if names.is_empty() { String::new() } else { format!("; it is in {}", names.join(", ")) }
}

/// Says where else an AnnData file may hold its counts, if X does not.
fn other_layers(data: &Data) -> String {
    let found = klnmf_io::peek(&data.path).map(|found| found.layers).unwrap_or_default();
    match found.is_empty() || data.layer.is_some() {
        true => String::new(),
        false => format!("; X may be scaled, so try --layer {}", found.join(" or --layer ")),
    }
}

/// Adds the file's name to the library's error about its matrix.
pub fn about<V>(data: &Data, result: klnmf::Result<V>) -> anyhow::Result<V> {
    result.map_err(|why| match why {
        klnmf::Error::Setting { .. } | klnmf::Error::Threads { .. } => why.into(),
        why => Error::matrix(&data.path, why).into(),
    })
}

/// The same with the names of the entry that is wrong.
pub fn about_table<V, T: Scalar>(
    data: &Data,
    table: &Table<T>,
    result: klnmf::Result<V>,
) -> anyhow::Result<V> {
    let names = result.as_ref().err().map_or(String::new(), |why| named(why, table));
    about(data, result).map_err(|why| anyhow!("{why}{names}"))
}

/// Fails before the work starts if it cannot fit in the free memory, where the system reports that. V itself
/// is already in memory; `more` bytes are needed beside those of a factorisation.
pub fn check_memory<T: Scalar>(
    path: &Path,
    v: Matrix<'_, T>,
    rank: usize,
    threads: usize,
    more: u128,
) -> anyhow::Result<()> {
    let need = more + klnmf::memory(v, rank, thread_count(threads)).total().saturating_sub(v.bytes() as u128);
    match available_memory() {
        Some(free) if need > free => bail!(
            "{}: rank {rank} needs up to {} more memory and {} are free: choose a smaller rank{}, or a larger \
             machine",
            path.display(),
            bytes(need),
            bytes(free),
            // Topics are always computed in f64.
            if more == 0 && T::NAME == "f64" { ", --precision f32" } else { "" }
        ),
        _ => Ok(()),
    }
}

/// Bytes that can be allocated without swapping and within the limit of `ulimit -v`, on Linux.
pub fn available_memory() -> Option<u128> {
    let free = number_in("/proc/meminfo", "MemAvailable:")? * 1024;
    let limit = number_in("/proc/self/limits", "Max address space");
    let left = limit
        .zip(number_in("/proc/self/status", "VmSize:"))
        .map(|(most, used)| most.saturating_sub(used * 1024));
    Some(left.map_or(free, |left| left.min(free)))
}

/// The first number after a key in one of the system's files.
fn number_in(file: &str, key: &str) -> Option<u128> {
    let text = std::fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Fails if both lists of row names are given and differ.
pub fn same_names(
    file: &str,
    theirs: &Option<Vec<String>>,
    ours: &Option<Vec<String>>,
) -> anyhow::Result<()> {
    let (Some(theirs), Some(ours)) = (theirs, ours) else { return Ok(()) };
    match theirs.iter().zip(ours).enumerate().find(|(_, (a, b))| a != b) {
        Some((row, (a, b))) => {
            bail!("row {row} is {a:?} in {file} and {b:?} in V: put the rows in the same order")
        }
        None => Ok(()),
    }
}
