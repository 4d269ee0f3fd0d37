//! The tables of a topic model, and their content.

use super::corpus::Corpus;
use klnmf::{TopicModel, Weights};
use std::io::Write;
use std::path::Path;

/// The weight of the probability in the relevance of a word. Sievert & Shirley (2014) recommend 0.6 for texts
/// without stop words; less of it keeps stop words from leading the topics where they were kept.
pub const LAMBDA: f64 = 0.3;

/// The number of words whose coherence is measured, whatever is listed, so that values can be compared.
const COHERENT: usize = 10;

/// A word of a topic.
#[derive(Clone, Copy)]
pub struct Word {
    pub row: usize,
    pub probability: f64,
    /// Its probability in the topic divided by that in the corpus.
    pub lift: f64,
    /// λ·ln(probability) + (1 − λ)·ln(lift): high for words that are frequent in the topic and rarer
    /// elsewhere.
    pub relevance: f64,
}

/// A topic with its top words.
pub struct Topic {
    /// Its number, counted from 1 as in the tables.
    pub number: usize,
    /// The share of the words of the corpus that it explains.
    pub share: f64,
    pub by_probability: Vec<Word>,
    pub by_relevance: Vec<Word>,
    /// The mean NPMI of its most probable words.
    pub coherence: Option<f64>,
    /// The most similar other topics by cosine, the closest first.
    pub similar: Vec<(usize, f64)>,
    /// Documents with the highest weights.
    pub typical: Vec<(usize, f64)>,
}

/// All topics in the order of the model, the largest first.
pub struct Top {
    pub topics: Vec<Topic>,
}

impl Top {
    pub fn new(corpus: &Corpus, found: &TopicModel, top: usize) -> klnmf::Result<Self> {
        let lengths = corpus.lengths();
        let total: f64 = lengths.iter().sum();
        let corpus_share: Vec<f64> = corpus.counts.view().row_sums().iter().map(|n| n / total).collect();
        let weights = &found.weights.weights;
        let k = weights.rows();
        let similarities = klnmf::cosines(&found.topics, &found.topics)?;
        let mut topics: Vec<Topic> = (0..k)
            .map(|t| {
                let share = (0..weights.cols()).map(|j| weights[(t, j)] * lengths[j]).sum::<f64>() / total;
                let words: Vec<Word> = (0..corpus.words.len())
                    .map(|row| word(row, found.topics[(row, t)], corpus_share[row]))
                    .filter(|word| word.probability > 0.0)
                    .collect();
                Topic {
                    number: t + 1,
                    share,
                    by_probability: foremost(&words, top.max(COHERENT), |word| word.probability),
                    by_relevance: foremost(&words, top, |word| word.relevance),
                    coherence: None,
                    similar: foremost_of(
                        k,
                        3,
                        |other| if other == t { -1.0 } else { similarities[(t, other)] },
                    ),
                    typical: foremost_of(weights.cols(), top, |j| {
                        if lengths[j] > 0.0 { weights[(t, j)] } else { -1.0 }
                    }),
                }
            })
            .collect();
        let ten = |topic: &Topic| topic.by_probability.iter().take(COHERENT).map(|word| word.row).collect();
        let rows: Vec<Vec<usize>> = topics.iter().map(ten).collect();
        let coherences = klnmf_text::npmi(corpus.counts.view(), &rows);
        for (topic, coherence) in topics.iter_mut().zip(coherences) {
            topic.coherence = coherence;
            topic.by_probability.truncate(top);
        }
        Ok(Self { topics })
    }

    /// A note if words that stand in most documents are the most probable ones of most topics.
    pub fn common_words(&self, corpus: &Corpus) -> Option<String> {
        let mut documents = vec![0; corpus.words.len()];
        corpus
            .counts
            .view()
            .entries()
            .filter(|entry| entry.2 > 0.0)
            .for_each(|entry| documents[entry.0] += 1);
        let common = |word: &&Word| 2 * documents[word.row] > corpus.documents.len();
        let leading: Vec<usize> = self
            .topics
            .iter()
            .filter_map(|topic| topic.by_probability.first().filter(common).map(|word| word.row))
            .collect();
        if 2 * leading.len() < self.topics.len() || leading.is_empty() {
            return None;
        }
        let mut rows = leading.clone();
        rows.sort_unstable();
        rows.dedup();
        rows.sort_by_key(|row| std::cmp::Reverse(documents[*row]));
        let words: Vec<String> = rows.iter().take(3).map(|row| format!("{:?}", corpus.words[*row])).collect();
        Some(format!(
            "{} of {} topics are led by words of most documents, such as {}: leave these out with --max-df 50% \
             or --stop-words english",
            leading.len(),
            self.topics.len(),
            words.join(", ")
        ))
    }

