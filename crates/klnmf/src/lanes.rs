//! As many numbers as a register holds, and what the passes compute with them.
//!
//! What fills a register of AVX2 or AVX-512 is computed by its instructions, named one by one: left to itself the compiler
//! takes such arrays apart and puts them together in odd pieces. Other widths are plain loops.

use crate::Scalar;
use std::ops::{Add, Mul, Neg, Sub};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod register;
#[cfg(target_arch = "x86_64")]
use {
    register::{Register, cast},
    std::arch::x86_64::{__m256, __m256d, __m512, __m512d},
};

/// `L` numbers in a register. If they have 64 bytes, the code must run at the level of AVX-512; if they have 32, at that of
/// AVX2 or above. Anything else runs everywhere.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Lanes<S, const L: usize>(pub [S; L]);

/// Whether numbers have four bytes: known when code is generated, so that only one branch is.
pub(crate) const fn single<S>() -> bool {
    size_of::<S>() == 4
}

/// Whether `L` numbers are as many as a register of so many bytes holds of that precision.
#[cfg(target_arch = "x86_64")]
const fn fills<S, const L: usize>(bytes: usize, in_single: bool) -> bool {
    L * size_of::<S>() == bytes && single::<S>() == in_single
}

/// What the first expression computes with the register that the lanes fill, else what the second one does.
macro_rules! choose {
    ($register:ident, $filled:expr, $plain:expr) => {{
        choose!(@ $register $filled; __m512d 64 false; __m512 64 true; __m256d 32 false; __m256 32 true);
        $plain
    }};
    (@ $register:ident $filled:expr; $($type:ident $bytes:literal $single:literal);*) => {$(
        #[cfg(target_arch = "x86_64")]
        if const { fills::<S, L>($bytes, $single) } {
            type $register = $type;
            return $filled;
        }
    )*};
}

/// Lanes from a function of the place, always inlined.
#[inline(always)]
fn each<S: Scalar, const L: usize>(f: impl Fn(usize) -> S) -> Lanes<S, L> {
    let mut all = [S::ZERO; L];
    let mut l = 0;
    while l < L {
        all[l] = f(l);
        l += 1;
    }
    Lanes(all)
}

impl<S: Scalar, const L: usize> Lanes<S, L> {
    #[inline(always)]
    pub fn splat(x: S) -> Self {
        Self([x; L])
    }

    /// `live` numbers from `at` on; ones after them, with which nothing can go wrong.
    #[inline(always)]
    pub fn load(from: &[S], at: usize, live: usize) -> Self {
        let from = &from[at..at + live];
        if live == L {
            // Safety: the slice holds L numbers.
            return unsafe { from.as_ptr().cast::<Self>().read_unaligned() };
        }
        // Safety: so many numbers are in the slice.
        choose!(R, cast(unsafe { R::load_some(from.as_ptr().cast(), live) }), {
            let mut all = [S::ONE; L];
            all[..live].copy_from_slice(from);
            Self(all)
        })
    }

    /// Writes the first `live` numbers.
    #[inline(always)]
    pub fn store(self, to: &mut [S], at: usize, live: usize) {
        let to = &mut to[at..at + live];
        if live == L {
            // Safety: the slice has room for L numbers.
            return unsafe { to.as_mut_ptr().cast::<Self>().write_unaligned(self) };
        }
        // Safety: the slice has room for so many numbers.
        choose!(
            R,
            unsafe { R::store_some(cast(self), to.as_mut_ptr().cast(), live) },
            to.copy_from_slice(&self.0[..live])
        )
    }

    /// The first `live` numbers, and ones after them.
    #[inline(always)]
    pub fn first(self, live: usize) -> Self {
        if live == L {
            return self;
        }
        choose!(
            R,
            cast(R::first(cast(self), live)),
            each(
                #[inline(always)]
                |l| if l < live { self.0[l] } else { S::ONE }
            )
        )
    }

    /// self · a + b, rounded once.
    #[inline(always)]
    pub fn mul_add(self, a: Self, b: Self) -> Self {
        choose!(
            R,
            cast(R::mul_add(cast(self), cast(a), cast(b))),
            each(
                #[inline(always)]
                |l| self.0[l].mul_add(a.0[l], b.0[l])
            )
        )
    }

    /// The numbers where a > 0, zeros elsewhere.
    #[inline(always)]
    pub fn where_positive(self, a: Self) -> Self {
        choose!(
            R,
            cast(R::where_positive(cast(self), cast(a))),
            each(
                #[inline(always)]
                |l| if a.0[l] > S::ZERO { self.0[l] } else { S::ZERO }
            )
        )
    }

