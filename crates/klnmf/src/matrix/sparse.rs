//! A compressed sparse matrix that owns its arrays: CSC or CSR.

use super::{Compressed, Matrix, Order};
use crate::{Error, Result, Scalar, parallel};

/// A sparse matrix in compressed lines: columns (CSC) or rows (CSR).
///
/// Within a line, indices increase strictly and no stored value is zero: [`Sparse::new`] and
/// [`Sparse::from_triplets`] sort, sum duplicates and drop zeros. Indices have 32 bits, so there must be
/// fewer than 2³² rows and columns.
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
    pub(super) ptr: Vec<usize>,
    pub(super) idx: Vec<u32>,
    pub(super) val: Vec<T>,
}

impl<T: Scalar> Sparse<T> {
    /// Takes compressed arrays: line `l` holds `idx[ptr[l]..ptr[l + 1]]` and the same range of `val`.
    pub fn new(
        rows: usize,
        cols: usize,
        order: Order,
        ptr: Vec<usize>,
        idx: Vec<u32>,
        val: Vec<T>,
    ) -> Result<Self> {
        let mut new = Self { rows, cols, order, ptr, idx, val };
        new.view().check_structure(false)?;
        T::sort_lines(&mut new);
        Ok(new)
    }

    /// A copy that keeps explicit zeros, on which the order of sums depends.
    pub(crate) fn copied(
        (rows, cols): (usize, usize),
        order: Order,
        arrays: Compressed<'_>,
        val: &[T],
    ) -> Self {
        let Compressed { ptr, idx } = arrays;
        Self { rows, cols, order, ptr: ptr.to_vec(), idx: idx.to_vec(), val: val.to_vec() }
    }

    /// Builds the matrix from (row, column, value) entries in any order.
    ///
    /// `replay` is called twice, once to count and once to fill, and must pass the same entries to `put` both
    /// times. The entries themselves are therefore never held in memory. Errors of `put` and of `replay` end
    /// the work.
    pub fn from_triplets<E: From<Error>>(
        rows: usize,
        cols: usize,
        order: Order,
        mut replay: impl FnMut(&mut dyn FnMut(usize, usize, T) -> Result<(), E>) -> Result<(), E>,
    ) -> Result<Self, E> {
        check_size(rows, cols)?;
        let (lines, _) = order.lines_first(rows, cols);
        // During the filling `ptr[l + 1]` is the position of the next entry of line l, and at the end that of
        // the line's end.
        let mut ptr = try_vec(lines + 2, 1, 0)?;
        replay(&mut |i, j, _| {
            if i >= rows || j >= cols {
                return Err(Error::Shape(format!("entry ({i}, {j}) lies outside {rows} × {cols}")).into());
            }
            ptr[order.lines_first(i, j).0 + 2] += 1;
            Ok(())
        })?;
        (0..=lines).for_each(|l| ptr[l + 1] += ptr[l]);
        let (ends, stored) = (ptr[2..].to_vec(), ptr[lines + 1]);
        let (mut idx, mut val) = (try_vec(stored, 1, 0)?, try_vec(stored, 1, T::ZERO)?);
        let changed = || Error::Shape("the entries changed while they were read".into());
        replay(&mut |i, j, v| {
            let (line, place) = order.lines_first(i, j);
            let next = ptr[..=lines].get_mut(line + 1).filter(|at| **at < ends[line]).ok_or_else(changed)?;
            (idx[*next], val[*next]) = (place as u32, v);
            *next += 1;
            Ok(())
        })?;
        ptr.pop();
        Ok(Self::new(rows, cols, order, ptr, idx, val)?)
    }

    /// The non-zero entries of a dense matrix, by columns. Panics if it has 2³² rows or columns.
    pub fn from_dense(dense: &super::Mat<T>) -> Self {
        let (rows, cols) = (dense.rows(), dense.cols());
        assert!(rows.max(cols) <= u32::MAX as usize, "{rows} × {cols} is too large");
        let (mut ptr, mut idx, mut val) = (vec![0], Vec::new(), Vec::new());
        for j in 0..cols {
            for (i, &v) in (0u32..).zip(dense.col(j)).filter(|(_, v)| **v != T::ZERO) {
                idx.push(i);
                val.push(v);
            }
            ptr.push(val.len());
        }
        Self { rows, cols, order: Order::Columns, ptr, idx, val }
    }

    /// Converts to a dense matrix, for small matrices and tests. No solver calls it.
    pub fn to_dense(&self) -> super::Mat<T> {
        let mut out = super::Mat::zeros(self.rows, self.cols);
        self.view().entries().for_each(|(i, j, x)| out[(i, j)] = x);
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
        let Self { rows, cols, order, ptr, idx, val } = self;
        let compressed = Some(Compressed { ptr, idx });
        Matrix { rows: *rows, cols: *cols, order: *order, values: val, compressed }
    }

