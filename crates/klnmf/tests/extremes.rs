//! Numbers at the limits of f64, compared with a 288-bit reference: every reported value is correct,
//! infinite, or an error.

use crate::common::Random;
use crate::common::exact::{BITS, Big, Column, ETA, Truth, big, both, columns, ln, round, show};
use klnmf::{
    DecomposeSettings, Mat, Scalar, Settings, Solution, Solver, Sparse, Status, Update, certificate,
    decompose, factorize, factorize_from,
};
use std::ops::ControlFlow;

/// The values from which entries are drawn.
const VALUES: [f64; 15] = [
    0.0, 5e-324, 1e-320, 2.2e-308, 1e-300, 1e-250, 1e-200, 1e-30, 1.0, 10.0, 1e30, 1e100, 1e200, 1e250, 1e300,
];

const SHAPES: [(usize, usize); 9] = [(1, 1), (2, 2), (3, 2), (2, 3), (1, 2), (2, 1), (3, 3), (1, 3), (3, 1)];

const SOLVERS: [Solver; 6] =
    [Solver::Auto, Solver::Mu, Solver::Mue, Solver::Newton, Solver::Fpa, Solver::Simplex];

/// A matrix V with given factors.
struct Case {
    name: String,
    v: Mat<f64>,
    w: Mat<f64>,
    h: Mat<f64>,
}

const CASES: usize = 540;

/// The inputs: every shape with both ranks, V from all values or some of them, and many kinds of factors.
///
/// The divergence of entirely random factors mostly overflows f64, so half of the factors come from the
/// middle of the range.
fn cases() -> impl Iterator<Item = Case> {
    let pick = |random: &mut Random, rows: usize, cols: usize, from: &[f64]| {
        Mat::from_fn(rows, cols, |_, _| from[(random.bits() % from.len() as u64) as usize])
    };
    let tiny = &VALUES[..7];
    let middle = &VALUES[7..11];
    let small = [0.0, 5e-324, 1e-320, 1e-30, 1.0, 10.0];
    let large = &VALUES[8..];
    (0..CASES).map(move |number| {
        let mut random = Random(number as u64);
        let (n, m) = SHAPES[number % 9];
        let r = 1 + number / 9 % 2;
        let of_v = [&VALUES[..], &small, tiny, large, &[5e-324, 1.0, 10.0]][number / 18 % 5];
        let of_factors = [middle, &VALUES, &small, &[1.0, 10.0], large, tiny][number / 90 % 6];
        let v = pick(&mut random, n, m, of_v);
        let (w, h) = (pick(&mut random, n, r, of_factors), pick(&mut random, r, m, of_factors));
        Case { name: format!("case {number}"), v, w, h }
    })
}

/// Collects all failures, so that one run shows them.
#[derive(Default)]
struct Wrong {
    checked: usize,
    messages: Vec<String>,
}

impl Wrong {
    fn check(&mut self, right: bool, message: impl FnOnce() -> String) {
        self.checked += 1;
        if !right {
            self.messages.push(message());
        }
    }

    /// Compares a divergence and a gap with the reference.
    fn compare(
        &mut self,
        what: &str,
        truth: &Truth,
        divergence: f64,
        gap: f64,
        describe: &dyn Fn() -> String,
    ) {
        self.check(truth.agrees(divergence), || {
            let (d, tolerance) = (show(&truth.divergence), round(&truth.tolerance));
            format!("{what}: divergence {divergence:e}, truth {d:e} ± {tolerance:.1e}; {}", describe())
        });
        self.check(truth.bounded_by(gap), || {
            let (distance, tolerance) = (show(&truth.distance()), round(&truth.gap_tolerance));
            format!("{what}: gap {gap:e}, distance {distance:e} ± {tolerance:.1e}; {}", describe())
        });
        self.check(truth.tight(gap), || {
            let (formula, tolerance) = (show(&truth.formula), round(&truth.tolerance));
            format!("{what}: gap {gap:e}, formula {formula:e} ± {tolerance:.1e}; {}", describe())
        });
    }

    fn error(&mut self, what: &str, error: &klnmf::Error) {
        let text = error.to_string();
        self.check(!text.contains('\n') && !text.is_empty(), || format!("{what}: message {text:?}"));
    }

