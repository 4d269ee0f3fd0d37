//! Both products against plain loops, in shapes with all kinds of remainders.

use super::*;
use crate::Mat;

fn example<S: Scalar>(r: usize, p: usize, seed: usize) -> Mat<S> {
    Mat::from_fn(r, p, |i, j| S::from_f64(((i * 31 + j * 17 + seed) % 23) as f64 / 7.0 + 0.125))
}

/// K x and 1 + Kᵀt at a level.
fn products<S: Scalar>(isa: Isa, kt: &Mat<S>, x: &Mat<S>, t: &Mat<S>) -> [Vec<S>; 2] {
    let (p, r, q) = (kt.cols(), kt.rows(), x.cols());
    let mut packed = Packed::<S>::new(isa, p, r);
    packed.set(kt.as_slice());
    let (mut z, mut g) = (vec![S::from_f64(7.0); p * q], vec![S::ONE; r * q]);
    packed.multiply_map(&(0..p), x.as_slice(), q, &mut z, &mut Same);
    packed.multiply_transposed(&(0..p), t.as_slice(), q, &mut g);
    [z, g]
}

fn products_are_right<S: Scalar>(p: usize, r: usize, q: usize) {
    let (kt, x, t) = (example::<S>(r, p, 1), example::<S>(r, q, 2), example::<S>(p, q, 3));
    let z = |at: usize| (0..r).map(|k| kt[(k, at % p)].to_f64() * x[(k, at / p)].to_f64()).sum::<f64>();
    let g = |at: usize| 1.0 + (0..p).map(|i| kt[(at % r, i)].to_f64() * t[(i, at / r)].to_f64()).sum::<f64>();
    let found: Vec<_> = Isa::all().into_iter().map(|isa| products(isa, &kt, &x, &t)).collect();
    let near = (p + r) as f64 * S::EPSILON.to_f64();
    for [found_z, found_g] in &found {
        for (at, found) in found_z.iter().enumerate() {
            assert!((found.to_f64() - z(at)).abs() <= near * z(at), "{p} {r} {q}: {found} for {}", z(at));
        }
        for (at, found) in found_g.iter().enumerate() {
            assert!((found.to_f64() - g(at)).abs() <= near * g(at), "{p} {r} {q}: {found} for {}", g(at));
        }
    }
    // Levels with a fused multiply-add agree to the bit. The plain level may lack it.
    assert!(found[1..].windows(2).all(|pair| pair[0] == pair[1]), "{p} {r} {q}");
}

#[test]
fn products_are_right_in_every_shape_and_on_every_level() {
    for (p, r, q) in
        [(1, 1, 1), (5, 3, 2), (16, 16, 8), (33, 10, 7), (70, 49, 13), (128, 17, 24), (100, 40, 9)]
    {
        products_are_right::<f64>(p, r, q);
        products_are_right::<f32>(p, r, q);
    }
}
