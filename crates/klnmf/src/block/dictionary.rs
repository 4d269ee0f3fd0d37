//! The fixed factor of a half-step.

use super::padded;
use crate::cost::Cost;
use crate::kernel::{Aligned, Packed};
use crate::parallel::Pool;
use crate::{Mat, Scalar, kernel};
use rayon::prelude::*;

/// What a method needs besides products.
#[derive(Clone, Copy, Default)]
pub struct DictionaryParts {
    /// [`Block::shares`](super::Block::shares).
    pub shares: bool,
    /// [`Block::atoms`](super::Block::atoms), which gathered blocks have anyway.
    pub atoms: bool,
    /// The p × q arrays of [`Work`](super::Work).
    pub arrays: bool,
}

/// What the objective of a half-step has beside the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Every weight costs this much more.
    pub lasso: f64,
    /// μ of ½μ‖x‖².
    pub ridge: f64,
    /// The first `held` weights of every column are fixed.
    pub held: usize,
}

/// Rows of K that one task takes.
const PIECE: usize = 4096;

/// K, in the layout and precision that blocks want.
pub struct Dictionary<S> {
    pub(super) r: usize,
    pub(super) layout: Layout<S>,
    pub(super) sums: AtomSums<S>,
}

/// The entries of K; what nobody wants is empty.
pub(super) struct Layout<S> {
    /// Kᵀ, r × p: rows of K contiguous, to be gathered for sparse columns.
    pub rows: Vec<S>,
    /// K packed for products.
    pub packed: Option<Packed<S>>,
    /// K atom by atom, padded with zeros.
    pub atoms: Aligned<S>,
}

/// The sums of the atoms.
pub(super) struct AtomSums<S> {
    /// Kᵀ1.
    pub k_sum: Vec<S>,
    /// K(1/Kᵀ1): row i's share of every atom, added up. Empty if nobody wants it.
    pub shares: Vec<S>,
    /// c = Kᵀ1 + λ.
    c: Vec<S>,
    terms: Terms,
}

impl<S: Scalar> Dictionary<S> {
    /// Room for p rows and r atoms. `gathers`: for data whose blocks gather rows of it.
    pub fn new((p, r): (usize, usize), gathers: bool, parts: DictionaryParts, terms: Terms) -> Self {
        let zeros = |wanted: bool, n: usize| vec![S::ZERO; if wanted { n } else { 0 }];
        let layout = Layout {
            rows: zeros(gathers, p * r),
            packed: (!gathers).then(|| Packed::new(p, r)),
            atoms: Aligned::zeros(if parts.atoms && !gathers { padded::<S>(p) * r } else { 0 }),
        };
        let (k_sum, shares, c) = (zeros(true, r), zeros(parts.shares, p), zeros(true, r));
        Self { r, layout, sums: AtomSums { k_sum, shares, c, terms } }
    }

    /// The number of atoms.
    pub fn atoms(&self) -> usize {
        self.r
    }

    /// What the weights of a column cost where every entry counts once.
    pub fn cost(&self) -> Cost<'_, S> {
        let Terms { ridge, held, .. } = self.sums.terms;
        Cost { c: &self.sums.c, stride: 0, ridge: S::from_f64(ridge), held, r: self.r }
    }

    /// Takes K from its transpose `kt` (r × p), on all threads.
    pub fn set<T: Scalar>(&mut self, pool: &Pool, kt: &Mat<T>) {
        pool.run(|| rayon::join(|| self.sums.add_up(kt), || self.layout.set(kt)));
    }
}

impl<S: Scalar> AtomSums<S> {
    fn add_up<T: Scalar>(&mut self, kt: &Mat<T>) {
        let (r, kt) = (kt.rows(), kt.as_slice());
        // Pieces of fixed size, added up in order: the same bits on any number of threads.
        let of_piece = |rows: &[T]| {
            let mut sums = vec![0.0; r];
            kernel::add_columns(rows, &mut sums);
            sums
        };
        let pieces: Vec<Vec<f64>> = kt.par_chunks(PIECE * r).map(of_piece).collect();
        let mut sums = vec![0.0; r];
        pieces.iter().for_each(|piece| sums.iter_mut().zip(piece).for_each(|(sum, x)| *sum += x));
        for ((k_sum, c), sum) in self.k_sum.iter_mut().zip(&mut self.c).zip(&sums) {
            (*k_sum, *c) = (S::from_f64(*sum), S::from_f64(*sum + self.terms.lasso));
        }
        sums.iter_mut().filter(|sum| **sum > 0.0).for_each(|sum| *sum = 1.0 / *sum);
        self.shares.par_chunks_mut(PIECE).zip(kt.par_chunks(PIECE * r)).for_each(|(shares, rows)| {
            for (share, row) in shares.iter_mut().zip(rows.chunks_exact(r)) {
                *share = S::from_f64(kernel::dot(row, &sums));
            }
        });
    }
}

impl<S: Scalar> Layout<S> {
    fn set<T: Scalar>(&mut self, kt: &Mat<T>) {
        let (r, kt) = (kt.rows(), kt.as_slice());
        self.rows
            .par_chunks_mut(PIECE * r)
            .zip(kt.par_chunks(PIECE * r))
            .for_each(|(to, kt)| kernel::convert(kt, to));
        if let Some(packed) = &mut self.packed {
            packed.set(kt);
        }
        let height = self.atoms.len() / r;
        if height > 0 {
            // Eight atoms at a time: what they take of a row lies in one or two cache lines.
            self.atoms.par_chunks_mut(8 * height).enumerate().for_each(|(eight, atoms)| {
                for (i, row) in kt.chunks_exact(r).enumerate() {
                    let entries = row[8 * eight..].iter().zip(atoms.chunks_exact_mut(height));
                    entries.for_each(|(x, atom)| atom[i] = S::from_f64(x.to_f64()));
                }
            });
        }
    }
}