    fn end(self) {
        let (wrong, all) = (self.messages.len(), self.checked);
        if std::env::var_os("EXTREMES_ALL").is_some() {
            self.messages.iter().for_each(|m| println!("{m}"));
        }
        // Evenly spaced, because neighbours mostly fail for the same reason.
        let some: Vec<&str> = self.messages.iter().step_by(wrong / 12 + 1).map(|m| m.as_str()).collect();
        assert!(wrong == 0, "{wrong} of {all} checks fail:\n{}", some.join("\n"));
    }
}

fn rows_of(m: &Mat<f64>) -> String {
    let row = |i: usize| (0..m.cols()).map(|j| format!("{:e}", m[(i, j)])).collect::<Vec<_>>().join(", ");
    format!("[{}]", (0..m.rows()).map(row).collect::<Vec<_>>().join("; "))
}

fn describe(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> String {
    if v.as_slice().len() > 9 {
        return format!("V is {} × {}", v.rows(), v.cols());
    }
    format!("V = {}, W = {}, H = {}", rows_of(v), rows_of(w), rows_of(h))
}

fn check_certificate(wrong: &mut Wrong, name: &str, v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) {
    let truth = both(v, w, h);
    for (storage, known) in
        [("dense", certificate(v, w, h, 1)), ("sparse", certificate(&Sparse::from_dense(v), w, h, 1))]
    {
        match known {
            Err(error) => wrong.error(name, &error),
            Ok(known) => {
                let describe = || describe(v, w, h);
                let what = |side| format!("{name}, {storage}, {side}");
                wrong.compare(&what("H"), &truth[0], known.divergence, known.gap_h, &describe);
                wrong.compare(&what("W"), &truth[1], known.divergence, known.gap_w, &describe);
            }
        }
    }
}

#[test]
fn certificates_are_valid() {
    let mut wrong = Wrong::default();
    for Case { name, v, w, h } in cases() {
        check_certificate(&mut wrong, &name, &v, &w, &h);
    }
    wrong.end();
}

/// All values for a single entry and for both factors.
#[test]
fn certificates_of_single_entries_are_valid() {
    let mut wrong = Wrong::default();
    let one = |x: f64| Mat::from_rows(&[&[x]]);
    for v in VALUES {
        for w in VALUES {
            for h in VALUES {
                check_certificate(&mut wrong, "1 × 1", &one(v), &one(w), &one(h));
            }
        }
    }
    wrong.end();
}

#[test]
fn decompositions_are_certified_correctly() {
    let (mut wrong, mut settled) = (Wrong::default(), 0);
    let settings = DecomposeSettings { tol: 1e-8, max_iter: 400, threads: 1, ..DecomposeSettings::default() };
    for Case { name, v, w, .. } in cases() {
        for (storage, found) in [
            ("dense", decompose(&v, &w, &settings)),
            ("sparse", decompose(&Sparse::from_dense(&v), &w, &settings)),
        ] {
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    wrong.error(&name, &error);
                    continue;
                }
            };
            let all = found.columns.iter().all(|c| c.converged);
            wrong.check((found.status == Status::Converged) == all, || format!("{name}: {:?}", found.status));
            for (j, (info, truth)) in found.columns.iter().zip(columns(&v, &w, &found.h)).enumerate() {
                // The gap belongs to the best dual point found, whatever the formula gives at these weights.
                let truth = Truth { tame: false, ..truth };
                let what = format!("{name}, {storage}, column {j}");
                let describe = || describe(&v, &w, &found.h);
                wrong.compare(&what, &truth, info.divergence, info.gap, &describe);
                let finite = info.divergence.is_finite() && info.gap.is_finite();
                wrong.check(!info.converged || finite, || format!("{what}: {info:?}"));
                settled += usize::from(info.converged);
            }
        }
    }
    wrong.end();
    // Infinite values everywhere would pass the checks above.
    assert!(settled >= 1000, "only {settled} columns converged");
}

