use super::*;

#[test]
fn extrapolation_never_reaches_zero_and_keeps_unmoved_weights() {
    // Increases are extrapolated, fast decreases keep a hundredth, and unmoved weights stay, however small.
    let (mut y, mut x) = ([3.0, 1.0, 1e-300], [1.0, 100.0, 1e-300]);
    carry_on(&mut y, &mut x, 0.5, false);
    assert_eq!((y, x), ([4.0, 0.01, 1e-300], [3.0, 1.0, 1e-300]));
    // Increases only.
    let (mut y, mut x) = ([3.0, 1.0], [1.0, 100.0]);
    carry_on(&mut y, &mut x, 0.5, true);
    assert_eq!((y, x), ([4.0, 1.0], [3.0, 1.0]));
    // A weight that extrapolation makes subnormal becomes zero.
    let (mut y, mut x) = ([2e-292], [1e-291]);
    carry_on(&mut y, &mut x, 0.5, false);
    assert_eq!(y, [0.0]);
}

#[test]
fn momentum_grows_while_the_divergence_decreases_and_halves_when_it_increases() {
    let mut momentum = Momentum::<f64>::new(&MU, true);
    assert_eq!(momentum.beta(), 0.0);
    (0..10).for_each(|_| momentum.fell());
    let (t, beta) = (momentum.t, momentum.beta());
    assert!(beta > 0.6 && beta < 1.0);
    momentum.rose();
    assert!(momentum.t == 0.5 * t && momentum.beta() < beta);
    (0..20).for_each(|_| momentum.rose());
    assert_eq!(momentum.t, 1.0);
}
