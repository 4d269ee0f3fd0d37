//! Two precisions: the early accesses in f32, which takes half the time, the rest in f64.
//!
//! The method in f32 reads V in f64 and converts it block by block, so there is no second V. What it shows is its factors in
//! f64; certificates are always those of f64 and of V itself. It gives way to the method in f64 as soon as ten accesses, after
//! the first ten, lower the divergence by less than 1e-6 of ΣV, which is where the rounding errors of f32 begin to tell.

use super::{Factors, Method};
use crate::factorize::Info;
use crate::matrix::Matrix;
use crate::{Mat, Scalar};

/// What f32 can tell from the rest of the divergence, in units of ΣV.
const LITTLE: f64 = 1e-6;
/// V and the factors, with columns of W that sum to 1, must lie in this range; f32 reaches from 1e-38 to 1e38. Where a product
/// or a quotient leaves that range after all, the divergence does not fall any more, and f64 takes over.
const RANGE: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

/// What makes the method in f64, from the factors that it goes on with.
pub(crate) type MakeLate<'a> = Box<dyn Fn(&Factors<f64>) -> Box<dyn Method<f64> + 'a> + 'a>;

/// A method in f32 that gives way to one in f64.
pub(crate) struct Mixed<'a> {
    early: Option<Early<'a>>,
    late: Option<Box<dyn Method<f64> + 'a>>,
    make_late: MakeLate<'a>,
    /// The divergence when it was last told, and how often it was.
    divergence: f64,
    told: usize,
    /// The factors that it began with and their divergence: those of a start that is a solution already may be better than
    /// all that f32 can do.
    start: Option<(Factors<f64>, f64)>,
}

struct Early<'a> {
    method: Box<dyn Method<f32> + 'a>,
    factors: Factors<f32>,
    over: bool,
}

impl<'a> Mixed<'a> {
    /// `factors` are those of `start`, which has this divergence, as in [`narrow`].
    pub fn new(
        start: (Factors<f64>, f64),
        factors: Factors<f32>,
        early: Box<dyn Method<f32> + 'a>,
        make_late: MakeLate<'a>,
    ) -> Self {
        let early = Early { method: early, factors, over: false };
        Self { early: Some(early), late: None, make_late, divergence: start.1, told: 0, start: Some(start) }
    }
}

impl Method<f64> for Mixed<'_> {
    fn sweep(&mut self, factors: &mut Factors<f64>, steps: usize) {
        if self.early.as_ref().is_some_and(|early| early.over) {
            self.early = None;
            if let Some((start, divergence)) = self.start.take()
                && self.divergence > divergence
            {
                factors.copy_from(&start);
            }
            self.late = Some((self.make_late)(factors));
        }
        match (&mut self.early, &mut self.late) {
            (Some(early), _) => {
                early.method.sweep(&mut early.factors, steps);
                widen(&early.factors, factors);
            }
            (None, Some(late)) => late.sweep(factors, steps),
            (None, None) => {}
        }
    }

    fn into_latest(self: Box<Self>) -> Option<Factors<f64>> {
        let Self { early, late, start, divergence: now, .. } = *self;
        let Some(early) = early else { return late?.into_latest() };
        match start {
            Some((start, divergence)) if now > divergence => Some(start),
            _ => early
                .method
                .into_latest()
                .map(|latest| Factors { wt: convert(&latest.wt), h: convert(&latest.h) }),
        }
    }

    fn hears(&self) -> bool {
        self.early.is_some()
    }

    fn hear(&mut self, info: &Info) {
        if let Some(early) = &mut self.early {
            let fell = self.divergence - info.divergence > LITTLE * info.sum;
            // Multiplicative updates come first, and some starts they cannot move.
            self.told += 1;
            early.over = !fell && (self.told > 1 || !info.divergence.is_finite());
            self.divergence = info.divergence;
        }
    }
}

/// The factors in f32, if they and V are such that f32 can stand in for f64.
pub(crate) fn narrow(v: Matrix<'_, f64>, factors: &Factors<f64>) -> Option<Factors<f32>> {
    let mut fits = true;
    v.for_each(|_, _, value| fits &= value <= 0.0 || RANGE.contains(&value));
    let all = |m: &Mat<f64>| m.as_slice().iter().all(|x| *x == 0.0 || RANGE.contains(x));
    (fits && all(&factors.wt) && all(&factors.h))
        .then(|| Factors { wt: convert(&factors.wt), h: convert(&factors.h) })
}

fn convert<T: Scalar, S: Scalar>(m: &Mat<T>) -> Mat<S> {
    Mat::from_fn(m.rows(), m.cols(), |i, j| S::from_f64(m[(i, j)].to_f64()))
}

fn widen(from: &Factors<f32>, to: &mut Factors<f64>) {
    let one = |from: &Mat<f32>, to: &mut Mat<f64>| {
        to.as_mut_slice().iter_mut().zip(from.as_slice()).for_each(|(to, from)| *to = f64::from(*from));
    };
    one(&from.wt, &mut to.wt);
    one(&from.h, &mut to.h);
}
