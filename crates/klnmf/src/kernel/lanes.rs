//! Registers of numbers, and the arithmetic of the passes.
//!
//! The register types name their instructions explicitly. Without this the compiler splits arrays of such a
//! size and reassembles them inefficiently.

use crate::Scalar;
use std::ops::{Add, Div, Mul, Sub};

/// The most numbers in a register of any level.
pub const MOST: usize = 16;

/// A register of `N` numbers.
///
/// A value can be created only from a token, which proves that the processor has the instructions. All
/// functions are therefore safe. They are `#[inline(always)]`, because only inlined code is compiled for the
/// instruction set.
pub trait Lanes<S: Scalar>:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Proof that the processor has the instructions.
    type Token: Copy;
    /// Number of numbers in the register.
    const N: usize;

    /// The token from which the register was created.
    fn token(self) -> Self::Token;

    /// `x` in every lane.
    fn splat(token: Self::Token, x: S) -> Self;

    /// `live` numbers of `from`, starting at `at`, then `rest`.
    fn load_or(token: Self::Token, from: &[S], at: usize, live: usize, rest: S) -> Self;

    /// `live` numbers of `from`, starting at `at`, padded with ones, for which every operation is fast and
    /// defined.
    #[inline(always)]
    fn load(token: Self::Token, from: &[S], at: usize, live: usize) -> Self {
        Self::load_or(token, from, at, live, S::ONE)
    }

    /// The numbers at an address.
    ///
    /// # Safety
    ///
    /// `N` numbers must be readable there.
    unsafe fn read(token: Self::Token, from: *const S) -> Self;

    /// Writes the first `live` numbers to `to`, starting at `at`.
    fn store(self, to: &mut [S], at: usize, live: usize);

    /// self · a + b, rounded once except on plain processors without the instruction.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The numbers of `self` where a > 0, those of `other` elsewhere.
    fn if_positive(self, a: Self, other: Self) -> Self;

    /// The numbers of `self` where a > 0, zeros elsewhere.
    #[inline(always)]
    fn where_positive(self, a: Self) -> Self {
        self.if_positive(a, Self::splat(self.token(), S::ZERO))
    }

    /// self / z where self > 0, and 0 where self = 0, whatever z is. Numerators must be non-negative. The
    /// error is at most one unit in the last place.
    #[inline(always)]
    fn over(self, z: Self) -> Self {
        (self / z).where_positive(self)
    }

    /// 1 / self for positive normal numbers, accurate to a few units in the last place.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self::splat(self.token(), S::ONE) / self
    }

    /// Square roots, by the processor's own instruction.
    fn root(self) -> Self;

    /// Square roots, accurate to one unit in the last place.
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.root()
    }

    /// The larger numbers; those of `other` where either is NaN.
    fn max(self, other: Self) -> Self;

    /// The smaller numbers; those of `other` where either is NaN.
    fn min(self, other: Self) -> Self;

    /// (e, m − 1) with x = 2ᵉ·m and m in [√½, √2), for positive normal numbers x.
    fn exponent_and_rest(self) -> (Self, Self);

    /// Whether all numbers are positive and normal where b > 0.
    fn is_normal_where(self, b: Self) -> bool;

    /// The lane sums of eight registers.
    #[inline(always)]
    fn sums(of: [Self; 8]) -> [f64; 8] {
        let mut sums = [0.0; 8];
        for (sum, lanes) in sums.iter_mut().zip(of) {
            *sum = lanes.sum().to_f64();
        }
        sums
    }

    /// The lane sums of the first `N` registers.
    #[inline(always)]
    fn sum_each(of: [Self; MOST]) -> Self {
        let mut all = [S::ZERO; MOST];
        for l in 0..Self::N {
            all[l] = of[l].sum();
        }
        Self::load(of[0].token(), &all, 0, Self::N)
    }

    /// The lane sums of four registers.
    #[inline(always)]
    fn sum_four(of: [Self; 4]) -> [S; 4] {
        let mut sums = [S::ZERO; 4];
        for l in 0..4 {
            sums[l] = of[l].sum();
        }
        sums
    }

    /// The sum of the numbers, by halves, so that one wide register and two narrow ones give the same bits.
    #[inline(always)]
    fn sum(self) -> S {
        let mut all = [S::ZERO; MOST];
        self.store(&mut all, 0, Self::N);
        let mut half = Self::N / 2;
        while half > 0 {
            for l in 0..half {
                all[l] += all[l + half];
            }
            half /= 2;
        }
        all[0]
    }

    /// The smallest number.
    #[inline(always)]
    fn least(self) -> S {
        let mut all = [S::INFINITY; MOST];
        self.store(&mut all, 0, Self::N);
        all.into_iter().fold(S::INFINITY, S::min)
    }

    /// Natural logarithms of positive normal numbers, without branches or tables. For other numbers the
    /// result is arbitrary, so callers check with [`is_normal_where`](Lanes::is_normal_where), as
    /// `weighted_ln` does.
    ///
    /// x = 2ᵉ·m with m in [√½, √2), and ln x = e·ln 2 + 2·artanh(f) with f = (m − 1)/(m + 1). The error of
    /// the polynomial in f² is below the rounding error. The relative error is below 2ε (tested).
    #[inline(always)]
    fn ln(self) -> Self {
        let token = self.token();
        let (e, u) = self.exponent_and_rest();
        // `over` does not accept a negative u, and f = 1 − 2/(u + 2) would lose digits.
        let two = Self::splat(token, S::from_f64(2.0));
        let f = u * Self::splat(token, S::ONE).over(u + two);
        let s = f * f;
        let mut series = Self::splat(token, S::ZERO);
        let mut k = S::LN_POLYNOMIAL.len();
        while k > 0 {
            k -= 1;
            series = series.mul_add(s, Self::splat(token, S::from_f64(S::LN_POLYNOMIAL[k])));
        }
        // 2f = u − f·u keeps the leading term exact; the product 2f would not.
        let tail = (f + f) * (series * s) - f * u;
        let (ln2_high, ln2_low) = S::LN_2;
        e * Self::splat(token, ln2_high) + (u + (tail + e * Self::splat(token, ln2_low)))
    }

    /// b·ln(c/z) where b > 0, zeros elsewhere; `self` is c/z. +∞ where z = 0.
    ///
    /// A quotient that overflows, underflows or is subnormal has lost its digits. In such a register, which
    /// is rare, the terms are computed as b·(ln c − ln z).
    #[inline(always)]
    fn weighted_ln(self, b: Self, c: Self, z: Self) -> Self {
        if self.is_normal_where(b) {
            return (b * self.ln()).where_positive(b);
        }
        let mut all = [[S::ZERO; MOST]; 3];
        for (all, lanes) in all.iter_mut().zip([b, c, z]) {
            lanes.store(all, 0, Self::N);
        }
        let terms = terms_one_by_one(&all);
        Self::load(self.token(), &terms, 0, Self::N)
    }

    /// The dual step from χ = self: the proximal point of σF* at χ' = χ + σz, which is ½(χ' − √(χ'² + 4σa)).
    #[inline(always)]
    fn dual_step(self, a: Self, sigma: Self, z: Self) -> Self {
        let token = self.token();
        let (half, four) = (Self::splat(token, S::from_f64(0.5)), Self::splat(token, S::from_f64(4.0)));
        let moved = sigma.mul_add(z, self);
        let square = moved.mul_add(moved, four * sigma * a);
        half * (moved - square.sqrt())
    }
}

/// b·ln(c/z) where b > 0, zeros elsewhere, even if c/z is not a normal number.
#[cold]
#[inline(never)]
fn terms_one_by_one<S: Scalar>([b, c, z]: &[[S; MOST]; 3]) -> [S; MOST] {
    let mut terms = [S::ZERO; MOST];
    for (l, term) in terms.iter_mut().enumerate().filter(|(l, _)| b[*l] > S::ZERO) {
        *term = S::from_f64(weighted_ln(b[l].to_f64(), c[l].to_f64(), z[l].to_f64()));
    }
    terms
}

/// b·ln(c/z) of single positive numbers; +∞ if z ≤ 0. Uses the quotient if it is a normal number, because the
/// difference of two large logarithms loses digits.
pub(super) fn weighted_ln(b: f64, c: f64, z: f64) -> f64 {
    let ln = if (c / z).is_normal() { (c / z).ln() } else { c.ln() - z.ln() };
    if z > 0.0 { b * ln } else { f64::INFINITY }
}

#[cfg(test)]
#[path = "../../tests/unit/lanes.rs"]
mod tests;
