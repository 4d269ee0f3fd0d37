//! What several test files need.
#![allow(dead_code, reason = "each test file is its own program and uses its own part")]

use klnmf::{Mat, Scalar};
use klnmf_io::{Error, Stored, Table, read};
use std::fs;
use std::path::{Path, PathBuf};

/// A file that numpy or scipy wrote.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A folder that vanishes at the end, with one file in it.
pub struct Temporary {
    pub folder: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn temporary(name: &str, content: &[u8]) -> Temporary {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    Temporary { folder, path }
}

/// Reads `content` as a file of the given name.
pub fn read_bytes<T: Scalar>(name: &str, content: &[u8]) -> Result<Table<T>, Error> {
    read(&temporary(name, content).path)
}

/// The message of the error, without the folder; it must be one line that names the file.
pub fn message<V>(result: Result<V, Error>) -> String {
    let Err(error) = result else { panic!("an error was expected") };
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    match text.rsplit_once('/') {
        // Messages may hold a slash of their own; the folder is what stands before the file name.
        Some(_) if text.starts_with("cannot") => text,
        _ => {
            let end = text.find(": ").unwrap_or(text.len());
            let start = text[..end].rfind('/').map_or(0, |slash| slash + 1);
            text[start..].to_owned()
        }
    }
}

/// The error of reading `content`.
pub fn refused(name: &str, content: &[u8]) -> String {
    message(read_bytes::<f64>(name, content))
}

pub fn dense<T: Scalar>(table: Table<T>) -> Mat<T> {
    match table.matrix {
        Stored::Dense(matrix) => matrix,
        Stored::Sparse(_) => panic!("a dense matrix was expected"),
    }
}

/// A sparse matrix, spelled out.
pub fn sparse<T: Scalar>(table: Table<T>) -> Mat<T> {
    match table.matrix {
        Stored::Sparse(matrix) => matrix.to_dense(),
        Stored::Dense(_) => panic!("a sparse matrix was expected"),
    }
}

/// The matrix of the dense fixtures.
pub fn counting<T: Scalar>() -> Mat<T> {
    Mat::from_fn(3, 4, |i, j| T::from_f64((4 * i + j) as f64))
}

/// The matrix of the sparse fixtures.
pub fn scattered<T: Scalar>() -> Mat<T> {
    let rows: [[f64; 4]; 3] = [[0.0, 2.0, 0.0, 0.0], [1.0, 0.0, 0.0, 3.0], [0.0, 0.0, 4.0, 0.0]];
    Mat::from_fn(3, 4, |i, j| T::from_f64(rows[i][j]))
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}
