//! Real data, from the folder that KLNMF_DATA names; without it the test says that it was skipped.

use klnmf::{Scalar, Settings, Solver, factorize_from, init};
use klnmf_io::{Stored, Table, read};
use std::ops::ControlFlow;
use std::path::PathBuf;

fn load<T: Scalar>(name: &str) -> Option<Table<T>> {
    let Some(folder) = std::env::var_os("KLNMF_DATA").map(PathBuf::from) else {
        eprintln!("skipped: KLNMF_DATA does not name the folder of the real data ({name})");
        return None;
    };
    Some(read(&folder.join(name)).unwrap())
}

/// The default solver ends no worse than multiplicative updates after the same number of iterations, within 0.5 %.
fn compare<T: Scalar>(matrix: &Stored<T>, rank: usize, iterations: usize) {
    let v = matrix.view();
    let run = |solver| {
        let (w, h) = init(v, rank, &Settings { seed: 0, ..Settings::default() }).unwrap();
        let settings =
            Settings { solver, max_iter: iterations, check_every: Some(iterations), ..Settings::default() };
        let found = factorize_from(v, w, h, &settings, |_| ControlFlow::Continue(())).unwrap();
        assert!(found.w.as_slice().iter().chain(found.h.as_slice()).all(|x| x.is_finite()));
        assert!(found.info.relative_gap().is_finite());
        found.info.divergence
    };
    let (fpa, mu) = (run(Settings::default().solver), run(Solver::Mu));
    assert!(fpa <= 1.005 * mu, "{fpa} against {mu}");
}

#[test]
fn mutations() {
    if let Some(table) = load::<f64>("mutations/brca560.npy") {
        compare(&table.matrix, 8, 1000);
    }
}

#[test]
fn faces() {
    if let Some(table) = load::<f32>("faces/cbcl_leeseung_uint8.npy") {
        compare(&table.matrix, 49, 200);
    }
}

#[test]
fn newsgroups() {
    if let Some(table) = load::<f32>("text/newsgroups.npz") {
        compare(&table.transpose().matrix, 10, 100);
    }
}

#[test]
fn dense_and_sparse_storage_agree_on_real_data() {
    let Some(table) = load::<f64>("mutations/brca560.npy") else { return };
    let Stored::Dense(dense) = table.matrix else { panic!("dense file") };
    let sparse = klnmf::Sparse::from_dense(&dense);
    for solver in [Solver::Fpa, Solver::Mu] {
        let settings = Settings { solver, max_iter: 50, tol: 0.0, ..Settings::default() };
        let (a, b) = (
            klnmf::factorize(&dense, 8, &settings).unwrap(),
            klnmf::factorize(&sparse, 8, &settings).unwrap(),
        );
        let (a, b) = (a.info.divergence, b.info.divergence);
        assert!((a - b).abs() <= 1e-10 * a, "{solver:?}: {a} {b}");
    }
}
