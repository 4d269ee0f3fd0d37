//! Reading V for a verb: checked, and turned as the user wants it.

use crate::cmd::Data;
use klnmf::Scalar;
use klnmf_io::{Error, Table};

/// The matrix of a verb. Bad entries are named by their place in the file, so the check comes before the transposition.
pub fn read<T: Scalar>(data: &Data) -> anyhow::Result<Table<T>> {
    let table = klnmf_io::read::<T>(&data.path)?;
    table.matrix.view().check().map_err(|why| Error::matrix(&data.path, why))?;
    Ok(if data.transpose { table.transpose() } else { table })
}

/// Attaches the file's name to what the library says of its matrix.
pub fn about<V>(data: &Data, result: klnmf::Result<V>) -> anyhow::Result<V> {
    use klnmf::Error::{Empty, InfiniteStart, NeedsDense, Negative, NotFinite, ZeroRow};
    match result {
        Ok(value) => Ok(value),
        Err(
            why @ (Empty { .. }
            | Negative { .. }
            | NotFinite { .. }
            | ZeroRow { .. }
            | InfiniteStart { .. }
            | NeedsDense { .. }),
        ) => Err(Error::matrix(&data.path, why).into()),
        Err(why) => Err(why.into()),
    }
}

/// Fails before the work if a result could not be written after it: the folder must be there, and the path no folder.
pub fn check_outputs(paths: &[std::path::PathBuf]) -> anyhow::Result<()> {
    for path in paths {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
        if !folder.is_dir() {
            anyhow::bail!(
                "cannot write {}: there is no folder {}, create it first",
                path.display(),
                folder.display()
            );
        }
        if path.is_dir() {
            anyhow::bail!("cannot write {}: it is a folder, give a file name", path.display());
        }
    }
    Ok(())
}
