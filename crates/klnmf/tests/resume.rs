//! A run that is interrupted and resumed gives the same bits as an uninterrupted one.

use crate::common::{Random, sparse};
use klnmf::{Error, Mat, Matrix, Problem, Run, Scalar, Settings, Solution, Solver, State, Update};
use std::ops::ControlFlow;

const ITERATIONS: usize = 37;

fn settings(solver: Solver) -> Settings {
    let rho = matches!(solver, Solver::Admm | Solver::AdmmAuthors).then_some(5.0);
    Settings { solver, rho, max_iter: ITERATIONS, tol: 0.0, threads: 2, ..Settings::default() }
}

fn to_end<T: Scalar>(run: Run<'_, T>) -> Solution<T> {
    run.to_end(|_| ControlFlow::Continue(())).unwrap()
}

/// Interrupts a run after every round and resumes from each of the states.
fn cut_everywhere<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, settings: &Settings) {
    let problem = Problem::new(v, 2).unwrap();
    let (w, h) = problem.init(4, settings).unwrap();
    let whole = to_end(problem.run(w.clone(), h.clone(), settings).unwrap());
    let mut run = problem.run(w, h, settings).unwrap();
    let mut cuts = 0;
    while run.ended().is_none() {
        run.advance();
        cuts += 1;
        // Only every third, because each resumed run takes time.
        if cuts % 3 == 1 {
            let resumed = to_end(problem.resume(&run.state(), settings).unwrap());
            let what = format!("{} cut after round {cuts}", settings.solver);
            assert_eq!(whole.w, resumed.w, "{what}");
            assert_eq!(whole.h, resumed.h, "{what}");
            assert_eq!(whole.info.divergence.to_bits(), resumed.info.divergence.to_bits(), "{what}");
            assert_eq!(
                (whole.status, whole.info.iteration),
                (resumed.status, resumed.info.iteration),
                "{what}"
            );
            assert_eq!(whole.info.precision, resumed.info.precision, "{what}");
        }
    }
    assert!(cuts > 5);
}

#[test]
fn every_solver_resumes_to_the_same_bits() {
    let v = Random(5).counts(30, 45, 0.5, 20.0);
    for solver in Solver::ALL {
        for mixed in [None, Some(false), Some(true)] {
            let settings = Settings { mixed, ..settings(solver) };
            cut_everywhere(&v, &settings);
            if !solver.spec().dense_only {
                cut_everywhere(&sparse(&v), &settings);
            }
        }
        cut_everywhere(&v.cast::<f32>(), &settings(solver));
    }
}

#[test]
fn held_parts_and_fixed_factors_resume_too() {
    let v = Random(6).counts(30, 45, 0.3, 20.0);
    for solver in Solver::ALL {
        for update in [Update::H, Update::W] {
            cut_everywhere(&v, &Settings { update, ..settings(solver) });
        }
        if solver.spec().holds_parts {
            cut_everywhere(&v, &Settings { fixed: 2, ..settings(solver) });
        }
    }
}

/// The tolerance is tested at the same iterations, so a resumed run also ends at the same one.
#[test]
fn a_tolerance_ends_both_at_the_same_iteration() {
    let v = Random(7).counts(25, 40, 0.2, 30.0);
    for solver in [Solver::Auto, Solver::Mue, Solver::Fpa, Solver::Newton] {
        cut_everywhere(&v, &Settings { tol: 2e-3, max_iter: 500, ..settings(solver) });
    }
}

/// A run that reached its limit continues with a higher one as if that had been the limit from the start. The
/// limits just below a multiple of ten are for `auto`: if progress were reported there and again one
/// iteration later, it would leave f32 too early.
#[test]
fn a_higher_limit_continues_a_finished_run() {
    let v = Random(9).counts(30, 45, 0.1, 20.0);
    let problem = Problem::new(&v, 2).unwrap();
    for solver in Solver::ALL.into_iter().filter(|solver| solver.spec().inner == 1) {
        let long = Settings { max_iter: 120, ..settings(solver) };
        let (w, h) = problem.init(4, &long).unwrap();
        let whole = to_end(problem.run(w.clone(), h.clone(), &long).unwrap());
        for limit in [7, 10, 15, 19, 29, 39, 49, 59, 69, 79, 89, 99] {
            let short = Settings { max_iter: limit, ..settings(solver) };
            let mut run = problem.run(w.clone(), h.clone(), &short).unwrap();
            while run.ended().is_none() {
                run.advance();
            }
            let resumed = to_end(problem.resume(&run.state(), &long).unwrap());
            assert!(whole.w == resumed.w && whole.h == resumed.h, "{solver} from {limit}");
        }
    }
}

