//! Mixed precision: early iterations in f32, which take half the time, then f64.
//!
//! The f32 method reads V in f64 and converts it block by block, so no second copy of V is needed. It reports
//! its factors in f64, and certificates always use f64 and V itself. f64 takes over once ten iterations,
//! after the first ten, decrease the divergence by less than 1e-6 of ΣV: the rounding errors of f32 then
//! begin to matter.

use super::method::{Built, Method, Pair};
use super::{Setup, Store, Update, build};
use crate::block::Nonzero;
use crate::factorize::{Info, Precision};
use crate::{Result, Scalar, Solver, kernel};
use rayon::prelude::*;

/// The smallest decrease of the divergence that f32 resolves, relative to ΣV.
const LITTLE: f64 = 1e-6;
/// The range in which V and the factors (with columns of W that sum to 1) must lie. f32 covers 1e-38 to 1e38.
/// If a product or quotient still leaves that range, the divergence stops decreasing and f64 takes over.
const RANGE: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

/// A method in f32, later replaced by one in the precision of the data.
struct Mixed<'a, T: Scalar> {
    phase: Phase<'a, T>,
    setup: Setup<'a, T>,
    /// The divergence at the last report, and the number of reports.
    divergence: f64,
    told: usize,
}

enum Phase<'a, T> {
    Early(Early<'a, T>),
    Late(Box<dyn Method<T> + 'a>),
}

/// The state while the work is in f32.
struct Early<'a, T> {
    method: Box<dyn Method<f32> + 'a>,
    factors: Pair<f32>,
    over: bool,
    /// The initial factors and their divergence. If they are already a solution, f32 may not reach them.
    start: Pair<T>,
    divergence: f64,
}

/// Creates the method of the settings from these factors, whose divergence is given. If the method begins in
/// f32, the factors are normalised.
pub fn method<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &mut Pair<T>, divergence: f64) -> Built<'a, T> {
    if !setup.mixed.unwrap_or_else(|| prepare(setup, factors)) {
        return build(setup, factors);
    }
    let (start, narrow) = (factors.clone(), factors.cast());
    let method = build(setup, &narrow)?;
    let phase = Phase::Early(Early { method, factors: narrow, over: false, start, divergence });
    Ok(Box::new(Mixed { phase, setup: Setup { begun: true, ..*setup }, divergence, told: 0 }))
}

/// Whether the settings ask for f32, and settings and numbers allow it. If so, normalises the factors.
fn prepare<T: Scalar>(setup: &Setup<'_, T>, factors: &mut Pair<T>) -> bool {
    let (settings, problem) = (setup.settings, setup.problem);
    let wanted = size_of::<T>() == 8 && settings.mixed.unwrap_or(settings.solver == Solver::Auto);
    let allowed = settings.solver.spec().may_mix && settings.update == Update::Both && settings.fixed == 0;
    if !wanted || !allowed {
        return false;
    }
    let mut normal = factors.clone();
    normal.scale(&factors.scales(0));
    let in_range = |x: &T| *x == T::ZERO || RANGE.contains(&x.to_f64());
    let all = |numbers: &[T]| numbers.par_chunks(1 << 16).all(|chunk| chunk.iter().all(in_range));
    let Nonzero { count, least, most } = problem.nonzero;
    let fit = || count == 0 || (RANGE.contains(&least) && RANGE.contains(&most));
    let fit = || fit() && all(normal.wt.as_slice()) && all(normal.h.as_slice());
    let fit = problem.pool.run(fit);
    if fit {
        *factors = normal;
    }
    fit
}

impl<T: Scalar> Method<T> for Mixed<'_, T> {
    fn advance(&mut self, factors: &mut Pair<T>, steps: usize) {
        if let Phase::Early(early) = &mut self.phase
            && early.over
        {
            if self.divergence > early.divergence {
                *factors = early.start.clone();
            }
            let late = build(&self.setup, factors);
            self.phase = Phase::Late(
                late.expect("the same method was made in f32, and methods that may mix keep no large arrays"),
            );
        }
        match &mut self.phase {
            Phase::Early(early) => {
                early.method.advance(&mut early.factors, steps);
                kernel::convert(early.factors.wt.as_slice(), factors.wt.as_mut_slice());
                kernel::convert(early.factors.h.as_slice(), factors.h.as_mut_slice());
            }
            Phase::Late(late) => late.advance(factors, steps),
        }
    }

    fn latest(&self, divergence: f64) -> Option<Pair<T>> {
        match &self.phase {
            Phase::Early(early) if divergence > early.divergence => Some(early.start.clone()),
            Phase::Early(early) => early.method.latest(divergence).map(|latest| latest.cast()),
            Phase::Late(late) => late.latest(divergence),
        }
    }

    fn wants_progress(&self) -> bool {
        matches!(self.phase, Phase::Early(_))
    }

    fn observe(&mut self, info: &Info) {
        if let Phase::Early(early) = &mut self.phase {
            let fell = self.divergence - info.divergence > LITTLE * info.sum;
            // The first report does not count: the warm-up cannot move some starts.
            self.told += 1;
            early.over = !fell && (self.told > 1 || !info.divergence.is_finite());
            self.divergence = info.divergence;
        }
    }

    fn precision(&self) -> Precision {
        Precision::Mixed
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        store.count("mixed.told", &mut self.told)?;
        store.number("mixed.divergence", &mut self.divergence)?;
        let mut late = !self.wants_progress();
        store.flag("mixed.late", &mut late)?;
        if late && let Phase::Early(early) = &self.phase {
            self.phase = Phase::Late(build(&self.setup, &early.start)?);
        }
        match &mut self.phase {
            Phase::Early(early) => {
                early.method.carry(store)?;
                early.factors.carry("f32.", store)?;
                early.start.carry("start.", store)?;
                store.flag("f32.over", &mut early.over)?;
                store.number("start.divergence", &mut early.divergence)
            }
            Phase::Late(late) => late.carry(store),
        }
    }
}
