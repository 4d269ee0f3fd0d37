//! Copies of some columns of V, so that their rows can be used as well.

use super::column_data::Source;
use super::{Blocks, ColumnData, Dictionary, Load};
use crate::matrix::{Order, Sparse};
use crate::parallel::{Pool, map};
use crate::{Mat, Scalar};
use std::ops::Range;

/// The copies of a batch that exist at a time: its pieces, the whole, and its rows.
pub const COPIES: u128 = 3;

/// A piece of a batch: the number of stored entries in every column, their rows, and their values.
type Piece<S> = (Vec<usize>, Vec<u32>, Vec<S>);

impl<S: Scalar> ColumnData<'_, S> {
    /// Copies these ranges of columns, reading each once, on all threads. The dictionary is that of the data.
    pub fn batch(
        data: &dyn Blocks<S>,
        pool: &Pool,
        dictionary: &Dictionary<S>,
        ranges: &[Range<usize>],
    ) -> Self {
        let read = |range: &Range<usize>| piece(data, dictionary, range.clone());
        let pieces: Vec<Piece<S>> = pool.run(|| map(ranges.iter(), read));
        let (rows, cols) = (data.shape().0, ranges.iter().map(ExactSizeIterator::len).sum());
        let values = pieces.iter().map(|piece| &piece.2[..]).collect::<Vec<_>>().concat();
        if !data.gathers() {
            return Self::of(pool, Source::Dense(Mat::new(rows, cols, values).expect("whole columns")));
        }
        let mut ptr = vec![0];
        for count in pieces.iter().flat_map(|piece| &piece.0) {
            ptr.push(ptr[ptr.len() - 1] + count);
        }
        let idx = pieces.iter().map(|piece| &piece.1[..]).collect::<Vec<_>>().concat();
        drop(pieces);
        let whole = Sparse::new(rows, cols, Order::Columns, ptr, idx, values);
        Self::of(pool, Source::Sparse(whole.expect("columns of a matrix that was checked")))
    }

    /// The rows of a batch.
    pub fn rows(&self, pool: &Pool) -> ColumnData<'_, S> {
        let rows = ColumnData::new(pool, self.view().transpose());
        rows.expect("a batch is small, and memory for it was found before")
    }
}

fn piece<S: Scalar>(data: &dyn Blocks<S>, dictionary: &Dictionary<S>, range: Range<usize>) -> Piece<S> {
    let (mut counts, mut idx, mut values) = (vec![], vec![], vec![]);
    data.load(range, dictionary, &mut Load::default(), &mut |block| {
        values.extend_from_slice(block.a);
        if let Some(rows) = block.rows {
            counts.extend((0..block.q).map(|c| rows.entries(c).len()));
            idx.extend_from_slice(rows.idx());
        }
    });
    (counts, idx, values)
}
