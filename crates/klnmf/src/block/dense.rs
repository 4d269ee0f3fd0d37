//! Dense columns: a block is a panel of them with all of the dictionary.

use super::{Atoms, Block, Blocks, Dictionary, Load, Loaded, MOST_COLUMNS};
use crate::matrix::transpose_into;
use crate::parallel::Pool;
use crate::{Mat, Result, Scalar, kernel};
use std::any::TypeId;
use std::borrow::Cow;
use std::ops::Range;

/// Numbers that an array of the size of a panel may have, so that the workspace is bounded.
const MOST_NUMBERS: usize = 1 << 17;

/// Rows from which on a dictionary does not stay in cache.
const TALL: usize = 1 << 15;

/// V or Vᵀ, column after column.
pub struct DenseColumns<'v, T: Scalar> {
    rows: usize,
    data: Cow<'v, [T]>,
    sums: Vec<f64>,
}

impl<'v, T: Scalar> DenseColumns<'v, T> {
    /// Columns of `rows` numbers each, as they lie.
    pub fn new(pool: &Pool, (rows, cols): (usize, usize), data: Cow<'v, [T]>) -> Self {
        let mut sums = vec![0.0; cols];
        let mut units = vec![(); sums.len()];
        pool.panels(64, (&mut sums, 1), (&mut units, 1), |first, sums, _| {
            for (j, sum) in (first..).zip(sums) {
                *sum = data[j * rows..][..rows].iter().map(|a| a.to_f64()).sum();
            }
        });
        Self { rows, data, sums }
    }

    /// The same from lines that are rows.
    pub fn transposed(pool: &Pool, (rows, cols): (usize, usize), data: &[T]) -> Result<Self> {
        let mut copy = Mat::try_zeros(rows, cols)?;
        transpose_into(pool, (cols, data), &mut copy);
        Ok(Self::new(pool, (rows, cols), Cow::Owned(copy.into_vec())))
    }

    /// All numbers.
    pub fn data(&self) -> &[T] {
        &self.data
    }
}

/// Columns in a panel of a dense matrix on so many threads; see [`Blocks::panel`].
pub fn panel_width(rows: usize, cols: usize, arrays: bool, threads: usize) -> usize {
    // Some panels for every thread, in multiples of the number of columns that the kernels take at a time.
    // Every panel reads the dictionary again. Where that comes from memory there are fewer panels, and even
    // arrays are kept for eight columns.
    let fits = if arrays { (MOST_NUMBERS / rows.max(1)).clamp(8, MOST_COLUMNS) } else { MOST_COLUMNS };
    let width = cols.div_ceil(threads * if rows < TALL { 4 } else { 2 });
    if cols >= 64 { width.next_multiple_of(8).min(fits) } else { width.clamp(1, fits) }
}

impl<T: Scalar, S: Scalar> Blocks<S> for DenseColumns<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.sums.len())
    }

    fn sums(&self) -> &[f64] {
        &self.sums
    }

    fn panel(&self, arrays: bool, threads: usize) -> usize {
        // What is converted is an array, too.
        let arrays = arrays || TypeId::of::<T>() != TypeId::of::<S>();
        panel_width(self.rows, self.sums.len(), arrays, threads)
    }

    fn most_rows(&self) -> usize {
        self.rows
    }

    fn gathers(&self) -> bool {
        false
    }

    fn load<'a>(
        &'a self,
        cols: Range<usize>,
        _: usize,
        dictionary: &'a Dictionary<S>,
        room: &'a mut Load<S>,
    ) -> Loaded<'a, S> {
        let (p, q) = (self.rows, cols.len());
        let packed = dictionary.layout.packed.as_ref().expect("a dictionary for dense columns is packed");
        let block = Block {
            first: cols.start,
            p,
            q,
            r: dictionary.r,
            a: in_precision(&self.data[cols.start * p..cols.end * p], &mut room.a),
            k: Atoms::Packed(packed),
            atoms: &dictionary.layout.atoms,
            k_sum: &dictionary.sums.k_sum,
            shares: &dictionary.sums.shares,
            cost: dictionary.cost(),
            sums: &self.sums[cols],
        };
        let mut one = Some(block);
        Loaded::new(|| one.take())
    }
}

/// `values` as they are if they have precision S already, else converted into `room`.
pub fn in_precision<'a, T: Scalar, S: Scalar>(values: &'a [T], room: &'a mut Vec<S>) -> &'a [S] {
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
