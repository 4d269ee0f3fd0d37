//! Sparse columns: a block is one of them with the rows of the dictionary at its entries, gathered.

use super::dense::in_precision;
use super::{Atoms, Block, Blocks, Dictionary, Load, Loaded, MOST_BLOCKS, padded, take};
use crate::Scalar;
use crate::matrix::{Index, IndexSlice, Matrix, Sparse, Storage};
use crate::parallel::Pool;
use std::ops::Range;

/// Rows for which there is room when columns are gathered together, even if no column is so long.
const GATHERED_ROWS: usize = 2048;

/// V or Vᵀ by compressed columns.
pub struct SparseColumns<'v, T> {
    source: Source<'v, T>,
    sums: Vec<f64>,
    longest: usize,
}

enum Source<'v, T> {
    Borrowed(Matrix<'v, T>),
    Owned(Sparse<T>),
}

impl<'v, T: Scalar> SparseColumns<'v, T> {
    /// A matrix that is compressed by columns.
    pub fn borrowed(pool: &Pool, v: Matrix<'v, T>) -> Self {
        Self::new(pool, Source::Borrowed(v))
    }

    /// The same, owned.
    pub fn owned(pool: &Pool, v: Sparse<T>) -> Self {
        Self::new(pool, Source::Owned(v))
    }

    fn new(pool: &Pool, source: Source<'v, T>) -> Self {
        let mut new = Self { source, sums: vec![], longest: 0 };
        let view = new.view();
        let (mut sums, mut lengths) = (vec![0.0; view.cols()], vec![0; view.cols()]);
        pool.panels(256, (&mut sums, 1), (&mut lengths, 1), |first, sums, lengths| {
            for (j, (sum, length)) in (first..).zip(sums.iter_mut().zip(lengths)) {
                let values = view.column_values(j);
                (*sum, *length) = (values.iter().map(|a| a.to_f64()).sum(), values.len());
            }
        });
        (new.sums, new.longest) = (sums, lengths.into_iter().max().unwrap_or(0));
        new
    }

    /// The matrix.
    pub fn view(&self) -> Matrix<'_, T> {
        match &self.source {
            Source::Borrowed(v) => *v,
            Source::Owned(v) => v.view(),
        }
    }
}

/// Rows that are gathered together at most if the longest column has `longest` entries.
pub fn gathered_rows(longest: usize) -> usize {
    // 16 numbers fill a register in either precision.
    let longest = longest.next_multiple_of(16);
    (MOST_BLOCKS * longest).min(longest.max(GATHERED_ROWS))
}

impl<T: Scalar, S: Scalar> Blocks<S> for SparseColumns<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.view().rows(), self.sums.len())
    }

    fn sums(&self) -> &[f64] {
        &self.sums
    }

    fn panel(&self, _: bool, _: usize) -> usize {
        self.sums.len().div_ceil(64).clamp(1, 64)
    }

    fn most_rows(&self) -> usize {
        gathered_rows(self.longest)
    }

    fn gathers(&self) -> bool {
        true
    }

    fn load<'a>(
        &'a self,
        cols: Range<usize>,
        most: usize,
        dictionary: &'a Dictionary<S>,
        room: &'a mut Load<S>,
    ) -> Loaded<'a, S> {
        let Storage::Sparse { ptr, idx, val } = self.view().storage() else {
            unreachable!("sparse columns are compressed")
        };
        // Columns that are loaded together lie together in V.
        let mut end = cols.start + 1;
        let (mut rows, all) = (padded::<S>(ptr.at(end) - ptr.at(cols.start)), room.k.len() / dictionary.r);
        while end < cols.end && end - cols.start < most.min(MOST_BLOCKS) {
            rows += padded::<S>(ptr.at(end + 1) - ptr.at(end));
            if rows > all {
                break;
            }
            end += 1;
        }
        let base = ptr.at(cols.start);
        let values = in_precision(&val[base..ptr.at(end)], &mut room.a);
        let (mut k, mut shares) = (&mut room.k[..], &mut room.shares[..]);
        let mut columns = cols.start..end;
        Loaded::new(move || {
            let first = columns.next()?;
            let range = ptr.at(first)..ptr.at(first + 1);
            let (p, r) = (range.len(), dictionary.r);
            let (k, shares) = (take(&mut k, padded::<S>(p) * r), take(&mut shares, p));
            match idx {
                IndexSlice::U32(idx) => gather(&idx[range.clone()], dictionary, k, shares),
                IndexSlice::U64(idx) => gather(&idx[range.clone()], dictionary, k, shares),
            }
            Some(Block {
                first,
                p,
                q: 1,
                r,
                a: &values[range.start - base..range.end - base],
                k: Atoms::Gathered(k),
                atoms: k,
                k_sum: &dictionary.sums.k_sum,
                shares,
                cost: dictionary.cost(),
                sums: &self.sums[first..first + 1],
            })
        })
    }
}

/// Collects the rows `idx` of K atom by atom, padded with zeros, and their shares.
fn gather<I: Index, S: Scalar>(idx: &[I], dictionary: &Dictionary<S>, k: &mut [S], shares: &mut [S]) {
    let (p, r, height) = (idx.len(), dictionary.r, padded::<S>(idx.len()));
    let all = &dictionary.sums.shares;
    if !all.is_empty() {
        shares.iter_mut().zip(idx).for_each(|(to, i)| *to = all[i.at()]);
    }
    let row = |i: &I| &dictionary.layout.rows[i.at() * r..][..r];
    // Four rows at a time: their entries of an atom lie side by side, so one write serves four.
    let fours = idx.chunks_exact(4);
    let rest = fours.remainder();
    for (n, four) in fours.enumerate() {
        let rows: [&[S]; 4] = std::array::from_fn(|c| row(&four[c]));
        for l in 0..r {
            let to = &mut k[l * height + 4 * n..][..4];
            to.copy_from_slice(&[rows[0][l], rows[1][l], rows[2][l], rows[3][l]]);
        }
    }
    for (at, i) in (p - rest.len()..).zip(rest) {
        for (l, value) in row(i).iter().enumerate() {
            k[l * height + at] = *value;
        }
    }
    k.chunks_exact_mut(height.max(1)).take(r).for_each(|atom| atom[p..].fill(S::ZERO));
}