#[test]
fn factorisations_are_certified_correctly() {
    let (mut wrong, mut solved) = (Wrong::default(), 0);
    for (number, Case { name, v, .. }) in cases().enumerate() {
        for (place, solver) in SOLVERS.into_iter().enumerate() {
            for rank in [1, 2] {
                let settings = Settings { solver, max_iter: 50, threads: 1, ..Settings::default() };
                let stored = (number + place + rank) % 2 == 0;
                let found = if stored {
                    factorize(&Sparse::from_dense(&v), rank, &settings)
                } else {
                    factorize(&v, rank, &settings)
                };
                let what = format!("{name}, {solver:?}, rank {rank}{}", if stored { ", sparse" } else { "" });
                match found {
                    Err(error) => wrong.error(&what, &error),
                    Ok(found) => {
                        check_solution(&mut wrong, &what, &v, &found);
                        solved += usize::from(found.info.divergence.is_finite());
                    }
                }
            }
        }
    }
    wrong.end();
    // Errors everywhere would pass the checks above.
    assert!(solved >= 4500, "only {solved} factorisations have a finite divergence");
}

fn check_solution<T: Scalar>(wrong: &mut Wrong, what: &str, v: &Mat<f64>, found: &Solution<T>) {
    let (w, h) = (found.w.cast::<f64>(), found.h.cast::<f64>());
    let describe = || describe(v, &w, &h);
    let good = w.as_slice().iter().chain(h.as_slice()).all(|x| x.is_finite() && *x >= 0.0);
    wrong.check(good, || format!("{what}: {}", describe()));
    if !good {
        return;
    }
    let (info, truth) = (&found.info, both(v, &w, &h));
    wrong.compare(&format!("{what}, H"), &truth[0], info.divergence, info.gap_h, &describe);
    wrong.compare(&format!("{what}, W"), &truth[1], info.divergence, info.gap_w, &describe);
    let finite = info.divergence.is_finite() && info.gap_w.is_finite() && info.gap_h.is_finite();
    wrong.check(found.status != Status::Converged || finite, || {
        format!("{what}: {:?} with {info:?}; {}", found.status, describe())
    });
}

/// Columns that fill whole registers and several tiles, with some extreme entries.
#[test]
fn long_columns_are_certified_correctly() {
    let mut wrong = Wrong::default();
    let settings = DecomposeSettings { tol: 1e-8, max_iter: 400, threads: 1, ..DecomposeSettings::default() };
    for (number, (n, m)) in [(9, 2), (17, 3), (33, 2), (140, 2), (3, 140)].into_iter().enumerate() {
        for flavour in 0..4 {
            let mut random = Random((4 * number + flavour) as u64);
            let mut pick = |rows: usize, cols: usize, rare: u64, extremes: &[f64]| {
                Mat::from_fn(rows, cols, |_, _| match random.bits() % rare {
                    0 => extremes[(random.bits() % extremes.len() as u64) as usize],
                    _ => 1.0 + 9.0 * random.uniform(),
                })
            };
            let extremes = [&VALUES[..3], &VALUES[..9], &VALUES[..], &VALUES[9..14]][flavour];
            let (v, r) = (pick(n, m, 6, extremes), 1 + flavour % 2);
            let (w, h) = (pick(n, r, 9, &[1e-30, 1e30]), pick(r, m, 9, &[1e-30, 1e30]));
            let name = format!("{n} × {m}, flavour {flavour}");
            check_certificate(&mut wrong, &name, &v, &w, &h);
            for found in [decompose(&v, &w, &settings), decompose(&Sparse::from_dense(&v), &w, &settings)] {
                let found = found.unwrap();
                for (j, (info, truth)) in found.columns.iter().zip(columns(&v, &w, &found.h)).enumerate() {
                    let (truth, what) = (Truth { tame: false, ..truth }, format!("{name}, column {j}"));
                    let describe = || format!("{:?}", found.h.col(j));
                    wrong.compare(&what, &truth, info.divergence, info.gap, &describe);
                }
            }
        }
    }
    wrong.end();
}

