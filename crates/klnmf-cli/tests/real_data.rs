//! Real data, from the folder that KLNMF_DATA names; without it these tests are ignored.

use klnmf::{Scalar, Settings, Solver, factorize_from, init};
use klnmf_io::{Stored, Table, read};
use std::ops::ControlFlow;
use std::path::PathBuf;

fn load<T: Scalar>(name: &str) -> Table<T> {
    let folder = std::env::var_os("KLNMF_DATA").expect("KLNMF_DATA names the folder of the real data");
    read(&PathBuf::from(folder).join(name)).unwrap()
}

/// The default solver ends no worse than multiplicative updates after the same number of iterations, within
/// 0.5 %.
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
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn mutations() {
    let table = load::<f64>("mutations/brca560.npy");
    compare(&table.matrix, 8, 1000);
}

#[test]
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn faces() {
    let table = load::<f32>("faces/cbcl_leeseung_uint8.npy");
    compare(&table.matrix, 49, 200);
}

#[test]
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn newsgroups() {
    let table = load::<f32>("text/newsgroups.npz");
    compare(&table.transpose().matrix, 10, 100);
}

#[test]
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn dense_and_sparse_storage_agree_on_real_data() {
    let table = load::<f64>("mutations/brca560.npy");
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
