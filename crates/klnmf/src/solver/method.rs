//! Interfaces shared by all methods: half-steps, the site that makes them, and the alternation.

use super::mu::MU;
use super::place::{FactorsOf, Place};
use super::smooth::{Prior, bring_to_sums};
use super::{Setup, Side, Store, extrapolated};
use crate::block::{Block, DictionaryParts, HalfProblem, Layout, Terms, Work};
use crate::certificate::Certificate;
use crate::factorize::Info;
use crate::parallel::{Pool, for_each, total};
use crate::problem::Problem;
use crate::{Mat, Result, Scalar, kernel};

/// Columns of a factor in one task, and entries if columns do not matter.
const PIECE: usize = 4096;
const ENTRIES: usize = 1 << 16;

/// The names of the weights of the columns in a stored state: for H, for W.
pub const COLUMN_WEIGHTS: [&str; 2] = ["weights.h", "weights.w"];

/// The factors as the methods store them: both have r rows, so the W-step is the H-step on Vᵀ.
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
}

impl<T: Scalar> Factors<Mat<T>> {
    /// Converts to another precision.
    pub fn cast<S: Scalar>(&self) -> Pair<S> {
        Factors { wt: self.wt.cast(), h: self.h.cast() }
    }

    /// Divides the columns of W by these numbers and multiplies the rows of H by them.
    pub fn scale(&mut self, by: &[f64]) {
        for x in self.wt.as_mut_slice().chunks_mut(by.len()) {
            x.iter_mut().zip(by).for_each(|(x, by)| *x = T::from_f64(x.to_f64() / by));
        }
        for x in self.h.as_mut_slice().chunks_mut(by.len()) {
            x.iter_mut().zip(by).for_each(|(x, by)| *x = T::from_f64(x.to_f64() * by));
        }
    }

    /// Saves or loads the factors as `w` and `h`, with the prefix `part`.
    pub fn carry(&mut self, part: &str, store: &mut Store<'_>) -> Result<()> {
        store.array(&format!("{part}w"), &mut self.wt)?;
        store.array(&format!("{part}h"), &mut self.h)
    }
}

/// Both factors in this process.
pub type Pair<T> = Factors<Mat<T>>;

/// `to` ← `from`, converted, on all threads.
pub fn assign<S: Scalar, U: Scalar>(pool: &Pool, from: &Pair<S>, to: &mut Pair<U>) {
    let pairs = [(&from.wt, &mut to.wt), (&from.h, &mut to.h)].into_iter();
    let pieces = pairs
        .flat_map(|(from, to)| from.as_slice().chunks(ENTRIES).zip(to.as_mut_slice().chunks_mut(ENTRIES)));
    let copy = |(from, to): (&[S], &mut [U])| kernel::convert(from, to);
    // Waking a thread takes longer than copying little.
    match from.wt.as_slice().len() + from.h.as_slice().len() > ENTRIES {
        true => pool.run(|| for_each(pieces, copy)),
        false => pieces.for_each(copy),
    }
}

/// A new method, or an error if memory is short.
pub type Built<'a, F> = Result<Box<dyn Method<F> + 'a>>;

/// A whole method, which improves both factors round by round, wherever these are stored.
pub trait Method<F>: Send {
    /// Makes one round: `steps` steps on each factor, which count as `steps` iterations.
    fn advance(&mut self, factors: &mut Factors<F>, steps: usize);

    /// The method's latest factors, if they differ from those that it reports. The reported factors have the
    /// given divergence; the latest may be better or worse.
    fn latest(&self, _divergence: f64) -> Option<Factors<F>> {
        None
    }

    /// The certificate of the reported factors, if the method knows it without another pass.
    fn certificate(&self) -> Option<Certificate> {
        None
    }

    /// The dual point that the method carries for the moving factor, if only one factor moves.
    fn dual_point(&self) -> Option<(Side, &F)> {
        None
    }

    /// Whether the method needs progress reports.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Reports progress, if needed, at iterations that do not depend on the caller's callback.
    fn observe(&mut self, _info: &Info) {}

    /// Whether the method begins in f32 and ends in the precision of the data.
    fn is_mixed(&self) -> bool {
        false
    }

