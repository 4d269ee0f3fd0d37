//! What the methods have in common: half-steps, where they are made, and the alternation between the factors.

use super::mu::Mu;
use super::{Side, State, extrapolated};
use crate::block::{Block, Blocks, DictionaryParts, HalfProblem, Terms, Work};
use crate::factorize::Info;
use crate::parallel::{Pool, total};
use crate::{Mat, Result, Scalar};

/// Columns of a factor that one task takes.
const PIECE: usize = 4096;

/// The factors as the methods keep them: both with r rows, so that the W-step is the H-step on Vᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors<F> {
    /// Wᵀ, r × n.
    pub wt: F,
    /// H, r × m.
    pub h: F,
}

impl<F> Factors<F> {
    /// The factor that is fixed while `side` moves, and the one that moves.
    pub fn split(&mut self, side: Side) -> (&F, &mut F) {
        match side {
            Side::H => (&self.wt, &mut self.h),
            Side::W => (&self.h, &mut self.wt),
        }
    }

    /// The factor that moves.
    pub fn of(&mut self, side: Side) -> &mut F {
        self.split(side).1
    }
}

impl<T: Scalar> Factors<Mat<T>> {
    pub fn copy_from(&mut self, other: &Self) {
        self.wt.as_mut_slice().copy_from_slice(other.wt.as_slice());
        self.h.as_mut_slice().copy_from_slice(other.h.as_slice());
    }

    /// The same in another precision.
    pub fn cast<S: Scalar>(&self) -> Pair<S> {
        Factors { wt: self.wt.cast(), h: self.h.cast() }
    }

    /// Columns of W to sum 1, rows of H the other way; the first `held` ones and those that are zero stay as
    /// they are.
    pub fn normalize(&mut self, held: usize) {
        let scale = |(k, s): (usize, &f64)| if *s > 0.0 && k >= held { *s } else { 1.0 };
        let sums: Vec<f64> = self.wt.row_sums().iter().enumerate().map(scale).collect();
        let scale = |x: &mut Mat<T>, by: &dyn Fn(f64, f64) -> f64| {
            for column in x.as_mut_slice().chunks_mut(sums.len()) {
                column.iter_mut().zip(&sums).for_each(|(x, s)| *x = T::from_f64(by(x.to_f64(), *s)));
            }
        };
        scale(&mut self.wt, &|x, s| x / s);
        scale(&mut self.h, &|x, s| x * s);
    }

    pub fn save(&self, part: &str, state: &mut State) {
        state.put_array(&format!("{part}w"), &self.wt);
        state.put_array(&format!("{part}h"), &self.h);
    }

    pub fn load(&mut self, part: &str, state: &State) -> Result<()> {
        state.fill(&format!("{part}w"), &mut self.wt)?;
        state.fill(&format!("{part}h"), &mut self.h)
    }
}

/// Both factors in this process.
pub type Pair<T> = Factors<Mat<T>>;

/// A method that was made, unless there is no memory for it.
pub type Built<'a, T> = Result<Box<dyn Method<T> + 'a>>;

/// A whole method: a sweep improves both factors.
pub trait Method<T: Scalar>: Send {
    /// `steps` steps on each factor, which count as `steps` iterations.
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize);

    /// Where the method stands, if that is not what it shows, which has this divergence; it may be better or
    /// worse.
    fn latest(&self, _divergence: f64) -> Option<Pair<T>> {
        None
    }

    /// For the factor that moves, if one alone does: the value of the dual point that the method carries, scaled to
    /// be feasible, column by column. No weights have a divergence below it.
    fn duals(&mut self, _factors: &mut Pair<T>) -> Option<(Side, Vec<f64>)> {
        None
    }

    /// Whether it wants to be told how far it has come.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Tells a method that wants it how far it has come, at moments that do not depend on who watches.
    fn observe(&mut self, _info: &Info) {}

    /// Whether some iterations so far were in f32 although the data are f64.
    fn is_mixed(&self) -> bool {
        false
    }

    /// Puts everything that it carries between iterations, except the factors it shows, into `state`.
    fn save(&self, state: &mut State);

    /// Takes it back.
    fn load(&mut self, state: &State) -> Result<()>;
}

