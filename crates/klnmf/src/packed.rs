//! The two products of a pass over dense data, z = Kx and g = Kᵀt, from a dictionary packed for vector registers.
//!
//! Both are the same kernel: a strip of the packed matrix, some vectors wide, times a few columns, summed in registers
//! over the common length. For z the strip is a few rows of K and the sum runs over the atoms; for g it is a few atoms
//! and the sum runs over the rows. Every number is a chain of fused multiply-adds in the order of that sum, so the bits
//! do not depend on the width of the vectors.

// The kernels are loops over constant ranges that index several arrays at once.
#![allow(clippy::needless_range_loop)]

use crate::Scalar;
use crate::lanes::Lanes;
use crate::level::{Level, Wide};
use crate::map::{Map, Same};
use rayon::prelude::*;
use std::ops::{Deref, DerefMut, Range};

/// Vectors beside each other in a strip: with six or eight columns the sums just fill the registers. The last strip has
/// one if that is enough.
const VECTORS: usize = 2;

/// Numbers that begin at a cache line, so that no vector lies across two.
pub struct Aligned<S> {
    room: Vec<S>,
    start: usize,
    len: usize,
}

impl<S: Scalar> Aligned<S> {
    const LINE: usize = 64;

    pub fn zeros(len: usize) -> Self {
        let room = vec![S::ZERO; len + Self::LINE / size_of::<S>()];
        let start = room.as_ptr().align_offset(Self::LINE).min(Self::LINE / size_of::<S>());
        Self { room, start, len }
    }
}

impl<S> Deref for Aligned<S> {
    type Target = [S];
    fn deref(&self) -> &[S] {
        &self.room[self.start..][..self.len]
    }
}

impl<S> DerefMut for Aligned<S> {
    fn deref_mut(&mut self) -> &mut [S] {
        &mut self.room[self.start..][..self.len]
    }
}

/// A dictionary K (p × r) in the two layouts that the products want.
pub struct Packed<S> {
    level: Level,
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
    /// Room for p rows and r atoms.
    pub fn new(p: usize, r: usize) -> Self {
        Self::at(Level::get(), p, r)
    }

    fn at(level: Level, p: usize, r: usize) -> Self {
        let width = VECTORS * level.vector_bytes() / size_of::<S>();
        let rows = Aligned::zeros(p.next_multiple_of(width / VECTORS) * r);
        let atoms = Aligned::zeros(r.next_multiple_of(width / VECTORS) * p);
        Self { level, p, r, width, rows, atoms }
    }

    /// Packs K from its transpose (r × p), strip by strip; on the threads of the pool that this is called in.
    pub fn set<T: Scalar>(&mut self, kt: &[T]) {
        let Self { level, p, r, width, rows, atoms } = self;
        let (level, p, r, width) = (*level, *p, *r, *width);
        rayon::join(
            || {
                // Enough strips at a time that handing them out costs little.
                rows.par_chunks_mut(16 * width * r).zip(kt.par_chunks(16 * width * r)).for_each(
                    |(to, kt)| {
                        level.run(
                            #[inline(always)]
                            || set_rows(to, kt, r, width),
                        );
                    },
                );
            },
            || {
                atoms.par_chunks_mut(width * p).enumerate().for_each(|(strip, to)| {
                    level.run(
                        #[inline(always)]
                        || set_atoms(to, kt, r, strip * width),
                    );
                });
            },
        );
    }

    /// z ← K x for some rows, which begin at a multiple of the strip's width: x is r × q, z is rows × q.
    pub fn multiply(&self, rows: &Range<usize>, x: &[S], q: usize, z: &mut [S]) {
        self.multiply_map(rows, x, q, z, &mut Same);
    }

    /// t ← f(K x), `map` applied strip by strip while z is in the nearest cache.
    pub fn multiply_map(&self, rows: &Range<usize>, x: &[S], q: usize, t: &mut [S], map: &mut impl Map<S>) {
        // Only the last strip of all may be narrow, so the rows end with a whole one or with the matrix.
        assert!(
            rows.start.is_multiple_of(self.width)
                && (rows.end.is_multiple_of(self.width) || rows.end == self.p)
        );
        let strips = &self.rows[rows.start * self.r..];
        let lines = Lines { stride: self.r, skip: 0, depth: self.r };
        let (height, origin) = (rows.len(), (rows.start, self.p));
        self.level.run_wide(Product { strips, lines, b: x, q, c: t, height, add: false, origin, map });
    }

    /// g ← g + Kᵀt for some rows: t is rows × q, g is r × q.
    pub fn multiply_transposed(&self, rows: &Range<usize>, t: &[S], q: usize, g: &mut [S]) {
        let lines = Lines { stride: self.p, skip: rows.start, depth: rows.len() };
        let (height, origin) = (self.r, (0, self.r));
        let strips = &self.atoms[..];
        self.level.run_wide(Product {
            strips,
            lines,
            b: t,
            q,
            c: g,
            height,
            add: true,
            origin,
            map: &mut Same,
        });
    }
}

