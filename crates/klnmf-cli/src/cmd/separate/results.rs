//! The results on their way into their places.

use super::earlier::{self, MODEL};
use super::model::{self, Sources, Weights};
use super::stems::Written;
use crate::out_folder::OutFolder;
use anyhow::anyhow;
use klnmf_io::NewFile;
use serde_json::{Map, Value};
use std::io::Write;

/// The inner folder of results that could not be put in their places.
const KEPT: &str = "kept";

/// What a run writes beside the model.
pub struct Results<'a> {
    pub folder: &'a OutFolder,
    pub files: &'a [String],
    pub stems: Written,
    /// Names and contents.
    pub texts: [(&'static str, String); 2],
}

impl Results<'_> {
    /// Writes everything under hidden names first, and the model, which lists the other files, before these get theirs: most of
    /// what can go wrong does so while all that an earlier run has left is in its place. What `check` refuses to put in the
    /// folder, or cannot have its name there, is complete all the same and may have taken hours: it goes to a new inner folder.
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

/// Gives complete files their names in a folder; from the first that cannot have its own, they go to an inner one.
fn put(folder: &OutFolder, files: &[(&str, NewFile)]) -> anyhow::Result<()> {
    for (i, (name, file)) in files.iter().enumerate() {
        if let Err(why) = file.keep_at(&folder.file(name)) {
            return Err(put_aside(folder, &files[i..], why.into()));
        }
    }
    Ok(())
}

/// Gives complete files their names in a new inner folder, and says so beside the reason, if that can be done.
fn put_aside(folder: &OutFolder, files: &[(&str, NewFile)], why: anyhow::Error) -> anyhow::Error {
    let Ok(kept) = folder.inner(KEPT) else { return why };
    // Each one that can be saved is.
    let saved = files.iter().filter(|(name, file)| file.keep_at(&kept.file(name)).is_ok()).count();
    if saved > 0 { told(&why, &kept) } else { why }
}

fn told(why: &anyhow::Error, kept: &OutFolder) -> anyhow::Error {
    anyhow!("{why:#}; the results that have no place are in {}", kept.path().display())
}