/// The inputs for single precision, whose range ends at 1.4e-45 and 3.4e38.
#[test]
fn single_precision_is_certified_correctly() {
    let from = [0.0f32, 1e-45, 1e-40, 1.2e-38, 1e-30, 1e-10, 1.0, 10.0, 1e10, 1e30, 1e38];
    let mut wrong = Wrong::default();
    for number in 0..120 {
        let mut random = Random(number as u64);
        let mut pick = |rows, cols, from: &[f32]| {
            Mat::from_fn(rows, cols, |_, _| from[(random.bits() % from.len() as u64) as usize])
        };
        let ((n, m), r) = (SHAPES[number % 9], 1 + number / 9 % 2);
        let v = pick(n, m, if number % 4 < 2 { &from } else { &[1e-45, 1.0, 10.0] });
        let of_factors = if number % 2 == 0 { &from[..] } else { &from[4..9] };
        let (w, h) = (pick(n, r, of_factors), pick(r, m, of_factors));
        let (v64, w64) = (v.cast::<f64>(), w.cast::<f64>());
        let name = format!("f32 case {number}");
        if let Ok(known) = certificate(&v, &w, &h, 1) {
            let h64 = h.cast::<f64>();
            let (truth, describe) = (both(&v64, &w64, &h64), || describe(&v64, &w64, &h64));
            wrong.compare(&name, &truth[0], known.divergence, known.gap_h, &describe);
            wrong.compare(&name, &truth[1], known.divergence, known.gap_w, &describe);
        }
        let settings = DecomposeSettings { tol: 1e-5, max_iter: 400, threads: 1, ..Default::default() };
        if let Ok(found) = decompose(&v, &w, &settings) {
            let h64 = found.h.cast::<f64>();
            for (info, truth) in found.columns.iter().zip(columns(&v64, &w64, &h64)) {
                let truth = Truth { tame: false, ..truth };
                wrong.compare(&name, &truth, info.divergence, info.gap, &|| describe(&v64, &w64, &h64));
            }
        }
        for solver in SOLVERS {
            let settings = Settings { solver, max_iter: 50, threads: 1, ..Settings::default() };
            match factorize(&v, r, &settings) {
                Err(error) => wrong.error(&name, &error),
                Ok(found) => check_solution(&mut wrong, &format!("{name}, {solver:?}"), &v64, &found),
            }
        }
    }
    wrong.end();
}

/// D and the gaps in plain f64 arithmetic that is careful near the limits. It shows that the tolerances can
/// be met.
#[test]
fn careful_arithmetic_meets_the_tolerances() {
    let mut wrong = Wrong::default();
    for Case { name, v, w, h } in cases() {
        let [by_columns, by_rows] = both(&v, &w, &h);
        let (divergence, gap_h) = careful(&v, &w, &h);
        let (_, gap_w) = careful(&v.transpose(), &h.transpose(), &w.transpose());
        let describe = || describe(&v, &w, &h);
        wrong.compare(&format!("{name}, H"), &by_columns, divergence, gap_h, &describe);
        wrong.compare(&format!("{name}, W"), &by_rows, divergence, gap_w, &describe);
    }
    wrong.end();
}

