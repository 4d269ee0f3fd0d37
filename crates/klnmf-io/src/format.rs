//! The format of a file, by its extension.

use crate::error::Fault;
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
}

impl Format {
    pub(crate) fn of(path: &Path) -> Result<Self, Fault> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "npy" => Ok(Format::Npy),
            "npz" => Ok(Format::Npz),
            "mtx" => Ok(Format::Mtx),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "txt" => Ok(Format::Txt),
            _ => Err(Fault::content(
                "unknown file format: the name must end in .npy, .npz, .mtx, .csv, .tsv or .txt; all but \
                 .npz may end in .gz after that",
            )),
        }
    }
}
