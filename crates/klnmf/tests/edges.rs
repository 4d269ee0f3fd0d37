//! Zeros, tiny shapes and invalid input give a defined answer or a typed error, never a panic.

use crate::common::{Random, alone, settings_of, solvers};
use klnmf::{
    DecomposeSettings, Entry, Error, Mat, Order, Settings, Solver, Sparse, Status, decompose, factorize,
    factorize_from, grow, init,
};
use std::ops::ControlFlow;
use std::time::Duration;

fn fails(v: &Mat<f64>) -> Error {
    let error = factorize(v, 1, &Settings::default()).unwrap_err();
    assert!(!error.to_string().contains('\n'));
    error
}

#[test]
fn bad_entries_are_named() {
    let v = |x: f64| Mat::from_rows(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, x]]);
    assert_eq!(fails(&v(-1.0)), Error::Negative(Entry { row: 1, col: 2, value: -1.0 }));
    assert!(matches!(fails(&v(f64::NAN)), Error::NotFinite(Entry { row: 1, col: 2, .. })));
    assert!(matches!(fails(&v(f64::INFINITY)), Error::NotFinite(Entry { row: 1, col: 2, .. })));
    let stored = Sparse::new(2, 3, Order::Rows, vec![0, 1, 2], vec![0, 2], vec![1.0, -3.0]).unwrap();
    let error = factorize(&stored, 1, &Settings::default()).unwrap_err();
    assert_eq!(error, Error::Negative(Entry { row: 1, col: 2, value: -3.0 }));
}

#[test]
fn bad_shapes_and_settings_are_errors() {
    let v = Random(1).matrix(4, 5, 0.0, 1.0);
    assert_eq!(fails(&Mat::zeros(0, 3)), Error::Empty { rows: 0, cols: 3 });
    assert_eq!(fails(&Mat::zeros(3, 0)), Error::Empty { rows: 3, cols: 0 });
    for rank in [0, 21, 1_000_000_000, usize::MAX] {
        assert_eq!(factorize(&v, rank, &Settings::default()), Err(Error::Rank { rank, max: 20 }));
    }
    let go = |_: &klnmf::Info| ControlFlow::Continue(());
    let (w, h) = init(&v, 2, &Settings { seed: 0, ..Settings::default() }).unwrap();
    let shape = factorize_from(&v, h.clone(), w.clone(), &Settings::default(), go);
    assert!(matches!(shape, Err(Error::Shape(_))));
    let negative = Mat::from_fn(4, 2, |i, k| if (i, k) == (3, 1) { -1.0 } else { 1.0 });
    let bad = factorize_from(&v, negative, h.clone(), &Settings::default(), go);
    assert_eq!(bad, Err(Error::BadFactor { name: "W", entry: Entry { row: 3, col: 1, value: -1.0 } }));
    for settings in [
        Settings { tol: -1.0, ..Settings::default() },
        Settings { tol: f64::NAN, ..Settings::default() },
        Settings { inner: Some(0), ..Settings::default() },
        Settings { check_every: Some(0), ..Settings::default() },
        Settings { rho: Some(0.0), ..Settings::default() },
        Settings { rho: Some(f64::NAN), ..Settings::default() },
    ] {
        assert!(matches!(factorize(&v, 2, &settings), Err(Error::Setting { .. })), "{settings:?}");
    }
    let small = DecomposeSettings { tol: f64::INFINITY, ..DecomposeSettings::default() };
    assert!(matches!(decompose(&v, &w, &small), Err(Error::Setting { .. })));
    assert!(matches!(decompose(&v, &h, &DecomposeSettings::default()), Err(Error::Shape(_))));
    assert!(matches!(grow(&w, &h, 1, 0), Err(Error::Setting { .. })));
    assert!(matches!(Mat::<f64>::try_zeros(1 << 40, 1 << 40), Err(Error::TooLarge { .. })));
    assert!(Sparse::new(2, 2, Order::Rows, vec![0, 1, 1], vec![2], vec![1.0]).is_err());
    assert!(Sparse::new(2, 2, Order::Rows, vec![0, 2, 1], vec![0], vec![1.0]).is_err());
}

