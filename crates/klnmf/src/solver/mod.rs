//! The methods, one per file, and what they have in common.

pub(crate) mod admm;
pub(crate) mod auto;
pub(crate) mod build;
pub(crate) mod extrapolate;
pub(crate) mod fpa;
pub(crate) mod mixed;
pub(crate) mod mu;
pub(crate) mod mue;
pub(crate) mod newton;
pub(crate) mod newton_pass;
pub(crate) mod paper;
pub(crate) mod smooth;

use crate::block::{Block, Dictionary, Half, MOST_BLOCKS, Scratch, Wants, Work};
use crate::factorize::Info;
use crate::parallel::{PerThread, Pool};
use crate::{Error, Mat, Result, Scalar};

/// The method that [`factorize`](crate::factorize) alternates with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Solver {
    /// Ten accesses of extrapolated multiplicative updates, then block Newton coordinate descent; where that has to take back its
    /// steps, the former again while they lower the divergence more for the work. In f64 the early accesses are in f32, see
    /// [`Settings::mixed`](crate::Settings::mixed). Dense and sparse. What it reports never rises, up to rounding.
    #[default]
    Auto,
    /// The first-order primal-dual algorithm in its support form, with steps in the metric of the EM algorithm and a
    /// primal weight that adapts column by column, after ten multiplicative updates. Dense and sparse. Never raises the
    /// divergence, up to rounding.
    Fpa,
    /// The same with every column's weights held on the simplex that holds their optimum, {x ≥ 0, Σ(Wx) = Σv}, by projection: the
    /// paper's form for topic models. Dense and sparse. Never raises the divergence, up to rounding.
    Simplex,
    /// Multiplicative updates, which are the EM algorithm. Dense and sparse. Never raises the divergence, up to rounding;
    /// zeros stay.
    Mu,
    /// Block Newton coordinate descent: four weights at a time, extrapolated, after some extrapolated multiplicative updates.
    /// Dense and sparse. Goes back when the divergence rises, so what it reports never does.
    Newton,
    /// Multiplicative updates from an extrapolated point, which goes back when the divergence rises. Dense and
    /// sparse. What it reports never rises; zeros stay.
    Mue,
    /// The alternating direction method of multipliers of Sun & Févotte (2014). Dense only. May raise the divergence.
    Admm,
}

impl Solver {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Solver::Auto => "auto",
            Solver::Fpa => "fpa",
            Solver::Simplex => "simplex",
            Solver::Mu => "mu",
            Solver::Newton => "newton",
            Solver::Mue => "mue",
            Solver::Admm => "admm",
        }
    }
}

/// Which factors move. With one of them fixed the problem is convex, and its gap bounds the distance to the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Both, in turn.
    #[default]
    Both,
    /// Only H; W stays exactly as given.
    H,
    /// Only W; H stays exactly as given.
    W,
}

impl Update {
    pub(crate) fn moves(self, side: Side) -> bool {
        match side {
            Side::H => self != Update::W,
            Side::W => self != Update::H,
        }
    }
}

/// The factors as the methods keep them: both with r rows, so that the W-step is the H-step on Vᵀ.
#[derive(Clone)]
pub struct Factors<T> {
    /// Wᵀ, r × n.
    pub wt: Mat<T>,
    /// H, r × m.
    pub h: Mat<T>,
}

impl<T: Scalar> Factors<T> {
    pub fn copy_from(&mut self, other: &Self) {
        self.wt.as_mut_slice().copy_from_slice(other.wt.as_slice());
        self.h.as_mut_slice().copy_from_slice(other.h.as_slice());
    }

    /// Columns of W to sum 1, rows of H the other way; the first `fixed` ones and those that are zero stay as they are.
    pub fn normalize(&mut self, fixed: usize) {
        let scale = |(k, s): (usize, &f64)| if *s > 0.0 && k >= fixed { *s } else { 1.0 };
        let sums: Vec<f64> = self.wt.row_sums().iter().enumerate().map(scale).collect();
        let scale = |x: &mut Mat<T>, by: &dyn Fn(f64, f64) -> f64| {
            for column in x.as_mut_slice().chunks_mut(sums.len()) {
                column.iter_mut().zip(&sums).for_each(|(x, s)| *x = T::from_f64(by(x.to_f64(), *s)));
            }
        };
        scale(&mut self.wt, &|x, s| x / s);
        scale(&mut self.h, &|x, s| x * s);
    }
}