/// Rows of K, side by side in strips.
#[inline(always)]
fn set_rows<S: Scalar, T: Scalar>(strips: &mut [S], kt: &[T], r: usize, width: usize) {
    for (strip, rows) in strips.chunks_mut(width * r).zip(kt.chunks(width * r)) {
        let across = strip.len() / r;
        // Contiguous reads and strided writes, which do not wait for each other.
        for (l, row) in rows.chunks_exact(r).enumerate() {
            for (line, k) in strip.chunks_exact_mut(across).zip(row) {
                line[l] = S::from_f64(k.to_f64());
            }
        }
    }
}

/// The atoms from `first` on, side by side in one strip.
#[inline(always)]
fn set_atoms<S: Scalar, T: Scalar>(strip: &mut [S], kt: &[T], r: usize, first: usize) {
    let across = strip.len() / (kt.len() / r);
    let live = across.min(r - first);
    for (line, row) in strip.chunks_exact_mut(across).zip(kt.chunks_exact(r)) {
        let row = &row[first..][..live];
        line.iter_mut().zip(row).for_each(|(to, k)| *to = S::from_f64(k.to_f64()));
    }
}

/// Which lines of a strip a product takes: `depth` of its `stride` lines, after the first `skip`.
#[derive(Clone, Copy)]
struct Lines {
    stride: usize,
    skip: usize,
    depth: usize,
}

/// One product of strips with columns, c ← [c +] f(A b): A in strips, b depth × q, c height × q.
struct Product<'a, S, F> {
    strips: &'a [S],
    lines: Lines,
    b: &'a [S],
    q: usize,
    c: &'a mut [S],
    height: usize,
    add: bool,
    /// The place of c's first number in the arrays that f reads, and their height.
    origin: (usize, usize),
    map: &'a mut F,
}

impl<S: Scalar, F: Map<S>> Wide<S> for Product<'_, S, F> {
    type Output = ();

    /// As many columns at a time as the processor has registers for their sums: 32 of 64 bytes, 16 of fewer.
    #[inline(always)]
    fn run<const L: usize>(self) {
        if const { L * size_of::<S>() == 64 } {
            self.all::<L, 8, 4>();
        } else if const { L * size_of::<S>() == 32 } {
            self.all::<L, 6, 3>();
        } else {
            self.all::<L, 4, 2>();
        }
    }
}

impl<S: Scalar, F: Map<S>> Product<'_, S, F> {
    /// All columns, `N` at a time, then `M`, then one. `L`: numbers in a register.
    #[inline(always)]
    fn all<const L: usize, const N: usize, const M: usize>(mut self) {
        let mut j = 0;
        while j + N <= self.q {
            self.columns::<L, N>(j);
            j += N;
        }
        while j + M <= self.q {
            self.columns::<L, M>(j);
            j += M;
        }
        while j < self.q {
            self.columns::<L, 1>(j);
            j += 1;
        }
    }

    /// `N` columns from column `j` on, strip after strip.
    #[inline(always)]
    fn columns<const L: usize, const N: usize>(&mut self, j: usize) {
        for first in (0..self.height).step_by(VECTORS * L) {
            if self.height - first > L {
                self.strip::<L, VECTORS, N>(first, j);
            } else {
                self.strip::<L, 1, N>(first, j);
            }
        }
    }

    /// Where f will read after the `N` columns from `j` on: from the next `N`, else from those below the first, else from those
    /// right of the last, where the next product may go on. Fewer than `N` columns at the end come without being asked for.
    #[inline(always)]
    fn next_columns<const N: usize>(&self, j: usize) -> usize {
        let (row, rows) = self.origin;
        if j + 2 * N <= self.q {
            row + (j + N) * rows
        } else if row + self.height < rows {
            row + self.height
        } else {
            self.q * rows
        }
    }

    /// The strip of `V` vectors that begins at line `first` of c, times `N` columns.
    #[inline(always)]
    fn strip<const L: usize, const V: usize, const N: usize>(&mut self, first: usize, j: usize) {
        let (Lines { stride, skip, depth }, height) = (self.lines, self.height);
        let next = self.next_columns::<N>(j) + first;
        let b = &self.b[j * depth..][..N * depth];
        let c = &mut self.c[j * height..][..N * height];
        let a = &self.strips[first * stride + skip * V * L..][..depth * V * L];
        let place = |n: usize| self.origin.0 + (j + n) * self.origin.1 + first;
        // What f will read comes from far away: now is the time to ask for what it will read of this strip in the next columns.
        for n in 0..N {
            for v in 0..V {
                self.map.fetch(next + n * self.origin.1 + v * L);
            }
        }
        let live = (V * L).min(height - first);
        // Vector v of column n in c, and how much of it there is.
        let part = |n: usize, v: usize| (n * height + first + v * L, (live - v * L).min(L));
        let sums = strip_times_columns::<S, L, V, N>(a, b, depth);
        // Loops over constant ranges with so little in them are unrolled, and the sums stay in registers. With the map in
        // here they would not: it reads them from c, which is in the nearest cache.
        for n in 0..N {
            for v in 0..V {
                let (at, live) = part(n, v);
                let t = if self.add { Lanes::load(c, at, live) + sums[n][v] } else { sums[n][v] };
                t.store(c, at, live);
            }
        }
        if F::SAME {
            return;
        }
        for n in 0..N {
            for v in 0..V {
                let (at, live) = part(n, v);
                let z = Lanes::<S, L>::load(c, at, live);
                self.map.map(j + n, place(n) + v * L, live, z).store(c, at, live);
            }
        }
    }
}

