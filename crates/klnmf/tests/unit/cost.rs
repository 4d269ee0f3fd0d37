//! Gap, best ray, update and prox against the objective, with costs per column, a ridge and held weights.

use super::*;
use crate::block::{ColumnData, DictionaryParts, Evidence, HalfProblem, Terms};
use crate::parallel::Pool;
use crate::solver::method::{Column, half_step};
use crate::solver::newton::Newton;
use crate::{Mat, Matrix};

/// A column with its dictionary: α (p), K (p × r), and c, μ, held.
struct Problem {
    a: Vec<f64>,
    k: Mat<f64>,
    c: Vec<f64>,
    ridge: f64,
    held: usize,
}

/// Numbers in (0, 1) from a small generator.
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

impl Problem {
    fn new(seed: u64, p: usize, r: usize, ridge: f64, held: usize) -> Self {
        let mut state = seed;
        let a = (0..p).map(|i| if i % 4 == 3 { 0.0 } else { (9.0 * random(&mut state)).ceil() }).collect();
        let k = Mat::from_fn(p, r, |_, _| random(&mut state));
        // Costs as from entry weights and a penalty, not Kᵀ1.
        let c = (0..r)
            .map(|l| k.col(l).iter().map(|k| k * (0.5 + random(&mut state))).sum::<f64>() + 0.1)
            .collect();
        Self { a, k, c, ridge, held }
    }

    fn cost(&self) -> Cost<'_, f64> {
        Cost { c: &self.c, stride: self.c.len(), ridge: self.ridge, held: self.held, r: self.c.len() }
    }

    fn z(&self, x: &[f64]) -> Vec<f64> {
        (0..self.a.len()).map(|i| x.iter().enumerate().map(|(k, x)| self.k[(i, k)] * x).sum()).collect()
    }

    fn g(&self, x: &[f64]) -> Vec<f64> {
        let z = self.z(x);
        let of = |k: usize| self.a.iter().zip(&z).enumerate().map(|(i, (a, z))| self.k[(i, k)] * a / z).sum();
        (0..x.len()).map(of).collect()
    }

    /// F by its definition.
    fn value(&self, x: &[f64]) -> f64 {
        let data: f64 =
            self.a.iter().zip(self.z(x)).filter(|(a, _)| **a > 0.0).map(|(a, z)| a * (a / z).ln() - a).sum();
        data + x.iter().zip(&self.c).map(|(x, c)| c * x + 0.5 * self.ridge * x * x).sum::<f64>()
    }

    fn sum(&self) -> f64 {
        self.a.iter().sum()
    }

    /// The minimum by many multiplicative updates, which converge to every interior optimum.
    fn optimum(&self, x: &[f64]) -> (Vec<f64>, f64) {
        let mut x = x.to_vec();
        for _ in 0..200_000 {
            let g = self.g(&x);
            self.cost().multiply(0, &mut x, &g);
        }
        let value = self.value(&x);
        (x, value)
    }
}

fn cases() -> impl Iterator<Item = (Problem, Vec<f64>)> {
    let shapes = [(8, 3, 0), (5, 1, 0), (12, 4, 2), (6, 2, 2), (9, 5, 1)];
    shapes.into_iter().flat_map(|(p, r, held)| {
        [0.0, 0.3, 20.0].into_iter().map(move |ridge| {
            let mut state = 77 + r as u64;
            let x = (0..r).map(|_| 0.2 + 3.0 * random(&mut state)).collect();
            (Problem::new((p * r) as u64, p, r, ridge, held), x)
        })
    })
}

#[test]
fn the_gap_bounds_the_distance_and_vanishes_at_the_optimum() {
    for (problem, x) in cases() {
        let (best, optimum) = problem.optimum(&x);
        let gap = |x: &[f64]| problem.cost().gap(0, problem.sum(), 1.0, x, &problem.g(x));
        let (distance, what) = (problem.value(&x) - optimum, (problem.ridge, problem.held));
        assert!(gap(&x) >= distance - 1e-9, "{what:?}: {} for {distance}", gap(&x));
        assert!(gap(&best) < 1e-6, "{what:?}: {}", gap(&best));
        // The gap must not be far too large.
        assert!(gap(&x) < 60.0 * (distance + 1e-6), "{what:?}: {} for {distance}", gap(&x));
    }
}

