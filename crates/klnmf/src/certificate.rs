//! Certificates: the divergence of given factors, and how much it could still fall by changing one of them
//! alone.
//!
//! With W fixed every column of H is a convex problem, whose gap [`cost`](crate::cost) derives; likewise
//! every row of W with H fixed. The sums of these gaps bound what H alone and W alone could gain. Everything
//! here is computed in f64, whatever the precision of the data. What overflows is reported as infinite.

use crate::block::{Block, DictionaryParts, HalfProblem, Terms, Work};
use crate::cost::non_negative;
use crate::kernel::{self, Keep, KeepAndMeasure, LogSums};
use crate::matrix::Matrix;
use crate::parallel::total;
use crate::problem::Problem;
use crate::solver::Side;
use crate::{Entry, Error, Mat, Result, Scalar};

/// What is known of a factorisation V ≈ WH.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// D(V‖WH).
    pub divergence: f64,
    /// No change of W alone can lower the divergence by more than this.
    pub gap_w: f64,
    /// No change of H alone can lower the divergence by more than this.
    pub gap_h: f64,
}

/// The certificate of given factors: W is n × r, H is r × m, V is n × m. `threads`: 0 for one per core.
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

/// Checks that W and H fit V and each other and are finite and non-negative.
pub fn check_factors<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, w: &Mat<T>, h: &Mat<T>) -> Result<()> {
    let v = v.into();
    v.check_not_empty()?;
    let ((n, m), (w_rows, w_cols), (h_rows, h_cols)) =
        ((v.rows(), v.cols()), (w.rows(), w.cols()), (h.rows(), h.cols()));
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

/// Checks that a factor is finite and non-negative, and so are the sums of its parts.
pub(crate) fn check_factor<T: Scalar>(name: &'static str, m: &Mat<T>, sums: &[f64]) -> Result<()> {
    match m.as_slice().iter().position(|x| !(x.is_finite() && *x >= T::ZERO)) {
        None if sums.iter().all(|sum| sum.is_finite()) => Ok(()),
        None => Err(Error::FactorOverflow { name }),
        Some(at) => {
            let value = m.as_slice()[at].to_f64();
            Err(Error::BadFactor { name, entry: Entry { row: at % m.rows(), col: at / m.rows(), value } })
        }
    }
}

/// Evaluates certificates again and again for one V: its workspace is made once.
pub struct Certifier<'a> {
    /// For H and for W.
    halves: [HalfProblem<'a, f64>; 2],
    /// What is added inside the logarithm: 0, but for the authors' own objective.
    epsilon: f64,
}

impl<'a> Certifier<'a> {
    /// For rank r, where the first `held` columns of W do not move.
    pub fn new<T: Scalar>(problem: &'a Problem<'_, T>, r: usize, epsilon: f64, held: usize) -> Self {
        let parts = DictionaryParts { arrays: epsilon > 0.0, ..DictionaryParts::default() };
        let half = |side: usize, held| {
            let data = problem.halves[side].blocks::<f64>();
            HalfProblem::new(data, &problem.pool, r, parts, Terms { held, ..Terms::default() })
        };
        Self { halves: [half(0, 0), half(1, held)], epsilon }
    }

    /// `duals`: dual values that somebody knows, column by column of one side; a gap is never larger than they
    /// show.
    pub fn certify<T: Scalar>(
        &mut self,
        wt: &Mat<T>,
        h: &Mat<T>,
        duals: Option<(Side, &[f64])>,
    ) -> Certificate {
        let ([for_h, for_w], epsilon) = (&mut self.halves, Some(self.epsilon));
        let of = |wanted: Side| duals.filter(|(side, _)| *side == wanted).map(|(_, duals)| duals);
        let (divergence, gap_h) = evaluate(for_h, wt, h, epsilon, of(Side::H));
        let (_, gap_w) = evaluate(for_w, h, wt, epsilon.filter(|_| of(Side::W).is_some()), of(Side::W));
        // The rows' own divergences are not known, their sum is.
        let gap_w = if gap_h.is_finite() { gap_w.min(divergence) } else { f64::INFINITY };
        Certificate { divergence, gap_w, gap_h }
    }
}

/// The sums over the columns of divergence and gap. `epsilon` is added inside the logarithm of the divergence;
/// without it that is not measured, and infinite.
fn evaluate<T: Scalar>(
    half: &mut HalfProblem<'_, f64>,
    kt: &Mat<T>,
    x: &Mat<T>,
    epsilon: Option<f64>,
    duals: Option<&[f64]>,
) -> (f64, f64) {
    half.set(kt);
    let (mut divergences, mut gaps) = (vec![f64::INFINITY; x.cols()], vec![0.0; x.cols()]);
    half.for_each((&mut divergences, 1), (&mut gaps, 1), |b, divergences, gaps, work| {
        kernel::convert(&x.as_slice()[b.first * b.r..][..b.q * b.r], &mut work.x);
        pass(b, work, epsilon);
        let columns = work.x.chunks(b.r).zip(work.evidence.g.chunks(b.r)).enumerate();
        for (c, (x, g)) in columns.take(b.q) {
            if epsilon.is_some() {
                divergences[c] = non_negative(b.value(c, work.evidence.logs[c], x));
            }
            let dual = duals.map_or(f64::NEG_INFINITY, |duals| duals[b.first + c]);
            let bound = divergences[c].min(non_negative(divergences[c] - dual));
            // Where g is no number nothing is known, not even that the divergence bounds the gap.
            let known = g.iter().all(|g| g.is_finite());
            let gap = b.cost.gap(c, b.sums[c], 1.0, x, g).min(bound);
            gaps[c] = if known { gap } else { f64::INFINITY };
        }
    });
    (total(divergences.into_iter()), total(gaps.into_iter()))
}

/// What the columns of a block say at the weights `work.x`.
fn pass(b: &Block<'_, f64>, work: &mut Work<f64>, epsilon: Option<f64>) {
    let Work { tile, evidence, x, z, .. } = work;
    let Some(epsilon) = epsilon.filter(|epsilon| *epsilon > 0.0) else {
        return b.evidence(x, epsilon.is_some(), tile, evidence);
    };
    let keep = Keep { z: &mut z[..], p: b.p, height: b.p };
    let mut map = KeepAndMeasure { keep, logs: LogSums::new(b.a, b.a, b.q) };
    b.pass(x, Some(&mut evidence.g), tile, &mut map);
    for c in 0..b.q {
        let column = c * b.p..(c + 1) * b.p;
        evidence.logs[c] = kernel::log_sum(&b.a[column.clone()], &z[column], epsilon);
    }
}

/// The first entry of V, in column order, that is positive where the model is zero.
pub fn first_infinite<T: Scalar>(v: Matrix<'_, T>, wt: &Mat<T>, h: &Mat<T>) -> Option<Error> {
    for col in 0..v.cols() {
        for (row, value) in v.line(col).entries().filter(|(_, v)| *v > T::ZERO) {
            if kernel::dot(wt.col(row), h.col(col)) <= 0.0 {
                return Some(Error::InfiniteStart(Entry { row, col, value: value.to_f64() }));
            }
        }
    }
    None
}