/// The message recognises factors that are swapped or belong to the transpose, and no others.
#[test]
fn the_usual_mistakes_with_shapes_are_recognised() {
    let (v, zeros) = (Mat::from_fn(4, 5, |_, _| 1.0), Mat::<f64>::zeros);
    let says = |w: (usize, usize), h: (usize, usize)| {
        klnmf::check_factors(&v, &zeros(w.0, w.1), &zeros(h.0, h.1)).unwrap_err().to_string()
    };
    assert!(says((2, 5), (4, 2)).ends_with("they seem to be swapped, W comes first"));
    assert!(says((5, 2), (2, 4)).ends_with("they fit the transpose of V"));
    for (w, h) in [
        ((4, 2), (4, 5)),
        ((4, 5), (2, 5)),
        ((5, 2), (2, 5)),
        ((4, 2), (2, 4)),
        ((4, 0), (0, 5)),
        ((4, 2), (3, 5)),
    ] {
        let said = says(w, h);
        assert!(said.ends_with(&format!("W is {} × {} and H is {} × {}", w.0, w.1, h.0, h.1)), "{said}");
    }
}

/// The error names the entry that the start does not explain, not one that it explains badly or need not.
#[test]
fn a_start_that_explains_nothing_is_named() {
    let v = Mat::from_rows(&[&[3.0, 1.0, 2.0], &[4.0, 0.0, 0.5]]);
    let (w, h) =
        (Mat::from_rows(&[&[0.5, 0.0], &[0.0, 1.0]]), Mat::from_rows(&[&[0.5; 3], &[1.0, 0.0, 0.0]]));
    let entry = Entry { row: 1, col: 2, value: 0.5 };
    for v in [klnmf::Matrix::from(&v), (&crate::common::sparse(&v)).into()] {
        let found =
            factorize_from(v, w.clone(), h.clone(), &Settings::default(), |_| ControlFlow::Continue(()));
        assert_eq!(found, Err(Error::InfiniteStart(entry)));
    }
}

/// An empty column has the optimum 0, which is also its dual value. An empty row that W does not explain
/// either adds nothing.
#[test]
fn empty_lines_add_nothing_to_the_dual_value() {
    let w = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0], &[0.0, 0.0]]);
    let v = Mat::from_rows(&[&[2.0, 0.0, 1.0], &[4.0, 0.0, 2.0], &[3.0, 0.0, 5.0], &[0.0; 3]]);
    for solver in [Solver::FpaAuthors, Solver::FpaPrinted] {
        let settings = Settings { update: klnmf::Update::H, max_iter: 2000, tol: 0.0, ..settings_of(solver) };
        let h = Mat::from_fn(2, 3, |_, _| 1.0);
        let info = factorize_from(&v, w.clone(), h, &settings, |_| ControlFlow::Continue(())).unwrap().info;
        assert!((info.divergence - info.dual.unwrap()).abs() < 1e-3, "{solver}: {info:?}");
    }
}

#[test]
fn entries_that_a_dictionary_cannot_explain_are_named() {
    let v = Mat::from_rows(&[&[0.0, 1.0], &[0.0, 2.0]]);
    let w = Mat::from_rows(&[&[1.0], &[0.0]]);
    let error = decompose(&v, &w, &DecomposeSettings::default()).unwrap_err();
    assert_eq!(error, Error::ZeroRow(Entry { row: 1, col: 1, value: 2.0 }));
    let h = Mat::from_rows(&[&[1.0, 1.0]]);
    let error = factorize_from(&v, w, h, &Settings::default(), |_| ControlFlow::Continue(())).unwrap_err();
    assert_eq!(error, Error::InfiniteStart(Entry { row: 1, col: 1, value: 2.0 }));
}

#[test]
fn dense_methods_refuse_sparse_data() {
    let v = Sparse::from_dense(&Random(2).counts(5, 6, 0.5, 3.0));
    for solver in Solver::ALL {
        let found = factorize(&v, 2, &Settings { max_iter: 2, ..settings_of(solver) });
        if solver.spec().dense_only {
            assert_eq!(found, Err(Error::NeedsDense(solver.name())));
        } else {
            assert!(found.is_ok(), "{solver}: {found:?}");
        }
    }
}

#[test]
fn all_zero_data_has_a_model() {
    for solver in Solver::ALL {
        let settings = settings_of(solver);
        let found = factorize(&Mat::<f64>::zeros(3, 4), 2, &settings).unwrap();
        assert_eq!(
            (found.info.divergence, found.info.gap_w, found.info.gap_h),
            (0.0, 0.0, 0.0),
            "{solver:?}"
        );
        assert!(found.h.as_slice().iter().all(|x| *x == 0.0));
    }
}

