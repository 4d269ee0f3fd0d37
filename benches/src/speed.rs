//! Times of single accesses, against what the machine can do.

use crate::cases::uniform;
use crate::rows::Rows;
use crate::thread_count;
use klnmf::{Mat, Matrix, Problem, Scalar, Settings, Solver};
use std::ops::ControlFlow;
use std::time::Instant;

/// Products with the n × m matrix in an access, 2·n·m·r flops each: a pass is two, an access a pass for each
/// factor. Five steps of fpa on one factor take twelve: two to open, one for the first step, two for each of
/// the others, one to compare.
fn products(solver: Solver) -> f64 {
    if solver == Solver::Fpa { 4.8 } else { 4.0 }
}

/// All figures of one matrix. What is compared is measured in turn, so that noise hits all alike.
pub fn measure<T: Scalar>(v: Matrix<'_, T>, rank: usize, runs: usize, rows: &mut Rows) -> anyhow::Result<()> {
    let threads = thread_count(0);
    let solvers = [Solver::Mu, Solver::Fpa];
    let (mut gemm, mut four, mut certificate) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let mut times = [[f64::INFINITY; 2]; 2];
    for _ in 0..runs.max(1) {
        if !v.is_sparse() {
            let (n, m) = (v.rows(), v.cols());
            let product = Gemm::<T>::new((n, rank, m), [false; 2]).least_seconds();
            gemm = gemm.min(product);
            let back = Gemm::<T>::new((rank, n, m), [true, false]).least_seconds()
                + Gemm::<T>::new((n, m, rank), [false, true]).least_seconds();
            four = four.min(2.0 * product + back);
        }
        for (times, solver) in times.iter_mut().zip(solvers) {
            for (time, threads) in times.iter_mut().zip([1, threads]) {
                *time = time.min(access(v, rank, solver, threads)?);
            }
        }
        certificate = certificate.min(seconds_of_certificate(v, rank)?);
    }
    if !v.is_sparse() {
        rows.tell("GEMM on one thread", flops(v, rank) / gemm / 1e9, "GF/s");
        rows.tell("mu access over its four products by GEMM", times[0][0] / four, "x");
    }
    for ([one, all], solver) in times.into_iter().zip(solvers) {
        let name = solver.name();
        rows.tell(&format!("{name} access on one thread"), 1e3 * one, "ms");
        rows.tell(&format!("{name} access on {threads} threads"), 1e3 * all, "ms");
        rows.tell(&format!("{name} speed-up of {threads} threads"), one / all, "x");
        if !v.is_sparse() {
            rows.tell(&format!("{name} share of GEMM"), 100.0 * products(solver) * gemm / one, "%");
        }
    }
    rows.tell("certificate over one mu access", certificate / times[0][0], "x");
    Ok(())
}

/// Of one product with the n × m matrix.
fn flops<T: Scalar>(v: Matrix<'_, T>, rank: usize) -> f64 {
    2.0 * (v.rows() * v.cols() * rank) as f64
}

/// How the time of an access grows when one of n, m, r doubles.
pub fn growth(runs: usize, rows: &mut Rows) -> anyhow::Result<()> {
    let sizes = [(250, 2000, 32), (500, 2000, 32), (250, 4000, 32), (250, 2000, 64)];
    let data = sizes.map(|(n, m, _)| uniform::<f64>(n, m));
    let times = in_turn(runs, |i| access((&data[i]).into(), sizes[i].2, Solver::Mu, 1), sizes.len())?;
    for (what, time) in ["n", "m", "r"].into_iter().zip(&times[1..]) {
        rows.tell(&format!("time when {what} doubles"), time / times[0], "x");
    }
    Ok(())
}

/// How it grows when the stored entries double.
pub fn growth_sparse<T: Scalar>(
    once: Matrix<'_, T>,
    twice: Matrix<'_, T>,
    runs: usize,
    rows: &mut Rows,
) -> anyhow::Result<()> {
    let times = in_turn(runs, |i| access([once, twice][i], 10, Solver::Mu, 1), 2)?;
    rows.tell("time when nnz doubles", times[1] / times[0], "x");
    Ok(())
}

