//! The authors' own program of the primal-dual algorithm, step for step: the oracle for everything else.
//!
//! | letter | meaning |
//! | --- | --- |
//! | K, x | the fixed factor and a column of the moving one |
//! | χ | the dual, n × m, started feasible at −V/(WH) and carried through all half-steps |
//! | σ, τ | √(p/r)·1ᵀK1/(1ᵀa·‖K‖) and √(r/p)·1ᵀa/(1ᵀK1·‖K‖), so that στ‖K‖² = 1 |
//!
//! χ ← χ + σ·Kx̄,  χ ← ½(χ − √(χ² + 4σa)),  x⁺ ← max(x − τ·Kᵀ(χ + 1), 0),  x̄ ← 2x⁺ − x.
//!
//! (The paper prints χ − σ·Kx̄, which diverges.) The scalar steps suit columns of like size; on badly scaled data use
//! [`Fpa`](super::fpa). Dense only: χ lives on all entries. x̄ outlives the half-step it was made in.

use super::{Factors, HalfState, Method, Side, Update};
use crate::Scalar;
use crate::block::{Block, MOST_COLUMNS, Work};
use crate::divergence::largest_ratio;
use crate::lanes::{Lanes, dual_step};
use crate::linalg::{gram, spectral_norm};
use crate::map::{self, Map};
use crate::matrix::Mat;

/// The dual and the extrapolated factors, which persist.
pub(crate) struct Paper<'a, 'v, T> {
    halves: [HalfState<'a, 'v, T>; 2],
    /// χ (n × m) and χᵀ (m × n); only the one that belongs to the half-step under way is up to date.
    chi: [Mat<T>; 2],
    /// x̄ for H and for Wᵀ.
    x_bar: [Mat<T>; 2],
    update: Update,
}

impl<'a, 'v, T: Scalar> Paper<'a, 'v, T> {
    pub fn new(
        halves: [HalfState<'a, 'v, T>; 2],
        factors: &Factors<T>,
        update: Update,
    ) -> crate::Result<Self> {
        let (n, m) = (factors.wt.cols(), factors.h.cols());
        let chi = [Mat::try_zeros(n, m)?, Mat::try_zeros(m, n)?];
        let x_bar = [factors.h.clone(), factors.wt.clone()];
        let mut new = Self { halves, chi, x_bar, update };
        new.start_dual(factors);
        if update == Update::W {
            new.turn_dual(0);
        }
        Ok(new)
    }

    /// χ = −V/(WH), each column divided by s = max_k (Wᵀ(−χ))_k/(Wᵀ1)_k.
    fn start_dual(&mut self, factors: &Factors<T>) {
        let half = &mut self.halves[0];
        half.dictionary.set(half.pool, &factors.wt);
        half.for_each_block_with(&mut self.x_bar[0], self.chi[0].as_mut_slice(), |b, x, chi, work| {
            let Work { tile, small: [g, ..], .. } = work;
            b.pass(Some(x), Some(g), tile, |rows, z| {
                b.ratio(&rows, z);
                for (c, z) in z.chunks(rows.len()).enumerate() {
                    chi[b.part(c, &rows)].copy_from_slice(z);
                }
            });
            for (chi, g) in chi.chunks_mut(b.p).zip(g.chunks(b.r)) {
                let s = largest_ratio(g.iter().copied(), b.k_sum);
                if s > T::ZERO {
                    chi.iter_mut().for_each(|y| *y = -*y / s);
                }
            }
        });
    }

    fn half_step(&mut self, side: usize, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        let half = &mut self.halves[side];
        half.dictionary.set(half.pool, kt);
        let norm = spectral_norm(&gram(kt));
        let mass: f64 = kt.row_sums().iter().sum();
        let (p, r) = (kt.cols() as f64, kt.rows() as f64);
        // x and x̄ travel together as the two halves of a column of 2r entries.
        let mut pair = stack(x, &self.x_bar[side]);
        half.for_each_block_with(&mut pair, self.chi[side].as_mut_slice(), |b, pair, chi, work| {
            let steps_of = |sum: f64| {
                let sigma = (p / r).sqrt() * mass / (sum * norm);
                let tau = (r / p).sqrt() * sum / (mass * norm);
                (T::from_f64(sigma), T::from_f64(tau))
            };
            block_steps(b, pair, chi, work, steps, steps_of);
        });
        unstack(&pair, x, &mut self.x_bar[side]);
    }