/// What a half-step knows of a column besides its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The primal weight of the primal-dual steps: how large the primal steps are against the dual ones.
    pub weight: f64,
    /// The objective of the column before the first step, if it was measured.
    pub value: f64,
}

impl Default for Column {
    fn default() -> Self {
        Self { weight: super::fpa::FIRST_WEIGHT, value: 0.0 }
    }
}

/// The columns of some blocks, to be moved.
pub struct Moving<'a, S> {
    /// One block, or up to eight of one column each.
    pub blocks: &'a [Block<'a, S>],
    /// r weights for each column.
    pub x: &'a mut [S],
    /// The state of the columns; their values are set if `measure`.
    pub columns: &'a mut [Column],
    /// How many steps to take.
    pub steps: usize,
    /// Whether to measure the objective before the first step.
    pub measure: bool,
}

/// The half of the alternation that moves one factor, as a pure function of the data, the dictionary, the
/// weights and the state of the columns. Columns do not depend on each other.
pub trait HalfStep<S: Scalar>: Sync {
    /// Its name, by which another process finds it.
    fn name(&self) -> &'static str;

    /// What it needs of the dictionary and of the workspace.
    fn parts(&self) -> DictionaryParts;

    /// How many sparse columns it takes at a time.
    fn together(&self) -> usize {
        1
    }

    /// Moves the weights of some columns.
    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>);

    /// What the objective has beside the sum over the columns, before a step on H.
    fn penalty(&self, _wt: &Mat<S>, _h: &Mat<S>, _sums: &[f64]) -> f64 {
        0.0
    }

    /// What is left to do with all weights after a half-step.
    fn finish(&self, side: Side, x: &mut Mat<S>, sums: &[f64]) {
        self.keep(side, x, sums);
    }

    /// Brings weights that have been carried on back to where the method keeps them.
    fn keep(&self, _side: Side, _x: &mut Mat<S>, _sums: &[f64]) {}
}

/// Makes a half-step on all columns of one half; the objective before it, if `measure`.
pub fn half_step<S: Scalar>(
    half: &mut HalfProblem<'_, S>,
    step: &dyn HalfStep<S>,
    kt: &Mat<S>,
    x: &mut Mat<S>,
    columns: &mut [Column],
    steps: usize,
    measure: bool,
) -> f64 {
    half.set(kt);
    let (r, x) = (x.rows(), x.as_mut_slice());
    half.for_each_group(
        (x, r),
        (columns, 1),
        step.together(),
        |blocks, x, columns, work| step.run(Moving { blocks, x, columns, steps, measure }, work),
        |_| (),
    );
    if measure { total(columns.iter().map(|c| c.value)) } else { 0.0 }
}

/// Where factors live and half-steps are made: this process, or others.
pub trait Site<S: Scalar> {
    /// A factor, or a handle of it.
    type Factor: Clone;

    /// `steps` steps on `x` with `k` fixed; the objective before them, if `measure`.
    fn half_step(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        k: &Self::Factor,
        x: &mut Self::Factor,
        steps: usize,
        measure: bool,
    ) -> f64;

    /// x ← y, y ← y carried on by β times its way from x; upwards only if `upwards`.
    fn carry_on(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        y: &mut Self::Factor,
        x: &mut Self::Factor,
        beta: f64,
        upwards: bool,
    );

    /// `to` ← `from`.
    fn copy(&self, from: &Factors<Self::Factor>, to: &mut Factors<Self::Factor>);

    /// ΣV.
    fn sum(&self) -> f64;
}

/// Half-steps in this process.
pub struct Local<'a, S> {
    halves: [HalfProblem<'a, S>; 2],
    columns: [Vec<Column>; 2],
}

