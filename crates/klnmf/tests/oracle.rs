//! The convex problem against a generic convex solver.

use crate::common::{Random, oracle};
use klnmf::{DecomposeSettings, decompose};

#[test]
fn a_generic_convex_solver_finds_the_same_optimum() {
    for (seed, (n, r, zeros)) in
        [(40, 6, 0.0), (40, 6, 0.5), (12, 20, 0.3), (60, 30, 0.8), (5, 1, 0.0)].into_iter().enumerate()
    {
        let mut random = Random(900 + seed as u64);
        let w = random.matrix(n, r, 0.0, 1.0);
        let v = random.counts(n, 6, zeros, 40.0);
        let found =
            decompose(&v, &w, &DecomposeSettings { tol: 1e-8, ..DecomposeSettings::default() }).unwrap();
        assert_eq!(found.unconverged(), 0, "{n} × {r}");
        let k_sum = w.col_sums();
        for (j, info) in found.columns.iter().enumerate() {
            let support: Vec<usize> = (0..n).filter(|&i| v[(i, j)] > 0.0).collect();
            let a: Vec<f64> = support.iter().map(|&i| v[(i, j)]).collect();
            let sum: f64 = a.iter().sum();
            if sum == 0.0 {
                continue;
            }
            let rows: Vec<Vec<f64>> = support.iter().map(|&i| (0..r).map(|k| w[(i, k)]).collect()).collect();
            let x = oracle::minimise(&k_sum, &rows, &a);
            let linear: f64 = x.iter().zip(&k_sum).map(|(x, k)| x * k).sum();
            let log = |(a, row): (&f64, &Vec<f64>)| {
                let z: f64 = row.iter().zip(&x).map(|(k, x)| k * x).sum();
                a * (a / z).ln()
            };
            let theirs = linear - sum + a.iter().zip(&rows).map(log).sum::<f64>();
            // Theirs is feasible, so the certificate bounds it, and it equals ours to their tolerance.
            assert!(
                theirs >= info.divergence - info.gap - 1e-9 * sum,
                "{theirs} below {}",
                info.divergence - info.gap
            );
            assert!((theirs - info.divergence).abs() <= 1e-6 * sum, "{theirs} {}", info.divergence);
        }
    }
}
