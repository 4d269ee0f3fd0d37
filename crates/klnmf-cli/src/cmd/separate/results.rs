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
        let texts = self.texts.iter().map(|(name, text)| Ok((*name, self.hidden(name, text)?)));
        let texts = texts.collect::<anyhow::Result<Vec<_>>>()?;
        let names = self.files.iter().map(String::as_str);
        let hidden: Vec<(&str, NewFile)> = names.zip(self.stems.into_files()).chain(texts).collect();
        let list = earlier::list(&hidden)?;
        model::write(&self.folder.file(MODEL), sources, weights, list, facts)?;
        hidden.iter().try_for_each(|(name, file)| Ok(file.keep_at(&self.folder.file(name))?))
    }

    fn hidden(&self, name: &str, text: &str) -> anyhow::Result<NewFile> {
        let mut file = NewFile::create(&self.folder.file(name))?;
        file.visit(|out| out.write_all(text.as_bytes()))?;
        file.sync()?;
        Ok(file)
    }
}
