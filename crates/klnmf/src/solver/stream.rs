//! Streaming: W is learned from passes over the columns of V, each of which reads every column once.
//!
//! | letter | meaning |
//! | --- | --- |
//! | V_b, H_b | a batch of columns, and their weights |
//! | γ | (t + 1)^−0.6 for the t-th batch |
//! | A | W ∘ (V_b/(W·H_b))·H_bᵀ, the part of V_b that each row owes to each part |
//! | b, G | H1 and (V/(WH))Hᵀ over all columns |
//!
//! The first two passes are online EM (Cappé & Moulines 2009; Lefèvre, Bach & Févotte 2011). They find H_b
//! for every batch and mix its statistics into W, scaled to ΣW = 1: W ← (1 − γ)·W + γ·A/ΣV_b. Batches are put
//! together from pieces of V in a fixed random order, because neighbouring columns are often alike. No weight
//! falls below 10⁻⁹ of its row's share of V, because it could not grow again.
//!
//! In every later pass W is fixed. The pass finds H and sums G and the [curvature](super::curvature) for
//! every row of W. Both gaps follow from these sums, so each pass comes with the certificate of its W and H.
//! After it, W takes a Newton step. If the next pass finds that the divergence has increased, the method
//! returns to the best factors and takes the step of EM, W ← W ∘ G/b, which cannot increase it.
//!
//! The reported factors are those of the best pass with a fixed W, and the start before that.

use super::curvature::{Curvature, weight};
use super::method::{Built, Column, HalfStep, Method, Pair, move_columns};
use super::mu::MU;
use super::newton::Newton;
use super::place::Here;
use super::{Side, Store, Update};
use crate::block::{
    Block, Blocks, COPIES, ColumnData, Dictionary, DictionaryParts, HalfProblem, Terms, Work,
};
use crate::certificate::{self, Certificate, Values};
use crate::cost::Cost;
use crate::parallel::{Pool, total};
use crate::{Mat, Result, Scalar, kernel};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::ops::Range;
use std::sync::Arc;

/// Online passes.
const ONLINE: usize = 2;
/// The most batches in a pass, and the least columns in a batch.
const BATCHES: usize = 100;
const LEAST_COLUMNS: usize = 8;
/// The most columns that are read together.
const PIECE: usize = 64;
/// The exponent of γ.
const DECAY: f64 = -0.6;
/// The least weight, relative to the row's share of V.
const FLOOR: f64 = 1e-9;
/// Multiplicative updates on a column in an online pass, and in a pass after an increase.
const UPDATES: usize = 20;
/// Newton steps on a column in the other passes.
const STEPS: usize = 2;

struct Stream<'a, S> {
    data: &'a dyn Blocks<S>,
    pool: &'a Pool,
    /// The row sums of V, and ΣV.
    rows: &'a [f64],
    sum: f64,
    held: usize,
    update: Update,
    /// Passes so far. The first two are online.
    passes: usize,
    /// The factors for the next pass.
    now: Pair<S>,
    /// W after a step of EM from the reported factors.
    em: Mat<S>,
    /// Whether the last pass has increased the divergence.
    rose: bool,
    /// The certificate of the reported factors.
    known: Certificate,
}

/// See [`Solver::Stream`](crate::Solver::Stream).
pub fn stream<'a, T: Scalar, S: Scalar>(setup: &Here<'a, T>, factors: &Pair<S>) -> Built<'a, Mat<S>> {
    let (problem, settings) = (setup.place, setup.settings);
    let online = settings.update == Update::Both && !setup.begun && problem.sum > 0.0;
    let mut new = Stream {
        data: problem.blocks(Side::H),
        pool: &problem.pool,
        rows: problem.blocks::<S>(Side::W).sums(),
        sum: problem.sum,
        held: settings.fixed,
        update: settings.update,
        passes: if online { 0 } else { ONLINE },
        now: factors.clone(),
        em: factors.wt.clone(),
        rose: false,
        known: setup.start,
    };
    if online {
        new.scale_start();
    }
    Ok(Box::new(new))
}

