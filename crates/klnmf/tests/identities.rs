//! Values that must be equal: between storages, precisions and thread counts, reported and recomputed.

use crate::common::{Random, close, naive_divergence, naive_gaps_h, settings_of, solvers, sparse};
use klnmf::{
    Init, Mat, Matrix, Order, Settings, Solution, Solver, Sparse, certificate, factorize, factorize_from,
    grow, init,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The solvers for dense and sparse data.
fn both() -> Vec<Solver> {
    solvers(|spec| !spec.dense_only)
}

fn example() -> Mat<f64> {
    Random(1).counts(40, 70, 0.5, 30.0)
}

fn run<'a>(v: impl Into<Matrix<'a, f64>>, settings: &Settings) -> Solution<f64> {
    factorize(v, 6, &Settings { tol: 0.0, ..settings.clone() }).unwrap()
}

#[test]
fn dense_and_sparse_agree() {
    let v = example();
    for solver in both() {
        // By default Newton takes more steps at a time on sparse data.
        let settings = Settings { inner: Some(2), max_iter: 50, ..settings_of(solver) };
        let (dense, stored) = (run(&v, &settings), run(&sparse(&v), &settings));
        // Its quadratic programs stop at a threshold, and rounding errors may decide on which side.
        let tolerance = if matches!(solver, Solver::Newton | Solver::Auto) { 1e-6 } else { 1e-10 };
        let (a, b) = (dense.info.divergence, stored.info.divergence);
        assert!(close(a, b, tolerance), "{solver:?} {a} {b}");
    }
}

#[test]
fn every_storage_gives_the_same_bits() {
    let v = example();
    let by_columns = sparse(&v);
    let by_rows = Sparse::reordered(by_columns.view()).unwrap();
    // The entries of every column in reverse order, one of them in two halves, and a zero.
    let untidy = {
        let (mut ptr, mut idx, mut val) = (vec![0], vec![], vec![]);
        for j in 0..v.cols() {
            for (i, &x) in (0u32..).zip(v.col(j)).filter(|(_, x)| **x > 0.0) {
                idx.splice(ptr[j]..ptr[j], [i, i]);
                val.splice(ptr[j]..ptr[j], [0.5 * x, 0.5 * x]);
            }
            idx.push(7);
            val.push(0.0);
            ptr.push(idx.len());
        }
        Sparse::new(40, 70, Order::Columns, ptr, idx, val).unwrap()
    };
    assert_eq!(untidy, by_columns);
    let rows = v.transpose();
    let row_major = Matrix::dense(40, 70, Order::Rows, rows.as_slice()).unwrap();
    for solver in both() {
        let settings = Settings { max_iter: 20, ..settings_of(solver) };
        let first = run(&by_columns, &settings);
        let other = run(&by_rows, &settings);
        assert_eq!((&first.w, &first.h), (&other.w, &other.h), "{solver:?}");
        let (a, b) = (run(&v, &settings), run(row_major, &settings));
        assert_eq!((a.w, a.h), (b.w, b.h), "{solver:?}");
    }
}

#[test]
fn explicit_zeros_in_a_borrowed_matrix_are_harmless() {
    let (ptr, idx, val) = ([0, 2, 4], [0, 1, 0, 1], [1.0, 0.0, 2.0, 5.0]);
    let borrowed = Matrix::sparse(2, 2, Order::Columns, &ptr, &idx, &val).unwrap();
    let clean = Mat::from_rows(&[&[1.0, 2.0], &[0.0, 5.0]]);
    let settings = Settings { max_iter: 20, tol: 0.0, ..Settings::default() };
    let (a, b) = (factorize(borrowed, 1, &settings).unwrap(), factorize(&clean, 1, &settings).unwrap());
    assert!(close(a.info.divergence, b.info.divergence, 1e-10));
}

