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
    phase: Phase<'a, P>,
    setup: Setup<'a, P>,
    /// The divergence at the last report, and the number of reports.
    divergence: f64,
    told: usize,
}

enum Phase<'a, P: Place> {
    Early(Early<'a, P>),
    Late(Box<dyn Method<P::Factor<P::Data>> + 'a>),
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
    let phase = Phase::Early(Early { method, factors: narrow, over: false, start, divergence });
    Ok(Box::new(Mixed { phase, setup: Setup { begun: true, ..setup.clone() }, divergence, told: 0 }))
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
        if let Phase::Early(early) = &mut self.phase
            && early.over
        {
            if self.divergence > early.divergence {
                *factors = early.start.clone();
            }
            let late = build::<P, P::Data>(&self.setup, factors);
            self.phase = Phase::Late(
                late.expect("the same method was made in f32, and methods that may mix keep no large arrays"),
            );
        }
        match &mut self.phase {
            Phase::Early(early) => {
                early.method.advance(&mut early.factors, steps);
                self.setup.place.assign::<f32, P::Data>(&early.factors, factors);
            }
            Phase::Late(late) => late.advance(factors, steps),
        }
    }

    fn latest(&self, divergence: f64) -> Option<Factors<P::Factor<P::Data>>> {
        match &self.phase {
            Phase::Early(early) if divergence > early.divergence => Some(early.start.clone()),
            Phase::Early(early) => {
                let latest = early.method.latest(divergence);
                latest.map(|latest| self.setup.place.cast::<f32, P::Data>(&latest))
            }
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

    fn is_mixed(&self) -> bool {
        true
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        store.count("mixed.told", &mut self.told)?;
        store.number("mixed.divergence", &mut self.divergence)?;
        let mut late = !self.wants_progress();
        store.flag("mixed.late", &mut late)?;
        if late && let Phase::Early(early) = &self.phase {
            self.phase = Phase::Late(build::<P, P::Data>(&self.setup, &early.start)?);
        }
        match &mut self.phase {
            Phase::Early(early) => {
                early.method.carry(store)?;
                self.setup.place.carry::<f32>("f32.", &mut early.factors, store)?;
                self.setup.place.carry::<P::Data>("start.", &mut early.start, store)?;
                store.flag("f32.over", &mut early.over)?;
                store.number("start.divergence", &mut early.divergence)
            }
            Phase::Late(late) => late.carry(store),
        }
    }
}
