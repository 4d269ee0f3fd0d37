//! Every solver matches its row in the table.

use crate::common::{Random, settings_of};
use klnmf::{
    Error, Mat, Precision, Problem, Settings, Solution, Solver, Update, factorize, factorize_from, init,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

#[test]
fn names_are_read_as_they_are_written() {
    let names: HashSet<&str> = Solver::ALL.into_iter().map(Solver::name).collect();
    assert_eq!(names.len(), Solver::ALL.len());
    for solver in Solver::ALL {
        assert_eq!(solver.to_string(), solver.name());
        assert_eq!(solver.name(), solver.spec().name);
        assert_eq!(solver.name().parse(), Ok(solver));
        assert_eq!(format!("{solver:<15}|"), format!("{:<15}|", solver.name()), "names are padded");
    }
    assert_eq!(Solver::ALL[0], Solver::default());
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    for name in ["", "Auto", "cd", "auto ", "paper"] {
        let error = name.parse::<Solver>().unwrap_err();
        assert!(matches!(&error, Error::UnknownSolver(asked) if asked == name), "{error:?}");
        let message = error.to_string();
        assert!(Solver::ALL.iter().all(|solver| message.contains(solver.name())), "{message}");
    }
}

#[test]
fn help_is_one_plain_sentence() {
    for solver in Solver::ALL {
        let help = solver.spec().help;
        assert!(help.len() > 20 && help.chars().count() <= 140, "{solver}: {help}");
        assert!(
            !help.ends_with('.') && !help.contains(". ") && !help.contains(['`', '\n']),
            "{solver}: {help}"
        );
    }
}

#[test]
fn a_round_has_as_many_steps_as_the_table_says() {
    let v = Random(1).counts(12, 15, 0.2, 9.0);
    for solver in Solver::ALL {
        let settings = Settings { max_iter: 10, tol: 0.0, check_every: Some(1), ..settings_of(solver) };
        let (w, h) = init(&v, 3, &settings).unwrap();
        let mut seen = Vec::new();
        factorize_from(&v, w, h, &settings, |info| {
            seen.push(info.iteration);
            ControlFlow::Continue(())
        })
        .unwrap();
        let expected: Vec<usize> = (0..=10).step_by(solver.spec().inner).collect();
        assert_eq!(seen, expected, "{solver}");
    }
}

/// The first step of `mue` has no history, and `fpa` begins with ten multiplicative updates.
#[test]
fn other_methods_begin_like_mu() {
    let v = Random(2).counts(12, 15, 0.2, 9.0);
    let of = |solver, update, max_iter| {
        let settings = Settings { solver, update, max_iter, inner: Some(1), tol: 0.0, ..Settings::default() };
        let found = factorize(&v, 3, &settings).unwrap();
        (found.w, found.h)
    };
    assert_eq!(of(Solver::Mue, Update::H, 1), of(Solver::Mu, Update::H, 1));
    for solver in [Solver::Fpa, Solver::Simplex] {
        assert_eq!(of(solver, Update::Both, 10), of(Solver::Mu, Update::Both, 10));
        assert_ne!(of(solver, Update::Both, 11), of(Solver::Mu, Update::Both, 11));
    }
}

/// Starts from an H with zeros that a better H would not have.
#[test]
fn zeros_stay_where_the_table_says_so() {
    let (w, h) = (Random(2).matrix(12, 3, 0.1, 3.0), Random(3).matrix(3, 15, 0.5, 3.0));
    let v = crate::common::product(&w, &h);
    let zero = |_: usize, j: usize| j.is_multiple_of(2);
    for solver in Solver::ALL {
        let settings = Settings { update: Update::H, max_iter: 50, tol: 0.0, ..settings_of(solver) };
        let start = Mat::from_fn(3, 15, |k, j| if k == 0 && zero(k, j) { 0.0 } else { h[(k, j)] });
        let found = factorize_from(&v, w.clone(), start, &settings, |_| ControlFlow::Continue(())).unwrap();
        let left = (0..15).filter(|j| zero(0, *j)).any(|j| found.h[(0, j)] > 0.0);
        assert_eq!(left, solver.spec().leaves_zero, "{solver}");
    }
}

#[test]
fn the_authors_admm_needs_a_penalty() {
    let v = Random(4).counts(5, 6, 0.2, 9.0);
    let settings = Settings { solver: Solver::AdmmAuthors, ..Settings::default() };
    for error in [settings.validate().unwrap_err(), factorize(&v, 2, &settings).unwrap_err()] {
        assert!(matches!(&error, Error::Setting { name: "rho", value, .. } if value == "none"), "{error:?}");
        assert!(error.to_string().contains("give one, such as 10"), "{error}");
    }
    assert!(factorize(&v, 2, &Settings { rho: Some(2.0), max_iter: 5, ..settings }).is_ok());
}

/// The divergence of 1 at a model of 1e-16, where it matters that the authors add 2.2e-16 inside the
/// logarithm.
#[test]
fn the_papers_divergence_is_reported_for_its_programs() {
    let (v, small) = (Mat::from_rows(&[&[1.0]]), Mat::from_rows(&[&[1e-8]]));
    for solver in Solver::ALL {
        let settings = Settings { max_iter: 0, ..settings_of(solver) };
        let found =
            factorize_from(&v, small.clone(), small.clone(), &settings, |_| ControlFlow::Continue(()))
                .unwrap();
        let expected = -(1e-16 + solver.spec().epsilon).ln() - 1.0;
        assert!((found.info.divergence - expected).abs() < 1e-6, "{solver}: {}", found.info.divergence);
    }
}

#[test]
fn the_reported_precision_is_that_of_the_computation() {
    let v = Random(5).counts(30, 40, 0.3, 20.0);
    let used = |found: klnmf::Result<Solution<f64>>| found.unwrap().info.precision;
    let mixed = Settings { mixed: Some(true), max_iter: 2000, tol: 1e-9, ..Settings::default() };
    assert_eq!(used(factorize(&v, 4, &mixed)), Precision::Mixed);
    assert_eq!(used(factorize(&v, 4, &Settings { mixed: Some(false), ..mixed.clone() })), Precision::F64);
    let single = factorize(&v.cast::<f32>(), 4, &mixed).unwrap();
    assert_eq!(single.info.precision, Precision::F32);

    // Here the library declines f32.
    let tiny = Mat::from_fn(30, 40, |i, j| if i + j == 0 { 1e-30 } else { v[(i, j)] });
    assert_eq!(used(factorize(&tiny, 4, &mixed)), Precision::F64);
    assert_eq!(used(factorize(&v, 4, &Settings { update: Update::H, ..mixed.clone() })), Precision::F64);
    assert_eq!(used(factorize(&v, 4, &Settings { fixed: 1, ..mixed.clone() })), Precision::F64);
    let short = Settings { max_iter: 20, ..mixed };
    for solver in Solver::ALL.into_iter().filter(|solver| !solver.spec().holds_parts) {
        let settings = Settings { solver, rho: Some(10.0), ..short.clone() };
        assert_eq!(used(factorize(&v, 4, &settings)), Precision::F64, "{solver}");
    }
    assert_eq!(
        [Precision::F32, Precision::F64, Precision::Mixed].map(Precision::name),
        ["f32", "f64", "mixed"]
    );
}

/// Sorting concerns the result alone: the parts are the same ones in another order, and so is their way
/// there.
#[test]
fn sorted_parts_are_the_same_parts() {
    let v = Random(5).counts(25, 40, 0.2, 30.0);
    let problem = klnmf::Problem::new(&v, 0).unwrap();
    for solver in Solver::ALL {
        let settings = Settings { max_iter: 60, tol: 0.0, fixed: 0, ..settings_of(solver) };
        let (w, h) = problem.init(6, &settings).unwrap();
        let run = |first: usize| {
            let mut seen = Vec::new();
            let run = problem.run(w.clone(), h.clone(), &settings).unwrap().sort_from(first);
            let found = run.to_end(|info| {
                seen.push((info.divergence, info.gap_w, info.gap_h));
                ControlFlow::Continue(())
            });
            (found.unwrap(), seen)
        };
        let ((plain, way), (sorted, same_way), (some, _)) = (run(6), run(0), run(2));
        assert_eq!(way, same_way, "{solver}");
        let shares = sorted.h.row_sums();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{solver}: {shares:?}");
        assert_eq!(some.w.col(0), plain.w.col(0), "{solver}");
        assert!(some.h.row_sums()[2..].is_sorted_by(|a, b| a >= b), "{solver}");
        for k in 0..6 {
            let old = (0..6).find(|old| plain.w.col(*old) == sorted.w.col(k)).unwrap();
            assert!((0..40).all(|j| plain.h[(old, j)] == sorted.h[(k, j)]), "{solver}");
        }
    }
}

/// The authors' programs carry χ of an empty column, whose steps would divide by zero, to the rows.
#[test]
fn an_empty_column_does_not_disturb_the_rows() {
    let counts = Random(4).counts(8, 10, 0.2, 9.0);
    let v = Mat::from_fn(8, 10, |i, j| if j == 3 { 0.0 } else { counts[(i, j)] });
    for solver in [Solver::FpaAuthors, Solver::FpaPrinted] {
        let settings = |max_iter| Settings { max_iter, tol: 0.0, ..settings_of(solver) };
        let [start, end] = [5, 200].map(|limit| factorize(&v, 2, &settings(limit)).unwrap());
        assert!(end.info.divergence < start.info.divergence, "{solver}: {:?}", end.info);
        assert!(end.h.col(3).iter().all(|h| *h == 0.0));
    }
}

/// `auto` takes two steps on each factor where less than a quarter of V is non-zero, and else one.
#[test]
fn sparse_data_take_their_own_number_of_steps() {
    for (nonzero, steps) in [(3, 2), (4, 1)] {
        let v = Mat::from_fn(4, 4, |i, j| if i == j && i < nonzero { 1.0 } else { 0.0 });
        let (problem, settings) = (Problem::new(&v, 1).unwrap(), Settings::default());
        let (w, h) = problem.init(2, &settings).unwrap();
        let mut run = problem.run(w, h, &settings).unwrap();
        run.advance();
        assert_eq!(run.state().iteration, steps, "{nonzero} of 16");
    }
}
