//! Topic models: documents as mixtures of topics, topics as distributions over words (PLSA; with
//! pseudo-counts, LDA's MAP).
//!
//! V holds counts, words × documents. With topics W (columns sum to 1) and a document's weights x (on the
//! simplex) the log-likelihood is Σ v log(Wx). A Poisson factorisation has the same fit. To convert it, scale
//! the columns of W to sum 1 and the rows of H inversely. At the optimum the columns of H then sum to the
//! lengths of the documents, and dividing by that sum gives x. [`to_topics`] and [`to_poisson`] are exact.
//!
//! Pseudo-counts α for every topic in a document and β for every word in a topic are Dirichlet priors 1 + α
//! and 1 + β. For fixed topics the smoothed problem is again a decomposition, with r more rows: α in V and
//! the identity in W add −α Σ log x. So [`decompose`](crate::decompose) gives its optimum and its
//! certificate. Along a ray the two objectives differ by a constant, so the gap of the larger problem is the
//! gap of the document, in nats.

mod weights;

use weights::to_distributions;
pub use weights::{
    Weights, distributions, log_likelihoods, perplexity, to_poisson, to_topics, topic_weights,
};

use crate::block::DictionaryParts;
use crate::error::require;
use crate::factorize::interrupted;
use crate::matrix::Matrix;
use crate::parallel::check_threads;
use crate::problem::Problem;
use crate::solver::Side;
use crate::solver::extrapolated::{Extrapolated, Momentum};
use crate::solver::method::{Factors, Local, Pair, alternate};
use crate::solver::mu::COUNTS;
use crate::solver::place::order_by_share;
use crate::solver::smooth::Prior;
use crate::{Mat, Result, Scalar, Settings, Solver, Status};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Iterations of the plain factorisation that initialises a smoothed model.
const PLAIN: usize = 20;
/// The smallest tolerance that f32 resolves.
const FINE: f64 = 1e-6;
/// Iterations between two checks of the objective.
const LOOK_EVERY: usize = 10;

/// Settings of [`topics`].
#[derive(Clone, Debug)]
pub struct TopicSettings {
    /// The method of the plain factorisation: [`Solver::Auto`], or [`Solver::Simplex`] for the paper's own.
    pub solver: Solver,
    /// α: the pseudo-count of every topic in every document.
    pub topic_prior: f64,
    /// β: the pseudo-count of every word in every topic.
    pub word_prior: f64,
    /// Iteration limit.
    pub max_iter: usize,
    /// Stop when ten iterations gain less than this, in nats per word of the corpus. 0: never stop early.
    pub tol: f64,
    /// The final gap of a document's weights, in nats per word and pseudo-count of the document.
    pub weights_tol: f64,
    /// Limit of the elapsed time. [`topics`] still computes the weights of the documents after it.
    pub time_limit: Option<Duration>,
    /// Setting this to true, from any thread, ends the work as a time limit does.
    pub stop: Option<Arc<AtomicBool>>,
    /// Seed of the random start.
    pub seed: u64,
    /// Threads; 0 for one per core.
    pub threads: usize,
}

impl Default for TopicSettings {
    fn default() -> Self {
        Self {
            solver: Solver::Auto,
            topic_prior: 0.3,
            word_prior: 0.1,
            max_iter: 500,
            tol: 1e-5,
            weights_tol: 1e-6,
            time_limit: None,
            stop: None,
            seed: 0,
            threads: 0,
        }
    }
}

impl TopicSettings {
    /// Checks that every setting is in range.
    pub fn validate(&self) -> Result<()> {
        let range = |name, value: f64| {
            require(value.is_finite() && value >= 0.0, name, value, "a finite number ≥ 0 is needed")
        };
        range("topic_prior", self.topic_prior)?;
        range("word_prior", self.word_prior)?;
        range("tol", self.tol)?;
        range("weights_tol", self.weights_tol)?;
        check_threads(self.threads)?;
        let must = "this solver takes dense matrices only: choose auto or simplex";
        require(!self.solver.spec().dense_only, "solver", self.solver, must)
    }