#[test]
fn empty_rows_and_columns_become_zero() {
    let mut v = Random(3).counts(6, 8, 0.2, 9.0);
    (0..8).for_each(|j| v[(2, j)] = 0.0);
    v.col_mut(5).fill(0.0);
    for solver in solvers(|spec| !spec.dense_only) {
        for stored in [false, true] {
            let settings = Settings { max_iter: 20, ..settings_of(solver) };
            let found = if stored {
                factorize(&Sparse::from_dense(&v), 3, &settings).unwrap()
            } else {
                factorize(&v, 3, &settings).unwrap()
            };
            assert!((0..3).all(|k| found.w[(2, k)] == 0.0), "{solver:?}");
            assert!(found.h.col(5).iter().all(|x| *x == 0.0), "{solver:?}");
            assert!(found.info.divergence.is_finite() && found.info.relative_gap().is_finite());
        }
    }
}

#[test]
fn one_by_one_is_exact() {
    for solver in Solver::ALL {
        let settings = Settings { max_iter: 2000, ..settings_of(solver) };
        let found = factorize(&Mat::<f64>::from_rows(&[&[3.0]]), 1, &settings).unwrap();
        assert!((found.w[(0, 0)] * found.h[(0, 0)] - 3.0).abs() < 0.1, "{solver:?}");
        assert!(found.info.divergence < 1e-2, "{solver:?}");
    }
}

#[test]
fn rank_one_is_the_outer_product_of_the_margins() {
    let v = Random(4).counts(7, 9, 0.3, 20.0);
    let total: f64 = v.as_slice().iter().sum();
    let found = factorize(&v, 1, &Settings { tol: 1e-10, ..Settings::default() }).unwrap();
    for (i, sum) in v.row_sums().into_iter().enumerate() {
        assert!((found.w[(i, 0)] - sum / total).abs() < 1e-6);
    }
    assert_eq!(found.status, Status::Converged);
}

#[test]
fn more_atoms_than_rows_and_columns_fit_exactly() {
    let v = Random(5).matrix(4, 5, 0.5, 9.0);
    let found = factorize(&v, 8, &Settings { max_iter: 5000, tol: 1e-7, ..Settings::default() }).unwrap();
    assert!(found.info.divergence < 1e-3, "{}", found.info.divergence);
}

#[test]
fn extreme_scales_stay_finite() {
    for scale in [1e-290, 1e-100, 1e100, 1e290] {
        let v = Mat::from_fn(6, 7, |i, j| scale * (1 + (i * j) % 5) as f64);
        for solver in solvers(|spec| !spec.dense_only) {
            let found = factorize(&v, 2, &Settings { max_iter: 50, ..settings_of(solver) }).unwrap();
            let relative = found.info.divergence / found.info.sum;
            assert!(relative.is_finite() && relative < 0.1, "{solver:?} at {scale:e}: {relative}");
        }
    }
    let mixed =
        Mat::from_fn(6, 7, |i, j| if (i + j) % 3 == 0 { 0.0 } else { 10f64.powi((i * j) as i32 - 12) });
    for solver in Solver::ALL {
        let found = factorize(&mixed, 3, &Settings { max_iter: 50, ..settings_of(solver) }).unwrap();
        assert!(found.w.as_slice().iter().chain(found.h.as_slice()).all(|x| x.is_finite()), "{solver:?}");
    }
}

#[test]
fn overflow_is_an_error_or_infinite_but_never_a_certificate() {
    let huge = Mat::from_rows(&[&[1e308, 1e308], &[1e308, 1e308]]);
    assert_eq!(factorize(&huge, 1, &Settings::default()), Err(Error::SumOverflow));
    let (ones, settings) = (Mat::from_rows(&[&[1.0, 0.5], &[1.0, 2.0]]), DecomposeSettings::default());
    assert_eq!(decompose(&huge, &ones, &settings).unwrap_err(), Error::SumOverflow);
    assert_eq!(decompose(&ones, &huge, &settings).unwrap_err(), Error::FactorOverflow("W"));
    let (v, w, h) = (Mat::from_rows(&[&[1.0]]), Mat::from_rows(&[&[1e200]]), Mat::from_rows(&[&[1e200]]));
    let known = klnmf::certificate(&v, &w, &h, 0).unwrap();
    assert!(known.divergence.is_infinite() && known.gap_w.is_infinite() && known.gap_h.is_infinite());
    let (v, w) = (Mat::from_rows(&[&[1e10f32]]), Mat::from_rows(&[&[1e-30f32]]));
    assert_eq!(decompose(&v, &w, &DecomposeSettings::default()).unwrap_err(), Error::Overflow("f32"));
    let v = Mat::from_rows(&[&[1e38f32, 2e38], &[3e38, 1e38]]);
    // The paper's programs are not meant for such data, and report a finite divergence.
    for solver in solvers(|spec| spec.epsilon == 0.0) {
        match factorize(&v, 1, &settings_of(solver)) {
            Err(error) => assert_eq!(error, Error::Overflow("f32")),
            Ok(found) => {
                assert!(found.info.divergence < 1e39 && found.h.as_slice().iter().all(|x| x.is_finite()))
            }
        }
    }
    let (v, w, h) = (Mat::from_rows(&[&[1e300]]), Mat::from_rows(&[&[1e-150]]), Mat::from_rows(&[&[1e-150]]));
    let known = klnmf::certificate(&v, &w, &h, 0).unwrap();
    assert!(known.divergence > 1.38e303, "{}", known.divergence);
}

