//! The pass over the rows of one column for a block of four weights: gradient and Hessian.
//!
//! Written with registers proper: fourteen running sums must stay in them.

use crate::level::Level;
use pulp::Simd;

/// Columns that are worked side by side.
pub(crate) const C: usize = 8;
/// Weights in a block.
pub(crate) const B: usize = 4;
/// Entries of the upper triangle of a B × B matrix.
pub(crate) const H: usize = B * (B + 1) / 2;

/// Bytes of an atom that a pass takes at most: those of eight atoms stay in the first cache.
pub(crate) const CHUNK: usize = 3072;

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

/// Kᵀt and the upper triangle of KᵀDiag(u)K, each as a register of sums that are still to be added up.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Sums<T>([[T; MOST_LANES]; B + H]);

/// Lanes of the widest register.
const MOST_LANES: usize = 16;

/// The pass in each precision; see [`Pass`].
pub trait BlockPass: Sized + Copy {
    /// Room for the sums of some columns.
    const ROOM: [Sums<Self>; C];

    /// Adds the rows of a pass to the sums, or begins new ones.
    fn block_pass(level: Level, pass: &mut Pass<'_, Self>, fresh: bool, sums: &mut Sums<Self>);

    /// Brings z up to date; returns the least z among the rows with a > 0.
    fn last_pass(level: Level, pass: &mut Pass<'_, Self>) -> Self;

    /// Kᵀt and the upper triangle of KᵀDiag(u)K of some columns, side by side.
    fn totals(level: Level, sums: &[Sums<Self>; C]) -> [[f64; C]; B + H];
}

/// What an instruction set may do better than the rest.
trait Registers: Simd {
    /// Reciprocals of positive numbers. Where it pays they come from the processor's estimate, refined until the error is a
    /// few units in the last place.
    fn reciprocal_f64(self, z: Self::f64s) -> Self::f64s;
    /// The same.
    fn reciprocal_f32(self, z: Self::f32s) -> Self::f32s;

    /// See [`BlockPass::totals`].
    #[inline(always)]
    fn totals_f64(self, sums: &[Sums<f64>; C]) -> [[f64; C]; B + H] {
        let mut totals = [[0.0; C]; B + H];
        for (e, total) in totals.iter_mut().enumerate() {
            for (total, sums) in total.iter_mut().zip(sums) {
                *total = self.reduce_sum_f64s(Self::as_simd_f64s(&sums.0[e]).0[0]);
            }
        }
        totals
    }

    /// The same.
    #[inline(always)]
    fn totals_f32(self, sums: &[Sums<f32>; C]) -> [[f64; C]; B + H] {
        let mut totals = [[0.0; C]; B + H];
        for (e, total) in totals.iter_mut().enumerate() {
            for (total, sums) in total.iter_mut().zip(sums) {
                *total = f64::from(self.reduce_sum_f32s(Self::as_simd_f32s(&sums.0[e]).0[0]));
            }
        }
        totals
    }
}

impl Registers for pulp::Scalar {
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
impl Registers for pulp::x86::V3 {
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
impl Registers for pulp::x86::V4 {
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
    #[inline(always)]
    fn totals_f64(self, sums: &[Sums<f64>; C]) -> [[f64; C]; B + H] {
        let mut totals = [[0.0; C]; B + H];
        for (e, total) in totals.iter_mut().enumerate() {
            let mut columns = [self.avx512f._mm512_setzero_pd(); C];
            for (column, sums) in columns.iter_mut().zip(sums) {
                *column = pulp::cast(Self::as_simd_f64s(&sums.0[e]).0[0]);
            }
            *total = add_lanes(self, columns);
        }
        totals
    }
    #[inline(always)]
    fn totals_f32(self, sums: &[Sums<f32>; C]) -> [[f64; C]; B + H] {
        let f = self.avx512f;
        let mut totals = [[0.0; C]; B + H];
        for (e, total) in totals.iter_mut().enumerate() {
            let mut columns = [f._mm512_setzero_pd(); C];
            for (column, sums) in columns.iter_mut().zip(sums) {
                let [low, high]: [std::arch::x86_64::__m256; 2] =
                    pulp::cast(Self::as_simd_f32s(&sums.0[e]).0[0]);
                *column = f._mm512_cvtps_pd(self.avx._mm256_add_ps(low, high));
            }
            *total = add_lanes(self, columns);
        }
        totals
    }
}

/// The sums of the lanes of eight registers, in one.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add_lanes(simd: pulp::x86::V4, x: [std::arch::x86_64::__m512d; C]) -> [f64; C] {
    let f = simd.avx512f;
    // The lanes of a and b in turn, each pair added up; then the same with pairs of lanes.
    macro_rules! one {
        ($a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            f._mm512_add_pd(f._mm512_unpacklo_pd(a, b), f._mm512_unpackhi_pd(a, b))
        }};
    }
    macro_rules! two {
        ($a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            f._mm512_add_pd(f._mm512_shuffle_f64x2::<0x88>(a, b), f._mm512_shuffle_f64x2::<0xdd>(a, b))
        }};
    }
    let low = two!(one!(x[0], x[1]), one!(x[2], x[3]));
    let high = two!(one!(x[4], x[5]), one!(x[6], x[7]));
    pulp::cast(two!(low, high))
}

macro_rules! block_pass {
    ($t:ident, $run:ident, $last:ident, $totals:ident, $as_simd:ident, $as_mut_simd:ident, $splat:ident, $mul:ident, $fma:ident,
     $max:ident, $min:ident, $less:ident, $select:ident, $reduce_min:ident, $reciprocal:ident) => {
        impl BlockPass for $t {
            const ROOM: [Sums<Self>; C] = [Sums([[0.0; MOST_LANES]; B + H]); C];

            fn block_pass(level: Level, pass: &mut Pass<'_, Self>, fresh: bool, sums: &mut Sums<Self>) {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(simd) => simd.vectorize(
                        #[inline(always)]
                        || $run(simd, pass, fresh, sums),
                    ),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(simd) => simd.vectorize(
                        #[inline(always)]
                        || $run(simd, pass, fresh, sums),
                    ),
                    Level::Plain => $run(pulp::Scalar, pass, fresh, sums),
                }
            }

            fn last_pass(level: Level, pass: &mut Pass<'_, Self>) -> Self {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(simd) => simd.vectorize(
                        #[inline(always)]
                        || $last(simd, pass),
                    ),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(simd) => simd.vectorize(
                        #[inline(always)]
                        || $last(simd, pass),
                    ),
                    Level::Plain => $last(pulp::Scalar, pass),
                }
            }

            fn totals(level: Level, sums: &[Sums<Self>; C]) -> [[f64; C]; B + H] {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512(simd) => simd.vectorize(
                        #[inline(always)]
                        || simd.$totals(sums),
                    ),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2(simd) => simd.vectorize(
                        #[inline(always)]
                        || simd.$totals(sums),
                    ),
                    Level::Plain => pulp::Scalar.$totals(sums),
                }
            }
        }

        #[inline(always)]
        fn $last<S: Registers>(simd: S, pass: &mut Pass<'_, $t>) -> $t {
            let z = S::$as_mut_simd(&mut *pass.z).0;
            let n = z.len();
            let a = &S::$as_simd(pass.a).0[..n];
            let [b0, b1, b2, b3] = [0, 1, 2, 3].map(
                #[inline(always)]
                |l: usize| &S::$as_simd(pass.before[l]).0[..n],
            );
            let [d0, d1, d2, d3] = [0, 1, 2, 3].map(
                #[inline(always)]
                |l: usize| simd.$splat(pass.d[l]),
            );
            let (zero, most) = (simd.$splat(0.0), simd.$splat($t::MAX));
            let mut least = most;
            for i in 0..n {
                let mut zi = simd.$fma(d0, b0[i], z[i]);
                zi = simd.$fma(d1, b1[i], zi);
                zi = simd.$fma(d2, b2[i], zi);
                zi = simd.$fma(d3, b3[i], zi);
                z[i] = zi;
                least = simd.$min(least, simd.$select(simd.$less(zero, a[i]), zi, most));
            }
            simd.$reduce_min(least)
        }

        #[inline(always)]
        fn $run<S: Registers>(simd: S, pass: &mut Pass<'_, $t>, fresh: bool, sums: &mut Sums<$t>) {
            let z = S::$as_mut_simd(&mut *pass.z).0;
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
            let floor = simd.$splat(pass.floor);
            // An array's `map` is not always inlined, and what is not is compiled without the registers.
            let mut so_far = [simd.$splat(0.0); B + H];
            if !fresh {
                for (now, sum) in so_far.iter_mut().zip(&sums.0) {
                    *now = S::$as_simd(sum).0[0];
                }
            }
            let [mut g0, mut g1, mut g2, mut g3, mut h00, mut h01, mut h02, mut h03, ..] = so_far;
            let [.., mut h11, mut h12, mut h13, mut h22, mut h23, mut h33] = so_far;
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
            let new = [g0, g1, g2, g3, h00, h01, h02, h03, h11, h12, h13, h22, h23, h33];
            for (sum, new) in sums.0.iter_mut().zip(new) {
                S::$as_mut_simd(sum).0[0] = new;
            }
        }
    };
}

block_pass!(
    f64,
    run_f64,
    last_f64,
    totals_f64,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_f64s,
    mul_add_f64s,
    max_f64s,
    min_f64s,
    less_than_f64s,
    select_f64s,
    reduce_min_f64s,
    reciprocal_f64
);
block_pass!(
    f32,
    run_f32,
    last_f32,
    totals_f32,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_f32s,
    mul_add_f32s,
    max_f32s,
    min_f32s,
    less_than_f32s,
    select_f32s,
    reduce_min_f32s,
    reciprocal_f32
);
