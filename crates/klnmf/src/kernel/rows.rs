//! The pass over sparse columns, which reads the rows of the dictionary where they lie.
//!
//! A register of entries at a time: the rows of K at these entries times x, the sum of each across its lanes,
//! the map of these sums, and then the rows times the results, added to g. Nothing is copied, so this is the
//! fastest way if a column is used once.

// The kernels are loops over constant ranges that index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::isa::{Isa, Wide};
use super::lanes::{Lanes, MOST};
use super::map::{TileMap, fetch};
use crate::Scalar;
use std::ops::Range;

/// Entries between a prefetch and its use.
const AHEAD: usize = 16;

/// Bytes of a dictionary that stay in cache without prefetching.
const NEAR: usize = 1 << 19;

/// Some sparse columns, and the dictionary by rows.
#[derive(Clone, Copy)]
pub struct SparseRows<'a, S> {
    /// Where the entries of every column begin and end, see [`SparseRows::entries`].
    ptr: &'a [usize],
    idx: &'a [u32],
    k: &'a [S],
    stride: usize,
}

impl<'a, S: Scalar> SparseRows<'a, S> {
    /// Columns with the entries `ptr[c] − ptr[0]..ptr[c + 1] − ptr[0]` at the rows `idx`. `k` holds the rows
    /// of K, `stride` numbers each, padded with zeros to whole registers.
    ///
    /// # Safety
    ///
    /// Every row in `idx` must lie in `k`.
    pub unsafe fn new(ptr: &'a [usize], idx: &'a [u32], k: &'a [S], stride: usize) -> Self {
        debug_assert!(idx.iter().all(|i| (*i as usize + 1) * stride <= k.len()));
        Self { ptr, idx, k, stride }
    }

    /// The row of every entry.
    pub fn idx(&self) -> &'a [u32] {
        self.idx
    }

    /// A padded row of K.
    pub fn row(&self, i: u32) -> &'a [S] {
        &self.k[i as usize * self.stride..][..self.stride]
    }

    /// The entries of column `c`.
    pub fn entries(&self, c: usize) -> Range<usize> {
        self.ptr[c] - self.ptr[0]..self.ptr[c + 1] - self.ptr[0]
    }

    /// Numbers in a padded row of r weights.
    pub fn stride(r: usize) -> usize {
        r.next_multiple_of(Isa::get().vector_bytes() / size_of::<S>())
    }

    /// z = Kx at every entry, t = map(z), and g = Kᵀt. x and g are r × q.
    pub fn pass(self, x: &[S], r: usize, g: &mut [S], map: &mut impl TileMap<S>) {
        Isa::get().run_wide(RowPass { rows: self, x, r, g, map });
    }
}

struct RowPass<'a, S, F> {
    rows: SparseRows<'a, S>,
    x: &'a [S],
    r: usize,
    g: &'a mut [S],
    map: &'a mut F,
}

impl<S: Scalar, F: TileMap<S>> Wide<S> for RowPass<'_, S, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) {
        let stride = self.rows.stride;
        assert!(self.r <= stride && stride.is_multiple_of(L::N));
        let zero = L::splat(token, S::ZERO);
        // With few registers in a row, x and g stay in registers.
        match stride / L::N {
            1 => self.columns(token, &mut [zero; 1], &mut [zero; 1]),
            2 => self.columns(token, &mut [zero; 2], &mut [zero; 2]),
            4 => self.columns(token, &mut [zero; 4], &mut [zero; 4]),
            n => self.columns(token, &mut vec![zero; n], &mut vec![zero; n]),
        }
    }
}

