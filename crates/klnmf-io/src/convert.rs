//! Conversion into a [`Folder`] in bounded memory.
//!
//! The entries of a file come in any order. A first pass counts them by column and by row. A second one
//! distributes them to buckets on disk. Then every bucket is read, sorted and packed, in both orders at once.
//! The folder gets its name when it is complete.

use crate::error::{Error, Fault};
use crate::folder::Folder;
use crate::header::Facts;
use crate::npy::write_texts;
use crate::origin::{self, Origin};
use crate::output::{UnfinishedFolder, file_name, folder_of};
use crate::packed_lines::{LineWriter, Written};
use crate::source::must_last;
use crate::spill::{Spill, spill_in};
use klnmf::{Entry, Matrix};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Converts the matrix in `from` into the folder `to`, with about `memory` bytes of memory.
///
/// AnnData, 10x Genomics and MatrixMarket are read piece by piece; other formats are read as a whole. Nothing
/// is left behind if it fails. An existing folder of the same data is used as it is; any other is an error.
pub fn convert(from: &Path, layer: Option<&str>, to: &Path, memory: u64) -> Result<Folder, Error> {
    must_last(from).map_err(|fault| fault.at(from))?;
    let origin = Origin::open(from, layer)?;
    let source = Facts::of_source(&origin::files(from), layer).map_err(|why| Fault::Io(why).at(from))?;
    if to.exists() {
        return existing(to, &source);
    }
    let failed = |why| Error::Write { path: to.to_owned(), why };
    let hidden = Hidden::beside(to).map_err(failed)?;
    match origin.write(hidden.folder.path(), source.clone(), memory) {
        Ok(()) => {}
        Err(Stop::Read(fault)) => return Err(fault.at(from)),
        Err(Stop::Write(why)) => return Err(failed(why)),
    }
    let renamed = hidden.rename(to);
    match renamed {
        // Another conversion of the same data was faster.
        Err(_) if to.exists() => existing(to, &source),
        Err(why) => Err(failed(why)),
        Ok(()) => Folder::open(to),
    }
}

/// The folder at `to` if it holds the data of this source.
fn existing(to: &Path, source: &Facts) -> Result<Folder, Error> {
    let found = Folder::open(to)?;
    found.facts.differs_from(source).map_or(Ok(found), |what| {
        let what = format!("{what}: remove this folder, or choose another one with klnmf convert --out");
        Err(Fault::Content(what).at(to))
    })
}

/// A folder that is being filled, hidden beside the one that it will become, and locked.
struct Hidden {
    folder: TempDir,
    lock: File,
    _unfinished: UnfinishedFolder,
}

/// The file that is locked during a conversion. The system releases the lock of a program that ends, so a
/// hidden folder whose lock can be taken is a leftover.
const LOCK: &str = "lock";

impl Hidden {
    /// Creates a folder, and removes leftovers.
    fn beside(to: &Path) -> io::Result<Self> {
        let parent = folder_of(to);
        let prefix = format!(".{}.", file_name(to));
        remove_leftovers(parent, &prefix);
        loop {
            let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent)?;
            let lock = File::create_new(folder.path().join(LOCK))?;
            let locked = !matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            // Another conversion may have taken the folder for a leftover before it was locked.
            if locked && folder.path().join(LOCK).exists() {
                let _unfinished = UnfinishedFolder::new(folder.path());
                return Ok(Self { folder, lock, _unfinished });
            }
        }
    }

    /// Gives the folder its name.
    fn rename(self, to: &Path) -> io::Result<()> {
        File::open(self.folder.path()).and_then(|folder| folder.sync_all()).unwrap_or(());
        fs::rename(self.folder.path(), to)?;
        // The lock is held until here, so that nobody takes the folder for a leftover.
        drop((self.lock, self.folder.keep()));
        fs::remove_file(to.join(LOCK))
    }
}

