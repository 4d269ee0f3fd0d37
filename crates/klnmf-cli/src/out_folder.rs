//! The folder for the results.

use crate::interrupt;
use anyhow::{Context, bail};
use std::cell::Cell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder for the results. It is created after the input has been read and before the work, so that the
/// work is not lost if the folder cannot be created.
pub struct OutFolder {
    path: PathBuf,
    inputs: Vec<PathBuf>,
    /// Whether this run created it.
    made: Cell<bool>,
}

impl OutFolder {
    /// Fails if one of these files could not be written there, or is an input.
    pub fn new(path: &Path, inputs: &[PathBuf], files: &[&str]) -> anyhow::Result<Self> {
        if path.exists() && !path.is_dir() {
            bail!("--out {}: it is a file; give the name of a folder", path.display());
        }
        let folder = Self { path: path.to_owned(), inputs: inputs.to_vec(), made: Cell::new(false) };
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
            interrupt::made(path);
        }
        Ok(())
    }

    /// Creates a new folder in it, with this name, followed by a number if the name is taken.
    pub fn inner(&self, name: &str) -> anyhow::Result<Self> {
        let numbered = |n: usize| if n == 1 { name.to_owned() } else { format!("{name}-{n}") };
        for path in (1..).map(|n| self.path.join(numbered(n))) {
            match std::fs::create_dir(&path) {
                Ok(()) => {
                    interrupt::made(&path);
                    return Ok(Self { path, inputs: Vec::new(), made: Cell::new(true) });
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => {
                    return Err(why).with_context(|| format!("cannot create the folder {}", path.display()));
                }
            }
        }
        bail!("cannot create a folder in {}", self.path.display())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file in it is one of the inputs.
    pub fn is_input(&self, path: &Path) -> bool {
        let same = |input: &PathBuf| std::fs::canonicalize(input).ok() == std::fs::canonicalize(path).ok();
        self.inputs.iter().any(same)
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
