//! The format of a file, by its extension.

use crate::error::Fault;
use crate::output::file_name;
use std::path::Path;

/// The formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Npz,
    Mtx,
    Csv,
    Tsv,
    Txt,
    /// AnnData.
    H5ad,
    /// 10x Genomics.
    H5,
}

/// The extension of a name in lower case, without the `.gz` that may follow it; empty if there is none.
pub fn extension(path: &Path) -> String {
    let name = file_name(path).to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, extension)| extension.to_owned())
}

impl Format {
    pub(crate) fn of(path: &Path) -> Result<Self, Fault> {
        match extension(path).as_str() {
            "npy" => Ok(Format::Npy),
            "npz" => Ok(Format::Npz),
            "mtx" => Ok(Format::Mtx),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "txt" => Ok(Format::Txt),
            "h5ad" => Ok(Format::H5ad),
            "h5" => Ok(Format::H5),
            "parquet" => Err(Fault::content(
                "Parquet is not read: save the counts as .npz with pandas and scipy.sparse.save_npz; docs/large.md has \
                 the two lines",
            )),
            _ => Err(Fault::content(
                "unknown file format: the name must end in .npy, .npz, .mtx, .csv, .tsv, .txt, .h5ad or .h5; text \
                 and .npy may end in .gz after that",
            )),
        }
    }
}
