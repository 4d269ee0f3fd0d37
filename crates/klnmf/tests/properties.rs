//! Random shapes and contents: every call returns an error or finite, certified factors.

use klnmf::{DecomposeSettings, Mat, Settings, Solver, Sparse, decompose, factorize};
use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence, RngSeed, TestRunner};

/// Matrices from 1 × 1 to 9 × 9 with many zeros, empty rows and columns, and entries of very different size.
fn matrices() -> impl Strategy<Value = Mat<f64>> {
    let entry = prop_oneof![4 => Just(0.0), 4 => 1.0..10.0, 1 => Just(1e-30), 1 => Just(1e12)];
    (1usize..9, 1usize..9).prop_flat_map(move |(n, m)| {
        prop::collection::vec(entry.clone(), n * m).prop_map(move |data| Mat::new(n, m, data).unwrap())
    })
}

/// The file in which failing cases are recorded and from which they are replayed. The path is explicit
/// because proptest looks for a `lib.rs` above the source file, and there is none above the tests.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/properties.proptest-regressions");

/// After the recorded cases, the same cases in every run, so that a failure is due to the change under test.
/// PROPTEST_RNG_SEED and PROPTEST_CASES search further.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed =
        if std::env::var_os("PROPTEST_RNG_SEED").is_some() { config.rng_seed } else { RngSeed::Fixed(1) };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 64 };
    let failure_persistence: Option<Box<dyn FailurePersistence>> =
        Some(Box::new(FileFailurePersistence::Direct(RECORDED)));
    ProptestConfig { cases, rng_seed, failure_persistence, ..config }
}

/// A runner with this configuration runs every recorded case, and then the others.
#[test]
fn recorded_cases_are_replayed() {
    let record = std::fs::read_to_string(RECORDED).unwrap();
    let recorded = record.lines().filter(|line| line.starts_with("cc ")).count();
    assert!(recorded > 0, "{RECORDED} holds no cases");
    let config = ProptestConfig { cases: 5, ..config() };
    let runs = std::cell::Cell::new(0);
    TestRunner::new(config)
        .run(&any::<u64>(), |_| {
            runs.set(runs.get() + 1);
            Ok(())
        })
        .unwrap();
    assert_eq!(runs.get(), recorded + 5);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn factorisations_are_finite_and_certified(v in matrices(), rank in 1usize..12, seed in 0u64..4) {
        for solver in Solver::ALL {
            let settings = Settings { seed, max_iter: 30, threads: 1, ..crate::common::settings_of(solver) };
            let found = factorize(&v, rank, &settings);
            if rank > v.rows() * v.cols() {
                prop_assert!(found.is_err());
                continue;
            }
            let found = found.unwrap();
            prop_assert!(found.w.as_slice().iter().chain(found.h.as_slice()).all(|x| x.is_finite() && *x >= 0.0));
            prop_assert!(found.info.divergence >= 0.0 && found.info.gap_w >= 0.0 && found.info.gap_h >= 0.0);
            if solver.spec().dense_only {
                continue;
            }
            let stored = factorize(&Sparse::from_dense(&v), rank, &settings).unwrap();
            let scale = found.info.sum + 1e-300;
            for found in [&found, &stored] {
                let naive = crate::common::naive_divergence(&v, &found.w, &found.h);
                prop_assert!((found.info.divergence - naive).abs() <= 1e-9 * scale, "{solver:?} {} {naive}", found.info.divergence);
            }
            // The others decide by the sign of a change, which rounding errors may flip.
            if solver == Solver::Mu {
                let (a, b) = (found.info.divergence, stored.info.divergence);
                prop_assert!((a - b).abs() <= 1e-6 * scale, "dense {a}, sparse {b}");
            }
        }
    }

    #[test]
    fn decompositions_are_certified(v in matrices(), seed in 0u64..1000, r in 1usize..7) {
        let w = crate::common::Random(seed).matrix(v.rows(), r, 0.0, 1.0);
        let settings = DecomposeSettings { tol: 1e-6, max_iter: 20_000, threads: 1, ..DecomposeSettings::default() };
        let dense = decompose(&v, &w, &settings).unwrap();
        let stored = decompose(&Sparse::from_dense(&v), &w, &settings).unwrap();
        for (j, (a, b)) in dense.columns.iter().zip(&stored.columns).enumerate() {
            let sum: f64 = v.col(j).iter().sum();
            prop_assert!(a.converged && b.converged, "column {j}: {a:?} {b:?}");
            prop_assert!(a.gap <= 1.1e-6 * sum && b.gap <= 1.1e-6 * sum);
            prop_assert!((a.divergence - b.divergence).abs() <= 2.2e-6 * sum);
        }
    }
}
