//! Files that are written completely or not at all.

use crate::Error;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Writes a file completely or not at all.
///
/// `write` fills a temporary file in the same folder, which is synchronised with the disk and then renamed to
/// `path`. If anything fails, the temporary file is removed and an older file at `path` is unchanged.
/// Symbolic links are followed. A device or a pipe cannot be replaced and is written to directly.
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

/// A file that is filled over time and gets its name when it is complete and [kept](NewFile::keep). This is
/// [`atomically`] for content that arrives in pieces. If it is dropped before that, nothing remains.
pub struct NewFile {
    /// The caller's name of the file, for messages.
    path: PathBuf,
    target: PathBuf,
    /// The open file; none while it is closed.
    file: Option<File>,
    /// The temporary file; none for a device or a pipe, which is written to directly.
    unfinished: Option<Unfinished>,
}

impl NewFile {
    /// Creates the file that will be at `path`.
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
        Ok(Self { path: path.to_owned(), target, file: Some(file), unfinished })
    }

    /// A file that is never renamed. Its hidden name is derived from `path`, which may exist.
    pub(crate) fn hidden(path: &Path) -> Result<Self, Error> {
        let begin = || {
            let (file, unfinished) = Unfinished::beside(path)?;
            let (path, target) = (path.to_owned(), path.to_owned());
            Ok(Self { path, target, file: Some(file), unfinished: Some(unfinished) })
        };
        begin().map_err(|why| Error::Write { path: path.to_owned(), why })
    }

    /// A writer to the file. All writers share one position until the file is closed.
    pub fn writer(&self) -> io::Result<BufWriter<File>> {
        let file = self.file.as_ref().map_or_else(|| self.reopened(), File::try_clone)?;
        Ok(BufWriter::new(file))
    }

    /// The file itself, to read back what has been written.
    pub(crate) fn file(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.file = Some(self.reopened()?);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }

    /// Opens the file at its beginning, calls a function with it, and closes it again, so that of many files
    /// only those being written to are open. A device or a pipe stays open at its position.
    pub fn visit<V>(&mut self, work: impl FnOnce(&mut File) -> io::Result<V>) -> Result<V, Error> {
        if self.unfinished.is_some() {
            self.file = None;
        }
        let result = self.file().and_then(work);
        if self.unfinished.is_some() {
            self.file = None;
        }
        result.map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    fn reopened(&self) -> io::Result<File> {
        let path = self.unfinished.as_ref().map_or(&self.target, |unfinished| &unfinished.path);
        // Waits while unfinished files are being removed.
        let _all = all_unfinished();
        File::options().read(true).write(true).open(path)
    }

    /// Synchronises it with the disk and renames it. Writers must have been flushed.
    pub fn keep(self) -> Result<(), Error> {
        self.settle().map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    fn settle(&self) -> io::Result<()> {
        // A device may not support synchronising.
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        match &self.file {
            Some(file) => file.sync_all()?,
            None => self.reopened()?.sync_all()?,
        }
        if let Some(old) = fs::metadata(&self.target).ok().filter(fs::Metadata::is_file) {
            fs::set_permissions(&unfinished.path, old.permissions())?;
        }
        let _all = all_unfinished();
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

/// Removes the temporary file when writing ends, even by a panic. After the rename there is none.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn beside(path: &Path) -> io::Result<(File, Self)> {
        let path = beside(path)?;
        let mut all = all_unfinished();
        // A file of this name was left by a dead process. A link that somebody has put there is not followed.
        let _ = fs::remove_file(&path);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        all.insert(path.clone());
        Ok((file, Self { path }))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut all = all_unfinished();
        let _ = fs::remove_file(&self.path);
        all.remove(&self.path);
    }
}

/// The temporary files of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn all_unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process, which must exit right afterwards: a thread that creates,
/// keeps or drops a file from now on waits forever. If another thread holds the list of files for more than a
/// second, they stay.
pub fn abandon_unfinished() {
    for _ in 0..100 {
        let all = match UNFINISHED.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(all)) => all.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        all.iter().for_each(|path| drop(fs::remove_file(path)));
        std::mem::forget(all);
        return;
    }
}
