//! The weights of documents for given topics, and the exact conversions between topic models and Poisson
//! factorisations.

use super::TopicSettings;
use crate::block::ColumnData;
use crate::certificate::check_factor;
use crate::decompose::{DecomposeSettings, Decomposer, Decomposition};
use crate::matrix::{Matrix, Order, Sparse};
use crate::parallel::{self, Pool};
use crate::{Error, Mat, Result, Status};

/// The weights of documents for given topics, with a certificate each.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Topics × documents; columns sum to 1. An empty document has equal weights.
    pub weights: Mat<f64>,
    /// For every document: no other weights have a log-posterior (log-likelihood if α = 0) that is higher by
    /// more than this, in nats.
    pub gaps: Vec<f64>,
    /// For every document: Σ v log(Wx), without the multinomial coefficient.
    pub log_likelihood: Vec<f64>,
    /// Number of documents above the tolerance.
    pub unconverged: usize,
    /// Why the computation ended.
    pub status: Status,
}

impl Weights {
    /// exp(−log-likelihood per word) of a corpus with that many words.
    pub fn perplexity(&self, words: f64) -> f64 {
        perplexity(self.log_likelihood.iter().sum(), words)
    }
}

/// exp(−L/N), the perplexity of N words with log-likelihood L; 1 if there are no words.
pub fn perplexity(log_likelihood: f64, words: f64) -> f64 {
    if words > 0.0 { (-log_likelihood / words).exp() } else { 1.0 }
}

/// Scales every column to sum 1. A zero column gets equal entries.
pub(super) fn to_distributions(x: &mut Mat<f64>) {
    let n = x.rows();
    for column in x.as_mut_slice().chunks_mut(n.max(1)) {
        let sum: f64 = column.iter().sum();
        column.iter_mut().for_each(|x| *x = if sum > 0.0 { *x / sum } else { 1.0 / n as f64 });
    }
}

/// The topic model of a Poisson factorisation: topics, weights, and the column sums of WH.
///
/// Topics × weights × sizes equals W·H, except for rounding errors.
///
/// # Panics
///
/// If W does not have as many columns as H has rows.
pub fn to_topics(w: &Mat<f64>, h: &Mat<f64>) -> (Mat<f64>, Mat<f64>, Vec<f64>) {
    assert_eq!(w.cols(), h.rows(), "W must have as many columns as H has rows");
    let (mut topics, scales) = (w.clone(), w.col_sums());
    to_distributions(&mut topics);
    let mut weights = Mat::from_fn(h.rows(), h.cols(), |k, j| h[(k, j)] * scales[k]);
    let sizes = weights.col_sums();
    to_distributions(&mut weights);
    (topics, weights, sizes)
}

/// The Poisson factorisation of a topic model for documents of these sizes.
///
/// # Panics
///
/// If there is not one size for every document.
pub fn to_poisson(topics: &Mat<f64>, weights: &Mat<f64>, sizes: &[f64]) -> (Mat<f64>, Mat<f64>) {
    assert_eq!(weights.cols(), sizes.len(), "there must be a size for every document");
    let h = Mat::from_fn(weights.rows(), weights.cols(), |k, j| weights[(k, j)] * sizes[j]);
    (topics.clone(), h)
}

/// The weights of documents for given topics, each with its certificate. Topics are words × topics; their
/// columns are scaled to sum 1.
///
/// `progress` is called now and then with the number of documents done. A word that occurs in a document but
/// in no topic is an error, because its probability is zero.
pub fn topic_weights<'a>(
    v: impl Into<Matrix<'a, f64>>,
    topics: &Mat<f64>,
    settings: &TopicSettings,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Weights> {
    let v = v.into();
    settings.validate()?;
    let topics = distributions(topics)?;
    if v.rows() != topics.rows() {
        let (n, words) = (v.rows(), topics.rows());
        return Err(Error::Shape(format!("V has {n} rows, but the topics have {words} words")));
    }
    let convex = DecomposeSettings {
        tol: settings.weights_tol,
        threads: settings.threads,
        time_limit: settings.time_limit,
        stop: settings.stop.clone(),
        ..DecomposeSettings::default()
    };
    let decompose = |v: Matrix<'_, f64>, w: &Mat<f64>| {
        Decomposer::new(w, settings.threads)?.decompose_with(v, &convex, progress)
    };
    Pool::new(settings.threads)?.run(|| {
        let found = if settings.topic_prior > 0.0 {
            let more = with_pseudo_counts(v, topics.cols(), settings.topic_prior)?;
            decompose(more.view(), &with_identity(&topics))?
        } else {
            decompose(v, &topics)?
        };
        Weights::of(found, v, &topics)
    })
}

/// Topics with columns scaled to sum 1, or an error if entries are negative or not finite.
#[doc(hidden)]
pub fn distributions(topics: &Mat<f64>) -> Result<Mat<f64>> {
    check_factor("W", topics, &topics.col_sums())?;
    let mut topics = topics.clone();
    to_distributions(&mut topics);
    Ok(topics)
}

impl Weights {
    /// The weights of the documents V from their decomposition by these topics.
    #[doc(hidden)]
    pub fn of(found: Decomposition<f64>, v: Matrix<'_, f64>, topics: &Mat<f64>) -> Result<Self> {
        let (gaps, unconverged) = (found.columns.iter().map(|c| c.gap).collect(), found.unconverged());
        let mut weights = found.h;
        to_distributions(&mut weights);
        let log_likelihood = log_likelihoods(v, topics, &weights)?;
        Ok(Self { weights, gaps, log_likelihood, unconverged, status: found.status })
    }
}

/// V with k more rows of α. A document without words stays empty.
fn with_pseudo_counts(v: Matrix<'_, f64>, k: usize, alpha: f64) -> Result<Sparse<f64>> {
    let (n, m, lengths) = (v.rows(), v.cols(), v.col_sums());
    Sparse::from_triplets(n + k, m, Order::Columns, |put| {
        v.entries().filter(|entry| entry.2 != 0.0).try_for_each(|(i, j, x)| put(i, j, x))?;
        let mut documents = (0..m).filter(|j| lengths[*j] > 0.0);
        documents.try_for_each(|j| (n..n + k).try_for_each(|i| put(i, j, alpha)))
    })
}

/// W with the identity below it.
fn with_identity(topics: &Mat<f64>) -> Mat<f64> {
    let (n, k) = (topics.rows(), topics.cols());
    Mat::from_fn(n + k, k, |i, j| if i < n { topics[(i, j)] } else { f64::from(u8::from(i - n == j)) })
}

/// Σ v log(Wx) of every document; uses all threads if called in a pool.
pub fn log_likelihoods<'a>(
    v: impl Into<Matrix<'a, f64>>,
    topics: &Mat<f64>,
    weights: &Mat<f64>,
) -> Result<Vec<f64>> {
    let (v, pool) = (v.into(), Pool::new(1)?);
    crate::check_factors(v, topics, weights)?;
    v.check()?;
    let columns = ColumnData::new(&pool, v)?;
    let (view, wt) = (columns.view(), topics.transpose());
    let of_document = |j| {
        let (x, entries) = (weights.col(j), view.line(j).entries().filter(|(_, v)| *v > 0.0));
        entries.map(|(i, v)| v * crate::kernel::dot(wt.col(i), x).ln()).sum()
    };
    Ok(pool.run(|| parallel::map(0..view.cols(), of_document)))
}
