//! Algorithm 1 of the paper, to be read alongside it.
//!
//! | letter | meaning |
//! | --- | --- |
//! | a, K, x | the data (p), the dictionary (p × q) and the weights (q): a ≈ Kx |
//! | y | the dual point, negative; a row with a = 0 may have y = 0 |
//! | x̄ | the extrapolated weights |
//! | σ, τ | the dual and the primal step of §3.3: σ = √(p/q)·1ᵀK1/(1ᵀa·‖K‖), τ = √(q/p)·1ᵀa/(1ᵀK1·‖K‖) |
//!
//! y ← prox_σF*(y + σKx̄),  x⁺ ← prox_τG(x − τKᵀy),  x̄ ← 2x⁺ − x.
//!
//! It differs from the page in three places, each measured on the data of `tests/golden.rs`:
//!
//! 1. The page has y − σKx̄. With that sign the divergence exceeds 1e56 after 100 steps.
//! 2. The page starts from y = Kx, which is positive, so log(−y) does not exist. Here y = −a/(Kx), divided as
//!    in point 3. From y = Kx the first x does not explain some entries, and its divergence is infinite.
//!    After 30 steps the distances of both starts to the optimum agree to within a fifth.
//! 3. §3.1 divides y by max Kᵀ(−y)/Kᵀ1 if that exceeds 1. Here y is always divided, but only in the dual
//!    value. If the maximum is below 1, this increases the bound.
//!
//! This is for reading and for checking other code. It is dense, in f64, and on one thread.
//! [`decompose`](crate::decompose) solves the same problem much faster.

use crate::linalg::{gram, spectral_norm};
use crate::{Entry, Error, Mat, Result, kernel};

/// The result of [`algorithm_1`].
#[derive(Clone, Debug, PartialEq)]
pub struct Algorithm1 {
    /// The weights.
    pub x: Vec<f64>,
    /// The dual point after the last step, not divided.
    pub y: Vec<f64>,
    /// The values after every step.
    pub steps: Vec<Values>,
}

/// The primal and dual values after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Values {
    /// D(a‖Kx).
    pub primal: f64,
    /// aᵀlog(−y), with y divided so that Kᵀ(−y) ≤ Kᵀ1. No weights have a lower divergence.
    pub dual: f64,
    /// primal − dual.
    pub gap: f64,
}

/// Minimises D(a‖Kx) over x ≥ 0 with `steps` steps of the paper's Algorithm 1 from the weights `x0`, which
/// must explain every positive entry of a.
///
/// ```
/// use klnmf::{Mat, algorithm_1};
/// let k = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0]]);
/// let found = algorithm_1(&k, &[2.0, 5.0, 3.0], &[1.0, 1.0], 200)?;
/// assert!((found.x[0] - 2.0).abs() < 1e-6 && (found.x[1] - 3.0).abs() < 1e-6);
/// assert!(found.steps[199].gap < 1e-9);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn algorithm_1(k: &Mat<f64>, a: &[f64], x0: &[f64], steps: usize) -> Result<Algorithm1> {
    let v = Mat::new(a.len(), 1, a.to_vec())?;
    let start = Mat::new(x0.len(), 1, x0.to_vec())?;
    crate::Matrix::from(&v).check()?;
    crate::check_factors(&v, k, &start)?;
    let (p, q, sum) = (k.rows() as f64, k.cols() as f64, a.iter().sum::<f64>());
    let (kt, k_sum) = (k.transpose(), k.col_sums());
    let (norm, mass) = (spectral_norm(&gram(&kt)), k_sum.iter().sum::<f64>());
    if sum == 0.0 {
        // Without data x = 0 is the optimum, and σ would be infinite.
        let nothing = Values { primal: 0.0, dual: 0.0, gap: 0.0 };
        return Ok(Algorithm1 { x: vec![0.0; x0.len()], y: vec![0.0; a.len()], steps: vec![nothing; steps] });
    }
    let sigma = (p / q).sqrt() * mass / (sum * norm);
    let tau = (q / p).sqrt() * sum / (mass * norm);
    let times = |x: &[f64]| -> Vec<f64> { (0..kt.cols()).map(|i| kernel::dot(kt.col(i), x)).collect() };
    let transposed = |y: &[f64]| -> Vec<f64> { (0..k.cols()).map(|l| kernel::dot(k.col(l), y)).collect() };

    let (mut x, mut x_bar) = (x0.to_vec(), x0.to_vec());
    let mut y: Vec<f64> = a.iter().zip(times(&x)).map(|(a, z)| if *a > 0.0 { -a / z } else { 0.0 }).collect();
    if let Some(row) = y.iter().position(|y| !y.is_finite()) {
        return Err(Error::InfiniteStart(Entry { row, col: 0, value: a[row] }));
    }
    let s = violation(&transposed(&y), &k_sum);
    y.iter_mut().for_each(|y| *y /= s);
    let mut values = Vec::with_capacity(steps);
    for _ in 0..steps {
        for ((y, z), a) in y.iter_mut().zip(times(&x_bar)).zip(a) {
            let moved = *y + sigma * z;
            *y = 0.5 * (moved - (moved * moved + 4.0 * sigma * a).sqrt());
        }
        let g = transposed(&y);
        for (((x, x_bar), g), c) in x.iter_mut().zip(&mut x_bar).zip(&g).zip(&k_sum) {
            let next = (*x - tau * (g + c)).max(0.0);
            *x_bar = 2.0 * next - *x;
            *x = next;
        }
        let (primal, dual) = (divergence(a, &times(&x)), dual(a, &y, violation(&g, &k_sum)));
        values.push(Values { primal, dual, gap: primal - dual });
    }
    Ok(Algorithm1 { x, y, steps: values })
}

/// max Kᵀ(−y)/Kᵀ1 over the atoms that are not zero, from g = Kᵀy.
fn violation(g: &[f64], k_sum: &[f64]) -> f64 {
    g.iter().zip(k_sum).filter(|(_, c)| **c > 0.0).map(|(g, c)| -g / c).fold(0.0, f64::max)
}

/// Σ a·log(a/z) − a + z.
fn divergence(a: &[f64], z: &[f64]) -> f64 {
    let term = |(a, z): (&f64, &f64)| if *a > 0.0 { a * (a / z).ln() - a + z } else { *z };
    a.iter().zip(z).map(term).sum()
}

/// aᵀlog(−y/s).
fn dual(a: &[f64], y: &[f64], s: f64) -> f64 {
    a.iter().zip(y).filter(|(a, _)| **a > 0.0).map(|(a, y)| a * (-y / s).ln()).sum()
}
