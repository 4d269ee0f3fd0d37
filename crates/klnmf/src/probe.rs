//! What the parts of a dense half-step cost, for `klnmf bench`: its time is measured against theirs.

use crate::block::{Block, Dictionary, Half, Scratch, Wants, Work};
use crate::lanes::Lanes;
use crate::level::{Level, Wide};
use crate::map::{DualStep, Ratio, Same};
use crate::parallel::{PerThread, Pool};
use crate::{Mat, Matrix, Result, Scalar};
use std::hint::black_box;
use std::time::Instant;

/// Least seconds of the parts of a pass over all of V on one thread, each measured alone.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// The dictionary K laid out for the products.
    pub packing: f64,
    /// z = Kx.
    pub product: f64,
    /// z = Kx and a/z.
    pub product_and_quotient: f64,
    /// z = Kx and the dual step.
    pub product_and_dual_step: f64,
    /// g = Kᵀt.
    pub back: f64,
}

/// The parts of a pass over the columns of V with r atoms, each the quickest of `runs`, measured in turn.
#[doc(hidden)]
pub fn parts<T: Scalar>(v: Matrix<'_, T>, r: usize, runs: usize) -> Result<Parts> {
    T::parts(v, r, runs)
}

/// Floating-point operations in a second of nothing but fused multiply-adds on one thread.
#[doc(hidden)]
pub fn multiply_adds<T: Scalar>() -> f64 {
    T::multiply_adds()
}

/// One half of a problem, ready for passes on one thread.
struct Probe<'a, T> {
    half: Half<'a, T>,
    pool: Pool,
    kt: Mat<T>,
    x: Mat<T>,
    dictionary: Dictionary<T>,
    scratch: PerThread<Scratch<T>>,
}

impl<'a, T: Scalar> Probe<'a, T> {
    fn new(v: Matrix<'a, T>, r: usize) -> Result<Self> {
        let (half, pool) = (Half::new(v)?, Pool::new(1)?);
        let some = |i: usize, j: usize| T::from_f64(1.0 + ((7 * i + 3 * j) % 11) as f64);
        let (kt, x) = (Mat::from_fn(r, v.rows(), some), Mat::from_fn(r, v.cols(), some));
        let mut dictionary = Dictionary::new(&half, r, Wants::default());
        dictionary.set(&pool, &kt);
        let scratch = half.scratch(&pool, r);
        let mut probe = Self { half, pool, kt, x, dictionary, scratch };
        // The dual step wants steps and a dual point: χ = −1, σ = 1.
        probe.pass(|_, _, work| {
            work.big[0].fill(T::ONE);
            work.big[1].fill(-T::ONE);
        });
        Ok(probe)
    }

    /// Seconds of packing the dictionary.
    fn packing(&mut self) -> f64 {
        let begun = Instant::now();
        self.dictionary.set(&self.pool, &self.kt);
        begun.elapsed().as_secs_f64()
    }

    /// Seconds of doing something with every block.
    fn pass(&mut self, f: impl Fn(&Block<'_, T>, &[T], &mut Work<T>) + Sync) -> f64 {
        let (r, mut nothing) = (self.x.rows(), vec![(); self.x.cols()]);
        let (x, nothing) = ((self.x.as_mut_slice(), r), (&mut nothing[..], 1));
        let begun = Instant::now();
        self.half.for_each_block(&self.pool, &self.scratch, &self.dictionary, x, nothing, |b, x, _, work| {
            f(b, x, work)
        });
        begun.elapsed().as_secs_f64()
    }
}

/// See [`parts`].
pub(crate) fn run<T: Scalar>(v: Matrix<'_, T>, r: usize, runs: usize) -> Result<Parts> {
    let mut probe = Probe::new(v, r)?;
    let mut best = [f64::INFINITY; 5];
    for _ in 0..runs {
        let times = [
            probe.packing(),
            probe.pass(|b, x, work| b.pass_map(x, None, &mut work.tile, &mut Same)),
            probe.pass(|b, x, work| b.pass_map(x, None, &mut work.tile, &mut Ratio::new(b.a))),
            probe.pass(|b, x, work| {
                let Work { tile, big: [sigma, chi, ..], .. } = work;
                b.pass_map(x, None, tile, &mut DualStep::new(b.a, sigma, chi));
            }),
            probe.pass(|b, _, work| b.pass(None, Some(&mut work.small[0]), &mut work.tile, |_, _| ())),
        ];
        best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
    }
    let [packing, product, product_and_quotient, product_and_dual_step, back] = best;
    Ok(Parts { packing, product, product_and_quotient, product_and_dual_step, back })
}

/// See [`multiply_adds`].
pub(crate) fn rate<T: Scalar>() -> f64 {
    Level::get().run_wide(Chains(black_box(T::from_f64(0.5))))
}

/// Twelve chains of x ← x/2 + 1/2, enough to keep every pipe busy; what they come to is how many operations a second.
struct Chains<T>(T);

impl<T: Scalar> Chains<T> {
    /// So many steps that the clock does not matter.
    const STEPS: usize = 100_000;
}

impl<T: Scalar> Wide<T> for Chains<T> {
    type Output = f64;

    #[inline(always)]
    fn run<const L: usize>(self) -> f64 {
        let half = Lanes::<T, L>::splat(self.0);
        let mut sums = [half; 12];
        let begun = Instant::now();
        for _ in 0..Self::STEPS {
            for sum in &mut sums {
                *sum = sum.mul_add(half, half);
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        black_box(sums.map(|sum| sum.0[0]));
        (2 * Self::STEPS * sums.len() * L) as f64 / seconds
    }
}
