//! The streaming solver: how often it reads V, what each pass certifies, and how far it gets.

use crate::common::{Random, close, product, sparse};
use crate::streamed::Columns;
use klnmf::{
    LineBuffer, Lines, Mat, Matrix, Problem, Scalar, Settings, Solver, Update, certificate, factorize,
    factorize_from, init,
};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

fn settings() -> Settings {
    Settings { solver: Solver::Stream, tol: 0.0, max_iter: 12, check_every: Some(1), ..Settings::default() }
}

/// Counts that six parts explain well.
fn planted(n: usize, m: usize) -> Mat<f64> {
    let mut random = Random(7);
    let power = |x: f64| x.powi(4);
    let w = Mat::from_fn(n, 6, |_, _| 4.0 * power(random.uniform()));
    let h = Mat::from_fn(6, m, |_, _| 8.0 * power(random.uniform()));
    let mean = product(&w, &h);
    Mat::from_fn(n, m, |i, j| (mean[(i, j)] + random.uniform()).floor())
}

/// Compares what a run says after every pass with a certificate of the factors that it reports.
fn certified<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, settings: &Settings) {
    let problem = Problem::new(v, 2).unwrap();
    let (w, h) = problem.init(5, settings).unwrap();
    let (mut run, mut decreases) = (problem.run(w, h, settings).unwrap(), 0);
    let mut last = run.info().divergence;
    while run.ended().is_none() {
        run.advance();
        let (state, said) = (run.state(), *run.info());
        let [wt, h] = ["w", "h"].map(|name| state.arrays[name].cast::<T>());
        let found = match settings.fixed {
            0 => problem.certificate(&wt.transpose(), &h).unwrap(),
            // The certificate of a run that begins there knows which parts are fixed.
            _ => {
                let info = *problem.run(wt.transpose(), h, settings).unwrap().info();
                assert!(close(said.gap_w, info.gap_w, 1e-9), "gap_w {} for {}", said.gap_w, info.gap_w);
                problem.certificate(&wt.transpose(), &state.arrays["h"].cast::<T>()).unwrap()
            }
        };
        assert!(close(said.divergence, found.divergence, 1e-13), "{} {found:?}", said.divergence);
        assert!(close(said.gap_h, found.gap_h, 1e-9), "gap_h {} {found:?}", said.gap_h);
        assert!(settings.fixed > 0 || close(said.gap_w, found.gap_w, 1e-9), "gap_w {} {found:?}", said.gap_w);
        decreases += usize::from(said.divergence < last);
        last = said.divergence;
    }
    assert!(decreases >= 5, "only {decreases} passes decreased the divergence");
}

#[test]
fn each_pass_comes_with_its_certificate() {
    let v = planted(40, 900);
    certified(&v, &settings());
    certified(&sparse(&v), &settings());
    certified(&v.cast::<f32>(), &settings());
    certified(&v, &Settings { fixed: 2, ..settings() });
    certified(&v, &Settings { update: Update::W, ..settings() });
}

/// Lines that count how many of them are read.
struct Counted(Columns, AtomicUsize);

impl Lines for Counted {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn is_sparse(&self) -> bool {
        self.0.is_sparse()
    }

    fn longest(&self) -> usize {
        self.0.longest()
    }

    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String> {
        self.1.fetch_add(lines.len(), Ordering::Relaxed);
        self.0.read_f64(lines, to)
    }
}

#[test]
fn a_pass_reads_every_column_once_and_no_row() {
    let stored = sparse(&planted(40, 900));
    let counted = |v: Matrix<'_, f64>| Counted(Columns::of(v), AtomicUsize::new(0));
    let (columns, rows) = (counted((&stored).into()), counted(Matrix::from(&stored).transpose()));
    let problem = Problem::<f64>::from_lines(&columns, &rows, 2).unwrap();
    let settings = settings();
    let (w, h) = problem.init(4, &settings).unwrap();
    let mut run = problem.run(w, h, &settings).unwrap();
    for pass in 0..5 {
        [&columns.1, &rows.1].into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
        run.advance();
        let read = [&columns.1, &rows.1].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(read, [900, 0], "pass {pass}");
    }
}

#[test]
fn few_passes_come_close_to_the_optimum() {
    let v = planted(40, 900);
    let best = factorize(&v, 6, &Settings { tol: 1e-5, ..Settings::default() }).unwrap().info.divergence;
    for data in [Matrix::from(&v), Matrix::from(&sparse(&v))] {
        let found =
            |max_iter| factorize(data, 6, &Settings { max_iter, ..settings() }).unwrap().info.divergence;
        let (ten, many) = (found(10), found(60));
        assert!(ten < 1.05 * best && many < 1.01 * best, "{ten} and {many} for {best}");
    }
}

