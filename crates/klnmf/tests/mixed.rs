//! Early iterations in f32, the rest in f64; and what f32 alone can reach.

use crate::common::{Random, product};
use klnmf::{Info, Mat, Problem, Settings, Solution, Solver, Status, factorize, factorize_from};
use std::ops::ControlFlow;

/// Three distinct parts, and some noise.
fn example() -> Mat<f64> {
    let (w, h) = (Random(1).matrix(40, 3, 0.0, 5.0), Random(2).matrix(3, 60, 0.0, 5.0));
    let (model, noise) = (product(&w, &h), Random(3).matrix(40, 60, 0.5, 1.5));
    Mat::from_fn(40, 60, |i, j| (model[(i, j)] * noise[(i, j)]).round())
}

fn run(v: &Mat<f64>, settings: &Settings) -> Solution<f64> {
    factorize(v, 3, settings).unwrap()
}

#[test]
fn mixed_precision_reaches_the_optimum_of_f64() {
    let v = example();
    for solver in [Solver::Auto, Solver::Newton, Solver::Mue, Solver::Mu, Solver::Fpa] {
        let settings = |mixed| Settings { solver, mixed, max_iter: 1500, tol: 0.0, ..Settings::default() };
        let (plain, mixed) = (run(&v, &settings(Some(false))), run(&v, &settings(Some(true))));
        let (a, b) = (plain.info.divergence, mixed.info.divergence);
        assert!((a - b).abs() <= 1e-6 * a, "{solver:?} {a} {b}");
        assert_ne!(plain.w, mixed.w, "{solver:?} took the same steps in both");
    }
}

#[test]
fn auto_continues_where_f32_stalls() {
    let v = example();
    let settings = Settings { tol: 1e-9, max_iter: 3000, ..Settings::default() };
    let found = run(&v, &settings);
    assert_eq!(found.status, Status::Converged, "{:?}", found.info);
    let single = Mat::from_fn(v.rows(), v.cols(), |i, j| v[(i, j)] as f32);
    assert_ne!(factorize(&single, 3, &settings).unwrap().status, Status::Converged);
}

/// f64 takes over once ten iterations, after the first ten, decrease the divergence by less than 1e-6 of ΣV.
/// From a solution that is after twenty.
#[test]
fn f64_takes_over_where_f32_stalls() {
    let v = example();
    let settings = Settings { tol: 0.0, max_iter: 3000, ..Settings::default() };
    let problem = Problem::new(&v, 1).unwrap();
    let reports = |w, h| {
        let mut run = problem.run(w, h, &settings).unwrap();
        let (mut before, mut over, mut told) = (run.info().divergence, false, 0);
        loop {
            run.advance();
            let state = run.state();
            if state.numbers["mixed.late"] == 1.0 {
                assert!(over);
                return told;
            }
            if state.iteration.is_multiple_of(10) {
                let now = run.info().divergence;
                told += 1;
                over = before - now <= 1e-6 * run.info().sum && told > 1;
                before = now;
            }
            let said = (state.numbers["mixed.told"], state.numbers["f32.over"]);
            assert_eq!(said, (f64::from(told), f64::from(u8::from(over))));
        }
    };
    let (w, h) = problem.init(3, &settings).unwrap();
    assert!(reports(w, h) > 2);
    let end = run(&v, &Settings { tol: 1e-9, ..settings.clone() });
    assert_eq!(reports(end.w, end.h), 2);
}

/// Normalising W rounds it once more. In f32 that can undo a tolerance which the iterate had just reached.
#[test]
fn what_converged_is_within_the_tolerance_after_normalising() {
    let (w, h) = (Random(1).matrix(20, 2, 0.0, 50.0), Random(2).matrix(2, 30, 0.0, 50.0));
    let (model, noise) = (product(&w, &h), Random(3).matrix(20, 30, 0.5, 1.5));
    let v = Mat::from_fn(20, 30, |i, j| (model[(i, j)] * noise[(i, j)]).round() as f32);
    let mut converged = 0;
    for (solver, tol) in [(Solver::Newton, 2.5e-7), (Solver::Newton, 5e-7), (Solver::Mue, 2.5e-6)] {
        for seed in 0..10 {
            let settings = Settings { solver, seed, tol, threads: 1, ..Settings::default() };
            let found = factorize(&v, 2, &settings).unwrap();
            if found.status == Status::Converged {
                let Info { gap_w, gap_h, .. } = found.info;
                assert!(
                    gap_w.max(gap_h) <= tol * found.info.unit(),
                    "{solver}, seed {seed}, {tol}: {gap_w} {gap_h}"
                );
                converged += 1;
            }
        }
    }
    assert!(converged > 0, "no run converges, so nothing was tested");
}

#[test]
fn numbers_outside_the_range_of_f32_are_computed_in_f64() {
    for scale in [1e-30, 1e-200, 1e30, 1e200] {
        let v = Mat::from_fn(40, 60, |i, j| scale * example()[(i, j)]);
        let settings = |mixed| Settings { mixed, max_iter: 60, tol: 0.0, ..Settings::default() };
        let (plain, mixed) = (run(&v, &settings(Some(false))), run(&v, &settings(Some(true))));
        assert!(plain.info.divergence.is_finite() && plain.info.divergence < 0.1 * plain.info.sum);
        let (a, b) = (plain.info.divergence, mixed.info.divergence);
        assert!((a - b).abs() <= 1e-9 * a, "{scale}: {a} {b}");
    }
}

