//! The paper's primal-dual algorithm for both factors, in two versions: the authors' program step by step,
//! and Algorithm 2 as printed.
//!
//! The letters are those of [`primal_dual`](crate::primal_dual), with one σ and one τ for a whole column:
//!
//! σ = √(p/r)·1ᵀK1/(1ᵀa·‖K‖),  τ = √(r/p)·1ᵀa/(1ᵀK1·‖K‖),  so that στ‖K‖² = 1.
//!
//! χ covers all entries, including those with a = 0, so both versions take dense V only. It starts at
//! −V/(WH), scaled to be feasible, and is carried through all half-steps, as is x̄. The scalar step sizes
//! suit columns of similar size. On badly scaled data use [`Fpa`](crate::Solver::Fpa).
//!
//! | | the program | as printed |
//! | --- | --- | --- |
//! | order | H, then W | W, then H |
//! | before the steps on a factor | nothing | columns of W to sum 1, with W̄; rows of H and H̄ the other way |
//! | | | χ divided by max Kᵀ(−χ)/Kᵀ1 where that exceeds 1, column by column |
//!
//! With one factor fixed there is nothing to switch. Then neither version does anything before the steps, and
//! both are Algorithm 1 on every column. `docs/solvers.md` lists all differences with reasons, and the
//! results of other readings of the page.

use super::method::{Built, Method, Pair};
use super::place::{Here, scales};
use super::{Side, Store, Update};
use crate::block::{Block, HalfProblem, MOST_COLUMNS, Work};
use crate::kernel::{DualStep, Keep};
use crate::linalg::{gram, spectral_norm};
use crate::matrix::{Mat, transpose_into};
use crate::primal_dual::{PrimalDual, Prox};
use crate::{Result, Scalar};

/// The dual point and the extrapolated factors, which persist between half-steps.
struct FpaAuthors<'a, T> {
    halves: [HalfProblem<'a, T>; 2],
    /// χ (n × m) and χᵀ (m × n). Only the one for the current half-step is up to date.
    chi: [Mat<T>; 2],
    /// x̄.
    x_bar: Pair<T>,
    /// The factors that move, in order. Between two rounds χ is up to date for the first.
    order: Vec<Side>,
    /// Whether to normalise at each switch: as printed, with both factors moving.
    switches: bool,
}

/// See [`Solver::FpaAuthors`](crate::Solver::FpaAuthors) and
/// [`Solver::FpaPrinted`](crate::Solver::FpaPrinted).
pub fn fpa_authors<'a, T: Scalar, S: Scalar>(
    setup: &Here<'a, T>,
    factors: &Pair<S>,
    printed: bool,
) -> Built<'a, Mat<S>> {
    let (n, m, r, update) = (factors.wt.cols(), factors.h.cols(), factors.h.rows(), setup.settings.update);
    let halves = [Side::H, Side::W].map(|side| setup.place.plain_half(side, r));
    let chi = [Mat::try_zeros(n, m)?, Mat::try_zeros(m, n)?];
    let order = update.order(if printed { Side::W } else { Side::H });
    let switches = printed && update == Update::Both;
    let mut new = FpaAuthors { halves, chi, x_bar: factors.clone(), order, switches };
    new.start_dual(factors);
    if new.order[0] == Side::W {
        new.turn_dual(Side::H);
    }
    Ok(Box::new(new))
}

impl<T: Scalar> FpaAuthors<'_, T> {
    /// χ = −V/(WH), each column divided by s = max_k (Wᵀ(−χ))_k/(Wᵀ1)_k.
    fn start_dual(&mut self, factors: &Pair<T>) {
        let (r, n) = (factors.h.rows(), factors.wt.cols());
        self.halves[0].set(&factors.wt);
        let (x, chi) = (self.x_bar.h.as_mut_slice(), self.chi[0].as_mut_slice());
        self.halves[0].for_each((x, r), (chi, n), |b, x, chi, work| {
            b.pass(x, None, &mut work.tile, &mut Keep { z: &mut *chi, p: b.p, height: b.p });
            let start = |a: T, z: T| if a > T::ZERO { -a / z } else { T::ZERO };
            chi.iter_mut().zip(b.a).for_each(|(z, a)| *z = start(*a, *z));
            divide(b, chi, work, T::ZERO);
        });
    }

    fn half_step(&mut self, side: Side, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        let (half, chi) = (&mut self.halves[side as usize], &mut self.chi[side as usize]);
        half.set(kt);
        let norm = spectral_norm(&gram(kt));
        let mass: f64 = kt.row_sums().iter().sum();
        let (p, r) = (kt.cols() as f64, kt.rows() as f64);
        let steps_of = |sum: f64| {
            let sigma = (p / r).sqrt() * mass / (sum * norm);
            let tau = (r / p).sqrt() * sum / (mass * norm);
            // An empty column would divide by zero.
            if sum > 0.0 { (T::from_f64(sigma), T::from_f64(tau)) } else { (T::ZERO, T::ZERO) }
        };
        let (x, x_bar) = (x.as_mut_slice(), self.x_bar.split(side).1.as_mut_slice());
        let mut columns: Vec<_> = x.chunks_mut(kt.rows()).zip(x_bar.chunks_mut(kt.rows())).collect();
        half.for_each((&mut columns, 1), (chi.as_mut_slice(), kt.cols()), |b, columns, chi, work| {
            if self.switches {
                divide(b, chi, work, T::ONE);
            }
            block_steps(b, columns, chi, work, steps, steps_of);
        });
    }

    /// Transposes χ for the other half-step.
    fn turn_dual(&mut self, from: Side) {
        let [h, w] = &mut self.chi;
        let (from, to) = if from == Side::H { (h, w) } else { (w, h) };
        transpose_into(self.halves[0].pool, (from.rows(), from.as_slice()), to);
    }
}

