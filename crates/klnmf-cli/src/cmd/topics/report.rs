//! The HTML page of a topic model: one self-contained file.

use super::corpus::Corpus;
use super::tables::{LAMBDA, Top, Topic, Word};
use klnmf::TopicModel;
use klnmf_report::html;
use minijinja::{Value as Jinja, context};
use serde_json::Value;
use std::path::Path;

/// The largest number of characters of a document that are shown.
const SNIPPET: usize = 160;

/// The content of the page.
pub struct Report<'a> {
    pub name: String,
    pub corpus: &'a Corpus,
    pub top: &'a Top,
    pub found: &'a TopicModel,
    pub facts: &'a Value,
}

impl Report<'_> {
    /// Writes the page, with at most `typical` documents for each topic.
    pub fn write(&self, path: &Path, typical: usize) -> anyhow::Result<()> {
        let topics: Vec<Jinja> =
            self.top.topics.iter().map(|topic| self.topic(topic, typical.min(5))).collect();
        let values = context! {
            name => &self.name,
            lambda => LAMBDA,
            rest => 1.0 - LAMBDA,
            documents => self.corpus.documents.len(),
            vocabulary => self.corpus.words.len(),
            words => format!("{:.0}", self.corpus.counts.view().sum()),
            fit => self.fit(),
            quality => self.quality(),
            certificate => self.certificate(),
            topics,
        };
        let page = html::render("topics.html", include_str!("topics.html"), values)?;
        Ok(klnmf_io::write_text(path, &page)?)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.facts.get(key).and_then(Value::as_f64)
    }

    fn fit(&self) -> String {
        format!(
            "{} topics, {} after {} iterations in {:.1} s; perplexity {:.1} on the texts themselves",
            self.found.topics.cols(),
            self.found.status.name(),
            self.found.iterations,
            self.number("seconds").unwrap_or_default(),
            self.number("perplexity").unwrap_or(f64::INFINITY)
        )
    }

    fn quality(&self) -> String {
        let share = 100.0 * self.number("held_out").unwrap_or_default();
        let held_out = self
            .number("held_out_perplexity")
            .map(|p| format!("perplexity {p:.1} on {share:.0} % of the words, held out"));
        let coherence =
            self.number("coherence").map(|c| format!("mean coherence of the topics {c:.3} (NPMI)"));
        [held_out, coherence].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn certificate(&self) -> String {
        format!(
            "for these topics, other weights can raise a document's {} by at most {:.1e} nats",
            super::told::likelihood(self.facts),
            self.number("largest_gap").unwrap_or(f64::INFINITY)
        )
    }

    fn topic(&self, topic: &Topic, typical: usize) -> Jinja {
        let largest = self.top.topics.first().map_or(0.0, |topic| topic.share);
        let most = topic.by_relevance.iter().map(|word| word.probability).fold(0.0, f64::max);
        let words: Vec<Jinja> = topic.by_relevance.iter().map(|word| self.word(word, most)).collect();
        let similar: Vec<Jinja> = topic
            .similar
            .iter()
            .map(|(other, cosine)| context! { number => other + 1, words => self.name_of(*other), cosine => format!("{cosine:.2}") })
            .collect();
        let documents: Vec<Jinja> =
            topic.typical.iter().take(typical).map(|(j, weight)| self.document(*j, *weight)).collect();
        context! {
            number => topic.number,
            share => format!("{:.1}", 100.0 * topic.share),
            width => format!("{:.1}", if largest > 0.0 { 100.0 * topic.share / largest } else { 0.0 }),
            coherence => topic.coherence.map(|c| format!("{c:.2}")),
            name => self.name_of(topic.number - 1),
            words,
            similar,
            documents,
        }
    }

    fn word(&self, word: &Word, most: f64) -> Jinja {
        context! {
            word => &self.corpus.words[word.row],
            width => format!("{:.1}", if most > 0.0 { 100.0 * word.probability / most } else { 0.0 }),
            probability => format!("{:.4}", word.probability),
            lift => format!("{:.1}", word.lift),
        }
    }

    /// The three top words of a topic.
    fn name_of(&self, topic: usize) -> String {
        let found = self.top.topics.iter().find(|other| other.number == topic + 1);
        let words = found.map_or(&[][..], |topic| &topic.by_relevance);
        words.iter().take(3).map(|word| self.corpus.words[word.row].as_str()).collect::<Vec<_>>().join(", ")
    }

    fn document(&self, j: usize, weight: f64) -> Jinja {
        let text = self.corpus.texts.as_ref().map(|texts| {
            let text = texts[j].split_whitespace().collect::<Vec<_>>().join(" ");
            match text.char_indices().nth(SNIPPET) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        });
        context! { name => &self.corpus.documents[j], weight => format!("{:.0}", 100.0 * weight), text }
    }
}
