//! The file of a stored state.

use crate::common::*;
use klnmf::{Mat, Problem, Settings, Solver};
use klnmf_io::{Checkpoint, data_hash_text, fingerprint, read_checkpoint, write_checkpoint};
use std::fs;
use std::ops::ControlFlow;

fn data() -> Mat<f64> {
    Mat::from_fn(12, 17, |i, j| ((i * 7 + j * 3) % 5 + (i * j) % 4) as f64)
}

fn settings(solver: Solver) -> Settings {
    let rho = matches!(solver, Solver::Admm | Solver::AdmmAuthors).then_some(5.0);
    Settings { solver, rho, tol: 0.0, max_iter: 40, ..Settings::default() }
}

/// The fingerprint of a matrix.
fn of(v: &Mat<f64>) -> String {
    fingerprint::<f64>(&data_hash_text(v.into()), false)
}

/// A checkpoint after so many rounds.
fn checkpoint(v: &Mat<f64>, settings: &Settings, rounds: usize) -> Checkpoint {
    let problem = Problem::new(v, 1).unwrap();
    let (w, h) = problem.init(3, settings).unwrap();
    let mut run = problem.run(w, h, settings).unwrap();
    (0..rounds).for_each(|_| run.advance());
    Checkpoint {
        state: run.state(),
        shape: (v.rows(), v.cols()),
        fingerprint: of(v),
        given: 2,
        part_names: Some(["wind", "rain", "snow"].map(String::from).to_vec()),
    }
}

/// Infinities, which states have before the first round, and all bits of every solver survive the file.
#[test]
fn every_solver_continues_from_a_file() {
    let (file, v) = (temporary("run.npz", b""), data());
    let problem = Problem::new(&v, 1).unwrap();
    let mut infinite = 0;
    for solver in Solver::ALL {
        let settings = settings(solver);
        let (w, h) = problem.init(3, &settings).unwrap();
        let on = |_: &klnmf::Info| ControlFlow::Continue(());
        let whole = problem.run(w, h, &settings).unwrap().to_end(on).unwrap();
        for rounds in [0, 1, 7] {
            let stored = checkpoint(&v, &settings, rounds);
            infinite += stored.state.numbers.values().filter(|x| x.is_infinite()).count();
            write_checkpoint(&file.path, &stored).unwrap();
            let read = read_checkpoint(&file.path).unwrap();
            assert_eq!(read, stored);
            let resumed = problem.resume(&read.state, &settings).unwrap().to_end(on).unwrap();
            assert_eq!((&whole.w, &whole.h), (&resumed.w, &resumed.h), "{solver} after {rounds} rounds");
        }
    }
    assert!(infinite > 0);
}

#[test]
fn another_matrix_or_rank_is_named() {
    let v = data();
    let stored = checkpoint(&v, &settings(Solver::Mu), 2);
    let difference = |v: &Mat<f64>, rank| stored.difference((v.rows(), v.cols()), &of(v), rank);
    assert_eq!(difference(&v, None), None);
    assert_eq!(difference(&v, Some(3)), None);
    let told = |v: &Mat<f64>, rank| difference(v, rank).unwrap();
    assert!(told(&v, Some(4)).contains("rank is 3, not 4"));
    // The sum is the same, so that only the places tell them apart.
    let turned = Mat::from_fn(12, 17, |i, j| v[(11 - i, j)]);
    assert!(told(&turned, None).contains("numbers of V"));
    assert!(told(&v.transpose(), None).contains("its V is 12 × 17, and this one is 17 × 12"));
    let hash = data_hash_text((&v).into());
    assert!(stored.difference((12, 17), &fingerprint::<f32>(&hash, false), None).is_some());
    assert!(stored.difference((12, 17), &fingerprint::<f64>(&hash, true), None).is_some());
}

#[test]
fn other_and_damaged_files_are_refused() {
    let file = temporary("run.npz", b"PK");
    message(read_checkpoint(&file.path));
    assert!(message(read_checkpoint(&fixture("several.npz"))).contains("not a checkpoint"));
    write_checkpoint(&file.path, &checkpoint(&data(), &settings(Solver::Mu), 2)).unwrap();
    let bytes = fs::read(&file.path).unwrap();
    for cut in [10, bytes.len() / 2, bytes.len() - 3] {
        fs::write(&file.path, &bytes[..cut]).unwrap();
        message(read_checkpoint(&file.path));
    }
}
