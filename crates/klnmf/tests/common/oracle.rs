//! A generic convex solver as a reference: the interior-point method of the crate `clarabel`, with
//! exponential cones.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, ExponentialConeT, IPSolver, NonnegativeConeT, SupportedConeT,
};

/// Minimises Σ_k (Kᵀ1)_k x_k − Σ a_i ln (Kx)_i over x ≥ 0 for one column, where `rows` are the rows of K with
/// a > 0. Returns the weights.
///
/// The variables are x and one t_i for each entry, with (t_i, 1, (Kx)_i) in the exponential cone and hence
/// t_i ≤ ln (Kx)_i.
pub fn minimise(k_sum: &[f64], rows: &[Vec<f64>], a: &[f64]) -> Vec<f64> {
    let (r, p) = (k_sum.len(), a.len());
    let cost: Vec<f64> = k_sum.iter().copied().chain(a.iter().map(|a| -a)).collect();
    // A·v + s = b: first s = x ≥ 0, then three rows for each entry.
    let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
    let mut put = |row: usize, col: usize, value: f64| {
        i.push(row);
        j.push(col);
        v.push(value);
    };
    (0..r).for_each(|k| put(k, k, -1.0));
    let mut b = vec![0.0; r + 3 * p];
    for (n, row) in rows.iter().enumerate() {
        let at = r + 3 * n;
        put(at, r + n, -1.0);
        b[at + 1] = 1.0;
        row.iter().enumerate().filter(|(_, x)| **x != 0.0).for_each(|(k, x)| put(at + 2, k, -x));
    }
    let constraints = CscMatrix::new_from_triplets(b.len(), r + p, i, j, v);
    let cones: Vec<SupportedConeT<f64>> =
        std::iter::once(NonnegativeConeT(r)).chain((0..p).map(|_| ExponentialConeT())).collect();
    let settings = DefaultSettingsBuilder::default().verbose(false).build().expect("valid settings");
    let nothing = CscMatrix::zeros((r + p, r + p));
    let mut solver =
        DefaultSolver::new(&nothing, &cost, &constraints, &b, &cones, settings).expect("a valid problem");
    solver.solve();
    solver.solution.x[..r].iter().map(|x| x.max(0.0)).collect()
}