/// A whole method: a sweep improves both factors.
pub trait Method<T: Scalar> {
    /// `steps` steps on each factor, which count as `steps` accesses to the data.
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize);

    /// Where the method stands, if that is not what it shows; it may be better or worse.
    fn into_latest(self: Box<Self>) -> Option<Factors<T>> {
        None
    }

    /// Whether it wants to be told how far it has come.
    fn hears(&self) -> bool {
        false
    }

    /// Tells a method that [hears](Method::hears) how far it has come, at moments that do not depend on who watches.
    fn hear(&mut self, _info: &Info) {}
}

/// The half of the alternation that moves one factor.
pub(crate) trait HalfStep<T: Scalar> {
    /// `steps` steps on `x` (r × q) with the dictionary `kt` (r × p) fixed.
    fn update(&mut self, half: &mut HalfState<'_, '_, T>, kt: &Mat<T>, x: &mut Mat<T>, steps: usize);

    /// Brings an `x` that has been carried on back to where the method keeps it.
    fn keep(&self, _half: &HalfState<'_, '_, T>, _x: &mut Mat<T>) {}
}

/// A half-step that can tell the divergence it starts from, for little.
pub(crate) trait Measuring<T: Scalar>: HalfStep<T> {
    /// The same as [`HalfStep::update`]; returns D before the first step.
    fn update_and_measure(
        &mut self,
        half: &mut HalfState<'_, '_, T>,
        kt: &Mat<T>,
        x: &mut Mat<T>,
        steps: usize,
    ) -> f64;
}

/// Which factor moves.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    H = 0,
    W = 1,
}

/// V or Vᵀ: in the precision of the work, or in f64 and converted block by block.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, 'v, T> {
    Same(&'a Half<'v, T>),
    Wide(&'a Half<'v, f64>),
}

/// V or Vᵀ with the workspace of a half-step, made once.
pub(crate) struct HalfState<'a, 'v, T> {
    pub side: Side,
    source: Source<'a, 'v, T>,
    pub dictionary: Dictionary<T>,
    pub pool: &'a Pool,
    scratch: PerThread<Scratch<T>>,
    /// A number for each column.
    values: Vec<f64>,
}

impl<'a, 'v, T: Scalar> HalfState<'a, 'v, T> {
    pub fn new(side: Side, source: Source<'a, 'v, T>, pool: &'a Pool, r: usize, wants: Wants) -> Self {
        let (dictionary, scratch, cols) = match source {
            Source::Same(half) => {
                (Dictionary::new(half, r, wants), half.scratch(pool, r), half.view().cols())
            }
            Source::Wide(half) => {
                (Dictionary::new(half, r, wants), half.scratch(pool, r), half.view().cols())
            }
        };
        Self { side, source, dictionary, pool, scratch, values: vec![0.0; cols] }
    }

    /// ΣV.
    pub fn sum(&self) -> f64 {
        self.sums().iter().sum()
    }

    /// The sums of the columns.
    pub fn sums(&self) -> &[f64] {
        match self.source {
            Source::Same(half) => &half.sums,
            Source::Wide(half) => &half.sums,
        }
    }

