//! A hash that tells which data a model was made from.

use klnmf::{Matrix, Scalar};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A hash of the shape and the entries of a matrix.
///
/// It does not depend on how the matrix is stored: dense or sparse, by rows or by columns, with explicit
/// zeros or without, in f32 or in f64 if f32 holds the numbers exactly. Every entry that is not zero is
/// hashed with its place, and the hashes are added, because a sum does not depend on the order. 64 bits tell
/// data apart that differ by accident; they do not protect against forgery.
pub fn data_hash<T: Scalar>(v: Matrix<'_, T>) -> u64 {
    let shape = xxh3_64(&[(v.rows() as u64).to_le_bytes(), (v.cols() as u64).to_le_bytes()].concat());
    let entries = v.entries().filter(|(_, _, x)| *x != T::ZERO);
    entries.fold(shape, |sum, (row, col, x)| {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&(row as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&(col as u64).to_le_bytes());
        bytes[16..].copy_from_slice(&x.to_f64().to_bits().to_le_bytes());
        sum.wrapping_add(xxh3_64_with_seed(&bytes, shape))
    })
}

/// [`data_hash`] as it is written in models: 16 digits.
pub fn data_hash_text<T: Scalar>(v: Matrix<'_, T>) -> String {
    format!("{:016x}", data_hash(v))
}
