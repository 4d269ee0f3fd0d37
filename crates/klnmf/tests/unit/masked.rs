//! A storage for tests of the interface: dense columns with missing entries, that is, entry weights ω of 0
//! and 1. Every half-step must work with it unchanged, with one cost per column.
//!
//! α = ω∘a is V with zeros for missing entries, and c = Kᵀω replaces Kᵀ1.

use super::column_data::panel_width;
use super::{Block, Blocks, Dictionary, DictionaryParts, HalfProblem, Load, Terms};
use crate::compiled::Compiled;
use crate::cost::Cost;
use crate::parallel::Pool;
use crate::solver::method::{Column, HalfStep, half_step};
use crate::{DecomposeSettings, Mat, Scalar, decompose};
use std::ops::Range;

/// α and ω, column after column, and Σα of the columns.
pub struct Masked<S> {
    pub rows: usize,
    pub alpha: Vec<S>,
    pub omega: Vec<S>,
    pub sums: Vec<f64>,
}

impl<S: Scalar> Blocks<S> for Masked<S> {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.sums.len())
    }
    fn sums(&self) -> &[f64] {
        &self.sums
    }
    fn panel(&self, arrays: bool, threads: usize) -> usize {
        panel_width(self.rows, self.sums.len(), arrays, threads)
    }
    fn most_rows(&self) -> usize {
        self.rows
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
        let (p, q, r) = (self.rows, cols.len(), dictionary.r);
        let here = cols.start * p..cols.end * p;
        let block = dictionary.block(cols.start, &self.alpha[here.clone()], &self.sums[cols]);
        room.c.clear();
        room.c.resize(r * q, S::ZERO);
        let packed = block.packed.expect("a dictionary for dense columns is packed");
        packed.multiply_transposed(&(0..p), &self.omega[here], q, &mut room.c);
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
    let data = Masked { rows: n, sums: alpha.col_sums(), alpha: alpha.into_vec(), omega: omega.into_vec() };
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
        let step: &dyn HalfStep<f64> = <f64 as Compiled>::half_step(name).unwrap();
        let mut x = Mat::from_fn(r, m, |_, _| 1.0);
        let mut columns = vec![Column::default(); m];
        half_step(&mut half, step, &w.transpose(), &mut x, &mut columns, count, false);
        let found = half_step(&mut half, step, &w.transpose(), &mut x, &mut columns, 1, true);
        assert!((found - want).abs() < 1e-6 * want, "{name}: {found} for {want}");
    }
}
