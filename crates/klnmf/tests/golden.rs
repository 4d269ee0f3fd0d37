//! The authors' own program as the reference: its traces to nine digits.

use klnmf::{DecomposeSettings, Info, Mat, Settings, Solver, Update, algorithm_1, decompose, factorize_from};
use std::fs::File;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn load(name: &str) -> Mat<f64> {
    let file = npyz::NpyFile::new(BufReader::new(File::open(folder().join(name)).unwrap())).unwrap();
    let (shape, order) = (file.shape().to_vec(), file.order());
    let data: Vec<f64> = file.into_vec().unwrap();
    let (n, m) = (shape[0] as usize, shape[1] as usize);
    match order {
        npyz::Order::Fortran => Mat::new(n, m, data).unwrap(),
        npyz::Order::C => Mat::new(m, n, data).unwrap().transpose(),
    }
}

fn check(run: &str, settings: Settings, every: usize) {
    let traces: serde_json::Value =
        serde_json::from_reader(File::open(folder().join("traces.json")).unwrap()).unwrap();
    for case in ["counts", "uniform"] {
        let [v, w, h] = ["V", "W0", "H0"].map(|part| load(&format!("{case}.{part}.npy")));
        let run = &traces[case]["runs"][run];
        let mut trace = Vec::new();
        let settings = Settings { max_iter: 200, tol: 0.0, check_every: Some(every), ..settings.clone() };
        let solution = factorize_from(&v, w, h, &settings, |info| {
            trace.push(info.divergence);
            ControlFlow::Continue(())
        })
        .unwrap();
        let expected: Vec<f64> =
            run["objective"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert_eq!(trace.len(), expected.len() + 1, "the start and one value per loop");
        for (loop_number, (got, want)) in trace[1..].iter().zip(&expected).enumerate() {
            assert!((got - want).abs() <= 1e-9 * want, "{case}, loop {loop_number}: {got} for {want}");
        }
        let want = run["final_divergence"].as_f64().unwrap();
        assert!((solution.info.divergence - want).abs() <= 1e-9 * want);
    }
}

#[test]
fn fpa_repeats_the_authors_program() {
    check("fpa", Settings { solver: Solver::FpaAuthors, ..Settings::default() }, 5);
}

#[test]
fn mu_repeats_the_authors_program() {
    check("mua", Settings { solver: Solver::MuAuthors, ..Settings::default() }, 1);
}

#[test]
fn admm_repeats_the_authors_program() {
    check("admm", Settings { solver: Solver::AdmmAuthors, rho: Some(5.0), ..Settings::default() }, 1);
}

/// A column-major product, entry by entry.
fn product(a: &Mat<f64>, b: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
}

/// The largest singular value, by power iteration.
fn norm(k: &Mat<f64>) -> f64 {
    let kt = k.transpose();
    let mut x = Mat::from_fn(k.cols(), 1, |_, _| 1.0);
    let mut length = 0.0;
    for _ in 0..2000 {
        x = product(&kt, &product(k, &x));
        length = x.as_slice().iter().map(|x| x * x).sum::<f64>().sqrt();
        x.as_mut_slice().iter_mut().for_each(|x| *x /= length);
    }
    length.sqrt()
}

/// The operands of one half of Algorithm 2: K, the columns a, their weights x with x̄, and the dual χ.
struct Half<'a> {
    k: Mat<f64>,
    a: Mat<f64>,
    x: &'a mut Mat<f64>,
    x_bar: &'a mut Mat<f64>,
    chi: Mat<f64>,
}

