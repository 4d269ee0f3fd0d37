//! The convex problem: known optima, valid gaps, and agreement of the methods.

use crate::common::{Random, close, known_optimum, naive_divergence, settings_of, sparse};
use klnmf::{
    DecomposeSettings, Error, Mat, Settings, Solver, Sparse, Update, decompose, factorize_from, init,
};
use std::ops::ControlFlow;

/// n, m, r and the number of atoms in use.
type Shape = (usize, usize, usize, usize);

const SHAPES: [Shape; 6] =
    [(60, 5, 6, 4), (200, 12, 15, 10), (40, 40, 20, 12), (30, 3, 1, 1), (25, 4, 12, 12), (300, 2, 50, 30)];

/// Every shape without and with zeros in V.
fn problems() -> impl Iterator<Item = (usize, (Shape, bool))> {
    SHAPES.into_iter().flat_map(|shape| [(shape, false), (shape, true)]).enumerate()
}

#[test]
fn fpa_reaches_a_certified_gap_of_1e_8() {
    for (seed, ((n, m, r, active), zeros)) in problems() {
        let known = known_optimum(seed as u64, n, m, r, active, zeros);
        let settings =
            DecomposeSettings { tol: 1e-8, max_iter: 20_000, threads: 2, ..DecomposeSettings::default() };
        let found = decompose(&known.v, &known.w, &settings).unwrap();
        let scale: f64 = known.v.as_slice().iter().sum();
        assert_eq!(found.unconverged(), 0, "{n}×{m}, r = {r}: gap {:.2e}", found.gap() / scale);
        assert!(found.gap() <= 1e-8 * scale);
        let distance = found.divergence() - known.optimum;
        assert!(distance <= found.gap() + 1e-13 * scale, "gap {} below distance {distance}", found.gap());
        assert!(distance >= -1e-12 * scale, "below the optimum by {distance}");
    }
}

#[test]
fn the_gap_is_never_below_the_distance() {
    for (seed, ((n, m, r, active), zeros)) in problems() {
        let known = known_optimum(100 + seed as u64, n, m, r, active, zeros);
        let scale: f64 = known.v.as_slice().iter().sum();
        for max_iter in (0..60).chain([100, 200, 400]) {
            // Without a tolerance all steps are primal-dual. With an unreachable one, all stages are tried.
            for tol in [0.0, 1e-300] {
                let settings =
                    DecomposeSettings { tol, max_iter, threads: 1, ..DecomposeSettings::default() };
                let found = decompose(&known.v, &known.w, &settings).unwrap();
                let distance = found.divergence() - known.optimum;
                assert!(
                    found.gap() >= distance - 1e-13 * scale,
                    "after {max_iter}: {} < {distance}",
                    found.gap()
                );
                let expected = |j: usize| if known.h.col(j).iter().any(|x| *x > 0.0) { max_iter } else { 0 };
                let counted = |(j, c): (usize, &klnmf::ColumnInfo)| {
                    c.iterations == expected(j) || (tol > 0.0 && c.converged && c.iterations < expected(j))
                };
                assert!(found.columns.iter().enumerate().all(counted), "{tol} {max_iter}");
            }
        }
    }
}

