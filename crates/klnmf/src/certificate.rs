//! Certificates: the divergence of given factors, and bounds on its decrease by changing one factor alone.
//!
//! With W fixed, every column of H is a convex problem; with H fixed, every row of W is.
//! [`cost`](crate::cost) derives the gap of such a problem. The sums of these gaps bound what H alone and W
//! alone could gain. All computations here are in f64, whatever the precision of the data, and overflow is
//! reported as infinity. Dantas, Soubies & Févotte (2021) derive gaps for this divergence, and use them to
//! discard weights that must be zero.

use crate::block::{Block, Blocks, DictionaryParts, HalfProblem, Layout, Terms, Work};
use crate::cost::non_negative;
use crate::kernel::{self, Keep, LogSums};
use crate::matrix::Matrix;
use crate::parallel::{Pool, total};
use crate::problem::Problem;
use crate::solver::Side;
use crate::{Entry, Error, Mat, Result, Scalar};

/// The certificate of a factorisation V ≈ WH.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// D(V‖WH).
    pub divergence: f64,
    /// No change of W alone can decrease the divergence by more than this.
    pub gap_w: f64,
    /// No change of H alone can decrease the divergence by more than this.
    pub gap_h: f64,
}

impl Certificate {
    /// The certificate from sums over the columns, and from the sum of the gaps of the rows.
    pub(crate) fn of(divergence: f64, exact: f64, gap_h: f64, by_rows: f64) -> Self {
        // No divergence is negative, so `exact` bounds gap_w. The same bound row by row needs the divergence
        // of each row, which is computed only for a given dual point.
        let gap_w = if gap_h.is_finite() { by_rows.min(exact) } else { f64::INFINITY };
        Self { divergence, gap_w, gap_h }
    }
}

/// Certifies given factors: W is n × r, H is r × m, V is n × m. `threads`: 0 for one per core.
///
/// ```
/// use klnmf::{certificate, Mat};
/// let (w, h) = (Mat::from_rows(&[&[1.0], &[2.0]]), Mat::from_rows(&[&[3.0, 4.0]]));
/// let v = Mat::from_rows(&[&[3.0, 4.0], &[6.0, 8.0]]);
/// let exact = certificate(&v, &w, &h, 0)?;
/// assert!(exact.divergence.abs() < 1e-12 && exact.gap_w < 1e-12 && exact.gap_h < 1e-12);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn certificate<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: &Mat<T>,
    h: &Mat<T>,
    threads: usize,
) -> Result<Certificate> {
    Problem::new(v, threads)?.certificate(w, h)
}

/// Checks that W and H fit V and each other, and are finite and non-negative.
pub fn check_factors<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, w: &Mat<T>, h: &Mat<T>) -> Result<()> {
    let v = v.into();
    v.check_not_empty()?;
    check_factors_of((v.rows(), v.cols()), w, h)
}

/// [`check_factors`] for a V of n rows and m columns.
pub(crate) fn check_factors_of<T: Scalar>((n, m): (usize, usize), w: &Mat<T>, h: &Mat<T>) -> Result<()> {
    let ((w_rows, w_cols), (h_rows, h_cols)) = ((w.rows(), w.cols()), (h.rows(), h.cols()));
    if w_rows != n || h_cols != m || w_cols != h_rows || w_cols == 0 {
        let hint = if h_rows == n && w_cols == m {
            "; they seem to be swapped, W comes first"
        } else if w_rows == m && h_cols == n {
            "; they fit the transpose of V"
        } else {
            ""
        };
        return Err(Error::Shape(format!(
            "V is {n} × {m}, so W must be {n} × r and H r × {m} with r ≥ 1; \
             W is {w_rows} × {w_cols} and H is {h_rows} × {h_cols}{hint}"
        )));
    }
    check_factor("W", w, &w.col_sums())?;
    check_factor("H", h, &h.row_sums())
}

/// Checks that a factor and the sums of its parts are finite and non-negative.
pub(crate) fn check_factor<T: Scalar>(name: &'static str, m: &Mat<T>, sums: &[f64]) -> Result<()> {
    match m.as_slice().iter().position(|x| !(x.is_finite() && *x >= T::ZERO)) {
        None if sums.iter().all(|sum| sum.is_finite()) => Ok(()),
        None => Err(Error::FactorOverflow(name)),
        Some(at) => {
            let value = m.as_slice()[at].to_f64();
            Err(Error::BadFactor { name, entry: Entry { row: at % m.rows(), col: at / m.rows(), value } })
        }
    }
}

