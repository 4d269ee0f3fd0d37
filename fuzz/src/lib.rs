//! Fuzz targets: every reader of files, and `factorize`, `decompose` and `Online` on arbitrary small
//! problems.
//!
//! A target is a function of bytes. It panics if something is wrong: a panic of the library, an error that is
//! not one line, a table with the wrong number of names, a certificate that is not true. `scripts/fuzz` runs
//! the targets on a stable compiler, with inputs from [`mutate`]; `cargo fuzz` can run them too (README.md).

pub mod files;
pub mod memory;
pub mod mutate;
pub mod outcome;
pub mod problems;
mod seal;
mod seeds;
pub mod sounds;
pub mod texts;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A function that looks at bytes, and good inputs from which others are made.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Panics if something is wrong.
    pub run: fn(&[u8]),
    /// Good inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($name:literal, $run:expr, $seeds:expr;)*) => {
        /// Every target.
        pub static TARGETS: [Target; [$($name),*].len()] =
            [$(Target { name: $name, run: $run, seeds: $seeds }),*];
    };
}

targets! {
    "npy", |data| files::matrix("v.npy", data), seeds::npy;
    "npy.gz", |data| files::matrix("v.npy.gz", data), || seeds::gzipped(seeds::npy());
    "npz", |data| files::archive(data, |data| files::matrix("v.npz", data)), seeds::npz;
    "mtx", |data| files::matrix("v.mtx", data), seeds::mtx;
    "mtx.gz", |data| files::matrix("v.mtx.gz", data), || seeds::gzipped(seeds::mtx());
    "csv", |data| files::matrix("v.csv", data), seeds::csv;
    "tsv", |data| files::matrix("v.tsv", data), seeds::csv;
    "txt", |data| files::matrix("v.txt", data), seeds::csv;
    "csv.gz", |data| files::matrix("v.csv.gz", data), || seeds::gzipped(seeds::csv());
    "h5ad", files::h5ad, seeds::h5ad;
    "h5", |data| files::matrix("v.h5", data), seeds::h5;
    "10x-folder", files::tenx_folder, seeds::tenx_folder;
    "klnmf-folder", files::packed_folder, seeds::packed_folder;
    "convert-mtx", |data| files::convert("v.mtx", data), seeds::mtx;
    "convert-csv", |data| files::convert("v.csv", data), seeds::csv;
    "convert-h5ad", |data| files::convert("v.h5ad", data), seeds::h5ad;
    "model", |data| files::archive(data, files::model), seeds::models;
    "checkpoint", |data| files::archive(data, files::checkpoint), seeds::checkpoints;
    "fit", |data| files::archive(data, files::fit), seeds::fits;
    "names", files::names, seeds::texts;
    "images", files::images, seeds::images;
    "wav", sounds::sound, seeds::wav;
    "flac", sounds::sound, seeds::flac;
    "ogg", sounds::sound, seeds::ogg;
    "mp3", sounds::sound, seeds::mp3;
    "text-lines", |data| texts::documents("a.txt", data), seeds::texts;
    "text-csv", |data| texts::documents("a.csv", data), seeds::texts;
    "text-tsv", |data| texts::documents("a.tsv", data), seeds::texts;
    "text-jsonl", |data| texts::documents("a.jsonl", data), seeds::texts;
    "text-gz", |data| texts::documents("a.txt.gz", data), || seeds::gzipped(seeds::texts());
    "text-folder", texts::folder, seeds::texts;
    "stop-words", texts::stop_words, seeds::texts;
    "factorize", problems::factorize, seeds::problems;
    "decompose", problems::decompose, seeds::problems;
    "online", problems::online, seeds::problems;
}

/// The variable with the folder for the files that the readers read; without it, a new one is made.
pub const SCRATCH: &str = "KLNMF_FUZZ_SCRATCH";

/// A folder in memory, if the system has one.
pub fn new_scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("klnmf-fuzz-").tempdir_in(parent);
    folder.expect("a folder for scratch files is needed").keep()
}

/// The folder for the files that the readers read.
pub fn scratch() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> =
        LazyLock::new(|| std::env::var_os(SCRATCH).map_or_else(new_scratch, PathBuf::from));
    &FOLDER
}

/// The bytes as so many pieces: every piece but the last begins with its length in two bytes.
pub(crate) fn pieces<const N: usize>(mut data: &[u8]) -> [&[u8]; N] {
    let mut piece = |at: usize| {
        let Some((length, rest)) = data.split_first_chunk().filter(|_| at + 1 < N) else {
            return std::mem::take(&mut data);
        };
        let (piece, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*length).into()));
        data = rest;
        piece
    };
    std::array::from_fn(&mut piece)
}

/// What [`pieces`] takes apart.
pub(crate) fn joined(pieces: &[Vec<u8>]) -> Vec<u8> {
    let (last, others) = pieces.split_last().expect("there is a piece");
    let mut data = Vec::new();
    for piece in others {
        data.extend((piece.len() as u16).to_le_bytes());
        data.extend(piece);
    }
    data.extend(last);
    data
}