#[test]
fn a_gap_on_the_ray_is_the_gap_of_the_scaled_weights() {
    for (problem, x) in cases().filter(|(problem, _)| problem.held == 0) {
        let (cost, sum, g) = (problem.cost(), problem.sum(), problem.g(&x));
        let ray = cost.ray(0, sum, &x);
        let scaled: Vec<f64> = x.iter().map(|x| ray * x).collect();
        let [on, of] = [cost.gap(0, sum, ray, &x, &g), cost.gap(0, sum, 1.0, &scaled, &problem.g(&scaled))];
        assert!((on - of).abs() < 1e-9 * (1.0 + of), "{on} {of}");
        let logs = problem.value(&x) - cost.total(0, &x) + sum;
        assert!((cost.value(0, sum, ray, logs, &x) - problem.value(&scaled)).abs() < 1e-9);
        // No other point on the ray has a lower objective.
        for other in [0.9, 0.999, 1.001, 1.2] {
            let further: Vec<f64> = scaled.iter().map(|x| other * x).collect();
            assert!(problem.value(&further) > problem.value(&scaled));
        }
    }
}

#[test]
fn a_dual_point_bounds_the_objective_from_below() {
    for (problem, x) in cases() {
        let optimum = problem.optimum(&x).1;
        // Any θ ≥ 0 serves: here α/z at other weights, perturbed.
        let mut state = 5;
        let theta: Vec<f64> = problem.z(&x).iter().map(|z| (0.5 + random(&mut state)) / z).collect();
        let theta: Vec<f64> = theta.iter().zip(&problem.a).map(|(t, a)| t * a).collect();
        let logs = theta.iter().zip(&problem.a).filter(|(_, a)| **a > 0.0).map(|(t, a)| a * t.ln()).sum();
        let of = |k: usize| theta.iter().enumerate().map(|(i, t)| problem.k[(i, k)] * t).sum();
        let g: Vec<f64> = (0..x.len()).map(of).collect();
        // Up to Σα·ln α, which F does not contain.
        let dual = problem.cost().dual(0, problem.sum(), &x, logs, &g);
        assert!(dual <= optimum + 1e-9, "{dual} {optimum}");
        assert!(dual > optimum - 30.0, "{dual} {optimum}");
    }
}

/// Zero times infinity is NaN, which comparisons skip. A bound from the other entries of g would be false.
#[test]
fn one_entry_of_g_that_is_not_finite_proves_nothing() {
    for (c, ridge) in [([1.0, 1.0], 0.0), ([0.0, 1.0], 0.0), ([1.0, 1.0], 0.5)] {
        let (cost, x) = (Cost { c: &c, stride: 0, ridge, held: 0, r: 2 }, [1.0, 1.0]);
        let bounds = |g: &[f64]| (cost.gap(0, 2.0, 1.0, &x, g), cost.dual(0, 2.0, &x, 0.0, g));
        let (gap, dual) = bounds(&[0.5, 0.5]);
        assert!(gap.is_finite() && dual.is_finite(), "{gap} {dual}");
        for bad in [f64::NAN, f64::INFINITY] {
            assert_eq!(bounds(&[bad, 0.5]), (f64::INFINITY, f64::NEG_INFINITY), "{bad} {c:?} {ridge}");
        }
    }
}

#[test]
fn updates_decrease_the_objective_and_keep_held_weights() {
    for (problem, x) in cases() {
        let (cost, g) = (problem.cost(), problem.g(&x));
        let mut next = x.clone();
        cost.multiply(0, &mut next, &g);
        assert_eq!(next[..problem.held], x[..problem.held]);
        assert!(problem.value(&next) <= problem.value(&x));
        // The primal step minimises τ·G(y) + ½‖y − (x − τg)‖² over y ≥ 0.
        let (tau, chi): (Vec<f64>, Vec<f64>) = (vec![0.3; x.len()], g.iter().map(|g| -g).collect());
        let (mut next, mut bar) = (x.clone(), x.clone());
        cost.prox(0, &mut next, &mut bar, &tau, &chi);
        assert_eq!((&next[..problem.held], &bar[..problem.held]), (&x[..problem.held], &x[..problem.held]));
        for k in problem.held..x.len() {
            let of = |y: f64| {
                let away = y - (x[k] - tau[k] * chi[k]);
                tau[k] * (problem.c[k] * y + 0.5 * problem.ridge * y * y) + 0.5 * away * away
            };
            assert!([0.999, 1.001].iter().all(|f| of(next[k] * f) >= of(next[k])), "{} {}", next[k], k);
            assert!((bar[k] - (2.0 * next[k] - x[k])).abs() < 1e-12);
        }
    }
}