/// The sums over the columns of D and of the gap, infinite on overflow.
fn careful(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> (f64, f64) {
    let (mut divergence, mut gap) = (0.0, 0.0);
    for j in 0..v.cols() {
        let z: Vec<f64> = (0..v.rows()).map(|i| (0..w.cols()).map(|k| w[(i, k)] * h[(k, j)]).sum()).collect();
        let (a, model, sum) = (v.col(j), z.iter().sum::<f64>(), v.col(j).iter().sum::<f64>());
        let support: Vec<usize> = (0..a.len()).filter(|&i| a[i] > 0.0).collect();
        let log = |i: usize| {
            let t = a[i] / z[i];
            if t.is_normal() { t.ln() } else { a[i].ln() - z[i].ln() }
        };
        let logs: f64 = support.iter().map(|&i| a[i] * log(i)).sum();
        let own = logs - sum + model;
        let own = if own.is_nan() { f64::INFINITY } else { own.max(0.0) };
        // A quotient of sums, none of which may underflow.
        let ratio = |k: usize| {
            let top = w.col(k).iter().fold(0.0, |x: f64, y| x.max(*y));
            let g: f64 = support.iter().map(|&i| w[(i, k)] / top * (a[i] / z[i])).sum();
            g / w.col(k).iter().map(|x| x / top).sum::<f64>()
        };
        let live = (0..w.cols()).filter(|&k| w.col(k).iter().any(|x| *x > 0.0));
        let s = live.map(ratio).fold(0.0, f64::max);
        let bound = if sum == 0.0 { model } else { model - sum + sum * s.ln() };
        let bound = if bound.is_finite() && (s.is_normal() || sum == 0.0) { bound.max(0.0) } else { own };
        divergence += own;
        gap += bound.min(own);
    }
    (divergence, gap)
}

fn exactly(x: f64, y: &Big) -> bool {
    (x - round(y)).abs() <= 1e-14 * x.abs()
}

/// The logarithm of the reference against that of the crate it is built on.
#[test]
fn the_logarithm_of_the_oracle_is_right() {
    let mut random = Random(5);
    for _ in 0..60 {
        let x = f64::from_bits(random.bits() >> 1);
        for x in [x, 1.0 + 1e-10 * random.uniform(), ETA, f64::MAX] {
            if x.is_finite() && x > 0.0 {
                let x = big(x) * big(x);
                let (own, other) = (ln(&x), x.ln());
                let error = if own > other { &own - &other } else { &other - &own };
                assert!(error <= (big(1.0) + &other * &other) >> (BITS as isize - 10), "{x}");
            }
        }
    }
}

/// The optima of the reference have no duality gap, which proves that they are optimal.
#[test]
fn the_optima_of_the_oracle_are_optimal() {
    let mut proved = 0;
    for Case { name, v, w, .. } in cases() {
        for j in 0..v.cols() {
            let column = Column::new(v.col(j), &w);
            if let Some(best) = column.best() {
                let gap = column.gap(&best).expect("a finite divergence");
                // The gap is of first order in the error of the weights.
                let small = big(1e-40) * &column.total;
                assert!(gap <= small && gap >= -small, "{name}, column {j}: {:e}", round(&gap));
                proved += 1;
            }
        }
    }
    assert!(proved > 500, "{proved}");
}

/// One atom, two entries: ten times ln 2, and four times that for shares of one and three quarters.
#[test]
fn the_oracle_reproduces_known_values() {
    let w = Mat::from_rows(&[&[1.0], &[1.0]]);
    let column = Column::new(&[0.0, 10.0], &w);
    assert!(exactly(10.0 * 2f64.ln(), &column.optimum().unwrap()));
    let identity = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]);
    assert!(exactly(0.0, &Column::new(&[3.0, 1e-300], &identity).optimum().unwrap()));
    assert!(Column::new(&[3.0, 1e-300], &Mat::from_rows(&[&[1.0], &[0.0]])).optimum().is_none());
    let halves = Mat::from_rows(&[&[1.0, 1.0], &[1.0, 3.0]]);
    let best = Column::new(&[1.0, 100.0], &halves).best().unwrap();
    assert!(best[0] == big(0.0) && exactly(25.25, &best[1]));
    let with_first = |a: &[f64], k: &Mat<f64>, x: f64| Column::new(a, k).optimum_with_first(x).unwrap();
    assert!(exactly(3.0 * 3f64.ln() - 2.0, &with_first(&[3.0, 1e-300], &identity, 1.0)));
    let shared = Mat::from_rows(&[&[1.0, 1.0]]);
    assert!(with_first(&[5.0], &shared, 2.0) < big(1e-60));
    assert!(exactly(5.0 * (5f64 / 7.0).ln() + 2.0, &with_first(&[5.0], &shared, 7.0)));
}