/// Removes the hidden folders of conversions that were killed.
fn remove_leftovers(parent: &Path, prefix: &str) {
    let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().filter(hidden) {
        if let Ok(lock) = File::open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            // If it cannot be removed, it stays, and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
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

impl From<klnmf::Error> for Stop {
    fn from(why: klnmf::Error) -> Self {
        match why {
            klnmf::Error::TooLarge { .. } => Stop::Read(why.into()),
            why => Stop::Write(io::Error::other(why.to_string())),
        }
    }
}

impl Origin {
    /// Writes all files of the folder, the header last. `facts` name the source.
    fn write(&self, place: &Path, facts: Facts, memory: u64) -> Result<(), Stop> {
        let (rows, cols) = self.shape;
        if rows == 0 || cols == 0 {
            return Err(Stop::Read(klnmf::Error::Empty { rows, cols }.into()));
        }
        let [columns, by_row] = self.distribute(place, memory)?;
        let mut facts = Facts { rows, cols, sparse: self.sparse, ..facts };
        let pack = |spill, name| pack(place, &facts, name, spill);
        let (columns, by_row) = std::thread::scope(|scope| {
            let columns = scope.spawn(|| pack(columns, "columns"));
            let by_row = pack(by_row, "rows");
            (columns.join().unwrap_or_else(|why| std::panic::resume_unwind(why)), by_row)
        });
        let (columns, by_row) = (columns?, by_row?);
        if columns.hash.text() != by_row.hash.text() {
            let what =
                "the file changed during the conversion, or the disk returned wrong data: convert again";
            return Err(Stop::Read(Fault::content(what)));
        }
        for (n, (name, names)) in ["row_names", "col_names"].into_iter().zip(&self.names).enumerate() {
            if let Some(names) = names {
                let mut bytes = Vec::new();
                write_texts(&mut bytes, names, &[names.len() as u64])?;
                write_synced(&place.join(format!("{name}.npy")), &bytes)?;
                facts.names[n] = Some(xxh3_64_with_seed(&bytes, facts.seed(name)));
            }
        }
        let Written { stored, nonzero, longest, empty, sum, single, together, .. } = columns;
        let hashes = (columns.hash.text(), columns.transposed.text());
        facts = Facts {
            stored,
            nonzero,
            sum,
            single,
            longest: (by_row.longest, longest),
            empty: (by_row.empty, empty),
            together: (together, by_row.together),
            hash: hashes.0,
            transposed_hash: hashes.1,
            ..facts
        };
        Ok(facts.write(place)?)
    }

    /// Counts the entries, checks them, and distributes them to buckets of columns and of rows.
    fn distribute(&self, place: &Path, memory: u64) -> Result<[Spill; 2], Stop> {
        let (rows, cols) = self.shape;
        let [mut by_column, mut by_row] = [vec![0u64; cols], vec![0u64; rows]];
        let count = &mut |row: usize, col: usize, value: f64| {
            by_column[col] += 1;
            by_row[row] += 1;
            // Whether an entry is negative shows when all that is given for its place is added up.
            if value.is_finite() {
                Ok(())
            } else {
                Err(klnmf::Error::NotFinite(Entry { row, col, value }).into())
            }
        };
        (self.entries)(count).map_err(Stop::Read)?;
        let mut orders = [
            Spill::new(spill_in(place, "columns"), &by_column, memory / 2)?,
            Spill::new(spill_in(place, "rows"), &by_row, memory / 2)?,
        ];
        let mut failed = None;
        let distribute = &mut |i: usize, j: usize, value: f64| {
            let written = orders[0].put(j, i, value).and_then(|()| orders[1].put(i, j, value));
            written.map_err(|why| {
                failed = Some(why);
                Fault::content("")
            })
        };
        let distributed = (self.entries)(distribute);
        match failed {
            Some(why) => Err(Stop::Write(why)),
            None => distributed.map_err(Stop::Read).map(|()| orders),
        }
    }
}

/// Sorts and packs the lines of one order.
fn pack(place: &Path, facts: &Facts, name: &'static str, spill: Spill) -> Result<Written, Stop> {
    let length = if name == "columns" { facts.rows } else { facts.cols };
    let mut out = LineWriter::create(place, facts, name, spill.longest())?;
    let mut line = 0;
    spill.sorted::<Stop>(length, |lines| {
        for_each_line(lines.view(), facts.sparse, |idx, values| {
            if let Some(at) = values.iter().position(|x| !(0.0..f64::INFINITY).contains(x)) {
                let (place, value) = (idx.map_or(at, |idx| idx[at] as usize), values[at]);
                let (row, col) = if name == "columns" { (place, line) } else { (line, place) };
                return Err(Stop::Read(bad(Entry { row, col, value }).into()));
            }
            line += 1;
            Ok(out.push(idx, values)?)
        })
    })?;
    Ok(out.finish()?)
}

/// The error about an entry that is negative or not finite.
fn bad(entry: Entry) -> klnmf::Error {
    if entry.value.is_finite() { klnmf::Error::Negative(entry) } else { klnmf::Error::NotFinite(entry) }
}

/// Writes a file, and waits until it is on the disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()
}

/// Calls `f` with positions and values of every row; with all values if the matrix is not to be `sparse`.
fn for_each_line(
    rows: Matrix<'_, f64>,
    sparse: bool,
    mut f: impl FnMut(Option<&[u32]>, &[f64]) -> Result<(), Stop>,
) -> Result<(), Stop> {
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
