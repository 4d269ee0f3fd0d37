//! V or Vᵀ by columns in memory, dense or sparse, passed on as blocks of some columns.

use super::{Block, Blocks, Dictionary, Load, MOST_BLOCKS, MOST_COLUMNS, Nonzero};
use crate::kernel::SparseRows;
use crate::matrix::{Compressed, Matrix, Order, Sparse, transpose_into};
use crate::parallel::Pool;
use crate::{Mat, Result, Scalar, kernel};
use std::any::TypeId;
use std::ops::Range;

/// The most numbers in an array of the size of a panel, which bounds the workspace.
const MOST_NUMBERS: usize = 1 << 17;

/// The most columns in a panel, unless the dictionary is tall.
pub const USUAL_COLUMNS: usize = 48;

/// Rows from which a dictionary does not stay in cache.
const TALL: usize = 1 << 15;

/// Rows allocated for columns that are gathered together, even if no column is that long.
const GATHERED_ROWS: usize = 2048;

/// V with contiguous columns: the caller's memory if its order permits, else a reordered copy.
pub struct ColumnData<'v, T> {
    source: Source<'v, T>,
    sums: Vec<f64>,
    nonzero: Nonzero,
    /// The largest number of stored entries in a column, and the first such column.
    longest: usize,
    heaviest: usize,
}

pub(super) enum Source<'v, T> {
    Borrowed(Matrix<'v, T>),
    Dense(Mat<T>),
    Sparse(Sparse<T>),
}

impl<'v, T: Scalar> ColumnData<'v, T> {
    pub fn new(pool: &Pool, v: Matrix<'v, T>) -> Result<Self> {
        let source = match (v.order(), v.is_sparse()) {
            (Order::Columns, _) => Source::Borrowed(v),
            (Order::Rows, false) => {
                let mut copy = Mat::try_zeros(v.rows(), v.cols())?;
                transpose_into(pool, (v.cols(), v.values), &mut copy);
                Source::Dense(copy)
            }
            (Order::Rows, true) => Source::Sparse(pool.run(|| Sparse::reordered(v))?),
        };
        Ok(Self::of(pool, source))
    }

    /// Copies V if it is borrowed.
    pub fn into_owned(self) -> Result<ColumnData<'static, T>> {
        let Self { source, sums, nonzero, longest, heaviest } = self;
        let source = match source {
            Source::Borrowed(v) => match v.compressed {
                None => Source::Dense(Mat::new(v.rows(), v.cols(), v.values.to_vec())?),
                Some(arrays) => {
                    let shape = (v.rows(), v.cols());
                    Source::Sparse(Sparse::copied(shape, Order::Columns, arrays, v.values))
                }
            },
            Source::Dense(v) => Source::Dense(v),
            Source::Sparse(v) => Source::Sparse(v),
        };
        Ok(ColumnData { source, sums, nonzero, longest, heaviest })
    }

    pub(super) fn of(pool: &Pool, source: Source<'v, T>) -> Self {
        let mut new = Self { source, sums: vec![], nonzero: Nonzero::NONE, longest: 0, heaviest: 0 };
        let view = new.view();
        let (mut sums, mut facts) = (vec![0.0; view.cols()], vec![(0, Nonzero::NONE); view.cols()]);
        pool.panels(64, (&mut sums, 1), (&mut facts, 1), |first, sums, facts| {
            for (j, (sum, fact)) in (first..).zip(sums.iter_mut().zip(facts)) {
                let values = view.line(j).values;
                (*sum, *fact) = (values.iter().map(|a| a.to_f64()).sum(), (values.len(), nonzero(values)));
            }
        });
        new.longest = facts.iter().map(|(length, _)| *length).max().unwrap_or(0);
        new.heaviest = facts.iter().position(|(length, _)| *length == new.longest).unwrap_or(0);
        new.nonzero = facts.into_iter().fold(Nonzero::NONE, |all, (_, nonzero)| all.and(nonzero));
        new.sums = sums;
        new
    }

    /// The data as blocks in the precision of the computation.
    pub fn blocks<S: Scalar>(&self) -> &dyn Blocks<S> {
        self
    }

    /// The matrix, by columns.
    pub fn view(&self) -> Matrix<'_, T> {
        match &self.source {
            Source::Borrowed(v) => *v,
            Source::Dense(v) => v.into(),
            Source::Sparse(v) => v.into(),
        }
    }
}

