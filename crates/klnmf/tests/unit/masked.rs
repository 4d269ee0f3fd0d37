//! A storage for tests of the interface: dense columns with missing entries, that is, entry weights ω of 0
//! and 1. Every half-step must work with it unchanged, with one cost per column.
//!
//! α = ω∘a is V with zeros for missing entries, and c = Kᵀω replaces Kᵀ1.

use super::column_data::panel_width;
use super::{Block, Blocks, Dictionary, DictionaryParts, HalfProblem, Load, Nonzero, Storage, Terms};
use crate::cost::Cost;
use crate::parallel::Pool;
use crate::solver::method::{Column, HalfStep, half_step};
use crate::{DecomposeSettings, Mat, Problem, Scalar, Settings, Solver, decompose};
use std::ops::Range;

/// α and ω, and Σα of the columns.
pub struct Masked {
    alpha: Mat<f64>,
    omega: Mat<f64>,
    sums: Vec<f64>,
}

impl Masked {
    fn new(alpha: Mat<f64>, omega: Mat<f64>) -> Self {
        Self { sums: alpha.col_sums(), alpha, omega }
    }
}

impl<S: Scalar> Blocks<S> for Masked {
    fn shape(&self) -> (usize, usize) {
        (self.alpha.rows(), self.alpha.cols())
    }
    fn sums(&self) -> &[f64] {
        &self.sums
    }
    fn nonzero(&self) -> Nonzero {
        let positive = self.alpha.as_slice().iter().filter(|a| **a > 0.0);
        positive.fold(Nonzero::NONE, |all, a| all.and(Nonzero { count: 1, least: *a, most: *a }))
    }
    fn panel(&self, arrays: bool, threads: usize) -> usize {
        panel_width(self.alpha.rows(), self.alpha.cols(), arrays, threads)
    }
    fn most_rows(&self) -> usize {
        self.alpha.rows()
    }
    fn gathers(&self) -> bool {
        false
    }
    fn load(
        &self,
        cols: Range<usize>,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&Block<'_, S>),
    ) {
        let (p, q, r) = (self.alpha.rows(), cols.len(), dictionary.r);
        let here = cols.start * p..cols.end * p;
        let [alpha, omega] = [&self.alpha, &self.omega]
            .map(|m| m.as_slice()[here.clone()].iter().map(|x| S::from_f64(*x)).collect::<Vec<S>>());
        let block = dictionary.block(cols.start, &alpha, &self.sums[cols]);
        room.c.clear();
        room.c.resize(r * q, S::ZERO);
        let packed = block.packed.expect("a dictionary for dense columns is packed");
        packed.multiply_transposed(&(0..p), &omega, q, &mut room.c);
        f(&Block { cost: Cost { c: &room.c, stride: r, ..block.cost }, ..block });
    }
}

/// Every half-step finds the optimum of the observed rows only.
#[test]
fn missing_entries_do_not_count() {
    let (n, m, r) = (40, 30, 5);
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0;
    let w = Mat::from_fn(n, r, |i, k| number(i * 31 + k * 977) + 0.01);
    let seen = |i: usize, j: usize| !(i * 5 + j * 3).is_multiple_of(7);
    let v = Mat::from_fn(n, m, |i, j| (9.0 * number(i * 101 + j * 53)).floor());
    let alpha = Mat::from_fn(n, m, |i, j| if seen(i, j) { v[(i, j)] } else { 0.0 });
    let omega = Mat::from_fn(n, m, |i, j| f64::from(u8::from(seen(i, j))));
    let data = Masked::new(alpha, omega);
    let (pool, parts) = (Pool::new(2).unwrap(), DictionaryParts { shares: true, atoms: true, arrays: true });
    let mut half = HalfProblem::new(&data, &pool, r, parts, Terms::default());
    let settings = DecomposeSettings { tol: 1e-12, ..DecomposeSettings::default() };
    let want: f64 = (0..m)
        .map(|j| {
            let rows: Vec<usize> = (0..n).filter(|&i| seen(i, j)).collect();
            let v = Mat::from_fn(rows.len(), 1, |i, _| v[(rows[i], j)]);
            let w = Mat::from_fn(rows.len(), r, |i, k| w[(rows[i], k)]);
            decompose(&v, &w, &settings).unwrap().divergence()
        })
        .sum();
    for (name, count) in [("mu", 20_000), ("newton", 200), ("fpa", 3000), ("simplex", 3000)] {
        let step: &dyn HalfStep<f64> = crate::solver::half_step::<f64>(name).unwrap();
        let mut x = Mat::from_fn(r, m, |_, _| 1.0);
        let mut columns = vec![Column::default(); m];
        half_step::<f64>(&mut half, step, &w.transpose(), &mut x, &mut columns, count, false);
        let found = half_step(&mut half, step, &w.transpose(), &mut x, &mut columns, 1, true);
        assert!((found - want).abs() < 1e-6 * want, "{name}: {found} for {want}");
    }
}

/// A problem accepts such a storage, and every method for both factors works on it.
#[test]
fn factorisation_with_missing_entries() {
    let (n, m, r) = (30, 70, 3);
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0;
    let (w, h) = (
        Mat::from_fn(n, r, |i, k| number(i * 31 + k * 977)),
        Mat::from_fn(r, m, |k, j| 50.0 * number(j * 57 + k * 331)),
    );
    let model = |w: &Mat<f64>, h: &Mat<f64>, i, j| (0..r).map(|k| w[(i, k)] * h[(k, j)]).sum::<f64>();
    let seen = |i: usize, j: usize| !(i * 5 + j * 3).is_multiple_of(7);
    let alpha = Mat::from_fn(n, m, |i, j| if seen(i, j) { model(&w, &h, i, j) } else { 0.0 });
    let omega = Mat::from_fn(n, m, |i, j| f64::from(u8::from(seen(i, j))));
    let halves = [alpha.clone(), alpha.transpose()].into_iter().zip([omega.clone(), omega.transpose()]);
    let halves: Vec<Box<dyn Storage>> =
        halves.map(|(a, o)| Box::new(Masked::new(a, o)) as Box<dyn Storage>).collect();
    let problem = Problem::<f64>::of(Pool::new(2).unwrap(), halves.try_into().ok().unwrap()).unwrap();
    for solver in [Solver::Auto, Solver::Mu, Solver::Mue, Solver::Newton, Solver::Fpa, Solver::Simplex] {
        let settings = Settings { solver, max_iter: 2000, tol: 1e-9, ..Settings::default() };
        let found = problem.factorize(r, &settings).unwrap();
        let term = |i, j| {
            let (a, z): (f64, f64) = (alpha[(i, j)], model(&found.w, &found.h, i, j));
            if a > 0.0 { a * (a / z).ln() - a + z } else { z }
        };
        let of = |(i, j)| if seen(i, j) { term(i, j) } else { 0.0 };
        let places = || (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
        let divergence: f64 = places().map(of).sum();
        let info = &found.info;
        assert!((info.divergence - divergence).abs() < 1e-9 * info.sum, "{solver}: {info:?} {divergence}");
        // The observed entries have an exact factorisation. It determines the missing ones.
        assert!(divergence < 1e-6 * info.sum, "{solver}: {divergence}");
        let error =
            |(i, j): (usize, usize)| (model(&found.w, &found.h, i, j) / model(&w, &h, i, j)).ln().abs();
        let missing = places().filter(|&(i, j)| !seen(i, j));
        assert!(missing.map(error).fold(0.0, f64::max) < 1e-2, "{solver}");
    }
}