/// The online passes ruin a start that is better than what they find. The method then goes back to it.
#[test]
fn a_good_start_is_kept() {
    let v = planted(40, 900);
    let good = factorize(&v, 5, &Settings { tol: 1e-6, ..Settings::default() }).unwrap();
    let (mut last, mut passes) = (f64::INFINITY, 0);
    let found = factorize_from(&v, good.w, good.h, &settings(), |info| {
        assert!(info.divergence <= last * (1.0 + 1e-12), "{last} to {}", info.divergence);
        (last, passes) = (info.divergence, passes + 1);
        ControlFlow::Continue(())
    });
    assert_eq!(passes, 13);
    assert!(found.unwrap().info.divergence <= good.info.divergence * (1.0 + 1e-12));
}

/// With one factor fixed there are no online passes, which would change both.
#[test]
fn a_fixed_factor_keeps_its_bits() {
    let v = planted(40, 100);
    for update in [Update::H, Update::W] {
        let settings = Settings { update, max_iter: 6, ..settings() };
        let (w, h) = init(&v, 5, &settings).unwrap();
        let start = certificate(&v, &w, &h, 1).unwrap().divergence;
        let found = factorize_from(&v, w.clone(), h.clone(), &settings, |_| ControlFlow::Continue(()));
        let found = found.unwrap();
        assert!(found.info.divergence < 0.99 * start);
        assert_eq!((found.w == w, found.h == h), (update == Update::H, update == Update::W));
    }
}

/// The scaled start, two online passes over the only batch, and a pass with a fixed W, by their formulas.
#[test]
fn passes_follow_their_formulas() {
    let (v, settings) = (planted(9, 12), settings());
    let problem = Problem::new(&v, 1).unwrap();
    let (mut w, mut h) = problem.init(3, &settings).unwrap();
    // It gets the least share.
    w[(0, 0)] = 0.0;
    let mut run = problem.run(w.clone(), h.clone(), &settings).unwrap();
    let mut next = |passes: usize| {
        (0..passes).for_each(|_| run.advance());
        let state = run.state();
        ["next.w", "next.h", "w", "h", "em"].map(|name| state.arrays[name].clone())
    };
    let near = |a: &Mat<f64>, b: &Mat<f64>, relative| {
        a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| close(*a, *b, relative))
    };
    let ratio = |w: &Mat<f64>, h: &Mat<f64>| {
        let model = product(w, h);
        Mat::from_fn(9, 12, |i, j| v[(i, j)] / model[(i, j)])
    };
    let (rows, sum, b) = (v.row_sums(), v.row_sums().iter().sum::<f64>(), h.row_sums());
    let least = |i: usize| 1e-9 * rows[i] / sum;
    let parts = Mat::from_fn(9, 3, |i, k| w[(i, k)] * b[k]);
    let all = parts.row_sums();
    w = Mat::from_fn(9, 3, |i, k| (parts[(i, k)] * rows[i] / (sum * all[i])).max(least(i)));
    h = Mat::from_fn(3, 12, |k, j| h[(k, j)] / b[k] * sum);
    let [now_w, now_h, ..] = next(0);
    assert!(near(&now_w.transpose(), &w, 1e-12) && near(&now_h, &h, 1e-12));
    for pass in 0..2 {
        for _ in 0..20 {
            let (g, c) = (product(&w.transpose(), &ratio(&w, &h)), w.col_sums());
            h = Mat::from_fn(3, 12, |k, j| h[(k, j)] * g[(k, j)] / c[k]);
        }
        let (rate, g) = (f64::from(pass + 2).powf(-0.6), product(&ratio(&w, &h), &h.transpose()));
        w = Mat::from_fn(9, 3, |i, k| (w[(i, k)] * (1.0 - rate + rate / sum * g[(i, k)])).max(least(i)));
        let [now_w, now_h, ..] = next(1);
        assert!(near(&now_w.transpose(), &w, 1e-9) && near(&now_h, &h, 1e-9), "pass {pass}");
    }
    let [now_w, _, wt, h, em] = next(1);
    assert!(near(&wt.transpose(), &w, 1e-9));
    let (g, b, model) = (product(&ratio(&w, &h), &h.transpose()), h.row_sums(), product(&w, &h));
    assert!(near(&em.transpose(), &Mat::from_fn(9, 3, |i, k| w[(i, k)] * g[(i, k)] / b[k]), 1e-8));
    // W moves to the minimum of the quadratic model of every row.
    let q = |i: usize, k: usize, l: usize| -> f64 {
        (0..12).map(|j| h[(k, j)] * h[(l, j)] * v[(i, j)] / model[(i, j)].powi(2)).sum()
    };
    let mut best = w.clone();
    for _ in 0..500 {
        for (i, k) in (0..27).map(|at| (at / 3, at % 3)) {
            let bend: f64 = (0..3).map(|l| q(i, k, l) * (best[(i, l)] - w[(i, l)])).sum();
            best[(i, k)] = (best[(i, k)] - (b[k] - g[(i, k)] + bend) / q(i, k, k)).max(0.1 * w[(i, k)]);
        }
    }
    assert!(near(&now_w.transpose(), &best, 0.02), "{now_w:?} for {best:?}");
}
