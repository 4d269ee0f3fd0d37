//! Files that are written completely or not at all.
//!
//! A file is filled under a hidden name beside its target, such as `.counts.npz.klnmf-x7Qa2b`, and renamed
//! when it is complete. The hidden name is random and created exclusively, so nobody can prepare a link
//! there. The hidden file is locked. The system releases the lock of a killed program, so the next program
//! that writes to the same target knows that the file is left over, and removes it.
//!
//! A target that is a symbolic link is refused: following it would write where somebody else has pointed, and
//! replacing it would surprise those who made it on purpose. Links to devices and pipes are followed, because
//! `/dev/stdout` is one and nothing can be overwritten there.

use crate::Error;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;
use tempfile::TempPath;

/// The name of a new file, and whether it may replace an existing one. A path alone may.
#[derive(Clone, Copy, Debug)]
pub struct Target<'p> {
    path: &'p Path,
    replace: bool,
}

impl<'p> Target<'p> {
    /// A file that replaces an existing one only if `replace`.
    pub fn new(path: &'p Path, replace: bool) -> Self {
        Self { path, replace }
    }

    /// The name.
    pub fn path(&self) -> &'p Path {
        self.path
    }
}

impl<'p, P: AsRef<Path> + ?Sized> From<&'p P> for Target<'p> {
    fn from(path: &'p P) -> Self {
        Self::new(path.as_ref(), true)
    }
}

/// Writes a file completely or not at all.
///
/// `write` fills a temporary file in the same folder, which is synchronised with the disk and then renamed.
/// If anything fails, the temporary file is removed and an older file of that name is unchanged. A device or
/// a pipe cannot be replaced and is written to directly.
pub fn atomically<'p>(
    target: impl Into<Target<'p>>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let target = target.into();
    let file = NewFile::create(target)?;
    let filled = file.writer().and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    filled.map_err(|why| Error::Write { path: target.path.to_owned(), why })?;
    file.keep()
}

/// The name of a file without its folder, as text; the whole path if it does not end in a name.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The folder that a file is in, or will be.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a text completely or not at all.
pub fn write_text<'p>(target: impl Into<Target<'p>>, text: &str) -> Result<(), Error> {
    atomically(target, |out| out.write_all(text.as_bytes()))
}

/// A file that is filled over time and gets its name when it is complete and [kept](NewFile::keep). This is
/// [`atomically`] for content that arrives in pieces. If it is dropped before that, nothing remains.
pub struct NewFile {
    /// The file's name in the end.
    path: PathBuf,
    replace: bool,
    /// The open file; none while it is closed.
    file: Option<File>,
    /// The temporary file; none for a device or a pipe, which is written to directly.
    unfinished: Option<Unfinished>,
}

impl NewFile {
    /// Creates the file that will have this name. What killed programs have left of it is removed.
    pub fn create<'p>(target: impl Into<Target<'p>>) -> Result<Self, Error> {
        let target = target.into();
        Self::begin(target).map_err(|why| Error::Write { path: target.path.to_owned(), why })
    }

    fn begin(Target { path, replace }: Target<'_>) -> io::Result<Self> {
        let special = fs::metadata(path).is_ok_and(|old| !old.is_file());
        let (file, unfinished) = if special {
            // Opening a folder for writing fails with the right message.
            (File::options().write(true).open(path)?, None)
        } else if fs::symlink_metadata(path).is_ok_and(|old| old.is_symlink()) {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is a link; give the file itself"));
        } else {
            let (file, unfinished) = Unfinished::beside(path)?;
            (file, Some(unfinished))
        };
        Ok(Self { path: path.to_owned(), replace, file: Some(file), unfinished })
    }

    /// A file that is never renamed. Its hidden name is derived from `path`, which may exist.
    pub(crate) fn hidden(path: &Path) -> Result<Self, Error> {
        let begin = || {
            let (file, unfinished) = Unfinished::beside(path)?;
            Ok(Self { path: path.to_owned(), replace: false, file: Some(file), unfinished: Some(unfinished) })
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
        let path = self.unfinished.as_ref().map_or(self.path.as_path(), |unfinished| &unfinished.path);
        // Waits while unfinished files are being removed.
        let _all = all_unfinished();
        File::options().read(true).write(true).open(path)
    }

    /// Synchronises it with the disk and renames it. Writers must have been flushed. If it must not replace a
    /// file and one has appeared, it gets another name, and the error says which.
    pub fn keep(mut self) -> Result<(), Error> {
        self.settle().map_err(|why| Error::Write { path: self.path.clone(), why })
    }

    fn settle(&mut self) -> io::Result<()> {
        // A device may not support synchronising.
        let Some(unfinished) = &self.unfinished else { return Ok(()) };
        match &self.file {
            Some(file) => file.sync_all()?,
            None => self.reopened()?.sync_all()?,
        }
        let old = fs::symlink_metadata(&self.path).ok();
        if let Some(old) = old.filter(|old| old.is_file() && self.replace) {
            fs::set_permissions(&unfinished.path, old.permissions())?;
        }
        let _all = all_unfinished();
        if self.replace {
            return fs::rename(&unfinished.path, &self.path);
        }
        match fs::hard_link(&unfinished.path, &self.path) {
            Ok(()) => fs::remove_file(&unfinished.path),
            Err(why) if why.kind() == ErrorKind::AlreadyExists => Err(unfinished.rescue()),
            // This file system has no hard links.
            Err(_) if self.path.exists() => Err(unfinished.rescue()),
            Err(_) => fs::rename(&unfinished.path, &self.path),
        }
    }
}

