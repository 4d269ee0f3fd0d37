//! The making of the method that the settings ask for.

use super::admm::Admm;
use super::auto::Auto;
use super::extrapolate::Walk;
use super::fpa::Fpa;
use super::mixed::{self, Mixed};
use super::mu::Mu;
use super::mue::Mue;
use super::paper::Paper;
use super::{Alternation, Factors, HalfState, Method, Side, Solver, Source, Update};
use crate::block::{Half, Wants};
use crate::factorize::Settings;
use crate::matrix::Matrix;
use crate::parallel::Pool;
use crate::{Result, Scalar};

/// Accesses at the beginning of `fpa` that are multiplicative updates.
const WARM_UP: usize = 10;

/// The method that the settings ask for, with the memory that it works in; mixed precision makes its f64 half when it gets there.
pub(crate) fn method<'a, 'v, T: Scalar>(
    settings: &'a Settings,
    pool: &'a Pool,
    halves: &'a [Half<'v, T>; 2],
    factors: &mut Factors<T>,
    v: Matrix<'_, T>,
    divergence: f64,
) -> Result<Box<dyn Method<T> + 'a>>
where
    'v: 'a,
{
    if settings.paper && matches!(settings.solver, Solver::Fpa | Solver::Auto) {
        let r = factors.h.rows();
        let states = states(settings, [&halves[0], &halves[1]].map(Source::Same), pool, r);
        return Ok(Box::new(Paper::new(states, factors, settings.update)?));
    }
    if settings.solver == Solver::Admm {
        return Ok(Box::new(Admm::new(pool, &halves[0], factors, settings.rho, settings.update)?));
    }
    let mixed = settings.mixed.unwrap_or(settings.solver == Solver::Auto);
    if mixed
        && settings.update == Update::Both
        && settings.fixed == 0
        && !settings.paper
        && let Some(method) = T::mixed(settings, pool, halves, (factors, divergence), v)
    {
        return Ok(method);
    }
    Ok(alternation(settings, pool, [&halves[0], &halves[1]].map(Source::Same), factors, v.is_sparse(), false))
}

/// The method of the settings with its early accesses in f32, if the numbers allow it; `divergence` is that of the
/// factors, which are normalised.
pub(crate) fn mixed<'a, 'v>(
    settings: &'a Settings,
    pool: &'a Pool,
    halves: &'a [Half<'v, f64>; 2],
    (factors, divergence): (&mut Factors<f64>, f64),
    v: Matrix<'_, f64>,
) -> Option<Box<dyn Method<f64> + 'a>>
where
    'v: 'a,
{
    let mut normal = factors.clone();
    normal.normalize(0);
    let (sparse, narrow) = (v.is_sparse(), mixed::narrow(v, &normal)?);
    *factors = normal;
    let both = [&halves[0], &halves[1]];
    let early = alternation(settings, pool, both.map(Source::Wide), &narrow, sparse, false);
    let late = move |factors: &Factors<f64>| {
        alternation(settings, pool, both.map(Source::Same), factors, sparse, true)
    };
    Some(Box::new(Mixed::new((factors.clone(), divergence), narrow, early, Box::new(late))))
}

fn states<'a, 'v, T: Scalar>(
    settings: &Settings,
    [columns, rows]: [Source<'a, 'v, T>; 2],
    pool: &'a Pool,
    r: usize,
) -> [HalfState<'a, 'v, T>; 2] {
    let wants = Wants {
        // Newton falls back to the primal-dual steps.
        u: !matches!(settings.solver, Solver::Mu | Solver::Mue) && !settings.paper,
        atoms: matches!(settings.solver, Solver::Newton | Solver::Auto),
    };
    [HalfState::new(Side::H, columns, pool, r, wants), HalfState::new(Side::W, rows, pool, r, wants)]
}

/// One of the methods that alternate between the factors. `begun`: they come from this method already, and there is nothing
/// to warm up.
fn alternation<'a, 'v, T: Scalar>(
    settings: &Settings,
    pool: &'a Pool,
    sources: [Source<'a, 'v, T>; 2],
    factors: &Factors<T>,
    sparse: bool,
    begun: bool,
) -> Box<dyn Method<T> + 'a>
where
    'v: 'a,
{
    let halves = states(settings, sources, pool, factors.h.rows());
    let w_first = settings.paper && settings.solver == Solver::Mu;
    let mut order = if w_first { vec![Side::W, Side::H] } else { vec![Side::H, Side::W] };
    order.retain(|side| settings.update.moves(*side));
    let warm_up = if settings.update == Update::Both && !begun { WARM_UP } else { 0 };
    let mue = |halves| -> Box<dyn Method<T> + 'a> {
        Box::new(Mue::new(Walk::new(halves, order.clone(), factors, false), settings.fixed))
    };
    match settings.solver {
        Solver::Auto if settings.fixed > 0 => mue(halves),
        // Admm is no alternation of half-steps and does not come here.
        Solver::Auto | Solver::Newton | Solver::Admm => {
            let steadfast = settings.solver == Solver::Newton;
            Box::new(Auto::new(Walk::new(halves, order, factors, true), sparse, begun, steadfast))
        }
        Solver::Fpa | Solver::Simplex => {
            let new = if settings.solver == Solver::Fpa { Fpa::new } else { Fpa::on_simplex };
            let step = new(factors.wt.cols(), factors.h.cols());
            Box::new(Alternation { halves, step, order, warm_up })
        }
        Solver::Mu => Box::new(Alternation { halves, step: Mu { fixed: settings.fixed }, order, warm_up: 0 }),
        Solver::Mue => mue(halves),
    }
}
