//! Each stage of `decompose` and each safeguard of a half-step alone, because together they would hide a
//! broken one.

use crate::common::{Known, Random, close, half_step, known_optimum, product};
use klnmf::{Column, DecomposeSettings, Decomposition, Mat, Stages, certificate, decompose};

const SWEEPS: Stages = Stages { newton_sweeps: true, free_set_newton: false };
const FREE_SET: Stages = Stages { newton_sweeps: false, free_set_newton: true };
const PRIMAL_DUAL: Stages = Stages { newton_sweeps: false, free_set_newton: false };
/// The size and the scale of a problem, and the entries of its dictionary from random numbers.
type Case<'a> = (usize, usize, f64, &'a dyn Fn(usize, usize, f64) -> f64);

fn solve(known: &Known, stages: Stages, tol: f64, max_iter: usize) -> Decomposition<f64> {
    let settings = DecomposeSettings { tol, max_iter, stages, threads: 1, ..DecomposeSettings::default() };
    let found = decompose(&known.v, &known.w, &settings).unwrap();
    let distance = found.divergence() - known.optimum;
    let rounding = 1e-12 * known.v.as_slice().iter().sum::<f64>();
    assert!(found.gap() >= distance - rounding, "gap {:e}, distance {distance:e}", found.gap());
    found
}

/// The most steps of any column, if all have converged.
fn steps(found: &Decomposition<f64>) -> usize {
    assert_eq!(found.unconverged(), 0, "gap {:e}", found.gap());
    found.columns.iter().map(|c| c.iterations).max().unwrap()
}

#[test]
fn sweeps_alone_solve_columns_in_few_steps() {
    for zeros in [false, true] {
        let known = known_optimum(1, 60, 20, 6, 4, zeros);
        assert!(steps(&solve(&known, SWEEPS, 1e-6, 100)) <= 100);
    }
    // The interval between two certificates grows by half. Newton's method comes after 60 sweeps.
    for stages in [SWEEPS, DecomposeSettings::default().stages] {
        let found = solve(&known_optimum(1, 60, 40, 12, 6, true), stages, 1e-10, 1000);
        let early = found.columns.iter().map(|c| c.iterations).filter(|n| *n < 60);
        assert!(early.clone().all(|n| [2, 5, 9, 15, 24, 37, 56].contains(&n)), "{found:?}");
        assert!(early.count() > 0 && found.unconverged() == 0);
    }
}

/// Newton's method converges quadratically, so a tolerance near rounding error takes only a few more steps.
/// Alone it may stop when its line search finds no decrease, which the sweeps make up for.
#[test]
fn free_set_newton_alone_reaches_the_last_digits() {
    for zeros in [false, true] {
        let found = solve(&known_optimum(2, 60, 20, 6, 4, zeros), FREE_SET, 1e-11, 120);
        assert!(found.unconverged() <= 3, "{}", found.unconverged());
    }
}

