use super::*;

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
