//! Readers and writers for klnmf.
//!
//! [`read`] reads a matrix from a file of any format, [`read_dense`] one that must be dense, and
//! [`read_model`] the factors of an earlier run. [`write_model`], [`write_npy`] and [`write_csv`] write
//! through [`atomically`]: a failed write leaves the old file unchanged. [`peek`] says what a file holds.
//!
//! | extension | content |
//! | --- | --- |
//! | `.npy` | a dense numpy array of any real or integer type, either byte order, C or Fortran order |
//! | `.npz` | a sparse matrix of `scipy.sparse.save_npz` (csr, csc, coo), or one dense array of `numpy.savez` |
//! | `.mtx` | MatrixMarket, sparse (`coordinate`) or dense (`array`) |
//! | `.csv`, `.tsv`, `.txt` | dense numbers, with or without names of rows and columns |
//! | `.h5ad` | AnnData: X, or a layer by [`read_layer`]; dense, csr or csc; plain, gzip or lzf; as genes × cells |
//! | `.h5` | the counts of 10x Genomics, features × cells |
//! | `.klnmf` | a folder that [`convert`] wrote, for data larger than memory |
//! | a folder | `matrix.mtx.gz` of 10x Genomics with the names of features and barcodes beside it |
//!
//! Text and `.npy` may be gzipped (`.mtx.gz`); this is detected by content. No file makes a reader panic:
//! every error is one line that names the file, the position and what to do. The size in a header is checked
//! against the length of the file before memory is allocated.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("counts.csv");
//! std::fs::write(&path, ",kitchen,garden\ncat,3,0\ndog,1,4\n")?;
//! let table = klnmf_io::read::<f64>(&path)?;
//! assert_eq!(table.row_names.as_deref(), Some(&["cat".to_owned(), "dog".to_owned()][..]));
//! assert_eq!(table.matrix.view().sum(), 8.0);
//!
//! std::fs::write(&path, "3,0\n1,four\n")?;
//! let error = klnmf_io::read::<f64>(&path).unwrap_err();
//! assert!(error.to_string().contains("counts.csv, line 2, column 2: \"four\" is not a number"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod anndata;
mod archive;
mod cells;
mod checkpoint;
mod convert;
mod csv_name;
mod dtype;
mod error;
mod folder;
mod format;
mod hash;
mod hdf5;
mod header;
mod held;
mod lines;
mod lzf;
mod memory;
mod model;
mod mtx;
mod names;
mod npy;
mod number;
mod origin;
mod output;
mod packed;
mod packed_lines;
mod scipy;
mod source;
mod spill;
mod spool;
mod summary;
mod table;
mod tenx;
mod text;
mod version;
mod zipped;

pub use checkpoint::{Checkpoint, Saver, fingerprint, read_checkpoint, write_checkpoint};
pub use convert::convert;
pub use csv_name::{csv_cell, harmless};
pub use error::{Error, one_line, quoted};
pub use folder::Folder;
pub use format::extension;
pub use hash::{DataHash, data_hash_text};
pub use header::Facts;
pub use model::{Model, read_metadata, read_model, write_model, write_spooled_model};
pub use names::read_names;
pub use npy::write_npy;
pub use number::rounded_to_zero;
pub use output::{
    NewFile, Target, abandon_unfinished, atomically, file_name, folder_of, without_path, write_text,
};
pub use packed_lines::PackedLines;
pub use spool::Spool;
pub use summary::{ArrayInfo, Summary, peek, peek_layer};
pub use table::{Stored, Table, holds_cells, read, read_dense, read_layer};
pub use text::write_csv;
