//! Two precisions: the early iterations in f32, which takes half the time, the rest in f64.
//!
//! The method in f32 reads V in f64 and converts it block by block, so there is no second V. What it shows is
//! its factors in f64; certificates are always those of f64 and of V itself. It gives way to the method in
//! f64 as soon as ten iterations, after the first ten, lower the divergence by less than 1e-6 of ΣV, which is
//! where the rounding errors of f32 begin to tell.

use super::method::{Method, Pair};
use super::{Build, Builder, Setup, State, Update};
use crate::factorize::Info;
use crate::matrix::Matrix;
use crate::{Result, kernel};
use rayon::prelude::*;

/// What f32 can tell from the rest of the divergence, in units of ΣV.
const LITTLE: f64 = 1e-6;
/// V and the factors, with columns of W that sum to 1, must lie in this range; f32 reaches from 1e-38 to
/// 1e38. Where a product or a quotient leaves that range after all, the divergence does not fall any more,
/// and f64 takes over.
const RANGE: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

/// A method in f32 that gives way to one in f64.
struct Mixed<'a> {
    early: Option<Early<'a>>,
    late: Option<Box<dyn Method<f64> + 'a>>,
    setup: Setup<'a, f64>,
    make_late: Build<f64>,
    /// The divergence when it was last told, and how often it was.
    divergence: f64,
    told: usize,
}

/// What there is while the work is in f32.
struct Early<'a> {
    method: Box<dyn Method<f32> + 'a>,
    factors: Pair<f32>,
    over: bool,
    /// The factors that it began with and their divergence: those of a start that is a solution already may
    /// be better than all that f32 can do.
    start: Pair<f64>,
    divergence: f64,
}

/// The method of the settings with its early iterations in f32, if settings and numbers allow it: then the
/// factors, whose divergence is given, become normalised. A stored state has decided already.
pub fn build<'a>(
    setup: &Setup<'a, f64>,
    build: &Builder,
    factors: &mut Pair<f64>,
    divergence: f64,
    state: Option<&State>,
) -> Result<Option<Box<dyn Method<f64> + 'a>>> {
    let settings = setup.settings;
    if let Some(state) = state {
        return if state.numbers.contains_key("mixed.told") {
            let mut mixed = Mixed::new(setup, build, factors, divergence)?;
            mixed.load(state)?;
            Ok(Some(Box::new(mixed)))
        } else {
            Ok(None)
        };
    }
    let wanted = settings.mixed.unwrap_or(settings.solver == crate::Solver::Auto);
    let allowed = settings.solver.spec().may_mix && settings.update == Update::Both && settings.fixed == 0;
    if !wanted || !allowed {
        return Ok(None);
    }
    let mut normal = factors.clone();
    normal.normalize(0);
    if !setup.pool.run(|| fits(setup.columns, &normal)) {
        return Ok(None);
    }
    *factors = normal;
    Ok(Some(Box::new(Mixed::new(setup, build, factors, divergence)?)))
}

/// Data in f32 have no second precision.
pub fn never<'a>(
    _: &Setup<'a, f32>,
    _: &Builder,
    _: &mut Pair<f32>,
    _: f64,
    _: Option<&State>,
) -> Result<Option<Box<dyn Method<f32> + 'a>>> {
    Ok(None)
}

/// Whether f32 can stand in for f64.
fn fits(v: Matrix<'_, f64>, factors: &Pair<f64>) -> bool {
    let in_range = |x: &f64| *x == 0.0 || RANGE.contains(x);
    let all = |numbers: &[f64]| numbers.iter().all(in_range);
    let fits = v.values.par_chunks(1 << 16).all(all);
    fits && all(factors.wt.as_slice()) && all(factors.h.as_slice())
}

impl<'a> Mixed<'a> {
    fn new(setup: &Setup<'a, f64>, build: &Builder, start: &Pair<f64>, divergence: f64) -> Result<Self> {
        let &Setup { settings, pool, data, columns, narrow, .. } = setup;
        // Methods that may mix do not read V by columns.
        let none = Matrix::by_columns(0, 0, &[]);
        let early = Setup { settings, pool, data: narrow, columns: none, narrow, begun: false };
        let late = Setup { settings, pool, data, columns, narrow, begun: true };
        let factors = start.cast();
        let method = (build.f32)(&early, &factors)?;
        let early = Early { method, factors, over: false, start: start.clone(), divergence };
        Ok(Self { early: Some(early), late: None, setup: late, make_late: build.f64, divergence, told: 0 })
    }

    /// The method in f64 takes over.
    fn switch(&mut self, factors: &mut Pair<f64>) {
        if let Some(early) = self.early.take()
            && self.divergence > early.divergence
        {
            factors.copy_from(&early.start);
        }
        let late = (self.make_late)(&self.setup, factors);
        self.late = Some(
            late.expect("the same method was made in f32, and methods that may mix keep no large arrays"),
        );
    }
}

impl Method<f64> for Mixed<'_> {
    fn sweep(&mut self, factors: &mut Pair<f64>, steps: usize) {
        if self.early.as_ref().is_some_and(|early| early.over) {
            self.switch(factors);
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

    fn latest(&self, divergence: f64) -> Option<Pair<f64>> {
        match (&self.early, &self.late) {
            (Some(early), _) if divergence > early.divergence => Some(early.start.clone()),
            (Some(early), _) => early.method.latest(divergence).map(|latest| latest.cast()),
            (None, late) => late.as_ref()?.latest(divergence),
        }
    }

    fn wants_progress(&self) -> bool {
        self.early.is_some()
    }

    fn observe(&mut self, info: &Info) {
        if let Some(early) = &mut self.early {
            let fell = self.divergence - info.divergence > LITTLE * info.sum;
            // Multiplicative updates come first, and some starts they cannot move.
            self.told += 1;
            early.over = !fell && (self.told > 1 || !info.divergence.is_finite());
            self.divergence = info.divergence;
        }
    }

    fn is_mixed(&self) -> bool {
        true
    }

    fn save(&self, state: &mut State) {
        state.put("mixed.told", self.told as f64);
        state.put("mixed.divergence", self.divergence);
        if let Some(late) = &self.late {
            return late.save(state);
        }
        if let Some(early) = &self.early {
            let mut inner = State::new(state.solver);
            early.method.save(&mut inner);
            early.factors.save("", &mut inner);
            state.put_part("f32", inner);
            early.start.save("start.", state);
            state.put("start.divergence", early.divergence);
            state.put("f32.over", f64::from(u8::from(early.over)));
        }
    }

    fn load(&mut self, state: &State) -> Result<()> {
        self.told = state.number("mixed.told")? as usize;
        self.divergence = state.number("mixed.divergence")?;
        let Some(early) = &mut self.early else { return Ok(()) };
        if state.numbers.contains_key("f32.over") {
            let inner = state.part("f32");
            early.method.load(&inner)?;
            early.factors.load("", &inner)?;
            early.start.load("start.", state)?;
            early.divergence = state.number("start.divergence")?;
            early.over = state.number("f32.over")? != 0.0;
            return Ok(());
        }
        let factors = early.start.clone();
        self.early = None;
        let mut late = (self.make_late)(&self.setup, &factors)?;
        late.load(state)?;
        self.late = Some(late);
        Ok(())
    }
}

fn widen(from: &Pair<f32>, to: &mut Pair<f64>) {
    kernel::convert(from.wt.as_slice(), to.wt.as_mut_slice());
    kernel::convert(from.h.as_slice(), to.h.as_mut_slice());
}
