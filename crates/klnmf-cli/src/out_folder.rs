//! A folder that results are written into one by one.

use crate::interrupt;
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
    /// Fails if one of these files could not be written there, or is an input.
    pub fn new(path: &Path, inputs: &[PathBuf], files: &[&str]) -> anyhow::Result<Self> {
        if path.exists() && !path.is_dir() {
            bail!("--out {}: it is a file; give the name of a folder", path.display());
        }
        let folder = Self { path: path.to_owned(), made: Cell::new(false) };
        if path.exists() {
            let files: Vec<PathBuf> = files.iter().map(|name| folder.file(name)).collect();
            crate::input::check_outputs(inputs, &files)?;
        }
        Ok(folder)
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
