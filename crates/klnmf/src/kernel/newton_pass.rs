//! The pass over the rows of one column for a block of four weights, which computes gradient and Hessian.
//!
//! Fourteen partial sums stay in registers if there are 32 of these. With 16 registers, tiles of the rows are
//! passed twice: for the four sums of the gradient, and for the ten of the Hessian.

use super::isa::Wide;
use super::lanes::{Lanes, MOST};
use super::map::fetch;
use crate::Scalar;
use std::ops::Range;

/// Columns processed together. With 16 of them, two quadratic programs for eight columns each overlap.
pub(crate) const C: usize = 16;
/// Weights in a block.
pub(crate) const B: usize = 4;
/// Entries of the upper triangle of a B × B matrix.
pub(crate) const H: usize = B * (B + 1) / 2;

/// The most bytes of an atom in one pass, so that those of eight atoms stay in the L1 cache.
const CHUNK: usize = 3072;

/// The rows 0..height in chunks, one for each pass.
pub(crate) fn chunks<S>(height: usize) -> impl Iterator<Item = Range<usize>> {
    let rows = CHUNK / size_of::<S>();
    (0..height).step_by(rows).map(move |start| start..(start + rows).min(height))
}

/// The operands of a pass. All slices have the same length, a multiple of 64 bytes.
pub(crate) struct Pass<'a, S> {
    /// A column of V, padded with zeros.
    pub a: &'a [S],
    /// Kx, which the pass updates; the padding is not zero.
    pub z: &'a mut [S],
    /// The atoms of the previous block.
    pub before: [&'a [S]; B],
    /// The change of their weights.
    pub d: [S; B],
    /// The atoms of this block.
    pub k: [&'a [S]; B],
    /// Lower bound of z; positive.
    pub floor: S,
    /// The rows of V and of Kx that the next pass reads, to be prefetched.
    pub next: [&'a [S]; 2],
}

/// Kᵀt and the upper triangle of KᵀDiag(u)K, each as a register of partial sums.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Sums<S>([[S; MOST]; B + H]);

impl<S: Scalar> Sums<S> {
    /// Zero sums.
    pub const ZERO: Self = Self([[S::ZERO; MOST]; B + H]);

    /// The register of entry `e`.
    #[inline(always)]
    fn at<L: Lanes<S>>(&self, token: L::Token, e: usize) -> L {
        L::load(token, &self.0[e], 0, L::N)
    }
}

/// Updates z and adds the rows of a pass to the sums, or starts new sums if `fresh` is set.
///
/// The pass is borrowed, because large values would be copied.
pub(crate) struct BlockPass<'p, 'a, S> {
    pub pass: &'p mut Pass<'a, S>,
    pub fresh: bool,
    pub sums: &'p mut Sums<S>,
}

impl<S: Scalar> Wide<S> for BlockPass<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) {
        let Pass { a, z, before, d, k, floor, next } = self.pass;
        fetch_all(next);
        let mut so_far = [L::splat(token, S::ZERO); B + H];
        if !self.fresh {
            for (now, sum) in so_far.iter_mut().zip(&self.sums.0) {
                *now = L::load(token, sum, 0, L::N);
            }
        }
        let rows = Rows { a, z, before: *before, k: *k };
        let (d, floor) = (splat_all::<S, L>(token, d), L::splat(token, *floor));
        let new = rows.sums::<L>(token, d, floor, so_far);
        for (sum, new) in self.sums.0.iter_mut().zip(new) {
            new.store(sum, 0, L::N);
        }
    }
}

/// Prefetches some rows, a cache line at a time.
#[inline(always)]
fn fetch_all<S>(rows: &[&[S]; 2]) {
    for rows in rows {
        for at in (0..rows.len()).step_by(64 / size_of::<S>()) {
            fetch(rows, at);
        }
    }
}

/// Registers in a tile that is passed twice.
const TILE: usize = 32;

