//! `klnmf-bench topics`: perplexity of words kept aside, and the time to get there.

use crate::{check_output, peers, thread_count};
use anyhow::Context;
use clap::Args;
use klnmf::{Matrix, Sparse, TopicSettings};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Fit topic models to nine tenths of the words and predict the others
///
/// Every occurrence of a word is kept aside with probability 0.1. The model is fitted to the rest, and its
/// perplexity is that of the words kept aside, each in its own document. Counts are documents × words.
/// Without a file the counts are text/reuters.npz (20 topics) and text/newsgroups.npz (50 topics) in the
/// folder of --data.
#[derive(Args)]
pub struct Topics {
    /// A matrix of counts, documents × words
    #[arg(value_name = "COUNTS", requires = "topics")]
    path: Option<PathBuf>,
    /// The number of topics for it
    #[arg(long, short = 'k', value_name = "K")]
    topics: Option<usize>,
    /// The folder of the real data
    #[arg(long, value_name = "FOLDER", env = "KLNMF_DATA")]
    data: Option<PathBuf>,
    /// Pseudo-count of every topic in every document [default: as of klnmf topics]
    #[arg(long, value_name = "A")]
    topic_prior: Option<f64>,
    /// Pseudo-count of every word in every topic [default: as of klnmf topics]
    #[arg(long, value_name = "B")]
    word_prior: Option<f64>,
    /// Of the start and of the words kept aside
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    peers: peers::Peers,
    /// Where to write the table
    #[arg(long, short, value_name = "FILE", default_value = "topics.csv")]
    out: PathBuf,
}

/// A model, the seconds it took, and its perplexity.
struct Line {
    case: String,
    who: String,
    seconds: f64,
    perplexity: f64,
}

impl Topics {
    pub fn run(self) -> anyhow::Result<()> {
        check_output(&self.out)?;
        let mut lines = Vec::new();
        for (path, k) in self.cases()? {
            let table = klnmf_io::read::<f64>(&path)?.transpose();
            let v = table.matrix.view();
            v.check().map_err(|why| klnmf_io::Error::matrix(&path, why))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            self.case(&format!("{name} K={k}"), v, k, &mut lines)?;
        }
        klnmf_io::atomically(&self.out, |out| {
            writeln!(out, "case,model,seconds,perplexity")?;
            lines.iter().try_for_each(|line| {
                writeln!(out, "{},{},{:.3},{:.3}", line.case, line.who, line.seconds, line.perplexity)
            })
        })?;
        println!("table        {}", self.out.display());
        Ok(())
    }

    fn cases(&self) -> anyhow::Result<Vec<(PathBuf, usize)>> {
        if let (Some(path), Some(k)) = (&self.path, self.topics) {
            return Ok(vec![(path.clone(), k)]);
        }
        let folder =
            self.data.as_ref().context("name a matrix of counts, or the folder of the data with --data")?;
        let file = |name: &str| folder.join("text").join(name);
        Ok(vec![(file("reuters.npz"), 20), (file("newsgroups.npz"), 50)])
    }

    fn case(&self, name: &str, v: Matrix<'_, f64>, k: usize, lines: &mut Vec<Line>) -> anyhow::Result<()> {
        let counts = Sparse::reordered(v)?;
        let (train, held) = klnmf_text::hold_out(&counts, 0.1, self.seed)?;
        let default = TopicSettings::default();
        let settings = TopicSettings {
            seed: self.seed,
            topic_prior: self.topic_prior.unwrap_or(default.topic_prior),
            word_prior: self.word_prior.unwrap_or(default.word_prior),
            ..default
        };
        let begun = Instant::now();
        let found = klnmf::topics(&train, k, &settings, |_| ControlFlow::Continue(()))?;
        let seconds = begun.elapsed().as_secs_f64();
        let logs = klnmf::log_likelihoods(&held, &found.topics, &found.weights.weights)?;
        let perplexity = klnmf::perplexity(logs.iter().sum(), held.view().sum());
        lines.push(Line { case: name.into(), who: "klnmf topics".into(), seconds, perplexity }.told());
        if let Some(folder) = &self.peers.folder {
            for (who, seconds, perplexity) in run_peers(folder, &train, &held, k)? {
                lines.push(Line { case: name.into(), who, seconds, perplexity }.told());
            }
        }
        Ok(())
    }
}

impl Line {
    /// Prints it.
    fn told(self) -> Self {
        let Self { case, who, seconds, perplexity } = &self;
        println!("{case:<18} {who:<22} {seconds:>8.2} s   perplexity {perplexity:.1}");
        self
    }
}

/// Hands the words over in files and reads `peer,seconds,perplexity` lines.
fn run_peers(
    folder: &Path,
    train: &Sparse<f64>,
    held: &Sparse<f64>,
    k: usize,
) -> anyhow::Result<Vec<(String, f64, f64)>> {
    let exchange = tempfile::tempdir()?;
    peers::write_mtx(&exchange.path().join("train.mtx"), train.view())?;
    peers::write_mtx(&exchange.path().join("held.mtx"), held.view())?;
    let arguments = [k.to_string(), thread_count(0).to_string(), "topics".into()];
    let out = peers::run_script(folder, exchange.path(), &arguments)?;
    let parse = |line: &str| {
        let mut fields = line.rsplitn(3, ',');
        let perplexity = fields.next()?.parse().ok()?;
        let seconds = fields.next()?.parse().ok()?;
        Some((fields.next()?.to_owned(), seconds, perplexity))
    };
    Ok(out.lines().filter_map(parse).collect())
}
