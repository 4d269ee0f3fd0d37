//! What `klnmf topics` prints at the end.

use super::Topics;
use super::corpus::Corpus;
use super::tables::Top;
use klnmf::Weights;
use serde_json::Value;

/// The largest number of topics listed on the terminal.
const MOST_LINES: usize = 30;

impl Topics {
    pub fn tell(&self, corpus: &Corpus, top: &Top, facts: Value) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let mut text = corpus.text();
            for topic in top.topics.iter().take(MOST_LINES) {
                let words: Vec<&str> =
                    topic.by_relevance.iter().take(8).map(|w| corpus.words[w.row].as_str()).collect();
                text += &format!("{:>4} {:>5.1} % {}\n", topic.number, 100.0 * topic.share, words.join(" "));
            }
            if top.topics.len() > MOST_LINES {
                text += &format!("             and {} more, in topics.csv\n", top.topics.len() - MOST_LINES);
            }
            let number = |key: &str| facts[key].as_f64();
            text += &format!(
                "fit          {} after {} iterations in {:.1} s, perplexity {:.1}\n",
                facts["status"].as_str().unwrap_or_default().replace('_', " "),
                facts["iterations"],
                number("seconds").unwrap_or_default(),
                number("perplexity").unwrap_or(f64::INFINITY)
            );
            if let Some(line) = self.held_out_text(facts) {
                text += &format!("held out     {line}\n");
            }
            if let Some(coherence) = number("coherence") {
                text += &format!("coherence    {coherence:.3} (mean NPMI of the top words)\n");
            }
            text += &certificate_text(facts);
            text += &format!(
                "results      {}: model.npz, topics.csv, documents.csv, report.html\n",
                self.out().display()
            );
            text
        })
    }

    fn held_out_text(&self, facts: &Value) -> Option<String> {
        let share = 100.0 * self.held_out;
        match facts["held_out_perplexity"].as_f64() {
            Some(perplexity) => {
                Some(format!("perplexity {perplexity:.1} on {share:.0} % of the words, held out"))
            }
            None if facts["held_out_measured"].as_bool() == Some(true) => {
                Some("perplexity infinite: some words are in no topic; use a --word-prior above 0".into())
            }
            None => None,
        }
    }

    pub fn tell_weights(&self, corpus: &Corpus, found: &Weights, facts: Value) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let mut text = corpus.text();
            text += &format!(
                "weights      {} topics in {:.2} s, perplexity {:.1}\n",
                found.weights.rows(),
                facts["seconds"].as_f64().unwrap_or_default(),
                facts["perplexity"].as_f64().unwrap_or(f64::INFINITY)
            );
            text += &certificate_text(facts);
            text += &format!("results      {}: documents.csv, weights.npz\n", self.out().display());
            text
        })
    }
}

/// What the gaps bound.
pub fn likelihood(facts: &Value) -> &'static str {
    if facts["topic_prior"].as_f64() == Some(0.0) { "log-likelihood" } else { "log-posterior" }
}

fn certificate_text(facts: &Value) -> String {
    let number = |key: &str| facts[key].as_f64().unwrap_or(f64::INFINITY);
    let mut text = format!(
        "gap          for these topics, other weights can raise a document's {} by at most {:.1e} nats (sum \
         {:.1e})\n",
        likelihood(facts),
        number("largest_gap"),
        number("gap")
    );
    if number("unconverged") > 0.0 {
        text += &format!("note         {} documents have a gap above the tolerance\n", facts["unconverged"]);
    }
    text
}
