//! What a pass does to z = Kx, entry by entry, between its two products.

use crate::Scalar;
use crate::block::MOST_COLUMNS;
use crate::lanes::{Lanes, dual_step};
use crate::level::{Level, Wide};

/// A function of the entries of z, of which as many come at a time as a register holds.
///
/// It is called inside the product kernels, strip by strip while z is in the nearest cache, so every `map` must be
/// `#[inline(always)]`.
pub trait Map<S: Scalar> {
    /// Whether it leaves all as it is.
    const SAME: bool = false;

    /// The new values of the entries `at..at + live` of the block's p × q arrays, all in the same column; z holds theirs. What
    /// comes after `live` is not used.
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L>;

    /// The entries from `at` on will be wanted soon.
    #[inline(always)]
    fn fetch(&self, _at: usize) {}

    /// The same for a piece of a column that begins at `at`, z ← f(z).
    fn apply(&mut self, column: usize, at: usize, z: &mut [S])
    where
        Self: Sized,
    {
        self.apply_at(Level::get(), column, at, z);
    }

    /// The same at a certain level.
    fn apply_at(&mut self, level: Level, column: usize, at: usize, z: &mut [S])
    where
        Self: Sized,
    {
        level.run_wide(Piece { map: self, column, at, z });
    }
}

/// A piece of a column, to be mapped.
struct Piece<'a, S, F> {
    map: &'a mut F,
    column: usize,
    at: usize,
    z: &'a mut [S],
}

impl<S: Scalar, F: Map<S>> Wide<S> for Piece<'_, S, F> {
    type Output = ();

    #[inline(always)]
    fn run<const L: usize>(self) {
        let Self { map, column, at, z } = self;
        let (whole, rest) = z.as_chunks_mut::<L>();
        let after = at + whole.len() * L;
        for (n, z) in whole.iter_mut().enumerate() {
            *z = map.map(column, at + n * L, L, Lanes(*z)).0;
        }
        if !rest.is_empty() {
            let live = rest.len();
            map.map(column, after, live, Lanes::<S, L>::load(rest, 0, live)).store(rest, 0, live);
        }
    }
}

/// Asks for the cache line of an entry; a hint, which may point anywhere.
#[inline(always)]
pub(crate) fn fetch<S>(from: &[S], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // Safety: a prefetch does not read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, at);
}

/// z as it is.
pub(crate) struct Same;

impl<S: Scalar> Map<S> for Same {
    const SAME: bool = true;

    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, _: usize, _: usize, z: Lanes<S, L>) -> Lanes<S, L> {
        z
    }
}

/// a/z where a > 0, else 0: minus the dual point, and the quotient of the multiplicative update.
pub(crate) struct Ratio<'a, S> {
    a: &'a [S],
}

impl<'a, S> Ratio<'a, S> {
    pub fn new(a: &'a [S]) -> Self {
        Self { a }
    }
}

impl<S: Scalar> Map<S> for Ratio<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, at: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L> {
        Lanes::load(self.a, at, live).over(z)
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.a, at);
    }
}

/// Σ b·ln(c/z) over the entries of each column where b > 0, infinite if z = 0 there; the result is c/z.
///
/// With c = b = a it gives the divergence along with the quotient, with c an earlier z the change since then.
pub struct Logs<'a, S> {
    b: &'a [S],
    c: &'a [S],
    /// Running sums of the columns, in as many lanes as the widest register has.
    sums: [[S; 16]; MOST_COLUMNS],
}

impl<'a, S: Scalar> Logs<'a, S> {
    pub fn new(b: &'a [S], c: &'a [S]) -> Self {
        Self { b, c, sums: [[S::ZERO; 16]; MOST_COLUMNS] }
    }

    /// The sum of a column.
    pub fn sum(&self, column: usize) -> f64 {
        self.sums[column].iter().map(|s| s.to_f64()).sum()
    }
}

impl<S: Scalar> Map<S> for Logs<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L> {
        let (b, c) = (Lanes::load(self.b, at, live), Lanes::load(self.c, at, live));
        // Beyond `live` there are ones, whose logarithm is nothing.
        let t: Lanes<S, L> = c.over(z.first(live));
        let terms = (b * t.ln()).where_positive(b);
        let sums = &mut self.sums[column];
        (Lanes::load(sums, 0, L) + terms).store(sums, 0, L);
        t
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.b, at);
        fetch(self.c, at);
    }
}

/// The dual step χ ← ½(χ' − √(χ'² + 4σa)), χ' = χ + σz, where a > 0, else 0; the new χ is also the result.
pub(crate) struct DualStep<'a, S> {
    a: &'a [S],
    sigma: &'a [S],
    chi: &'a mut [S],
}

impl<'a, S> DualStep<'a, S> {
    pub fn new(a: &'a [S], sigma: &'a [S], chi: &'a mut [S]) -> Self {
        Self { a, sigma, chi }
    }
}

impl<S: Scalar> Map<S> for DualStep<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, at: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L> {
        let (a, sigma) = (Lanes::load(self.a, at, live), Lanes::load(self.sigma, at, live));
        let chi = Lanes::load(self.chi, at, live);
        let next = dual_step(a, sigma, chi, z).where_positive(a);
        next.store(self.chi, at, live);
        next
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.a, at);
        fetch(self.sigma, at);
        fetch(self.chi, at);
    }
}
