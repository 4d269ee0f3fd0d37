//! What an earlier run has written into the folder.
//!
//! The model of a run names the files that were written with it, how long they are and when they were last changed. One of
//! them is still that run's if both are what they were, to the nanosecond: a file of somebody else that was moved there may
//! well be as long, and older than the model. Anything else belongs to the user: it is not replaced unless that is asked for,
//! and never removed. The model itself is that run's if any of its files is: a model alone may be all that somebody has kept.

use crate::out_folder::OutFolder;
use anyhow::bail;
use klnmf_io::NewFile;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The file that the others are written down in.
pub const MODEL: &str = "model.npz";
pub const PICTURE: &str = "picture.svg";
pub const PAGE: &str = "index.html";
/// What the hidden file is called after that weights wait in.
pub const ASIDE: &str = "H";

/// The last run in a folder, if there was one.
pub struct Earlier<'a> {
    folder: &'a OutFolder,
    /// Names, and how they were written; none if there was no run.
    files: Vec<(String, State)>,
    /// Whether it came to its end.
    whole: bool,
}

/// Files to be removed when the results of this run are there.
pub struct Leftovers {
    files: Vec<(PathBuf, State)>,
}

/// Length, and the time of the last change in nanoseconds since 1970.
type State = (u64, u64);

impl<'a> Earlier<'a> {
    /// The run whose model is in the folder now.
    pub fn of(folder: &'a OutFolder) -> Self {
        let model = folder.file(MODEL);
        let facts = klnmf_io::read_metadata(&model).unwrap_or_default();
        let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
        let known = facts["kind"] == "separation";
        let files = facts["written"].as_array().filter(|_| known);
        let file = |file: &Value| {
            let state = (file["bytes"].as_u64()?, file["changed"].as_u64()?);
            Some((file["file"].as_str()?.to_owned(), state))
        };
        Self {
            folder,
            files: files.into_iter().flatten().filter_map(file).collect(),
            whole: known && facts["status"] != "interrupted",
        }
    }

    /// Whether it came to its end.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Fails if any of these would replace a file that is not the earlier run's.
    pub fn check(&self, files: &[&str]) -> anyhow::Result<()> {
        for name in files {
            let path = self.folder.file(name);
            let ours = if *name == MODEL { self.has_any() } else { self.own(name).is_some() };
            if fs::symlink_metadata(&path).is_ok() && !ours {
                bail!(
                    "{} is there and not as an earlier run has written it: give another --out, or --force to replace it",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// Whether any of its files is there as it was.
    fn has_any(&self) -> bool {
        self.files.iter().any(|(name, _)| self.own(name).is_some())
    }

    /// A file of the earlier run as it is now, if that is how it was.
    fn own(&self, name: &str) -> Option<State> {
        let (_, then) = self.files.iter().find(|(file, _)| file.to_lowercase() == name.to_lowercase())?;
        state(&self.folder.file(name)).filter(|now| now == then)
    }

    /// Its stems that this run, which writes `files`, does not replace.
    pub fn leftovers(&self, files: &[String]) -> Leftovers {
        let left = |(name, _): &(String, State)| -> Option<(PathBuf, State)> {
            // A name is no way out of the folder.
            let plain = Path::new(name).file_name().is_some_and(|own| own == name.as_str());
            let replaced = files.iter().any(|file| file.to_lowercase() == name.to_lowercase());
            let path = self.folder.file(name);
            let gone = plain && name.ends_with(".wav") && !replaced && !self.folder.is_input(&path);
            Some((path, self.own(name).filter(|_| gone)?))
        };
        Leftovers { files: self.files.iter().filter_map(left).collect() }
    }
}

impl Leftovers {
    /// Removes them, unless they have been changed in the meantime. That one cannot be removed is no reason to fail.
    pub fn remove(self) {
        for (path, then) in self.files {
            if state(&path) == Some(then) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// What the model says of the files that are written with it; they are complete and only need their names.
pub fn list(files: &[(&str, NewFile)]) -> anyhow::Result<Value> {
    let about = |(name, file): &(&str, NewFile)| -> anyhow::Result<Value> {
        let (bytes, changed) = file.metadata().map(|about| state_of(&about))?.unwrap_or_default();
        Ok(json!({ "file": name, "bytes": bytes, "changed": changed }))
    };
    files.iter().map(about).collect()
}

/// Whether a file with this name could be a result of any run.
pub fn is_result(name: &str) -> bool {
    [MODEL, PICTURE, PAGE, ASIDE].contains(&name) || name.ends_with(".wav")
}

/// None for what is no regular file; a link is none.
fn state(path: &Path) -> Option<State> {
    state_of(&fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?)
}

fn state_of(about: &fs::Metadata) -> Option<State> {
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((about.len(), u64::try_from(changed.as_nanos()).ok()?))
}
