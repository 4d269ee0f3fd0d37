//! The authors' own program of the primal-dual algorithm, step for step: the oracle for everything else.
//!
//! The letters are those of [`primal_dual`](crate::primal_dual), with one σ and one τ for a whole column:
//!
//! σ = √(p/r)·1ᵀK1/(1ᵀa·‖K‖),  τ = √(r/p)·1ᵀa/(1ᵀK1·‖K‖),  so that στ‖K‖² = 1.
//!
//! χ lives on all entries, also where a = 0, so the program is for dense V. It starts feasible at −V/(WH) and
//! is carried through all half-steps, and so is x̄. The scalar steps suit columns of like size; on badly
//! scaled data use [`Fpa`](crate::Solver::Fpa).

use super::method::{Built, Method, Pair};
use super::{Setup, Side, State, Update};
use crate::block::{Block, DictionaryParts, HalfProblem, MOST_COLUMNS, Terms, Work};
use crate::kernel::{DualStep, Lanes, Ratio, TileMap};
use crate::linalg::{gram, spectral_norm};
use crate::matrix::{Mat, transpose_into};
use crate::primal_dual::{PrimalDual, Prox};
use crate::{Result, Scalar};

/// The dual and the extrapolated factors, which persist.
pub struct FpaAuthors<'a, T> {
    halves: [HalfProblem<'a, T>; 2],
    /// χ (n × m) and χᵀ (m × n); only the one that belongs to the half-step under way is up to date.
    chi: [Mat<T>; 2],
    /// x̄ for H and for Wᵀ.
    x_bar: [Mat<T>; 2],
    update: Update,
}

/// See [`Solver::FpaAuthors`](crate::Solver::FpaAuthors).
pub fn build<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    let (n, m, r) = (factors.wt.cols(), factors.h.cols(), factors.h.rows());
    let half = |data| HalfProblem::new(data, setup.pool, r, DictionaryParts::default(), Terms::default());
    let chi = [Mat::try_zeros(n, m)?, Mat::try_zeros(m, n)?];
    let x_bar = [factors.h.clone(), factors.wt.clone()];
    let mut new = FpaAuthors { halves: setup.data.map(half), chi, x_bar, update: setup.settings.update };
    new.start_dual(factors);
    if new.update == Update::W {
        new.turn_dual(0);
    }
    Ok(Box::new(new))
}

impl<T: Scalar> FpaAuthors<'_, T> {
    /// χ = −V/(WH), each column divided by s = max_k (Wᵀ(−χ))_k/(Wᵀ1)_k.
    fn start_dual(&mut self, factors: &Pair<T>) {
        let (r, n) = (factors.h.rows(), factors.wt.cols());
        self.halves[0].set(&factors.wt);
        let (x, chi) = (self.x_bar[0].as_mut_slice(), self.chi[0].as_mut_slice());
        self.halves[0].for_each(
            (x, r),
            (chi, n),
            1,
            |blocks, x, chi, work| {
                let (b, Work { tile, evidence, .. }) = (&blocks[0], work);
                let mut keep = KeepRatio { ratio: Ratio::new(b.a), t: chi };
                b.pass(x, Some(&mut evidence.g), tile, &mut keep);
                for (chi, g) in chi.chunks_mut(b.p).zip(evidence.g.chunks(r)) {
                    let live = g.iter().zip(b.k_sum).filter(|(_, k)| **k > T::ZERO);
                    let s = live.map(|(g, k)| *g / *k).fold(T::ZERO, T::max);
                    if s > T::ZERO {
                        chi.iter_mut().for_each(|y| *y = -*y / s);
                    }
                }
            },
            |_| (),
        );
    }

    fn half_step(&mut self, side: Side, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        let (half, side) = (&mut self.halves[side as usize], side as usize);
        half.set(kt);
        let norm = spectral_norm(&gram(kt));
        let mass: f64 = kt.row_sums().iter().sum();
        let (p, r) = (kt.cols() as f64, kt.rows() as f64);
        let steps_of = |sum: f64| {
            let sigma = (p / r).sqrt() * mass / (sum * norm);
            let tau = (r / p).sqrt() * sum / (mass * norm);
            // A column with nothing in it would divide by zero.
            if sum > 0.0 { (T::from_f64(sigma), T::from_f64(tau)) } else { (T::ZERO, T::ZERO) }
        };
        // x and x̄ travel together as the two halves of a column of 2r entries.
        let (r, mut pair) = (kt.rows(), stack(x, &self.x_bar[side]));
        half.for_each(
            (pair.as_mut_slice(), 2 * r),
            (self.chi[side].as_mut_slice(), kt.cols()),
            1,
            |blocks, pair, chi, work| block_steps(&blocks[0], pair, chi, work, steps, steps_of),
            |_| (),
        );
        unstack(&pair, x, &mut self.x_bar[side]);
    }

    /// Brings χ into the shape of the other half-step.
    fn turn_dual(&mut self, from: usize) {
        let [first, second] = &mut self.chi;
        let (from, to) = if from == 0 { (first, second) } else { (second, first) };
        transpose_into(self.halves[0].pool, (from.rows(), from.as_slice()), to);
    }
}

