//! Counts of the words in each document.

use crate::{Documents, Error, Frequency, StopWords, words};
use klnmf::{Order, Sparse};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Documents as counts of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Corpus {
    /// The words that are counted, sorted by code points.
    pub words: Vec<String>,
    /// The names of the documents.
    pub documents: Vec<String>,
    /// Words × documents, by columns. A document without any of the words is a column of zeros.
    pub counts: Sparse<f64>,
    /// The words that are left out.
    pub dropped: Dropped,
}

/// Which words are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct CountOptions {
    /// The smallest number of documents with a word; by default 1.
    pub min_df: Frequency,
    /// The largest number of documents with a word; by default any.
    pub max_df: Frequency,
    /// Words that are never counted; by default none.
    pub stop_words: StopWords,
    /// The largest number of words; the most frequent ones that pass the other rules are kept. By default
    /// all.
    pub max_words: Option<usize>,
}

impl Default for CountOptions {
    fn default() -> Self {
        Self {
            min_df: Frequency::Documents(1),
            max_df: Frequency::Share(1.0),
            stop_words: StopWords::None,
            max_words: None,
        }
    }
}

/// Numbers of distinct words that each rule has removed. A word counts for the first rule that applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Stop words.
    pub stop_words: usize,
    /// Words in fewer documents than [`CountOptions::min_df`].
    pub rare: usize,
    /// Words in more documents than [`CountOptions::max_df`].
    pub common: usize,
    /// Words beyond [`CountOptions::max_words`].
    pub surplus: usize,
}

impl Corpus {
    /// Counts the words of the documents.
    pub fn count(documents: &Documents, options: &CountOptions) -> Result<Self, Error> {
        let mut ids = HashMap::new();
        let tallies = tally(&documents.texts, |word| {
            // Four billion different words fill the memory before they fill 32 bits.
            let next = ids.len() as u32;
            Some(*ids.entry(word).or_insert(next))
        });
        let mut vocabulary = Vocabulary::new(ids, &tallies);
        let (kept, dropped) = vocabulary.select(documents.texts.len(), options);
        if kept.is_empty() {
            return Err(Error::NoWords { documents: documents.texts.len(), dropped });
        }
        let mut rows = vec![None; vocabulary.words.len()];
        kept.iter().enumerate().for_each(|(row, &id)| rows[id] = Some(row));
        Ok(Self {
            counts: matrix(kept.len(), &tallies, |id| rows[id])?,
            words: kept.iter().map(|&id| std::mem::take(&mut vocabulary.words[id])).collect(),
            documents: documents.names.clone(),
            dropped,
        })
    }

    /// Counts the words of a given vocabulary, in its order, as needed to use a model on new documents. Also
    /// returns the number of occurrences of other words.
    pub fn count_known(documents: &Documents, words: &[String]) -> Result<(Sparse<f64>, usize), Error> {
        let ids: HashMap<&str, u32> = words.iter().map(String::as_str).zip(0..).collect();
        let mut unknown = 0;
        let tallies = tally(&documents.texts, |word| {
            let id = ids.get(word.as_str()).copied();
            unknown += usize::from(id.is_none());
            id
        });
        Ok((matrix(words.len(), &tallies, Some)?, unknown))
    }
}

/// The numbers of the words in one document, and how often each occurs.
type Tally = Box<[(u32, u32)]>;

/// Numbers and counts the words of every text; a word without a number is skipped.
fn tally(texts: &[String], mut number: impl FnMut(String) -> Option<u32>) -> Vec<Tally> {
    let mut ids = Vec::new();
    let one = |text: &String| {
        ids.clear();
        ids.extend(words(text).filter_map(&mut number));
        ids.sort_unstable();
        ids.chunk_by(u32::eq).map(|same| (same[0], same.len() as u32)).collect()
    };
    texts.iter().map(one).collect()
}

/// The tallies as columns, with every word in its given row, or left out.
fn matrix(
    rows: usize,
    tallies: &[Tally],
    row: impl Fn(usize) -> Option<usize>,
) -> Result<Sparse<f64>, Error> {
    Sparse::from_triplets(rows, tallies.len(), Order::Columns, |put| {
        for (document, tally) in tallies.iter().enumerate() {
            for &(id, count) in tally {
                if let Some(row) = row(id as usize) {
                    put(row, document, f64::from(count))?;
                }
            }
        }
        Ok(())
    })
}

/// All words by number, before any rule.
struct Vocabulary {
    words: Vec<String>,
    /// Number of documents with each word.
    documents: Vec<usize>,
    /// Number of occurrences of each word.
    occurrences: Vec<usize>,
}

impl Vocabulary {
    fn new(ids: HashMap<String, u32>, tallies: &[Tally]) -> Self {
        let size = ids.len();
        let mut all =
            Self { words: vec![String::new(); size], documents: vec![0; size], occurrences: vec![0; size] };
        ids.into_iter().for_each(|(word, id)| all.words[id as usize] = word);
        for &(id, count) in tallies.iter().flatten() {
            all.documents[id as usize] += 1;
            all.occurrences[id as usize] += count as usize;
        }
        all
    }

    /// The numbers of the words that pass the rules, in the order of the words.
    fn select(&self, documents: usize, options: &CountOptions) -> (Vec<usize>, Dropped) {
        let (fewest, most) = (options.min_df.at_least(documents), options.max_df.at_most(documents));
        let mut dropped = Dropped::default();
        let mut kept = Vec::new();
        for (id, word) in self.words.iter().enumerate() {
            match self.documents[id] {
                _ if options.stop_words.contains(word) => dropped.stop_words += 1,
                occurs if occurs < fewest => dropped.rare += 1,
                occurs if occurs > most => dropped.common += 1,
                _ => kept.push(id),
            }
        }
        if let Some(max) = options.max_words.filter(|max| *max < kept.len()) {
            dropped.surplus = kept.len() - max;
            kept.sort_unstable_by_key(|&id| (Reverse(self.occurrences[id]), &self.words[id]));
            kept.truncate(max);
        }
        kept.sort_unstable_by_key(|&id| &self.words[id]);
        (kept, dropped)
    }
}
