//! V or Vᵀ by columns in memory, passed on as blocks: a panel of dense columns with the whole dictionary, or
//! single sparse columns with the rows of the dictionary gathered at their entries.

use super::{Block, Blocks, Dictionary, Layout, Load, MOST_BLOCKS, MOST_COLUMNS, padded, take};
use crate::kernel::SparseRows;
use crate::matrix::{Compressed, Matrix, Order, Sparse, transpose_into};
use crate::parallel::Pool;
use crate::{Mat, Result, Scalar, kernel};
use std::any::TypeId;
use std::ops::Range;

/// The most numbers in an array of the size of a panel, which bounds the workspace.
const MOST_NUMBERS: usize = 1 << 17;

/// Rows from which a dictionary does not stay in cache.
const TALL: usize = 1 << 15;

/// Rows allocated for columns that are gathered together, even if no column is that long.
const GATHERED_ROWS: usize = 2048;

/// V with contiguous columns: the caller's memory if its order permits, else a reordered copy.
pub struct ColumnData<'v, T> {
    source: Source<'v, T>,
    sums: Vec<f64>,
    /// The largest number of stored entries in a column.
    longest: usize,
}

enum Source<'v, T> {
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
        let mut new = Self { source, sums: vec![], longest: 0 };
        let view = new.view();
        let (mut sums, mut lengths) = (vec![0.0; v.cols()], vec![0; v.cols()]);
        pool.panels(64, (&mut sums, 1), (&mut lengths, 1), |first, sums, lengths| {
            for (j, (sum, length)) in (first..).zip(sums.iter_mut().zip(lengths)) {
                let values = view.line(j).values;
                (*sum, *length) = (values.iter().map(|a| a.to_f64()).sum(), values.len());
            }
        });
        (new.sums, new.longest) = (sums, lengths.into_iter().max().unwrap_or(0));
        Ok(new)
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

    /// The sums of the columns.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }
}

/// Columns in a panel of a dense matrix on `threads` threads; see [`Blocks::panel`].
pub fn panel_width(rows: usize, cols: usize, arrays: bool, threads: usize) -> usize {
    // Several panels for every thread, in multiples of the columns that the kernels process together. Every
    // panel reads the dictionary again. If that comes from memory, there are fewer panels, and arrays are
    // kept for at least eight columns.
    let fits = if arrays { (MOST_NUMBERS / rows.max(1)).clamp(8, MOST_COLUMNS) } else { MOST_COLUMNS };
    let width = cols.div_ceil(threads * if rows < TALL { 4 } else { 2 });
    if cols >= 64 { width.next_multiple_of(8).min(fits) } else { width.clamp(1, fits) }
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

    fn panel(&self, arrays: bool, threads: usize) -> usize {
        let (rows, cols) = Blocks::<S>::shape(self);
        // Converted data are an array too.
        let arrays = arrays || TypeId::of::<T>() != TypeId::of::<S>();
        let sparse = self.view().is_sparse();
        if sparse {
            cols.div_ceil(64).clamp(1, MOST_COLUMNS)
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

    fn load(
        &self,
        cols: Range<usize>,
        layout: Layout,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&[Block<'_, S>]),
    ) {
        let view = self.view();
        let Some(Compressed { ptr, idx }) = view.compressed else {
            let p = self.longest;
            let a = in_precision(&view.values[cols.start * p..cols.end * p], &mut room.a);
            return f(&[dictionary.block(cols.start, a, &self.sums[cols])]);
        };
        let Layout::Gathered(most) = layout else {
            let here = ptr[cols.start]..ptr[cols.end];
            let a = in_precision(&view.values[here.clone()], &mut room.a);
            let (ptr, idx) = (&ptr[cols.start..=cols.end], &idx[here]);
            let rows = SparseRows { ptr, idx, k: &dictionary.rows, stride: dictionary.stride };
            let block = dictionary.block(cols.start, a, &self.sums[cols]);
            return f(&[Block { p: 0, rows: Some(rows), ..block }]);
        };
        let (r, rows) = (dictionary.r, gathered_rows(self.longest));
        room.atoms.resize(rows * r, S::ZERO);
        room.shares.resize(rows, S::ZERO);
        let height = |j: usize| padded::<S>(ptr[j + 1] - ptr[j]);
        let mut first = cols.start;
        while first < cols.end {
            // As many columns as fit. They are contiguous in V.
            let (mut end, mut left) = (first, rows);
            while end < cols.end.min(first + most) && height(end) <= left {
                left -= height(end);
                end += 1;
            }
            let mut values = in_precision(&view.values[ptr[first]..ptr[end]], &mut room.a);
            let (mut atoms, mut shares) = (&mut room.atoms[..], &mut room.shares[..]);
            let mut blocks = [dictionary.block(first, &[], &[]); MOST_BLOCKS];
            for (block, j) in blocks.iter_mut().zip(first..end) {
                let here = ptr[j]..ptr[j + 1];
                let a = values.split_off(..here.len()).expect("the values of all these columns");
                let (atoms, shares) = (take(&mut atoms, height(j) * r), take(&mut shares, a.len()));
                gather(&idx[here], dictionary, atoms, shares);
                *block = Block { atoms, shares, ..dictionary.block(j, a, &self.sums[j..j + 1]) };
            }
            f(&blocks[..end - first]);
            first = end;
        }
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

/// Gathers the rows `idx` of K atom by atom, padded with zeros, and their shares.
fn gather<S: Scalar>(idx: &[u32], dictionary: &Dictionary<S>, atoms: &mut [S], shares: &mut [S]) {
    let (p, r, height) = (idx.len(), dictionary.r, padded::<S>(idx.len()));
    if !dictionary.shares.is_empty() {
        shares.iter_mut().zip(idx).for_each(|(to, i)| *to = dictionary.shares[*i as usize]);
    }
    let row = |i: &u32| &dictionary.rows[*i as usize * dictionary.stride..][..r];
    // Four rows at a time, because their entries of an atom are adjacent and need one write.
    let fours = idx.chunks_exact(4);
    let rest = fours.remainder();
    for (n, four) in fours.enumerate() {
        let rows: [&[S]; 4] = std::array::from_fn(|c| row(&four[c]));
        for l in 0..r {
            let to = &mut atoms[l * height + 4 * n..][..4];
            to.copy_from_slice(&[rows[0][l], rows[1][l], rows[2][l], rows[3][l]]);
        }
    }
    for (at, i) in (p - rest.len()..).zip(rest) {
        for (l, value) in row(i).iter().enumerate() {
            atoms[l * height + at] = *value;
        }
    }
    atoms.chunks_exact_mut(height.max(1)).take(r).for_each(|atom| atom[p..].fill(S::ZERO));
}
