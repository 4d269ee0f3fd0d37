//! The results on their way into their places.

use super::earlier::{self, MODEL};
use super::model::{self, Sources, Weights};
use super::stems::Written;
use crate::out_folder::OutFolder;
use klnmf_io::NewFile;
use serde_json::{Map, Value};
use std::io::Write;

/// What a run writes beside the model.
pub struct Results<'a> {
    pub folder: &'a OutFolder,
    pub files: &'a [String],
    pub stems: Written,
    /// Names and contents.
    pub texts: [(&'static str, String); 2],
}

impl Results<'_> {
    /// Writes everything under hidden names first, and the model, which lists the other files, before these get theirs: what
    /// can go wrong does so while all that an earlier run has left is in its place.
    pub fn write(
        self,
        sources: &Sources,
        weights: Weights,
        facts: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        let texts = self.texts.iter().map(|(name, text)| (*name, text.len() as u64));
        let stems = self.files.iter().map(String::as_str).zip(self.stems.bytes());
        let list = earlier::list(texts.chain(stems));
        let hidden = self.texts.iter().map(|(name, text)| self.hidden(name, text));
        let hidden = hidden.collect::<anyhow::Result<Vec<NewFile>>>()?;
        model::write(&self.folder.file(MODEL), sources, weights, list, facts)?;
        self.stems.keep(self.folder, self.files)?;
        hidden.into_iter().try_for_each(|file| Ok(file.keep()?))
    }

    fn hidden(&self, name: &str, text: &str) -> anyhow::Result<NewFile> {
        let mut file = NewFile::create(&self.folder.file(name))?;
        file.visit(|out| out.write_all(text.as_bytes()))?;
        file.sync()?;
        Ok(file)
    }
}