#[test]
fn thread_count_does_not_change_a_bit() {
    let v = Random(2).counts(60, 300, 0.6, 9.0);
    let stored = sparse(&v);
    for solver in Solver::ALL {
        let with = |threads| Settings { threads, max_iter: 30, ..settings_of(solver) };
        let same = |a: Solution<f64>, b: Solution<f64>| {
            assert_eq!((&a.w, &a.h), (&b.w, &b.h), "{solver:?}");
            assert_eq!(
                (a.info.divergence, a.info.gap_w, a.info.gap_h),
                (b.info.divergence, b.info.gap_w, b.info.gap_h)
            );
        };
        for threads in [2, 3, 5] {
            same(run(&v, &with(1)), run(&v, &with(threads)));
            if !solver.spec().dense_only {
                same(run(&stored, &with(1)), run(&stored, &with(threads)));
            }
        }
    }
}

#[test]
fn precisions_agree() {
    let v = example();
    for solver in Solver::ALL {
        let settings = Settings { max_iter: 40, tol: 0.0, ..settings_of(solver) };
        let (w, h) = init(&v, 5, &Settings { seed: 9, ..Settings::default() }).unwrap();
        let start = (w.cast::<f32>(), h.cast::<f32>());
        let double = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
        let single =
            factorize_from(&v.cast::<f32>(), start.0, start.1, &settings, |_| ControlFlow::Continue(()))
                .unwrap();
        assert!(close(double.info.divergence, single.info.divergence, 2e-3), "{solver:?}");
        let (w, h) = (single.w.cast::<f64>(), single.h.cast::<f64>());
        assert!(
            close(naive_divergence(&v, &w, &h), single.info.divergence, 1e-10),
            "certificates are in f64"
        );
    }
}

#[test]
fn reported_numbers_are_recomputed() {
    let v = example();
    // The paper's programs report another divergence.
    for solver in solvers(|spec| spec.epsilon == 0.0) {
        let found = run(&v, &Settings { max_iter: 35, ..settings_of(solver) });
        let divergence = naive_divergence(&v, &found.w, &found.h);
        if !divergence.is_finite() {
            assert!(found.info.divergence.is_infinite() && found.info.gap_h.is_infinite());
            continue;
        }
        assert!(close(found.info.divergence, divergence, 1e-12), "{solver:?}");
        // No gap exceeds the divergence: that of the column if known, for W that of the whole.
        let column = |j: usize| {
            let only = |m: &Mat<f64>| Mat::from_fn(m.rows(), 1, |i, _| m[(i, j)]);
            naive_divergence(&only(&v), &found.w, &only(&found.h))
        };
        let gaps = naive_gaps_h(&v, &found.w, &found.h);
        let gap_h: f64 = gaps.iter().enumerate().map(|(j, gap)| gap.min(column(j))).sum();
        let gaps = naive_gaps_h(&v.transpose(), &found.h.transpose(), &found.w.transpose());
        let gap_w = gaps.iter().sum::<f64>().min(divergence);
        assert!(
            close(found.info.gap_h, gap_h, 1e-9) && close(found.info.gap_w, gap_w, 1e-9),
            "{solver:?} {} {} {} {}",
            found.info.gap_h,
            gap_h,
            found.info.gap_w,
            gap_w
        );
        let again = certificate(&v, &found.w, &found.h, 0).unwrap();
        assert_eq!(again.divergence, found.info.divergence);
        assert_eq!(found.info.sum, v.as_slice().iter().sum::<f64>());
    }
}