/// The entries that are not zero.
pub fn nonzero<T: Scalar>(values: &[T]) -> Nonzero {
    let (mut count, mut least, mut most) = (0, T::INFINITY, T::ZERO);
    for x in values {
        let positive = *x > T::ZERO;
        count += usize::from(positive);
        least = least.min(if positive { *x } else { T::INFINITY });
        most = most.max(*x);
    }
    Nonzero { count, least: least.to_f64(), most: most.to_f64() }
}

/// Columns in a panel of a dense matrix on `threads` threads; see [`Blocks::panel`].
pub fn panel_width(rows: usize, cols: usize, arrays: bool, threads: usize) -> usize {
    // Several panels for every thread, in multiples of the columns that the kernels process together. Every
    // panel reads the dictionary again. If that comes from memory, there is one wide panel for every thread,
    // and arrays are kept for at least sixteen columns.
    let (panels, most) = if rows < TALL { (4, USUAL_COLUMNS) } else { (1, MOST_COLUMNS) };
    let fits = if arrays { (MOST_NUMBERS / rows.max(1)).clamp(16, most) } else { most };
    let width = cols.div_ceil(threads * panels);
    let width = if cols >= 64 { width.next_multiple_of(8).min(fits) } else { width.clamp(1, fits) };
    // With few panels, every thread gets the same number of them.
    let panels = cols.div_ceil(width).max(1).next_multiple_of(threads);
    if panels < 8 * threads { cols.div_ceil(panels).max(1) } else { width }
}

/// The most rows gathered together if the longest column has `longest` entries.
pub fn gathered_rows(longest: usize) -> usize {
    // 16 numbers fill a register in either precision.
    let longest = longest.next_multiple_of(16);
    (MOST_BLOCKS * longest).min(longest.max(GATHERED_ROWS))
}

impl<T: Scalar, S: Scalar> Blocks<S> for ColumnData<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.view().rows(), self.sums.len())
    }

    fn sums(&self) -> &[f64] {
        &self.sums
    }

    fn nonzero(&self) -> Nonzero {
        self.nonzero
    }

    fn panel(&self, arrays: bool, threads: usize) -> usize {
        let (rows, cols) = Blocks::<S>::shape(self);
        // Converted data are an array too.
        let arrays = arrays || TypeId::of::<T>() != TypeId::of::<S>();
        let sparse = self.view().is_sparse();
        if sparse {
            cols.div_ceil(64).clamp(1, USUAL_COLUMNS)
        } else {
            panel_width(rows, cols, arrays, threads)
        }
    }

    fn most_rows(&self) -> usize {
        if self.view().is_sparse() { gathered_rows(self.longest) } else { self.longest }
    }

    fn gathers(&self) -> bool {
        self.view().is_sparse()
    }

    fn heaviest(&self) -> usize {
        self.heaviest
    }

    fn load(
        &self,
        cols: Range<usize>,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&Block<'_, S>),
    ) {
        let (view, sums) = (self.view(), &self.sums[cols.clone()]);
        let Some(Compressed { ptr, idx }) = view.compressed else {
            let here = cols.start * self.longest..cols.end * self.longest;
            let a = in_precision(&view.values[here], &mut room.a);
            return f(&dictionary.block(cols.start, a, sums));
        };
        let here = ptr[cols.start]..ptr[cols.end];
        let a = in_precision(&view.values[here.clone()], &mut room.a);
        let (ptr, idx) = (&ptr[cols.start..=cols.end], &idx[here]);
        assert_eq!(dictionary.rows.len(), view.rows() * dictionary.stride);
        // Safety: a matrix checks its indices when it is created, and the dictionary has as many rows.
        let rows = unsafe { SparseRows::new(ptr, idx, &dictionary.rows, dictionary.stride) };
        f(&Block { p: 0, rows: Some(rows), ..dictionary.block(cols.start, a, sums) });
    }
}

/// Returns `values` unchanged if they have precision S, else converts them into `room`.
fn in_precision<'a, T: Scalar, S: Scalar>(values: &'a [T], room: &'a mut Vec<S>) -> &'a [S] {
    if TypeId::of::<T>() == TypeId::of::<S>() {
        // Safety: T and S are the same type.
        return unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<S>(), values.len()) };
    }
    if room.len() < values.len() {
        room.resize(values.len(), S::ZERO);
    }
    kernel::convert(values, room);
    &room[..values.len()]
}

#[cfg(test)]
#[path = "../../tests/unit/column_data.rs"]
mod tests;
