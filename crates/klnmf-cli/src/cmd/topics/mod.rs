//! `klnmf topics`: finds the topics of texts.

mod corpus;
mod folder;
mod report;
mod tables;
mod told;

use super::{Output, choices, metadata, note_rank, parse_seconds, thread_count};
use crate::new_folder::NewFolder;
use crate::{input, interrupt, outputs, progress, summary};
use anyhow::Context;
use clap::Args;
use corpus::{Corpus, Input};
use klnmf::{Solver, Status, TopicInfo, TopicModel, TopicSettings, Weights};
use klnmf_io::Model;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Find the topics of a collection of texts
///
/// INPUT is a folder of .txt files, a .txt file with one document per line, a
/// column of a .csv or .tsv file, a field of a .jsonl file, or a matrix of counts,
/// documents × words (.npz, .mtx, .npy, .csv), with its --vocabulary. Results go to
/// the folder of --out: model.npz, topics.csv, documents.csv, report.html.
///
/// With --model the topics are those of an earlier run. Only the weights of the
/// documents are found, and written to documents.csv and weights.npz.
///
/// For given topics, every document has an optimality gap in nats: a bound on how
/// much higher the log-posterior of any other weights can be (the log-likelihood
/// with --topic-prior 0). The topics are a local optimum; another seed may find
/// better ones.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf topics articles/ --topics 20
  klnmf topics abstracts.csv --column abstract --topics 30 --stop-words english
  klnmf topics counts.npz --vocabulary words.txt --topics 50 --out newsgroups
  klnmf topics new_articles/ --model articles-topics20/model.npz"
)]
pub struct Topics {
    #[command(flatten)]
    input: Input,
    /// Number of topics
    #[arg(
        long,
        short = 'k',
        visible_aliases = ["rank", "components"],
        value_name = "K",
        required_unless_present = "model",
        conflicts_with = "model"
    )]
    topics: Option<usize>,
    /// Model whose topics to use; only the weights of the documents are found
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Pseudo-count of every topic in every document; higher values make documents more mixed [default:
    /// 0.3; with --model: the model's]
    #[arg(long, value_name = "A")]
    topic_prior: Option<f64>,
    /// Pseudo-count of every word in every topic; higher values make topics more similar [default: 0.1]
    #[arg(long, value_name = "B", conflicts_with = "model")]
    word_prior: Option<f64>,
    /// Solver for the topics; expectation maximisation with the pseudo-counts follows
    #[arg(
        long,
        value_name = "SOLVER",
        value_parser = choices::solvers([Solver::Auto, Solver::Simplex]),
        default_value_t = Solver::Auto,
        conflicts_with = "model"
    )]
    solver: Solver,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", default_value_t = 500, conflicts_with = "model")]
    max_iter: usize,
    /// Tolerance in nats per word of the corpus: stop when ten iterations gain less than this; 0 never stops
    /// early
    #[arg(long, value_name = "NATS", default_value_t = 1e-5, conflicts_with = "model")]
    tol: f64,
    /// Time limit in seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Share of the words to hold out for the perplexity; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, conflicts_with = "model")]
    held_out: f64,
    /// Number of words and documents to list for each topic
    #[arg(long, value_name = "N", default_value = "10", conflicts_with = "model", value_parser = at_least_one)]
    top: usize,
    /// Seed of the random start and of the choice of held-out words
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Folder for the results; it must be new or empty [default: named after the input, such as
    /// articles-topics20, or articles-weights with --model]
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace the folder if it holds nothing but the results of an earlier run
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

/// W and H to start from.
type Start = (klnmf::Mat<f64>, klnmf::Mat<f64>);

impl Topics {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(
            (0.0..1.0).contains(&self.held_out),
            "--held-out {}: give a share from 0 to below 1",
            self.held_out
        );
        let settings = self.settings()?;
        match &self.model {
            Some(path) => self.weigh(path, settings, command),
            None => self.fit(settings, command),
        }
    }

    fn settings(&self) -> anyhow::Result<TopicSettings> {
        let default = TopicSettings::default();
        let settings = TopicSettings {
            solver: self.solver,
            topic_prior: self.topic_prior.unwrap_or(default.topic_prior),
            word_prior: self.word_prior.unwrap_or(default.word_prior),
            max_iter: self.max_iter,
            tol: self.tol,
            time_limit: self.time_limit,
            stop: Some(interrupt::flag()),
            seed: self.seed,
            threads: self.threads,
            ..default
        };
        settings.validate()?;
        Ok(settings)
    }

    fn out(&self) -> PathBuf {
        let ending = self.topics.map_or("-weights".into(), |topics| format!("-topics{topics}"));
        self.out.clone().unwrap_or_else(|| outputs::named_after(self.input.path(), &ending))
    }

    /// The folder for the results, which must hold no input.
    fn folder(&self) -> anyhow::Result<NewFolder> {
        let inputs = [self.input.files(), self.model.iter().cloned().collect()].concat();
        let folder = NewFolder::create(&self.out(), self.force, &inputs, folder::written)?;
        folder.notes.iter().for_each(|note| self.output.note(note));
        Ok(folder)
    }

    /// Finds topics.
    fn fit(&self, settings: TopicSettings, command: &str) -> anyhow::Result<ExitCode> {
        let k = self.topics.context("--topics is missing: give the number of topics")?;
        anyhow::ensure!(k > 0, "--topics 0: give at least 1");
        interrupt::nothing_to_save();
        let folder = self.folder()?;
        let corpus = self.input.read()?;
        let v = corpus.counts.view();
        klnmf::check_rank(v, k).with_context(|| self.input.name())?;
        input::check_memory(self.input.path(), v, k, self.threads, beyond(v, k))?;
        note_rank(&self.output, (v.rows(), v.cols()), k);
        let begun = Instant::now();
        let bar = progress::bar(self.max_iter, self.output.quiet);
        let mut watch = |info: &TopicInfo| {
            interrupt::something_to_save();
            bar.set_position(info.iteration as u64);
            bar.set_message(format!("objective {:.6e}", info.objective));
            self.output.tell(|| format!("iteration {}  objective {:.6e}", info.iteration, info.objective));
            ControlFlow::Continue(())
        };
        let (held_out, start) = self.measure(&corpus, k, &settings, &mut watch)?;
        let settings = TopicSettings {
            time_limit: settings.time_limit.map(|limit| limit.saturating_sub(begun.elapsed())),
            ..settings
        };
        let found = match start {
            Some((w, h)) => klnmf::topics_from(v, w, h, &settings, &mut watch),
            None => klnmf::topics(v, k, &settings, watch),
        };
        bar.finish_and_clear();
        let found = found.with_context(|| self.input.name())?;
        let seconds = begun.elapsed().as_secs_f64();

        let top = tables::Top::new(&corpus, &found, self.top)?;
        let mut facts = self.facts(&corpus, &found, &top, held_out, seconds, &settings);
        let metadata = metadata(&facts, command, kind(&corpus));
        let model = model(&corpus, &found.topics, &found.weights, metadata);
        klnmf_io::write_model(&folder.file(folder::MODEL), &model)?;
        tables::write_topics(&folder.file(folder::TOPICS), &corpus, &top)?;
        tables::write_documents(&folder.file(folder::DOCUMENTS), &corpus, &found.weights)?;
        let report = report::Report {
            name: klnmf_io::file_name(self.input.path()),
            corpus: &corpus,
            top: &top,
            found: &found,
            facts: &facts,
        };
        report.write(&folder.file(folder::REPORT), self.top)?;
        folder.keep()?;
        if let Some(note) = top.common_words(&corpus) {
            self.output.note(&note);
        }
        facts["command"] = json!(command);
        self.tell(&corpus, &top, facts)?;
        Ok(interrupt::exit_code(found.status == Status::Stopped))
    }

    /// The perplexity of held-out words for topics fitted without them, and these topics as a start.
    fn measure(
        &self,
        corpus: &Corpus,
        k: usize,
        settings: &TopicSettings,
        watch: &mut dyn FnMut(&TopicInfo) -> ControlFlow<()>,
    ) -> anyhow::Result<(Option<f64>, Option<Start>)> {
        if self.held_out == 0.0 {
            return Ok((None, None));
        }
        let (train, held) = corpus.hold_out(self.held_out, self.seed)?;
        let held_sum = held.view().sum();
        if held_sum == 0.0 || train.view().sum() == 0.0 {
            return Ok((None, None));
        }
        // Use half of the time limit; the rest is for the model itself.
        let settings =
            TopicSettings { time_limit: settings.time_limit.map(|limit| limit / 2), ..settings.clone() };
        let found = klnmf::topics(&train, k, &settings, watch)?;
        let ended = matches!(found.status, Status::Converged | Status::IterationLimit);
        let perplexity = if ended {
            let logs = klnmf::log_likelihoods(&held, &found.topics, &found.weights.weights)?;
            Some(klnmf::perplexity(logs.iter().sum(), held_sum))
        } else {
            None
        };
        // Held-out words may have no topic yet, so a little of everything is mixed in.
        let (topics, weights) = (mixed(&found.topics), mixed(&found.weights.weights));
        Ok((perplexity, Some(klnmf::to_poisson(&topics, &weights, &corpus.lengths()))))
    }

    /// Weights of new documents for the topics of a model.
    fn weigh(&self, path: &Path, mut settings: TopicSettings, command: &str) -> anyhow::Result<ExitCode> {
        interrupt::nothing_to_save();
        let model = klnmf_io::read_model::<f64>(path).with_context(|| {
            format!("--model {}: give a model.npz written by klnmf topics", path.display())
        })?;
        let fitted: Value = serde_json::from_str(&model.metadata).unwrap_or_default();
        if self.topic_prior.is_none() {
            settings.topic_prior = fitted["topic_prior"].as_f64().unwrap_or(0.0);
        }
        let folder = self.folder()?;
        let mut corpus = self.input.read_known(path, &model)?;
        corpus.leave_out(&model.w)?;
        let v = corpus.counts.view();
        let begun = Instant::now();
        let bar = progress::bar(v.cols(), self.output.quiet);
        interrupt::something_to_save();
        let found = klnmf::topic_weights(v, &model.w, &settings, &|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let found = found.with_context(|| self.input.name())?;
        let mut facts = self.weight_facts(&corpus, &found, begun.elapsed().as_secs_f64(), &settings);
        tables::write_documents(&folder.file(folder::DOCUMENTS), &corpus, &found)?;
        let metadata = metadata(&facts, command, kind(&corpus));
        let weights = self::model(&corpus, &model.w, &found, metadata);
        klnmf_io::write_model(&folder.file(folder::WEIGHTS), &weights)?;
        folder.keep()?;
        facts["command"] = json!(command);
        self.tell_weights(&corpus, &found, facts)?;
        Ok(interrupt::exit_code(found.status == Status::Stopped))
    }

    fn facts(
        &self,
        corpus: &Corpus,
        found: &TopicModel,
        top: &tables::Top,
        held_out: Option<f64>,
        seconds: f64,
        settings: &TopicSettings,
    ) -> Value {
        let mut facts = self.weight_facts(corpus, &found.weights, seconds, settings);
        facts["status"] = json!(summary::status(found.status));
        facts["solver"] = json!(settings.solver.name());
        facts["iterations"] = json!(found.iterations);
        facts["topics"] = json!(found.topics.cols());
        facts["word_prior"] = json!(settings.word_prior);
        facts["held_out"] = json!(self.held_out);
        facts["held_out_perplexity"] = held_out.map_or(Value::Null, summary::number);
        facts["held_out_measured"] = json!(held_out.is_some());
        facts["coherence"] = top.mean_coherence().map_or(Value::Null, summary::number);
        facts["seed"] = json!(self.seed);
        facts
    }

    fn weight_facts(
        &self,
        corpus: &Corpus,
        found: &Weights,
        seconds: f64,
        settings: &TopicSettings,
    ) -> Value {
        let (sum, gap): (f64, f64) = (corpus.counts.view().sum(), found.gaps.iter().sum());
        json!({
            "status": summary::status(found.status),
            "seconds": seconds,
            "documents": corpus.documents.len(),
            "vocabulary": corpus.words.len(),
            "sum": sum,
            "unknown_words": corpus.unknown,
            "perplexity": summary::number(found.perplexity(sum)),
            "gap": summary::number(gap),
            "relative_gap": summary::number(if sum > 0.0 { gap / sum } else { gap }),
            "largest_gap": summary::number(found.gaps.iter().copied().fold(0.0, f64::max)),
            "unconverged": found.unconverged,
            "topic_prior": settings.topic_prior,
            "threads": thread_count(self.threads),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// Distributions mixed with 1 % of the even one.
fn mixed(x: &klnmf::Mat<f64>) -> klnmf::Mat<f64> {
    let even = 0.01 / x.rows() as f64;
    klnmf::Mat::from_fn(x.rows(), x.cols(), |i, j| 0.99 * x[(i, j)] + even)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "give a whole number ≥ 1".into())
}

/// Bytes that topics need beside a factorisation: the counts without the held-out words, and with the
/// pseudo-counts of every topic in every document, and the topics with the identity below them.
fn beyond(v: klnmf::Matrix<'_, f64>, k: usize) -> u128 {
    let (n, m, k) = (v.rows() as u128, v.cols() as u128, k as u128);
    2 * v.bytes() as u128 + 2 * 16 * m * k + 3 * 8 * (n + k) * k
}

/// What the metadata hold beside the facts.
fn kind(corpus: &Corpus) -> Value {
    json!({ "kind": "topics", "data_hash": klnmf_io::data_hash_text(corpus.counts.view()) })
}

/// The topics with the weights of a corpus.
fn model(corpus: &Corpus, topics: &klnmf::Mat<f64>, found: &Weights, metadata: String) -> Model<f64> {
    let likelihood = ("log_likelihood".into(), found.log_likelihood.clone());
    Model {
        row_names: corpus.named.then(|| corpus.words.clone()),
        col_names: Some(corpus.documents.clone()),
        columns: vec![("gap".into(), found.gaps.clone()), likelihood],
        ..Model::new(topics.clone(), found.weights.clone(), metadata)
    }
}