/// The bytes that `stream` needs beyond other methods, if the bytes of V are `v`: those of the curvature, and
/// of a batch of twice the mean size with its copies.
pub fn more_bytes<S: Scalar>(v: u128, (n, m): (usize, usize), r: usize) -> u128 {
    Curvature::<S>::bytes(n, r) + 2 * COPIES * v / batches(m) as u128
}

/// The batches of m columns.
fn batches(m: usize) -> usize {
    (m / LEAST_COLUMNS).clamp(1, BATCHES)
}

impl<S: Scalar> Stream<'_, S> {
    /// Scales every row of W to its share of V, so that ΣW = 1, and H to match.
    fn scale_start(&mut self) {
        let (Pair { wt, h }, held, sum) = (&mut self.now, self.held, self.sum);
        let b = h.row_sums();
        for (w, row) in wt.as_mut_slice().chunks_mut(b.len()).zip(self.rows) {
            let (least, scale) = (FLOOR * row / sum, row / (sum * kernel::dot(w, &b)));
            for (w, b) in w.iter_mut().zip(&b).skip(held) {
                let share = w.to_f64() * b * scale;
                *w = S::from_f64(if share > least { share } else { least });
            }
        }
        for h in h.as_mut_slice().chunks_mut(b.len()) {
            let free = h.iter_mut().zip(&b).skip(held).filter(|(_, b)| **b > 0.0);
            free.for_each(|(h, b)| *h = S::from_f64(h.to_f64() / b * sum));
        }
    }

    /// The ranges of columns of every batch of an online pass: pieces of V in a fixed random order.
    fn shuffled(&self) -> Vec<Vec<Range<usize>>> {
        let m = self.data.shape().1;
        let batches = batches(m);
        let mut pieces = pieces(0..m, (m / (4 * batches)).clamp(1, PIECE));
        pieces.shuffle(&mut ChaCha8Rng::seed_from_u64(self.passes as u64));
        let size = pieces.len().div_ceil(batches);
        pieces.chunks(size).map(<[_]>::to_vec).collect()
    }

    /// The dictionary of the steps on H, in the precision A, yet to be set.
    fn dictionary<A: Scalar>(&self, parts: DictionaryParts) -> Dictionary<A> {
        let shape = (self.data.shape().0, self.now.h.rows());
        Dictionary::new(shape, self.data.gathers(), parts, Terms::default())
    }

    /// Finds the weights of these columns, and returns them as a copy.
    fn solve(
        &mut self,
        columns: &dyn Blocks<S>,
        dictionary: &Arc<Dictionary<S>>,
        ranges: &[Range<usize>],
    ) -> Mat<S> {
        let (r, all) = (self.now.h.rows(), self.now.h.as_mut_slice());
        let mut h = Vec::with_capacity(r * columns.shape().1);
        ranges.iter().for_each(|range| h.extend_from_slice(&all[r * range.start..r * range.end]));
        if self.update.moves(Side::H) {
            let careful = self.rose || self.passes < ONLINE;
            let (step, steps): (&dyn HalfStep<S>, _) =
                if careful { (&MU, UPDATES) } else { (&Newton, STEPS) };
            let half = HalfProblem::sharing(columns, self.pool, parts::<S>(), dictionary.clone());
            let mut states = vec![Column::default(); columns.shape().1];
            move_columns(&half, step, (&mut h, r), &mut states, steps, false);
            let mut left = &h[..];
            for range in ranges {
                let (mine, rest) = left.split_at(r * range.len());
                all[r * range.start..r * range.end].copy_from_slice(mine);
                left = rest;
            }
        }
        Mat::new(r, h.len() / r, h).expect("r weights for each column")
    }

    fn online_pass(&mut self) {
        let mut dictionary = Arc::new(self.dictionary::<S>(parts::<S>()));
        let batches = self.shuffled();
        for (t, ranges) in batches.iter().enumerate() {
            Arc::get_mut(&mut dictionary).expect("no batch is left").set(self.pool, &self.now.wt);
            let columns = ColumnData::batch(self.data, self.pool, &dictionary, ranges);
            let rows = columns.rows(self.pool);
            let h = self.solve(columns.blocks(), &dictionary, ranges);
            let rate = ((self.passes * batches.len() + t + 2) as f64).powf(DECAY);
            self.learn(rows.blocks(), &h, rate);
        }
    }

    /// Mixes the statistics of a batch, given by rows, into W.
    fn learn(&mut self, rows: &dyn Blocks<S>, h: &Mat<S>, rate: f64) {
        let (held, sum, of_v, r) = (self.held, self.sum, self.rows, h.rows());
        let mass = total(rows.sums().iter().copied());
        if mass <= 0.0 {
            return;
        }
        let mut half = HalfProblem::new(rows, self.pool, r, DictionaryParts::default(), Terms::default());
        half.set(h);
        let (keep, add) = (S::from_f64(1.0 - rate), S::from_f64(rate / mass));
        let mut units = vec![(); of_v.len()];
        half.for_each((self.now.wt.as_mut_slice(), r), (&mut units, 1), |b, w, _, work| {
            b.evidence(w, false, &mut work.tile, &mut work.evidence);
            let rows = w.chunks_mut(r).zip(work.evidence.g.chunks(r)).zip(&of_v[b.first..]);
            for ((w, g), row) in rows {
                let least = S::from_f64(FLOOR * row / sum);
                for (w, g) in w.iter_mut().zip(g).skip(held) {
                    *w = (*w * (keep + add * *g)).max(least);
                }
            }
        });
    }

    fn fixed_pass(&mut self, factors: &mut Pair<S>) {
        let ((n, m), r) = (self.data.shape(), self.now.h.rows());
        let (mut dictionary, mut exact) =
            (self.dictionary(parts::<S>()), self.dictionary(DictionaryParts::default()));
        dictionary.set(self.pool, &self.now.wt);
        exact.set(self.pool, &self.now.wt);
        let (dictionary, exact) = (Arc::new(dictionary), Arc::new(exact));
        let mut values = Vec::with_capacity(m);
        let (mut g, mut curvature) = (vec![0.0; n * r], Curvature::new(n, r));
        for cols in pieces(0..m, m.div_ceil(batches(m))) {
            let ranges = pieces(cols, PIECE);
            let columns = ColumnData::batch(self.data, self.pool, &dictionary, &ranges);
            let rows = columns.rows(self.pool);
            let h = self.solve(columns.blocks(), &dictionary, &ranges);
            let plain = DictionaryParts::default();
            let half = HalfProblem::sharing(columns.blocks(), self.pool, plain, exact.clone());
            values.extend(certificate::values(&half, h.as_slice(), Some(0.0), None));
            self.gather(rows.blocks(), &h, &mut g, &mut curvature);
        }
        self.conclude(factors, &values, &g, &curvature);
    }

    /// Adds a batch, given by rows, to G and to the curvature.
    fn gather(&self, rows: &dyn Blocks<f64>, h: &Mat<S>, g: &mut [f64], curvature: &mut Curvature<S>) {
        let (r, wt, shape) = (h.rows(), &self.now.wt, curvature.shape);
        let mut half = HalfProblem::new(rows, self.pool, r, DictionaryParts::default(), Terms::default());
        half.set(h);
        let add = |b: &Block<'_, f64>, g: &mut [f64], q: &mut [S], work: &mut Work<f64>| {
            kernel::convert(&wt.as_slice()[b.first * r..][..b.q * r], &mut work.x);
            b.evidence(&work.x, false, &mut work.tile, &mut work.evidence);
            g.iter_mut().zip(&work.evidence.g).for_each(|(to, g)| *to += g);
            for (c, q) in q.chunks_mut(shape.numbers()).enumerate() {
                let w = wt.col(b.first + c);
                for (j, v) in b.entries(c).filter(|(_, v)| *v > 0.0) {
                    shape.add(q, weight(v, w, h.col(j)), h.col(j));
                }
            }
        };
        half.for_each((g, r), (&mut curvature.rows, shape.numbers()), add);
    }

    /// Certifies the factors of a pass, and moves W or goes back.
    fn conclude(&mut self, factors: &mut Pair<S>, values: &[Values], g: &[f64], curvature: &Curvature<S>) {
        let divergence = total(values.iter().map(|v| v.exact));
        let gap_h = total(values.iter().map(|v| v.gap));
        self.rose = !(divergence <= self.known.divergence && gap_h.is_finite());
        if self.rose {
            copy(&factors.h, &mut self.now.h);
            copy(&self.em, &mut self.now.wt);
            return;
        }
        copy(&self.now.h, &mut factors.h);
        copy(&self.now.wt, &mut factors.wt);
        let (r, held, sums, b) = (self.now.h.rows(), self.held, self.rows, self.now.h.row_sums());
        let (wt, moves, shape) = (&factors.wt, self.update.moves(Side::W), curvature.shape);
        let (mut gaps, cost) = (vec![0.0; sums.len()], Cost { c: &b, stride: 0, ridge: 0.0, held, r });
        let next = (self.now.wt.as_mut_slice(), r);
        self.pool.panels(PIECE, (&mut gaps, 1), next, |first, gaps, next| {
            let mut x = vec![0.0; r];
            for ((i, gap), next) in (first..).zip(gaps).zip(next.chunks_mut(r)) {
                let (g, q) = (&g[i * r..][..r], &curvature.rows[i * shape.numbers()..]);
                kernel::convert(wt.col(i), &mut x);
                *gap = cost.gap(0, sums[i], 1.0, &x, g);
                if moves {
                    shape.step(q, next, g, &b, held);
                }
            }
        });
        if moves {
            copy(wt, &mut self.em);
            let all = self.em.as_mut_slice().chunks_mut(r).zip(g.chunks(r));
            for ((w, g), b) in all.flat_map(|(w, g)| w.iter_mut().zip(g).zip(&b).skip(held)) {
                let new = S::from_f64(w.to_f64() * (g / b));
                *w = if new.is_finite() { new } else { *w };
            }
        }
        let gap_w = total(gaps.iter().copied()).min(divergence);
        self.known = Certificate { divergence, gap_w, gap_h };
    }
}

