//! Files that are either written in full or not at all.

use crate::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file so that it appears complete or not at all.
///
/// `write` fills a temporary file in the same folder, which is synchronised with the disk and then renamed over `path`.
/// If anything fails the temporary file is removed, and an older file at `path` is as it was. A symbolic link is
/// followed. What is not a regular file (a device, a pipe) cannot be replaced and is written to directly.
pub fn atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    replace(path, write).map_err(|why| Error::Write { path: path.to_owned(), why })
}

fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    if let Some(old) = &old
        && !old.is_file()
    {
        // Opening a folder for writing fails with the right message.
        let mut out = BufWriter::new(File::options().write(true).open(&target)?);
        write(&mut out)?;
        return out.flush();
    }
    let unfinished = Unfinished { path: beside(&target)? };
    let mut out = BufWriter::new(File::create(&unfinished.path)?);
    write(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    if let Some(old) = old {
        fs::set_permissions(&unfinished.path, old.permissions())?;
    }
    fs::rename(&unfinished.path, &target)
}

/// A hidden name in the folder of `path`, so that renaming stays within one file system.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path does not end in a file name");
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(no_name)?);
    name.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}

/// Removes the temporary file when the writing ends, also by a panic; after the rename there is none left.
struct Unfinished {
    path: PathBuf,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