/// The slices of a pass, all of the same length.
pub(crate) struct Rows<'r, 'a, S> {
    pub a: &'a [S],
    pub z: &'r mut [S],
    pub before: [&'a [S]; B],
    pub k: [&'a [S]; B],
}

impl<S: Scalar> Rows<'_, '_, S> {
    /// Adds the changes d to z, and the rows to the sums of earlier rows.
    #[inline(always)]
    pub fn sums<L: Lanes<S>>(self, token: L::Token, d: [L; B], floor: L, so_far: [L; B + H]) -> [L; B + H] {
        if L::N * size_of::<S>() < 64 {
            return self.in_two_loops::<L>(token, d, floor, so_far);
        }
        let Rows { a, z, before, k } = self;
        // Separate variables, because the compiler does not keep the whole array in registers.
        let [mut g0, mut g1, mut g2, mut g3, mut h00, mut h01, mut h02, mut h03, ..] = so_far;
        let [.., mut h11, mut h12, mut h13, mut h22, mut h23, mut h33] = so_far;
        let n = z.len();
        let columns = z.chunks_exact_mut(L::N).zip(a[..n].chunks_exact(L::N));
        let atoms = four::<S, L>(&before, n).zip(four::<S, L>(&k, n));
        for ((z, a), (before, k)) in columns.zip(atoms) {
            let now = moved::<S, L>(L::load(token, z, 0, L::N), d, before).max(floor);
            now.store(z, 0, L::N);
            let inverse = now.reciprocal();
            let t = L::load(token, a, 0, L::N) * inverse;
            let u = t * inverse;
            let [k0, k1, k2, k3] = load_four::<S, L>(token, k);
            (g0, g1) = (k0.mul_add(t, g0), k1.mul_add(t, g1));
            (g2, g3) = (k2.mul_add(t, g2), k3.mul_add(t, g3));
            let (u0, u1, u2, u3) = (k0 * u, k1 * u, k2 * u, k3 * u);
            (h00, h01) = (u0.mul_add(k0, h00), u0.mul_add(k1, h01));
            (h02, h03) = (u0.mul_add(k2, h02), u0.mul_add(k3, h03));
            (h11, h12) = (u1.mul_add(k1, h11), u1.mul_add(k2, h12));
            (h13, h22) = (u1.mul_add(k3, h13), u2.mul_add(k2, h22));
            (h23, h33) = (u2.mul_add(k3, h23), u3.mul_add(k3, h33));
        }
        [g0, g1, g2, g3, h00, h01, h02, h03, h11, h12, h13, h22, h23, h33]
    }

    /// [`sums`](Self::sums) with few registers.
    #[inline(always)]
    fn in_two_loops<L: Lanes<S>>(
        self,
        token: L::Token,
        d: [L; B],
        floor: L,
        so_far: [L; B + H],
    ) -> [L; B + H] {
        let Rows { a, z, before, k } = self;
        let [mut g0, mut g1, mut g2, mut g3, mut h00, mut h01, mut h02, mut h03, ..] = so_far;
        let [.., mut h11, mut h12, mut h13, mut h22, mut h23, mut h33] = so_far;
        let mut u = [floor; TILE];
        for start in (0..z.len()).step_by(TILE * L::N) {
            let rows = start..(start + TILE * L::N).min(z.len());
            let [before, k] = [before, k].map(|atoms| atoms.map(|atom| &atom[rows.clone()]));
            let (z, a, n) = (&mut z[rows.clone()], &a[rows.clone()], rows.len());
            let columns = z.chunks_exact_mut(L::N).zip(a.chunks_exact(L::N)).zip(&mut u);
            let atoms = four::<S, L>(&before, n).zip(four::<S, L>(&k, n));
            for (((z, a), u), (before, k)) in columns.zip(atoms) {
                let now = moved::<S, L>(L::load(token, z, 0, L::N), d, before).max(floor);
                now.store(z, 0, L::N);
                let inverse = now.reciprocal();
                let t = L::load(token, a, 0, L::N) * inverse;
                *u = t * inverse;
                let [k0, k1, k2, k3] = load_four::<S, L>(token, k);
                (g0, g1) = (k0.mul_add(t, g0), k1.mul_add(t, g1));
                (g2, g3) = (k2.mul_add(t, g2), k3.mul_add(t, g3));
            }
            for (u, k) in u.iter().zip(four::<S, L>(&k, n)) {
                let [k0, k1, k2, k3] = load_four::<S, L>(token, k);
                let u0 = k0 * *u;
                (h00, h01) = (u0.mul_add(k0, h00), u0.mul_add(k1, h01));
                (h02, h03) = (u0.mul_add(k2, h02), u0.mul_add(k3, h03));
                let u1 = k1 * *u;
                (h11, h12, h13) = (u1.mul_add(k1, h11), u1.mul_add(k2, h12), u1.mul_add(k3, h13));
                let u2 = k2 * *u;
                (h22, h23) = (u2.mul_add(k2, h22), u2.mul_add(k3, h23));
                h33 = (k3 * *u).mul_add(k3, h33);
            }
        }
        [g0, g1, g2, g3, h00, h01, h02, h03, h11, h12, h13, h22, h23, h33]
    }

    /// The smallest z in each lane after the changes d, in the rows with a > 0. z itself does not change.
    #[inline(always)]
    pub fn least<L: Lanes<S>>(&self, token: L::Token, d: [L; B]) -> L {
        let most = L::splat(token, S::INFINITY);
        let (mut least, n) = (most, self.z.len());
        let columns = self.z.chunks_exact(L::N).zip(self.a[..n].chunks_exact(L::N));
        for ((z, a), before) in columns.zip(four::<S, L>(&self.before, n)) {
            let now = moved::<S, L>(L::load(token, z, 0, L::N), d, before);
            least = now.if_positive(L::load(token, a, 0, L::N), most).min(least);
        }
        least
    }
}

/// The smallest z in the rows with a > 0 after the last change.
pub(crate) struct LastPass<'p, 'a, S>(pub &'p mut Pass<'a, S>);

impl<S: Scalar> Wide<S> for LastPass<'_, '_, S> {
    type Output = S;

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) -> S {
        let Pass { a, z, before, d, k, .. } = self.0;
        let d = splat_all::<S, L>(token, d);
        Rows { a, z, before: *before, k: *k }.least::<L>(token, d).least()
    }
}

/// Sums Kᵀt and the upper triangle of KᵀDiag(u)K for several columns together.
pub(crate) struct Totals<'a, S>(pub &'a [Sums<S>; C]);

