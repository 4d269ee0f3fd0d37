//! Conversion between compressed rows and compressed columns.

use super::sparse::try_vec;
use super::{Matrix, Sparse};
use crate::block::take;
use crate::parallel::for_each;
use crate::{Error, Result, Scalar};
use std::ops::Range;

impl<T: Scalar> Sparse<T> {
    /// Compresses the matrix along the other lines (CSC from CSR and back), in O(stored entries). Uses all
    /// threads if called in a pool.
    pub fn reordered(view: Matrix<'_, T>) -> Result<Self> {
        T::reordered(view)
    }

    pub(crate) fn reorder(view: Matrix<'_, T>) -> Result<Self> {
        if !view.is_sparse() {
            return Err(Error::Shape("a dense matrix has no compressed lines".into()));
        }
        let (rows, cols, (_, length)) = (view.rows(), view.cols(), view.lines());
        // Each task counts, then fills, some of the new lines.
        let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
        let tasks = if threads > 1 { 4 * threads } else { 1 };
        let step = length.div_ceil(tasks).max(1);
        let mut ptr = try_vec(length + 1, 1, 0usize)?;
        for_each(ptr[1..].chunks_mut(step).enumerate(), |(task, counts)| {
            let first = task * step;
            for_each_within(view, first..first + counts.len(), |_, place, _| counts[place - first] += 1);
        });
        (0..length).for_each(|l| ptr[l + 1] += ptr[l]);
        let (mut idx, mut val) = (try_vec(view.stored(), 1, 0u32)?, try_vec(view.stored(), 1, T::ZERO)?);
        let (mut idx_left, mut val_left) = (&mut idx[..], &mut val[..]);
        let cut = |first: usize| {
            let places = first..(first + step).min(length);
            let stored = ptr[places.end] - ptr[first];
            (places, take(&mut idx_left, stored), take(&mut val_left, stored))
        };
        for_each((0..length).step_by(step).map(cut), |(places, idx, val)| {
            let first = places.start;
            let mut next: Vec<usize> = ptr[places.clone()].iter().map(|at| at - ptr[first]).collect();
            for_each_within(view, places, |line, place, value| {
                let to = &mut next[place - first];
                (idx[*to], val[*to]) = (line as u32, value);
                *to += 1;
            });
        });
        Ok(Self { rows, cols, order: view.order().flipped(), ptr, idx, val })
    }
}

/// Calls `f` with line, position and value of the stored entries at these positions, line by line.
fn for_each_within<T: Scalar>(view: Matrix<'_, T>, places: Range<usize>, mut f: impl FnMut(usize, usize, T)) {
    for l in 0..view.lines().0 {
        let line = view.line(l);
        let idx = line.idx.unwrap_or_default();
        let begin = idx.partition_point(|i| (*i as usize) < places.start);
        for (i, value) in idx[begin..].iter().zip(&line.values[begin..]) {
            let place = *i as usize;
            if place >= places.end {
                break;
            }
            f(l, place, *value);
        }
    }
}
