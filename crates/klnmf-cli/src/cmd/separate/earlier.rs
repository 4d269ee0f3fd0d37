//! The files that an earlier run has written into the folder.
//!
//! The model of a run lists the files that were written with it, with their lengths and CRC-32. A file still
//! belongs to that run if both match. Length and time alone do not suffice: the user may have moved another
//! file there. All other files belong to the user: they are replaced only with --force, and never removed.
//! The model itself belongs to the run if any of its files does: the user may have kept only the model.

use crate::out_folder::OutFolder;
use anyhow::{Context, bail};
use klnmf_io::NewFile;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The file that lists the others.
pub const MODEL: &str = "model.npz";
pub const PICTURE: &str = "picture.svg";
pub const PAGE: &str = "index.html";
/// The temporary file that holds the weights is named after this.
pub const ASIDE: &str = "H";

/// The last run in a folder, if there was one.
pub struct Earlier<'a> {
    folder: &'a OutFolder,
    /// Names and states of its files; empty if there was no run.
    files: Vec<(String, State)>,
    /// Whether it was complete.
    whole: bool,
}

/// Files to remove once the results of this run are in place.
pub struct Leftovers {
    files: Vec<(PathBuf, State)>,
}

/// Length and CRC-32 of a file.
type State = (u64, u32);

impl<'a> Earlier<'a> {
    /// The run whose model is in the folder now.
    pub fn of(folder: &'a OutFolder) -> Self {
        let model = folder.file(MODEL);
        let facts = klnmf_io::read_metadata(&model).unwrap_or_default();
        let facts: Value = serde_json::from_str(&facts).unwrap_or_default();
        let known = facts["kind"] == "separation";
        let files = facts["written"].as_array().filter(|_| known);
        let file = |file: &Value| {
            let state = (file["bytes"].as_u64()?, u32::try_from(file["crc32"].as_u64()?).ok()?);
            Some((file["file"].as_str()?.to_owned(), state))
        };
        Self {
            folder,
            files: files.into_iter().flatten().filter_map(file).collect(),
            whole: known && facts["status"] != "interrupted",
        }
    }

    /// Whether it was complete.
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
                    "{} exists and was not written by an earlier run, or was changed since: give another \
                     --out, or --force to replace it",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// Whether any of its files is unchanged.
    fn has_any(&self) -> bool {
        self.files.iter().any(|(name, _)| self.own(name).is_some())
    }

    /// The state of a file of the earlier run, if the file is unchanged.
    fn own(&self, name: &str) -> Option<State> {
        let (_, then) = self.files.iter().find(|(file, _)| file.to_lowercase() == name.to_lowercase())?;
        is_as(&self.folder.file(name), *then).then_some(*then)
    }

    /// Its stems that this run, which writes `files`, does not replace.
    pub fn leftovers(&self, files: &[String]) -> Leftovers {
        let left = |(name, _): &(String, State)| -> Option<(PathBuf, State)> {
            // A name must not lead out of the folder.
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
    /// Removes them, unless they were changed in the meantime. Failing to remove one is not an error.
    pub fn remove(self) {
        for (path, then) in self.files {
            if is_as(&path, then) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The model's list of the files that are written with it. They are complete but still have hidden names.
pub fn list(files: &[(&str, NewFile)]) -> anyhow::Result<Value> {
    let about = |(name, file): &(&str, NewFile)| -> anyhow::Result<Value> {
        let path = file.hidden_path();
        let (bytes, crc32) = state(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(json!({ "file": name, "bytes": bytes, "crc32": crc32 }))
    };
    files.iter().map(about).collect()
}

/// Whether a file with this name could be a result of any run.
pub fn is_result(name: &str) -> bool {
    [MODEL, PICTURE, PAGE, ASIDE].contains(&name) || name.ends_with(".wav")
}

/// Whether a file is unchanged. A link, or anything but a regular file, does not count; a file of another
/// length is not read.
fn is_as(path: &Path, then: State) -> bool {
    let same_length = |about: fs::Metadata| about.is_file() && about.len() == then.0;
    fs::symlink_metadata(path).is_ok_and(same_length) && state(path).is_ok_and(|now| now == then)
}

fn state(path: &Path) -> io::Result<State> {
    let (mut file, mut crc) = (File::open(path)?, crc32fast::Hasher::new());
    let (mut piece, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok((bytes, crc.finalize()));
        }
        crc.update(&piece[..read]);
        bytes += read as u64;
    }
}