#[test]
fn the_divergence_never_increases_where_promised() {
    let steady = solvers(|spec| spec.never_rises);
    for seed in 0..5 {
        let v = Random(70 + seed).counts(30, 50, 0.3, 100.0);
        for (solver, mixed) in steady.iter().map(|s| (*s, None)).chain([(Solver::Auto, Some(false))]) {
            let settings = Settings {
                mixed,
                max_iter: 100,
                tol: 0.0,
                check_every: Some(1),
                seed,
                ..settings_of(solver)
            };
            let (w, h) = init(&v, 7, &Settings { seed, ..Settings::default() }).unwrap();
            let mut last = f64::INFINITY;
            factorize_from(&v, w, h, &settings, |info| {
                // The early iterations of auto run in f32.
                let single = solver == Solver::Auto && mixed.is_none();
                let rounding = if single { 1e-7 * info.sum } else { 1e-12 * last };
                assert!(info.divergence <= last + rounding, "{solver:?}: {last} to {}", info.divergence);
                last = info.divergence;
                ControlFlow::Continue(())
            })
            .unwrap();
        }
    }
}

#[test]
fn atoms_sum_to_one_and_the_model_to_the_data() {
    let v = example();
    let found = run(&v, &Settings { max_iter: 400, ..Settings::default() });
    assert!(found.w.col_sums().iter().all(|s| (s - 1.0).abs() < 1e-12));
    let model: f64 = found.h.as_slice().iter().sum();
    assert!(close(model, v.as_slice().iter().sum(), 1e-6), "at a stationary point ΣWH = ΣV");
}

#[test]
fn growing_keeps_the_divergence_and_solvers_use_the_new_atoms() {
    let v = Random(3).matrix(30, 60, 0.0, 50.0);
    let small = factorize(&v, 3, &Settings { max_iter: 300, ..Settings::default() }).unwrap();
    let (w, h) = grow(&small.w, &small.h, 6, 1).unwrap();
    assert_eq!((w.cols(), h.rows()), (6, 6));
    let grown = certificate(&v, &w, &h, 0).unwrap().divergence;
    assert!(close(grown, small.info.divergence, 1e-13));
    let go_on = |solver| {
        let settings = Settings { max_iter: 200, tol: 0.0, ..settings_of(solver) };
        factorize_from(&v, w.clone(), h.clone(), &settings, |_| ControlFlow::Continue(())).unwrap()
    };
    for solver in [Solver::Auto, Solver::Fpa, Solver::Newton] {
        let more = go_on(solver);
        assert!(more.info.divergence < 0.9 * grown, "{solver:?} {} from {grown}", more.info.divergence);
        assert!((3..6).all(|k| more.w.col(k).iter().any(|x| *x > 0.0)), "{solver:?} does not leave zero");
    }
    let mu = go_on(Solver::Mu);
    assert!((3..6).all(|k| mu.w.col(k).iter().all(|x| *x == 0.0)), "mu must not leave zero");
    assert!(mu.info.divergence > 0.99 * grown);
}

