//! The passes over the data, timed one by one: `cargo bench -p klnmf-bench --bench kernels`.
//!
//! A time is that of one access (a step on each factor) or of one certificate, on one thread, without set-up.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use klnmf::{DecomposeSettings, Mat, Matrix, Order, Scalar, Settings, Solver, Sparse};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

fn dense<T: Scalar>(n: usize, m: usize) -> Mat<T> {
    Mat::from_fn(n, m, |i, j| T::from_f64(((i * 7919 + j * 104_729) % 750) as f64 + 0.5))
}

fn sparse<T: Scalar>(rows: usize, cols: usize, per_column: usize) -> Sparse<T> {
    let made: klnmf::Result<_> = Sparse::from_triplets(rows, cols, Order::Columns, |put| {
        (0..cols * per_column).try_for_each(|e| put((e * 7919 + e * e * 31) % rows, e / per_column, T::ONE))
    });
    made.expect("a valid matrix")
}

/// Time of `accesses` accesses as the solver counts it, certificates left out.
fn accesses<T: Scalar>(v: Matrix<'_, T>, rank: usize, solver: Solver, accesses: u64) -> Duration {
    let settings =
        Settings { solver, threads: 1, tol: 0.0, max_iter: 10 + accesses as usize, ..Settings::default() };
    let settings = Settings { check_every: Some(10), ..settings };
    let (w, h) = klnmf::init(v, rank, &settings).expect("a start");
    let (mut warm, mut last) = (0.0, (0, 0.0));
    klnmf::factorize_from(v, w, h, &settings, |info| {
        if info.iteration <= 10 {
            warm = info.seconds;
        }
        last = (info.iteration, info.seconds);
        ControlFlow::Continue(())
    })
    .expect("a factorisation");
    let per_access = (last.1 - warm) / (last.0.max(11) - 10) as f64;
    Duration::from_secs_f64(per_access * accesses as f64)
}

fn passes<T: Scalar>(c: &mut Criterion) {
    let (faces, words) = (dense::<T>(361, 2429), sparse::<T>(5000, 2000, 60));
    for solver in [Solver::Mu, Solver::Fpa] {
        for rank in [10, 49] {
            c.bench_function(&format!("{} {} dense 361x2429 r={rank}", solver.name(), T::NAME), |b| {
                b.iter_custom(|n| accesses((&faces).into(), rank, solver, n));
            });
        }
        c.bench_function(&format!("{} {} sparse 5000x2000 r=10", solver.name(), T::NAME), |b| {
            b.iter_custom(|n| accesses((&words).into(), 10, solver, n));
        });
    }
    let (w, h) = klnmf::init(&faces, 49, &Settings::default()).expect("a start");
    c.bench_function(&format!("certificate {} dense 361x2429 r=49", T::NAME), |b| {
        b.iter(|| black_box(klnmf::certificate(&faces, &w, &h, 0)));
    });
    let settings = DecomposeSettings { threads: 1, ..DecomposeSettings::default() };
    c.bench_function(&format!("decompose {} dense 361x200 r=49", T::NAME), |b| {
        let v = dense::<T>(361, 200);
        b.iter(|| black_box(klnmf::decompose(&v, &w, &settings)));
    });
}

criterion_group! {
    name = kernels;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(2));
    targets = passes::<f64>, passes::<f32>
}
criterion_main!(kernels);
