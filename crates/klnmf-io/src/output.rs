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
    let file = NewFile::create(path)?;
    let filled = file.writer().and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    filled.map_err(|why| Error::Write { path: path.to_owned(), why })?;
    file.keep()
}

/// A file that is filled over time and appears, complete, when it is [kept](NewFile::keep): what [`atomically`] does, for a
/// writer that cannot wait for all of the content. Dropped before that, it leaves nothing behind.
pub struct NewFile {
    /// What the caller calls it, for messages.
    path: PathBuf,
    target: PathBuf,
    file: File,
    /// None for what is not a regular file and is written to directly.
    unfinished: Option<Unfinished>,
}

impl NewFile {
    /// Begins the file that will be at `path`.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::begin(path).map_err(|why| Error::Write { path: path.to_owned(), why })
    }

    fn begin(path: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let special = fs::metadata(&target).is_ok_and(|old| !old.is_file());
        let (file, unfinished) = if special {
            // Opening a folder for writing fails with the right message.
            (File::options().write(true).open(&target)?, None)
        } else {
            let (file, unfinished) = Unfinished::beside(&target)?;
            (file, Some(unfinished))
        };
        Ok(Self { path: path.to_owned(), target, file, unfinished })
    }

    /// A file that never appears, with a hidden name made of `path`, whatever may be there.
    pub(crate) fn hidden(path: &Path) -> Result<Self, Error> {
        let begin = || {
            let (file, unfinished) = Unfinished::beside(path)?;
            Ok(Self { path: path.to_owned(), target: path.to_owned(), file, unfinished: Some(unfinished) })
        };
        begin().map_err(|why| Error::Write { path: path.to_owned(), why })
    }

    /// A writer to it; all that are had share one place in the file.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        Ok(BufWriter::new(self.file.try_clone()?))
    }

    /// The file itself, to read back what has been written.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Synchronises it with the disk and puts it in its place; writers must have been flushed.
    pub fn keep(self) -> Result<(), Error> {
        self.settle().map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    fn settle(&self) -> io::Result<()> {
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        self.file.sync_all()?;
        if let Ok(old) = fs::metadata(&self.target) {
            fs::set_permissions(&unfinished.path, old.permissions())?;
        }
        fs::rename(&unfinished.path, &self.target)
    }
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

impl Unfinished {
    fn beside(path: &Path) -> io::Result<(File, Self)> {
        let path = beside(path)?;
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok((file, Self { path }))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