/// The results of two passes over disjoint rows sum to that of one pass over all, as do Σα and c.
#[test]
fn evidence_adds_up_over_rows() {
    let (n, m, r, cut) = (37, 11, 4, 16);
    let mut state = 3;
    let v = Mat::from_fn(n, m, |_, _| (5.0 * random(&mut state)).floor());
    let kt = Mat::from_fn(r, n, |_, _| random(&mut state));
    let x = Mat::from_fn(r, m, |_, _| random(&mut state));
    let pool = Pool::new(1).unwrap();
    // g, the logarithms, Σα and c of the columns over some rows.
    let passes = |rows: std::ops::Range<usize>| {
        let part = Mat::from_fn(rows.len(), m, |i, j| v[(rows.start + i, j)]);
        let kt = Mat::from_fn(r, rows.len(), |k, i| kt[(k, rows.start + i)]);
        let data = ColumnData::new(&pool, Matrix::from(&part)).unwrap();
        let parts = DictionaryParts::default();
        let mut half = HalfProblem::new(data.blocks::<f64>(), &pool, r, parts, Terms::default());
        half.set(&kt);
        let nothing = Evidence { g: vec![0.0; r * m], logs: vec![0.0; m] };
        let all = std::sync::Mutex::new((nothing, vec![0.0; m], vec![0.0; r]));
        half.for_each((&mut vec![(); m], 1), (&mut vec![(); m], 1), |b, _, _, work| {
            let mut all = all.lock().unwrap();
            let x = &x.as_slice()[b.first * r..][..b.q * r];
            b.evidence(x, true, &mut work.tile, &mut work.evidence);
            all.0.g[b.first * r..][..b.q * r].copy_from_slice(&work.evidence.g[..b.q * r]);
            all.0.logs[b.first..][..b.q].copy_from_slice(&work.evidence.logs[..b.q]);
            all.1[b.first..][..b.q].copy_from_slice(b.sums);
            all.2.copy_from_slice(b.cost.of(0));
        });
        all.into_inner().unwrap()
    };
    let (whole, (one, sums, c), (other, other_sums, other_c)) =
        (passes(0..n), passes(0..cut), passes(cut..n));
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0));
    let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
    let mut sum = one;
    sum += &other;
    assert!(near(&sum.g, &whole.0.g) && near(&sum.logs, &whole.0.logs));
    let (sums, c) = (add(&sums, &other_sums), add(&c, &other_c));
    assert!(near(&sums, &whole.1) && near(&c, &whole.2));
    // So a step and a gap computed from the sums are those of the whole.
    for (j, (sum_here, whole_sum)) in sums.iter().zip(&whole.1).enumerate() {
        let cost = Cost { c: &c, stride: 0, ridge: 0.0, held: 0, r };
        let exact = Cost { c: &whole.2, ..cost };
        let at = j * r..(j + 1) * r;
        let (g, whole_g) = (&sum.g[at.clone()], &whole.0.g[at.clone()]);
        let (mut one, mut two) = (x.col(j).to_vec(), x.col(j).to_vec());
        cost.multiply(0, &mut one, g);
        exact.multiply(0, &mut two, whole_g);
        assert!(near(&one, &two));
        let gaps =
            [cost.gap(0, *sum_here, 1.0, x.col(j), g), exact.gap(0, *whole_sum, 1.0, x.col(j), whole_g)];
        assert!(near(&gaps[..1], &gaps[1..]));
    }
}