/// The least time of each of `n` measurements, made in turn.
fn in_turn(runs: usize, time: impl Fn(usize) -> anyhow::Result<f64>, n: usize) -> anyhow::Result<Vec<f64>> {
    let mut best = vec![f64::INFINITY; n];
    for _ in 0..runs.max(1) {
        for (i, best) in best.iter_mut().enumerate() {
            *best = best.min(time(i)?);
        }
    }
    Ok(best)
}

/// Seconds of the quickest access, without the certificates.
pub fn access<T: Scalar>(
    v: Matrix<'_, T>,
    rank: usize,
    solver: Solver,
    threads: usize,
) -> anyhow::Result<f64> {
    // The first ten accesses warm the caches up, and fpa itself.
    let settings =
        Settings { solver, threads, max_iter: 30, tol: 0.0, check_every: Some(1), ..Settings::default() };
    let problem = Problem::new(v, settings.threads)?;
    let (w, h) = problem.init(rank, &settings)?;
    let (mut best, mut last) = (f64::INFINITY, None);
    problem.factorize_from(w, h, &settings, |info| {
        if let Some((iteration, seconds)) = last.replace((info.iteration, info.seconds))
            && iteration >= 10
        {
            best = best.min((info.seconds - seconds) / (info.iteration - iteration) as f64);
        }
        ControlFlow::Continue(())
    })?;
    Ok(best)
}

/// Seconds of one certificate on one thread: both gaps and the divergence.
fn seconds_of_certificate<T: Scalar>(v: Matrix<'_, T>, rank: usize) -> anyhow::Result<f64> {
    let settings = Settings {
        solver: Solver::Mu,
        threads: 1,
        max_iter: 10,
        tol: 0.0,
        check_every: Some(1),
        ..Settings::default()
    };
    let problem = Problem::new(v, settings.threads)?;
    let (w, h) = problem.init(rank, &settings)?;
    let (mut best, mut last) = (f64::INFINITY, None::<(Instant, f64)>);
    problem.factorize_from(w, h, &settings, |info| {
        let now = Instant::now();
        if let Some((then, worked)) = last.replace((now, info.seconds)) {
            best = best.min((now - then).as_secs_f64() - (info.seconds - worked));
        }
        ControlFlow::Continue(())
    })?;
    Ok(best)
}

/// The general product of an n × k and a k × m matrix on one thread.
struct Gemm<T> {
    a: Mat<T>,
    b: Mat<T>,
    c: Mat<T>,
    /// From column to column and from row to row of a and b.
    strides: [(isize, isize); 2],
}

impl<T: Scalar> Gemm<T> {
    /// `turned` says which of the two are stored by rows.
    fn new((n, k, m): (usize, usize, usize), turned: [bool; 2]) -> Self {
        let strides = |rows: usize, cols: usize, turned: bool| {
            if turned { (1, cols as isize) } else { (rows as isize, 1) }
        };
        let strides = [strides(n, k, turned[0]), strides(k, m, turned[1])];
        Self { a: uniform(n, k), b: uniform(k, m), c: Mat::zeros(n, m), strides }
    }

    /// Of the quickest of ten calls.
    fn least_seconds(&mut self) -> f64 {
        (0..10).map(|_| self.seconds()).fold(f64::INFINITY, f64::min)
    }

    /// Of one call.
    fn seconds(&mut self) -> f64 {
        let Self { a, b, c, strides: [(a_col, a_row), (b_col, b_row)] } = self;
        let (n, k, m) = (c.rows(), a.cols(), c.cols());
        let begun = Instant::now();
        // Safety: the three matrices have the sizes that are given here, with strides for columns or for
        // rows, and c is borrowed mutably.
        unsafe {
            gemm::gemm(
                n,
                m,
                k,
                c.as_mut_slice().as_mut_ptr(),
                n as isize,
                1,
                false,
                a.as_slice().as_ptr(),
                *a_col,
                *a_row,
                b.as_slice().as_ptr(),
                *b_col,
                *b_row,
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
        begun.elapsed().as_secs_f64()
    }
}
