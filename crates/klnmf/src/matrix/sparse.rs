//! A compressed sparse matrix that owns its arrays: CSC or CSR, 32- or 64-bit indices.

use super::{IndexSlice, Matrix, Order, Storage};
use crate::{Error, Result, Scalar};

/// An integer that can index rows and columns.
pub(crate) trait Index: Copy + Send + Sync {
    fn at(self) -> usize;
}

impl Index for u32 {
    fn at(self) -> usize {
        self as usize
    }
}

impl Index for u64 {
    fn at(self) -> usize {
        self as usize
    }
}

/// An index array, 32 or 64 bits wide.
#[derive(Clone, Debug, PartialEq)]
pub enum Indices {
    /// 32-bit indices.
    U32(Vec<u32>),
    /// 64-bit indices.
    U64(Vec<u64>),
}

impl Indices {
    /// `len` zeros, wide enough for values up to `max`, or an error if that much memory cannot be had.
    pub fn zeros(len: usize, max: usize) -> Result<Self> {
        Ok(if max <= u32::MAX as usize {
            Indices::U32(try_vec(len, 0)?)
        } else {
            Indices::U64(try_vec(len, 0)?)
        })
    }

    /// The borrowed array.
    pub fn view(&self) -> IndexSlice<'_> {
        match self {
            Indices::U32(v) => IndexSlice::U32(v),
            Indices::U64(v) => IndexSlice::U64(v),
        }
    }

    /// The index at position `i`.
    pub fn at(&self, i: usize) -> usize {
        self.view().at(i)
    }

    /// Sets the index at position `i`.
    pub fn set(&mut self, i: usize, value: usize) {
        match self {
            Indices::U32(v) => v[i] = value as u32,
            Indices::U64(v) => v[i] = value as u64,
        }
    }

    /// The same indices in 32 bits if they fit.
    fn narrow(indices: Vec<u64>) -> Self {
        match indices.iter().map(|&i| u32::try_from(i)).collect() {
            Ok(narrow) => Indices::U32(narrow),
            Err(_) => Indices::U64(indices),
        }
    }

    fn copy_within(&mut self, from: std::ops::Range<usize>, to: usize) {
        match self {
            Indices::U32(v) => v.copy_within(from, to),
            Indices::U64(v) => v.copy_within(from, to),
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Indices::U32(v) => v.truncate(len),
            Indices::U64(v) => v.truncate(len),
        }
    }
}

impl From<Vec<u32>> for Indices {
    fn from(v: Vec<u32>) -> Self {
        Indices::U32(v)
    }
}

impl From<Vec<u64>> for Indices {
    fn from(v: Vec<u64>) -> Self {
        Indices::U64(v)
    }
}

/// A sparse matrix in compressed lines: columns (CSC) or rows (CSR).
///
/// Within a line indices rise strictly and no stored value is zero: [`Sparse::new`] and
/// [`Sparse::from_triplets`] sort, add up duplicates and drop zeros.
///
/// ```
/// use klnmf::{Order, Sparse};
/// let entries = [(2, 0, 5.0), (0, 1, 3.0), (2, 0, 1.0)];
/// let v = Sparse::from_triplets(3, 2, Order::Columns, |put| entries.iter().try_for_each(|&(i, j, x)| put(i, j, x)))?;
/// assert_eq!((v.rows(), v.cols(), v.nnz()), (3, 2, 2));
/// assert_eq!(v.to_dense()[(2, 0)], 6.0);
/// # Ok::<(), klnmf::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse<T> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) order: Order,
    pub(super) ptr: Indices,
    pub(super) idx: Indices,
    pub(super) val: Vec<T>,
}

