//! Mixed precision: early iterations in f32, which take half the time, then f64.
//!
//! The f32 method reads V in f64 and converts it block by block, so no second copy of V is needed. It reports
//! its factors in f64, and certificates always use f64 and V itself. f64 takes over once ten iterations,
//! after the first ten, decrease the divergence by less than 1e-6 of ΣV: the rounding errors of f32 then
//! begin to matter.

use super::method::{Built, Factors, Method};
use super::place::{FactorsOf, Place, Test};
use super::{Setup, Store, Update, build};
use crate::factorize::Info;
use crate::{Result, Solver};

/// The smallest decrease of the divergence that f32 resolves, relative to ΣV.
const LITTLE: f64 = 1e-6;

/// A method in f32, later replaced by one in the precision of the data.
struct Mixed<'a, P: Place> {
    /// The method in f32, until it is over.
    early: Option<Early<'a, P>>,
    /// Its successor.
    late: Option<Box<dyn Method<P::Factor<P::Data>> + 'a>>,
    setup: Setup<'a, P>,
    /// The divergence at the last report, and the number of reports.
    divergence: f64,
    told: usize,
}

/// The state while the work is in f32.
struct Early<'a, P: Place> {
    method: Box<dyn Method<P::Factor<f32>> + 'a>,
    factors: FactorsOf<P, f32>,
    over: bool,
    /// The initial factors and their divergence. If they are already a solution, f32 may not reach them.
    start: FactorsOf<P, P::Data>,
    divergence: f64,
}

/// Creates the method of the settings from these factors, whose divergence is given. If the method begins in
/// f32, the factors are normalised.
pub fn method<'a, P: Place + 'a>(
    setup: &Setup<'a, P>,
    factors: &mut FactorsOf<P, P::Data>,
    divergence: f64,
) -> Built<'a, P::Factor<P::Data>> {
    if !setup.mixed.unwrap_or_else(|| prepare(setup, factors)) {
        return build::<P, P::Data>(setup, factors);
    }
    let (start, narrow) = (factors.clone(), setup.place.cast::<P::Data, f32>(factors));
    let method = build::<P, f32>(setup, &narrow)?;
    let early = Some(Early { method, factors: narrow, over: false, start, divergence });
    let setup = Setup { begun: true, ..setup.clone() };
    Ok(Box::new(Mixed { early, late: None, setup, divergence, told: 0 }))
}

/// Whether the settings ask for f32, and settings and numbers allow it. If so, normalises the factors.
fn prepare<P: Place>(setup: &Setup<'_, P>, factors: &mut FactorsOf<P, P::Data>) -> bool {
    let (settings, place) = (setup.settings, &setup.place);
    let wanted = size_of::<P::Data>() == 8 && settings.mixed.unwrap_or(settings.solver == Solver::Auto);
    let allowed = settings.solver.spec().may_mix && settings.update == Update::Both && settings.fixed == 0;
    if !wanted || !allowed {
        return false;
    }
    let mut normal = factors.clone();
    place.normalize(&mut normal, 0);
    let fit = place.facts().fit_f32() && place.all(&normal, Test::FitF32);
    if fit {
        *factors = normal;
    }
    fit
}

impl<'a, P: Place + 'a> Method<P::Factor<P::Data>> for Mixed<'a, P> {
    fn advance(&mut self, factors: &mut FactorsOf<P, P::Data>, steps: usize) {
        if let Some(Early { start, divergence, .. }) = self.early.take_if(|early| early.over) {
            // The memory of the f32 method is free before its successor is made.
            if self.divergence > divergence {
                *factors = start;
            }
            let late = build::<P, P::Data>(&self.setup, factors);
            self.late =
                Some(late.expect("methods that may mix keep no large arrays, and it was made in f32"));
        }
        if let Some(early) = &mut self.early {
            early.method.advance(&mut early.factors, steps);
            self.setup.place.assign::<f32, P::Data>(&early.factors, factors);
        }
        if let Some(late) = &mut self.late {
            late.advance(factors, steps);
        }
    }

    fn latest(&self, divergence: f64) -> Option<Factors<P::Factor<P::Data>>> {
        let Some(early) = &self.early else { return self.late.as_ref()?.latest(divergence) };
        if divergence > early.divergence {
            return Some(early.start.clone());
        }
        let latest = early.method.latest(divergence);
        latest.map(|latest| self.setup.place.cast::<f32, P::Data>(&latest))
    }

    fn wants_progress(&self) -> bool {
        self.early.is_some()
    }

    fn observe(&mut self, info: &Info) {
        if let Some(early) = &mut self.early {
            let fell = self.divergence - info.divergence > LITTLE * info.sum;
            // The first report does not count: the warm-up cannot move some starts.
            self.told += 1;
            early.over = !fell && (self.told > 1 || !info.divergence.is_finite());
            self.divergence = info.divergence;
        }
    }

    fn is_mixed(&self) -> bool {
        true
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        store.count("mixed.told", &mut self.told)?;
        store.number("mixed.divergence", &mut self.divergence)?;
        let mut over = self.late.is_some();
        store.flag("mixed.late", &mut over)?;
        if over && let Some(Early { start, .. }) = self.early.take() {
            self.late = Some(build::<P, P::Data>(&self.setup, &start)?);
        }
        if let Some(early) = &mut self.early {
            early.method.carry(store)?;
            self.setup.place.carry::<f32>("f32.", &mut early.factors, store)?;
            self.setup.place.carry::<P::Data>("start.", &mut early.start, store)?;
            store.flag("f32.over", &mut early.over)?;
            store.number("start.divergence", &mut early.divergence)?;
        }
        self.late.as_mut().map_or(Ok(()), |late| late.carry(store))
    }
}