impl<S: Scalar> Wide<S> for Totals<'_, S> {
    type Output = [[f64; C]; B + H];

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) -> Self::Output {
        let mut totals = [[0.0; C]; B + H];
        for (at, eight) in self.0.as_chunks().0.iter().enumerate() {
            // Written out, because the compiler passes the registers of a loop through memory.
            let [c0, c1, c2, c3, c4, c5, c6, c7] = eight;
            for (e, total) in totals.iter_mut().enumerate() {
                let (s0, s1, s2, s3) = (c0.at(token, e), c1.at(token, e), c2.at(token, e), c3.at(token, e));
                let (s4, s5, s6, s7) = (c4.at(token, e), c5.at(token, e), c6.at(token, e), c7.at(token, e));
                total.as_chunks_mut().0[at] = L::sums([s0, s1, s2, s3, s4, s5, s6, s7]);
            }
        }
        totals
    }
}

/// A register of each of four atoms.
type Four<'a, S> = ((&'a [S], &'a [S]), (&'a [S], &'a [S]));

/// The registers of four atoms for `n` numbers of z. Zipped iterators need no bounds checks in the loop, and
/// slices of equal length need no search for the shortest before it.
#[inline(always)]
fn four<'a, S: Scalar, L: Lanes<S>>(atoms: &[&'a [S]; B], n: usize) -> impl Iterator<Item = Four<'a, S>> {
    let [a, b, c, d] = [&atoms[0][..n], &atoms[1][..n], &atoms[2][..n], &atoms[3][..n]];
    a.chunks_exact(L::N).zip(b.chunks_exact(L::N)).zip(c.chunks_exact(L::N).zip(d.chunks_exact(L::N)))
}

/// Loads a register of each atom.
#[inline(always)]
fn load_four<S: Scalar, L: Lanes<S>>(token: L::Token, ((a0, a1), (a2, a3)): Four<'_, S>) -> [L; B] {
    [
        L::load(token, a0, 0, L::N),
        L::load(token, a1, 0, L::N),
        L::load(token, a2, 0, L::N),
        L::load(token, a3, 0, L::N),
    ]
}

/// Broadcasts each number to a register. An array's `map` might not be inlined.
#[inline(always)]
fn splat_all<S: Scalar, L: Lanes<S>>(token: L::Token, x: &[S; B]) -> [L; B] {
    [L::splat(token, x[0]), L::splat(token, x[1]), L::splat(token, x[2]), L::splat(token, x[3])]
}

/// Adds the change d of the weights of four atoms to z, in two chains, because each operation waits for the
/// one before.
#[inline(always)]
fn moved<S: Scalar, L: Lanes<S>>(z: L, d: [L; B], atoms: Four<'_, S>) -> L {
    let [a0, a1, a2, a3] = load_four::<S, L>(z.token(), atoms);
    d[1].mul_add(a1, d[0].mul_add(a0, z)) + d[3].mul_add(a3, d[2] * a2)
}

#[cfg(test)]
#[path = "../../tests/unit/newton_pass.rs"]
mod tests;
