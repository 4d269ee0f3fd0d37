//! Maps of z = Kx, applied entry by entry between the two products of a pass.

use super::isa::{Isa, Wide};
use super::lanes::{Lanes, MOST};
use crate::Scalar;
use crate::block::MOST_COLUMNS;
use std::mem::MaybeUninit;

/// A function of the entries of z, called with one register at a time.
///
/// It runs inside the product kernels, strip by strip while z is in the L1 cache, so every `map` must be
/// `#[inline(always)]`.
pub trait TileMap<S: Scalar> {
    /// Whether it leaves z unchanged.
    const SAME: bool = false;
    /// Whether it is so short that a loop over several columns is unrolled.
    const SHORT: bool = false;
    /// Whether it depends on z.
    const READS: bool = true;

    /// The new values of the entries `at..at + live` of the block's p × q arrays, all in one column. `z`
    /// holds their old values, then ones. Results after the first `live` are ignored.
    fn map<L: Lanes<S>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L;

    /// Prefetches the entries from `at` on.
    #[inline(always)]
    fn fetch(&self, _at: usize) {}

    /// Maps a part of a column that starts at `at`: z ← f(z).
    fn apply(&mut self, isa: Isa, column: usize, at: usize, z: &mut [S])
    where
        Self: Sized,
    {
        isa.run_wide(Piece { map: self, column, at, z });
    }
}

/// A part of a column to be mapped.
struct Piece<'a, S, F> {
    map: &'a mut F,
    column: usize,
    at: usize,
    z: &'a mut [S],
}

impl<S: Scalar, F: TileMap<S>> Wide<S> for Piece<'_, S, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) {
        let Self { map, column, mut at, z } = self;
        let mut whole = z.chunks_exact_mut(L::N);
        for z in &mut whole {
            map.map(column, at, L::N, L::load(token, z, 0, L::N)).store(z, 0, L::N);
            at += L::N;
        }
        let rest = whole.into_remainder();
        let live = rest.len();
        if live > 0 {
            map.map(column, at, live, L::load(token, rest, 0, live)).store(rest, 0, live);
        }
    }
}

/// Prefetches the cache line of an entry. As a hint, it may point anywhere.
#[inline(always)]
pub(super) fn fetch<S>(from: &[S], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // Safety: a prefetch does not read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, at);
}

/// The identity.
pub(crate) struct Same;

impl<S: Scalar> TileMap<S> for Same {
    const SAME: bool = true;

    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, _: usize, _: usize, z: L) -> L {
        z
    }
}

/// t itself, whatever z is.
pub(crate) struct Given<'a, S> {
    pub t: &'a [S],
}

impl<S: Scalar> TileMap<S> for Given<'_, S> {
    const READS: bool = false;

    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, at: usize, live: usize, z: L) -> L {
        L::load(z.token(), self.t, at, live)
    }
}

/// a/z where a > 0, else 0: the negative dual point, and the quotient of the multiplicative update.
pub(crate) struct Ratio<'a, S> {
    pub a: &'a [S],
}

impl<S: Scalar> TileMap<S> for Ratio<'_, S> {
    const SHORT: bool = true;

    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, at: usize, live: usize, z: L) -> L {
        L::load(z.token(), self.a, at, live).over(z)
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.a, at);
    }
}

/// Σ b·ln(c/z) over the entries of each column with b > 0, infinite if z = 0 there. The map is c/z.
///
/// With c = b = a this gives the divergence along with the quotient; with c an earlier z, the change since.
pub struct LogSums<'a, S> {
    b: &'a [S],
    c: &'a [S],
    /// Whether to return an infinite quotient where z is subnormal. Such a z has lost digits, so no
    /// certificate may rest on it.
    pub certify: bool,
    /// Partial sums in as many lanes as the widest register has, for the first `columns` columns only. A
    /// sparse block has one column, and clearing the sums of all would take as long as the column itself.
    sums: [MaybeUninit<[S; MOST]>; MOST_COLUMNS],
    columns: usize,
}