impl<T: Scalar> Sparse<T> {
    /// Takes compressed arrays: line `l` holds `idx[ptr[l]..ptr[l + 1]]` and the same range of `val`.
    pub fn new(
        rows: usize,
        cols: usize,
        order: Order,
        ptr: impl Into<Indices>,
        idx: impl Into<Indices>,
        val: Vec<T>,
    ) -> Result<Self> {
        let mut new = Self { rows, cols, order, ptr: ptr.into(), idx: idx.into(), val };
        let (lines, length) = new.lines_and_length();
        check_structure(lines, length, new.ptr.view(), new.idx.view(), new.val.len(), false)?;
        new.make_canonical();
        Ok(new)
    }

    /// Builds the matrix from (row, column, value) entries in any order.
    ///
    /// `replay` is called twice, once to count and once to fill, and must hand the same entries to `put` both
    /// times: so the entries themselves need never be held in memory. Errors of `put` and of `replay` itself
    /// end the work.
    pub fn from_triplets<E: From<Error>>(
        rows: usize,
        cols: usize,
        order: Order,
        mut replay: impl FnMut(&mut dyn FnMut(usize, usize, T) -> Result<(), E>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (lines, length) = order.lines(rows, cols);
        let pointers =
            lines.checked_add(1).ok_or(Error::TooLarge { rows, cols, bytes: lines as u128 * 8 })?;
        let outside =
            |i: usize, j: usize| Error::Shape(format!("entry ({i}, {j}) lies outside {rows} × {cols}"));
        let split = |i: usize, j: usize| if order == Order::Columns { (j, i) } else { (i, j) };
        let mut next = try_vec(pointers, 0usize)?;
        replay(&mut |i, j, _| {
            if i >= rows || j >= cols {
                return Err(outside(i, j).into());
            }
            next[split(i, j).0 + 1] += 1;
            Ok(())
        })?;
        for l in 0..lines {
            next[l + 1] += next[l];
        }
        let stored = next[lines];
        let mut ptr = Indices::zeros(pointers, stored)?;
        (0..=lines).for_each(|l| ptr.set(l, next[l]));
        let mut idx = Indices::zeros(stored, length)?;
        let mut val = try_vec(stored, T::ZERO)?;
        let changed = || Error::Shape("the entries changed while they were read".into());
        replay(&mut |i, j, v| {
            let (line, place) = split(i, j);
            let at = next.get(line).copied().filter(|&at| at < stored).ok_or_else(changed)?;
            idx.set(at, place);
            val[at] = v;
            next[line] += 1;
            Ok(())
        })?;
        drop(next);
        Ok(Self::new(rows, cols, order, ptr, idx, val)?)
    }

    /// The non-zero entries of a dense matrix, by columns.
    pub fn from_dense(dense: &super::Mat<T>) -> Self {
        let (rows, cols) = (dense.rows(), dense.cols());
        let (mut ptr, mut idx, mut val) = (vec![0u64], Vec::new(), Vec::new());
        for j in 0..cols {
            for (i, &v) in dense.col(j).iter().enumerate().filter(|(_, v)| **v != T::ZERO) {
                idx.push(i as u64);
                val.push(v);
            }
            ptr.push(val.len() as u64);
        }
        let (ptr, idx) = (Indices::narrow(ptr), Indices::narrow(idx));
        Self { rows, cols, order: Order::Columns, ptr, idx, val }
    }

    /// The same matrix, dense. For small matrices and tests; no solver calls it.
    pub fn to_dense(&self) -> super::Mat<T> {
        let mut out = super::Mat::zeros(self.rows, self.cols);
        for l in 0..self.lines_and_length().0 {
            for at in self.ptr.at(l)..self.ptr.at(l + 1) {
                let place = self.idx.at(at);
                let (i, j) = if self.order == Order::Columns { (place, l) } else { (l, place) };
                out[(i, j)] = self.val[at];
            }
        }
        out
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of non-zero entries.
    pub fn nnz(&self) -> usize {
        self.val.len()
    }

    /// Swaps rows and columns without touching the arrays.
    pub fn transpose(self) -> Self {
        Self { rows: self.cols, cols: self.rows, order: self.order.flipped(), ..self }
    }

    /// The borrowed view.
    pub fn view(&self) -> Matrix<'_, T> {
        let storage = Storage::Sparse { ptr: self.ptr.view(), idx: self.idx.view(), val: &self.val };
        Matrix { rows: self.rows, cols: self.cols, order: self.order, storage }
    }

    fn lines_and_length(&self) -> (usize, usize) {
        self.order.lines(self.rows, self.cols)
    }

    fn is_canonical(&self, begin: usize, end: usize) -> bool {
        let rising = (begin + 1..end).all(|at| self.idx.at(at - 1) < self.idx.at(at));
        rising && self.val[begin..end].iter().all(|v| *v != T::ZERO)
    }

    fn move_entries(&mut self, begin: usize, end: usize, to: usize) {
        if begin != to {
            self.idx.copy_within(begin..end, to);
            self.val.copy_within(begin..end, to);
        }
    }

    /// Sorts each line, adds up duplicates, drops zeros; in place, and a line that is in order is only moved.
    fn make_canonical(&mut self) {
        let mut line: Vec<(usize, T)> = Vec::new();
        let mut write = 0;
        let mut begin = self.ptr.at(0);
        for l in 0..self.lines_and_length().0 {
            let end = self.ptr.at(l + 1);
            if self.is_canonical(begin, end) {
                self.move_entries(begin, end, write);
                write += end - begin;
                self.ptr.set(l + 1, write);
                begin = end;
                continue;
            }
            line.clear();
            line.extend((begin..end).map(|at| (self.idx.at(at), self.val[at])));
            if !line.is_sorted_by_key(|e| e.0) {
                line.sort_by_key(|e| e.0);
            }
            line.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            for &(i, v) in line.iter().filter(|e| e.1 != T::ZERO) {
                self.idx.set(write, i);
                self.val[write] = v;
                write += 1;
            }
            self.ptr.set(l + 1, write);
            begin = end;
        }
        self.idx.truncate(write);
        self.val.truncate(write);
    }
}

/// A vector of `len` equal values, or an error if that much memory cannot be had.
pub(super) fn try_vec<V: Copy>(len: usize, value: V) -> Result<Vec<V>> {
    let mut v = Vec::new();
    let bytes = len as u128 * size_of::<V>() as u128;
    v.try_reserve_exact(len).map_err(|_| Error::TooLarge { rows: len, cols: 1, bytes })?;
    v.resize(len, value);
    Ok(v)
}

/// Checks compressed arrays: pointers that start at 0, never fall and end at the number of values; indices in
/// range and, if `strict`, rising strictly within a line.
pub(crate) fn check_structure(
    lines: usize,
    length: usize,
    ptr: IndexSlice<'_>,
    idx: IndexSlice<'_>,
    values: usize,
    strict: bool,
) -> Result<()> {
    let fail = |what: String| Err(Error::Shape(what));
    if ptr.len().checked_sub(1) != Some(lines) {
        return fail(format!(
            "the pointer array has {} entries for {lines} lines, one more is expected",
            ptr.len()
        ));
    }
    if idx.len() != values {
        return fail(format!("{} indices for {values} values", idx.len()));
    }
    if ptr.at(0) != 0 || ptr.at(lines) != values {
        return fail(format!("pointers run from {} to {}, expected 0 to {values}", ptr.at(0), ptr.at(lines)));
    }
    for l in 0..lines {
        let (begin, end) = (ptr.at(l), ptr.at(l + 1));
        if begin > end || end > values {
            return fail(format!("pointer {} of line {l} is out of order", end));
        }
        let mut previous = None;
        for at in begin..end {
            let i = idx.at(at);
            if i >= length {
                return fail(format!("index {i} in line {l}, lines have {length} entries"));
            }
            if strict && previous.is_some_and(|p| p >= i) {
                return fail(format!("indices of line {l} do not rise strictly at position {at}"));
            }
            previous = Some(i);
        }
    }
    Ok(())
}