#[test]
fn tiny_factors_are_normalised_without_overflow() {
    let v = Mat::from_rows(&[&[1.0f32, 2.0], &[3.0, 4.0]]);
    let w = Mat::from_rows(&[&[1.0f32, 1e-40], &[1.0, 0.0]]);
    let h = Mat::from_rows(&[&[1.0f32, 1.0], &[1.0, 1.0]]);
    let settings = Settings { max_iter: 0, ..Settings::default() };
    let found = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
    assert!(found.w.as_slice().iter().chain(found.h.as_slice()).all(|x| x.is_finite()));
    assert!((found.w.col_sums()[1] - 1.0).abs() < 1e-3);
}

#[test]
fn monstrous_shapes_are_errors() {
    use klnmf::Matrix;
    for most in [usize::MAX, 1 << 32] {
        let text = format!("a sparse matrix has at most 4294967295 rows and columns, not 1 × {most}");
        let view = Matrix::<f64>::sparse(1, most, Order::Columns, &[], &[], &[]);
        assert!(matches!(view, Err(Error::Shape(why)) if why == text));
        let none: Result<Sparse<f64>, Error> = Sparse::from_triplets(1, most, Order::Columns, |_| Ok(()));
        assert!(matches!(none, Err(Error::Shape(why)) if why == text));
    }
}

#[test]
fn entries_that_change_are_errors() {
    let first = [(0, 0), (1, 1)];
    for second in [&[(0, 0)][..], &[(0, 0), (0, 1)], &[(0, 0), (1, 1), (1, 1)], &[(5, 5)]] {
        let mut passes = [&first[..], second].into_iter();
        let made: Result<Sparse<f64>, Error> = Sparse::from_triplets(2, 2, Order::Rows, |put| {
            passes.next().unwrap_or_default().iter().try_for_each(|&(i, j)| put(i, j, 1.0))
        });
        assert!(made.is_err(), "{second:?}");
    }
    // As many entries in all, and pointers that still increase, but an entry in another row.
    let mut passes = [[0, 0, 1, 2], [0, 1, 1, 2]].into_iter();
    let made: Result<Sparse<f64>, Error> = Sparse::from_triplets(3, 4, Order::Rows, |put| {
        passes.next().unwrap().iter().enumerate().try_for_each(|(j, i)| put(*i, j, 1.0))
    });
    assert!(made.is_err());
}

#[test]
fn decompositions_stop_on_request() {
    let (v, w) = (Random(7).counts(200, 300, 0.2, 99.0), Random(8).matrix(200, 20, 0.0, 1.0));
    for tol in [0.0, 1e-300] {
        let endless = DecomposeSettings { tol, max_iter: usize::MAX, ..DecomposeSettings::default() };
        let limit = Some(Duration::from_millis(50));
        let timed = decompose(&v, &w, &DecomposeSettings { time_limit: limit, ..endless.clone() }).unwrap();
        assert_eq!(timed.status, Status::TimeLimit);
        assert!(timed.columns.iter().all(|c| c.gap.is_finite()));
        let stop = Some(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)));
        let stopped = decompose(&v, &w, &DecomposeSettings { stop, ..endless }).unwrap();
        assert_eq!(stopped.status, Status::Stopped);
        assert!(stopped.columns.iter().all(|c| c.iterations == 0));
    }
}

#[test]
fn progress_may_use_threads_of_its_own() {
    use rayon::prelude::*;
    let (v, w) = (Random(9).counts(30, 400, 0.2, 99.0), Random(10).matrix(30, 4, 0.0, 1.0));
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let settings = DecomposeSettings { threads: 4, ..DecomposeSettings::default() };
    let decomposer = klnmf::Decomposer::new(&w, settings.threads).unwrap();
    let progress = |done| {
        let sum: usize = (0..1000usize).into_par_iter().sum();
        assert_eq!(sum, 499_500);
        seen.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
    };
    decomposer.decompose_with(&v, &settings, &progress).unwrap();
    assert_eq!(seen.into_inner(), 400);
}

