//! Files that are either written in full or not at all.

use crate::Error;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

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
    /// None while it is closed.
    file: Option<File>,
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
        Ok(Self { path: path.to_owned(), target, file: Some(file), unfinished })
    }

    /// A file that never appears, with a hidden name made of `path`, whatever may be there.
    pub(crate) fn hidden(path: &Path) -> Result<Self, Error> {
        let begin = || {
            let (file, unfinished) = Unfinished::beside(path)?;
            let (path, target) = (path.to_owned(), path.to_owned());
            Ok(Self { path, target, file: Some(file), unfinished: Some(unfinished) })
        };
        begin().map_err(|why| Error::Write { path: path.to_owned(), why })
    }

    /// A writer to it; all that are had share one place in the file, until it is closed.
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

    /// Does something with the file, opened at its beginning, and closes it again: of many files that are filled at the same
    /// time, only those need be open that are being written to. What is not a regular file stays open, where it was.
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
        // Not while all that is unfinished is being removed.
        let _all = all_unfinished();
        File::options().read(true).write(true).open(path)
    }

    /// Synchronises it with the disk, so that keeping it is a matter of its name only. Writers must have been flushed.
    pub fn sync(&self) -> Result<(), Error> {
        self.synchronised().map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    fn synchronised(&self) -> io::Result<()> {
        match (&self.unfinished, &self.file) {
            // A device may not know what that is.
            (None, _) => Ok(()),
            (_, Some(file)) => file.sync_all(),
            (_, None) => self.reopened()?.sync_all(),
        }
    }

    /// Where it is until it is kept.
    pub fn hidden_path(&self) -> &Path {
        self.unfinished.as_ref().map_or(&self.target, |unfinished| &unfinished.path)
    }

    /// Synchronises it with the disk and puts it in its place; writers must have been flushed.
    pub fn keep(self) -> Result<(), Error> {
        self.settle(&self.target).map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    /// [Keeps](NewFile::keep) it at another path of the same file system; where that fails, another path can be tried. What is
    /// written to directly stays where it is.
    pub fn keep_at(&self, path: &Path) -> Result<(), Error> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        self.settle(&target).map_err(|why| Error::Write { path: path.to_owned(), why })
    }

    fn settle(&self, target: &Path) -> io::Result<()> {
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        self.synchronised()?;
        if let Some(old) = fs::metadata(target).ok().filter(fs::Metadata::is_file) {
            fs::set_permissions(&unfinished.path, old.permissions())?;
        }
        let _all = all_unfinished();
        fs::rename(&unfinished.path, target)
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
        let mut all = all_unfinished();
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
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

/// Removes the temporary files of this process. Only for one that ends right after: whoever begins, keeps or drops a file
/// from now on waits for ever. Somebody may be busy with them on a slow disk; after a second they stay as they are.
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

/// Removes temporary files that processes which are gone have left in a folder, of files that `ours` knows by their names.
/// That a process is gone can be seen on Linux; elsewhere nothing is removed. A process in another container, or on another
/// computer that shares the folder, seems to be gone too: files that were written to within the last hour stay.
pub fn remove_abandoned(folder: &Path, ours: impl Fn(&str) -> bool) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let left = name
            .to_str()
            .and_then(taken_apart)
            .is_some_and(|(file, process)| ours(file) && !processes.join(process.to_string()).exists());
        if left && entry.metadata().is_ok_and(|about| about.is_file() && is_old(&about)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file has not been written to for an hour. One whose time is to come does not count.
fn is_old(about: &fs::Metadata) -> bool {
    let age = about.modified().ok().and_then(|then| then.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(3600))
}

/// The file and the process that a temporary name was made of by [`beside`].
fn taken_apart(name: &str) -> Option<(&str, u32)> {
    let (file, process) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    Some((file, process.parse().ok()?))
}