/// Alone it solves columns of small numbers and square problems, and shortens steps that would be too long.
#[test]
fn free_set_newton_alone_shortens_its_steps() {
    let even = |i, k, u| u + if i % 6 == k { 3.0 } else { 0.0 };
    let skewed = |_, _, u: f64| if u < 0.5 { 1e-3 } else { u.powi(3) + 1e-3 };
    let cases: [Case<'_>; 3] = [(40, 6, 1e-6, &even), (40, 6, 1.0, &|_, _, u| u), (30, 8, 1.0, &skewed)];
    for (n, r, scale, entry) in cases {
        let mut random = Random(8);
        let w = Mat::from_fn(n, r, |i, k| entry(i, k, random.uniform()));
        let h = Mat::from_fn(r, 20, |_, _| 100.0 * random.uniform().powi(8));
        let model = product(&w, &h);
        let v = Mat::from_fn(n, 20, |i, j| 2.0 * scale * model[(i, j)] * random.uniform());
        let unconverged = |max_iter| {
            let settings =
                DecomposeSettings { tol: 1e-9, max_iter, stages: FREE_SET, ..DecomposeSettings::default() };
            decompose(&v, &w, &settings).unwrap().unconverged()
        };
        assert!(unconverged(60) == 0 && unconverged(1) > 0, "{n} rows, {r} weights, {scale:e}");
    }
    let (w, v) = (Mat::from_rows(&[&[1.0, 0.5], &[0.25, 1.0]]), Mat::from_rows(&[&[2.0], &[3.0]]));
    let settings = DecomposeSettings { tol: 1e-12, stages: FREE_SET, ..DecomposeSettings::default() };
    assert_eq!(steps(&decompose(&v, &w, &settings).unwrap()), 20);
}

/// Rows without data, which the model leaves at zero or W cannot explain, do not disturb Newton's method.
#[test]
fn free_set_newton_alone_accepts_rows_at_zero() {
    let (w, v) = (
        Mat::<f64>::from_rows(&[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 1.0], &[0.0, 0.0]]),
        Mat::from_rows(&[&[0.0], &[3.0], &[2.0], &[0.0]]),
    );
    let settings =
        DecomposeSettings { tol: 1e-12, max_iter: 40, stages: FREE_SET, ..DecomposeSettings::default() };
    let found = decompose(&v, &w, &settings).unwrap();
    assert!(found.unconverged() == 0 && found.h[(0, 0)] == 0.0 && (found.h[(1, 0)] - 2.5).abs() < 1e-9);
    assert_eq!(found.columns[0].iterations, 20, "one round of this stage, and no sweeps");
    let settings = DecomposeSettings { max_iter: 5000, stages: PRIMAL_DUAL, ..settings };
    assert_eq!(decompose(&v, &w, &settings).unwrap().unconverged(), 0);
}

#[test]
fn the_primal_dual_stage_alone_converges() {
    for zeros in [false, true] {
        let known = known_optimum(3, 60, 20, 6, 4, zeros);
        let found = solve(&known, PRIMAL_DUAL, 1e-8, 5000);
        assert!(steps(&found) > 20 && found.gap() <= 1e-8 * known.v.as_slice().iter().sum::<f64>());
    }
}

/// A column whose model underflows at the start keeps equal weights, and not those of another column. A zero
/// atom has none.
#[test]
fn a_column_without_any_finite_value_keeps_its_start() {
    let (w, v) = (
        Mat::from_rows(&[&[1.0, 0.0, 1.0], &[1e-300, 0.0, 1e-300]]),
        Mat::from_rows(&[&[1.0, 1e-30], &[1.0, 1e-30]]),
    );
    let settings =
        DecomposeSettings { max_iter: 0, stages: PRIMAL_DUAL, threads: 1, ..DecomposeSettings::default() };
    let found = decompose(&v, &w, &settings).unwrap();
    assert!(found.columns[0].divergence.is_finite() && found.columns[1].divergence.is_infinite());
    assert_eq!((found.h.col(0), found.h.col(1)), (&[1.0, 0.0, 1.0][..], &[1e-30, 0.0, 1e-30][..]));
}

/// The dual point θ = 1 bounds the gap before the first step. The formula alone gives 0.69.
#[test]
fn the_primal_dual_stage_begins_with_the_divergence_as_gap() {
    let (w, v) = (Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]), Mat::from_rows(&[&[1.0], &[0.01]]));
    let settings = DecomposeSettings { max_iter: 0, stages: PRIMAL_DUAL, ..DecomposeSettings::default() };
    let column = decompose(&v, &w, &settings).unwrap().columns[0];
    assert!((column.divergence - 0.644).abs() < 1e-3 && column.gap == column.divergence, "{column:?}");
}

