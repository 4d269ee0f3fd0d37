//! The second stage, for the last digits of a column: Newton's method on the free weights (Bertsekas 1982).
//!
//! | letter | meaning |
//! | --- | --- |
//! | K, a, x | the dictionary, a column of V, its weights |
//! | z, t, u | Kx, a/z and a/z² |
//! | g | Kᵀt; the gradient is c − g with the cost c |
//! | F | the free weights: positive, or zero with a negative gradient |
//! | d | the step: minus the inverse of K_FᵀDiag(u)K_F times the gradient on F |
//!
//! x ← max(x + αd, 0) with the first α of 1, ½, ¼, … that decreases the divergence sufficiently. Near the
//! optimum F no longer changes, and convergence is quadratic.

use crate::block::Block;
use crate::kernel;
use crate::linalg::{cholesky, cholesky_solve};
use crate::{Mat, Scalar};

/// The most steps, and the most halvings of a step.
pub(super) const STEPS: usize = 20;
const HALVINGS: usize = 8;
/// The most free weights for which a step is worth its cost.
const MOST_FREE: usize = 1024;
/// Relative increase of the diagonal, because atoms may be nearly equal.
const RIDGE: f64 = 1e-10;

/// A column with its workspace.
pub(super) struct FreeSetNewton<'a, 'b> {
    b: &'a Block<'b, f64>,
    z: Vec<f64>,
    t: Vec<f64>,
    g: Vec<f64>,
}

impl<'a, 'b> FreeSetNewton<'a, 'b> {
    /// Creates the workspace for the only column of a block.
    pub fn new(b: &'a Block<'b, f64>) -> Self {
        let rows = || vec![0.0; b.p];
        Self { b, z: rows(), t: rows(), g: vec![0.0; b.r] }
    }

    fn atom(&self, k: usize) -> &'a [f64] {
        &self.b.atoms[k * self.b.height()..][..self.b.p]
    }

    /// Updates x until its gap is at most `tol` times Σa, no step helps, or `enough(steps)` is true.
    pub fn run(&mut self, x: &mut [f64], tol: f64, enough: impl Fn(usize) -> bool) {
        let (sum, cost) = (self.b.sums[0], self.b.cost);
        let mut value = self.value(x);
        for step in 0..STEPS {
            self.quotients();
            let gap = cost.gap(0, sum, cost.ray(0, sum, x), x, &self.g);
            if gap <= tol * sum || !value.is_finite() || enough(step) {
                return;
            }
            let Some(next) = self.step(x, value) else { return };
            value = next;
        }
    }

    /// Computes z, and the divergence at x except for terms that do not depend on x.
    fn value(&mut self, x: &[f64]) -> f64 {
        kernel::multiply(self.b.atoms, self.b.height(), x, &mut self.z);
        let logs: f64 =
            self.b.a.iter().zip(&self.z).filter(|(a, _)| **a > 0.0).map(|(a, z)| a * z.ln()).sum();
        self.b.cost.total(0, x) - logs
    }

    /// Computes t and Kᵀt at the current z.
    fn quotients(&mut self) {
        for ((t, a), z) in self.t.iter_mut().zip(self.b.a).zip(&self.z) {
            *t = if *a > 0.0 { a / z } else { 0.0 };
        }
        self.g.fill(0.0);
        kernel::multiply_transposed(self.b.atoms, self.b.height(), &self.t, &mut self.g);
    }

    /// Takes one step. Returns the new value, or nothing if no step decreases it.
    fn step(&mut self, x: &mut [f64], value: f64) -> Option<f64> {
        let cost = self.b.cost;
        let slopes: Vec<f64> = (0..x.len()).map(|k| cost.slope(0, k, x[k]) - self.g[k]).collect();
        let is_free = |k: &usize| cost.of(0)[*k] > 0.0 && (x[*k] > 0.0 || slopes[*k] < 0.0);
        let free: Vec<usize> = (cost.held..x.len()).filter(is_free).collect();
        // With more free weights than entries the Hessian is singular.
        if free.is_empty() || free.len() > self.b.p.min(MOST_FREE) {
            return None;
        }
        let d = self.direction(&free, &slopes);
        let (mut new, mut alpha) = (x.to_vec(), 1.0);
        for _ in 0..HALVINGS {
            let mut slope = 0.0;
            for (&k, d) in free.iter().zip(&d) {
                new[k] = (x[k] + alpha * d).max(0.0);
                slope += slopes[k] * (new[k] - x[k]);
            }
            let next = self.value(&new);
            if next <= value + 1e-4 * slope && slope < 0.0 {
                x.copy_from_slice(&new);
                return Some(next);
            }
            alpha *= 0.5;
        }
        None
    }

    /// d for the free weights.
    fn direction(&self, free: &[usize], slopes: &[f64]) -> Vec<f64> {
        let mut hessian = Mat::zeros(free.len(), free.len());
        let mut weighted = vec![0.0; self.b.p];
        for (m, &k) in free.iter().enumerate() {
            for (((w, k), t), z) in weighted.iter_mut().zip(self.atom(k)).zip(&self.t).zip(&self.z) {
                *w = if *t > 0.0 { k * t / z } else { 0.0 };
            }
            for (l, &j) in free.iter().enumerate().take(m + 1) {
                let entry = kernel::dot(&weighted, self.atom(j));
                (hessian[(m, l)], hessian[(l, m)]) = (entry, entry);
            }
            hessian[(m, m)] += self.b.cost.ridge;
        }
        // Scales the Hessian to a unit diagonal, so that the ridge has the same effect on all weights.
        let unit: Vec<f64> = (0..free.len()).map(|m| 1.0 / hessian[(m, m)].max(f64::TINY).sqrt()).collect();
        for m in 0..free.len() {
            (0..free.len()).for_each(|l| hessian[(l, m)] *= unit[l] * unit[m]);
            hessian[(m, m)] = 1.0 + RIDGE;
        }
        cholesky(&mut hessian);
        let mut d: Vec<f64> = free.iter().zip(&unit).map(|(&k, unit)| -slopes[k] * unit).collect();
        cholesky_solve(&hessian, &mut d);
        d.iter_mut().zip(&unit).for_each(|(d, unit)| *d *= unit);
        d
    }
}
