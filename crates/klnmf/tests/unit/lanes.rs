//! The arithmetic of every level of this machine, compared with single numbers and the standard library.

use super::*;
use crate::kernel::plain::{Array, FUSED};
use crate::kernel::{DualStep, Isa, LogSums, Ratio, TileMap};

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

fn quotients_and_roots<S: Scalar>(isa: Isa, exponents: i32) {
    let bytes = isa.vector_bytes();
    let (a, z) = (numbers::<S>(1, exponents), numbers::<S>(2, exponents));
    let mut quick = z.clone();
    Ratio { a: &a }.apply(isa, 0, 0, &mut quick);
    for ((a, z), q) in a.iter().zip(&z).zip(quick) {
        let exact = if *a > S::ZERO { (*a / *z).to_f64() } else { 0.0 };
        assert!(ulps(q, exact) <= 2.0, "{bytes} bytes: {a} / {z}: {q} for {exact}");
    }
    // With χ = 0, σ = ¼ and z = 0 the step is −½√a.
    let (mut chi, mut z) = (vec![S::ZERO; a.len()], vec![S::ZERO; a.len()]);
    DualStep::<_, false>::new(&a, &vec![S::from_f64(0.25); a.len()], &mut chi).apply(isa, 0, 0, &mut z);
    for (a, y) in a.iter().zip(chi) {
        let exact = if *a > S::ZERO { -0.5 * a.sqrt().to_f64() } else { 0.0 };
        assert!(ulps(y, exact) <= 2.0, "{bytes} bytes: root of {a}: {y} for {exact}");
    }
}

#[test]
fn quotients_and_roots_are_within_a_unit_in_the_last_place() {
    for isa in Isa::all() {
        quotients_and_roots::<f64>(isa, 500);
        quotients_and_roots::<f32>(isa, 60);
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
    let mut one = [S::ONE];
    logarithms(&mut one);
    assert_eq!(one, [S::ZERO]);
    let worst = worst_logarithm(from, to, logarithms);
    assert!(worst <= 2.0, "{worst}");
}

fn one_by_one<S: Scalar>(x: &mut [S]) {
    x.iter_mut().for_each(|x| *x = Array::<S, 1, true>([*x]).ln().0[0]);
}

#[test]
fn logarithms_are_right_to_twice_the_epsilon() {
    check_logarithms::<f64>(1e-307, 1e308, one_by_one);
    check_logarithms::<f32>(1e-37, 1e38, one_by_one);
    for isa in Isa::all() {
        check_logarithms::<f64>(1e-307, 1e308, |x| Logarithm.apply(isa, 0, 0, x));
        check_logarithms::<f32>(1e-37, 1e38, |x| Logarithm.apply(isa, 0, 0, x));
    }
}

struct Logarithm;

impl<S: Scalar> TileMap<S> for Logarithm {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, _: usize, _: usize, z: L) -> L {
        z.ln()
    }
}

/// The operations that are exact, by their number.
const OPERATIONS: usize = 10;

#[inline(always)]
fn operation<S: Scalar, L: Lanes<S>>(n: usize, [x, a, b]: [L; 3]) -> L {
    match n {
        0 => x + a,
        1 => x - a,
        2 => x * a,
        3 => x.mul_add(a, b),
        4 => x.where_positive(a),
        5 => x.if_positive(a, b),
        6 => x.exponent_and_rest().0,
        7 => x.exponent_and_rest().1,
        8 => x.max(a),
        _ => x.min(a),
    }
}

struct Operation<'a, S> {
    n: usize,
    a: &'a [S],
    b: &'a [S],
}

impl<S: Scalar> TileMap<S> for Operation<'_, S> {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, at: usize, live: usize, z: L) -> L {
        let token = z.token();
        operation(self.n, [z, L::load(token, self.a, at, live), L::load(token, self.b, at, live)])
    }
}

fn operations_as_of_single_lanes<S: Scalar>(isa: Isa, exponents: i32) {
    let bytes = isa.vector_bytes();
    let [mut x, mut a, b] = [3, 4, 5].map(|seed| numbers::<S>(seed, exponents));
    // Both signs, and the extremes next to numbers of every kind.
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
    let fused = FUSED || bytes > 16;
    for n in 0..OPERATIONS {
        let mut found = x.clone();
        Operation { n, a: &a, b: &b }.apply(isa, 0, 0, &mut found);
        for (((x, a), b), found) in x.iter().zip(&a).zip(&b).zip(&found) {
            let want = if fused {
                operation(n, [*x, *a, *b].map(|x| Array::<S, 1, true>([x]))).0[0]
            } else {
                operation(n, [*x, *a, *b].map(|x| Array::<S, 1, false>([x]))).0[0]
            };
            let [found, want] = [*found, want].map(S::to_f64);
            assert!(
                found.to_bits() == want.to_bits() || (found.is_nan() && want.is_nan()),
                "{bytes} bytes, operation {n}: {x} {a} {b}: {found} for {want}"
            );
        }
    }
}

