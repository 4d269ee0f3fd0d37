//! Learning from a stream: blocks of columns arrive one after the other, and are not kept.
//!
//! For a block V_b of mass m_b = ΣV_b and the current W, whose columns sum to 1:
//!
//! * H_b minimises D(V_b‖W·H_b), with a certificate for every column;
//! * A = W ∘ (V_b/(W·H_b))·H_bᵀ is the part of V_b that each feature contributes to each part;
//! * S ← (1 − γ)·S + γ·A/m_b, and the same for v, the shares of the features in V;
//! * W is S with its columns scaled to sum 1.
//!
//! γ = (t + 1)^−0.6 for block t, or [`OnlineSettings::forgetting`] if that is larger. This is online EM
//! (Cappé & Moulines 2009; Lefèvre, Bach & Févotte 2011). No entry of S falls below 10⁻⁹·v, because a zero
//! could not grow again. A feature that occurs for the first time gets random shares of its mass.

use crate::error::require;
use crate::matrix::Matrix;
use crate::parallel::Pool;
use crate::worker::{Column, Piece, Step};
use crate::{DecomposeSettings, Decomposer, Decomposition, Error, Mat, Result, Scalar, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The exponent of the rate.
const DECAY: f64 = -0.6;
/// The least share of a part in a feature, relative to the share of the feature in V.
const FLOOR: f64 = 1e-9;

/// Settings of [`Online`].
#[derive(Clone, Debug)]
pub struct OnlineSettings {
    /// The least weight of a new block. 0 suits data that do not change. With 0.1, the last ten blocks or so
    /// determine the parts, which then follow data that drift.
    pub forgetting: f64,
    /// Seed of the random start.
    pub seed: u64,
    /// How the weights of a block are found. The tolerance is 0.01 here, because the parts move anyway.
    pub weights: DecomposeSettings,
}

impl Default for OnlineSettings {
    fn default() -> Self {
        let weights = DecomposeSettings { tol: 1e-2, ..DecomposeSettings::default() };
        Self { forgetting: 0.0, seed: 0, weights }
    }
}

/// What [`Online`] has learned, to be stored. [`Online::resume`] continues from it to the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineState {
    /// Blocks so far.
    pub blocks: usize,
    /// Sᵀ, with a row for every part and a column for every feature.
    pub parts: Mat<f64>,
    /// v, the share of every feature in V.
    pub features: Vec<f64>,
}

impl OnlineState {
    /// Fails if its numbers do not fit together.
    fn check(&self) -> Result<()> {
        let OnlineState { parts, features, .. } = self;
        let good = |x: &f64| x.is_finite() && *x >= 0.0;
        if parts.rows() == 0 || parts.cols() != features.len() {
            return Err(Error::State("its parts and features do not match".into()));
        }
        let sums = parts.row_sums();
        if !parts.as_slice().iter().chain(features).chain(&sums).all(good) {
            return Err(Error::State("it has parts or features that are negative or not finite".into()));
        }
        if !features.is_empty() && features.iter().all(|x| *x == 0.0) {
            return Err(Error::State("none of its features has occurred".into()));
        }
        Ok(())
    }
}

/// A factorisation that learns from one block of columns at a time.
///
/// ```
/// use klnmf::{Mat, Online, OnlineSettings};
/// let mut online = Online::new(2, OnlineSettings::default())?;
/// for block in 0..20 {
///     let v = Mat::from_fn(6, 30, |i, j| ((i % 2 + j % 2) % 2 * (3 + (i + j + block) % 4)) as f64);
///     let weights = online.push(&v)?;
///     assert!(weights.gap() <= 1e-2 * v.as_slice().iter().sum::<f64>());
/// }
/// let w = online.dictionary();
/// assert!((w.col_sums()[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), klnmf::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Online {
    settings: OnlineSettings,
    state: OnlineState,
}

impl Online {
    /// Begins with `rank` random parts. The first block tells how many features there are.
    pub fn new(rank: usize, settings: OnlineSettings) -> Result<Self> {
        require(rank > 0, "rank", rank, "at least 1 part is needed")?;
        let state = OnlineState { blocks: 0, parts: Mat::zeros(rank, 0), features: vec![] };
        Self::resume(state, settings)
    }

    /// Continues from a stored state.
    pub fn resume(state: OnlineState, settings: OnlineSettings) -> Result<Self> {
        settings.weights.validate()?;
        let rate = settings.forgetting;
        require((0.0..=1.0).contains(&rate), "forgetting", rate, "a number from 0 to 1 is needed")?;
        state.check()?;
        Ok(Self { settings, state })
    }

    /// What was learned so far.
    pub fn state(&self) -> &OnlineState {
        &self.state
    }

    /// The parts, one per column, as learned so far. They sum to 1, unless nothing was pushed yet.
    pub fn dictionary(&self) -> Mat<f64> {
        self.transposed().transpose()
    }

