//! V or Vᵀ with a dictionary and the memory of a half-step, made once.

use super::{Block, Blocks, Dictionary, DictionaryParts, Load, MOST_BLOCKS, Terms, Work, padded, take};
use crate::parallel::{PerThread, Pool};
use crate::{Mat, Scalar};
use std::sync::Arc;

/// One half of the alternation: the data, the dictionary, the threads and what they work in.
pub struct HalfProblem<'a, S> {
    data: &'a dyn Blocks<S>,
    /// K. It may be shared, and then never changes.
    dictionary: Arc<Dictionary<S>>,
    pub pool: &'a Pool,
    width: usize,
    scratch: PerThread<(Load<S>, Work<S>)>,
}

impl<'a, S: Scalar> HalfProblem<'a, S> {
    /// For a dictionary of r atoms, still to be [set](HalfProblem::set).
    pub fn new(
        data: &'a dyn Blocks<S>,
        pool: &'a Pool,
        r: usize,
        parts: DictionaryParts,
        terms: Terms,
    ) -> Self {
        let dictionary = Dictionary::new((data.shape().0, r), data.gathers(), parts, terms);
        Self::sharing(data, pool, parts, Arc::new(dictionary))
    }

    /// For a dictionary that is set already.
    pub fn sharing(
        data: &'a dyn Blocks<S>,
        pool: &'a Pool,
        parts: DictionaryParts,
        dictionary: Arc<Dictionary<S>>,
    ) -> Self {
        let r = dictionary.atoms();
        let (p, width, gathers) =
            (data.most_rows(), data.panel(parts.arrays, pool.threads()), data.gathers());
        let q = if gathers { 1 } else { width };
        let gathered = |per_row: usize| vec![S::ZERO; if gathers { padded::<S>(p) * per_row } else { 0 }];
        let make = || {
            let load = Load { a: vec![], k: gathered(r), shares: gathered(1), c: vec![] };
            (load, Work::new(p, q, r, parts.arrays))
        };
        let scratch = pool.each(make);
        Self { data, dictionary, pool, width, scratch }
    }

    /// Rows and columns of V or Vᵀ.
    pub fn shape(&self) -> (usize, usize) {
        self.data.shape()
    }

    /// Σα of every column.
    pub fn sums(&self) -> &'a [f64] {
        self.data.sums()
    }

    /// Whether its columns are gathered, which costs more than the arithmetic on them.
    pub fn gathers(&self) -> bool {
        self.data.gathers()
    }

    /// Takes K from its transpose.
    pub fn set<T: Scalar>(&mut self, kt: &Mat<T>) {
        let mine = Arc::get_mut(&mut self.dictionary).expect("a dictionary that is shared is set already");
        mine.set(self.pool, kt);
    }

    /// Calls `f` with blocks, their columns of `a` and of `b` (`per_a`, `per_b` entries a column) and a
    /// workspace, in parallel: one block at a time if V is dense, up to `most` single columns if it is
    /// sparse. After each panel `then` is called with the number of its columns. It may be the user's code
    /// and do what it likes: no lock is held.
    pub fn for_each<A: Send, B: Send>(
        &self,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        most: usize,
        f: impl Fn(&[Block<'_, S>], &mut [A], &mut [B], &mut Work<S>) + Sync,
        then: impl Fn(usize) + Sync,
    ) {
        debug_assert!(most <= MOST_BLOCKS);
        self.pool.panels(self.width, (a, per_a), (b, per_b), |mut first, mut a, mut b| {
            let cols = a.len() / per_a;
            let end = first + cols;
            self.scratch.with(|(load, work)| {
                while first < end {
                    let blocks = self.data.load(first..end, most, &self.dictionary, load);
                    let cols: usize = blocks.iter().map(|b| b.q).sum();
                    f(&blocks, take(&mut a, cols * per_a), take(&mut b, cols * per_b), work);
                    first += cols;
                }
            });
            then(cols);
        });
    }
}
