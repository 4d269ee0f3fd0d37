//! The fixed factor of a half-step.

use super::{Half, padded};
use crate::packed::{Aligned, Packed};
use crate::parallel::Pool;
use crate::{Mat, Scalar, kernel};

/// What a method wants to know of a dictionary besides products.
#[derive(Clone, Copy, Default)]
pub struct Wants {
    /// [`Block::u`](super::Block::u).
    pub u: bool,
    /// [`Block::atoms`](super::Block::atoms), which sparse blocks have anyway.
    pub atoms: bool,
}

/// K, in the layout and precision that blocks want.
pub struct Dictionary<S> {
    pub(super) r: usize,
    /// Kᵀ, r × p: rows of K contiguous, to be gathered for sparse columns. Empty if V is dense.
    pub(super) rows: Vec<S>,
    /// K packed for products, for dense V.
    pub(super) packed: Option<Packed<S>>,
    /// Kᵀ1.
    pub k_sum: Vec<S>,
    /// K(1/Kᵀ1): row i's share of every atom, added up. Empty if nobody wants it.
    pub(super) u: Vec<S>,
    /// K atom by atom, padded with zeros. Empty if nobody wants it.
    pub(super) atoms: Aligned<S>,
    /// Kᵀ1 while it is being added up.
    sums: Vec<f64>,
}

impl<S: Scalar> Dictionary<S> {
    /// Room for a dictionary of r atoms for this half.
    pub fn new<T: Scalar>(half: &Half<'_, T>, r: usize, wants: Wants) -> Self {
        let (p, sparse) = (half.view().rows(), half.view().is_sparse());
        Self {
            r,
            rows: vec![S::ZERO; if sparse { p * r } else { 0 }],
            packed: (!sparse).then(|| Packed::new(p, r)),
            k_sum: vec![S::ZERO; r],
            u: vec![S::ZERO; if wants.u { p } else { 0 }],
            atoms: Aligned::zeros(if wants.atoms && !sparse { padded::<S>(p) * r } else { 0 }),
            sums: vec![0.0; r],
        }
    }

    /// Takes K from its transpose `kt` (r × p).
    pub fn set<T: Scalar>(&mut self, pool: &Pool, kt: &Mat<T>) {
        let Self { r, rows, packed, k_sum, u, atoms, sums } = self;
        let kt = kt.as_slice();
        pool.both(
            || {
                kernel::add_columns(kt, sums);
                k_sum.iter_mut().zip(&*sums).for_each(|(to, s)| *to = S::from_f64(*s));
                sums.iter_mut().filter(|s| **s > 0.0).for_each(|s| *s = 1.0 / *s);
                for (u, row) in u.iter_mut().zip(kt.chunks_exact(*r)) {
                    *u = S::from_f64(kernel::dot(row, sums));
                }
            },
            || {
                kernel::convert(kt, rows);
                if let Some(packed) = packed {
                    packed.set(kt);
                }
                if !atoms.is_empty() {
                    let height = atoms.len() / *r;
                    for (i, row) in kt.chunks_exact(*r).enumerate() {
                        row.iter()
                            .enumerate()
                            .for_each(|(k, value)| atoms[k * height + i] = S::from_f64(value.to_f64()));
                    }
                }
            },
        );
    }
}
