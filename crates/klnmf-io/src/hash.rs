//! A hash that tells which data a model was made from.

use klnmf::{Matrix, Order, Scalar};
use rayon::prelude::*;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Lines that one thread hashes at a time.
const PART: usize = 64;

/// A hash of the shape and the entries of a matrix.
///
/// It does not depend on how the matrix is stored: dense or sparse, by rows or by columns, with explicit
/// zeros or without, in f32 or in f64 if f32 holds the numbers exactly. Every entry that is not zero is
/// hashed with its place, and the hashes are added, because a sum does not depend on the order. 64 bits tell
/// data apart that differ by accident; they do not protect against forgery.
pub struct DataHash {
    shape: u64,
    sum: u64,
}

impl DataHash {
    /// The hash of a matrix without entries.
    pub fn new(rows: usize, cols: usize) -> Self {
        let shape = xxh3_64(&[(rows as u64).to_le_bytes(), (cols as u64).to_le_bytes()].concat());
        Self { shape, sum: shape }
    }

    /// Adds an entry.
    pub fn add(&mut self, row: usize, col: usize, x: f64) {
        if x == 0.0 {
            return;
        }
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&(row as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&(col as u64).to_le_bytes());
        bytes[16..].copy_from_slice(&x.to_bits().to_le_bytes());
        self.sum = self.sum.wrapping_add(xxh3_64_with_seed(&bytes, self.shape));
    }

    /// The part of the entries, to be [added](Self::add_part) to that of other entries of the matrix.
    pub fn part(&self) -> u64 {
        self.sum.wrapping_sub(self.shape)
    }

    /// Adds entries that were hashed elsewhere.
    pub fn add_part(&mut self, part: u64) {
        self.sum = self.sum.wrapping_add(part);
    }

    /// The hash as it is written in models: 16 digits.
    pub fn text(&self) -> String {
        format!("{:016x}", self.sum)
    }
}

/// The [`DataHash`] of a matrix in memory, as text, on all threads if called in a pool.
pub fn data_hash_text<T: Scalar>(v: Matrix<'_, T>) -> String {
    let lines = if v.order() == Order::Columns { v.cols() } else { v.rows() };
    let empty = DataHash::new(v.rows(), v.cols());
    let part = |first: usize| {
        let mut hash = DataHash { ..empty };
        v.entries_in(first..(first + PART).min(lines))
            .for_each(|(row, col, x)| hash.add(row, col, x.to_f64()));
        hash.part()
    };
    // Outside a pool there is one thread. Those of rayon's own pool would not survive a fork of the process.
    let sum = match rayon::current_thread_index() {
        Some(_) => (0..lines).into_par_iter().step_by(PART).map(part).reduce(|| 0, u64::wrapping_add),
        None => (0..lines).step_by(PART).map(part).fold(0, u64::wrapping_add),
    };
    DataHash { sum: empty.sum.wrapping_add(sum), ..empty }.text()
}