    /// Saves or loads everything that the method carries between iterations, except the reported factors.
    fn carry(&mut self, store: &mut Store<'_>) -> Result<()>;
}

/// The state of a column besides its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The primal weight ω of the primal-dual steps: the size of the primal steps relative to the dual ones.
    pub weight: f64,
    /// The objective of the column before the first step, if it was measured.
    pub value: f64,
}

impl Default for Column {
    fn default() -> Self {
        Self { weight: super::fpa::FIRST_WEIGHT, value: 0.0 }
    }
}

/// The columns of some blocks whose weights are to be updated.
pub struct Moving<'a, S> {
    /// One block, or the gathered columns of a sparse V.
    pub blocks: &'a [Block<'a, S>],
    /// r weights for each column.
    pub x: &'a mut [S],
    /// The state of the columns; their values are set if `measure`.
    pub columns: &'a mut [Column],
    /// Number of steps.
    pub steps: usize,
    /// Whether to measure the objective before the first step.
    pub measure: bool,
}

/// The half of the alternation that moves one factor, as a pure function of the data, the dictionary, the
/// weights and the state of the columns. Columns do not depend on each other.
pub trait HalfStep<S: Scalar>: Sync {
    /// Its name for other processes.
    fn name(&self) -> &'static str;

    /// The parts of the dictionary and the workspace that it needs.
    fn parts(&self) -> DictionaryParts {
        DictionaryParts::default()
    }

    /// How it takes sparse columns.
    fn layout(&self) -> Layout {
        Layout::InPlace
    }

    /// Moves the weights of some columns.
    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>);
}

/// Sets the values of the columns of a block from their logarithms.
pub fn set_values<S: Scalar>(b: &Block<'_, S>, x: &[S], columns: &mut [Column], logs: impl Fn(usize) -> f64) {
    for (c, (column, x)) in columns.iter_mut().zip(x.chunks(b.r)).enumerate() {
        column.value = b.value(c, logs(c), x);
    }
}

/// Makes a half-step on all columns of one half. Returns the objective before it if `measure` is set.
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
    move_columns(half, step, (x.as_mut_slice(), kt.rows()), columns, steps, measure);
    if measure { total(columns.iter().map(|c| c.value)) } else { 0.0 }
}

/// Makes a half-step on all columns of one half whose dictionary is set. There are r weights for each.
pub fn move_columns<S: Scalar>(
    half: &HalfProblem<'_, S>,
    step: &dyn HalfStep<S>,
    (x, r): (&mut [S], usize),
    columns: &mut [Column],
    steps: usize,
    measure: bool,
) {
    half.for_each_group(
        (x, r),
        (columns, 1),
        step.layout(),
        |blocks, x, columns, work| step.run(Moving { blocks, x, columns, steps, measure }, work),
        |_| (),
    );
}

/// The place where factors are stored and half-steps are made: this process or others.
pub trait Site<S: Scalar> {
    /// A factor, or a handle to one.
    type Factor: Clone + Send + 'static;

    /// Takes `steps` steps on `x` with `k` fixed. Returns the objective before them if `measure` is set.
    fn half_step(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        k: &Self::Factor,
        x: &mut Self::Factor,
        steps: usize,
        measure: bool,
    ) -> f64;

    /// Extrapolates: x ← y, y ← y + β(y − x); increases only if `upwards` is set.
    fn carry_on(&mut self, side: Side, y: &mut Self::Factor, x: &mut Self::Factor, beta: f64, upwards: bool);

    /// `to` ← `from`.
    fn copy(&self, from: &Factors<Self::Factor>, to: &mut Factors<Self::Factor>);