/// Computes certificates repeatedly for one V, with one workspace.
pub struct Certifier<'a> {
    /// The halves for H and for W.
    halves: [HalfProblem<'a, f64>; 2],
    /// The number added inside the logarithm: 0, except for the authors' own objective.
    epsilon: f64,
}

impl<'a> Certifier<'a> {
    /// Creates the workspace for rank r, with the first `held` columns of W fixed.
    pub fn new<T: Scalar>(problem: &'a Problem<'_, T>, r: usize, epsilon: f64, held: usize) -> Self {
        let parts = DictionaryParts { arrays: epsilon > 0.0, ..DictionaryParts::default() };
        let half = |side, held| {
            let (data, terms) = (problem.blocks(side), Terms { held, ..Terms::default() });
            HalfProblem::new(data, &problem.pool, r, parts, terms)
        };
        Self { halves: [half(Side::H, 0), half(Side::W, held)], epsilon }
    }

    /// Certifies the factors. `dual`: a dual point χ < 0 for the moving factor, if the method carries one.
    /// The gap is then the smaller of the two, and the value of the point is returned.
    pub fn certify<T: Scalar>(
        &mut self,
        wt: &Mat<T>,
        h: &Mat<T>,
        dual: Option<(Side, &Mat<T>)>,
    ) -> (Certificate, Option<f64>) {
        let [for_h, for_w] = &mut self.halves;
        let of = |wanted: Side| dual.filter(|(side, _)| *side == wanted).map(|(_, chi)| chi);
        let by_columns = evaluate(for_h, wt, h, Some(self.epsilon), of(Side::H));
        let measured = of(Side::W).map(|_| self.epsilon);
        let by_rows = evaluate(for_w, h, wt, measured, of(Side::W));
        let Values { divergence, exact, gap, .. } = by_columns;
        let certificate = Certificate::of(divergence, exact, gap, by_rows.gap);
        let value = dual.map(|(side, _)| if side == Side::H { by_columns.dual } else { by_rows.dual });
        (certificate, value)
    }
}

/// The values of one column, or their sums.
#[derive(Clone, Copy, Default)]
pub struct Values {
    /// The reported divergence, with ε inside the logarithm.
    pub divergence: f64,
    /// The divergence without ε, to which the bounds refer.
    pub exact: f64,
    pub gap: f64,
    /// The value of the given dual point, scaled to be feasible.
    dual: f64,
}

/// Sums the values over the columns. `epsilon` is added inside the logarithm of the divergence. Without it
/// the divergence is not computed, and infinite.
fn evaluate<T: Scalar>(
    half: &mut HalfProblem<'_, f64>,
    kt: &Mat<T>,
    x: &Mat<T>,
    epsilon: Option<f64>,
    chi: Option<&Mat<T>>,
) -> Values {
    half.set(kt);
    let values = values(half, x.as_slice(), epsilon, chi);
    let sum = |of: fn(&Values) -> f64| total(values.iter().map(of));
    Values {
        divergence: sum(|v| v.divergence),
        exact: sum(|v| v.exact),
        gap: sum(|v| v.gap),
        dual: sum(|v| v.dual),
    }
}

/// The values of every column at the weights x, for a dictionary that is set.
pub fn values<T: Scalar>(
    half: &HalfProblem<'_, f64>,
    x: &[T],
    epsilon: Option<f64>,
    chi: Option<&Mat<T>>,
) -> Vec<Values> {
    let columns = half.data.shape().1;
    let (mut values, mut units) = (vec![Values::default(); columns], vec![(); columns]);
    // The authors' objective keeps z, one column at a time.
    let layout = if epsilon > Some(0.0) { Layout::Gathered(1) } else { Layout::InPlace };
    let of_block = |blocks: &[Block<'_, f64>], values: &mut [Values], _: &mut [()], work: &mut Work<f64>| {
        let b = &blocks[0];
        kernel::convert(&x[b.first * b.r..][..b.q * b.r], &mut work.x);
        if let Some(chi) = chi {
            own_dual(b, &chi.as_slice()[b.first * b.p..][..b.q * b.p], values, work);
        }
        pass(b, values, work, epsilon);
        let columns = work.x.chunks(b.r).zip(work.evidence.g.chunks(b.r)).zip(values).enumerate();
        for (c, ((x, g), value)) in columns.take(b.q) {
            let dual = if chi.is_some() { value.dual } else { f64::NEG_INFINITY };
            let bound = value.exact.min(non_negative(value.exact - dual));
            // If g is NaN or infinite, not even the divergence bounds the gap.
            let known = g.iter().all(|g| g.is_finite());
            let gap = b.cost.gap(c, b.sums[c], 1.0, x, g).min(bound);
            value.gap = if known { gap } else { f64::INFINITY };
        }
    };
    half.for_each_group((&mut values, 1), (&mut units, 1), layout, of_block, |_| ());
    values
}

