//! Words that are not about the subject of a text.

use crate::source::Source;
use crate::{Error, words};
use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

static ENGLISH: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("stop_words.txt").lines().collect());

/// The words that are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopWords {
    /// All words count.
    #[default]
    None,
    /// Articles, pronouns, prepositions, auxiliaries and conjunctions of English.
    English,
    /// These words, in the form of [`words`].
    Set(HashSet<String>),
}

impl StopWords {
    /// Parses `none`, `english`, or the path of a file with one word per line and comments after `#`.
    ///
    /// Lines are split like texts, so capitals and curly apostrophes do not matter.
    pub fn parse(option: &str) -> Result<Self, Error> {
        match option {
            "none" => Ok(StopWords::None),
            "english" => Ok(StopWords::English),
            path => read(Path::new(path)).map(StopWords::Set),
        }
    }

    /// Whether the word is left out. Capitals do not matter.
    pub fn contains(&self, word: &str) -> bool {
        match self {
            StopWords::None => false,
            StopWords::English => ENGLISH.contains(word.to_lowercase().as_str()),
            StopWords::Set(set) => set.contains(&word.to_lowercase()),
        }
    }
}

fn read(path: &Path) -> Result<HashSet<String>, Error> {
    if !path.exists() {
        let must = "this is not a file: give none, english, or the path of a file with one word per line";
        return Err(Error::setting(path.display(), must));
    }
    let source = Source::read(path)?;
    let uncommented = source.text.lines().filter_map(|line| line.split('#').next());
    let set: HashSet<String> = uncommented.flat_map(words).collect();
    if set.is_empty() {
        return Err(source.wrong("the file has no words: write one per line, or choose none"));
    }
    Ok(set)
}