/// Removes the temporary file when writing ends, even by a panic. After the rename there is none.
struct Unfinished {
    path: TempPath,
}

impl Unfinished {
    fn beside(path: &Path) -> io::Result<(File, Self)> {
        let no_name = || io::Error::new(ErrorKind::InvalidInput, "the path does not end in a file name");
        let prefix = hidden_prefix(path).ok_or_else(no_name)?;
        let folder = folder_of(path);
        remove_leftovers(folder, &prefix);
        let mut all = all_unfinished();
        let (file, path) = loop {
            let (file, path) = create(folder, &prefix).map_err(without_path)?.into_parts();
            // Where locks are not supported, no program takes the file for a leftover.
            let _ = file.lock();
            // Another program may have taken it for a leftover before it was locked.
            if path.exists() {
                break (file, path);
            }
        };
        all.insert(path.to_path_buf());
        Ok((file, Self { path }))
    }

    /// Gives the file a name that is not hidden, and says so.
    fn rescue(&self) -> io::Error {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let kept = self.path.with_file_name(name.trim_start_matches('.'));
        fs::rename(&self.path, &kept).err().unwrap_or_else(|| {
            let why = "a file of this name has appeared during the work; the result is in";
            io::Error::new(ErrorKind::AlreadyExists, format!("{why} {}", kept.display()))
        })
    }
}

/// How hidden names of a target begin. Long names are shortened, because file systems allow 255 bytes.
fn hidden_prefix(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    let short: String = name
        .char_indices()
        .take_while(|(at, letter)| at + letter.len_utf8() <= 200)
        .map(|(_, c)| c)
        .collect();
    Some(format!(".{short}.klnmf-"))
}

fn create(folder: &Path, prefix: &str) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        // As for any new file; the system removes what the user's mask forbids.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// The system's error of [`tempfile`] without the hidden name.
pub fn without_path(why: io::Error) -> io::Error {
    let cause = why.get_ref().and_then(|error| error.source()).map(ToString::to_string);
    cause.map_or(why.kind().into(), |cause| io::Error::new(why.kind(), cause))
}

/// Removes the files of killed programs: those that nobody has locked.
fn remove_leftovers(folder: &Path, prefix: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(prefix);
        if ours
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut all = all_unfinished();
        let _ = fs::remove_file(&self.path);
        all.remove(&*self.path);
    }
}

/// A folder that is removed if the program is ended.
pub(crate) struct UnfinishedFolder(PathBuf);

impl UnfinishedFolder {
    pub fn new(folder: &Path) -> Self {
        all_unfinished().insert(folder.to_owned());
        Self(folder.to_owned())
    }
}

impl Drop for UnfinishedFolder {
    fn drop(&mut self) {
        all_unfinished().remove(&self.0);
    }
}

/// The temporary files and folders of this process.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn all_unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files and folders of this process, which must exit right afterwards: a thread that creates,
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
        for path in all.iter() {
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        std::mem::forget(all);
        return;
    }
}
