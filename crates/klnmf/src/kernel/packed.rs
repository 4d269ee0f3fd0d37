//! The two products of a pass over dense data, z = Kx and g = Kᵀt, with a dictionary packed for registers.
//!
//! Both use the same kernel: a strip of the packed matrix, some vectors wide, times a few columns, summed in
//! registers over the common dimension. For z the strip is a few rows of K and the sum runs over the atoms.
//! For g the strip is a few atoms and the sum runs over the rows. Each result is a chain of multiply-adds in
//! the order of that sum. They are fused on AVX2 and AVX-512, so these two give the same bits.

// The kernels are loops over constant ranges that index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::aligned::Aligned;
use super::isa::{Isa, Wide, simd};
use super::lanes::Lanes;
use super::map::{Same, TileMap};
use crate::Scalar;
use crate::parallel::{both, for_each};
use std::ops::Range;

/// Vectors in a strip. With two, the sums of six or eight columns just fill the registers. The last strip has
/// one if that suffices.
const VECTORS: usize = 2;

/// A dictionary K (p × r) in the layouts for the two products.
pub struct Packed<S> {
    isa: Isa,
    p: usize,
    r: usize,
    /// Numbers across a strip.
    width: usize,
    /// Strips of rows: the entries of `width` rows side by side, atom after atom.
    rows: Aligned<S>,
    /// Strips of atoms: the entries of `width` atoms side by side, row after row.
    atoms: Aligned<S>,
}

impl<S: Scalar> Packed<S> {
    /// Allocates p rows and r atoms, for products at a given level.
    pub fn new(isa: Isa, p: usize, r: usize) -> Self {
        let width = VECTORS * isa.vector_bytes() / size_of::<S>();
        let rows = Aligned::zeros(p.next_multiple_of(width / VECTORS) * r);
        let atoms = Aligned::zeros(r.next_multiple_of(width / VECTORS) * p);
        Self { isa, p, r, width, rows, atoms }
    }

    /// Packs K from its transpose (r × p), strip by strip, on the threads of the calling pool.
    pub fn set<T: Scalar>(&mut self, kt: &[T]) {
        let Self { p, r, width, rows, atoms, .. } = self;
        let (p, r, width) = (*p, *r, *width);
        // Several strips of rows at a time, so that distributing them costs little.
        let many = 16 * width * r;
        let rows = rows.chunks_mut(many).zip(kt.chunks(many));
        let atoms = atoms.chunks_mut(width * p).enumerate();
        both(
            || for_each(rows, |(to, kt)| set_rows(to, kt, r, width)),
            || for_each(atoms, |(strip, to)| set_atoms(to, kt, r, strip * width)),
        );
    }

    /// t ← f(K x) for some rows, starting at a multiple of the strip width: x is r × q, t is rows × q. `map`
    /// is applied strip by strip while z = K x is in the L1 cache.
    pub fn multiply_map<F: TileMap<S>>(
        &self,
        rows: &Range<usize>,
        x: &[S],
        q: usize,
        t: &mut [S],
        map: &mut F,
    ) {
        // Only the last strip may be narrow, so the rows must end with a whole strip or with the matrix.
        assert!(
            rows.start.is_multiple_of(self.width)
                && (rows.end.is_multiple_of(self.width) || rows.end == self.p)
        );
        let strips = &self.rows[rows.start * self.r..];
        let (stride, skip, depth) = (self.r, 0, self.r);
        let (height, origin, add) = (rows.len(), (rows.start, self.p), false);
        let some = columns_at_a_time(self.isa.vector_bytes());
        let whole = if F::SAME { q } else { q - q % some };
        let (b, (c, rest)) = (x, t.split_at_mut(whole * height));
        let product = Product { strips, stride, skip, depth, b, q: whole, c, height, add, origin, map, some };
        self.isa.run_wide(product);
        if whole < q {
            let (b, q, c) = (&x[whole * self.r..], q - whole, &mut *rest);
            let map = &mut Same;
            let product = Product { strips, stride, skip, depth, b, q, c, height, add, origin, map, some };
            self.isa.run_wide(product);
        }
        for (column, z) in (whole..q).zip(rest.chunks_mut(height.max(1))) {
            map.apply(self.isa, column, rows.start + column * self.p, z);
        }
    }

