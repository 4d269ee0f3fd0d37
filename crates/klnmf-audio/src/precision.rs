//! The factorisation of a spectrogram, in the precision that suffices.
//!
//! Samples have 24 bits at most, and so has f32, which takes half the time. But f32 cannot reach small gaps:
//! its gradients have errors of about 1e-7, and a gap depends on the worst of them. So f32 is used throughout
//! if the tolerance is large. Without a tolerance (0), it is used for all but the last iterations. Between
//! the two, [`klnmf::Settings::mixed`] makes the choice. Gaps are always computed in f64.

use crate::Separator;
use klnmf::{Info, Mat, Precision, Problem, Scalar, Settings, Solution, Status};
use std::ops::ControlFlow;
use std::time::Duration;

/// The smallest tolerance for which f32 alone is used.
const CERTIFIED: f64 = 1e-2;
/// Iterations in f64 at the end of a run without a tolerance: several times what corrects the rounding errors
/// of f32.
const LAST: usize = 50;
/// The range that positive entries of a spectrogram must have for f32, which reaches from 1e-38 to 1e38.
const RANGE: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

impl Separator {
    /// Factorises V, of which `problem` is the prepared form, from a start. `tol` decides the precision.
    pub(crate) fn factorize(
        &self,
        v: &Mat<f64>,
        problem: Problem<'_, f64>,
        (w, h): (Mat<f64>, Mat<f64>),
        settings: &Settings,
        tol: f64,
        watch: impl Fn(&Info),
    ) -> klnmf::Result<Solution<f64>> {
        let narrow = self.narrow_iterations(v, settings, tol);
        if narrow == 0 {
            return watched(&problem, w, h, settings, 0, &watch);
        }
        // Holding V in both orders in f64 and in f32 would determine the peak memory.
        drop(problem);
        let early = Settings { max_iter: narrow, ..settings.clone() };
        let threads = settings.threads;
        let narrow_v = v.cast::<f32>();
        let found = watched(&Problem::new(&narrow_v, threads)?, w.cast(), h.cast(), &early, 0, &watch)?;
        drop(narrow_v);
        let (w, h) = (found.w.cast(), found.h.cast());
        let left = settings.max_iter - narrow;
        if left == 0 || found.status != Status::IterationLimit {
            return Ok(Solution { w, h, info: found.info, status: found.status, starts: Vec::new() });
        }
        let seconds = Duration::from_secs_f64(found.info.seconds);
        let time_limit = settings.time_limit.map(|limit| limit.saturating_sub(seconds));
        let late = Settings { max_iter: left, mixed: Some(false), time_limit, ..settings.clone() };
        let mut found = watched(&Problem::new(v, threads)?, w, h, &late, narrow, &watch)?;
        found.info.iteration += narrow;
        found.info.precision = Precision::Mixed;
        Ok(found)
    }

    /// The number of iterations in f32.
    fn narrow_iterations(&self, v: &Mat<f64>, settings: &Settings, tol: f64) -> usize {
        let fits = |x: &f64| *x == 0.0 || RANGE.contains(x);
        let wanted = match self.precision {
            Some(Precision::F32) => settings.max_iter,
            Some(_) => 0,
            None if tol >= CERTIFIED => settings.max_iter,
            None if tol == 0.0 => settings.max_iter.saturating_sub(LAST),
            None => 0,
        };
        // Fixed columns must keep all their bits.
        if settings.fixed == 0 && v.as_slice().iter().all(fits) { wanted } else { 0 }
    }
}

/// A factorisation that is watched, after `before` earlier iterations.
fn watched<T: Scalar>(
    problem: &Problem<'_, T>,
    w: Mat<T>,
    h: Mat<T>,
    settings: &Settings,
    before: usize,
    watch: impl Fn(&Info),
) -> klnmf::Result<Solution<T>> {
    problem.factorize_from(w, h, settings, |info| {
        let mut shown = *info;
        shown.iteration += before;
        watch(&shown);
        ControlFlow::Continue(())
    })
}