    /// Brings χ into the shape of the other half-step.
    fn turn_dual(&mut self, from: usize) {
        let [first, second] = &mut self.chi;
        let (from, to) = if from == 0 { (first, second) } else { (second, first) };
        crate::matrix::transpose_into(self.halves[0].pool, from, to);
    }
}

impl<T: Scalar> Method<T> for Paper<'_, '_, T> {
    fn sweep(&mut self, factors: &mut Factors<T>, steps: usize) {
        let Factors { wt, h } = factors;
        let both = self.update == Update::Both;
        if self.update.moves(Side::H) {
            self.half_step(0, wt, h, steps);
        }
        if both {
            self.turn_dual(0);
        }
        if self.update.moves(Side::W) {
            self.half_step(1, h, wt, steps);
        }
        if both {
            self.turn_dual(1);
        }
    }
}

/// The steps of one block; a column with nothing in it gets zero weights, where the formula would divide by zero.
fn block_steps<T: Scalar>(
    b: &Block<'_, T>,
    pair: &mut [T],
    chi: &mut [T],
    work: &mut Work<T>,
    steps: usize,
    steps_of: impl Fn(f64) -> (T, T),
) {
    let Work { tile, small: [g, x_bar, ..], .. } = work;
    let r = b.r;
    // A column with nothing in it gets an infinite step; a zero leaves its dual at zero.
    let mut sigmas = [T::ZERO; MOST_COLUMNS];
    for (sigma, sum) in sigmas.iter_mut().zip(b.sums) {
        *sigma = if *sum > 0.0 { steps_of(*sum).0 } else { T::ZERO };
    }
    for (to, pair) in x_bar.chunks_mut(r).zip(pair.chunks(2 * r)) {
        to.copy_from_slice(&pair[r..]);
    }
    for _ in 0..steps {
        let sigmas = &sigmas[..b.q];
        b.pass_map(x_bar, Some(g), tile, &mut ScalarDualStep { a: b.a, sigmas, chi });
        for (c, pair) in pair.chunks_mut(2 * r).enumerate() {
            let (_, tau) = steps_of(b.sums[c]);
            let (x, bar) = (&mut pair[..r], &mut x_bar[c * r..][..r]);
            for (((x, bar), g), k) in x.iter_mut().zip(bar).zip(&g[c * r..]).zip(b.k_sum) {
                let next = if b.sums[c] > 0.0 { (*x - tau * (*g + *k)).max(T::ZERO) } else { T::ZERO };
                *bar = next + next - *x;
                *x = next;
            }
        }
    }
    for (bar, pair) in x_bar.chunks(r).zip(pair.chunks_mut(2 * r)) {
        pair[r..].copy_from_slice(bar);
    }
}

/// χ ← ½(χ' − √(χ'² + 4σa)), χ' = χ + σz, on all entries, with one σ for each column; the new χ is also the result.
struct ScalarDualStep<'a, T> {
    a: &'a [T],
    sigmas: &'a [T],
    chi: &'a mut [T],
}

impl<T: Scalar> Map<T> for ScalarDualStep<'_, T> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: Lanes<T, L>) -> Lanes<T, L> {
        let (a, chi) = (Lanes::load(self.a, at, live), Lanes::load(self.chi, at, live));
        let next = dual_step(a, Lanes::splat(self.sigmas[column]), chi, z);
        next.store(self.chi, at, live);
        next
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        map::fetch(self.a, at);
        map::fetch(self.chi, at);
    }
}

fn stack<T: Scalar>(x: &Mat<T>, bar: &Mat<T>) -> Mat<T> {
    let r = x.rows();
    Mat::from_fn(2 * r, x.cols(), |i, j| if i < r { x[(i, j)] } else { bar[(i - r, j)] })
}

fn unstack<T: Scalar>(pair: &Mat<T>, x: &mut Mat<T>, bar: &mut Mat<T>) {
    let r = x.rows();
    for j in 0..x.cols() {
        x.col_mut(j).copy_from_slice(&pair.col(j)[..r]);
        bar.col_mut(j).copy_from_slice(&pair.col(j)[r..]);
    }
}