/// The result of 30 iterations from W and H.
fn from(v: &Mat<f64>, (w, h): (&Mat<f64>, &Mat<f64>), mixed: bool) -> Solution<f64> {
    let settings = Settings { mixed: Some(mixed), max_iter: 30, tol: 0.0, threads: 1, ..Settings::default() };
    factorize_from(v, w.clone(), h.clone(), &settings, |_: &_| ControlFlow::Continue(())).unwrap()
}

/// One entry outside the range of f32, in V or in the start, is enough to compute everything in f64.
#[test]
fn f32_is_used_only_if_data_and_start_fit() {
    let (v, w, h) = (example(), Random(4).matrix(40, 3, 0.5, 1.5), Random(5).matrix(3, 60, 0.5, 1.5));
    let tiny =
        |x: &Mat<f64>| Mat::from_fn(x.rows(), x.cols(), |i, j| if i + j == 0 { 1e-60 } else { x[(i, j)] });
    for (v, w, h, same) in
        [(&v, &w, &h, false), (&tiny(&v), &w, &h, true), (&v, &tiny(&w), &h, true), (&v, &w, &tiny(&h), true)]
    {
        let (plain, mixed) = (from(v, (w, h), false), from(v, (w, h), true));
        assert_eq!((plain.w == mixed.w, plain.h == mixed.h), (same, same));
    }
}

/// The start is normalised before it is rounded to f32, where its scale could overflow. Powers of two scale
/// without rounding error, so the result is the same to the last bit.
#[test]
fn the_scale_of_the_start_does_not_matter() {
    let (v, w, h) = (example(), Random(4).matrix(40, 3, 0.5, 1.5), Random(5).matrix(3, 60, 0.5, 1.5));
    let scaled = |x: &Mat<f64>, by: i32| Mat::from_fn(x.rows(), x.cols(), |i, j| x[(i, j)] * 2f64.powi(by));
    let (plain, moved) = (from(&v, (&w, &h), true), from(&v, (&scaled(&w, -200), &scaled(&h, 200)), true));
    assert!(plain.w == moved.w && plain.h == moved.h);
}

#[test]
fn continuing_from_a_solution_does_not_increase_the_divergence() {
    let v = example();
    let first = run(&v, &Settings { mixed: Some(false), tol: 1e-12, max_iter: 3000, ..Settings::default() });
    for max_iter in [1, 5, 10, 11, 40] {
        let settings = Settings { max_iter, tol: 0.0, ..Settings::default() };
        let watch = |_: &_| ControlFlow::Continue(());
        let more = factorize_from(&v, first.w.clone(), first.h.clone(), &settings, watch).unwrap();
        let (before, after) = (first.info.divergence, more.info.divergence);
        assert!(after <= before * (1.0 + 1e-11), "{max_iter}: {after} after {before}");
    }
}

/// A single entry of V that is positive where the product is zero makes the divergence infinite.
#[test]
fn newton_recovers_from_zeros_of_the_product() {
    for seed in 0..10 {
        // Images of bars: most entries are zero in most parts.
        let w = Mat::from_fn(36, 6, |i, k| if i / 6 == k { 50.0 } else { 0.0 });
        let h = Random(40 + seed).counts(6, 80, 0.6, 3.0);
        let (model, noise) = (product(&w, &h), Random(60 + seed).counts(36, 80, 0.7, 2.0));
        let v = Mat::from_fn(36, 80, |i, j| model[(i, j)] + noise[(i, j)]);
        let end = |solver| {
            let settings = Settings { solver, seed, max_iter: 100, tol: 0.0, ..Settings::default() };
            factorize(&v, 12, &settings).unwrap().info.divergence
        };
        let (newton, mu) = (end(Solver::Newton), end(Solver::Mu));
        assert!(newton < 1.05 * mu, "seed {seed}: {newton} against {mu}");
    }
}

/// If all its steps increase the divergence, Newton must fall back to a method that can leave zero. Without
/// this it gets stuck for good on each of these.
#[test]
fn newton_does_not_get_stuck_at_zeros() {
    for (data, scale, seed) in
        [(1, 1.0, 13), (15, 1.0, 17), (24, 1.0, 3), (24, 1.0, 12), (7, 4.0, 16), (33, 4.0, 0)]
    {
        let mut random = Random(data);
        let mut factor = |n, m| Mat::from_fn(n, m, |_, _| random.uniform().powi(4));
        let (w, h) = (factor(60, 5), factor(5, 40));
        let model = product(&w, &h);
        let v = Mat::from_fn(60, 40, |i, j| poisson(scale * model[(i, j)], &mut random));
        let settings =
            Settings { solver: Solver::Newton, seed, max_iter: 300, tol: 1e-3, ..Settings::default() };
        let found = factorize(&crate::common::sparse(&v), 5, &settings).unwrap();
        assert_eq!(found.status, Status::Converged, "data {data} seed {seed}: {:?}", found.info);
    }
}

/// A count of the given mean, by multiplying uniform numbers.
fn poisson(mean: f64, random: &mut Random) -> f64 {
    let (limit, mut product, mut count) = ((-mean).exp(), random.uniform(), 0.0);
    while product > limit {
        product *= random.uniform();
        count += 1.0;
    }
    count
}