/// All half-steps reach the optimum of the penalised problem and keep held weights.
#[test]
fn half_steps_minimise_the_penalised_objective() {
    let (n, m, r) = (25, 10, 4);
    let mut state = 9;
    let v = Mat::from_fn(n, m, |_, _| (6.0 * random(&mut state)).floor());
    let kt = Mat::from_fn(r, n, |_, _| random(&mut state));
    let start = Mat::from_fn(r, m, |_, _| 0.5 + random(&mut state));
    let pool = Pool::new(1).unwrap();
    let data = ColumnData::new(&pool, Matrix::from(&v)).unwrap();
    for terms in [
        Terms { lasso: 0.7, ridge: 0.0, held: 0 },
        Terms { lasso: 0.0, ridge: 0.5, held: 0 },
        Terms { lasso: 0.2, ridge: 0.5, held: 2 },
    ] {
        let parts = DictionaryParts { shares: true, atoms: true, arrays: true };
        let mut half = HalfProblem::new(data.blocks::<f64>(), &pool, r, parts, terms);
        let mut values = vec![];
        for (name, count) in [("mu", 20_000), ("newton", 60), ("fpa", 600)] {
            let step = crate::solver::half_step::<f64>(name).unwrap();
            let (mut x, mut columns) = (start.clone(), vec![Column::default(); m]);
            let mut before = f64::INFINITY;
            for round in 0..count / 5 {
                let value = half_step(&mut half, step, &kt, &mut x, &mut columns, 5, true);
                // Unlike the others, Newton without extrapolation may increase the objective at first.
                if name != "newton" || round > 3 {
                    assert!(value <= before * (1.0 + 1e-12), "{name} {value} {before}");
                }
                before = value;
            }
            let held = terms.held;
            (0..m).for_each(|j| assert_eq!(x.col(j)[..held], start.col(j)[..held]));
            values.push(half_step(&mut half, step, &kt, &mut x, &mut columns, 1, true));
        }
        assert!(values.iter().all(|v| (v - values[1]).abs() < 1e-5 * values[1]), "{terms:?} {values:?}");
    }
}

/// The curvature of the ridge enters the step of every weight of a block, in every column. With one row for
/// each weight the step is x − F'/F''.
#[test]
fn a_newton_step_includes_the_ridge() {
    let (lasso, ridge) = (0.25, 0.5);
    let v = Mat::from_fn(4, 20, |i, j| (2 + i + j % 7) as f64);
    let kt = Mat::from_fn(4, 4, |k, i| if k == i { 1.0 } else { 0.0 });
    let start = Mat::from_fn(4, 20, |k, j| 1.0 + 0.25 * ((k + j) % 5) as f64);
    let (pool, mut x) = (Pool::new(1).unwrap(), start.clone());
    let data = ColumnData::new(&pool, Matrix::from(&v)).unwrap();
    let parts = DictionaryParts { shares: false, atoms: true, arrays: true };
    let mut half = HalfProblem::new(data.blocks::<f64>(), &pool, 4, parts, Terms { lasso, ridge, held: 0 });
    half_step(&mut half, &Newton, &kt, &mut x, &mut [Column::default(); 20], 1, false);
    for (new, (x, a)) in x.as_slice().iter().zip(start.as_slice().iter().zip(v.as_slice())) {
        let want = x - (1.0 + lasso + ridge * x - a / x) / (a / (x * x) + ridge);
        assert!(want > 0.0 && (new - want).abs() < 1e-12, "{new} for {want}");
    }
}

/// The update keeps a weight whose factor overflows and the weight of a zero atom, and drops a tiny one.
#[test]
fn updates_keep_what_they_cannot_compute() {
    let cost = Cost { c: &[1e-300, 0.0, 1.0, 2.0], stride: 0, ridge: 0.0, held: 0, r: 4 };
    let mut x = [1e10, 3.0, 1e-300, 5.0];
    cost.multiply(0, &mut x, &[1e300, 1.0, 1.0, 4.0]);
    assert_eq!(x, [1e10, 3.0, 0.0, 10.0]);
}