/// A subnormal model has lost digits, so no bound that follows from it may end the steps.
#[test]
fn a_subnormal_model_does_not_end_the_primal_dual_stage() {
    let (w, v) = (Mat::from_rows(&[&[1.0], &[1e-300]]), Mat::from_rows(&[&[1e-10], &[1e-10]]));
    for max_iter in [20, 30, 200] {
        let settings = DecomposeSettings { max_iter, stages: PRIMAL_DUAL, ..DecomposeSettings::default() };
        let found = decompose(&v, &w, &settings).unwrap();
        assert_eq!((found.unconverged(), found.columns[0].iterations), (1, max_iter));
    }
}

/// One Newton step on one weight is x − F'/F'' over all rows, at and beyond the size of a chunk.
#[test]
fn a_newton_step_uses_every_row() {
    for p in [383, 384, 385, 1003, 2311] {
        let mut random = Random(p as u64);
        let (v, kt, x) =
            (random.counts(p, 3, 0.3, 9.0), random.matrix(1, p, 0.1, 1.0), random.matrix(1, 3, 2.0, 4.0));
        let mut moved = x.clone();
        half_step("newton", &v, &kt, &mut moved, &mut [Column::default(); 3], (1, 0, false), 1).unwrap();
        for j in 0..3 {
            let rows = || kt.as_slice().iter().zip(v.col(j)).map(|(k, a)| (*k, *a, k * x[(0, j)]));
            let slope: f64 = rows().map(|(k, a, z)| k - k * a / z).sum();
            let curvature: f64 = rows().map(|(k, a, z)| k * k * a / (z * z)).sum();
            let want = x[(0, j)] - slope / curvature;
            assert!(
                want > 0.0 && (moved[(0, j)] - want).abs() < 1e-10 * want,
                "{p}: {} for {want}",
                moved[(0, j)]
            );
        }
    }
}

/// If a step makes a row with data vanish, the column goes back a tenth of the way. Other rows may vanish.
#[test]
fn a_newton_step_that_vanishes_goes_back() {
    let kt = Mat::from_fn(3, 3, |k, i| f64::from(u8::from(k == i)));
    for (a, start, want) in [
        ([1.0, 0.0, 0.0], [10.0, 1.0, 1.0], [1.0, 0.1, 0.1]),
        ([1.0, 0.0, 3.0], [10.0, 1.0, 1.0], [1.0, 0.1, 1.6]),
        ([1e-16, 0.0, 3.0], [1e-16, 1.0, 1.0], [1e-16, 0.0, 5.0 / 3.0]),
    ] {
        let (v, mut x) = (Mat::from_fn(3, 1, |i, _| a[i]), Mat::from_fn(3, 1, |k, _| start[k]));
        half_step("newton", &v, &kt, &mut x, &mut [Column::default()], (1, 0, false), 1).unwrap();
        assert!((0..3).all(|k| close(x[(k, 0)], want[k], 1e-12)), "{a:?}: {x:?}");
    }
}

/// The dual point θ = 1 proves that no gap is larger than the divergence itself.
#[test]
fn a_gap_is_never_larger_than_the_divergence() {
    let (v, w, h) = (
        Mat::from_rows(&[&[1.0], &[1.0]]),
        Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]),
        Mat::from_rows(&[&[1.0], &[1e-6]]),
    );
    let known = certificate(&v, &w, &h, 1).unwrap();
    // The formula alone gives 26.6.
    assert!((known.divergence - 12.8155).abs() < 1e-3 && known.gap_h == known.divergence, "{known:?}");
}

/// Without adaptation of its primal weight the stage takes 17380 steps for these columns, with it 3380.
#[test]
fn primal_weights_adapt_to_their_columns() {
    let found = solve(&known_optimum(4, 100, 8, 20, 8, true), PRIMAL_DUAL, 1e-9, 20_000);
    assert_eq!(found.unconverged(), 0);
    assert!(found.columns.iter().map(|c| c.iterations).sum::<usize>() < 6000);
}

