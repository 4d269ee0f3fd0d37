//! Stems that an earlier run has left in the folder and this one does not replace.
//!
//! The model of a run names the stems that were written with it, and how long they are. A later run removes those that it has
//! not written itself, so that the folder holds the parts of one recording; but only if they are as long as they were and
//! have not been touched since that model was written. What a user has put there, or changed, or gives to this run, stays.

use crate::out_folder::OutFolder;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files to be removed when the results of this run are there.
pub struct Leftovers {
    files: Vec<(PathBuf, State)>,
}

/// Length and time of the last change.
type State = (u64, SystemTime);

impl Leftovers {
    /// Those of the run whose model is in the folder now; `files` are this run's.
    pub fn of(folder: &OutFolder<'_>, files: &[String]) -> Self {
        let model = folder.file("model.npz");
        let facts = klnmf_io::read_metadata(&model).unwrap_or_default();
        let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
        let stems = facts["stems"].as_array().filter(|_| facts["kind"] == "separation");
        let written = state(&model).map(|(_, time)| time);
        let old = |stem: &Value| -> Option<(PathBuf, State)> {
            let name = stem["file"].as_str()?;
            // A name is no way out of the folder.
            let plain = Path::new(name).file_name().is_some_and(|own| own == name) && name.ends_with(".wav");
            let replaced = files.iter().any(|file| file.to_lowercase() == name.to_lowercase());
            let (path, state) = (folder.file(name), state(&folder.file(name))?);
            let ours = Some(state.0) == stem["bytes"].as_u64() && Some(state.1) <= written;
            (plain && !replaced && ours && !folder.is_input(&path)).then_some((path, state))
        };
        Self { files: stems.into_iter().flatten().filter_map(old).collect() }
    }

    /// Removes them, unless they have been changed in the meantime. That one cannot be removed is no reason to fail.
    pub fn remove(self) {
        for (path, then) in self.files {
            if state(&path) == Some(then) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// What the model says of these stems.
pub fn list(folder: &OutFolder<'_>, files: &[String]) -> Value {
    let stem =
        |file: &String| json!({ "file": file, "bytes": state(&folder.file(file)).map(|(bytes, _)| bytes) });
    files.iter().map(stem).collect()
}

/// None for what is no regular file; a link is none.
fn state(path: &Path) -> Option<State> {
    let about = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((about.len(), about.modified().ok()?))
}