#[test]
fn a_solution_is_a_start() {
    let v = example();
    let first = run(&v, &Settings { max_iter: 60, ..Settings::default() });
    let settings = Settings { max_iter: 60, tol: 0.0, ..Settings::default() };
    let mut begin = None;
    let more = factorize_from(&v, first.w.clone(), first.h.clone(), &settings, |info| {
        begin.get_or_insert(info.divergence);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(begin, Some(first.info.divergence));
    assert!(more.info.divergence <= first.info.divergence);
}

#[test]
fn nndsvd_starts_better_than_chance() {
    let v = crate::common::product(&Random(5).matrix(50, 4, 0.0, 1.0), &Random(6).matrix(4, 80, 0.0, 9.0));
    let how = |init| Settings { init, ..Settings::default() };
    let divergence = |init_by| {
        let (w, h) = init(&v, 4, &how(init_by)).unwrap();
        let model: f64 = w.col_sums().iter().zip(h.row_sums()).map(|(w, h)| w * h).sum();
        assert!(close(model, v.as_slice().iter().sum(), 1e-9), "ΣWH = ΣV");
        assert!(w.as_slice().iter().chain(h.as_slice()).all(|x| *x > 0.0), "no zeros, so that mu can move");
        certificate(&v, &w, &h, 0).unwrap().divergence
    };
    assert!(divergence(Init::Nndsvd) < 0.8 * divergence(Init::Random));
    let (dense, stored) =
        (init(&v, 4, &how(Init::Nndsvd)).unwrap(), init(&sparse(&v), 4, &how(Init::Nndsvd)).unwrap());
    assert!(dense.0.as_slice().iter().zip(stored.0.as_slice()).all(|(a, b)| close(*a, *b, 1e-6)));
    let stopped = Settings { stop: Some(Arc::new(AtomicBool::new(true))), ..how(Init::Nndsvd) };
    let sooner = init(&v, 4, &stopped).unwrap();
    assert_ne!(sooner.0.as_slice(), dense.0.as_slice(), "one step towards the singular vectors, not four");
    assert!(sooner.0.as_slice().iter().all(|x| *x > 0.0));
}

#[test]
fn seeds_matter_and_repeat() {
    let v = example();
    let start = |seed| init(&v, 3, &Settings { seed, ..Settings::default() }).unwrap();
    assert_eq!(start(1), start(1));
    assert_ne!(start(1), start(2));
    // The random stream is part of the contract: later versions must reproduce a model.
    let (w, _) = init(&Mat::from_rows(&[&[1.0]]), 1, &Settings { seed: 42, ..Settings::default() }).unwrap();
    assert!(close(w[(0, 0)], PINNED, 1e-15), "{:?}", w[(0, 0)]);
}

const PINNED: f64 = 0.6049857738509998;

#[test]
fn converged_results_are_within_the_tolerance() {
    for seed in 0..5 {
        let v = Random(90 + seed).counts(25, 40, 0.2, 60.0);
        for solver in both() {
            for tol in [1e-2, 1e-3, 1e-4] {
                let settings = Settings { tol, seed, ..settings_of(solver) };
                let found = factorize(&v, 4, &settings).unwrap();
                let gap = found.info.relative_gap();
                assert!(found.status != klnmf::Status::Converged || gap <= tol, "{solver:?} {tol} {gap}");
            }
        }
    }
}

/// The current iterate of a method may be worse than its last report, and must then not be returned.
#[test]
fn the_result_is_no_worse_than_the_last_report() {
    for seed in 0..8 {
        let v = Random(70 + seed).counts(20, 30, 0.3, 40.0);
        for solver in both() {
            for max_iter in 1..30 {
                let settings = Settings { seed, max_iter, tol: 0.0, ..settings_of(solver) };
                let (w, h) = init(&v, 5, &settings).unwrap();
                let mut shown = f64::INFINITY;
                let found = klnmf::factorize_from(&v, w, h, &settings, |info| {
                    shown = info.divergence;
                    std::ops::ControlFlow::Continue(())
                });
                let found = found.unwrap().info.divergence;
                assert!(found <= shown * (1.0 + 1e-12), "{solver:?} {seed} {max_iter}: {found} {shown}");
            }
        }
    }
}

#[test]
fn an_nndsvd_start_scales_with_the_data() {
    let v = Random(5).counts(20, 30, 0.3, 50.0);
    let settings = Settings { init: Init::Nndsvd, ..Settings::default() };
    let (w, h) = init(&v, 4, &settings).unwrap();
    // Beyond about ±512 the squares of the entries overflow or underflow.
    for exponent in [-600, 600] {
        let scaled = Mat::from_fn(20, 30, |i, j| v[(i, j)] * 2f64.powi(exponent));
        let (scaled_w, scaled_h) = init(&scaled, 4, &settings).unwrap();
        let root = 2f64.powi(exponent / 2);
        for (one, other) in [(&w, &scaled_w), (&h, &scaled_h)] {
            for (x, y) in one.as_slice().iter().zip(other.as_slice()) {
                assert!((x * root - y).abs() <= 1e-9 * x * root, "2^{exponent}: {} and {y}", x * root);
            }
        }
    }
}