    /// Saves or loads the state of the columns.
    fn carry(&mut self, store: &mut Store<'_>) -> Result<()>;

    /// Saves or loads factors as `w` and `h`, with the prefix `part`.
    fn carry_factors(
        &self,
        part: &str,
        factors: &mut Factors<Self::Factor>,
        store: &mut Store<'_>,
    ) -> Result<()>;
}

/// Half-steps in this process.
pub struct Local<'a, S> {
    halves: [HalfProblem<'a, S>; 2],
    columns: [Vec<Column>; 2],
    /// Pseudo-counts, if the half-step yields counts that have yet to become weights.
    prior: Option<Prior>,
}

impl<'a, S: Scalar> Local<'a, S> {
    /// Creates the site for r atoms, of which the first `held` of W are fixed.
    pub fn new<T: Scalar>(
        problem: &'a Problem<'_, T>,
        r: usize,
        parts: DictionaryParts,
        held: usize,
        prior: Option<Prior>,
    ) -> Self {
        let half = |side: Side, held| {
            let (data, terms) = (problem.blocks(side), Terms { held, ..Terms::default() });
            HalfProblem::new(data, &problem.pool, r, parts, terms)
        };
        let halves = [half(Side::H, 0), half(Side::W, held)];
        let columns = [&halves[0], &halves[1]].map(|half| vec![Column::default(); half.data.shape().1]);
        Self { halves, columns, prior }
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
        let Some(prior) = self.prior else {
            return half_step(half, step, k, x, columns, steps, measure);
        };
        let (wt, h) = if side == Side::H { (k, &*x) } else { (&*x, k) };
        let penalty = if measure { prior.penalty(wt, h, self.halves[0].data.sums()) } else { 0.0 };
        let half = &mut self.halves[side as usize];
        let value = half_step(half, step, k, x, columns, steps, measure);
        prior.weigh(side, x, half.data.sums());
        value + penalty
    }

    fn carry_on(&mut self, side: Side, y: &mut Mat<S>, x: &mut Mat<S>, beta: f64, upwards: bool) {
        let (half, r) = (&self.halves[side as usize], y.rows());
        let both = ((y.as_mut_slice(), r), (x.as_mut_slice(), r));
        half.pool.panels(PIECE, both.0, both.1, |_, y, x| extrapolated::carry_on(y, x, beta, upwards));
        if self.prior.is_some() {
            bring_to_sums(side, y, half.data.sums());
        }
    }

    fn copy(&self, from: &Pair<S>, to: &mut Pair<S>) {
        assign(self.halves[0].pool, from, to);
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        for (name, columns) in COLUMN_WEIGHTS.iter().zip(&mut self.columns) {
            let mut weights = Mat::from_fn(1, columns.len(), |_, j| columns[j].weight);
            store.array(name, &mut weights)?;
            columns.iter_mut().zip(weights.as_slice()).for_each(|(column, w)| column.weight = *w);
        }
        Ok(())
    }

    fn carry_factors(&self, part: &str, factors: &mut Pair<S>, store: &mut Store<'_>) -> Result<()> {
        factors.carry(part, store)
    }
}

/// The alternation: some steps on one factor, then as many on the other.
struct Alternation<S: Scalar, P: Site<S>> {
    site: P,
    step: &'static dyn HalfStep<S>,
    /// The factors that move, in order.
    order: Vec<Side>,
    /// Remaining warm-up iterations, which are multiplicative updates. A random start carries little
    /// information, and a method that converges fast from it tends to end in a poor local optimum.
    warm_up: usize,
}

/// The alternation of a half-step, after some iterations of multiplicative updates.
pub fn alternation<'a, P: Place + 'a, S: Scalar>(
    setup: &Setup<'a, P>,
    _: &FactorsOf<P, S>,
    step: &'static dyn HalfStep<S>,
    first: Side,
    warm_up: usize,
) -> Built<'a, P::Factor<S>> {
    let (site, order) = setup.site(step.parts(), first);
    let warm_up = if order.len() == 2 && !setup.begun { warm_up } else { 0 };
    Ok(Box::new(Alternation { site, step, order, warm_up }))
}

impl<S: Scalar, P: Site<S> + Send> Method<P::Factor> for Alternation<S, P> {
    fn advance(&mut self, factors: &mut Factors<P::Factor>, steps: usize) {
        if self.warm_up > 0 {
            self.warm_up = self.warm_up.saturating_sub(steps);
            (0..steps).for_each(|_| alternate(&mut self.site, &self.order, &MU, factors, 1));
        } else {
            alternate(&mut self.site, &self.order, self.step, factors, steps);
        }
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        store.count("warm_up", &mut self.warm_up)?;
        self.site.carry(store)
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
