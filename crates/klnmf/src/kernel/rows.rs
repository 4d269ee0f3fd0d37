//! The pass over sparse columns, which reads the rows of the dictionary where they lie.
//!
//! A register of entries at a time: the rows of K at these entries times x, the sum of each across its lanes,
//! the map of these sums, and then the rows times the results, added to g. Nothing is copied, so this is the
//! fastest way if a column is used once. The registers of AVX-512 hold more numbers than most ranks fill, and
//! with sixteen entries at a time the places of their rows would not fit into registers, so AVX2 is used
//! there, too.

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
        r.next_multiple_of(Isa::get().vector_bytes().min(Isa::NARROW) / size_of::<S>())
    }

    /// z = Kx at every entry, t = map(z), and g = Kᵀt. x and g are r × q.
    pub fn pass(self, x: &[S], r: usize, g: &mut [S], map: &mut impl TileMap<S>) {
        Isa::get().run_narrow(RowPass { rows: self, x, r, g, map });
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
            3 => self.columns(token, &mut [zero; 3], &mut [zero; 3]),
            4 => self.columns(token, &mut [zero; 4], &mut [zero; 4]),
            n => self.columns(token, &mut vec![zero; n], &mut vec![zero; n]),
        }
    }
}

impl<S: Scalar, F: TileMap<S>> RowPass<'_, S, F> {
    /// Processes all columns. `x` and `g` have as many registers as a row of K.
    #[inline(always)]
    fn columns<L: Lanes<S>>(self, token: L::Token, x: &mut [L], g: &mut [L]) {
        let Self { rows: SparseRows { ptr, idx, k, .. }, x: all_x, r, g: all_g, map } = self;
        // A constant in four of the five cases, which saves a multiplication for each entry.
        let stride = x.len() * L::N;
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
                let at = c * r + v * L::N;
                // A whole register, even if that reaches into the next column, which is written later: stores
                // of a part are slow on some processors.
                let live = if at + L::N <= all_g.len() { L::N } else { r.saturating_sub(v * L::N).min(L::N) };
                g[v].store(all_g, at, live);
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

    /// The places of the rows of up to a register of entries in k. Missing ones are replaced by the first.
    #[inline(always)]
    fn rows<L: Lanes<S>>(&self, idx: &[u32], live: usize) -> [usize; MOST] {
        let mut rows = [0; MOST];
        for e in 0..L::N {
            rows[e] = idx[if e < live { e } else { 0 }] as usize * self.stride;
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
        let (mut z, mut t) = (L::splat(token, S::ONE), [S::ZERO; MOST]);
        if F::READS && live == L::N {
            z = L::sum_each(products::<S, L, MOST>(token, self.k.as_ptr(), &rows[..L::N], x));
        } else if F::READS {
            for first in (0..live).step_by(4) {
                let four =
                    L::sum_four(products::<S, L, 4>(token, self.k.as_ptr(), &rows[first..first + 4], x));
                t[first..first + 4].copy_from_slice(&four);
            }
            // Ones in place of the sums that do not count.
            z = L::load(token, &t, 0, live);
            t = [S::ZERO; MOST];
        }
        self.map.map(self.c, at, live, z).store(&mut t, 0, live);
        let k = if x.len() > 1 { again(self.k.as_ptr()) } else { self.k.as_ptr() };
        let t = again(t.as_ptr());
        for v in 0..g.len() {
            // Two sums, because in one each product would wait for the previous one.
            let (mut even, mut odd) = (zero, zero);
            for e in (0..live).step_by(2) {
                // Safety: a row of K has as many registers as g.
                let (a, b) = unsafe {
                    (L::read(token, k.add(rows[e] + v * L::N)), L::read(token, k.add(rows[e + 1] + v * L::N)))
                };
                // Safety: t has a number for each entry.
                let (t, u) = unsafe { (*t.add(e), *t.add(e + 1)) };
                even = a.mul_add(L::splat(token, t), even);
                odd = b.mul_add(L::splat(token, u), odd);
            }
            g[v] = g[v] + (even + odd);
        }
    }
}

/// The same address, in a way that the compiler cannot see through. It then loads the rows again for the
/// second product, instead of keeping them in registers, of which there are too few.
#[inline(always)]
fn again<S>(address: *const S) -> *const S {
    #[cfg(target_arch = "x86_64")]
    {
        let other;
        // Safety: there is no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inlateout(reg) address => other,
                options(pure, readonly, nostack, preserves_flags));
        }
        other
    }
    #[cfg(not(target_arch = "x86_64"))]
    address
}

/// The products of x with up to `M` rows of k, register by register; their lanes are still to be summed.
#[inline(always)]
fn products<S: Scalar, L: Lanes<S>, const M: usize>(
    token: L::Token,
    k: *const S,
    rows: &[usize],
    x: &[L],
) -> [L; M] {
    let mut sums = [L::splat(token, S::ZERO); M];
    for v in 0..x.len() {
        for e in 0..rows.len() {
            // Safety: a row of K has as many registers as x.
            sums[e] = unsafe { L::read(token, k.add(rows[e] + v * L::N)) }.mul_add(x[v], sums[e]);
        }
    }
    sums
}

#[cfg(test)]
#[path = "../../tests/unit/rows.rs"]
mod tests;
