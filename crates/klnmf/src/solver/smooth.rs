//! Expectation maximisation with pseudo-counts, for topic models of documents (columns of V) and words (rows)
//! with priors.
//!
//! | letter | meaning |
//! | --- | --- |
//! | N | the length of a document, Σa |
//! | α | the pseudo-count of every topic in every document |
//! | β | the pseudo-count of every word in every topic |
//!
//! Columns of W (topics) sum to 1, columns of H to the lengths of the documents. The objective is
//!
//! F(W, H) = D(V‖WH) − α Σ ln(h/N) − β Σ ln w.
//!
//! Except for a constant, this is the negative log-posterior under Dirichlet priors with parameters 1 + α and
//! 1 + β. A step on H computes the counts n = h∘Wᵀ(V/WH) of the document that each topic explains, and sets
//! h ← N·(n + α)/(N + rα). A step on W computes the counts of each word in each topic and sets
//! w ← (n + β)/Σ(n + β). Neither increases F. [`mu`](super::mu) computes the counts.

use super::Side;
use crate::{Mat, Scalar};

/// The pseudo-counts.
#[derive(Clone, Copy)]
pub struct Prior {
    pub alpha: f64,
    pub beta: f64,
}

/// Σ ln x, with one logarithm for sixteen numbers unless their product overflows or underflows. A number that
/// has underflowed counts as the smallest normal one.
fn sum_of_logs<T: Scalar>(x: &[T]) -> f64 {
    let of_some = |x: &[T]| {
        let product: f64 = x.iter().map(|x| x.to_f64()).product();
        let singly = || x.iter().map(|x| x.to_f64().max(f64::MIN_POSITIVE).ln()).sum();
        if product.is_normal() { product.ln() } else { singly() }
    };
    x.chunks(16).map(of_some).sum()
}

impl Prior {
    /// −α Σ ln(h/N) − β Σ ln w for documents of the given lengths. Empty documents do not contribute.
    pub fn penalty<S: Scalar>(&self, wt: &Mat<S>, h: &Mat<S>, lengths: &[f64]) -> f64 {
        let mut penalty = 0.0;
        if self.alpha > 0.0 {
            let documents = h.as_slice().chunks(h.rows()).zip(lengths).filter(|(_, n)| **n > 0.0);
            let logs: f64 = documents.map(|(h, n)| sum_of_logs(h) - h.len() as f64 * n.ln()).sum();
            penalty -= self.alpha * logs;
        }
        if self.beta > 0.0 {
            penalty -= self.beta * wt.as_slice().chunks(wt.rows()).map(sum_of_logs).sum::<f64>();
        }
        penalty
    }

    /// Turns counts into weights: adds the pseudo-counts and scales documents and topics to their sums.
    pub fn weigh<S: Scalar>(&self, side: Side, x: &mut Mat<S>, lengths: &[f64]) {
        let pseudo = S::from_f64(match side {
            Side::H => self.alpha,
            Side::W => self.beta,
        });
        x.as_mut_slice().iter_mut().for_each(|x| *x += pseudo);
        bring_to_sums(side, x, lengths);
    }
}

/// Scales documents to their lengths and topics to sum 1.
pub fn bring_to_sums<S: Scalar>(side: Side, x: &mut Mat<S>, lengths: &[f64]) {
    let r = x.rows();
    // A column without counts stays zero.
    let scale = |sum: f64, total: f64| S::from_f64(if total > 0.0 { sum / total } else { 0.0 });
    match side {
        Side::H => {
            for (x, sum) in x.as_mut_slice().chunks_mut(r).zip(lengths) {
                let total: f64 = x.iter().map(|x| x.to_f64()).sum();
                let scale = scale(*sum, total);
                x.iter_mut().for_each(|x| *x *= scale);
            }
        }
        Side::W => {
            let scales: Vec<S> = x.row_sums().iter().map(|total| scale(1.0, *total)).collect();
            for x in x.as_mut_slice().chunks_mut(r) {
                x.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= *scale);
            }
        }
    }
}