/// A weight whose contribution is below the rounding error of the column's sum becomes exactly zero.
#[test]
fn vanishing_weights_become_zero() {
    let (v, kt) = (Mat::from_rows(&[&[1e6], &[1e3]]), Mat::from_rows(&[&[1.0, 1e-3], &[0.0, 1e-3]]));
    let floor = 1e-3 * f64::EPSILON * 1.001e6;
    for n in 1..200 {
        let mut x = Mat::from_rows(&[&[1e6], &[1e-4 * n as f64]]);
        half_step("newton", &v, &kt, &mut x, &mut [Column::default()], (1, 0, false), 1).unwrap();
        let part = 1e-3 * x[(1, 0)];
        assert!(part == 0.0 || part >= floor, "{n}: {part:e}");
    }
}

/// While the divergence of a column decreases, its primal steps grow.
#[test]
fn primal_weights_grow_while_the_divergence_decreases() {
    let known = known_optimum(5, 60, 12, 6, 4, false);
    let (kt, mut x) = (known.w.transpose(), Mat::from_fn(6, 12, |_, _| 1.0));
    let mut columns = vec![Column::default(); 12];
    for _ in 0..3 {
        half_step("fpa", &known.v, &kt, &mut x, &mut columns, (5, 0, false), 1).unwrap();
    }
    assert!(columns.iter().any(|c| c.weight > Column::default().weight), "{columns:?}");
    assert!(columns.iter().all(|c| c.weight <= 8.0));
    // At the optimum changes of the divergence are rounding errors, and count as no increase.
    let large = |m: &Mat<f64>| Mat::from_fn(m.rows(), m.cols(), |i, j| 1e6 * m[(i, j)]);
    let (v, mut x, mut columns) = (large(&known.v), large(&known.h), vec![Column::default(); 12]);
    half_step("fpa", &v, &kt, &mut x, &mut columns, (5, 0, false), 1).unwrap();
    assert!(columns.iter().all(|c| c.weight == 2.2), "{columns:?}");
}

/// The primal-dual steps on one column by their formulas; see `primal_dual.rs` for the letters.
struct Formula<'a> {
    k: &'a Mat<f64>,
    a: &'a [f64],
    c: Vec<f64>,
}

impl<'a> Formula<'a> {
    fn new(k: &'a Mat<f64>, a: &'a [f64]) -> Self {
        Self { k, a, c: k.col_sums() }
    }

    fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.k.rows()).map(|i| (0..x.len()).map(|l| self.k[(i, l)] * x[l]).sum()).collect()
    }

    fn transposed(&self, y: &[f64]) -> Vec<f64> {
        (0..self.c.len()).map(|l| self.k.col(l).iter().zip(y).map(|(k, y)| k * y).sum()).collect()
    }

    fn on_ray(&self, x: &[f64]) -> Vec<f64> {
        let total: f64 = x.iter().zip(&self.c).map(|(x, c)| x * c).sum();
        x.iter().map(|x| x * self.a.iter().sum::<f64>() / total).collect()
    }

    /// −a/Kx.
    fn dual(&self, x: &[f64]) -> Vec<f64> {
        self.a.iter().zip(self.times(x)).map(|(a, z)| if *a > 0.0 { -a / z } else { 0.0 }).collect()
    }

    /// σ and τ at x, with this share of the even spread.
    fn metric(&self, x: &[f64], weight: f64, share: f64) -> (Vec<f64>, Vec<f64>) {
        let spread = share * self.a.iter().sum::<f64>() / x.len() as f64;
        let shares = self.times(&self.c.iter().map(|c| 1.0 / c).collect::<Vec<_>>());
        let sigma =
            self.times(x).iter().zip(shares).map(|(z, s)| 1.0 / (weight * (z + spread * s))).collect();
        (sigma, x.iter().zip(&self.c).map(|(x, c)| weight * (x + spread / c) / c).collect())
    }

    fn steps(&self, x: &mut [f64], chi: &mut [f64], (sigma, tau): &(Vec<f64>, Vec<f64>), count: usize) {
        let mut bar = x.to_vec();
        for _ in 0..count {
            let z = self.times(&bar);
            for i in (0..chi.len()).filter(|i| self.a[*i] > 0.0) {
                let moved = chi[i] + sigma[i] * z[i];
                chi[i] = 0.5 * (moved - (moved * moved + 4.0 * sigma[i] * self.a[i]).sqrt());
            }
            for (l, g) in self.transposed(chi).into_iter().enumerate() {
                let next = (x[l] - tau[l] * (g + self.c[l])).max(0.0);
                (bar[l], x[l]) = (2.0 * next - x[l], next);
            }
        }
    }
}

