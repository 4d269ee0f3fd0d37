//! The result of one job, and how it is computed and stored.

use crate::job::{Draw, Job};
use crate::thinning::{Split, bootstrap, split};
use crate::{Error, random::Stream};
use klnmf::{Mat, Matrix, Problem, Settings, Status, dot};
use klnmf_io::Model;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The weight of the rank-one model in held-out predictions, so that they are never zero where a count is.
const BACKGROUND: f64 = 1e-3;

/// Settings of every fit of a plan.
#[derive(Clone, Debug)]
pub struct FitSettings {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Starts of each fit, of which the best is kept.
    pub starts: usize,
    /// The tolerance of each fit: see [`Settings::tol`]. The default is less strict than that of one fit,
    /// because what many fits have in common depends far more on where they start than on their last digits.
    pub tol: f64,
    /// The iteration limit of each fit.
    pub max_iter: usize,
    /// Setting this to true ends the work; fits that are not complete are discarded.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self { seed: 0, starts: 1, tol: 1e-2, max_iter: Settings::default().max_iter, stop: None }
    }
}

/// One fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// What was fitted.
    pub job: Job,
    /// The parts, n × r.
    pub w: Mat<f64>,
    /// The weights, r × m.
    pub h: Mat<f64>,
    /// D(V‖WH) of the data of the fit.
    pub divergence: f64,
    /// The larger single-factor gap, relative to the divergence.
    pub relative_gap: f64,
    /// Iterations.
    pub iterations: usize,
    /// Whether the gaps are within the tolerance.
    pub converged: bool,
    /// For a training fold, the divergence of every column of the other fold from its prediction.
    pub held_out: Vec<f64>,
}

impl Job {
    /// Computes the fit. The result depends on V, the job and the settings only. `whole` is V, prepared on
    /// the threads that are to be used.
    pub fn run(
        &self,
        v: Matrix<'_, f64>,
        whole: &Problem<'_, f64>,
        with: &FitSettings,
    ) -> Result<Fit, Error> {
        let number = match self.draw {
            Draw::Start(number) | Draw::Bootstrap(number) => number,
            Draw::Fold(..) => 0,
        };
        let settings = Settings {
            // Several starts of one fit have consecutive seeds, which must not meet those of another fit.
            seed: Stream::new(&[with.seed, 3, self.rank as u64, number]).bits() >> 1,
            starts: with.starts,
            tol: with.tol,
            max_iter: with.max_iter,
            stop: with.stop.clone(),
            ..Settings::default()
        };
        match self.draw {
            Draw::Start(_) => self.fit(whole, &settings),
            Draw::Bootstrap(number) => {
                let drawn = bootstrap(v, Stream::new(&[with.seed, number]).bits())?;
                self.fit(&Problem::new(drawn.view(), 0)?, &settings)
            }
            Draw::Fold(fold, how) => {
                let [train, test] = split(v, with.seed, how, fold)?;
                let mut fit = self.fit(&Problem::new(train.view(), 0)?, &settings)?;
                drop(train);
                fit.held_out = held_out(v, test.view(), how, &fit);
                Ok(fit)
            }
        }
    }

    fn fit(&self, problem: &Problem<'_, f64>, settings: &Settings) -> Result<Fit, Error> {
        let found = problem.factorize(self.rank, settings)?;
        if found.status == Status::Stopped {
            return Err(Error::Stopped { done: 0, all: 1 });
        }
        let info = found.info;
        Ok(Fit {
            job: *self,
            w: found.w,
            h: found.h,
            divergence: info.divergence,
            relative_gap: info.relative_gap(),
            iterations: info.iteration,
            converged: found.status == Status::Converged,
            held_out: Vec::new(),
        })
    }
}

/// For every column, the divergence of the test counts from their prediction: (1−δ)·WH + δ·(rank-one model),
/// over K − 1, because the training data hold K − 1 of the K folds. The rank-one model has the row and column
/// sums of V, so that it is positive wherever a count is.
fn held_out(v: Matrix<'_, f64>, test: Matrix<'_, f64>, how: Split, fit: &Fit) -> Vec<f64> {
    let (rows, cols, total) = (v.row_sums(), v.col_sums(), v.sum().max(f64::MIN_POSITIVE));
    let share = (how.folds - 1) as f64;
    let background = |i: usize, j: usize| BACKGROUND * rows[i] * (cols[j] / total) / how.folds as f64;
    let (wt, sums) = (fit.w.transpose(), fit.w.col_sums());
    // The sum of the predictions of a column.
    let predicted = |j: usize| {
        (1.0 - BACKGROUND) * dot(&sums, fit.h.col(j)) / share + BACKGROUND * cols[j] / how.folds as f64
    };
    let mut scores: Vec<f64> = (0..v.cols()).map(predicted).collect();
    for (i, j, x) in test.entries().filter(|(.., x)| *x > 0.0) {
        let mean = (1.0 - BACKGROUND) * dot(wt.col(i), fit.h.col(j)) / share + background(i, j);
        scores[j] += x * (x / mean).ln() - x;
    }
    scores
}

impl Fit {
    /// The fit as a model that can be stored.
    pub fn to_model(&self) -> Model<f64> {
        let metadata = json!({
            "fit": self.job.to_string(),
            "divergence": self.divergence,
            "relative_gap": self.relative_gap,
            "iterations": self.iterations,
            "converged": self.converged,
        });
        let held_out = (!self.held_out.is_empty()).then(|| ("held_out".to_owned(), self.held_out.clone()));
        let columns = held_out.into_iter().collect();
        Model { columns, ..Model::new(self.w.clone(), self.h.clone(), metadata.to_string()) }
    }

    /// The fit in a model that [`Fit::to_model`] made.
    pub fn from_model(model: Model<f64>) -> Option<Self> {
        let facts: Value = serde_json::from_str(&model.metadata).ok()?;
        let held_out = model.columns.into_iter().find(|(name, _)| name == "held_out");
        Some(Self {
            job: facts["fit"].as_str()?.parse().ok()?,
            w: model.w,
            h: model.h,
            divergence: facts["divergence"].as_f64()?,
            relative_gap: facts["relative_gap"].as_f64().unwrap_or(f64::INFINITY),
            iterations: facts["iterations"].as_u64()? as usize,
            converged: facts["converged"].as_bool()?,
            held_out: held_out.map_or_else(Vec::new, |(_, numbers)| numbers),
        })
    }
}
