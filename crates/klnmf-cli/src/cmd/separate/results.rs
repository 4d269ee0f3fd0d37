//! Moves the results into place.

use super::earlier::{self, MODEL};
use super::model::{self, Sources, Weights};
use super::stems::Written;
use crate::out_folder::OutFolder;
use anyhow::anyhow;
use klnmf_io::NewFile;
use serde_json::{Map, Value};
use std::io::Write;

/// The inner folder for results that could not be moved into place.
const KEPT: &str = "kept";

/// The files that a run writes beside the model.
pub struct Results<'a> {
    pub folder: &'a OutFolder,
    pub files: &'a [String],
    pub stems: Written,
    /// Names and contents.
    pub texts: [(&'static str, String); 2],
}

impl Results<'_> {
    /// Writes everything under hidden names first. The model, which lists the other files, is moved into
    /// place before them. So most errors occur while the results of an earlier run are still in place. If
    /// `check` refuses, or a file cannot be moved, the results are complete and may have taken hours: they go
    /// to a new inner folder.
    pub fn write(
        self,
        sources: &Sources,
        weights: Weights,
        facts: &Map<String, Value>,
        check: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let texts = self.texts.iter().map(|(name, text)| Ok((*name, self.hidden(name, text)?)));
        let texts = texts.collect::<anyhow::Result<Vec<_>>>()?;
        let names = self.files.iter().map(String::as_str);
        let hidden: Vec<(&str, NewFile)> = names.zip(self.stems.into_files()).chain(texts).collect();
        let list = earlier::list(&hidden)?;
        if let Err(why) = check() {
            let kept = self.folder.inner(KEPT)?;
            model::write(&kept.file(MODEL), sources, weights, list, facts)?;
            put(&kept, &hidden)?;
            return Err(told(&why, &kept));
        }
        match model::write(&self.folder.file(MODEL), sources, weights, list, facts) {
            Ok(()) => put(self.folder, &hidden),
            Err(why) => Err(put_aside(self.folder, &hidden, why)),
        }
    }

    fn hidden(&self, name: &str, text: &str) -> anyhow::Result<NewFile> {
        let mut file = NewFile::create(&self.folder.file(name))?;
        file.visit(|out| out.write_all(text.as_bytes()))?;
        file.sync()?;
        Ok(file)
    }
}

/// Moves complete files into a folder. From the first one that cannot be moved on, they go to an inner
/// folder.
fn put(folder: &OutFolder, files: &[(&str, NewFile)]) -> anyhow::Result<()> {
    for (i, (name, file)) in files.iter().enumerate() {
        if let Err(why) = file.keep_at(&folder.file(name)) {
            return Err(put_aside(folder, &files[i..], why.into()));
        }
    }
    Ok(())
}

/// Moves complete files to a new inner folder if possible, and adds that to the error.
fn put_aside(folder: &OutFolder, files: &[(&str, NewFile)], why: anyhow::Error) -> anyhow::Error {
    let Ok(kept) = folder.inner(KEPT) else { return why };
    // Save as many as possible.
    let saved = files.iter().filter(|(name, file)| file.keep_at(&kept.file(name)).is_ok()).count();
    if saved > 0 { told(&why, &kept) } else { why }
}

fn told(why: &anyhow::Error, kept: &OutFolder) -> anyhow::Error {
    anyhow!("{why:#}; the remaining results are saved in {}", kept.path().display())
}
