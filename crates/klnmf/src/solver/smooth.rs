//! Expectation maximisation with pseudo-counts: the topic model of documents (columns of V) and words (rows), with prior.
//!
//! | letter | meaning |
//! | --- | --- |
//! | N | the length of a document, Σa |
//! | α | the pseudo-count of every topic in every document |
//! | β | the pseudo-count of every word in every topic |
//!
//! Columns of W sum to 1 (topics), columns of H to the lengths of the documents. What is minimised is
//!
//! F(W, H) = D(V‖WH) − α Σ ln(h/N) − β Σ ln w,
//!
//! the negative logarithm of the posterior under Dirichlet priors with parameters 1 + α and 1 + β, but for a constant. A
//! step on H counts how much of the document each topic explains, n = h∘Wᵀ(V/WH), and takes h ← N·(n + α)/(N + rα); a step
//! on W counts the words of each topic in the same way and takes w ← (n + β)/Σ(n + β). Neither raises F.

use super::{HalfState, HalfStep, Measuring, Side};
use crate::map::{Logs, Ratio};
use crate::{Mat, Scalar};

/// The pseudo-counts.
#[derive(Clone, Copy)]
pub(crate) struct Smooth {
    pub alpha: f64,
    pub beta: f64,
}

impl Smooth {
    fn of(&self, side: Side) -> f64 {
        match side {
            Side::H => self.alpha,
            Side::W => self.beta,
        }
    }

    /// −α Σ ln(h/N) − β Σ ln w for documents of the given lengths. An empty document has no say.
    pub fn penalty<T: Scalar>(&self, wt: &Mat<T>, h: &Mat<T>, lengths: &[f64]) -> f64 {
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
}

/// Σ ln x, sixteen numbers to a logarithm unless their product leaves the range of numbers.
fn sum_of_logs<T: Scalar>(x: &[T]) -> f64 {
    let of_some = |x: &[T]| {
        let product: f64 = x.iter().map(|x| x.to_f64()).product();
        let singly = || x.iter().map(|x| x.to_f64().max(f64::MIN_POSITIVE).ln()).sum();
        if product.is_normal() { product.ln() } else { singly() }
    };
    x.chunks(16).map(of_some).sum()
}

impl<T: Scalar> HalfStep<T> for Smooth {
    fn update(&mut self, half: &mut HalfState<'_, '_, T>, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        half.dictionary.set(half.pool, kt);
        let pseudo = T::from_f64(self.of(half.side));
        for _ in 0..steps {
            half.for_each_block(x, |b, x, _, work| {
                let g = &mut work.small[0];
                b.pass_map(x, Some(g), &mut work.tile, &mut Ratio::new(b.a));
                count(x, g, pseudo);
            });
            self.keep(half, x);
        }
    }

    /// Documents to their lengths, topics to sum 1.
    fn keep(&self, half: &HalfState<'_, '_, T>, x: &mut Mat<T>) {
        let r = x.rows();
        match half.side {
            Side::H => {
                for (x, sum) in x.as_mut_slice().chunks_mut(r).zip(half.sums()) {
                    let total: f64 = x.iter().map(|x| x.to_f64()).sum();
                    let scale = T::from_f64(if total > 0.0 { sum / total } else { 0.0 });
                    x.iter_mut().for_each(|x| *x *= scale);
                }
            }
            Side::W => {
                let inverse = |sum: &f64| T::from_f64(if *sum > 0.0 { 1.0 / sum } else { 0.0 });
                let scales: Vec<T> = x.row_sums().iter().map(inverse).collect();
                for x in x.as_mut_slice().chunks_mut(r) {
                    x.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= *scale);
                }
            }
        }
    }
}

impl<T: Scalar> Measuring<T> for Smooth {
    fn update_and_measure(
        &mut self,
        half: &mut HalfState<'_, '_, T>,
        kt: &Mat<T>,
        x: &mut Mat<T>,
        steps: usize,
    ) -> f64 {
        debug_assert!(matches!(half.side, Side::H), "a sweep begins with H");
        let penalty = self.penalty(kt, x, half.sums());
        half.dictionary.set(half.pool, kt);
        let pseudo = T::from_f64(self.of(half.side));
        let divergence = half.measure(x, |b, x, values, work| {
            let g = &mut work.small[0];
            let mut logs = Logs::new(b.a, b.a);
            b.pass_map(x, Some(g), &mut work.tile, &mut logs);
            b.divergences(&logs, x, values);
            count(x, g, pseudo);
        });
        self.keep(half, x);
        if steps > 1 {
            self.update(half, kt, x, steps - 1);
        }
        divergence + penalty
    }
}

/// x ← x∘g + pseudo.
fn count<T: Scalar>(x: &mut [T], g: &[T], pseudo: T) {
    x.iter_mut().zip(g).for_each(|(x, g)| *x = *x * *g + pseudo);
}
