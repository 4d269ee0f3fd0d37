//! A folder that results are written into one by one.

use crate::{interrupt, new_folder, outputs};
use anyhow::{Context, bail};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// The folder for the results. It is created after the input has been read and before the work, so that the
/// work is not lost if the folder cannot be created.
pub struct OutFolder {
    path: PathBuf,
    /// Whether this run created it.
    made: Cell<bool>,
}

impl OutFolder {
    /// Fails if the folder holds anything but results of an earlier run. Those have the names `own`, and a
    /// run writes the first of them first.
    pub fn new(path: &Path, own: &[&str]) -> anyhow::Result<Self> {
        let (out, folder) = (path.display(), Self { path: path.to_owned(), made: Cell::new(false) });
        outputs::check_parent(path)?;
        if !new_folder::exists(path)? {
            return Ok(folder);
        }
        let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.with_context(|| format!("cannot read the folder {out}"))?;
        let mut names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let left_over = |name: &String| name.starts_with('.') && name.contains(".klnmf-");
        let begun = folder.file(own[0]).exists();
        match names.find(|name| !(left_over(name) || begun && own.contains(&name.as_str()))) {
            Some(name) => bail!("--out {out}: klnmf did not write {name} in this folder; give another"),
            None => Ok(folder),
        }
    }

    /// Whether it exists and is not empty.
    pub fn is_used(&self) -> bool {
        std::fs::read_dir(&self.path).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Creates the folder if it does not exist.
    pub fn create(&self) -> anyhow::Result<()> {
        let path = &self.path;
        self.made.set(self.made.get() || !path.exists());
        std::fs::create_dir_all(path)
            .with_context(|| format!("cannot create the folder {}", path.display()))?;
        if self.made.get() {
            interrupt::made(path, false);
        }
        Ok(())
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for OutFolder {
    /// Failed work leaves no empty folder behind. A folder that is not empty stays.
    fn drop(&mut self) {
        if self.made.get() {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}
