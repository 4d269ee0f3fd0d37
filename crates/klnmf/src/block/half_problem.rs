//! V or Vᵀ with a dictionary and a workspace, created once.

use super::{Block, Blocks, Dictionary, DictionaryParts, Layout, Load, Terms, Work, take};
use crate::parallel::{PerThread, Pool};
use crate::{Mat, Scalar};
use std::sync::Arc;

/// One half of the alternation: the data, the dictionary, the threads and their workspaces.
pub struct HalfProblem<'a, S> {
    pub data: &'a dyn Blocks<S>,
    /// K. If it is shared, it never changes.
    dictionary: Arc<Dictionary<S>>,
    pub pool: &'a Pool,
    width: usize,
    scratch: PerThread<(Load<S>, Work<S>)>,
}

impl<'a, S: Scalar> HalfProblem<'a, S> {
    /// Creates the half for a dictionary of r atoms, yet to be [set](HalfProblem::set).
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

    /// Creates the half for a dictionary that is already set.
    pub fn sharing(
        data: &'a dyn Blocks<S>,
        pool: &'a Pool,
        parts: DictionaryParts,
        dictionary: Arc<Dictionary<S>>,
    ) -> Self {
        let width = data.panel(parts.arrays, pool.threads());
        let (p, q) = (data.most_rows(), if data.gathers() { 1 } else { width });
        let scratch = pool.each(|| (Load::default(), Work::new(p, q, width, dictionary.r, parts.arrays)));
        Self { data, dictionary, pool, width, scratch }
    }

    /// Sets K from its transpose.
    pub fn set<T: Scalar>(&mut self, kt: &Mat<T>) {
        let mine = Arc::get_mut(&mut self.dictionary).expect("a dictionary that is shared is set already");
        mine.set(self.pool, kt);
    }

    /// Calls `f` with every block, its columns of `a` and of `b` (`per_a`, `per_b` entries per column) and a
    /// workspace, in parallel.
    pub fn for_each<A: Send, B: Send>(
        &self,
        a: (&mut [A], usize),
        b: (&mut [B], usize),
        f: impl Fn(&Block<'_, S>, &mut [A], &mut [B], &mut Work<S>) + Sync,
    ) {
        self.for_each_group(a, b, Layout::InPlace, |blocks, a, b, work| f(&blocks[0], a, b, work), |_| ());
    }

    /// [`for_each`](Self::for_each) with sparse columns in the given layout. After each panel `then` is
    /// called with its number of columns. It may be the user's code, so no lock is held.
    pub fn for_each_group<A: Send, B: Send>(
        &self,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        layout: Layout,
        f: impl Fn(&[Block<'_, S>], &mut [A], &mut [B], &mut Work<S>) + Sync,
        then: impl Fn(usize) + Sync,
    ) {
        let heaviest = self.data.heaviest();
        self.pool.panels_beginning_at(heaviest, self.width, (a, per_a), (b, per_b), |first, mut a, mut b| {
            let cols = a.len() / per_a;
            self.scratch.with(|(load, work)| {
                self.data.load(first..first + cols, &self.dictionary, load, &mut |block| {
                    let mut f = |blocks: &[Block<'_, S>], work: &mut Work<S>| {
                        let cols: usize = blocks.iter().map(|b| b.q).sum();
                        f(blocks, take(&mut a, cols * per_a), take(&mut b, cols * per_b), work);
                    };
                    let (Layout::Gathered(most), Some(rows)) = (layout, block.rows) else {
                        return f(std::slice::from_ref(block), work);
                    };
                    let mut gather = std::mem::take(&mut work.gather);
                    gather.groups(block, rows, None, (most, work.rows), &mut |blocks| f(blocks, work));
                    work.gather = gather;
                });
            });
            then(cols);
        });
    }
}