#[test]
fn limits_are_statuses() {
    let v = Random(6).counts(20, 30, 0.3, 9.0);
    let run = |settings: Settings, stop: bool| {
        let (w, h) = init(&v, 4, &Settings { seed: 0, ..Settings::default() }).unwrap();
        let go = move |_: &klnmf::Info| if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        factorize_from(&v, w, h, &settings, go).unwrap()
    };
    let limit = run(Settings { max_iter: 7, tol: 0.0, ..Settings::default() }, false);
    assert_eq!((limit.status, limit.info.iteration), (Status::IterationLimit, 7));
    let time = Some(Duration::from_millis(30));
    let timed =
        run(Settings { max_iter: usize::MAX, tol: 0.0, time_limit: time, ..Settings::default() }, false);
    assert_eq!(timed.status, Status::TimeLimit);
    assert!(timed.info.seconds < 1.0);
    assert_eq!(run(Settings::default(), true).status, Status::Stopped);
    assert_eq!(run(Settings { tol: 0.5, ..Settings::default() }, false).status, Status::Converged);
}

/// An unknown level is an error that says what to do.
#[test]
fn an_unknown_level_is_an_error() {
    if alone("edges::an_unknown_level_is_an_error", ("KLNMF_LEVEL", "sse9")) {
        let error = factorize(&Mat::from_rows(&[&[1.0]]), 1, &Settings::default()).unwrap_err().to_string();
        assert_eq!(error, "KLNMF_LEVEL = sse9: must be plain, avx2 or avx512");
    }
}

/// Inside a rayon pool, that pool does the work, whatever `threads` is, with the same bits.
#[test]
fn an_existing_pool_is_used() {
    // Runs in a process of its own, so that no other test starts threads.
    if !alone("edges::an_existing_pool_is_used", ("KLNMF_THREADS", "")) {
        return;
    }
    let v = Random(3).counts(40, 300, 0.4, 9.0);
    let settings = Settings { max_iter: 12, threads: 1, ..Settings::default() };
    let alone = factorize(&v, 4, &settings).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let workers = || std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count());
    pool.install(|| {
        let before = workers();
        let settings = Settings { threads: 7, ..settings.clone() };
        let problem = klnmf::Problem::new(&v, settings.threads).unwrap();
        let (w, h) = problem.init(4, &settings).unwrap();
        let run = problem.run(w, h, &settings).unwrap().sort_from(0);
        let there = run.to_end(|_| {
            assert!(workers() <= before, "new threads were started");
            std::ops::ControlFlow::Continue(())
        });
        let there = there.unwrap();
        assert_eq!((&there.w, &there.h), (&alone.w, &alone.h));
    });
}

/// The factor to the best ray overflows in f32, but the weight does not.
#[test]
fn a_far_away_start_in_single_precision_is_no_overflow() {
    let [v, w, h] = [1e20f32, 1e-15, 1e-10].map(|x| Mat::from_rows(&[&[x]]));
    let settings =
        Settings { solver: Solver::Fpa, update: klnmf::Update::H, max_iter: 5, ..Settings::default() };
    let found = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
    assert!((found.h[(0, 0)] / 1e35 - 1.0).abs() < 1e-5, "{}", found.h[(0, 0)]);
}

/// No rank is too small or too large for the bound, which is computed before the rank is checked.
#[test]
fn memory_of_any_rank() {
    let v = Mat::<f64>::zeros(3, 4);
    assert!(klnmf::memory(&v, 0, 1).total() < klnmf::memory(&v, 2, 1).total());
    for rank in [1_000_000_000_000_000_000, usize::MAX] {
        let memory = klnmf::memory(&v, rank, 1);
        assert!(memory.total() > 1 << 60 && memory.beyond(klnmf::Solver::Stream) > 1 << 60);
    }
}

/// Extreme numbers are told with an exponent, others as they are.
#[test]
fn entries_are_told_in_few_digits() {
    let told = |value| Entry { row: 0, col: 1, value }.to_string();
    assert_eq!([told(-1e-300), told(1e20)], ["[0, 1] = -1e-300", "[0, 1] = 1e20"]);
    assert_eq!([told(-4.0), told(0.0), told(f64::NAN)], ["[0, 1] = -4", "[0, 1] = 0", "[0, 1] = NaN"]);
    assert!(Error::Overflow("f32").to_string().ends_with("or compute in f64"));
    assert!(Error::Overflow("f64").to_string().ends_with("by a constant"));
}