    /// self / z where self > 0, 0 where self = 0. Numerators are never negative.
    #[inline(always)]
    pub fn over(self, z: Self) -> Self {
        choose!(
            R,
            cast(R::over(cast(self), cast(z))),
            each(
                #[inline(always)]
                |l| if self.0[l] > S::ZERO { self.0[l] / z.0[l] } else { S::ZERO }
            )
        )
    }

    /// Square roots.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        choose!(
            R,
            cast(R::sqrt(cast(self))),
            each(
                #[inline(always)]
                |l| self.0[l].sqrt()
            )
        )
    }

    /// Natural logarithm of non-negative numbers, without branches or tables.
    ///
    /// x = 2ᵉ·m with m in [√½, √2); ln x = e·ln 2 + 2·artanh(f), f = (m − 1)/(m + 1), a polynomial in f² that is
    /// right to below the rounding. The relative error is below 2ε over the normal range (tested); ln 0 = −∞,
    /// and what is no number or infinite stays so. Numbers below the normal range count as about the smallest normal one.
    #[inline(always)]
    pub fn ln(self) -> Self {
        let (e, u) = self.exponent_and_rest();
        // u may be negative, and `over` wants its numerator positive: f = 1 − 2/(u + 2) would lose digits, u·(1/(u + 2)) not.
        let f = u * Self::splat(S::ONE).over(u + Self::splat(S::from_f64(2.0)));
        let s = f * f;
        let mut series = Self::splat(S::ZERO);
        let mut k = S::LN_POLYNOMIAL.len();
        while k > 0 {
            k -= 1;
            series = series.mul_add(s, Self::splat(S::from_f64(S::LN_POLYNOMIAL[k])));
        }
        // 2f = u − f·u keeps the leading term exact, which a product 2f would not.
        let tail = (f + f) * (series * s) - f * u;
        let (ln2_high, ln2_low) = S::LN_2;
        let value = e * Self::splat(ln2_high) + (u + (tail + e * Self::splat(ln2_low)));
        value.unless_extreme(self)
    }

    /// (e, m − 1) with x = 2ᵉ·m and m in [√½, √2), for normal numbers x > 0.
    #[inline(always)]
    fn exponent_and_rest(self) -> (Self, Self) {
        choose!(
            R,
            {
                let (e, rest) = R::exponent_and_rest(cast(self));
                (cast(e), cast(rest))
            },
            {
                let parts = self.0.map(
                    #[inline(always)]
                    |x| x.exponent_and_rest(),
                );
                (
                    each(
                        #[inline(always)]
                        |l| parts[l].0,
                    ),
                    each(
                        #[inline(always)]
                        |l| parts[l].1,
                    ),
                )
            }
        )
    }

    /// The logarithm of x: this one, but −∞ where x is zero and x itself where it is infinite or no number.
    #[inline(always)]
    fn unless_extreme(self, x: Self) -> Self {
        choose!(
            R,
            cast(R::unless_extreme(cast(self), cast(x))),
            each(
                #[inline(always)]
                |l| {
                    let value = if x.0[l] > S::ZERO { self.0[l] } else { -S::INFINITY };
                    // No comparison with what is no number holds.
                    if x.0[l] < S::INFINITY { value } else { x.0[l] }
                }
            )
        )
    }
}

macro_rules! operator {
    ($trait:ident, $name:ident) => {
        impl<S: Scalar, const L: usize> $trait for Lanes<S, L> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                choose!(
                    R,
                    cast(R::$name(cast(self), cast(other))),
                    each(
                        #[inline(always)]
                        |l| self.0[l].$name(other.0[l])
                    )
                )
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);

impl<S: Scalar, const L: usize> Neg for Lanes<S, L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::splat(S::ZERO) - self
    }
}