    /// Calls `f` with every block, its columns of `x` and a place for each column's divergence, and adds those up.
    pub fn measure(
        &mut self,
        x: &mut Mat<T>,
        f: impl Fn(&Block<'_, T>, &mut [T], &mut [f64], &mut Work<T>) + Sync,
    ) -> f64 {
        self.measure_in(x, 1, |b, x, values, work| f(&b[0], x, values, work))
    }

    /// The same with blocks in groups: one if V is dense, up to eight columns if it is sparse.
    pub fn measure_groups(
        &mut self,
        x: &mut Mat<T>,
        f: impl Fn(&[Block<'_, T>], &mut [T], &mut [f64], &mut Work<T>) + Sync,
    ) -> f64 {
        self.measure_in(x, MOST_BLOCKS, f)
    }

    fn measure_in(
        &mut self,
        x: &mut Mat<T>,
        most: usize,
        f: impl Fn(&[Block<'_, T>], &mut [T], &mut [f64], &mut Work<T>) + Sync,
    ) -> f64 {
        let mut values = std::mem::take(&mut self.values);
        self.for_each_group_with(x, &mut values, most, f);
        self.values = values;
        self.values.iter().sum()
    }

    /// Calls `f` with every group of blocks and its columns of `x`.
    pub fn for_each_group(&self, x: &mut Mat<T>, f: impl Fn(&[Block<'_, T>], &mut [T], &mut Work<T>) + Sync) {
        let mut units = vec![(); x.cols()];
        self.for_each_group_with(x, &mut units, MOST_BLOCKS, |b, x, _, work| f(b, x, work));
    }

    /// Calls `f` with every block and its columns of `x`.
    pub fn for_each_block(
        &self,
        x: &mut Mat<T>,
        f: impl Fn(&Block<'_, T>, &mut [T], &mut [()], &mut Work<T>) + Sync,
    ) {
        // Units take no room, so this allocates nothing.
        let mut units = vec![(); x.cols()];
        self.for_each_block_with(x, &mut units, f);
    }

    /// The same with something more for each column.
    pub fn for_each_block_with<B: Send>(
        &self,
        x: &mut Mat<T>,
        more: &mut [B],
        f: impl Fn(&Block<'_, T>, &mut [T], &mut [B], &mut Work<T>) + Sync,
    ) {
        self.for_each_group_with(x, more, 1, |b, x, more, work| f(&b[0], x, more, work));
    }

    fn for_each_group_with<B: Send>(
        &self,
        x: &mut Mat<T>,
        more: &mut [B],
        most: usize,
        f: impl Fn(&[Block<'_, T>], &mut [T], &mut [B], &mut Work<T>) + Sync,
    ) {
        let (r, per_more) = (x.rows(), more.len() / x.cols());
        let (x, more) = ((x.as_mut_slice(), r), (more, per_more));
        let (pool, scratch, dictionary) = (self.pool, &self.scratch, &self.dictionary);
        match self.source {
            Source::Same(half) => half.for_each_group(pool, scratch, dictionary, x, more, most, f, |_| ()),
            Source::Wide(half) => half.for_each_group(pool, scratch, dictionary, x, more, most, f, |_| ()),
        }
    }
}

/// The alternation: some steps on one factor, as many on the other.
pub(crate) struct Alternation<'a, 'v, T, S> {
    pub halves: [HalfState<'a, 'v, T>; 2],
    pub step: S,
    /// What moves, in this order. The authors' multiplicative program moves W first; everything else H.
    pub order: Vec<Side>,
    /// Accesses that are still to be multiplicative updates of both factors in turn. A random start has little to say, and
    /// a method that takes it at its word settles early, in a poor place.
    pub warm_up: usize,
}

impl<T: Scalar, S: HalfStep<T>> Method<T> for Alternation<'_, '_, T, S> {
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize) {
        if self.warm_up > 0 {
            self.warm_up = self.warm_up.saturating_sub(steps);
            (0..steps)
                .for_each(|_| alternate(&mut self.halves, &self.order, &mut mu::Mu::default(), factors, 1));
        } else {
            alternate(&mut self.halves, &self.order, &mut self.step, factors, steps);
        }
    }
}

/// `steps` steps on each of the factors in `order`.
pub(crate) fn alternate<T: Scalar>(
    halves: &mut [HalfState<'_, '_, T>; 2],
    order: &[Side],
    step: &mut impl HalfStep<T>,
    factors: &mut Factors<T>,
    steps: usize,
) {
    let Factors { wt, h } = factors;
    let [h_half, w_half] = halves;
    for side in order {
        match side {
            Side::H => step.update(h_half, wt, h, steps),
            Side::W => step.update(w_half, h, wt, steps),
        }
    }
}

/// A relative tolerance must be a number from 0 on.
pub(crate) fn check_tol(tol: f64) -> Result<()> {
    if tol.is_finite() && tol >= 0.0 {
        return Ok(());
    }
    Err(Error::Setting { name: "tol", value: tol.to_string(), must: "a finite number ≥ 0 is needed" })
}
