//! The packed columns or rows of a [`Folder`](crate::Folder): a file of units of lines, each after its
//! checksum, and a file `.ends` with the end of every unit and a checksum.

use crate::convert::write_synced;
use crate::error::Fault;
use crate::hash::DataHash;
use crate::header::Facts;
use crate::packed::{PADDING, Unit, unpack};
use klnmf::{LineBuffer, Lines, Scalar};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of a checksum.
const CHECKSUM: usize = 4;
/// The most lines in a unit, and the most numbers, unless a single line has more.
const MOST_LINES: usize = 48;
const MOST_NUMBERS: usize = 1 << 20;

/// The packed columns or rows of a [`Folder`](crate::Folder).
pub struct PackedLines {
    path: PathBuf,
    file: File,
    /// The end of every unit in the file.
    ends: Vec<u64>,
    lines: usize,
    length: usize,
    sparse: bool,
    longest: usize,
    together: usize,
    seed: u32,
}

impl PackedLines {
    /// Opens the columns or the rows of a folder with these facts.
    pub(crate) fn open(folder: &Path, facts: &Facts, name: &str) -> Result<Self, Fault> {
        let what = format!(
            "the file {name} is damaged or of another matrix: remove the folder and convert the data again"
        );
        let damaged = || Fault::content(what.clone());
        let (lines, length, longest, together) = match name {
            "columns" => (facts.cols, facts.rows, facts.longest.1, facts.together.0),
            _ => (facts.rows, facts.cols, facts.longest.0, facts.together.1),
        };
        if together == 0 || longest > length {
            return Err(damaged());
        }
        let (units, mut bytes, seed) = (lines.div_ceil(together), Vec::new(), facts.seed(name) as u32);
        // A longer file need not be read.
        let size = (units as u64).checked_mul(8).filter(|size| *size < u64::MAX / 2).ok_or_else(damaged)?;
        let most = size + CHECKSUM as u64 + 1;
        File::open(folder.join(format!("{name}.ends")))?.take(most).read_to_end(&mut bytes)?;
        let checksum = bytes.len().checked_sub(CHECKSUM).map(|at| bytes.split_off(at)).ok_or_else(damaged)?;
        if crc(&bytes, seed).to_le_bytes()[..] != checksum || bytes.len() as u64 != size {
            return Err(damaged());
        }
        let ends: Vec<u64> = bytes.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end)).collect();
        let path = folder.join(name);
        let file = File::open(&path)?;
        let whole = ends.last().copied().unwrap_or(0) == file.metadata()?.len();
        if !whole || !ends.is_sorted() {
            return Err(damaged());
        }
        let sparse = facts.sparse;
        Ok(Self { path, file, ends, lines, length, sparse, longest, together, seed })
    }

    /// The bytes of every line, which tell how much work it is. Lines that are packed together count alike.
    pub fn bytes(&self) -> Vec<u64> {
        let of = |line: usize| {
            let unit = line / self.together;
            let lines = self.together.min(self.lines - unit * self.together);
            (self.end(unit + 1) - self.end(unit)) / lines as u64
        };
        (0..self.lines).map(of).collect()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn end(&self, units: usize) -> u64 {
        if units == 0 { 0 } else { self.ends[units - 1] }
    }

    fn read<T: Scalar>(&self, lines: Range<usize>, to: &mut LineBuffer<T>) -> Result<(), String> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut to.bytes);
        let units = lines.start / self.together..lines.end.div_ceil(self.together);
        let first = units.start * self.together;
        let found = self.read_units(units, &mut bytes, to);
        to.bytes = bytes;
        found?;
        self.trim(lines.start - first, lines.len(), to);
        Ok(())
    }

    /// Keeps `count` lines after the first `before`.
    fn trim<T: Scalar>(&self, before: usize, count: usize, to: &mut LineBuffer<T>) {
        let end = |lines: usize| match lines {
            lines if !self.sparse => lines * self.length,
            0 => 0,
            lines => to.ends[lines - 1],
        };
        let here = end(before)..end(before + count);
        to.values.truncate(here.end);
        to.values.drain(..here.start);
        if self.sparse {
            to.idx.truncate(here.end);
            to.idx.drain(..here.start);
            to.ends.truncate(before + count);
            to.ends.drain(..before);
            to.ends.iter_mut().for_each(|end| *end -= here.start);
        }
    }

    /// Appends all lines of some units.
    fn read_units<T: Scalar>(
        &self,
        units: Range<usize>,
        bytes: &mut Vec<u8>,
        to: &mut LineBuffer<T>,
    ) -> Result<(), String> {
        let name = self.path.display();
        let start = self.end(units.start);
        let size = (self.end(units.end) - start) as usize;
        if bytes.len() < size + PADDING {
            bytes.resize(size + PADDING, 0);
        }
        read_exact_at(&self.file, &mut bytes[..size], start)
            .map_err(|why| format!("cannot read {name}: {why}; convert the data again if it was moved"))?;
        for unit in units {
            let here = (self.end(unit) - start) as usize..(self.end(unit + 1) - start) as usize;
            let lines = self.together.min(self.lines - unit * self.together);
            let seed = self.seed.wrapping_add(unit as u32);
            let record = bytes[here.start..here.end + PADDING].split_first_chunk::<CHECKSUM>();
            let sound = record.filter(|(checksum, rest)| {
                let packed = rest.len().checked_sub(PADDING).map(|size| &rest[..size]);
                packed.is_some_and(|bytes| crc(bytes, seed).to_le_bytes() == **checksum)
            });
            sound.and_then(|(_, packed)| unpack(packed, (lines, self.length), self.sparse, to)).ok_or_else(
                || {
                    let line = unit * self.together;
                    format!(
                        "{name}: the lines from {line} on are damaged: remove the folder and convert again"
                    )
                },
            )?;
        }
        Ok(())
    }
}