/// The proximal point of σF* at χ' = χ + σz, which is ½(χ' − √(χ'² + 4σa)): the dual step.
#[inline(always)]
pub(crate) fn dual_step<S: Scalar, const L: usize>(
    a: Lanes<S, L>,
    sigma: Lanes<S, L>,
    chi: Lanes<S, L>,
    z: Lanes<S, L>,
) -> Lanes<S, L> {
    let (half, four) = (Lanes::splat(S::from_f64(0.5)), Lanes::splat(S::from_f64(4.0)));
    let moved = sigma.mul_add(z, chi);
    let square = moved.mul_add(moved, four * sigma * a);
    half * (moved - square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::map::{DualStep, Map, Ratio};

    /// Numbers over a wide range of exponents, and the extremes.
    fn numbers<S: Scalar>(seed: u64, exponents: i32) -> Vec<S> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut number = |exponents: i32| {
            let mantissa = 1.0 + next() as f64 / (1u64 << 53) as f64;
            S::from_f64(mantissa * 2f64.powi((next() % (2 * exponents as u64)) as i32 - exponents))
        };
        let mut all: Vec<S> = (0..20_000).map(|_| number(exponents)).collect();
        all.extend((0..20_000).map(|_| number(1)));
        all.extend([0.0, 1.0, 3.0, 1e-300, 1e300, f64::MIN_POSITIVE, 0.0, 7.0].map(S::from_f64));
        all
    }

    fn ulps<S: Scalar>(a: S, exact: f64) -> f64 {
        let rounded = S::from_f64(exact).to_f64();
        let a = a.to_f64();
        if a == rounded || (a.is_nan() && rounded.is_nan()) {
            return 0.0;
        }
        (a - exact).abs() / (exact.abs() * S::EPSILON.to_f64()) * 2.0
    }

    fn quotients_and_roots<S: Scalar>(level: Level, exponents: i32) {
        let bytes = level.vector_bytes();
        let (a, z) = (numbers::<S>(1, exponents), numbers::<S>(2, exponents));
        let mut quick = z.clone();
        Ratio::new(&a).apply_at(level, 0, 0, &mut quick);
        for ((a, z), q) in a.iter().zip(&z).zip(quick) {
            let exact = if *a > S::ZERO { (*a / *z).to_f64() } else { 0.0 };
            assert!(ulps(q, exact) <= 2.0, "{bytes} bytes: {a} / {z}: {q} for {exact}");
        }
        // With χ = 0, σ = ¼ and z = 0 the step is −½√a.
        let (mut chi, mut z) = (vec![S::ZERO; a.len()], vec![S::ZERO; a.len()]);
        DualStep::new(&a, &vec![S::from_f64(0.25); a.len()], &mut chi).apply_at(level, 0, 0, &mut z);
        for (a, y) in a.iter().zip(chi) {
            let exact = if *a > S::ZERO { -0.5 * a.sqrt().to_f64() } else { 0.0 };
            assert!(ulps(y, exact) <= 2.0, "{bytes} bytes: root of {a}: {y} for {exact}");
        }
    }

    #[test]
    fn quotients_and_roots_are_within_a_unit_in_the_last_place() {
        for level in Level::all() {
            quotients_and_roots::<f64>(level, 500);
            quotients_and_roots::<f32>(level, 60);
        }
    }

    fn worst_logarithm<S: Scalar>(from: f64, to: f64, logarithms: impl Fn(&mut [S])) -> f64 {
        let (mut numbers, mut x) = (vec![], from);
        while x < to {
            let some = [x, x * 1.37, x * std::f64::consts::SQRT_2, 1.0 + x.min(1.0) * 1e-3];
            numbers.extend(some.map(S::from_f64));
            x *= 1.0173;
        }
        let mut found = numbers.clone();
        logarithms(&mut found);
        let error = |(x, found): (&S, &S)| {
            let exact = x.to_f64().ln();
            (found.to_f64() - exact).abs() / exact.abs().max(f64::MIN_POSITIVE) / S::EPSILON.to_f64()
        };
        numbers.iter().zip(&found).map(error).fold(0.0, f64::max)
    }

    fn check_logarithms<S: Scalar>(from: f64, to: f64, logarithms: impl Fn(&mut [S])) {
        let mut some = [0.0, 1.0, f64::INFINITY, f64::NAN].map(S::from_f64);
        logarithms(&mut some);
        let [zero, one, infinite, none] = some.map(S::to_f64);
        assert_eq!((zero, one, infinite), (f64::NEG_INFINITY, 0.0, f64::INFINITY));
        assert!(none.is_nan());
        let worst = worst_logarithm(from, to, logarithms);
        assert!(worst <= 2.0, "{worst}");
    }

    fn one_by_one<S: Scalar>(x: &mut [S]) {
        x.iter_mut().for_each(|x| *x = Lanes([*x]).ln().0[0]);
    }

    #[test]
    fn logarithms_are_right_to_twice_the_epsilon() {
        check_logarithms::<f64>(1e-307, 1e308, one_by_one);
        check_logarithms::<f32>(1e-37, 1e38, one_by_one);
        for level in Level::all() {
            check_logarithms::<f64>(1e-307, 1e308, |x| Logarithm.apply_at(level, 0, 0, x));
            check_logarithms::<f32>(1e-37, 1e38, |x| Logarithm.apply_at(level, 0, 0, x));
        }
    }

    struct Logarithm;

    impl<S: Scalar> Map<S> for Logarithm {
        #[inline(always)]
        fn map<const L: usize>(&mut self, _: usize, _: usize, _: usize, z: Lanes<S, L>) -> Lanes<S, L> {
            z.ln()
        }
    }

    /// The operations that are exact, by their number.
    const OPERATIONS: usize = 9;

    #[inline(always)]
    fn operation<S: Scalar, const L: usize>(n: usize, [x, a, b]: [Lanes<S, L>; 3]) -> Lanes<S, L> {
        match n {
            0 => x + a,
            1 => x - a,
            2 => x * a,
            3 => x.mul_add(a, b),
            4 => x.where_positive(a),
            5 => -x,
            6 => x.exponent_and_rest().0,
            7 => x.exponent_and_rest().1,
            _ => x.unless_extreme(a),
        }
    }

    struct Operation<'a, S> {
        n: usize,
        a: &'a [S],
        b: &'a [S],
    }

    impl<S: Scalar> Map<S> for Operation<'_, S> {
        #[inline(always)]
        fn map<const L: usize>(&mut self, _: usize, at: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L> {
            operation(self.n, [z, Lanes::load(self.a, at, live), Lanes::load(self.b, at, live)])
        }
    }

    fn operations_as_of_single_lanes<S: Scalar>(level: Level, exponents: i32) {
        let bytes = level.vector_bytes();
        let [mut x, mut a, b] = [3, 4, 5].map(|seed| numbers::<S>(seed, exponents));
        // Both signs, and the extremes beside every other kind.
        for (n, (x, a)) in x.iter_mut().zip(&mut a).enumerate() {
            *x = if n % 3 == 0 { -*x } else { *x };
            *a = match n % 11 {
                0 | 6 => -*a,
                1 => S::ZERO,
                2 => -S::ZERO,
                3 => S::INFINITY,
                4 => -S::INFINITY,
                5 => S::from_f64(f64::NAN),
                _ => *a,
            };
        }
        for n in 0..OPERATIONS {
            let mut found = x.clone();
            Operation { n, a: &a, b: &b }.apply_at(level, 0, 0, &mut found);
            for (((x, a), b), found) in x.iter().zip(&a).zip(&b).zip(&found) {
                let [want] = operation(n, [*x, *a, *b].map(|x| Lanes([x]))).0;
                let [found, want] = [*found, want].map(S::to_f64);
                assert!(
                    found.to_bits() == want.to_bits() || (found.is_nan() && want.is_nan()),
                    "{bytes} bytes, operation {n}: {x} {a} {b}: {found} for {want}"
                );
            }
        }
    }

    #[test]
    fn operations_give_what_single_lanes_do() {
        for level in Level::all() {
            operations_as_of_single_lanes::<f64>(level, 500);
            operations_as_of_single_lanes::<f32>(level, 60);
        }
    }

    /// Adds one, and keeps what comes after the numbers of the last register.
    struct Rest<S> {
        loaded: Vec<S>,
        first: Vec<S>,
    }

    impl<S: Scalar> Map<S> for Rest<S> {
        #[inline(always)]
        fn map<const L: usize>(&mut self, _: usize, _: usize, live: usize, z: Lanes<S, L>) -> Lanes<S, L> {
            let full = Lanes::<S, L>::splat(S::from_f64(5.0));
            self.loaded = z.0[live..].to_vec();
            self.first = full.first(live).0.to_vec();
            z + Lanes::splat(S::ONE)
        }
    }

    fn parts<S: Scalar>(level: Level) {
        let bytes = level.vector_bytes();
        let lanes = bytes / size_of::<S>();
        let numbers: Vec<S> = (0..3 * lanes).map(|n| S::from_f64(10.0 + n as f64)).collect();
        for len in 1..=2 * lanes {
            let (mut z, mut rest) = (numbers.clone(), Rest { loaded: vec![], first: vec![] });
            rest.apply_at(level, 0, 0, &mut z[..len]);
            for (n, (z, before)) in z.iter().zip(&numbers).enumerate() {
                let want = if n < len { *before + S::ONE } else { *before };
                assert_eq!(*z, want, "{bytes} bytes: {n} of {len}");
            }
            let live = (len - 1) % lanes + 1;
            assert_eq!(rest.loaded, vec![S::ONE; lanes - live], "{bytes} bytes: {len}");
            let mut first = vec![S::from_f64(5.0); live];
            first.resize(lanes, S::ONE);
            assert_eq!(rest.first, first, "{bytes} bytes: {len}");
        }
    }

    #[test]
    fn parts_of_every_length_are_loaded_and_stored() {
        for level in Level::all() {
            parts::<f64>(level);
            parts::<f32>(level);
        }
    }
}