/// The heart: for every line of the strip one load of its vectors and one broadcast for each column.
#[inline(always)]
fn strip_times_columns<S: Scalar, const L: usize, const V: usize, const N: usize>(
    a: &[S],
    b: &[S],
    depth: usize,
) -> [[Lanes<S, L>; V]; N] {
    assert!(a.len() >= depth * V * L && b.len() >= N * depth);
    let mut sums = [[Lanes([S::ZERO; L]); V]; N];
    for k in 0..depth {
        // Safety: k < depth, and the assertion above leaves room for `depth` lines of V · L numbers.
        let line: [Lanes<S, L>; V] = std::array::from_fn(|v| unsafe {
            a.as_ptr().add((k * V + v) * L).cast::<Lanes<S, L>>().read_unaligned()
        });
        for n in 0..N {
            // Safety: n < N and k < depth, and b holds N columns of `depth` numbers.
            let x = unsafe { *b.get_unchecked(n * depth + k) };
            for v in 0..V {
                sums[n][v] = line[v].mul_add(Lanes::splat(x), sums[n][v]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat;

    fn example(r: usize, p: usize, seed: usize) -> Mat<f64> {
        Mat::from_fn(r, p, |i, j| ((i * 31 + j * 17 + seed) % 23) as f64 / 7.0 + 0.125)
    }

    fn products(level: Level, kt: &Mat<f64>, x: &Mat<f64>, t: &Mat<f64>) -> (Vec<f64>, Vec<f64>) {
        let (p, r, q) = (kt.cols(), kt.rows(), x.cols());
        let mut packed = Packed::<f64>::at(level, p, r);
        packed.set(kt.as_slice());
        let (mut z, mut g) = (vec![7.0; p * q], vec![1.0; r * q]);
        packed.multiply(&(0..p), x.as_slice(), q, &mut z);
        packed.multiply_transposed(&(0..p), t.as_slice(), q, &mut g);
        (z, g)
    }

    /// Both products against plain loops, for shapes that leave remainders everywhere; and the same bits on every level.
    #[test]
    fn products_are_right_in_every_shape_and_on_every_level() {
        for (p, r, q) in
            [(1, 1, 1), (5, 3, 2), (16, 16, 8), (33, 10, 7), (70, 49, 13), (128, 17, 24), (100, 40, 9)]
        {
            let (kt, x, t) = (example(r, p, 1), example(r, q, 2), example(p, q, 3));
            let (z, g) = products(Level::Plain, &kt, &x, &t);
            for j in 0..q {
                for i in 0..p {
                    let want: f64 = (0..r).map(|k| kt[(k, i)] * x[(k, j)]).sum();
                    assert!((z[j * p + i] - want).abs() < 1e-12 * want, "{p} {r} {q}");
                }
                for k in 0..r {
                    let want: f64 = 1.0 + (0..p).map(|i| kt[(k, i)] * t[(i, j)]).sum::<f64>();
                    assert!((g[j * r + k] - want).abs() < 1e-12 * want, "{p} {r} {q}");
                }
            }
            for level in Level::all() {
                assert_eq!(
                    (&z, &g),
                    (&products(level, &kt, &x, &t).0, &products(level, &kt, &x, &t).1),
                    "{p} {r} {q}"
                );
            }
        }
    }

    #[test]
    fn single_precision_products_are_right() {
        let (kt, x) = (example(21, 50, 1), example(21, 5, 2));
        let mut plain = vec![];
        for level in Level::all() {
            let mut packed = Packed::<f32>::at(level, 50, 21);
            packed.set(kt.as_slice());
            let mut z = vec![0.0f32; 250];
            packed.multiply(&(0..50), x.cast::<f32>().as_slice(), 5, &mut z);
            for (at, z) in z.iter().enumerate() {
                let want: f64 = (0..21).map(|k| kt[(k, at % 50)] * x[(k, at / 50)]).sum();
                assert!((f64::from(*z) - want).abs() < 1e-5 * want);
            }
            // The first level is the plain one, and the others give the same bits.
            plain = if plain.is_empty() { z.clone() } else { plain };
            assert_eq!(z, plain);
        }
    }
}
