//! Entries of a matrix on their way into another order: on disk, in one file, in buckets of consecutive
//! lines.
//!
//! A bucket collects entries in memory and appends them to the file when there are enough, packed. Later
//! every bucket is read and sorted by itself. So the memory is bounded, and one file is open for each order.

use crate::packed::{Input, PADDING, pack_numbers, pack_values};
use crate::packed_lines::read_exact_at;
use klnmf::{Order, Sparse};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes of memory for an entry while it is sorted.
const IN_MEMORY: u64 = 40;
/// The most buckets.
const MOST_BUCKETS: u64 = 1000;
/// Entries that a bucket collects.
const COLLECTED: usize = 1024;

/// The entries of one order.
pub(crate) struct Spill {
    path: PathBuf,
    out: BufWriter<File>,
    end: u64,
    /// The bucket of every line.
    of_line: Vec<u32>,
    buckets: Vec<Bucket>,
    packed: Vec<u8>,
    longest: usize,
}

#[derive(Default)]
struct Bucket {
    first: usize,
    /// Line, counted from the first of the bucket, position and value.
    lines: Vec<u32>,
    positions: Vec<u32>,
    values: Vec<f64>,
    /// Where in the file its entries begin and end, and how many they are.
    pieces: Vec<(u64, u64, usize)>,
}

impl Spill {
    /// Creates the file for lines with these numbers of entries.
    pub(crate) fn new(path: PathBuf, counts: &[u64], memory: u64) -> io::Result<Self> {
        let most = (memory / IN_MEMORY).max(counts.iter().sum::<u64>() / MOST_BUCKETS).max(1);
        let (mut of_line, mut buckets, mut filled) = (Vec::with_capacity(counts.len()), Vec::new(), 0);
        for (line, count) in counts.iter().enumerate() {
            if buckets.is_empty() || (filled > 0 && filled + count > most) {
                buckets.push(Bucket { first: line, ..Bucket::default() });
                filled = 0;
            }
            filled += count;
            of_line.push(buckets.len() as u32 - 1);
        }
        let out = BufWriter::new(File::create_new(&path)?);
        let longest = counts.iter().max().copied().unwrap_or(0) as usize;
        Ok(Self { path, out, end: 0, of_line, buckets, packed: Vec::new(), longest })
    }

    /// The most entries of a line. Some may have the same position.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn put(&mut self, line: usize, position: usize, value: f64) -> io::Result<()> {
        let at = self.of_line[line] as usize;
        let bucket = &mut self.buckets[at];
        bucket.lines.push((line - bucket.first) as u32);
        bucket.positions.push(position as u32);
        bucket.values.push(value);
        if bucket.values.len() == COLLECTED { self.append(at) } else { Ok(()) }
    }

    /// Appends the entries that a bucket has collected.
    fn append(&mut self, bucket: usize) -> io::Result<()> {
        let Bucket { lines, positions, values, pieces, .. } = &mut self.buckets[bucket];
        self.packed.clear();
        pack_numbers(lines, &mut self.packed);
        pack_numbers(positions, &mut self.packed);
        pack_values(values, &mut self.packed);
        self.out.write_all(&self.packed)?;
        let end = self.end + self.packed.len() as u64;
        pieces.push((self.end, end, values.len()));
        self.end = end;
        lines.clear();
        positions.clear();
        values.clear();
        Ok(())
    }

    /// Ends the collection, passes the sorted lines of every bucket on as the rows of a matrix, in order, and
    /// removes the file. `length`: that of a line.
    pub(crate) fn sorted<E: From<klnmf::Error> + From<io::Error>>(
        mut self,
        length: usize,
        mut each: impl FnMut(Sparse<f64>) -> Result<(), E>,
    ) -> Result<(), E> {
        for bucket in 0..self.buckets.len() {
            self.append(bucket)?;
            let Bucket { lines, positions, values, .. } = &mut self.buckets[bucket];
            (*lines, *positions, *values) = (Vec::new(), Vec::new(), Vec::new());
        }
        self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let file = File::open(&self.path)?;
        let ends = self.buckets.iter().skip(1).map(|bucket| bucket.first).chain([self.of_line.len()]);
        for (bucket, end) in self.buckets.iter().zip(ends) {
            // Equal positions are added in the order of the file, as if the matrix were read into memory.
            let entries = |put: &mut dyn FnMut(usize, usize, f64) -> Result<(), E>| bucket.replay(&file, put);
            each(Sparse::from_triplets(end - bucket.first, length, Order::Rows, entries)?)?;
        }
        Ok(fs::remove_file(&self.path)?)
    }
}

impl Bucket {
    fn replay<E: From<io::Error>>(
        &self,
        file: &File,
        put: &mut dyn FnMut(usize, usize, f64) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut bytes, mut numbers, mut values) = (Vec::new(), Vec::new(), Vec::<f64>::new());
        for &(begin, end, count) in &self.pieces {
            let size = (end - begin) as usize;
            bytes.clear();
            bytes.resize(size + PADDING, 0);
            read_exact_at(file, &mut bytes[..size], begin)?;
            numbers.clear();
            values.clear();
            let mut input = Input::new(&bytes);
            let unpacked = input
                .numbers(count, &mut numbers)
                .and_then(|()| input.numbers(count, &mut numbers))
                .and_then(|()| input.values(count, &mut values));
            unpacked.ok_or_else(|| io::Error::other("another program has changed the temporary file"))?;
            let (lines, positions) = numbers.split_at(count);
            for ((line, position), value) in lines.iter().zip(positions).zip(&values) {
                put(*line as usize, *position as usize, *value)?;
            }
        }
        Ok(())
    }
}

/// The name of the file for an order.
pub(crate) fn spill_in(folder: &Path, order: &str) -> PathBuf {
    folder.join(format!("{order}.entries"))
}