/// One call updates several columns, with the same c for all or with one for each.
#[test]
fn updates_of_several_columns_use_their_own_costs() {
    for (c, column, held, want) in [
        (&[2.0, 4.0][..], 0, 0, [4.0, 2.0, 4.0, 2.0]),
        (&[2.0, 4.0], 0, 1, [1.0, 2.0, 1.0, 2.0]),
        (&[9.0, 9.0, 2.0, 4.0, 1.0, 8.0], 1, 0, [4.0, 2.0, 8.0, 1.0]),
        (&[9.0, 9.0, 2.0, 4.0, 1.0, 8.0], 1, 1, [1.0, 2.0, 1.0, 1.0]),
    ] {
        let (cost, mut x) = (Cost { c, stride: 2 * column, ridge: 0.0, held, r: 2 }, [1.0; 4]);
        cost.multiply(column, &mut x, &[8.0; 4]);
        assert_eq!(x, want, "{c:?} {held}");
    }
}

/// Without data free weights become zero; held ones and that of a zero atom stay. Zero weights have no ray.
#[test]
fn without_data_or_weights_there_is_no_ray() {
    let cost = Cost { c: &[1.0, 0.0, 2.0], stride: 0, ridge: 0.0, held: 1, r: 3 };
    let mut x = [3.0, 4.0, 5.0];
    cost.move_to_best_ray(0, 0.0, &mut x);
    assert_eq!(x, [3.0, 4.0, 0.0]);
    assert_eq!(Cost { held: 0, ..cost }.ray(0, 2.0, &[0.0, 4.0, 0.0]), 1.0);
}

#[test]
fn only_free_zeros_that_should_grow_wake() {
    let cost = Cost { c: &[4.0; 5], stride: 0, ridge: 0.0, held: 1, r: 5 };
    let mut x = [0.0, 0.0, 0.0, 0.0, 2.0];
    cost.wake(0, &mut x, &[5.0, 5.0, 4.0, 3.0, 5.0], 6.0);
    assert_eq!(x, [0.0, 1.5, 0.0, 0.0, 2.0]);
}

/// The target (3/2, 5/2) has the sum 13/2 in this c, so λ = 1/3 takes 1/6 from both. In the second column the
/// target is (3, 3), and the last weight becomes zero. A zero atom gets nothing.
#[test]
fn steps_on_the_simplex_follow_their_formula() {
    let cost = Cost { c: &[1.0, 0.0, 2.0], stride: 0, ridge: 0.0, held: 0, r: 3 };
    let (tau, g) = ([0.5, 0.0, 0.25, 0.5, 0.0, 1.0], [-1.0, 0.0, -2.0, -2.0, 0.0, 0.0]);
    let (mut x, mut bar, mut room) = ([1.0, 7.0, 2.0, 2.0, 7.0, 3.0], [0.0; 6], [[0.0; 24]; 2]);
    let [u, s] = &mut room;
    cost.prox_on_simplex(&[6.0, 2.0], &mut x, &mut bar, &tau, &g, [u, s]);
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14);
    assert!(near(&x, &[4.0 / 3.0, 0.0, 7.0 / 3.0, 2.0, 0.0, 0.0]), "{x:?}");
    assert!(near(&bar, &[5.0 / 3.0, -7.0, 8.0 / 3.0, 2.0, -7.0, -3.0]), "{bar:?}");
}

/// Where g is so small or so large that it has lost its digits, it proves nothing.
#[test]
fn a_scale_at_the_limits_of_f64_proves_nothing() {
    let cost = Cost { c: &[1.0], stride: 0, ridge: 0.0, held: 0, r: 1 };
    for (g, finite) in [(1e-280, true), (1e280, true), (1e-295, false), (1e295, false)] {
        assert_eq!(cost.gap(0, 2.0, 1.0, &[1.0], &[g]).is_finite(), finite, "{g:e}");
    }
}

/// With g = c = 1 and Σα = 1 the derivative 1/s − (s − 1)/μ is zero near √μ.
#[test]
fn the_best_scale_is_found_far_from_its_lower_bound() {
    let cost = Cost { c: &[1.0], stride: 0, ridge: 1e30, held: 0, r: 1 };
    assert!((cost.best_scale(0, 1.0, &[1.0], 0.0, 1.0) - 1e15).abs() < 10.0);
}