fn valid(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> [Truth; 2] {
    let truth = both(v, w, h);
    let known = certificate(v, w, h, 1).unwrap();
    let expected = show(&truth[0].divergence);
    assert!(truth[0].agrees(known.divergence), "{known:?}, the divergence is {expected:e}");
    for (truth, gap) in truth.iter().zip([known.gap_h, known.gap_w]) {
        assert!(truth.bounded_by(gap), "{known:?}, the distance is {:e}", show(&truth.distance()));
    }
    truth
}

/// 5e-324/10 underflows. Its logarithm used to be −∞.
#[test]
fn a_subnormal_entry_counts() {
    let v = Mat::from_rows(&[&[10.0, 5e-324], &[10.0, 10.0]]);
    for solver in SOLVERS {
        let settings = Settings { solver, tol: 1e-9, max_iter: 5000, ..Settings::default() };
        let found = factorize(&v, 1, &settings).unwrap();
        valid(&v, &found.w, &found.h);
        // 10·ln(27/16), from the margins 10, 20 and 20, 10 of ΣV = 30.
        let (truth, reported) = (10.0 * (27f64 / 16.0).ln(), found.info.divergence);
        assert!((truth - 5.23248).abs() < 1e-5 && (reported - truth).abs() < 1e-4, "{solver:?}: {reported}");
    }
}

#[test]
fn a_subnormal_entry_counts_in_a_decomposition() {
    let v = Mat::from_rows(&[&[10.0, 5e-324], &[10.0, 10.0]]);
    let w = Mat::from_rows(&[&[1.0], &[1.0]]);
    for found in [
        decompose(&v, &w, &DecomposeSettings::default()).unwrap(),
        decompose(&Sparse::from_dense(&v), &w, &DecomposeSettings::default()).unwrap(),
    ] {
        let reported = found.columns[1].divergence;
        assert!((reported - 10.0 * 2f64.ln()).abs() < 1e-12, "{reported}, the divergence is 6.93147");
    }
}

/// The quotient 1e-250/1e100 underflows too, although neither number is close to subnormal.
#[test]
fn a_quotient_that_underflows_counts() {
    let v = Mat::from_rows(&[&[1e100, 1e-250], &[1e100, 1e100]]);
    let one = Mat::from_rows(&[&[1.0], &[1.0]]);
    let found = decompose(&v, &one, &DecomposeSettings::default()).unwrap();
    let reported = found.columns[1].divergence;
    assert!((reported / 1e100 - 2f64.ln()).abs() < 1e-12, "{reported:e}, the divergence is 6.93147e99");
    let truth = valid(&v, &one, &Mat::from_rows(&[&[1e100, 5e99]]));
    assert!(exactly(1e100 * 2f64.ln(), truth[0].divergence.as_ref().unwrap()));
    for solver in SOLVERS {
        let settings = Settings { solver, tol: 1e-9, max_iter: 5000, ..Settings::default() };
        let found = factorize(&v, 1, &settings).unwrap();
        let (truth, reported) = ((27f64 / 16.0).ln(), found.info.divergence / 1e100);
        assert!((reported - truth).abs() < 1e-5, "{solver:?}: {reported}e100, the optimum is {truth}e100");
    }
}

/// If s underflows to 0, Σa·ln s must not become −∞: D = 10 and the optimum is 0, in H and in W.
#[test]
fn a_ratio_that_underflows_is_no_certificate() {
    let one = |x: f64| Mat::from_rows(&[&[x]]);
    valid(&one(5e-324), &one(10.0), &one(1.0));
    valid(&one(1e-250), &one(1e100), &one(1.0));
    // Only the gap is affected here: the second row has D = 10, and its optimum is 0.
    valid(&Mat::from_rows(&[&[1.0], &[5e-324]]), &Mat::from_rows(&[&[1.0], &[10.0]]), &one(1.0));
}

/// V, W, H, WH, V/(WH) and Kᵀ1 are all normal, but g = Kᵀ(V/(WH)) = 1e-350 underflows: D = 1 and the optimum
/// is 0.
#[test]
fn a_gradient_that_underflows_is_no_certificate() {
    let one = |x: f64| Mat::from_rows(&[&[x]]);
    valid(&one(1e-200), &one(1e-150), &one(1e150));
    valid(&one(1e-200), &one(1e150), &one(1e-150));
    // The other atom keeps g from being all zero, but the ratio that is lost is the largest.
    let (v, w) = (Mat::from_rows(&[&[1e-200], &[1e-100]]), Mat::from_rows(&[&[1e-150, 0.0], &[0.0, 1.0]]));
    valid(&v, &w, &Mat::from_rows(&[&[1e100], &[1.0]]));
    valid(&v, &w, &Mat::from_rows(&[&[1e149], &[1e10]]));
}

/// a/z = 1e460 overflows and must not certify anything, but the divergence 1e200·(ln(1e460) − 1) is finite.
#[test]
fn a_ratio_that_overflows_has_a_divergence() {
    let one = |x: f64| Mat::from_rows(&[&[x]]);
    let truth = valid(&one(1e200), &one(1e-130), &one(1e-130));
    assert!(exactly(1e200 * (460.0 * 10f64.ln() - 1.0), truth[0].divergence.as_ref().unwrap()));
    valid(&Mat::from_rows(&[&[1e200], &[1.0]]), &Mat::from_rows(&[&[1e-250], &[1.0]]), &one(1.0));
}

/// Kᵀ1 = 5e-324 has only one bit: g = 1.42·Kᵀ1 is rounded to Kᵀ1, and s to 1.
#[test]
fn a_subnormal_dictionary_is_no_certificate() {
    let one = |x: f64| Mat::from_rows(&[&[x]]);
    valid(&one(7e-16), &one(5e-324), &one(1e308));
    valid(&one(7e-16), &one(1e308), &one(5e-324));
    let (v, w) = (Mat::from_rows(&[&[7e-16], &[1e-16]]), Mat::from_rows(&[&[5e-324], &[1e-323]]));
    valid(&v, &w, &one(1e308));
    let found = decompose(&v, &w, &DecomposeSettings::default()).unwrap();
    let (info, truth) = (found.columns[0], &columns(&v, &w, &found.h)[0]);
    assert!(
        truth.agrees(info.divergence) && truth.bounded_by(info.gap),
        "{info:?} {}",
        show(&truth.distance())
    );
}

/// Products below 2e-308 lose digits, and so does the logarithm of WH that a gap rests on.
#[test]
fn a_product_that_loses_digits_is_no_certificate() {
    let mut wrong = Wrong::default();
    for tiny in [1e-162, 2.6e-162, 3e-162, 8e-162, 1.3e-161, 3e-161, 1e-159, 1e-157, 1e-154] {
        for v in [1e-16, 1e-30, 1e-100, 1e-300, 1e-318] {
            let (v, h) = (Mat::from_rows(&[&[v], &[v]]), Mat::from_rows(&[&[tiny]]));
            let w = Mat::from_rows(&[&[1.0], &[1e-162]]);
            check_certificate(&mut wrong, &format!("digits of {tiny:e}"), &v, &w, &h);
            check_certificate(&mut wrong, "transposed", &v.transpose(), &h, &w.transpose());
            if let Ok(found) = decompose(&v, &w, &DecomposeSettings::default()) {
                let (info, truth) = (found.columns[0], &columns(&v, &w, &found.h)[0]);
                let describe = || describe(&v, &w, &found.h);
                wrong.check(truth.bounded_by(info.gap), || format!("decompose: {info:?}, {}", describe()));
            }
        }
    }
    wrong.end();
}

/// Kᵀ1 overflows though K and Kx do not: D = ln(27/16) is a number. An error would do, an infinity is wrong.
#[test]
fn a_dictionary_with_an_infinite_sum_has_a_divergence() {
    let (v, w) = (Mat::from_rows(&[&[1.0], &[3.0]]), Mat::from_rows(&[&[1e308], &[1e308]]));
    let h = Mat::from_rows(&[&[2e-308]]);
    match certificate(&v, &w, &h, 1) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(_) => drop(valid(&v, &w, &h)),
    }
    match decompose(&v, &w, &DecomposeSettings::default()) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(found) => {
            let (info, truth) = (found.columns[0], &columns(&v, &w, &found.h)[0]);
            let right = truth.agrees(info.divergence) && truth.bounded_by(info.gap);
            assert!(right, "{info:?} at {:?}", found.h.col(0));
        }
    }
}