    /// z ← K x: x is r × q, z is p × q.
    pub fn multiply(&self, x: &[S], q: usize, z: &mut [S]) {
        self.multiply_map(&(0..self.p), x, q, z, &mut Same);
    }

    /// g ← g + Kᵀt for some rows: t is rows × q, g is r × q.
    pub fn multiply_transposed(&self, rows: &Range<usize>, t: &[S], q: usize, g: &mut [S]) {
        let (stride, skip, depth) = (self.p, rows.start, rows.len());
        let (height, origin, add) = (self.r, (0, self.r), true);
        let (strips, map) = (&self.atoms[..], &mut Same);
        let (b, c, some) = (t, g, 0);
        self.isa.run_wide(Product { strips, stride, skip, depth, b, q, c, height, add, origin, map, some });
    }
}

/// The columns that the sums of a strip allow: there are 32 registers of 64 bytes, else 16.
const fn columns_at_a_time(vector_bytes: usize) -> usize {
    match vector_bytes {
        64 => 8,
        32 => 6,
        _ => 4,
    }
}

/// Packs rows of K side by side into strips.
fn set_rows<S: Scalar, T: Scalar>(strips: &mut [S], kt: &[T], r: usize, width: usize) {
    simd(
        #[inline(always)]
        || {
            for (strip, rows) in strips.chunks_mut(width * r).zip(kt.chunks(width * r)) {
                let across = strip.len() / r;
                // Contiguous reads and strided writes, which are independent.
                for (l, row) in rows.chunks_exact(r).enumerate() {
                    for (line, k) in strip.chunks_exact_mut(across).zip(row) {
                        line[l] = S::from_f64(k.to_f64());
                    }
                }
            }
        },
    );
}

/// Packs the atoms from `first` on side by side into one strip.
fn set_atoms<S: Scalar, T: Scalar>(strip: &mut [S], kt: &[T], r: usize, first: usize) {
    let across = strip.len() / (kt.len() / r);
    let live = across.min(r - first);
    simd(
        #[inline(always)]
        || {
            for (line, row) in strip.chunks_exact_mut(across).zip(kt.chunks_exact(r)) {
                let row = &row[first..][..live];
                line.iter_mut().zip(row).for_each(|(to, k)| *to = S::from_f64(k.to_f64()));
            }
        },
    );
}

/// A product of strips with columns, c ← [c +] f(A b): A in strips, b depth × q, c height × q.
struct Product<'a, S, F> {
    strips: &'a [S],
    /// The lines of a strip to use: `depth` of its `stride` lines, after the first `skip`.
    stride: usize,
    skip: usize,
    depth: usize,
    b: &'a [S],
    q: usize,
    c: &'a mut [S],
    height: usize,
    add: bool,
    /// The position of c's first number in the arrays that f reads, and their height.
    origin: (usize, usize),
    map: &'a mut F,
    /// The columns that f is applied to at a time, as a number that the compiler does not know.
    some: usize,
}

impl<S: Scalar, F: TileMap<S>> Wide<S> for Product<'_, S, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) {
        match columns_at_a_time(L::N * size_of::<S>()) {
            8 => self.all::<L, 8, 4>(token),
            6 => self.all::<L, 6, 3>(token),
            _ => self.all::<L, 4, 2>(token),
        }
    }
}

