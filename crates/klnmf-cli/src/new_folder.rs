//! A folder of results that appears as a whole, or not at all.
//!
//! The files are written into a hidden folder beside the target and moved into place when they are complete:
//!
//! ```text
//! .stems.klnmf-x7Qa2b/    created exclusively, beside `stems`
//!     lock                locked while the program runs
//!     new/                becomes `stems`
//!     old/                was `stems`, and is deleted after the move
//! ```
//!
//! A program that is killed leaves the old folder or the new one. If it is killed between the two moves, the
//! next run completes the second one. The system releases the lock of a killed program, so the next run knows
//! that the hidden folder is left over and removes it.

use crate::{interrupt, outputs};
use anyhow::{Context, bail};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const LOCK: &str = "lock";
const UNLOCKED: &str = "unlocked";
const NEW: &str = "new";
const OLD: &str = "old";

/// A folder that is being filled. If it is dropped before it is [kept](NewFolder::keep), nothing remains.
pub struct NewFolder {
    target: PathBuf,
    force: bool,
    written: fn(&Path) -> Vec<String>,
    hidden: TempDir,
    /// Holds the lock.
    _lock: File,
    /// Messages about hidden folders that could not be removed.
    pub notes: Vec<String>,
}

impl NewFolder {
    /// Begins a folder at `target`, which must not exist or must be empty. With `force`, a folder that holds
    /// nothing but what `written` finds in it is replaced: files, and folders, whose names end in a slash.
    /// `needed` are files that must not be in it.
    pub fn create(
        target: &Path,
        force: bool,
        needed: &[PathBuf],
        written: fn(&Path) -> Vec<String>,
    ) -> anyhow::Result<Self> {
        let out = target.display();
        let Some(name) = target.file_name() else { bail!("--out {out}: give the name of a folder") };
        outputs::check_parent(target)?;
        let parent = klnmf_io::folder_of(target);
        let prefix = format!(".{}.klnmf-", name.to_string_lossy());
        let notes = remove_leftovers(target, parent, &prefix);
        if exists(target)? {
            check_apart(target, needed)?;
            check(target, target, force, written)?;
        }
        let begun = begin(parent, &prefix);
        let (hidden, _lock) =
            begun.with_context(|| format!("cannot create a folder in {}", parent.display()))?;
        Ok(Self { target: target.to_owned(), force, written, hidden, _lock, notes })
    }

    /// The path of the new folder, until it is kept.
    pub fn path(&self) -> PathBuf {
        self.hidden.path().join(NEW)
    }

    /// The path of a new file, until the folder is kept.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Puts everything in it that the target holds. The files are the same ones on the disk, if it can do
    /// that: a file that is written later is a new one, and the target keeps the old.
    pub fn copy_target(&self) -> anyhow::Result<()> {
        let cannot = || format!("cannot copy the folder {}", self.target.display());
        if !exists(&self.target)? {
            return Ok(());
        }
        copy_folder(&self.target, &self.path()).with_context(cannot)
    }

    /// Moves the folder into place. If that fails, the results stay where they are, and the error says where.
    pub fn keep(self) -> anyhow::Result<()> {
        interrupt::forget(self.hidden.path());
        let Err(why) = self.swap() else { return Ok(()) };
        let hidden = self.hidden.keep();
        // Without the lock, no later run takes the results for a leftover.
        let _ = fs::remove_file(hidden.join(LOCK));
        bail!("{why:#}; the results are in {}", hidden.join(NEW).display())
    }

    fn swap(&self) -> anyhow::Result<()> {
        let target = &self.target;
        let [new, old] = [NEW, OLD].map(|name| self.hidden.path().join(name));
        let cannot = || format!("cannot move the results to {}", target.display());
        if !exists(target)? {
            return fs::rename(new, target).with_context(cannot);
        }
        fs::set_permissions(&new, fs::metadata(target)?.permissions()).with_context(cannot)?;
        fs::rename(target, &old).with_context(cannot)?;
        // Something may have come into the folder during the work.
        let checked = check(target, &old, self.force, self.written);
        let moved = checked.and_then(|()| fs::rename(new, target).with_context(cannot));
        if moved.is_err() {
            fs::rename(&old, target).with_context(|| format!("cannot move {} back", old.display()))?;
        }
        moved
    }
}

