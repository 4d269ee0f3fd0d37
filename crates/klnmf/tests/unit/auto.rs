use super::*;
use crate::solver::method::Factors;
use crate::solver::{Solver, State};
use crate::{Mat, Problem, Settings};

#[test]
fn newton_continues_until_it_fails_and_returns_when_mu_gains_no_more() {
    assert_eq!(Stage::WarmUp.next(1.0, 5), Stage::Newton);
    assert_eq!(Stage::Newton.next(0.0, TOO_OFTEN - 1), Stage::Newton);
    let cheap = Stage::Newton.next(0.25, TOO_OFTEN);
    assert_eq!(cheap, Stage::Cheap { to_beat: 0.25 });
    assert_eq!(cheap.next(0.5, 0), cheap);
    assert_eq!(cheap.next(0.25, 0), Stage::Newton);
}

#[test]
fn newton_steps_and_gathering_cost_more() {
    assert!(work(10, 1, false, true) > work(10, 1, false, false));
    assert!(work(10, 1, true, true) > work(10, 1, false, true));
    // A second step on a gathered column costs less than the first.
    assert!(work(10, 2, true, true) < 2.0 * work(10, 1, true, true));
    assert_eq!(work(10, 2, true, true), 60.0 + 22.0 + 2.0 * 82.0);
    assert_eq!(work(10, 3, false, false), 3.0 * 32.0);
}

/// A method on a small problem, its state changed by `change`, and the state after `steps` more steps.
fn changed(newton_only: bool, change: &[(&str, f64)], steps: usize) -> (State, State) {
    let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    let (problem, settings) = (Problem::new(&v, 1).unwrap(), Settings::default());
    let mut factors = Factors { wt: Mat::from_rows(&[&[1.0, 1.0]]), h: Mat::from_rows(&[&[1.0, 1.0]]) };
    let start = problem.certificate(&factors.wt.transpose(), &factors.h).unwrap();
    let setup = Setup { place: &problem, settings: &settings, rank: 1, mixed: None, start, begun: false };
    let mut method = auto::<_, f64>(&setup, &factors, newton_only).unwrap();
    let (mut before, mut after) = (State::new(Solver::Auto), State::new(Solver::Auto));
    method.carry(&mut Store::Save(&mut before)).unwrap();
    before.numbers.extend(change.iter().map(|(name, value)| (name.to_string(), *value)));
    method.carry(&mut Store::Load(&before)).unwrap();
    if steps > 0 {
        method.advance(&mut factors, steps);
    }
    method.carry(&mut Store::Save(&mut after)).unwrap();
    (before, after)
}

#[test]
fn every_stage_is_stored() {
    for (stage, to_beat) in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.25)] {
        let (before, after) = changed(false, &[("stage", stage), ("to_beat", to_beat)], 0);
        assert_eq!(before, after);
    }
}

/// After a window with three failures `auto` leaves Newton, `newton` does not, and a new window begins.
#[test]
fn a_window_with_failures_ends_the_newton_stage() {
    let last = WINDOW as f64 - 1.0;
    let window = [("stage", 1.0), ("failures", 3.0), ("window.iterations", last), ("window.work", 7.0)];
    for (newton_only, stage) in [(false, 2.0), (true, 1.0)] {
        let (_, after) = changed(newton_only, &window, 1);
        assert_eq!(after.numbers["stage"], stage);
        let cleared = ["failures", "window.iterations", "window.work"].map(|name| after.numbers[name]);
        assert_eq!(cleared, [0.0; 3]);
        assert_eq!(after.numbers["window.f"], after.numbers["f"]);
    }
}

/// The rate of a window that ends the Newton stage is its decrease of ln D divided by its work.
#[test]
fn the_rate_to_beat_is_that_of_the_window() {
    let last = WINDOW as f64 - 1.0;
    let window = [("stage", 1.0), ("failures", 3.0), ("window.iterations", last), ("window.work", 8.0)];
    let (_, after) = changed(false, &[&window[..], &[("window.f", 100.0)]].concat(), 1);
    let want = (100.0 / after.numbers["f"]).ln() / (8.0 + work(1, 1, false, true));
    let rate = after.numbers["to_beat"];
    assert!(want > 0.0 && (rate - want).abs() < 1e-12 * want, "{rate} for {want}");
}

/// Steps that were undone count as work, with half a round for undoing them and a round of multiplicative
/// updates that replaces them. Otherwise Newton would look better than it is exactly when it fails.
#[test]
fn undone_steps_count_as_work() {
    // No divergence is below 0, so with f = 0 every step is undone. A Newton step is 32 units of work here,
    // and a multiplicative update 14.
    for (stage, f, failures, want) in
        [(1.0, f64::INFINITY, 1.0, 32.0), (1.0, 0.0, 2.0, 48.0 + 14.0), (0.0, 0.0, 2.0, 21.0 + 14.0)]
    {
        let change = [("stage", stage), ("f", f), ("failures", 1.0), ("window.f", 1.0)];
        let (_, after) = changed(false, &change, 1);
        assert_eq!(
            (after.numbers["failures"], after.numbers["window.work"]),
            (failures, want),
            "stage {stage}"
        );
    }
}