#[test]
fn every_method_certifies_every_iterate() {
    for solver in Solver::ALL {
        let known = known_optimum(7, 50, 20, 8, 5, false);
        let scale: f64 = known.v.as_slice().iter().sum();
        let (_, h) = init(&known.v, 8, &Settings { seed: 3, ..Settings::default() }).unwrap();
        let settings = Settings {
            update: Update::H,
            inner: Some(1),
            check_every: Some(1),
            max_iter: 300,
            tol: 0.0,
            ..settings_of(solver)
        };
        let found = factorize_from(&known.v, known.w.clone(), h, &settings, |info| {
            let distance = info.divergence - known.optimum;
            assert!(info.gap_h >= distance - 1e-12 * scale, "{solver}: {} < {distance}", info.gap_h);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(found.w, known.w, "a fixed factor keeps its bits");
    }
}

#[test]
fn fpa_mu_and_admm_agree_on_the_optimum() {
    let known = known_optimum(11, 60, 10, 6, 6, false);
    let scale: f64 = known.v.as_slice().iter().sum();
    let (_, h) = init(&known.v, 6, &Settings { seed: 5, ..Settings::default() }).unwrap();
    for (solver, rho) in [
        (Solver::Auto, None),
        (Solver::Fpa, None),
        (Solver::FpaAuthors, None),
        (Solver::Mu, None),
        (Solver::Mue, None),
        (Solver::Newton, None),
        (Solver::Admm, None),
        (Solver::Admm, Some(0.5)),
    ] {
        let settings = Settings {
            solver,
            rho,
            update: Update::H,
            max_iter: 20_000,
            check_every: Some(1000),
            tol: 0.0,
            ..Settings::default()
        };
        let found =
            factorize_from(&known.v, known.w.clone(), h.clone(), &settings, |_| ControlFlow::Continue(()));
        let distance = (found.unwrap().info.divergence - known.optimum) / scale;
        assert!((-1e-12..1e-7).contains(&distance), "{solver}, rho {rho:?}: {distance:.2e}");
    }
}

#[test]
fn the_w_step_is_the_h_step_on_the_transpose() {
    let known = known_optimum(13, 40, 15, 5, 4, false);
    let (_, h) = init(&known.v, 5, &Settings { seed: 1, ..Settings::default() }).unwrap();
    for solver in [Solver::Auto, Solver::Fpa, Solver::Mu, Solver::Mue, Solver::Newton, Solver::Admm] {
        let settings = Settings { solver, max_iter: 25, tol: 0.0, ..Settings::default() };
        let run = |v: &Mat<f64>, w: Mat<f64>, h: Mat<f64>, update| {
            let settings = Settings { update, ..settings.clone() };
            factorize_from(v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap()
        };
        let a = run(&known.v, known.w.clone(), h.clone(), Update::H);
        let b = run(&known.v.transpose(), h.transpose(), known.w.transpose(), Update::W);
        for (x, y) in a.h.as_slice().iter().zip(b.w.transpose().as_slice()) {
            assert!(close(*x, *y, 1e-9) || (x - y).abs() < 1e-12, "{solver:?}: {x} {y}");
        }
    }
}

#[test]
fn dense_sparse_and_single_precision_give_the_same_decomposition() {
    let mut random = Random(21);
    let (v, w) = (random.counts(50, 30, 0.6, 9.0), random.matrix(50, 7, 0.01, 1.0));
    let settings =
        DecomposeSettings { tol: 1e-9, max_iter: 20_000, threads: 0, ..DecomposeSettings::default() };
    let dense = decompose(&v, &w, &settings).unwrap();
    let compressed = decompose(&sparse(&v), &w, &settings).unwrap();
    assert!(close(dense.divergence(), compressed.divergence(), 1e-8));
    let settings = DecomposeSettings { tol: 1e-5, ..settings };
    let single = decompose(&v.cast::<f32>(), &w.cast::<f32>(), &settings).unwrap();
    assert_eq!(single.unconverged(), 0);
    assert!(close(dense.divergence(), single.divergence(), 1e-4));
    assert!(close(naive_divergence(&v, &w, &dense.h), dense.divergence(), 1e-12), "reported = recomputed");
    let h = single.h.cast::<f64>();
    let w = w.cast::<f32>().cast::<f64>();
    assert!(close(naive_divergence(&v, &w, &h), single.divergence(), 1e-12), "reported = recomputed in f32");
}

#[test]
fn thread_count_does_not_change_a_bit() {
    let mut random = Random(31);
    let (v, w) = (random.counts(40, 200, 0.5, 20.0), random.matrix(40, 6, 0.0, 1.0));
    let run = |threads| {
        let settings = DecomposeSettings { threads, ..DecomposeSettings::default() };
        (decompose(&v, &w, &settings).unwrap(), decompose(&sparse(&v), &w, &settings).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

#[test]
fn columns_do_not_depend_on_their_neighbours() {
    let mut random = Random(41);
    let (v, w) = (random.counts(30, 64, 0.4, 12.0), random.matrix(30, 5, 0.0, 1.0));
    let settings =
        DecomposeSettings { tol: 1e-10, max_iter: 20_000, threads: 2, ..DecomposeSettings::default() };
    let all = decompose(&v, &w, &settings).unwrap();
    let turned = Mat::from_fn(30, 64, |i, j| v[(i, 63 - j)]);
    let other = decompose(&turned, &w, &settings).unwrap();
    for j in 0..64 {
        assert!(close(all.columns[j].divergence, other.columns[63 - j].divergence, 1e-7));
    }
}

#[test]
fn scaling_the_data_scales_the_answer() {
    let mut random = Random(51);
    let (v, w) = (random.counts(30, 6, 0.3, 12.0), random.matrix(30, 5, 0.0, 1.0));
    let settings =
        DecomposeSettings { tol: 1e-9, max_iter: 20_000, threads: 1, ..DecomposeSettings::default() };
    let plain = decompose(&v, &w, &settings).unwrap();
    for factor in [1e-200, 1e-3, 2.0, 1e12, 1e200] {
        let scaled = Mat::from_fn(30, 6, |i, j| v[(i, j)] * factor);
        let found = decompose(&scaled, &w, &settings).unwrap();
        assert_eq!(found.unconverged(), 0, "factor {factor}");
        assert!(close(found.divergence(), plain.divergence() * factor, 1e-7), "factor {factor}");
    }
}

#[test]
fn empty_columns_and_dead_atoms_have_defined_answers() {
    let v = Mat::<f64>::from_rows(&[&[0.0, 1.0], &[0.0, 2.0]]);
    let w = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 0.0]]);
    let stored = Sparse::from_dense(&v);
    for found in [
        decompose(&v, &w, &DecomposeSettings::default()).unwrap(),
        decompose(&stored, &w, &DecomposeSettings::default()).unwrap(),
    ] {
        assert_eq!(found.h.col(0), [0.0, 0.0]);
        assert_eq!((found.columns[0].gap, found.columns[0].divergence), (0.0, 0.0));
        assert_eq!(found.h[(1, 1)], 0.0, "a zero atom gets no weight");
        assert!((found.h[(0, 1)] - 1.5).abs() < 1e-9);
    }
}

/// Copies of an atom can share its weight in any way, and a zero atom has none, so the optimum is the same.
#[test]
fn copies_of_atoms_and_zero_atoms_change_nothing() {
    let mut random = Random(77);
    for (n, r) in [(40, 5), (6, 3), (300, 2)] {
        let (w, v) = (random.matrix(n, r, 0.0, 1.0), random.counts(n, 30, 0.5, 20.0));
        let copied = Mat::from_fn(n, 7 * r, |i, k| if k % 7 == 3 { 0.0 } else { w[(i, k / 7)] });
        let settings = DecomposeSettings { tol: 1e-9, ..DecomposeSettings::default() };
        let (one, many) = (decompose(&v, &w, &settings).unwrap(), decompose(&v, &copied, &settings).unwrap());
        for (j, (a, b)) in one.columns.iter().zip(&many.columns).enumerate() {
            let sum: f64 = v.col(j).iter().sum();
            assert!(
                a.converged && b.converged && (a.divergence - b.divergence).abs() <= 2e-9 * sum + 1e-12,
                "{n} {j} {a:?} {b:?}"
            );
        }
        assert!((0..7 * r).filter(|k| k % 7 == 3).all(|k| (0..30).all(|j| many.h[(k, j)] == 0.0)));
    }
}

#[test]
fn data_without_columns_are_refused() {
    let found = decompose(&Mat::zeros(3, 0), &Mat::from_fn(3, 2, |_, _| 1.0), &DecomposeSettings::default());
    assert_eq!(found, Err(Error::Empty { rows: 3, cols: 0 }));
}