/// Some steps of `fpa` on one column.
fn fpa_by_formula(k: &Mat<f64>, a: &[f64], x: &[f64], weight: f64, steps: usize) -> Vec<f64> {
    let formula = Formula::new(k, a);
    let mut x = formula.on_ray(x);
    let mut chi = formula.dual(&x);
    let metric = formula.metric(&x, weight, 0.01 * weight.min(1.0));
    formula.steps(&mut x, &mut chi, &metric, steps);
    formula.on_ray(&x)
}

/// The primal-dual stage: χ is scaled to be feasible, and after twenty steps the metric and ω are adapted.
#[test]
fn the_primal_dual_stage_follows_its_formulas() {
    let known = known_optimum(7, 40, 5, 6, 4, true);
    let found = solve(&known, PRIMAL_DUAL, 1e-14, 60);
    for j in 0..5 {
        let formula = Formula::new(&known.w, known.v.col(j));
        let mut x = formula.on_ray(&formula.c.iter().map(|c| 1.0 / c).collect::<Vec<_>>());
        let mut chi = formula.dual(&x);
        let over = formula.transposed(&chi).iter().zip(&formula.c).map(|(g, c)| -g / c).fold(0.0, f64::max);
        chi.iter_mut().for_each(|chi| *chi /= over);
        let mut weight = 3.0f64;
        for _ in 0..3 {
            x = formula.on_ray(&x);
            let metric = formula.metric(&x, weight, 0.1);
            let (x_then, chi_then) = (x.clone(), chi.clone());
            formula.steps(&mut x, &mut chi, &metric, 20);
            let moved = |now: &[f64], then: &[f64], step: &[f64]| -> f64 {
                now.iter().zip(then).zip(step).map(|((now, then), step)| (now - then).powi(2) / step).sum()
            };
            let (primal, dual) = (moved(&x, &x_then, &metric.1), moved(&chi, &chi_then, &metric.0));
            weight = (weight * (weight * weight * primal / dual).sqrt().clamp(1e-2, 1e3)).sqrt();
        }
        for (x, want) in found.h.col(j).iter().zip(formula.on_ray(&x)) {
            assert!((x - want).abs() <= 1e-9 * (1.0 + want), "column {j}: {x} for {want}");
        }
    }
}

#[test]
fn steps_of_fpa_follow_their_formulas() {
    let known = known_optimum(7, 40, 5, 6, 4, true);
    let (kt, start) = (known.w.transpose(), Random(7).matrix(6, 5, 0.5, 2.0));
    for (weight, steps) in [(2.0, 1), (2.0, 3), (0.5, 3)] {
        let (mut x, mut columns) = (start.clone(), vec![Column { weight, ..Column::default() }; 5]);
        half_step("fpa", &known.v, &kt, &mut x, &mut columns, (steps, 0, false), 1).unwrap();
        for (j, column) in columns.iter().enumerate() {
            let want = fpa_by_formula(&known.w, known.v.col(j), start.col(j), weight, steps);
            assert_eq!(column.weight, 1.1 * weight, "no step was undone");
            for (x, want) in x.col(j).iter().zip(want) {
                assert!(
                    (x - want).abs() <= 1e-10 * (1.0 + want),
                    "{steps} steps with {weight}: {x} for {want}"
                );
            }
        }
    }
}