impl<T: Scalar> Method<T> for FpaAuthors<'_, T> {
    fn sweep(&mut self, factors: &mut Pair<T>, steps: usize) {
        for side in [Side::H, Side::W] {
            if self.update.moves(side) {
                let (kt, x) = factors.split(side);
                self.half_step(side, kt, x, steps);
            }
            if self.update == Update::Both {
                self.turn_dual(side as usize);
            }
        }
    }

    fn save(&self, state: &mut State) {
        let [h, w] = &self.x_bar;
        state.put_array("x_bar.h", h);
        state.put_array("x_bar.w", w);
        let side = usize::from(self.update == Update::W);
        state.put_array("chi", &self.chi[side]);
    }

    fn load(&mut self, state: &State) -> Result<()> {
        let [h, w] = &mut self.x_bar;
        state.fill("x_bar.h", h)?;
        state.fill("x_bar.w", w)?;
        let side = usize::from(self.update == Update::W);
        state.fill("chi", &mut self.chi[side])
    }
}

/// The steps of one block; a column with nothing in it gets zero weights.
fn block_steps<T: Scalar>(
    b: &Block<'_, T>,
    pair: &mut [T],
    chi: &mut [T],
    work: &mut Work<T>,
    steps: usize,
    steps_of: impl Fn(f64) -> (T, T),
) {
    let Work { tile, evidence, x, x_bar, tau, simplex, .. } = work;
    let r = b.r;
    let mut sigmas = [T::ZERO; MOST_COLUMNS];
    for (c, pair) in pair.chunks(2 * r).enumerate() {
        let (sigma, step) = steps_of(b.sums[c]);
        sigmas[c] = sigma;
        tau[c * r..][..r].fill(step);
        x[c * r..][..r].copy_from_slice(&pair[..r]);
        x_bar[c * r..][..r].copy_from_slice(&pair[r..]);
        if b.sums[c] == 0.0 {
            x[c * r..][..r].fill(T::ZERO);
        }
    }
    let g = &mut evidence.g;
    let mut primal_dual = PrimalDual { prox: Prox::NonNegative, tile, x, x_bar, tau, g, simplex };
    for _ in 0..steps {
        primal_dual.step(b, &mut DualStep::by_column(b.a, &sigmas[..b.q], chi));
    }
    for (c, pair) in pair.chunks_mut(2 * r).enumerate() {
        pair[..r].copy_from_slice(&primal_dual.x[c * r..][..r]);
        pair[r..].copy_from_slice(&primal_dual.x_bar[c * r..][..r]);
    }
}

/// a/z, which is also kept.
struct KeepRatio<'a, T> {
    ratio: Ratio<'a, T>,
    t: &'a mut [T],
}

impl<T: Scalar> TileMap<T> for KeepRatio<'_, T> {
    #[inline(always)]
    fn map<L: Lanes<T>>(&mut self, column: usize, at: usize, live: usize, z: L) -> L {
        let t = self.ratio.map(column, at, live, z);
        t.store(self.t, at, live);
        t
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