impl Lines for PackedLines {
    fn shape(&self) -> (usize, usize) {
        (self.lines, self.length)
    }

    fn is_sparse(&self) -> bool {
        self.sparse
    }

    fn longest(&self) -> usize {
        self.longest
    }

    fn together(&self) -> usize {
        self.together
    }

    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer<f64>) -> Result<(), String> {
        self.read(lines, to)
    }

    fn read_f32(&self, lines: Range<usize>, to: &mut LineBuffer<f32>) -> Result<(), String> {
        self.read(lines, to)
    }
}

/// Writes the packed lines of one order.
pub(crate) struct LineWriter {
    name: &'static str,
    folder: PathBuf,
    out: BufWriter<File>,
    unit: Unit,
    packed: Vec<u8>,
    ends: Vec<u8>,
    end: u64,
    seed: u32,
    lines: usize,
    written: Written,
}

/// What is known of lines that were written.
pub(crate) struct Written {
    pub(crate) stored: u64,
    pub(crate) nonzero: u64,
    pub(crate) longest: usize,
    /// Lines without an entry that is not zero.
    pub(crate) empty: usize,
    /// The sum of all lines, line by line.
    pub(crate) sum: f64,
    /// Whether f32 holds all numbers exactly.
    pub(crate) single: bool,
    pub(crate) together: usize,
    /// The hashes of V and of Vᵀ.
    pub(crate) hash: DataHash,
    pub(crate) transposed: DataHash,
}

impl LineWriter {
    /// Creates the files for lines of which none has more than `longest` entries.
    pub(crate) fn create(
        folder: &Path,
        facts: &Facts,
        name: &'static str,
        longest: usize,
    ) -> io::Result<Self> {
        let lines = if name == "columns" { facts.cols } else { facts.rows };
        // As many lines as a thread takes at a time: the kernels take eight or sixteen dense ones together.
        let usual =
            if facts.sparse { lines.div_ceil(64).clamp(1, MOST_LINES) } else { 8.min(lines / 64).max(1) };
        let together = usual.min((MOST_NUMBERS / longest.max(1)).max(1));
        Ok(Self {
            name,
            folder: folder.to_owned(),
            out: BufWriter::with_capacity(1 << 20, File::create_new(folder.join(name))?),
            unit: Unit::default(),
            packed: Vec::new(),
            ends: Vec::new(),
            end: 0,
            seed: facts.seed(name) as u32,
            lines: 0,
            written: Written {
                stored: 0,
                nonzero: 0,
                longest: 0,
                empty: 0,
                sum: 0.0,
                single: true,
                together,
                hash: DataHash::new(facts.rows, facts.cols),
                transposed: DataHash::new(facts.cols, facts.rows),
            },
        })
    }

    /// Adds a line; without positions, a dense one.
    pub(crate) fn push(&mut self, idx: Option<&[u32]>, values: &[f64]) -> io::Result<()> {
        let (line, written, columns) = (self.lines, &mut self.written, self.name == "columns");
        let (mut nonzero, mut sum) = (0, 0.0);
        for (at, x) in values.iter().enumerate() {
            let place = idx.map_or(at, |idx| idx[at] as usize);
            let (row, col) = if columns { (place, line) } else { (line, place) };
            written.hash.add(row, col, *x);
            if columns {
                written.transposed.add(col, row, *x);
            }
            nonzero += u64::from(*x != 0.0);
            written.single &= f64::from(*x as f32) == *x;
            sum += x;
        }
        written.stored += values.len() as u64;
        written.nonzero += nonzero;
        written.empty += usize::from(nonzero == 0);
        written.longest = written.longest.max(values.len());
        written.sum += sum;
        self.lines += 1;
        self.unit.push(idx, values);
        if self.unit.lines() == written.together { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packed.clear();
        self.unit.pack(&mut self.packed);
        let seed = self.seed.wrapping_add((self.ends.len() / 8) as u32);
        self.out.write_all(&crc(&self.packed, seed).to_le_bytes())?;
        self.out.write_all(&self.packed)?;
        self.end += (CHECKSUM + self.packed.len()) as u64;
        self.ends.extend_from_slice(&self.end.to_le_bytes());
        Ok(())
    }

    /// Completes the files, and waits until they are on the disk.
    pub(crate) fn finish(mut self) -> io::Result<Written> {
        if self.unit.lines() > 0 {
            self.flush()?;
        }
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        let checksum = crc(&self.ends, self.seed).to_le_bytes();
        self.ends.extend_from_slice(&checksum);
        write_synced(&self.folder.join(format!("{}.ends", self.name)), &self.ends)?;
        Ok(self.written)
    }
}

/// The checksum of some bytes, which depends on where they belong. CRC-32, because it is many times faster
/// than other checksums on processors with an instruction for it.
fn crc(bytes: &[u8], seed: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed);
    hasher.update(bytes);
    hasher.finalize()
}

/// Reads from a position, without moving that of the file, so that threads can share it.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Reads from a position. Every reading gives its position, so that threads can share the file.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, at) = (&mut bytes[read..], at + read as u64),
        }
    }
    Ok(())
}