#[test]
fn operations_match_single_lanes() {
    for isa in Isa::all() {
        operations_as_of_single_lanes::<f64>(isa, 500);
        operations_as_of_single_lanes::<f32>(isa, 60);
    }
}

/// Adds one, and keeps the padding after the numbers of the last register.
struct Rest<S> {
    loaded: Vec<S>,
    fives: Vec<S>,
}

impl<S: Scalar> TileMap<S> for Rest<S> {
    #[inline(always)]
    fn map<L: Lanes<S>>(&mut self, _: usize, _: usize, live: usize, z: L) -> L {
        let (token, all) = (z.token(), |z: L| {
            let mut all = vec![S::ZERO; L::N];
            z.store(&mut all, 0, L::N);
            all
        });
        self.loaded = all(z).split_off(live);
        self.fives = all(L::load_or(token, &[S::ONE; MOST], 0, live, S::from_f64(5.0)));
        z + L::splat(token, S::ONE)
    }
}

fn parts<S: Scalar>(isa: Isa) {
    let bytes = isa.vector_bytes();
    let lanes = bytes / size_of::<S>();
    let numbers: Vec<S> = (0..3 * lanes).map(|n| S::from_f64(10.0 + n as f64)).collect();
    for len in 1..=2 * lanes {
        let (mut z, mut rest) = (numbers.clone(), Rest { loaded: vec![], fives: vec![] });
        rest.apply(isa, 0, 0, &mut z[..len]);
        for (n, (z, before)) in z.iter().zip(&numbers).enumerate() {
            let want = if n < len { *before + S::ONE } else { *before };
            assert_eq!(*z, want, "{bytes} bytes: {n} of {len}");
        }
        let live = (len - 1) % lanes + 1;
        assert_eq!(rest.loaded, vec![S::ONE; lanes - live], "{bytes} bytes: {len}");
        let mut fives = vec![S::ONE; live];
        fives.resize(lanes, S::from_f64(5.0));
        assert_eq!(rest.fives, fives, "{bytes} bytes: {len}");
    }
}

#[test]
fn parts_of_every_length_are_loaded_and_stored() {
    for isa in Isa::all() {
        parts::<f64>(isa);
        parts::<f32>(isa);
    }
}

/// Sums of logarithms. The quotient of one, in each lane of a register in turn, is not a normal number.
fn extreme_logarithms<S: Scalar>(isa: Isa, [small, large]: [f64; 2]) {
    for n in 0..37 {
        for (b, c, z) in [(3.0, small, 10.0), (2.0, large, 0.125), (0.5, small, small), (1.0, 0.125, large)] {
            let (mut all_b, mut all_c) = (vec![S::ONE; 37], vec![S::from_f64(2.0); 37]);
            let mut all_z = vec![S::ONE; 37];
            // Where b = 0, the other values do not matter.
            (all_b[(n + 1) % 37], all_z[(n + 1) % 37]) = (S::ZERO, S::ZERO);
            (all_b[n], all_c[n], all_z[n]) = (S::from_f64(b), S::from_f64(c), S::from_f64(z));
            let want = 35.0 * 2f64.ln() + b * (all_c[n].to_f64().ln() - all_z[n].to_f64().ln());
            let mut sums = LogSums::new(&all_b, &all_c, 3);
            sums.apply(isa, 2, 0, &mut all_z.clone());
            let near = 40.0 * S::EPSILON.to_f64() * want.abs();
            assert!((sums.sum(2) - want).abs() <= near, "{} {n}: {} for {want}", isa.name(), sums.sum(2));
            assert_eq!(sums.sum(0), 0.0);
            all_z[n] = S::ZERO;
            let mut sums = LogSums::new(&all_b, &all_c, 1);
            sums.apply(isa, 0, 0, &mut all_z);
            assert_eq!(sums.sum(0), f64::INFINITY);
        }
    }
}

#[test]
fn logarithms_of_extreme_quotients_are_right() {
    for isa in Isa::all() {
        extreme_logarithms::<f64>(isa, [5e-324, 1e308]);
        extreme_logarithms::<f32>(isa, [1e-45, 3e38]);
    }
}
