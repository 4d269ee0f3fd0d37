//! Multiplicative updates (Lee & Seung 2000), which are also the EM algorithm:
//!
//! x ← x ∘ ρ,  ρ = Kᵀ(a/Kx) / Kᵀ1.
//!
//! Each step lowers the divergence or leaves it. A zero stays zero for ever.

use super::{HalfState, HalfStep, Measuring, Side};
use crate::kernel::simd;
use crate::map::{Logs, Ratio};
use crate::{Mat, Scalar};

/// The method has no state of its own.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mu {
    /// The first so many columns of W stay as they are. The updates of single weights do not need one another, so the
    /// divergence still falls.
    pub fixed: usize,
}

impl Mu {
    /// The weights of a column that stay.
    fn fixed(&self, side: Side) -> usize {
        match side {
            Side::H => 0,
            Side::W => self.fixed,
        }
    }
}

impl<T: Scalar> HalfStep<T> for Mu {
    fn update(&mut self, half: &mut HalfState<'_, '_, T>, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        half.dictionary.set(half.pool, kt);
        let from = self.fixed(half.side);
        half.for_each_block(x, |b, x, _, work| {
            let g = &mut work.small[0];
            for _ in 0..steps {
                b.pass_map(x, Some(g), &mut work.tile, &mut Ratio::new(b.a));
                for (x, g) in x.chunks_mut(b.r).zip(g.chunks(b.r)) {
                    multiply(&mut x[from..], &g[from..], &b.k_sum[from..]);
                }
            }
        });
    }
}

impl<T: Scalar> Measuring<T> for Mu {
    fn update_and_measure(
        &mut self,
        half: &mut HalfState<'_, '_, T>,
        kt: &Mat<T>,
        x: &mut Mat<T>,
        steps: usize,
    ) -> f64 {
        half.dictionary.set(half.pool, kt);
        let from = self.fixed(half.side);
        let divergence = half.measure(x, |b, x, values, work| {
            let g = &mut work.small[0];
            let mut logs = Logs::new(b.a, b.a);
            b.pass_map(x, Some(g), &mut work.tile, &mut logs);
            b.divergences(&logs, x, values);
            for (x, g) in x.chunks_mut(b.r).zip(g.chunks(b.r)) {
                multiply(&mut x[from..], &g[from..], &b.k_sum[from..]);
            }
        });
        if steps > 1 {
            self.update(half, kt, x, steps - 1);
        }
        divergence
    }
}

/// x ← x∘g/k. Atoms that are zero have no say and keep their weight; so does a weight whose factor overflows, which
/// only happens where Kx has underflowed. A weight that falls below the smallest normal number divided by the machine's
/// epsilon (1e-292 in f64, 1e-31 in f32) becomes zero: it is on its way there, and subnormal numbers are slow.
pub(crate) fn multiply<T: Scalar>(x: &mut [T], g: &[T], k_sum: &[T]) {
    simd(
        #[inline(always)]
        || {
            for ((x, g), k) in x.iter_mut().zip(g).zip(k_sum) {
                let next = *x * (*g / *k);
                let next_or_zero = if next < T::TINY { T::ZERO } else { next };
                // Selections, not branches, so that the loop vectorises; no comparison with NaN holds.
                let usable = *k > T::ZERO && next < T::INFINITY;
                *x = if usable { next_or_zero } else { *x };
            }
        },
    );
}