    fn interrupted(&self, begun: Instant) -> Option<Status> {
        interrupted(&self.stop, self.time_limit, begun)
    }
}

/// A fitted topic model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopicModel {
    /// Words × topics; columns sum to 1. The topic that explains most words comes first.
    pub topics: Mat<f64>,
    /// The weights of the documents that the model was fitted to.
    pub weights: Weights,
    /// Number of iterations.
    pub iterations: usize,
    /// Why the fitting ended.
    pub status: Status,
}

impl TopicModel {
    /// Sorts the topics by the number of words that they explain, for documents of these lengths.
    fn sort(&mut self, lengths: &[f64]) {
        let (x, topics) = (&self.weights.weights, &self.topics);
        let share = |k: usize| (0..x.cols()).map(|j| x[(k, j)] * lengths[j]).sum();
        let shares: Vec<f64> = (0..x.rows()).map(share).collect();
        let order = order_by_share(&topics.col_sums(), &shares, 0);
        self.weights.weights = Mat::from_fn(x.rows(), x.cols(), |k, j| x[(order[k], j)]);
        self.topics = Mat::from_fn(topics.rows(), topics.cols(), |i, k| topics[(i, order[k])]);
    }
}

/// Progress of the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopicInfo {
    /// Iterations so far.
    pub iteration: usize,
    /// Elapsed seconds.
    pub seconds: f64,
    /// The divergence plus the penalty of the pseudo-counts.
    pub objective: f64,
}

/// Fits `k` topics to V, words × documents.
///
/// `watch` is called from time to time with the progress. If it breaks, the fit ends, and the current topics
/// are returned with their weights.
///
/// ```
/// use klnmf::{Mat, TopicSettings, topics};
/// use std::ops::ControlFlow;
/// // Words 0–1 occur together, and words 2–3.
/// let v = Mat::from_fn(4, 6, |i, j| if i / 2 == j / 3 { 5.0 + ((i + j) % 2) as f64 } else { 0.0 });
/// let model = topics(&v, 2, &TopicSettings::default(), |_| ControlFlow::Continue(()))?;
/// assert!((model.topics.col_sums()[0] - 1.0).abs() < 1e-12);
/// assert!(model.weights.gaps.iter().all(|gap| *gap < 1e-4));
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn topics<'a>(
    v: impl Into<Matrix<'a, f64>>,
    k: usize,
    settings: &TopicSettings,
    mut watch: impl FnMut(&TopicInfo) -> ControlFlow<()>,
) -> Result<TopicModel> {
    settings.validate()?;
    let v = v.into();
    let problem = Problem::new(v, settings.threads)?;
    let (w, h) = problem.init(k, &plain_settings(settings))?;
    fit(v, &problem, w, h, settings, &mut watch)
}

/// [`topics`] from given factors: those of an earlier model, from [`to_poisson`], or a start of your own.
pub fn topics_from<'a>(
    v: impl Into<Matrix<'a, f64>>,
    w: Mat<f64>,
    h: Mat<f64>,
    settings: &TopicSettings,
    watch: &mut dyn FnMut(&TopicInfo) -> ControlFlow<()>,
) -> Result<TopicModel> {
    settings.validate()?;
    let v = v.into();
    fit(v, &Problem::new(v, settings.threads)?, w, h, settings, watch)
}