/// Subnormal weights have few digits. The reported values belong to the returned weights.
#[test]
fn subnormal_weights_are_measured_as_they_are() {
    let (v, w) = (Mat::from_rows(&[&[3.0], &[1.0]]), Mat::from_rows(&[&[1e307], &[9e307]]));
    for scale in [1e-10, 1e-14, 1e-15, 3e-16] {
        let v = Mat::from_fn(2, 1, |i, _| scale * v[(i, 0)]);
        let found = decompose(&v, &w, &DecomposeSettings::default()).unwrap();
        let (info, truth) = (found.columns[0], &columns(&v, &w, &found.h)[0]);
        let (d, distance) = (show(&truth.divergence), show(&truth.distance()));
        let right = truth.agrees(info.divergence) && truth.bounded_by(info.gap);
        assert!(right, "{info:?} at {:?}, divergence {d:e}, distance {distance:e}", found.h.col(0));
    }
}

/// D = 1e307·ln(1e300) overflows at the optimum, where every gap is zero. That may be an error, but must not
/// count as converged.
#[test]
fn nothing_converges_with_an_infinite_divergence() {
    let (v, w) = (Mat::from_rows(&[&[1e307], &[1e-300]]), Mat::from_rows(&[&[1e-300], &[1.0]]));
    let h = Mat::from_rows(&[&[1e307]]);
    for solver in SOLVERS {
        let settings = Settings { solver, update: Update::H, max_iter: 50, ..Settings::default() };
        if let Ok(found) = factorize_from(&v, w.clone(), h.clone(), &settings, |_| ControlFlow::Continue(()))
        {
            let finite = found.info.divergence.is_finite() || found.status != Status::Converged;
            assert!(finite, "{solver:?}: {:?}, {:?}", found.status, found.info);
        }
    }
    if let Ok(found) = decompose(&v, &w, &DecomposeSettings::default()) {
        assert!(found.status != Status::Converged || found.divergence().is_finite(), "{found:?}");
    }
}