impl Half<'_> {
    /// y ← y/max Kᵀ(−y)/Kᵀ1 if that exceeds `least`.
    fn project(&mut self, least: f64) {
        let (g, sums) = (product(&self.k.transpose(), &self.chi), self.k.col_sums());
        for j in 0..self.chi.cols() {
            let s = (0..g.rows()).map(|l| -g[(l, j)] / sums[l]).fold(least, f64::max);
            self.chi.col_mut(j).iter_mut().for_each(|y| *y /= s);
        }
    }

    fn steps(&mut self, count: usize) {
        let (p, r) = (self.k.rows() as f64, self.k.cols() as f64);
        let (norm, sums) = (norm(&self.k), self.k.col_sums());
        let mass: f64 = sums.iter().sum();
        for _ in 0..count {
            let z = product(&self.k, self.x_bar);
            for j in 0..z.cols() {
                let sum: f64 = self.a.col(j).iter().sum();
                let sigma = (p / r).sqrt() * mass / (sum * norm);
                for i in 0..z.rows() {
                    let moved = self.chi[(i, j)] + sigma * z[(i, j)];
                    self.chi[(i, j)] = 0.5 * (moved - (moved * moved + 4.0 * sigma * self.a[(i, j)]).sqrt());
                }
            }
            let g = product(&self.k.transpose(), &self.chi);
            for j in 0..z.cols() {
                let tau = (r / p).sqrt() * self.a.col(j).iter().sum::<f64>() / (mass * norm);
                for l in 0..g.rows() {
                    let next = (self.x[(l, j)] - tau * (g[(l, j)] + sums[l])).max(0.0);
                    self.x_bar[(l, j)] = 2.0 * next - self.x[(l, j)];
                    self.x[(l, j)] = next;
                }
            }
        }
    }
}

/// D in every loop of Algorithm 2 as printed, with the sign that converges, in plain loops.
fn algorithm_2(v: &Mat<f64>, w: Mat<f64>, h: Mat<f64>, loops: usize, inner: usize) -> Vec<f64> {
    let (mut wt, mut h) = (w.transpose(), h);
    let (mut wt_bar, mut h_bar) = (wt.clone(), h.clone());
    let model = product(&w, &h);
    let chi = Mat::from_fn(v.rows(), v.cols(), |i, j| -v[(i, j)] / model[(i, j)]);
    let mut start = Half { k: w, a: v.clone(), x: &mut h, x_bar: &mut h_bar, chi };
    start.project(0.0);
    let mut chi = start.chi;
    let mut trace = Vec::new();
    for _ in 0..loops {
        normalize([&mut wt, &mut wt_bar], [&mut h, &mut h_bar]);
        let (k, a) = (h.transpose(), v.transpose());
        let mut half = Half { k, a, x: &mut wt, x_bar: &mut wt_bar, chi: chi.transpose() };
        half.project(1.0);
        half.steps(inner);
        chi = half.chi.transpose();
        normalize([&mut wt, &mut wt_bar], [&mut h, &mut h_bar]);
        let mut half = Half { k: wt.transpose(), a: v.clone(), x: &mut h, x_bar: &mut h_bar, chi };
        half.project(1.0);
        half.steps(inner);
        chi = half.chi;
        trace.push(divergence(v, &product(&wt.transpose(), &h)));
    }
    trace
}

/// Scales the columns of W and W̄ so that those of W sum to 1, and the rows of H and H̄ inversely.
fn normalize(wt: [&mut Mat<f64>; 2], h: [&mut Mat<f64>; 2]) {
    let sums = wt[0].row_sums();
    for m in wt {
        (0..m.cols()).for_each(|i| m.col_mut(i).iter_mut().zip(&sums).for_each(|(x, s)| *x /= s));
    }
    for m in h {
        (0..m.cols()).for_each(|j| m.col_mut(j).iter_mut().zip(&sums).for_each(|(x, s)| *x *= s));
    }
}

fn divergence(v: &Mat<f64>, model: &Mat<f64>) -> f64 {
    let term = |(v, z): (&f64, &f64)| if *v > 0.0 { v * (v / z).ln() - v + z } else { *z };
    v.as_slice().iter().zip(model.as_slice()).map(term).sum()
}

