//! What an earlier run has written into the folder.
//!
//! The model of a run names the files that were written with it, and how long they are. One of them is still that run's if it
//! is as long as it was and has not been touched since the model was written. Anything else belongs to the user: it is not
//! replaced unless that is asked for, and never removed.

use crate::out_folder::OutFolder;
use anyhow::bail;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file that the others are written down in.
pub const MODEL: &str = "model.npz";
pub const PICTURE: &str = "picture.svg";
pub const PAGE: &str = "index.html";
/// What the hidden file is called after that weights wait in.
pub const ASIDE: &str = "H";

/// The last run in a folder, if there was one.
pub struct Earlier<'a> {
    folder: &'a OutFolder,
    /// Names and lengths; none if there was no run.
    files: Vec<(String, u64)>,
    /// When its model was written.
    written: Option<SystemTime>,
    /// Whether it came to its end.
    whole: bool,
}

/// Files to be removed when the results of this run are there.
pub struct Leftovers {
    files: Vec<(PathBuf, State)>,
}

/// Length and time of the last change.
type State = (u64, SystemTime);

impl<'a> Earlier<'a> {
    /// The run whose model is in the folder now.
    pub fn of(folder: &'a OutFolder) -> Self {
        let model = folder.file(MODEL);
        let facts = klnmf_io::read_metadata(&model).unwrap_or_default();
        let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
        let known = facts["kind"] == "separation";
        let files = facts["written"].as_array().filter(|_| known);
        let file = |file: &Value| Some((file["file"].as_str()?.to_owned(), file["bytes"].as_u64()?));
        Self {
            folder,
            files: files.into_iter().flatten().filter_map(file).collect(),
            written: state(&model).map(|(_, time)| time).filter(|_| known),
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
            let ours = if *name == MODEL { self.written.is_some() } else { self.own(name).is_some() };
            if fs::symlink_metadata(&path).is_ok() && !ours {
                bail!(
                    "{} is there and not as an earlier run has written it: give another --out, or --force to replace it",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// A file of the earlier run as it is now, if that is how it was.
    fn own(&self, name: &str) -> Option<State> {
        let (_, bytes) = self.files.iter().find(|(file, _)| file.to_lowercase() == name.to_lowercase())?;
        state(&self.folder.file(name)).filter(|now| now.0 == *bytes && Some(now.1) <= self.written)
    }

    /// Its stems that this run, which writes `files`, does not replace.
    pub fn leftovers(&self, files: &[String]) -> Leftovers {
        let left = |(name, _): &(String, u64)| -> Option<(PathBuf, State)> {
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

/// What the model says of the files that are written with it.
pub fn list<'n>(files: impl Iterator<Item = (&'n str, u64)>) -> Value {
    files.map(|(file, bytes)| json!({ "file": file, "bytes": bytes })).collect()
}

/// Whether a file with this name could be a result of any run.
pub fn is_result(name: &str) -> bool {
    [MODEL, PICTURE, PAGE, ASIDE].contains(&name) || name.ends_with(".wav")
}

/// None for what is no regular file; a link is none.
fn state(path: &Path) -> Option<State> {
    let about = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((about.len(), about.modified().ok()?))
}
