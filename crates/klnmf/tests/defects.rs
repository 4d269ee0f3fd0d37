//! Regression tests for defects found in a review, one each.

use crate::common::{Random, settings_of, solvers, sparse};
use klnmf::{DecomposeSettings, Mat, Matrix, Settings, Solver, Status, decompose, factorize_from, init};
use std::ops::ControlFlow;

/// A tolerance of zero means that a column never stops early, not that it skips the fast stages.
///
/// Both dictionaries have entries of very different size, for which the primal-dual algorithm alone is slow.
#[test]
fn decompositions_without_a_tolerance_use_every_stage() {
    let of_27 = |u: f64| 10f64.powf(-12.0 * u);
    let of_29 = |u: f64| u.powi(8);
    for (seed, entry) in [(27, &of_27 as &dyn Fn(f64) -> f64), (29, &of_29)] {
        let mut random = Random(seed);
        let uniform = random.matrix(30, 3, 0.0, 1.0);
        let w = Mat::from_fn(30, 3, |i, k| entry(uniform[(i, k)]));
        let v = if seed == 27 {
            random.counts(30, 4, 0.5, 1000.0)
        } else {
            Mat::from_fn(30, 4, |_, _| 10f64.powf(8.0 * random.uniform() - 4.0))
        };
        let run = |tol| {
            let settings =
                DecomposeSettings { tol, max_iter: 5000, threads: 1, ..DecomposeSettings::default() };
            decompose(&v, &w, &settings).unwrap()
        };
        let (endless, usual, tight) = (run(0.0), run(1e-10), run(1e-12));
        assert_eq!(usual.unconverged(), 0);
        assert!(endless.columns.iter().all(|c| c.iterations == 5000), "it ended early");
        // Rounding error: about thirty terms per column, each with an error of ε.
        for (j, (endless, tight)) in endless.columns.iter().zip(&tight.columns).enumerate() {
            let rounding = 1e-13 * v.col(j).iter().sum::<f64>();
            let (d, least) = (endless.divergence, tight.divergence);
            assert!(
                d <= least + rounding,
                "seed {seed}, column {j}: {d} without a tolerance, {least} with one"
            );
        }
    }
}

/// The iterations of a run, certified one by one.
fn iterations<'a>(v: impl Into<Matrix<'a, f64>>, solver: Solver) -> Vec<usize> {
    let v = v.into();
    let settings =
        Settings { solver, max_iter: 20, tol: 0.0, check_every: Some(1), threads: 1, ..Settings::default() };
    let (w, h) = init(v, 3, &settings).unwrap();
    let mut seen = Vec::new();
    factorize_from(v, w, h, &settings, |info| {
        seen.push(info.iteration);
        ControlFlow::Continue(())
    })
    .unwrap();
    seen
}

/// The storage of V must not change the steps.
#[test]
fn dense_and_sparse_data_take_the_same_steps() {
    let v = Random(3).counts(20, 30, 0.6, 9.0);
    for solver in [Solver::Auto, Solver::Newton, Solver::Mue, Solver::Mu, Solver::Fpa, Solver::Simplex] {
        assert_eq!(iterations(&v, solver), iterations(&sparse(&v), solver), "{solver:?}");
    }
}

/// The paper's objective has 2.2e-16 inside the logarithm. For data of that size it is not a divergence, and
/// no bound on what could be gained.
#[test]
fn the_papers_objective_is_no_certificate() {
    let v = Mat::from_rows(&[&[1e-20]]);
    for solver in solvers(|spec| spec.epsilon > 0.0) {
        let (w, h) = (Mat::from_rows(&[&[1.0]]), Mat::from_rows(&[&[0.5e-20]]));
        let settings = Settings { max_iter: 0, ..settings_of(solver) };
        let found = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
        let true_gap = 1e-20 * (2f64.ln() - 0.5);
        assert!(found.info.gap_h >= 0.999 * true_gap && found.info.gap_w >= 0.999 * true_gap, "{solver}");
        assert_eq!(found.status, Status::IterationLimit, "{solver}");
    }
}

/// If the callback breaks, the status is `Stopped`, even if the run would have ended anyway.
#[test]
fn a_callback_that_breaks_has_stopped_the_run() {
    let v = Random(3).counts(6, 8, 0.2, 5.0);
    let (w, h) = init(&v, 2, &Settings::default()).unwrap();
    let settings = Settings { max_iter: 0, ..Settings::default() };
    let found = factorize_from(&v, w, h, &settings, |_| ControlFlow::Break(())).unwrap();
    assert_eq!(found.status, Status::Stopped);
}
