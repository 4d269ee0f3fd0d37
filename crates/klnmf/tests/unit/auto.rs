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
}

#[test]
fn every_stage_is_stored() {
    let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    let (problem, settings) = (Problem::new(&v, 1).unwrap(), Settings::default());
    let setup = Setup { problem: &problem, settings: &settings, mixed: None, begun: false };
    let factors = Factors { wt: Mat::from_rows(&[&[1.0, 1.0]]), h: Mat::from_rows(&[&[1.0, 1.0]]) };
    for (stage, to_beat) in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.25)] {
        let mut method = auto::<f64, f64>(&setup, &factors, false).unwrap();
        let (mut state, mut again) = (State::new(Solver::Auto), State::new(Solver::Auto));
        method.carry(&mut Store::Save(&mut state)).unwrap();
        state.numbers.extend([("stage".to_string(), stage), ("to_beat".to_string(), to_beat)]);
        method.carry(&mut Store::Load(&state)).unwrap();
        method.carry(&mut Store::Save(&mut again)).unwrap();
        assert_eq!(state, again);
    }
}