/// The parts of the dictionary that the steps on H need.
fn parts<S: Scalar>() -> DictionaryParts {
    HalfStep::<S>::parts(&Newton)
}

/// Some columns in pieces of at most `width`.
fn pieces(cols: Range<usize>, width: usize) -> Vec<Range<usize>> {
    let end = cols.end;
    cols.step_by(width).map(|first| first..(first + width).min(end)).collect()
}

fn copy<S: Scalar>(from: &Mat<S>, to: &mut Mat<S>) {
    to.as_mut_slice().copy_from_slice(from.as_slice());
}

impl<S: Scalar> Method<Mat<S>> for Stream<'_, S> {
    fn advance(&mut self, factors: &mut Pair<S>, steps: usize) {
        for _ in 0..steps {
            if self.passes < ONLINE {
                self.online_pass();
            } else {
                self.fixed_pass(factors);
            }
            self.passes += 1;
        }
    }

    fn latest(&self, _: f64) -> Option<Pair<S>> {
        // Before the first pass, they are the start in another scale.
        (self.passes > 0).then(|| self.now.clone())
    }

    fn certificate(&self) -> Option<Certificate> {
        Some(self.known)
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        store.count("passes", &mut self.passes)?;
        store.flag("rose", &mut self.rose)?;
        store.number("divergence", &mut self.known.divergence)?;
        store.number("gap_w", &mut self.known.gap_w)?;
        store.number("gap_h", &mut self.known.gap_h)?;
        self.now.carry("next.", store)?;
        store.array("em", &mut self.em)
    }
}
