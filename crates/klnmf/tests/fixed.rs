//! Known columns of W are held while the others are learned.

use crate::common::{
    Random, half_step, known_optimum, naive_divergence, product, settings_of, solvers, sparse,
};
use klnmf::{Column, Mat, Settings, Solver, Update, factorize_from, init};
use std::ops::ControlFlow;

fn example() -> (Mat<f64>, Mat<f64>) {
    let (w, h) = (Random(1).matrix(30, 5, 0.0, 3.0), Random(2).matrix(5, 40, 0.0, 3.0));
    let (model, noise) = (product(&w, &h), Random(3).matrix(30, 40, 0.5, 1.5));
    (Mat::from_fn(30, 40, |i, j| (model[(i, j)] * noise[(i, j)]).round()), w)
}

#[test]
fn known_parts_keep_their_bits_and_the_divergence_decreases() {
    let (v, truth) = example();
    for solver in solvers(|spec| spec.holds_parts) {
        for fixed in [1, 2, 5] {
            let settings = Settings { solver, fixed, max_iter: 300, tol: 0.0, ..Settings::default() };
            let (mut w, h) = init(&v, 5, &settings).unwrap();
            (0..fixed).for_each(|k| w.col_mut(k).copy_from_slice(truth.col(k)));
            let mut seen = Vec::new();
            let found = factorize_from(&v, w, h, &settings, |info| {
                seen.push(info.divergence);
                ControlFlow::Continue(())
            })
            .unwrap();
            (0..fixed).for_each(|k| assert_eq!(found.w.col(k), truth.col(k)));
            assert!(seen.windows(2).all(|d| d[1] <= d[0] * (1.0 + 1e-12)), "{solver:?} {fixed}");
            let naive = naive_divergence(&v, &found.w, &found.h);
            assert!((naive - found.info.divergence).abs() <= 1e-9 * naive);
        }
    }
}

/// With H held too, the free columns of W are a convex problem. Its gap bounds the distance to the end of a
/// long run.
#[test]
fn the_gap_refers_to_the_moving_columns() {
    let (v, truth) = example();
    let settings = |max_iter| Settings {
        solver: Solver::Mue,
        fixed: 2,
        update: Update::W,
        max_iter,
        tol: 0.0,
        ..Settings::default()
    };
    let (mut w, h) = init(&v, 5, &settings(1)).unwrap();
    (0..2).for_each(|k| w.col_mut(k).copy_from_slice(truth.col(k)));
    let run = |max_iter| {
        factorize_from(&v, w.clone(), h.clone(), &settings(max_iter), |_| ControlFlow::Continue(())).unwrap()
    };
    let best = run(20_000).info;
    assert!(best.gap_w <= 1e-4 * best.divergence, "{best:?}");
    for max_iter in [0, 1, 5, 20, 100, 500] {
        let info = run(max_iter).info;
        let distance = info.divergence - best.divergence;
        assert!(info.gap_w >= distance - 1e-9 * best.sum, "{max_iter}: {} {distance}", info.gap_w);
    }
}

#[test]
fn methods_that_cannot_hold_columns_return_an_error() {
    for solver in Solver::ALL {
        let settings = Settings { fixed: 1, ..settings_of(solver) };
        assert_eq!(settings.validate().is_ok(), solver.spec().holds_parts, "{solver}");
    }
    let (v, _) = example();
    let settings = Settings { fixed: 4, ..Settings::default() };
    let (w, h) = init(&v, 3, &settings).unwrap();
    assert!(factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())).is_err());
}

/// Fixed entries keep their bits, however small they are.
#[test]
fn tiny_fixed_entries_stay() {
    let (v, _) = example();
    let single = Mat::from_fn(30, 40, |i, j| v[(i, j)] as f32);
    let settings = Settings { fixed: 1, max_iter: 30, tol: 0.0, ..Settings::default() };
    let (mut w, h) = init(&single, 4, &settings).unwrap();
    w.col_mut(0).iter_mut().enumerate().for_each(|(i, x)| *x = if i % 2 == 0 { 1e-35 } else { 0.5 });
    let before = w.col(0).to_vec();
    let found = factorize_from(&single, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(found.w.col(0), before);
}

/// If nothing is held, `simplex` projects onto the simplex instead of cutting at zero.
#[test]
fn steps_on_the_simplex_are_others() {
    let known = known_optimum(5, 60, 12, 6, 4, false);
    let moved = |name, held| {
        let mut x = Mat::from_fn(6, 12, |_, _| 1.0);
        let columns = &mut [Column::default(); 12];
        half_step(name, &known.v, &known.w.transpose(), &mut x, columns, (5, held, false), 1).unwrap();
        x
    };
    assert_ne!(moved("simplex", 0), moved("fpa", 0));
    assert_eq!(moved("simplex", 1), moved("fpa", 1));
}

/// Of a column with many zeros, Newton moves the free weights that are positive, even if held ones are zero
/// and would not grow.
#[test]
fn newton_moves_positive_weights_beside_held_zeros() {
    let known = known_optimum(5, 60, 12, 8, 8, false);
    let start = Mat::from_fn(8, 12, |k, _| if k < 4 { 0.0 } else { 30.0 });
    let mut x = start.clone();
    let columns = &mut [Column::default(); 12];
    half_step("newton", &known.v, &known.w.transpose(), &mut x, columns, (1, 4, false), 1).unwrap();
    for k in 0..8 {
        assert!((0..12).all(|j| (x[(k, j)] == start[(k, j)]) == (k < 4)), "weight {k}: {x:?}");
    }
}

/// Long sparse columns are gathered in several groups, each with its own weights.
#[test]
fn newton_moves_long_sparse_columns_like_dense_ones() {
    let known = known_optimum(6, 900, 130, 3, 2, false);
    let start = Random(6).matrix(3, 130, 5.0, 20.0);
    let (kt, mut x, mut columns) = (known.w.transpose(), start.clone(), [Column::default(); 130]);
    half_step("newton", &known.v, &kt, &mut x, &mut columns, (1, 0, false), 1).unwrap();
    let mut y = start;
    half_step("newton", &sparse(&known.v), &kt, &mut y, &mut columns, (1, 0, false), 1).unwrap();
    assert!(x.as_slice().iter().zip(y.as_slice()).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + x)));
}
