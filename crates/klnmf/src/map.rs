//! What a pass does to z = Kx, entry by entry, between its two products.

use crate::Scalar;
use crate::block::MOST_COLUMNS;
use crate::level::Level;
use crate::quick;

/// A function of the entries of z, of which as many come at a time as a register holds.
///
/// It is called inside the product kernels, while z is still in registers, so every `map` must be `#[inline(always)]`.
pub trait Map<S: Scalar> {
    /// The new values of the entries `at..at + live` of the block's p × q arrays, all in the same column; z holds theirs. What
    /// comes after `live` is not used.
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: [S; L]) -> [S; L];

    /// The entries from `at` on will be wanted soon.
    #[inline(always)]
    fn fetch(&self, _at: usize) {}

    /// The same for a piece of a column that begins at `at`, z ← f(z).
    fn apply(&mut self, column: usize, at: usize, z: &mut [S])
    where
        Self: Sized,
    {
        match Level::get() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(simd) => simd.vectorize(
                #[inline(always)]
                || {
                    if const { single::<S>() } {
                        apply::<S, 16>(self, column, at, z)
                    } else {
                        apply::<S, 8>(self, column, at, z)
                    }
                },
            ),
            level => level.run(
                #[inline(always)]
                || apply::<S, 4>(self, column, at, z),
            ),
        }
    }
}

/// Whether numbers have four bytes: known when code is generated, so that only one branch is.
pub(crate) const fn single<S>() -> bool {
    size_of::<S>() == 4
}

#[inline(always)]
fn apply<S: Scalar, const L: usize>(map: &mut impl Map<S>, column: usize, at: usize, z: &mut [S]) {
    let (whole, rest) = z.as_chunks_mut::<L>();
    let after = at + whole.len() * L;
    for (n, z) in whole.iter_mut().enumerate() {
        *z = map.map(column, at + n * L, L, *z);
    }
    if !rest.is_empty() {
        let live = rest.len();
        let t = map.map(column, after, live, load::<S, L>(rest, 0, live));
        rest.copy_from_slice(&t[..live]);
    }
}

/// `live` numbers from `at` on; ones after them, with which nothing can go wrong.
#[inline(always)]
pub(crate) fn load<S: Scalar, const L: usize>(from: &[S], at: usize, live: usize) -> [S; L] {
    let from = &from[at..at + live];
    if live == L {
        // Safety: the slice holds L numbers.
        return unsafe { *from.as_ptr().cast::<[S; L]>() };
    }
    let mut all = [S::ONE; L];
    all[..live].copy_from_slice(from);
    all
}

/// Writes the first `live` numbers.
#[inline(always)]
pub(crate) fn store<S: Scalar, const L: usize>(to: &mut [S], at: usize, live: usize, values: [S; L]) {
    let to = &mut to[at..at + live];
    if live == L {
        // Safety: the slice holds L numbers.
        unsafe { *to.as_mut_ptr().cast::<[S; L]>() = values };
    } else {
        to.copy_from_slice(&values[..live]);
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
    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, _: usize, _: usize, z: [S; L]) -> [S; L] {
        z
    }
}

/// a/z where a > 0, else 0: minus the dual point, and the quotient of the multiplicative update.
pub(crate) struct Ratio<'a, S> {
    a: &'a [S],
    level: Level,
}

impl<'a, S> Ratio<'a, S> {
    pub fn new(a: &'a [S]) -> Self {
        Self { a, level: Level::get() }
    }
}

impl<S: Scalar> Map<S> for Ratio<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, at: usize, live: usize, z: [S; L]) -> [S; L] {
        quick::ratio(self.level, load(self.a, at, live), z)
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
    level: Level,
}

impl<'a, S: Scalar> Logs<'a, S> {
    pub fn new(b: &'a [S], c: &'a [S]) -> Self {
        Self { b, c, sums: [[S::ZERO; 16]; MOST_COLUMNS], level: Level::get() }
    }

    /// The sum of a column.
    pub fn sum(&self, column: usize) -> f64 {
        self.sums[column].iter().map(|s| s.to_f64()).sum()
    }
}

impl<S: Scalar> Map<S> for Logs<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: [S; L]) -> [S; L] {
        let (b, c): ([S; L], [S; L]) = (load(self.b, at, live), load(self.c, at, live));
        // Beyond `live` there are ones, whose logarithm is nothing.
        let z = each(
            #[inline(always)]
            |l| if l < live { z[l] } else { S::ONE },
        );
        let t = quick::ratio(self.level, c, z);
        let logs = quick::ln(self.level, t);
        let sums = &mut self.sums[column];
        for l in 0..L {
            let term = if b[l] > S::ZERO { b[l] * logs[l] } else { S::ZERO };
            sums[l] += term;
        }
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
    level: Level,
}

impl<'a, S> DualStep<'a, S> {
    pub fn new(a: &'a [S], sigma: &'a [S], chi: &'a mut [S]) -> Self {
        Self { a, sigma, chi, level: Level::get() }
    }
}

impl<S: Scalar> Map<S> for DualStep<'_, S> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, _: usize, at: usize, live: usize, z: [S; L]) -> [S; L] {
        let (a, sigma): ([S; L], [S; L]) = (load(self.a, at, live), load(self.sigma, at, live));
        let chi: [S; L] = load(self.chi, at, live);
        let next = dual_step(self.level, a, sigma, chi, z);
        store(self.chi, at, live, next);
        next
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        fetch(self.a, at);
        fetch(self.sigma, at);
        fetch(self.chi, at);
    }
}

/// The step itself, the proximal point of σF* at χ + σz.
#[inline(always)]
pub(crate) fn dual_step<S: Scalar, const L: usize>(
    level: Level,
    a: [S; L],
    sigma: [S; L],
    chi: [S; L],
    z: [S; L],
) -> [S; L] {
    let four = S::from_f64(4.0);
    let moved: [S; L] = each(
        #[inline(always)]
        |l| sigma[l].mul_add(z[l], chi[l]),
    );
    let square: [S; L] = each(
        #[inline(always)]
        |l| moved[l].mul_add(moved[l], four * sigma[l] * a[l]),
    );
    let root = quick::root(level, square);
    let half = S::from_f64(0.5);
    each(
        #[inline(always)]
        |l| if a[l] > S::ZERO { half * (moved[l] - root[l]) } else { S::ZERO },
    )
}

/// An array from a function of the place, always inlined.
#[inline(always)]
pub(crate) fn each<S: Scalar, const L: usize>(f: impl Fn(usize) -> S) -> [S; L] {
    let mut all = [S::ZERO; L];
    let mut l = 0;
    while l < L {
        all[l] = f(l);
        l += 1;
    }
    all
}