impl<'a, S: Scalar> Local<'a, S> {
    /// For V and Vᵀ, with r atoms of which the first `held` of W do not move.
    pub fn new(
        data: [&'a dyn Blocks<S>; 2],
        pool: &'a Pool,
        r: usize,
        parts: DictionaryParts,
        held: usize,
    ) -> Self {
        let terms = [Terms::default(), Terms { held, ..Terms::default() }];
        let [h, w] = data;
        let columns = data.map(|data| vec![Column::default(); data.shape().1]);
        let half = |data, terms| HalfProblem::new(data, pool, r, parts, terms);
        Self { halves: [half(h, terms[0]), half(w, terms[1])], columns }
    }

    /// Whether columns are gathered.
    pub fn gathers(&self) -> bool {
        self.halves[0].data.gathers()
    }

    pub fn save(&self, state: &mut State) {
        for (name, columns) in ["weights.h", "weights.w"].iter().zip(&self.columns) {
            state.put_array(name, &Mat::from_fn(1, columns.len(), |_, j| columns[j].weight));
        }
    }

    pub fn load(&mut self, state: &State) -> Result<()> {
        for (name, columns) in ["weights.h", "weights.w"].iter().zip(&mut self.columns) {
            let mut weights = Mat::<f64>::zeros(1, columns.len());
            state.fill(name, &mut weights)?;
            columns.iter_mut().zip(weights.as_slice()).for_each(|(column, w)| column.weight = *w);
        }
        Ok(())
    }
}

impl<S: Scalar> Site<S> for Local<'_, S> {
    type Factor = Mat<S>;

    fn half_step(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        k: &Mat<S>,
        x: &mut Mat<S>,
        steps: usize,
        measure: bool,
    ) -> f64 {
        let (half, columns) = (&mut self.halves[side as usize], &mut self.columns[side as usize]);
        let penalty = if measure { step.penalty(k, x, half.data.sums()) } else { 0.0 };
        let value = half_step(half, step, k, x, columns, steps, measure);
        step.finish(side, x, half.data.sums());
        value + penalty
    }

    fn carry_on(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        y: &mut Mat<S>,
        x: &mut Mat<S>,
        beta: f64,
        upwards: bool,
    ) {
        let half = &self.halves[side as usize];
        let (r, y_all, x_all) = (y.rows(), y.as_mut_slice(), x.as_mut_slice());
        half.pool
            .panels(PIECE, (y_all, r), (x_all, r), |_, y, x| extrapolated::carry_on(y, x, beta, upwards));
        step.keep(side, y, half.data.sums());
    }

    fn copy(&self, from: &Pair<S>, to: &mut Pair<S>) {
        for (from, to) in [(&from.wt, &mut to.wt), (&from.h, &mut to.h)] {
            let (r, mut units) = (from.rows(), vec![(); from.cols()]);
            self.halves[0].pool.panels(PIECE, (to.as_mut_slice(), r), (&mut units, 1), |first, to, _| {
                to.copy_from_slice(&from.as_slice()[first * r..][..to.len()]);
            });
        }
    }

    fn sum(&self) -> f64 {
        total(self.halves[0].data.sums().iter().copied())
    }
}

/// The alternation: some steps on one factor, as many on the other.
pub struct Alternation<'a, S: Scalar> {
    pub site: Local<'a, S>,
    pub step: &'static dyn HalfStep<S>,
    /// What moves, in this order.
    pub order: Vec<Side>,
    /// Iterations that are still to be multiplicative updates of both factors in turn. A random start has
    /// little to say, and a method that follows it closely ends in a poor local optimum.
    pub warm_up: usize,
}

impl<T: Scalar> Method<T> for Alternation<'_, T> {
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize) {
        if self.warm_up > 0 {
            self.warm_up = self.warm_up.saturating_sub(steps);
            (0..steps).for_each(|_| alternate(&mut self.site, &self.order, &Mu, factors, 1));
        } else {
            alternate(&mut self.site, &self.order, self.step, factors, steps);
        }
    }

    fn save(&self, state: &mut State) {
        state.put("warm_up", self.warm_up as f64);
        self.site.save(state);
    }

    fn load(&mut self, state: &State) -> Result<()> {
        self.warm_up = state.number("warm_up")? as usize;
        self.site.load(state)
    }
}

/// `steps` steps on each of the factors in `order`.
pub fn alternate<S: Scalar, P: Site<S>>(
    site: &mut P,
    order: &[Side],
    step: &dyn HalfStep<S>,
    factors: &mut Factors<P::Factor>,
    steps: usize,
) {
    for side in order {
        let (k, x) = factors.split(*side);
        site.half_step(*side, step, k, x, steps, false);
    }
}