    /// Wᵀ.
    fn transposed(&self) -> Mat<f64> {
        let OnlineState { parts, features, .. } = &self.state;
        let (mut wt, rank) = (parts.clone(), parts.rows());
        for (w, feature) in wt.as_mut_slice().chunks_mut(rank).zip(features) {
            w.iter_mut().for_each(|w| *w = w.max(FLOOR * feature));
        }
        let sums = wt.row_sums();
        for w in wt.as_mut_slice().chunks_mut(rank) {
            w.iter_mut().zip(&sums).for_each(|(w, sum)| *w /= sum);
        }
        wt
    }

    /// Learns from a block of columns, and returns their weights for the parts as they were before, with a
    /// certificate for every column. A block may have more rows than those before it: new features, to which
    /// the parts first get random shares. A block without any positive entry changes nothing. Nothing is
    /// learned either if this fails, is stopped or reaches the time limit, because some weights are then
    /// those of the start.
    pub fn push<'a, T: Scalar>(&mut self, v: impl Into<Matrix<'a, T>>) -> Result<Decomposition<T>> {
        let v = v.into();
        v.check_not_empty()?;
        v.check()?;
        let known = self.state.features.len();
        if v.rows() < known {
            let rows = v.rows();
            return Err(Error::Shape(format!(
                "the block has {rows} rows and there are {known} features already: add empty rows for the others"
            )));
        }
        // One pool for all that follows.
        Pool::new(self.settings.weights.threads)?.run(|| self.decompose_and_learn(v))
    }

    fn decompose_and_learn<T: Scalar>(&mut self, v: Matrix<'_, T>) -> Result<Decomposition<T>> {
        let (mut next, mass, sums) = (self.clone(), v.sum(), v.row_sums());
        let settings = &self.settings.weights;
        if mass == 0.0 {
            let even = Mat::from_fn(v.rows(), self.state.parts.rows(), |_, _| T::ONE);
            return Decomposer::new(&even, 0)?.decompose(v, settings);
        }
        next.meet(&sums, mass);
        let wt = next.transposed();
        // In f32 a small share could become zero, and with it the whole row of a feature that occurs.
        let positive = |k, i| if wt[(k, i)] > 0.0 { T::from_f64(wt[(k, i)]).max(T::TINY) } else { T::ZERO };
        let narrow = Mat::from_fn(wt.rows(), wt.cols(), positive);
        let found = Decomposer::of_transposed(narrow, 0)?.decompose(v, settings)?;
        if matches!(found.status, Status::Stopped | Status::TimeLimit) {
            return Ok(found);
        }
        next.learn(v, wt, &found.h.cast(), &sums)?;
        next.state.check().map_err(|_| Error::Overflow("f64"))?;
        *self = next;
        Ok(found)
    }

    /// Gives random shares of their mass to features that have not occurred before.
    fn meet(&mut self, sums: &[f64], mass: f64) {
        let OnlineState { parts, features, .. } = &mut self.state;
        let rank = parts.rows();
        let mut all = std::mem::replace(parts, Mat::zeros(rank, 0)).into_vec();
        all.resize(rank * sums.len(), 0.0);
        features.resize(sums.len(), 0.0);
        let new = |i: &usize| features[*i] == 0.0 && sums[*i] > 0.0;
        for i in (0..sums.len()).filter(new).collect::<Vec<_>>() {
            // A stream of its own, so that a feature's start does not depend on the others.
            let mut random = ChaCha8Rng::seed_from_u64(self.settings.seed);
            random.set_stream(i as u64);
            let shares: Vec<f64> = (0..rank).map(|_| 0.1 + random.random::<f64>()).collect();
            features[i] = sums[i] / mass;
            let scale = features[i] / shares.iter().sum::<f64>();
            all[i * rank..][..rank].iter_mut().zip(&shares).for_each(|(to, share)| *to = scale * share);
        }
        *parts = Mat::new(rank, sums.len(), all).expect("a number for every part and feature");
    }

    /// Takes the step. A multiplicative update divides A by the sums of the rows of H.
    fn learn<T: Scalar>(
        &mut self,
        v: Matrix<'_, T>,
        mut wt: Mat<f64>,
        h: &Mat<f64>,
        sums: &[f64],
    ) -> Result<()> {
        let mut columns = vec![Column::default(); v.rows()];
        let update = Step { name: "mu", steps: 1, held: 0, measure: false };
        Piece::new(v.transpose(), 0)?.half_step(update, h, &mut wt, &mut columns, 0)?;
        let OnlineState { blocks, parts, features } = &mut self.state;
        *blocks = blocks.saturating_add(1);
        let rate = (*blocks as f64).powf(DECAY).max(self.settings.forgetting);
        let (mass, scales) = (sums.iter().sum::<f64>(), h.row_sums());
        for (i, (feature, sum)) in features.iter_mut().zip(sums).enumerate() {
            *feature += rate * (sum / mass - *feature);
            for ((part, a), scale) in parts.col_mut(i).iter_mut().zip(wt.col(i)).zip(&scales) {
                *part += rate * (a * scale / mass - *part);
            }
        }
        Ok(())
    }
}
