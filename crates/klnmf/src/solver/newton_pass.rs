//! The pass over the rows of one column for a block of four weights: gradient and Hessian.
//!
//! Written with registers proper: fourteen running sums must stay in them.

use crate::level::Level;
use pulp::Simd;

/// Weights in a block.
pub(crate) const B: usize = 4;
/// Entries of the upper triangle of a B × B matrix.
pub(crate) const H: usize = B * (B + 1) / 2;

/// What a pass reads and writes; all slices have the same length, a multiple of 64 bytes.
pub struct Pass<'a, T> {
    /// A column of V, zeros after its end.
    pub a: &'a [T],
    /// Kx, which the pass brings up to date; not zero after its end.
    pub z: &'a mut [T],
    /// The atoms of the block before, and the change of their weights.
    pub before: [&'a [T]; B],
    pub d: [T; B],
    /// The atoms of this block.
    pub k: [&'a [T]; B],
    /// What z may not fall below: positive.
    pub floor: T,
}

/// Kᵀt and the upper triangle of KᵀDiag(u)K.
pub type Sums = ([f64; B], [f64; H]);

/// The pass in each precision; see [`Pass`].
pub trait BlockPass: Sized {
    fn block_pass(level: Level, pass: Pass<'_, Self>) -> Sums;
}

/// Reciprocals of positive numbers. Where it pays they come from the processor's estimate, refined until the error is a
/// few units in the last place.
trait Reciprocal: Simd {
    fn reciprocal_f64(self, z: Self::f64s) -> Self::f64s;
    fn reciprocal_f32(self, z: Self::f32s) -> Self::f32s;
}

impl Reciprocal for pulp::Scalar {
    #[inline(always)]
    fn reciprocal_f64(self, z: f64) -> f64 {
        1.0 / z
    }
    #[inline(always)]
    fn reciprocal_f32(self, z: f32) -> f32 {
        1.0 / z
    }
}

#[cfg(target_arch = "x86_64")]
impl Reciprocal for pulp::x86::V3 {
    #[inline(always)]
    fn reciprocal_f64(self, z: Self::f64s) -> Self::f64s {
        self.div_f64s(self.splat_f64s(1.0), z)
    }
    #[inline(always)]
    fn reciprocal_f32(self, z: Self::f32s) -> Self::f32s {
        self.div_f32s(self.splat_f32s(1.0), z)
    }
}

#[cfg(target_arch = "x86_64")]
impl Reciprocal for pulp::x86::V4 {
    #[inline(always)]
    fn reciprocal_f64(self, z: Self::f64s) -> Self::f64s {
        let f = self.avx512f;
        let z = pulp::cast(z);
        let mut y = f._mm512_rcp14_pd(z);
        for _ in 0..2 {
            y = f._mm512_fmadd_pd(f._mm512_fnmadd_pd(z, y, f._mm512_set1_pd(1.0)), y, y);
        }
        pulp::cast(y)
    }
    #[inline(always)]
    fn reciprocal_f32(self, z: Self::f32s) -> Self::f32s {
        let f = self.avx512f;
        let z = pulp::cast(z);
        let y = f._mm512_rcp14_ps(z);
        pulp::cast(f._mm512_fmadd_ps(f._mm512_fnmadd_ps(z, y, f._mm512_set1_ps(1.0)), y, y))
    }
}

macro_rules! block_pass {
    ($t:ident, $run:ident, $as_simd:ident, $as_mut_simd:ident, $splat:ident, $mul:ident, $fma:ident, $max:ident,
     $reduce:ident, $reciprocal:ident) => {
        impl BlockPass for $t {
            fn block_pass(level: Level, pass: Pass<'_, Self>) -> Sums {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(simd) => simd.vectorize(
                        #[inline(always)]
                        || $run(simd, pass),
                    ),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(simd) => simd.vectorize(
                        #[inline(always)]
                        || $run(simd, pass),
                    ),
                    Level::Plain => $run(pulp::Scalar, pass),
                }
            }
        }

        #[inline(always)]
        fn $run<S: Reciprocal>(simd: S, pass: Pass<'_, $t>) -> Sums {
            let z = S::$as_mut_simd(pass.z).0;
            let n = z.len();
            let a = &S::$as_simd(pass.a).0[..n];
            let [b0, b1, b2, b3] = [0, 1, 2, 3].map(
                #[inline(always)]
                |l: usize| &S::$as_simd(pass.before[l]).0[..n],
            );
            let [k0, k1, k2, k3] = [0, 1, 2, 3].map(
                #[inline(always)]
                |l: usize| &S::$as_simd(pass.k[l]).0[..n],
            );
            let [d0, d1, d2, d3] = [0, 1, 2, 3].map(
                #[inline(always)]
                |l: usize| simd.$splat(pass.d[l]),
            );
            let (zero, floor) = (simd.$splat(0.0), simd.$splat(pass.floor));
            let [mut g0, mut g1, mut g2, mut g3] = [zero; B];
            let [mut h00, mut h01, mut h02, mut h03, mut h11] = [zero; 5];
            let [mut h12, mut h13, mut h22, mut h23, mut h33] = [zero; 5];
            for i in 0..n {
                let mut zi = simd.$fma(d0, b0[i], z[i]);
                zi = simd.$fma(d1, b1[i], zi);
                zi = simd.$fma(d2, b2[i], zi);
                zi = simd.$fma(d3, b3[i], zi);
                zi = simd.$max(zi, floor);
                z[i] = zi;
                let inverse = simd.$reciprocal(zi);
                let t = simd.$mul(a[i], inverse);
                let u = simd.$mul(t, inverse);
                let (k0, k1, k2, k3) = (k0[i], k1[i], k2[i], k3[i]);
                (g0, g1) = (simd.$fma(k0, t, g0), simd.$fma(k1, t, g1));
                (g2, g3) = (simd.$fma(k2, t, g2), simd.$fma(k3, t, g3));
                let (u0, u1, u2, u3) =
                    (simd.$mul(k0, u), simd.$mul(k1, u), simd.$mul(k2, u), simd.$mul(k3, u));
                (h00, h01) = (simd.$fma(u0, k0, h00), simd.$fma(u0, k1, h01));
                (h02, h03) = (simd.$fma(u0, k2, h02), simd.$fma(u0, k3, h03));
                (h11, h12) = (simd.$fma(u1, k1, h11), simd.$fma(u1, k2, h12));
                (h13, h22) = (simd.$fma(u1, k3, h13), simd.$fma(u2, k2, h22));
                (h23, h33) = (simd.$fma(u2, k3, h23), simd.$fma(u3, k3, h33));
            }
            let sum = |x| f64::from(simd.$reduce(x));
            (
                [sum(g0), sum(g1), sum(g2), sum(g3)],
                [
                    sum(h00),
                    sum(h01),
                    sum(h02),
                    sum(h03),
                    sum(h11),
                    sum(h12),
                    sum(h13),
                    sum(h22),
                    sum(h23),
                    sum(h33),
                ],
            )
        }
    };
}

block_pass!(
    f64,
    run_f64,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_f64s,
    mul_add_f64s,
    max_f64s,
    reduce_sum_f64s,
    reciprocal_f64
);
block_pass!(
    f32,
    run_f32,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_f32s,
    mul_add_f32s,
    max_f32s,
    reduce_sum_f32s,
    reciprocal_f32
);