/// The iterate has converged, but the final scaling turns 5e-324·W into zero, so the final D is infinite.
#[test]
fn scaling_at_the_end_does_not_spoil_convergence() {
    let v = Mat::from_rows(&[&[5e-324, 5e-324, 1.0], &[1.0, 5e-324, 5e-324]]);
    for solver in SOLVERS {
        let settings = Settings { solver, max_iter: 50, ..Settings::default() };
        if let Ok(found) = factorize(&v, 1, &settings) {
            let finite = found.info.divergence.is_finite() || found.status != Status::Converged;
            assert!(finite, "{solver:?}: {:?}, {:?}, {:?}", found.status, found.info, found.h);
        }
    }
}

/// The gap of W with its first column fixed.
#[test]
fn gaps_with_fixed_columns_are_valid() {
    let mut wrong = Wrong::default();
    for Case { name, v, w, h } in cases().filter(|case| case.w.cols() == 2) {
        let settings = Settings { solver: Solver::Mue, fixed: 1, max_iter: 0, ..Settings::default() };
        let Ok(found) = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(())) else { continue };
        let describe = || describe(&v, &found.w, &found.h);
        let mut truth = both(&v, &found.w, &found.h)[1].clone();
        let dictionary = found.h.transpose();
        let rows = v.transpose();
        let row = |i| Column::new(rows.col(i), &dictionary).optimum_with_first(found.w[(i, 0)]);
        truth.optimum = (0..v.rows()).map(row).try_fold(big(0.0), |sum, x| Some(sum + x?));
        // The formula is another one, and has the terms x·Kᵀ1 and x·g besides: they are at most Σz and Σa.
        (truth.formula, truth.gap_tolerance) = (None, truth.gap_tolerance * big(2.0));
        wrong.compare(&name, &truth, found.info.divergence, found.info.gap_w, &describe);
    }
    wrong.end();
}

/// Rows, columns and atoms of zeros, next to entries at both limits.
#[test]
fn zero_lines_among_extremes_are_certified_correctly() {
    let v = Mat::from_rows(&[&[0.0, 0.0, 0.0], &[5e-324, 0.0, 10.0], &[1e200, 0.0, 1e-320]]);
    let mut wrong = Wrong::default();
    let w = Mat::from_rows(&[&[0.0, 0.0], &[10.0, 0.0], &[1e30, 0.0]]);
    check_certificate(
        &mut wrong,
        "zero lines",
        &v,
        &w,
        &Mat::from_rows(&[&[1.0, 0.0, 1.0], &[1.0, 1.0, 0.0]]),
    );
    for solver in SOLVERS {
        for rank in [1, 2] {
            let settings = Settings { solver, max_iter: 50, ..Settings::default() };
            if let Ok(found) = factorize(&v, rank, &settings) {
                check_solution(&mut wrong, &format!("{solver:?}, rank {rank}"), &v, &found);
            }
        }
    }
    wrong.end();
}
