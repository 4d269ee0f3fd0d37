//! Compressed rows from compressed columns, and back.

use super::sparse::try_vec;
use super::{IndexSlice, Indices, Matrix, Sparse, Storage};
use crate::block::take;
use crate::{Error, Result, Scalar};
use rayon::prelude::*;
use std::ops::Range;

impl<T: Scalar> Sparse<T> {
    /// The same matrix compressed along the other lines (CSC from CSR and back), in O(stored entries); on all
    /// threads if this is called in a pool.
    pub fn reordered(view: Matrix<'_, T>) -> Result<Self> {
        let Storage::Sparse { ptr, idx, val } = view.storage() else {
            return Err(Error::Shape("a dense matrix has no compressed lines".into()));
        };
        let (lines, length) = view.order().lines(view.rows(), view.cols());
        let old = Lines { lines, ptr, idx, val };
        let mut ends = try_vec(length + 1, 0usize)?;
        // Each task counts, then fills, some of the new lines.
        let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let tasks = if threads > 1 { 4 * threads } else { 1 };
        let step = length.div_ceil(tasks).max(1);
        for_each_chunk(ends[1..].chunks_mut(step).enumerate().collect(), |(task, counts)| {
            let first = task * step;
            old.for_each(first..first + counts.len(), |_, place, _| counts[place - first] += 1);
        });
        (0..length).for_each(|l| ends[l + 1] += ends[l]);
        let mut new_ptr = Indices::zeros(length + 1, val.len())?;
        (0..=length).for_each(|l| new_ptr.set(l, ends[l]));
        let mut new_idx = Indices::zeros(val.len(), lines)?;
        let mut new_val = try_vec(val.len(), T::ZERO)?;
        match &mut new_idx {
            Indices::U32(idx) => old.fill(step, &ends, idx, &mut new_val, |line| line as u32),
            Indices::U64(idx) => old.fill(step, &ends, idx, &mut new_val, |line| line as u64),
        }
        let order = view.order().flipped();
        Ok(Self { rows: view.rows(), cols: view.cols(), order, ptr: new_ptr, idx: new_idx, val: new_val })
    }
}

/// Compressed lines that are read place by place.
struct Lines<'a, T> {
    lines: usize,
    ptr: IndexSlice<'a>,
    idx: IndexSlice<'a>,
    val: &'a [T],
}

impl<T: Scalar> Lines<'_, T> {
    /// Calls `f` with line, place and value of the entries at some places, line after line.
    fn for_each(&self, places: Range<usize>, mut f: impl FnMut(usize, usize, T)) {
        for line in 0..self.lines {
            let (begin, end) = (self.ptr.at(line), self.ptr.at(line + 1));
            for at in begin + self.idx.count_below(begin..end, places.start)..end {
                let place = self.idx.at(at);
                if place >= places.end {
                    break;
                }
                f(line, place, self.val[at]);
            }
        }
    }

    /// Writes the entries place after place, where the entries of place p go to `ends[p]..ends[p + 1]`; tasks
    /// of `step` places.
    fn fill<I: Send>(
        &self,
        step: usize,
        ends: &[usize],
        mut idx: &mut [I],
        mut val: &mut [T],
        index: impl Fn(usize) -> I + Sync,
    ) {
        let cut = |first: usize| {
            let last = (first + step).min(ends.len() - 1);
            let n = ends[last] - ends[first];
            (first..last, take(&mut idx, n), take(&mut val, n))
        };
        let tasks: Vec<_> = (0..ends.len() - 1).step_by(step).map(cut).collect();
        for_each_chunk(tasks, |(places, idx, val)| {
            let base = ends[places.start];
            let mut next: Vec<usize> = ends[places.clone()].iter().map(|end| end - base).collect();
            let first = places.start;
            self.for_each(places, |line, place, value| {
                let to = &mut next[place - first];
                (idx[*to], val[*to]) = (index(line), value);
                *to += 1;
            });
        });
    }
}

/// Calls `f` with every task: in parallel if this is called in a pool.
fn for_each_chunk<A: Send>(tasks: Vec<A>, f: impl Fn(A) + Sync + Send) {
    match rayon::current_thread_index() {
        Some(_) => tasks.into_par_iter().with_max_len(1).for_each(f),
        None => tasks.into_iter().for_each(f),
    }
}
