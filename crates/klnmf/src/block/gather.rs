//! Sparse columns with the rows of the dictionary at their entries copied atom by atom.

use super::{Block, MOST_BLOCKS, padded, take};
use crate::Scalar;
use crate::kernel::SparseRows;
use crate::solver::active::Active;

/// The buffers of a thread, allocated as needed.
#[derive(Default)]
pub struct Gather<S> {
    /// Rows of the dictionary, atom by atom.
    atoms: Vec<S>,
    /// The shares of these rows.
    shares: Vec<S>,
    /// The list of all atoms.
    all: Vec<u32>,
}

impl<S: Scalar> Gather<S> {
    /// Passes the sparse columns of a block in place to `f`, in groups of up to `most` columns that have at
    /// most `room` padded rows together. `active`: copies only the atoms in the list of each column, and
    /// leaves out columns without a list.
    pub fn groups(
        &mut self,
        block: &Block<'_, S>,
        rows: SparseRows<'_, S>,
        active: Option<&Active>,
        (most, room): (usize, usize),
        f: &mut dyn FnMut(&[Block<'_, S>]),
    ) {
        self.atoms.resize(room * block.r, S::ZERO);
        self.shares.resize(room, S::ZERO);
        self.all.clear();
        self.all.extend(0..block.r as u32);
        let height = |c: usize| padded::<S>(rows.entries(c).len());
        let mut columns =
            (0..block.q).filter(|c| active.is_none_or(|active| !active.of(*c).is_empty())).peekable();
        while columns.peek().is_some() {
            let (mut left, mut count) = (room, 0);
            let (mut atoms, mut shares) = (&mut self.atoms[..], &mut self.shares[..]);
            let mut group = [*block; MOST_BLOCKS];
            while count < most
                && let Some(c) = columns.next_if(|c| height(*c) <= left)
            {
                left -= height(c);
                let here = rows.entries(c);
                let (p, sums, cost) = (here.len(), &block.sums[c..=c], block.cost.from(c));
                let (atoms, shares) = (take(&mut atoms, height(c) * block.r), take(&mut shares, p));
                if !block.shares.is_empty() {
                    let idx = &rows.idx()[here.clone()];
                    shares.iter_mut().zip(idx).for_each(|(to, i)| *to = block.shares[*i as usize]);
                }
                let list = active.map_or(&self.all[..], |active| active.of(c));
                copy(rows, &rows.idx()[here.clone()], list, atoms);
                let (a, first) = (&block.a[here], block.first + c);
                group[count] = Block { first, p, q: 1, a, rows: None, atoms, shares, cost, sums, ..*block };
                count += 1;
            }
            f(&group[..count]);
        }
    }
}

/// Copies the atoms `list` on the rows `idx` of K, padded with zeros.
fn copy<S: Scalar>(rows: SparseRows<'_, S>, idx: &[u32], list: &[u32], atoms: &mut [S]) {
    let (p, height) = (idx.len(), padded::<S>(idx.len()));
    // Four rows at a time, because their entries of an atom are adjacent and need one write.
    let fours = idx.chunks_exact(4);
    let rest = fours.remainder();
    for (n, four) in fours.enumerate() {
        let rows: [&[S]; 4] = std::array::from_fn(|c| rows.row(four[c]));
        for (l, k) in list.iter().enumerate() {
            let (to, k) = (&mut atoms[l * height + 4 * n..][..4], *k as usize);
            to.copy_from_slice(&[rows[0][k], rows[1][k], rows[2][k], rows[3][k]]);
        }
    }
    for (at, i) in (p - rest.len()..).zip(rest) {
        let row = rows.row(*i);
        list.iter().enumerate().for_each(|(l, k)| atoms[l * height + at] = row[*k as usize]);
    }
    atoms.chunks_exact_mut(height.max(1)).take(list.len()).for_each(|atom| atom[p..].fill(S::ZERO));
}