impl<S: Scalar, F: TileMap<S>> RowPass<'_, S, F> {
    /// Processes all columns. `x` and `g` have as many registers as a row of K.
    #[inline(always)]
    fn columns<L: Lanes<S>>(self, token: L::Token, x: &mut [L], g: &mut [L]) {
        let Self { rows: SparseRows { ptr, idx, k, stride }, x: all_x, r, g: all_g, map } = self;
        let (origin, far) = (ptr[0], size_of_val(k) > NEAR);
        for (c, ends) in ptr.windows(2).enumerate() {
            for v in 0..x.len() {
                if F::READS {
                    let live = r.saturating_sub(v * L::N).min(L::N);
                    x[v] = L::load_or(token, all_x, c * r + v * L::N, live, S::ZERO);
                }
                g[v] = L::splat(token, S::ZERO);
            }
            let mut column = Column { k, stride, map: &mut *map, c };
            let (mut at, end) = (ends[0] - origin, ends[1] - origin);
            while at + L::N <= end {
                if far {
                    column.fetch(&idx[(at + AHEAD).min(idx.len())..], L::N, size_of_val(x));
                }
                column.entries(token, &idx[at..at + L::N], at, L::N, x, g);
                at += L::N;
            }
            if at < end {
                column.entries(token, &idx[at..end], at, end - at, x, g);
            }
            for v in 0..g.len() {
                let live = r.saturating_sub(v * L::N).min(L::N);
                g[v].store(all_g, c * r + v * L::N, live);
            }
        }
    }
}

/// The work on the entries of column `c`.
struct Column<'a, S, F> {
    k: &'a [S],
    stride: usize,
    map: &'a mut F,
    c: usize,
}

impl<S: Scalar, F: TileMap<S>> Column<'_, S, F> {
    /// Prefetches the rows, of `bytes` bytes, of the next `n` entries.
    #[inline(always)]
    fn fetch(&self, idx: &[u32], n: usize, bytes: usize) {
        for i in idx.iter().take(n) {
            for line in (0..bytes).step_by(64) {
                fetch(self.k, *i as usize * self.stride + line / size_of::<S>());
            }
        }
    }

    /// The rows of up to a register of entries. Missing ones are replaced by the first.
    #[inline(always)]
    fn rows<L: Lanes<S>>(&self, idx: &[u32], live: usize) -> [*const S; MOST] {
        let mut rows = [self.k.as_ptr(); MOST];
        for e in 0..L::N {
            let i = idx[if e < live { e } else { 0 }] as usize;
            // Safety: every row lies in k.
            rows[e] = unsafe { self.k.as_ptr().add(i * self.stride) };
        }
        rows
    }

    /// Processes `live` entries, of which the first is entry `at` of the block.
    #[inline(always)]
    fn entries<L: Lanes<S>>(
        &mut self,
        token: L::Token,
        idx: &[u32],
        at: usize,
        live: usize,
        x: &[L],
        g: &mut [L],
    ) {
        let rows = self.rows::<L>(idx, live);
        let zero = L::splat(token, S::ZERO);
        let mut z = L::splat(token, S::ONE);
        if F::READS {
            let mut sums = [zero; MOST];
            for v in 0..x.len() {
                for e in 0..L::N {
                    // Safety: a row of K has as many registers as x.
                    sums[e] = unsafe { L::read(token, rows[e].add(v * L::N)) }.mul_add(x[v], sums[e]);
                }
            }
            z = L::sum_each(sums);
        }
        let mut t = [S::ZERO; MOST];
        if live < L::N {
            // Ones in place of the sums that do not count.
            z.store(&mut t, 0, live);
            z = L::load(token, &t, 0, live);
        }
        self.map.map(self.c, at, live, z).store(&mut t, 0, live);
        for v in 0..g.len() {
            // Two sums, because in one each product would wait for the previous one.
            let (mut even, mut odd) = (zero, zero);
            for e in (0..L::N).step_by(2) {
                // Safety: a row of K has as many registers as g.
                let (a, b) = unsafe {
                    (L::read(token, rows[e].add(v * L::N)), L::read(token, rows[e + 1].add(v * L::N)))
                };
                even = a.mul_add(L::splat(token, t[e]), even);
                odd = b.mul_add(L::splat(token, t[e + 1]), odd);
            }
            g[v] = g[v] + (even + odd);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/rows.rs"]
mod tests;