#[test]
fn algorithm_2_is_as_printed() {
    for case in ["counts", "uniform"] {
        let [v, w, h] = ["V", "W0", "H0"].map(|part| load(&format!("{case}.{part}.npy")));
        let settings = Settings {
            solver: Solver::FpaPrinted,
            max_iter: 200,
            tol: 0.0,
            check_every: Some(5),
            ..Settings::default()
        };
        let expected = algorithm_2(&v, w.clone(), h.clone(), 40, 5);
        let mut trace = Vec::new();
        let solution = factorize_from(&v, w, h, &settings, |info| {
            trace.push(info.divergence);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(trace.len(), 41);
        for (number, (got, want)) in trace[1..].iter().zip(&expected).enumerate() {
            assert!((got - want).abs() <= 1e-9 * want, "{case}, loop {number}: {got} for {want}");
        }
        assert!(solution.w.col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
    }
}

#[test]
fn algorithm_1_reaches_strong_duality() {
    for case in ["counts", "uniform"] {
        let [v, w, h] = ["V", "W0", "H0"].map(|part| load(&format!("{case}.{part}.npy")));
        let best = decompose(&v, &w, &DecomposeSettings { tol: 1e-12, ..Default::default() }).unwrap();
        for j in 0..v.cols() {
            let found = algorithm_1(&w, v.col(j), h.col(j), 3000).unwrap();
            let (last, best) = (found.steps[2999], best.columns[j].divergence);
            assert!(last.gap <= 1e-6 * last.primal, "{case}, column {j}: {last:?}");
            assert!((last.primal - best).abs() <= 1e-9 * best);
            assert!(found.steps.iter().all(|step| step.dual <= best * (1.0 + 1e-12)));
            assert!(found.y.iter().all(|y| *y <= 0.0));
        }
    }
}

#[test]
fn algorithm_1_accepts_rows_without_data_or_model() {
    let k = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0], &[0.0, 0.0]]);
    let found = algorithm_1(&k, &[2.0, 5.0, 3.0, 0.0], &[1.0, 1.0], 200).unwrap();
    assert!((found.x[0] - 2.0).abs() < 1e-6 && (found.x[1] - 3.0).abs() < 1e-6);
}

/// With W fixed, Algorithm 2 is Algorithm 1 on every column, and reports the dual value of its χ.
#[test]
fn the_reported_dual_value_is_that_of_the_carried_point() {
    for (case, solver) in
        [("counts", Solver::FpaPrinted), ("uniform", Solver::FpaPrinted), ("counts", Solver::FpaAuthors)]
    {
        let [v, w, h] = ["V", "W0", "H0"].map(|part| load(&format!("{case}.{part}.npy")));
        let columns: Vec<_> =
            (0..v.cols()).map(|j| algorithm_1(&w, v.col(j), h.col(j), 3000).unwrap()).collect();
        let sum = |step: usize, f: &dyn Fn(&klnmf::Values) -> f64| -> f64 {
            columns.iter().map(|column| f(&column.steps[step])).sum()
        };
        let settings = Settings {
            solver,
            update: Update::H,
            inner: Some(1),
            max_iter: 3000,
            tol: 0.0,
            check_every: Some(1),
            ..Settings::default()
        };
        let mut worst = 0.0f64;
        let solution = factorize_from(&v, w.clone(), h.clone(), &settings, |info| {
            let dual = info.dual.expect("it carries a dual point");
            if info.iteration > 0 {
                let step = info.iteration - 1;
                let error = (dual - sum(step, &|s| s.dual)).abs() / sum(step, &|s| s.primal);
                worst = worst.max(error);
                assert!(info.gap_h <= (info.divergence - dual) * (1.0 + 1e-9) + 1e-9 * info.sum);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(worst < 1e-9, "{case}: the dual value differs by {worst}");
        let Info { divergence, dual, .. } = solution.info;
        assert!(divergence - dual.unwrap() <= 1e-6 * divergence);
    }
}
