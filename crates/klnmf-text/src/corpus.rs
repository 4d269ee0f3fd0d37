//! Counts of the words in each document.

use crate::{Documents, Error, Frequency, StopWords, words};
use klnmf::{Matrix, Order, Sparse};
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
        let mut words = vec![String::new(); ids.len()];
        ids.into_iter().for_each(|(word, id)| words[id as usize] = word);
        let all = tallies.iter().flatten().map(|&(id, count)| (id as usize, f64::from(count)));
        let vocabulary = Vocabulary::new(&words, all);
        let (mut kept, dropped) = vocabulary.select(documents.texts.len(), options)?;
        kept.sort_unstable_by_key(|&id| &words[id]);
        let mut rows = vec![None; words.len()];
        kept.iter().enumerate().for_each(|(row, &id)| rows[id] = Some(row));
        Ok(Self {
            counts: matrix(kept.len(), &tallies, |id| rows[id])?,
            words: kept.iter().map(|&id| std::mem::take(&mut words[id])).collect(),
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

impl CountOptions {
    /// Selects the rows of a matrix of counts (words × documents) whose words pass the rules. Also returns
    /// how many do not.
    pub fn select<'a>(
        &self,
        counts: impl Into<Matrix<'a, f64>>,
        words: &[String],
    ) -> Result<(Vec<usize>, Dropped), Error> {
        let counts = counts.into();
        let all = counts.entries().filter(|entry| entry.2 > 0.0).map(|(row, _, count)| (row, count));
        Vocabulary::new(words, all).select(counts.cols(), self)
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
struct Vocabulary<'a> {
    words: &'a [String],
    /// Number of documents with each word.
    documents: Vec<usize>,
    /// Number of occurrences of each word.
    occurrences: Vec<f64>,
}

impl<'a> Vocabulary<'a> {
    /// `counts` holds the number of a word and how often it occurs, for every document that has it.
    fn new(words: &'a [String], counts: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut all = Self { words, documents: vec![0; words.len()], occurrences: vec![0.0; words.len()] };
        for (id, count) in counts {
            all.documents[id] += 1;
            all.occurrences[id] += count;
        }
        all
    }

    /// The numbers of the words that pass the rules, in their order; at least one must.
    fn select(&self, documents: usize, options: &CountOptions) -> Result<(Vec<usize>, Dropped), Error> {
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
            let often = |id: &usize| self.occurrences[*id];
            kept.sort_unstable_by(|a, b| {
                often(b).total_cmp(&often(a)).then_with(|| self.words[*a].cmp(&self.words[*b]))
            });
            kept.truncate(max);
            kept.sort_unstable();
        }
        if kept.is_empty() { Err(Error::NoWords { documents, dropped }) } else { Ok((kept, dropped)) }
    }
}