/// A limit cuts a round short only if it lies inside it. Beyond the limit, rounds are complete.
#[test]
fn a_run_says_whether_its_limit_cuts_a_round() {
    let v = Random(9).counts(20, 30, 0.1, 20.0);
    let problem = Problem::new(&v, 1).unwrap();
    for (max_iter, want) in [
        (10, [(0, false, false), (5, false, false), (10, false, false), (15, false, false)]),
        (7, [(0, false, false), (5, true, false), (7, false, true), (12, false, false)]),
    ] {
        let settings = Settings { max_iter, mixed: Some(false), ..settings(Solver::Fpa) };
        let (w, h) = problem.init(4, &settings).unwrap();
        let mut run = problem.run(w, h, &settings).unwrap();
        for (n, want) in want.into_iter().enumerate() {
            let state = run.state();
            assert_eq!((state.iteration, run.cut().0, run.cut().1), want);
            assert!(state.numbers["with.precision"] == 64.0 && (n == 0) == (state.seconds <= 0.0));
            run.advance();
        }
        let state = run.state();
        run.advance();
        run.reload(&state).unwrap();
        assert_eq!(run.state().arrays, state.arrays);
    }
}

/// ADMM may pass through factors that do not explain V. It goes on from its own copies of them.
#[test]
fn admm_resumes_from_factors_that_explain_nothing() {
    let v = Random(9).counts(20, 30, 0.1, 20.0);
    let (problem, settings) = (Problem::new(&v, 1).unwrap(), settings(Solver::Admm));
    let (w, h) = problem.init(4, &settings).unwrap();
    let mut run = problem.run(w, h, &settings).unwrap();
    run.advance();
    let mut state = run.state();
    state.arrays.insert("h".into(), Mat::zeros(4, 30));
    assert!(problem.resume(&state, &settings).is_ok());
}

#[test]
fn a_state_that_does_not_fit_is_refused() {
    let v = Random(8).counts(10, 12, 0.2, 9.0);
    let (problem, settings) = (Problem::new(&v, 1).unwrap(), settings(Solver::Mue));
    let (w, h) = problem.init(3, &settings).unwrap();
    let mut run = problem.run(w, h, &settings).unwrap();
    run.advance();
    let state = run.state();
    let refused =
        |state: &State, settings: &Settings, what: &str| match problem.resume(state, settings).map(|_| ()) {
            Err(Error::State(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{other:?}"),
        };
    refused(&state, &Settings { solver: Solver::Mu, ..settings.clone() }, "solver mue, not mu");
    refused(&state, &Settings { update: Update::H, ..settings.clone() }, "another update");
    refused(&state, &Settings { mixed: Some(true), ..settings.clone() }, "another mixed precision");
    refused(&state, &Settings { fixed: 1, ..settings.clone() }, "another fixed");
    let narrow = v.cast::<f32>();
    let narrow = Problem::new(&narrow, 1).unwrap();
    assert!(matches!(narrow.resume(&state, &settings), Err(Error::State(why)) if why.contains("precision")));
    let twice = Mat::from_fn(10, 12, |i, j| 2.0 * v[(i, j)]);
    let twice = Problem::new(&twice, 1).unwrap();
    assert!(matches!(twice.resume(&state, &settings), Err(Error::State(why)) if why.contains("sum of V")));
    let mut other = state.clone();
    *other.numbers.get_mut("with.instruction level").unwrap() += 1.0;
    refused(&other, &settings, "instruction level");
    let mut other = state.clone();
    other.numbers.insert("before".into(), 9.0);
    refused(&other, &settings, "not in order");
    let mut other = state.clone();
    other.arrays.insert("h".into(), Mat::from_fn(3, 12, |_, _| -1.0));
    assert!(matches!(problem.resume(&other, &settings), Err(Error::BadFactor { name: "H", .. })));
    let mut other = state.clone();
    other.arrays.insert("y.h".into(), Mat::zeros(3, 11));
    refused(&other, &settings, "y.h is 3 × 11 where 3 × 12 is needed");
    let mut other = state.clone();
    other.arrays.insert("h".into(), Mat::zeros(1 << 40, 0));
    refused(&other, &settings, "no h for this V");
    let mut other = state.clone();
    other.numbers.remove("t");
    refused(&other, &settings, "no t");
    // The latest factors are checked where they become the result.
    let mut other = state;
    other.arrays.insert("x.h".into(), Mat::from_fn(3, 12, |k, j| if (k, j) == (0, 0) { -1e-9 } else { 1.0 }));
    let limited = Settings { max_iter: other.iteration, ..settings.clone() };
    let end = problem.resume(&other, &limited).unwrap().finish();
    assert!(end.map_or(true, |end| end.h.as_slice().iter().all(|h| *h >= 0.0)));
}
