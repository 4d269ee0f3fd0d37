//! When a factorisation stops, and what it says is left.

use crate::common::Random;
use klnmf::{Mat, Settings, Solution, Status, factorize};

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