/// The value of the dual point χ for the columns of a block, at the weights `work.x`.
fn own_dual<T: Scalar>(b: &Block<'_, f64>, chi: &[T], values: &mut [Values], work: &mut Work<f64>) {
    let Work { tile, evidence, x, z, .. } = work;
    let theta = &mut z[..chi.len()];
    theta.iter_mut().zip(chi).for_each(|(theta, chi)| *theta = -chi.to_f64());
    b.back(theta, &mut evidence.g, tile);
    let columns = values.iter_mut().zip(evidence.g.chunks(b.r)).zip(x.chunks(b.r)).enumerate();
    for (c, ((value, g), x)) in columns {
        let column = c * b.p..(c + 1) * b.p;
        let terms = b.a[column.clone()].iter().zip(&theta[column]).filter(|(a, _)| **a > 0.0);
        let logs = terms.map(|(a, theta)| a * theta.ln()).sum();
        // In an empty column the best weights and the divergence are zero.
        value.dual = if b.sums[c] > 0.0 { b.cost.dual(c, b.sums[c], x, logs, g) } else { 0.0 };
    }
}

/// g of the columns of a block at the weights `work.x`, and their divergences with and without ε.
fn pass(b: &Block<'_, f64>, values: &mut [Values], work: &mut Work<f64>, epsilon: Option<f64>) {
    let Work { tile, evidence, x, z, .. } = work;
    let inside = epsilon.unwrap_or(0.0);
    if inside > 0.0 {
        let mut map = (Keep { z: &mut z[..], p: b.p, height: b.p }, LogSums::certifying(b.a, b.q));
        b.pass(x, Some(&mut evidence.g), tile, &mut map);
        (0..b.q).for_each(|c| evidence.logs[c] = map.1.sum(c));
    } else if epsilon.is_some() {
        b.measure(x, true, tile, evidence);
    } else {
        b.evidence(x, false, tile, evidence);
    }
    for (c, (value, x)) in values.iter_mut().zip(x.chunks(b.r)).enumerate() {
        let of = |logs: f64| non_negative(b.value(c, logs, x));
        value.exact = if epsilon.is_some() { of(evidence.logs[c]) } else { f64::INFINITY };
        value.divergence = value.exact;
        if inside > 0.0 {
            let column = c * b.p..(c + 1) * b.p;
            value.divergence = of(kernel::log_sum(&b.a[column.clone()], &z[column], inside));
        }
    }
}

/// The first entry of V, in column order, that is positive where the model is zero.
pub fn first_infinite<T: Scalar>(
    data: &dyn Blocks<f64>,
    pool: &Pool,
    wt: &Mat<T>,
    h: &Mat<T>,
) -> Option<Entry> {
    first_positive(data, pool, |row, col| kernel::dot(wt.col(row), h.col(col)) <= 0.0).next()
}

/// The first positive entry of each column of V at a row and a column for which `at` holds.
pub fn first_positive(
    data: &dyn Blocks<f64>,
    pool: &Pool,
    at: impl Fn(usize, usize) -> bool + Sync,
) -> impl Iterator<Item = Entry> {
    let half = HalfProblem::new(data, pool, 1, DictionaryParts::default(), Terms::default());
    let columns = data.shape().1;
    let (mut firsts, mut units) = (vec![None; columns], vec![(); columns]);
    half.for_each((&mut firsts, 1), (&mut units, 1), |b, firsts, _, _| {
        for (c, first) in firsts.iter_mut().enumerate() {
            *first = b.entries(c).find(|(row, a)| *a > 0.0 && at(*row, b.first + c));
        }
    });
    let entries = firsts.into_iter().enumerate();
    entries.filter_map(|(col, first)| first.map(|(row, value)| Entry { row, col, value }))
}