impl<S: Scalar, F: TileMap<S>> Product<'_, S, F> {
    /// Processes all columns: `N` at a time, then `M`, then one. With a map their number must be a multiple
    /// of `N`, so that the compiler has fewer cases to unroll.
    #[inline(always)]
    fn all<L: Lanes<S>, const N: usize, const M: usize>(mut self, token: L::Token) {
        let mut j = 0;
        while j + N <= self.q {
            self.columns::<L, N>(token, j);
            j += N;
        }
        debug_assert!(F::SAME || j == self.q);
        while F::SAME && j + M <= self.q {
            self.columns::<L, M>(token, j);
            j += M;
        }
        while F::SAME && j < self.q {
            self.columns::<L, 1>(token, j);
            j += 1;
        }
    }

    /// Processes `N` columns from column `j` on, strip by strip.
    #[inline(always)]
    fn columns<L: Lanes<S>, const N: usize>(&mut self, token: L::Token, j: usize) {
        for first in (0..self.height).step_by(VECTORS * L::N) {
            if self.height - first > L::N {
                self.strip::<L, VECTORS, N>(token, first, j);
            } else {
                self.strip::<L, 1, N>(token, first, j);
            }
        }
    }

    /// What to prefetch while the `N` columns from `j` on are multiplied: the same columns in the next tile,
    /// which is far enough ahead for memory. In the last tile: the next `N` columns, or after the last ones
    /// the numbers beyond them, where the next product may continue.
    #[inline(always)]
    fn next_columns<const N: usize>(&self, j: usize) -> usize {
        let (row, rows) = self.origin;
        if row + self.height < rows {
            row + self.height + j * rows
        } else if j + 2 * N <= self.q {
            row + (j + N) * rows
        } else {
            self.q * rows
        }
    }

    /// Multiplies the strip of `V` vectors that starts at line `first` of c by `N` columns.
    #[inline(always)]
    fn strip<L: Lanes<S>, const V: usize, const N: usize>(
        &mut self,
        token: L::Token,
        first: usize,
        j: usize,
    ) {
        let Self { stride, skip, depth, height, .. } = *self;
        let next = self.next_columns::<N>(j) + first;
        let b = &self.b[j * depth..][..N * depth];
        let c = &mut self.c[j * height..][..N * height];
        let a = &self.strips[first * stride + skip * V * L::N..][..depth * V * L::N];
        // f reads from distant memory. This prefetches its entries of this strip in the next columns.
        for n in 0..N {
            for v in 0..V {
                self.map.fetch(next + n * self.origin.1 + v * L::N);
            }
        }
        let live = (V * L::N).min(height - first);
        let sums = strip_times_columns::<S, L, V, N>(token, a, b, depth);
        // Such small loops over constant ranges are unrolled, and the sums stay in registers. With the map in
        // the loop they would not, so the map reads them from c, which is in the L1 cache.
        for n in 0..N {
            for v in 0..V {
                let (at, live) = (n * height + first + v * L::N, (live - v * L::N).min(L::N));
                let t = if self.add { L::load(token, c, at, live) + sums[n][v] } else { sums[n][v] };
                t.store(c, at, live);
            }
        }
        if F::SAME {
            return;
        }
        // A long map is not unrolled.
        for n in 0..if F::SHORT { N } else { self.some } {
            let place = self.origin.0 + (j + n) * self.origin.1 + first;
            for v in 0..V {
                let (at, live) = (n * height + first + v * L::N, (live - v * L::N).min(L::N));
                let z = L::load(token, c, at, live);
                self.map.map(j + n, place + v * L::N, live, z).store(c, at, live);
            }
        }
    }
}

/// The innermost kernel: for each line of the strip, one load of its vectors and one broadcast per column.
#[inline(always)]
fn strip_times_columns<S: Scalar, L: Lanes<S>, const V: usize, const N: usize>(
    token: L::Token,
    a: &[S],
    b: &[S],
    depth: usize,
) -> [[L; V]; N] {
    assert!(b.len() >= N * depth);
    let mut sums = [[L::splat(token, S::ZERO); V]; N];
    for (k, from) in a.chunks_exact(V * L::N).take(depth).enumerate() {
        let mut line = [sums[0][0]; V];
        for v in 0..V {
            line[v] = L::load(token, from, v * L::N, L::N);
        }
        for n in 0..N {
            // Safety: n < N and k < depth, and b holds N columns of `depth` numbers.
            let x = L::splat(token, unsafe { *b.get_unchecked(n * depth + k) });
            for v in 0..V {
                sums[n][v] = line[v].mul_add(x, sums[n][v]);
            }
        }
    }
    sums
}

#[cfg(test)]
#[path = "../../tests/unit/packed.rs"]
mod tests;
