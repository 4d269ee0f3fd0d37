//! What a thread works in.

use super::{Atoms, Block, Dictionary, Half, MOST_BLOCKS, TILE_ROWS, padded, take};
use crate::matrix::{Index, IndexSlice, Storage};
use crate::packed::Aligned;
use crate::{Scalar, kernel};
use std::any::TypeId;
use std::ops::Range;

/// A thread's memory: what blocks are loaded into, and what solvers work in.
pub struct Scratch<S> {
    pub(super) load: Load<S>,
    pub work: Work<S>,
}

/// Where gathered or converted pieces of V and K go.
pub(super) struct Load<S> {
    a: Vec<S>,
    k: Vec<S>,
    u: Vec<S>,
}

/// Room for solvers: `big` holds p × q numbers each, p padded, `small` r × q, for eight columns at least, `tile` one tile of
/// KX. What a solver does not touch stays untouched zero pages and costs no memory.
pub struct Work<S> {
    pub tile: Aligned<S>,
    pub big: [Vec<S>; 5],
    pub small: [Vec<S>; 7],
}

impl<S: Scalar> Scratch<S> {
    pub(super) fn new(p: usize, q: usize, r: usize, gathers: bool, converts: bool) -> Self {
        let zeros = |n: usize| vec![S::ZERO; n];
        let load = Load {
            a: zeros(if converts { p * q } else { 0 }),
            k: zeros(if gathers { padded::<S>(p) * r } else { 0 }),
            u: zeros(if gathers { p } else { 0 }),
        };
        let work = Work {
            tile: Aligned::zeros(TILE_ROWS.min(p) * q),
            big: std::array::from_fn(|_| zeros(padded::<S>(p) * q)),
            small: std::array::from_fn(|_| zeros(r * q.max(MOST_BLOCKS))),
        };
        Self { load, work }
    }
}

impl<S: Scalar> Load<S> {
    /// The block of the columns `cols` if V is dense, else as many single columns from the first on as there is room for, up
    /// to `most`; and how many blocks that is.
    pub(super) fn blocks<'a, T: Scalar>(
        &'a mut self,
        half: &'a Half<'_, T>,
        mut cols: Range<usize>,
        most: usize,
        dictionary: &'a Dictionary<S>,
    ) -> (usize, [Block<'a, S>; MOST_BLOCKS]) {
        let Load { a, k, u } = self;
        let (mut a, mut k, mut u) = (&mut a[..], &mut k[..], &mut u[..]);
        let (v, r, mut count) = (half.view(), dictionary.r, 0);
        let blocks = std::array::from_fn(|n| {
            let (first, mut q) = (cols.start, 0);
            let (mut p, mut values, mut atoms, mut shares) = (0, &[][..], Atoms::Gathered(&[]), &[][..]);
            match v.storage() {
                _ if cols.is_empty() || n >= most => {}
                Storage::Dense(data) => {
                    (p, q) = (v.rows(), cols.len());
                    values = in_precision(&data[first * p..cols.end * p], take_some(&mut a, p * q));
                    atoms = dictionary.packed.as_ref().map_or(atoms, Atoms::Packed);
                    shares = &dictionary.u;
                }
                Storage::Sparse { ptr, idx, val } => {
                    let range = ptr.at(first)..ptr.at(first + 1);
                    let height = padded::<S>(range.len());
                    // The first one fits.
                    if height * r <= k.len() {
                        (p, q) = (range.len(), 1);
                        let (k, u) = (take(&mut k, height * r), take(&mut u, p));
                        match idx {
                            IndexSlice::U32(idx) => gather(&idx[range.clone()], r, dictionary, k, u),
                            IndexSlice::U64(idx) => gather(&idx[range.clone()], r, dictionary, k, u),
                        }
                        values = in_precision(&val[range], take_some(&mut a, p));
                        (atoms, shares) = (Atoms::Gathered(k), u);
                    }
                }
            }
            let last = if q == 0 { cols.end } else { first + q };
            cols.start = last;
            count += usize::from(q > 0);
            Block {
                first,
                p,
                q,
                r,
                a: values,
                k: atoms,
                atoms: if let Atoms::Gathered(k) = atoms { k } else { &dictionary.atoms[..] },
                u: shares,
                k_sum: &dictionary.k_sum,
                sums: &half.sums[first..first + q],
            }
        });
        (count, blocks)
    }
}

/// Cuts the first `n` entries off, or as many as there are.
fn take_some<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    let n = n.min(from.len());
    take(from, n)
}

/// Collects the rows `idx` of K atom by atom, padded with zeros, and the same entries of u.
fn gather<I: Index, S: Scalar>(idx: &[I], r: usize, dictionary: &Dictionary<S>, k: &mut [S], u: &mut [S]) {
    let (p, height) = (idx.len(), padded::<S>(idx.len()));
    if !dictionary.u.is_empty() {
        u.iter_mut().zip(idx).for_each(|(u, i)| *u = dictionary.u[i.at()]);
    }
    let row = |i: &I| &dictionary.rows[i.at() * r..][..r];
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

/// `values` as they are if they have precision S already, else converted into `room`.
fn in_precision<'a, T: Scalar, S: Scalar>(values: &'a [T], room: &'a mut [S]) -> &'a [S] {
    if TypeId::of::<T>() == TypeId::of::<S>() {
        // Safety: T and S are the same type.
        return unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<S>(), values.len()) };
    }
    let room = &mut room[..values.len()];
    kernel::convert(values, room);
    room
}
