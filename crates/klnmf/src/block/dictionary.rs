//! The fixed factor of a half-step.

use super::{Block, MOST_COLUMNS, padded};
use crate::cost::Cost;
use crate::kernel::{Aligned, Isa, Packed, SparseRows};
use crate::parallel::{Pool, both, for_each, map};
use crate::{Mat, Scalar, kernel};

/// The parts of the dictionary and workspace that a method needs besides products.
#[derive(Clone, Copy, Default)]
pub struct DictionaryParts {
    /// [`Block::shares`](super::Block::shares).
    pub shares: bool,
    /// [`Block::atoms`](super::Block::atoms), which gathered blocks always have.
    pub atoms: bool,
    /// The p × q arrays of [`Work`](super::Work).
    pub arrays: bool,
}

/// The terms of the objective of a half-step besides the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// λ of the penalty λ·Σx.
    pub lasso: f64,
    /// μ of ½μ‖x‖².
    pub ridge: f64,
    /// The first `held` weights of every column are fixed.
    pub held: usize,
}

/// Rows of K in one task.
const PIECE: usize = 4096;

/// K in the layouts and the precision that blocks need. Unused layouts are empty.
pub struct Dictionary<S> {
    pub(super) r: usize,
    terms: Terms,
    /// The rows of K one after the other, padded with zeros to `stride` numbers, for sparse columns.
    pub(super) rows: Aligned<S>,
    pub(super) stride: usize,
    /// K packed for products.
    pub(super) packed: Option<Packed<S>>,
    /// K atom by atom, padded with zeros.
    atoms: Aligned<S>,
    /// Kᵀ1.
    k_sum: Vec<S>,
    /// c = Kᵀ1 + λ, once for each column of a block, so that an update can run over all of them.
    c: Vec<S>,
    /// K(1/Kᵀ1): for every row, its shares of all atoms, summed.
    pub(super) shares: Vec<S>,
}

impl<S: Scalar> Dictionary<S> {
    /// Allocates p rows and r atoms. `gathers`: whether the blocks of the data gather rows.
    pub fn new((p, r): (usize, usize), gathers: bool, parts: DictionaryParts, terms: Terms) -> Self {
        let zeros = |wanted: bool, n: usize| vec![S::ZERO; if wanted { n } else { 0 }];
        let stride = SparseRows::<S>::stride(r);
        Self {
            r,
            terms,
            rows: Aligned::zeros(if gathers { p * stride } else { 0 }),
            stride,
            packed: (!gathers).then(|| Packed::new(Isa::get(), p, r)),
            atoms: Aligned::zeros(if parts.atoms && !gathers { padded::<S>(p) * r } else { 0 }),
            k_sum: zeros(true, r),
            c: zeros(true, r * MOST_COLUMNS),
            shares: zeros(parts.shares, p),
        }
    }

    /// A block of the columns `a` of V, from column `first` on and as many as there are `sums`, with the
    /// whole K and unweighted entries. A storage replaces the fields that differ.
    pub fn block<'a>(&'a self, first: usize, a: &'a [S], sums: &'a [f64]) -> Block<'a, S> {
        let Self { r, terms: Terms { ridge, held, .. }, .. } = *self;
        Block {
            first,
            p: a.len() / sums.len().max(1),
            q: sums.len(),
            r,
            a,
            rows: None,
            packed: self.packed.as_ref(),
            atoms: &self.atoms,
            k_sum: &self.k_sum,
            shares: &self.shares,
            cost: Cost { c: &self.c, stride: 0, ridge: S::from_f64(ridge), held, r },
            sums,
        }
    }

    /// Sets K from its transpose `kt` (r × p), on all threads.
    pub fn set<T: Scalar>(&mut self, pool: &Pool, kt: &Mat<T>) {
        let (Self { r, terms, rows, stride, packed, atoms, k_sum, c, shares }, kt) = (self, kt.as_slice());
        let add_up = || {
            let sums = row_sums(kt, *r);
            k_sum.iter_mut().zip(&sums).for_each(|(k_sum, sum)| *k_sum = S::from_f64(*sum));
            for c in c.chunks_exact_mut(*r) {
                c.iter_mut().zip(&sums).for_each(|(c, sum)| *c = S::from_f64(*sum + terms.lasso));
            }
            set_shares(kt, sums, shares);
        };
        let lay_out = || {
            let pieces = rows.chunks_mut(PIECE * *stride).zip(kt.chunks(PIECE * *r));
            for_each(pieces, |(to, kt)| kernel::convert_rows(kt, *r, to, *stride));
            packed.iter_mut().for_each(|packed| packed.set(kt));
            set_atoms(kt, *r, atoms);
        };
        pool.run(|| both(add_up, lay_out));
    }
}

/// The row sums of an array with r rows.
fn row_sums<T: Scalar>(kt: &[T], r: usize) -> Vec<f64> {
    // Chunks of fixed size, summed in order, give the same bits on any number of threads.
    let of_piece = |rows: &[T]| {
        let mut sums = vec![0.0; r];
        kernel::add_columns(rows, &mut sums);
        sums
    };
    let pieces: Vec<Vec<f64>> = map(kt.chunks(PIECE * r), of_piece);
    let mut sums = vec![0.0; r];
    pieces.iter().for_each(|piece| sums.iter_mut().zip(piece).for_each(|(sum, x)| *sum += x));
    sums
}

/// The shares of the rows of K, from the sums of its atoms.
fn set_shares<T: Scalar, S: Scalar>(kt: &[T], mut sums: Vec<f64>, shares: &mut [S]) {
    let r = sums.len();
    sums.iter_mut().filter(|sum| **sum > 0.0).for_each(|sum| *sum = 1.0 / *sum);
    for_each(shares.chunks_mut(PIECE).zip(kt.chunks(PIECE * r)), |(shares, rows)| {
        for (share, row) in shares.iter_mut().zip(rows.chunks_exact(r)) {
            *share = S::from_f64(kernel::dot(row, &sums));
        }
    });
}

/// Lays out K atom by atom, if that layout is in use.
fn set_atoms<T: Scalar, S: Scalar>(kt: &[T], r: usize, atoms: &mut [S]) {
    let height = atoms.len() / r;
    // Eight atoms at a time, because their entries in a row lie in one or two cache lines.
    for_each(atoms.chunks_mut((8 * height).max(1)).enumerate(), |(eight, atoms)| {
        for (i, row) in kt.chunks_exact(r).enumerate() {
            let entries = row[8 * eight..].iter().zip(atoms.chunks_exact_mut(height));
            entries.for_each(|(x, atom)| atom[i] = S::from_f64(x.to_f64()));
        }
    });
}