impl<T: Scalar> Method<Mat<T>> for FpaAuthors<'_, T> {
    fn advance(&mut self, factors: &mut Pair<T>, steps: usize) {
        for n in 0..self.order.len() {
            if self.switches {
                // This leaves WH unchanged.
                let scales = scales(&factors.wt.row_sums(), 0);
                factors.scale(&scales);
                self.x_bar.scale(&scales);
            }
            let side = self.order[n];
            let (kt, x) = factors.split(side);
            self.half_step(side, kt, x, steps);
            if self.order.len() == 2 {
                self.turn_dual(side);
            }
        }
    }

    fn dual_point(&self) -> Option<(Side, &Mat<T>)> {
        let &[side] = &self.order[..] else { return None };
        Some((side, &self.chi[side as usize]))
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        self.x_bar.carry("x_bar.", store)?;
        store.array("chi", &mut self.chi[self.order[0] as usize])
    }
}

/// max Kᵀ(−χ)/Kᵀ1 of a column, from g = Kᵀχ. χ is feasible if this is at most 1.
fn violation<T: Scalar>(b: &Block<'_, T>, g: &[T]) -> T {
    let live = g.iter().zip(b.k_sum).filter(|(_, k)| **k > T::ZERO);
    live.map(|(g, k)| -*g / *k).fold(T::ZERO, T::max)
}

/// Divides each column of χ by its violation if that exceeds `bound`.
fn divide<T: Scalar>(b: &Block<'_, T>, chi: &mut [T], work: &mut Work<T>, bound: T) {
    b.back(chi, &mut work.evidence.g, &mut work.tile);
    for (chi, g) in chi.chunks_mut(b.p).zip(work.evidence.g.chunks(b.r)) {
        let s = violation(b, g);
        if s > bound {
            chi.iter_mut().for_each(|y| *y = *y / s);
        }
    }
}

/// Takes the steps of one block, whose columns have x and x̄. An empty column gets zero weights.
fn block_steps<T: Scalar>(
    b: &Block<'_, T>,
    columns: &mut [(&mut [T], &mut [T])],
    chi: &mut [T],
    work: &mut Work<T>,
    steps: usize,
    steps_of: impl Fn(f64) -> (T, T),
) {
    let Work { tile, evidence, x, x_bar, tau, simplex, .. } = work;
    let mut sigmas = [T::ZERO; MOST_COLUMNS];
    for (c, (its_x, its_x_bar)) in columns.iter().enumerate() {
        let (at, (sigma, step)) = (c * b.r..(c + 1) * b.r, steps_of(b.sums[c]));
        sigmas[c] = sigma;
        tau[at.clone()].fill(step);
        x[at.clone()].copy_from_slice(its_x);
        x_bar[at.clone()].copy_from_slice(its_x_bar);
        if b.sums[c] == 0.0 {
            x[at].fill(T::ZERO);
        }
    }
    let g = &mut evidence.g;
    let mut primal_dual = PrimalDual { prox: Prox::NonNegative, tile, x, x_bar, tau, g, simplex };
    for _ in 0..steps {
        primal_dual.step(b, &mut DualStep::<_, true>::new(b.a, &sigmas[..b.q], chi));
    }
    for (c, (its_x, its_x_bar)) in columns.iter_mut().enumerate() {
        let at = c * b.r..(c + 1) * b.r;
        its_x.copy_from_slice(&primal_dual.x[at.clone()]);
        its_x_bar.copy_from_slice(&primal_dual.x_bar[at]);
    }
}
