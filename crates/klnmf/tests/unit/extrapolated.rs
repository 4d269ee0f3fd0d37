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
    assert_eq!((next(1.0), next(2.0)), (0.5 * (1.0 + 5f64.sqrt()), 0.5 * (1.0 + 17f64.sqrt())));
}

/// A site with numbers as factors, given divergences, and a record of its half-steps with their start.
struct Script {
    divergences: std::vec::IntoIter<f64>,
    steps: Vec<(&'static str, Side, f64, usize)>,
}

impl Site<f64> for Script {
    type Factor = f64;

    fn half_step(
        &mut self,
        side: Side,
        step: &dyn HalfStep<f64>,
        _: &f64,
        x: &mut f64,
        steps: usize,
        measure: bool,
    ) -> f64 {
        self.steps.push((step.name(), side, *x, steps));
        *x += 1.0;
        if measure { self.divergences.next().unwrap() } else { 0.0 }
    }

    fn carry_on(&mut self, _: Side, y: &mut f64, x: &mut f64, beta: f64, _: bool) {
        (*y, *x) = (*y + beta * (*y - *x), *y);
    }

    fn copy(&self, from: &Factors<f64>, to: &mut Factors<f64>) {
        *to = from.clone();
    }

    fn carry(&mut self, _: &mut Store<'_>) -> Result<()> {
        Ok(())
    }

    fn carry_factors(&self, _: &str, _: &mut Factors<f64>, _: &mut Store<'_>) -> Result<()> {
        Ok(())
    }
}

/// After an increase y returns to x. If that is no better, the fallback continues from the last good point.
#[test]
fn increases_reset_the_extrapolation() {
    // The slack for rounding errors is 9e-12.
    let divergences = vec![10.0, 12.0, 9.0, 11.0, 9.0 + 5e-12, 9.0 + 2e-11, 9.0 + 2e-11];
    let site = Script { divergences: divergences.into_iter(), steps: Vec::new() };
    let (zero, momentum) = (Factors { wt: 0.0, h: 0.0 }, Momentum::new(&MU, true));
    let (order, fallback) = (vec![Side::H, Side::W], Some(&super::super::fpa::FPA as &dyn HalfStep<f64>));
    let mut walk = Extrapolated::new(site, order, 1.0, &zero, momentum, fallback);
    let mut good = zero;
    let mut round = |good: &mut Factors<f64>| {
        walk.advance(good, 2);
        (std::mem::take(&mut walk.site.steps), good.h, walk.f, walk.failures)
    };
    // y = 1 + β with β = (t − 1)/t⁺.
    let t = next(1.0);
    let ahead = 1.0 + (t - 1.0) / next(t);
    assert_eq!(round(&mut good), (vec![("mu", Side::H, 0.0, 2), ("mu", Side::W, 0.0, 2)], 0.0, 10.0, 0));
    let steps = vec![("mu", Side::H, ahead, 2), ("mu", Side::H, 1.0, 2), ("mu", Side::W, 1.0, 2)];
    assert_eq!(round(&mut good), (steps, 1.0, 9.0, 0));
    // Without extrapolation there is nothing to reset.
    let back = |h, w| vec![("mu", Side::H, h, 2), ("fpa", Side::H, 1.0, 5), ("fpa", Side::W, w, 5)];
    assert_eq!(round(&mut good), (back(2.0, 1.0), 1.0, 9.0, 1));
    assert_eq!(round(&mut good), (vec![("mu", Side::H, 2.0, 2), ("mu", Side::W, 2.0, 2)], 2.0, 9.0, 1));
    assert_eq!(round(&mut good).3, 2);
}
