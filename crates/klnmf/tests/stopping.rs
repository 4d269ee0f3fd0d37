//! When a factorisation stops, and what it says is left.

use crate::common::Random;
use klnmf::{Mat, Settings, Solution, Solver, Status, factorize, factorize_from, init};
use std::ops::ControlFlow;

/// A product of two factors, each entry of which is moved by a small share of its size.
fn nearly_exact(share: f64) -> Mat<f64> {
    let (w, h) = (Random(1).matrix(30, 3, 0.3, 1.0), Random(2).matrix(3, 40, 0.3, 1.0));
    let noise = Random(3).matrix(30, 40, 0.0, 1.0);
    Mat::from_fn(30, 40, |i, j| {
        let x: f64 = (0..3).map(|k| w[(i, k)] * h[(k, j)]).sum();
        x * (1.0 + share * noise[(i, j)])
    })
}

fn run(v: &Mat<f64>, tol: f64) -> Solution<f64> {
    factorize(v, 3, &Settings { tol, max_iter: 20_000, ..Settings::default() }).unwrap()
}

/// With a tolerance relative to ΣV, data that fit well stopped far from their local optimum.
#[test]
fn the_tolerance_means_the_same_whether_the_data_fit_well_or_not() {
    for share in [3e-2, 0.2, 1.0] {
        let v = nearly_exact(share);
        let found = run(&v, 3e-3);
        assert_eq!(found.status, Status::Converged);
        let info = &found.info;
        assert!(info.divergence > 1e-5 * info.sum, "{info:?}");
        assert!(info.gap_w.max(info.gap_h) <= 3e-3 * info.divergence, "{share}: {info:?}");
        assert_eq!(info.relative_gap(), info.gap_w.max(info.gap_h) / info.divergence);
    }
}

#[test]
fn an_exact_factorisation_converges() {
    let v = nearly_exact(0.0);
    let found = run(&v, Settings::default().tol);
    assert_eq!(found.status, Status::Converged);
    assert!(found.info.divergence <= 1e-7 * found.info.sum, "{:?}", found.info);
    assert!(found.info.left().starts_with("the fit is nearly exact: the divergence is "));
    let single = factorize(&v.cast::<f32>(), 3, &Settings::default()).unwrap();
    assert_eq!(single.status, Status::Converged, "{:?}", single.info);
    let nothing = factorize(&Mat::<f64>::zeros(3, 4), 2, &Settings::default()).unwrap();
    assert_eq!((nothing.status, nothing.info.relative_gap()), (Status::Converged, 0.0));
}

#[test]
fn words_say_what_is_left() {
    let found = run(&nearly_exact(0.5), 3e-3);
    let percent = 100.0 * found.info.relative_gap();
    assert!(percent <= 0.3);
    let text = format!("changing one factor could lower the divergence by at most {percent:.2} %");
    assert_eq!(found.info.left(), text);
}

/// The tolerance is tested every ten iterations, however often progress is shown. Without one, a run never
/// ends early. Progress is shown at the start, at the end and at every multiple in between.
#[test]
fn progress_does_not_change_the_end() {
    let v = nearly_exact(1.0);
    let shown = |settings: &Settings| {
        let (mut shown, (w, h)) = (Vec::new(), init(&v, 3, settings).unwrap());
        let end = factorize_from(&v, w, h, settings, |info| {
            shown.push(info.iteration);
            ControlFlow::Continue(())
        });
        (shown, end.unwrap().info.iteration)
    };
    for mixed in [None, Some(false)] {
        let end = |check_every| shown(&Settings { mixed, check_every, ..Settings::default() }).1;
        let ends = [None, Some(1), Some(7), Some(1000)].map(end);
        assert!(ends[0] % 10 == 0 && ends == [ends[0]; 4], "{ends:?}");
    }
    let settings = Settings { tol: 0.0, max_iter: 17, check_every: Some(7), ..Settings::default() };
    let nothing = factorize(&Mat::<f64>::zeros(3, 4), 2, &settings).unwrap();
    assert_eq!((nothing.status, nothing.info.iteration), (Status::IterationLimit, 17));
    assert_eq!(shown(&settings), (vec![0, 7, 14, 17], 17));
}

/// The result is that of the last iteration, where the method still reports the one before.
#[test]
fn results_are_better_than_the_last_report() {
    let v = nearly_exact(1.0);
    for solver in [Solver::Auto, Solver::Mue, Solver::Newton, Solver::Stream] {
        for mixed in [Some(false), Some(true)] {
            let settings = Settings { solver, mixed, max_iter: 2, tol: 0.0, ..Settings::default() };
            let ((w, h), mut last) = (init(&v, 3, &settings).unwrap(), 0.0);
            let found = factorize_from(&v, w, h, &settings, |info| {
                last = info.divergence;
                ControlFlow::Continue(())
            });
            let end = found.unwrap().info.divergence;
            assert!(end < 0.999 * last, "{solver} {mixed:?}: {end} after {last}");
        }
    }
}
