//! The convex problem, timed against multiplicative updates and a generic convex solver: `cargo bench -p
//! klnmf-bench --bench decompose`.
//!
//! A dictionary is fixed, and every column is to be certified to a relative gap of 1e-6. Real data are used
//! if KLNMF_DATA names their folder: mutation catalogues against the COSMIC signatures. Otherwise, and always
//! for the sparse case, the data are generated. Multiplicative updates are stopped when the *sum* of the gaps
//! is that small, which is less than is asked of us. The generic solver works the first hundred columns one
//! by one; its time is scaled up to all of them.

#![allow(missing_docs)]

#[path = "../crates/klnmf/tests/common/oracle.rs"]
mod oracle;

use klnmf::{DecomposeSettings, Mat, Matrix, Order, Settings, Solver, Sparse, Update};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const TOL: f64 = 1e-6;
/// Multiplicative updates get no more time than this.
const PATIENCE: Duration = Duration::from_secs(60);
/// Columns for the generic solver.
const SOME: usize = 100;

fn main() {
    let data = std::env::var_os("KLNMF_DATA").map(std::path::PathBuf::from);
    let (name, v, w) = match &data {
        Some(folder) => {
            let read =
                |name: &str| klnmf_io::read_dense(&folder.join("mutations").join(name)).expect("a matrix");
            ("brca560 and COSMIC", read("brca560.npy"), read("cosmic_v3.4_sbs_grch37.npy"))
        }
        None => {
            let w = Mat::from_fn(96, 86, |i, k| noise(i * 86 + k).powi(6) + 1e-4);
            ("generated, dense", Mat::from_fn(96, 560, |i, j| (60.0 * noise(7 + i * 560 + j)).floor()), w)
        }
    };
    compare(name, (&v).into(), &w);
    let (words, documents, topics) = (5000, 4000, 50);
    let w = Mat::from_fn(words, topics, |i, k| noise(i * topics + k).powi(8) + 1e-9);
    let made: klnmf::Result<Sparse<f64>> = Sparse::from_triplets(words, documents, Order::Columns, |put| {
        (0..documents * 100).try_for_each(|e| put((noise(e).powi(2) * words as f64) as usize, e / 100, 1.0))
    });
    compare("generated, sparse", (&made.expect("a valid matrix")).into(), &w);
}

fn compare(name: &str, v: Matrix<'_, f64>, w: &Mat<f64>) {
    println!("{name}: {} × {}, {} atoms", v.rows(), v.cols(), w.cols());
    let begun = Instant::now();
    let found =
        klnmf::decompose(v, w, &DecomposeSettings { tol: TOL, ..Default::default() }).expect("valid data");
    let ours = begun.elapsed().as_secs_f64();
    println!(
        "  klnmf        {ours:9.3} s, {} of {} columns certified",
        v.cols() - found.unconverged(),
        v.cols()
    );

    let even = v.sum() / (v.cols() * w.cols()) as f64;
    let h = Mat::from_fn(w.cols(), v.cols(), |_, _| even.max(1e-3));
    let settings = Settings {
        solver: Solver::Mu,
        update: Update::H,
        tol: TOL,
        max_iter: usize::MAX,
        time_limit: Some(PATIENCE),
        ..Default::default()
    };
    let begun = Instant::now();
    let mu =
        klnmf::factorize_from(v, w.clone(), h, &settings, |_| ControlFlow::Continue(())).expect("valid data");
    let time = begun.elapsed().as_secs_f64();
    println!(
        "  mu           {time:9.3} s, relative gap {:.1e} after {} updates: {:.0} times as long",
        mu.info.gap_h / mu.info.sum,
        mu.info.iteration,
        time / ours
    );

    let k_sum = w.col_sums();
    let mut columns: Vec<(Vec<Vec<f64>>, Vec<f64>)> = vec![Default::default(); SOME.min(v.cols())];
    for (i, j, a) in v.entries() {
        if j < columns.len() && a > 0.0 {
            columns[j].0.push((0..w.cols()).map(|k| w[(i, k)]).collect());
            columns[j].1.push(a);
        }
    }
    let begun = Instant::now();
    let weights: Vec<Vec<f64>> = columns.iter().map(|(rows, a)| oracle::minimise(&k_sum, rows, a)).collect();
    let time = begun.elapsed().as_secs_f64() * v.cols() as f64 / columns.len() as f64;
    let worst = columns.iter().zip(&weights).zip(&found.columns).map(|(((rows, a), x), info)| {
        let sum: f64 = a.iter().sum();
        let linear: f64 = x.iter().zip(&k_sum).map(|(x, k)| x * k).sum();
        let log =
            |(a, row): (&f64, &Vec<f64>)| a * (a / row.iter().zip(x).map(|(k, x)| k * x).sum::<f64>()).ln();
        (linear - sum + a.iter().zip(rows).map(log).sum::<f64>() - info.divergence) / sum.max(1.0)
    });
    let (low, high) = worst.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| (l.min(d), h.max(d)));
    println!(
        "  clarabel     {time:9.3} s on one thread, {:.0} times as long; its optima less ours, over the sum: \
         {low:.1e} to {high:.1e}",
        time / ours
    );
}

/// Numbers between 0 and 1 that look random.
fn noise(n: usize) -> f64 {
    let mut z = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
