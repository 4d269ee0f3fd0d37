//! The weights of each column that a Newton half-step moves.
//!
//! At the end of a run most weights are zero and stay zero. A Newton step on a weight takes about seven
//! multiply-adds for each entry, but two tell whether a zero weight would grow: that is so if g > c. A column
//! with many zeros therefore moves only the weights that are positive or would grow. With few zeros this
//! costs more than it saves.

use crate::Scalar;
use crate::block::Block;

/// The smallest number of zeros among ten weights at which a column leaves some out.
const ZEROS_IN_TEN: usize = 3;

/// Lists of weights, one for each column of a panel.
#[derive(Default)]
pub struct Active {
    r: usize,
    /// r numbers for each column, of which the first `counts` are in use.
    weights: Vec<u32>,
    counts: Vec<usize>,
}

impl Active {
    /// Room for some columns of r weights.
    pub fn new(r: usize, columns: usize) -> Self {
        Self { r, weights: vec![0; r * columns], counts: vec![0; columns] }
    }

    /// The list of a column. It begins with the held weights.
    pub fn of(&self, column: usize) -> &[u32] {
        &self.weights[column * self.r..][..self.counts[column]]
    }

    /// Empties the list of a column.
    pub fn clear(&mut self, column: usize) {
        self.counts[column] = 0;
    }

    /// Lists all weights of the first `columns` columns.
    pub fn all(&mut self, columns: usize) {
        self.choose(columns, |_| |_| true);
    }

    /// Lists the weights that are positive, held or would grow, in the columns of a block with many zeros,
    /// and all weights in the others. x and g are r × q.
    pub fn positive_or_growing<S: Scalar>(&mut self, b: &Block<'_, S>, x: &[S], g: &[S]) {
        let r = self.r;
        self.choose(b.q, |column| {
            let (x, g, c) = (&x[column * r..][..r], &g[column * r..][..r], b.cost.of(column));
            let all = !many_zeros(x);
            let held = b.cost.held;
            // If g is NaN or infinite, the weight counts as growing. No operator here is a branch.
            move |k| all | (k < held) | !((x[k] == S::ZERO) & (g[k] <= c[k]))
        });
    }

    /// Lists the weights for which the test of their column is true.
    fn choose<P: Fn(usize) -> bool>(&mut self, columns: usize, test_of: impl Fn(usize) -> P) {
        for (column, list) in self.weights.chunks_mut(self.r).take(columns).enumerate() {
            let (mut count, is_active) = (0, test_of(column));
            // Without a branch, which could not be predicted.
            for k in 0..self.r {
                list[count] = k as u32;
                count += usize::from(is_active(k));
            }
            self.counts[column] = count;
        }
    }
}

/// Whether a column has so many zeros that it leaves some out.
pub fn many_zeros<S: Scalar>(x: &[S]) -> bool {
    let zeros = x.iter().filter(|x| **x == S::ZERO).count();
    10 * zeros >= ZEROS_IN_TEN * x.len()
}