impl<'a, S: Scalar> LogSums<'a, S> {
    /// Zero sums for `columns` columns.
    pub fn new(b: &'a [S], c: &'a [S], columns: usize) -> Self {
        let mut sums = [MaybeUninit::uninit(); MOST_COLUMNS];
        sums[..columns].fill(MaybeUninit::new([S::ZERO; MOST]));
        Self { b, c, certify: false, sums, columns }
    }

    /// Zero sums for the divergence of `columns` columns a, on which a certificate may rest.
    pub fn certifying(a: &'a [S], columns: usize) -> Self {
        Self { certify: true, ..Self::new(a, a, columns) }
    }

    /// The sum of a column.
    pub fn sum(&self, column: usize) -> f64 {
        assert!(column < self.columns);
        // Safety: `new` has initialised the sums of these columns.
        let sums = unsafe { self.sums[column].assume_init_ref() };
        sums.iter().map(|s| s.to_f64()).sum()
    }
}

impl<S: Scalar> TileMap<S> for LogSums<'_, S> {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let token = z.token();
        let (b, c) = (L::load(token, self.b, at, live), L::load(token, self.c, at, live));
        // After the first `live` all three are one, with logarithm zero.
        let t = c.over(z);
        let terms = t.weighted_ln(b, c, z);
        assert!(column < self.columns);
        // Safety: `new` has initialised the sums of these columns.
        let sums = unsafe { self.sums[column].assume_init_mut() };
        (L::load(token, sums, 0, L::N) + terms).store(sums, 0, L::N);
        if self.certify && !z.is_normal_where(b) {
            return L::splat(token, S::INFINITY);
        }
        t
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.b, at);
        fetch(self.c, at);
    }
}

/// The dual step χ ← ½(χ' − √(χ'² + 4σa)) with χ' = χ + σz. The map is the new χ.
///
/// With `COLUMNS` there is one σ per column, and the step covers all entries, as in the authors' program.
/// Otherwise there is one σ per entry, and χ is 0 where a = 0.
pub(crate) struct DualStep<'a, S, const COLUMNS: bool> {
    a: &'a [S],
    sigma: &'a [S],
    chi: &'a mut [S],
}

impl<'a, S, const COLUMNS: bool> DualStep<'a, S, COLUMNS> {
    pub fn new(a: &'a [S], sigma: &'a [S], chi: &'a mut [S]) -> Self {
        Self { a, sigma, chi }
    }
}

impl<S: Scalar, const COLUMNS: bool> TileMap<S> for DualStep<'_, S, COLUMNS> {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let token = z.token();
        let (a, chi) = (L::load(token, self.a, at, live), L::load(token, self.chi, at, live));
        let next = if COLUMNS {
            chi.dual_step(a, L::splat(token, self.sigma[column]), z)
        } else {
            chi.dual_step(a, L::load(token, self.sigma, at, live), z).where_positive(a)
        };
        next.store(self.chi, at, live);
        next
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.a, at);
        fetch(self.chi, at);
        if !COLUMNS {
            fetch(self.sigma, at);
        }
    }
}

/// Stores z, with columns `height` apart.
pub struct Keep<'a, T> {
    pub z: &'a mut [T],
    pub p: usize,
    pub height: usize,
}

impl<T: Scalar> TileMap<T> for Keep<'_, T> {
    #[inline(always)]
    fn map<L: Lanes<T>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        z.store(self.z, at + column * (self.height - self.p), live);
        z
    }
}

/// Stores z, then maps it.
impl<T: Scalar, F: TileMap<T>> TileMap<T> for (Keep<'_, T>, F) {
    #[inline(always)]
    fn map<L: Lanes<T>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let z = self.0.map(column, at, live, z);
        self.1.map(column, at, live, z)
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        self.1.fetch(at);
    }
}