/// Creates the hidden folder and locks it.
fn begin(parent: &Path, prefix: &str) -> io::Result<(TempDir, File)> {
    let made = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
    let hidden = made.map_err(klnmf_io::without_path)?;
    interrupt::made(hidden.path(), true);
    fs::create_dir(hidden.path().join(NEW))?;
    // The file gets its name when it is locked. Where locks are not supported, it does not, and no later run
    // takes this folder for a leftover.
    let unlocked = hidden.path().join(UNLOCKED);
    let lock = File::create_new(&unlocked)?;
    if lock.try_lock().is_ok() {
        fs::rename(unlocked, hidden.path().join(LOCK))?;
    }
    Ok((hidden, lock))
}

/// Whether the target exists; fails if it is not a folder. A link is not followed.
pub fn exists(target: &Path) -> anyhow::Result<bool> {
    let out = target.display();
    match fs::symlink_metadata(target) {
        Ok(about) if about.is_dir() => Ok(true),
        Ok(about) if about.is_symlink() => bail!("--out {out}: it is a link; give the folder itself"),
        Ok(_) => bail!("--out {out}: it is a file; give the name of a folder"),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(false),
        Err(why) => Err(why).with_context(|| format!("--out {out}")),
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, old, new) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&new)?;
            copy_folder(&old, &new)?;
        } else if kind.is_file() && fs::hard_link(&old, &new).is_err() {
            fs::copy(&old, &new)?;
        }
    }
    Ok(())
}

/// Fails if the current folder or one of these files is in the target.
fn check_apart(target: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let (out, target) = (target.display(), fs::canonicalize(target)?);
    let inside = |path: &Path| fs::canonicalize(path).is_ok_and(|place| place.starts_with(&target));
    if inside(Path::new(".")) {
        bail!("--out {out}: the current folder is in it; give another");
    }
    for file in files {
        // A file that is still to be written has only a folder.
        if inside(file) || std::path::absolute(file)?.parent().is_some_and(inside) {
            let file = file.display();
            bail!("--out {out}: {file}, an input or the file of --save, is in this folder; give another");
        }
    }
    Ok(())
}

/// Fails if a folder, which is the target or was it, must not be replaced.
fn check(target: &Path, folder: &Path, force: bool, written: fn(&Path) -> Vec<String>) -> anyhow::Result<()> {
    let out = target.display();
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.with_context(|| format!("cannot read the folder {out}"))?;
    if !force && !entries.is_empty() {
        bail!("--out {out}: the folder is not empty; give another, or --force to replace it");
    }
    let written = written(folder);
    for entry in entries {
        let (kind, name) = (entry.file_type()?, entry.file_name());
        let own = |own: &String| match own.strip_suffix('/') {
            Some(folder) => kind.is_dir() && name == folder,
            None => kind.is_file() && name == own.as_str(),
        };
        if !written.iter().any(own) {
            bail!(
                "--out {out}: --force does not replace this folder, because klnmf did not write {} in it; \
                 give another, or move this away",
                name.display()
            );
        }
    }
    Ok(())
}

/// Removes what killed programs have left. What may not be a leftover stays, and a note names it.
fn remove_leftovers(target: &Path, parent: &Path, prefix: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let (path, folder) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if !(folder && is_abandoned(&path) && remove_leftover(target, &path).is_ok()) {
            let why = "another program is using it, or it holds results that could not be moved into place";
            notes.push(format!("{} is left alone: {why}", path.display()));
        }
    }
    notes
}

/// Whether the program that created a hidden folder is gone. If it was killed before it had the lock, there
/// is nothing in the new folder yet.
fn is_abandoned(hidden: &Path) -> bool {
    let held = |name| File::open(hidden.join(name)).is_ok_and(|lock| lock.try_lock().is_err());
    let locked = fs::symlink_metadata(hidden.join(LOCK)).is_ok_and(|about| about.is_file());
    let empty = fs::read_dir(hidden.join(NEW)).map_or(true, |mut files| files.next().is_none());
    (locked || empty) && !held(LOCK) && !held(UNLOCKED)
}

fn remove_leftover(target: &Path, hidden: &Path) -> io::Result<()> {
    let new = hidden.join(NEW);
    if hidden.join(OLD).exists() && new.exists() && fs::symlink_metadata(target).is_err() {
        fs::rename(new, target)?;
    }
    fs::remove_dir_all(hidden)
}