    pub fn mean_coherence(&self) -> Option<f64> {
        let known: Vec<f64> = self.topics.iter().filter_map(|topic| topic.coherence).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

fn word(row: usize, probability: f64, in_corpus: f64) -> Word {
    // A word that is not in the corpus gets its probability from the pseudo-counts alone, and is not listed.
    let lift = if in_corpus > 0.0 { probability / in_corpus } else { 0.0 };
    let relevance =
        if lift > 0.0 { LAMBDA * probability.ln() + (1.0 - LAMBDA) * lift.ln() } else { f64::NEG_INFINITY };
    Word { row, probability, lift, relevance }
}

fn foremost(words: &[Word], top: usize, key: impl Fn(&Word) -> f64) -> Vec<Word> {
    let mut words = words.to_vec();
    let order = |a: &Word, b: &Word| key(b).total_cmp(&key(a)).then(a.row.cmp(&b.row));
    if words.len() > top && top > 0 {
        words.select_nth_unstable_by(top - 1, order);
    }
    words.truncate(top);
    words.sort_by(order);
    words
}

/// The `top` numbers below `n` with the highest keys above 0.
fn foremost_of(n: usize, top: usize, key: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
    let mut all: Vec<(usize, f64)> = (0..n).map(|i| (i, key(i))).filter(|x| x.1 > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(top);
    all
}

/// Writes a line for every topic and every one of its top words by probability or relevance.
pub fn write_topics(path: &Path, corpus: &Corpus, top: &Top) -> anyhow::Result<()> {
    klnmf_io::atomically(path, |out| {
        writeln!(out, "topic,share,coherence,word,probability,lift,relevance,rank,relevance_rank")?;
        for topic in &top.topics {
            let others = topic.by_relevance.iter().filter(|word| rank(&topic.by_probability, word).is_none());
            for word in topic.by_probability.iter().chain(others) {
                let number = |rank: Option<usize>| rank.map_or(String::new(), |rank| (rank + 1).to_string());
                writeln!(
                    out,
                    "{},{:.6},{},{},{},{},{},{},{}",
                    topic.number,
                    topic.share,
                    topic.coherence.map_or(String::new(), |c| format!("{c:.4}")),
                    klnmf_io::csv_cell(&corpus.words[word.row]),
                    word.probability,
                    word.lift,
                    word.relevance,
                    number(rank(&topic.by_probability, word)),
                    number(rank(&topic.by_relevance, word))
                )?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn rank(words: &[Word], word: &Word) -> Option<usize> {
    words.iter().position(|other| other.row == word.row)
}

/// Writes a line for every document: its length, its gap in nats, its main topic and all weights.
pub fn write_documents(path: &Path, corpus: &Corpus, found: &Weights) -> anyhow::Result<()> {
    let (weights, lengths) = (&found.weights, corpus.lengths());
    klnmf_io::atomically(path, |out| {
        let topics: String = (1..=weights.rows()).map(|t| format!(",topic{t}")).collect();
        writeln!(out, "document,words,log_likelihood,gap,main_topic{topics}")?;
        for (j, name) in corpus.documents.iter().enumerate() {
            let x = weights.col(j);
            // The first of equal maxima.
            let main = (0..x.len()).rev().max_by(|a, b| x[*a].total_cmp(&x[*b])).map_or(0, |t| t + 1);
            let main = if lengths[j] > 0.0 { main.to_string() } else { String::new() };
            write!(
                out,
                "{},{},{},{:?},{main}",
                klnmf_io::csv_cell(name),
                lengths[j],
                found.log_likelihood[j],
                found.gaps[j]
            )?;
            x.iter().try_for_each(|x| write!(out, ",{x}"))?;
            writeln!(out)?;
        }
        Ok(())
    })?;
    Ok(())
}