/// A step that increases the divergence of a column is undone, and its primal steps halve. The
/// multiplicative update cannot leave zero, so a zero that should grow gets a millionth of an even share.
#[test]
fn primal_weights_shrink_when_the_divergence_increases() {
    let known = known_optimum(5, 60, 12, 6, 4, false);
    let divergence = |x: &Mat<f64>| certificate(&known.v, &known.w, x, 1).unwrap().divergence;
    let little = |j| 1e-6 * known.v.col(j).iter().sum::<f64>() / 6.0 / known.w.col_sums()[0];
    for first in [1.0, 0.0] {
        let mut x = Mat::from_fn(6, 12, |k, _| if k == 0 { first } else { 1.0 });
        let (before, mut columns) = (divergence(&x), vec![Column { weight: 1e6, ..Column::default() }; 12]);
        half_step("fpa", &known.v, &known.w.transpose(), &mut x, &mut columns, (5, 0, false), 1).unwrap();
        assert!(columns.iter().all(|c| c.weight == 0.5e6 || c.weight == 8.0), "{columns:?}");
        let undone: Vec<usize> = (0..12).filter(|j| columns[*j].weight == 0.5e6).collect();
        assert!(!undone.is_empty() && divergence(&x) < before, "{columns:?}");
        let mut woken = undone.iter().filter(|j| x[(0, **j)] > 0.0).peekable();
        assert!(first > 0.0 || woken.peek().is_some() && woken.all(|&j| close(x[(0, j)], little(j), 1e-12)));
    }
}

/// Long sparse columns are gathered in groups that fit into the workspace: two of the three in each panel.
#[test]
fn long_sparse_columns_are_solved_like_dense_ones() {
    let known = known_optimum(6, 900, 130, 3, 2, false);
    let settings = DecomposeSettings { tol: 1e-9, threads: 1, ..DecomposeSettings::default() };
    let found = decompose(&crate::common::sparse(&known.v), &known.w, &settings).unwrap();
    assert!(found.unconverged() == 0 && found.divergence() - known.optimum <= found.gap() + 1e-9);
}

/// A thread that waits for a `Decomposer` to pack its dictionary may start another decomposition.
#[test]
fn a_decomposer_serves_a_pool() {
    let mut random = Random(9);
    let (w, v) = (random.matrix(50_000, 20, 0.1, 1.0), random.counts(50_000, 1, 0.2, 9.0));
    // The decomposer has a thread of its own, because it is created outside the pool. The pool's thread waits
    // for that one, and meanwhile starts other jobs.
    let shared = std::sync::Arc::new((klnmf::Decomposer::new(&w, 1).unwrap(), v));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let settings = DecomposeSettings { tol: 1.0, max_iter: 1, ..DecomposeSettings::default() };
    let (send, receive) = std::sync::mpsc::channel();
    for _ in 0..12 {
        let (shared, settings, send) = (shared.clone(), settings.clone(), send.clone());
        pool.spawn(move || send.send(shared.0.decompose(&shared.1, &settings).is_ok()).unwrap());
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    for _ in 0..12 {
        let done = receive.recv_timeout(std::time::Duration::from_secs(60));
        assert!(done.expect("no thread waits for itself"));
    }
}

/// The dual point of the steps gives a better bound than the one computed from the weights. With the latter
/// alone the gaps after sixty steps are 0.020 and 1.02, with both 0.0078 and 0.52.
#[test]
fn the_dual_point_of_the_steps_tightens_the_gap() {
    for (known, gap) in
        [(known_optimum(1, 60, 8, 6, 4, false), 0.012), (known_optimum(4, 40, 8, 12, 5, true), 0.75)]
    {
        assert!(solve(&known, PRIMAL_DUAL, 1e-12, 60).gap() < gap);
    }
}
