//! The authors' own program as the oracle: their traces to nine digits.

use klnmf::{Mat, Settings, Solver, factorize_from};
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