/// Fits topics to V, which is also given prepared.
fn fit(
    v: Matrix<'_, f64>,
    problem: &Problem<'_, f64>,
    w: Mat<f64>,
    h: Mat<f64>,
    settings: &TopicSettings,
    watch: &mut dyn FnMut(&TopicInfo) -> ControlFlow<()>,
) -> Result<TopicModel> {
    let begun = Instant::now();
    let smoothed = settings.topic_prior > 0.0 || settings.word_prior > 0.0;
    let mut judge = Judge { settings, begun, sum: problem.sum, last: f64::INFINITY, verdict: None, watch };
    let mut plain = plain_settings(settings);
    if smoothed {
        plain.max_iter = PLAIN.min(plain.max_iter.saturating_sub(1));
    }
    let found = problem.factorize_from(w, h, &plain, |info| judge.look(info.iteration, info.divergence))?;
    let (mut iterations, mut topics) = (found.info.iteration, found.w);
    let mut status = judge.verdict.unwrap_or(found.status);
    if smoothed && !matches!(status, Status::Stopped | Status::TimeLimit) && iterations < settings.max_iter {
        (judge.verdict, judge.last) = (None, f64::INFINITY);
        let factors = Factors { wt: topics.transpose(), h: found.h };
        // f32 suffices unless the tolerance is too fine. The final weights are computed in f64.
        let wt = if settings.tol < FINE || !(1e-15..1e15).contains(&problem.sum) {
            smooth(problem, factors, &mut iterations, &mut judge)
        } else {
            let narrow = factors.cast::<f32>();
            drop(factors);
            smooth(problem, narrow, &mut iterations, &mut judge).cast()
        };
        topics = wt.transpose();
        status = judge.verdict.unwrap_or(Status::IterationLimit);
    }
    to_distributions(&mut topics);
    // Weights are computed even after an interruption: topics alone do not describe the documents.
    let convex = TopicSettings { time_limit: None, stop: None, ..settings.clone() };
    let weights = problem.pool.run(|| topic_weights(v, &topics, &convex, &|_| ()))?;
    let mut model = TopicModel { topics, weights, iterations, status };
    model.sort(problem.blocks::<f64>(Side::H).sums());
    Ok(model)
}

/// The settings of the plain factorisation.
fn plain_settings(settings: &TopicSettings) -> Settings {
    Settings {
        solver: settings.solver,
        max_iter: settings.max_iter,
        tol: 0.0,
        seed: settings.seed,
        threads: settings.threads,
        time_limit: settings.time_limit,
        stop: settings.stop.clone(),
        ..Settings::default()
    }
}

/// Decides when to stop.
struct Judge<'a> {
    settings: &'a TopicSettings,
    begun: Instant,
    /// Words in the corpus.
    sum: f64,
    /// The objective at the last look.
    last: f64,
    verdict: Option<Status>,
    watch: &'a mut dyn FnMut(&TopicInfo) -> ControlFlow<()>,
}

impl Judge<'_> {
    /// Breaks if there is a reason to stop, and stores it.
    fn look(&mut self, iteration: usize, objective: f64) -> ControlFlow<()> {
        let info = TopicInfo { iteration, seconds: self.begun.elapsed().as_secs_f64(), objective };
        let gain = self.last - objective;
        self.last = objective;
        let converged = iteration > 0 && self.settings.tol > 0.0 && gain <= self.settings.tol * self.sum;
        let told = (self.watch)(&info).is_break().then_some(Status::Stopped);
        let ended = told.or_else(|| self.settings.interrupted(self.begun));
        self.verdict = ended.or(converged.then_some(Status::Converged));
        if self.verdict.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Extrapolated expectation maximisation with the pseudo-counts, from the given factors. Returns Wᵀ, and adds
/// to `iterations`.
fn smooth<T: Scalar>(
    problem: &Problem<'_, f64>,
    mut factors: Pair<T>,
    iterations: &mut usize,
    judge: &mut Judge<'_>,
) -> Mat<T> {
    let (settings, order) = (judge.settings, vec![Side::H, Side::W]);
    let prior = Prior { alpha: settings.topic_prior, beta: settings.word_prior };
    let mut site = Local::new(problem, factors.h.rows(), DictionaryParts::default(), 0, Some(prior));
    // After one step on each factor, nothing is zero.
    alternate(&mut site, &order, &COUNTS, &mut factors, 1);
    // No weight can get stuck at zero, so decreases may be extrapolated too.
    let momentum = Momentum::new(&COUNTS, false);
    let mut walk = Extrapolated::new(site, order, problem.sum, &factors, momentum, None);
    let before = *iterations;
    *iterations += 1;
    while *iterations < settings.max_iter {
        walk.advance(&mut factors, 1);
        *iterations += 1;
        let due =
            (*iterations - before).is_multiple_of(LOOK_EVERY) || settings.interrupted(judge.begun).is_some();
        if due && judge.look(*iterations, walk.f).is_break() {
            break;
        }
    }
    factors.wt
}