    /// Whether the lines are sorted, without duplicates and zeros. Uses all threads if called in a pool.
    fn is_canonical(&self) -> bool {
        let right = |line: usize| {
            let line = self.view().line(line);
            let rising = line.idx.is_none_or(|idx| idx.is_sorted_by(|a, b| a < b));
            rising && line.values.iter().all(|v| *v != T::ZERO)
        };
        let (lines, some) = (self.ptr.len() - 1, 1024);
        let all_of = |first: usize| (first..(first + some).min(lines)).all(right);
        !parallel::map((0..lines).step_by(some), all_of).contains(&false)
    }

    /// Sorts each line, sums duplicates and drops zeros, in place. A line in order is only moved.
    pub(crate) fn make_canonical(&mut self) {
        if self.is_canonical() {
            return;
        }
        let Self { ptr, idx, val, .. } = self;
        let mut line: Vec<(u32, T)> = Vec::new();
        let (mut begin, mut write) = (0, 0);
        for end in &mut ptr[1..] {
            let here = begin..*end;
            begin = here.end;
            let rising = idx[here.clone()].is_sorted_by(|a, b| a < b);
            if rising && val[here.clone()].iter().all(|v| *v != T::ZERO) {
                idx.copy_within(here.clone(), write);
                val.copy_within(here.clone(), write);
                write += here.len();
            } else {
                line.extend(here.map(|at| (idx[at], val[at])));
                line.sort_by_key(|entry| entry.0);
                line.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                    }
                    same
                });
                for entry in line.drain(..).filter(|entry| entry.1 != T::ZERO) {
                    (idx[write], val[write]) = entry;
                    write += 1;
                }
            }
            *end = write;
        }
        idx.truncate(write);
        val.truncate(write);
    }
}

/// A vector of `rows · cols` equal values, or an error if the memory cannot be allocated.
pub(super) fn try_vec<V: Copy>(rows: usize, cols: usize, value: V) -> Result<Vec<V>> {
    let bytes = rows as u128 * cols as u128 * size_of::<V>() as u128;
    let too_large = || Error::TooLarge { rows, cols, bytes };
    let (mut trial, len) = (Vec::<V>::new(), rows.checked_mul(cols).ok_or_else(too_large)?);
    trial.try_reserve_exact(len).map_err(|_| too_large())?;
    // Without this the compiler may remove the unused allocation.
    std::hint::black_box(&trial);
    drop(trial);
    // The system hands out zeros page by page when they are first used, by the thread that uses them.
    Ok(vec![value; len])
}

/// Checks that 32-bit indices suffice for rows and columns.
fn check_size(rows: usize, cols: usize) -> Result<()> {
    let most = u32::MAX;
    if rows.max(cols) <= most as usize {
        return Ok(());
    }
    Err(Error::Shape(format!("a sparse matrix has at most {most} rows and columns, not {rows} × {cols}")))
}

impl<T: Scalar> Matrix<'_, T> {
    /// Checks compressed arrays. Pointers must start at 0, never decrease, and end at the number of values.
    /// Indices must be in range and, if `strict` is set, increase strictly within a line.
    pub(super) fn check_structure(&self, strict: bool) -> Result<()> {
        let Some(Compressed { ptr, idx }) = self.compressed else { return Ok(()) };
        check_size(self.rows, self.cols)?;
        let ((lines, length), values) = (self.lines(), self.values.len());
        let fail = |what: String| Err(Error::Shape(what));
        if ptr.len() != lines + 1 {
            let found = ptr.len();
            return fail(format!(
                "the pointer array has {found} entries for {lines} lines; {lines} + 1 are needed"
            ));
        }
        if idx.len() != values {
            return fail(format!("{} indices for {values} values", idx.len()));
        }
        if ptr[0] != 0 || ptr[lines] != values {
            return fail(format!("pointers run from {} to {}, expected 0 to {values}", ptr[0], ptr[lines]));
        }
        for (l, ends) in ptr.windows(2).enumerate() {
            let Some(line) = idx.get(ends[0]..ends[1]) else {
                return fail(format!("pointer {} of line {l} is out of order", ends[1]));
            };
            // The largest first, because a search that may end early is several times slower.
            if line.iter().max().is_some_and(|most| *most as usize >= length)
                && let Some(i) = line.iter().find(|i| **i as usize >= length)
            {
                return fail(format!("index {i} in line {l} is out of range: lines have {length} entries"));
            }
            if strict && let Some(at) = line.windows(2).position(|two| two[0] >= two[1]) {
                let at = ends[0] + at + 1;
                return fail(format!("indices of line {l} do not increase strictly at position {at}"));
            }
        }
        Ok(())
    }
}
