//! What the parts of a dense half-step cost, for `klnmf bench`: its time is measured against theirs.

use crate::block::{Block, Blocks, ColumnData, DictionaryParts, HalfProblem, TILE_ROWS, Terms, Work};
use crate::kernel::{DualStep, Isa, Lanes, Ratio, Same, Wide};
use crate::parallel::Pool;
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
    let pool = Pool::new(1)?;
    Ok(T::parts(ColumnData::new(&pool, v)?.blocks(), &pool, r, runs))
}

/// Floating-point operations in a second of nothing but fused multiply-adds on one thread.
#[doc(hidden)]
pub fn multiply_adds<T: Scalar>() -> f64 {
    T::multiply_adds()
}

/// One half of a problem, ready for passes on one thread.
struct Probe<'a, T> {
    half: HalfProblem<'a, T>,
    kt: Mat<T>,
    x: Mat<T>,
}

impl<'a, T: Scalar> Probe<'a, T> {
    fn new(data: &'a dyn Blocks<T>, pool: &'a Pool, r: usize) -> Self {
        let (rows, cols) = data.shape();
        let some = |i: usize, j: usize| T::from_f64(1.0 + ((7 * i + 3 * j) % 11) as f64);
        let (kt, x) = (Mat::from_fn(r, rows, some), Mat::from_fn(r, cols, some));
        let parts = DictionaryParts { arrays: true, ..DictionaryParts::default() };
        let mut half = HalfProblem::new(data, pool, r, parts, Terms::default());
        half.set(&kt);
        let mut probe = Self { half, kt, x };
        // The dual step wants steps and a dual point: σ = 1, χ = −1.
        probe.pass(|_, _, work| {
            work.sigma.fill(T::ONE);
            work.chi.fill(-T::ONE);
        });
        probe
    }

    /// Seconds of packing the dictionary.
    fn packing(&mut self) -> f64 {
        let begun = Instant::now();
        self.half.set(&self.kt);
        begun.elapsed().as_secs_f64()
    }

    /// Seconds of doing something with every block.
    fn pass(&mut self, f: impl Fn(&Block<'_, T>, &[T], &mut Work<T>) + Sync) -> f64 {
        let (r, mut units) = (self.x.rows(), vec![(); self.x.cols()]);
        let begun = Instant::now();
        let x = (self.x.as_mut_slice(), r);
        self.half.for_each(x, (&mut units, 1), |b, x, _, work| f(b, x, work));
        begun.elapsed().as_secs_f64()
    }
}

/// See [`parts`].
pub(crate) fn run<T: Scalar>(data: &dyn Blocks<T>, pool: &Pool, r: usize, runs: usize) -> Parts {
    let mut probe = Probe::new(data, pool, r);
    let mut best = [f64::INFINITY; 5];
    for _ in 0..runs {
        let times = [
            probe.packing(),
            probe.pass(|b, x, work| b.pass(x, None, &mut work.tile, &mut Same)),
            probe.pass(|b, x, work| b.pass(x, None, &mut work.tile, &mut Ratio::new(b.a))),
            probe.pass(|b, x, work| {
                let Work { tile, sigma, chi, .. } = work;
                b.pass(x, None, tile, &mut DualStep::new(b.a, sigma, chi));
            }),
            probe.pass(|b, _, work| {
                for start in (0..b.p).step_by(TILE_ROWS) {
                    let rows = start..(start + TILE_ROWS).min(b.p);
                    let tile = &work.tile[..rows.len() * b.q];
                    b.add_back(&rows, tile, &mut work.evidence.g);
                }
            }),
        ];
        best.iter_mut().zip(times).for_each(|(best, time)| *best = best.min(time));
    }
    let [packing, product, product_and_quotient, product_and_dual_step, back] = best;
    Parts { packing, product, product_and_quotient, product_and_dual_step, back }
}

/// See [`multiply_adds`].
pub(crate) fn rate<T: Scalar>() -> f64 {
    Isa::get().run_wide(Chains(black_box(T::from_f64(0.5))))
}

/// Twelve chains of x ← x/2 + 1/2, enough to keep every pipe busy; what they come to is how many operations a
/// second.
struct Chains<T>(T);

impl<T: Scalar> Chains<T> {
    /// So many steps that the clock does not matter.
    const STEPS: usize = 100_000;
}

impl<T: Scalar> Wide<T> for Chains<T> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes<T>>(self, token: L::Token) -> f64 {
        let half = L::splat(token, self.0);
        let mut sums = [half; 12];
        let begun = Instant::now();
        for _ in 0..Self::STEPS {
            for sum in &mut sums {
                *sum = sum.mul_add(half, half);
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        black_box(sums.map(|sum| sum.sum()));
        (2 * Self::STEPS * sums.len() * L::N) as f64 / seconds
    }
}
