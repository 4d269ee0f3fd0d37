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
use crate::{Error, Mat, Result, Scalar};

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
    if v.rows() == 0 || v.cols() == 0 {
        return Err(Error::Empty { rows: v.rows(), cols: v.cols() });
    }
    if w.rows() != v.rows() || h.cols() != v.cols() || w.cols() != h.rows() || w.cols() == 0 {
        let hint = if h.rows() == v.rows() && w.cols() == v.cols() {
            "; they seem to be swapped, W comes first"
        } else if w.rows() == v.cols() && h.cols() == v.rows() {
            "; they fit the transpose of V"
        } else {
            ""
        };
        return Err(Error::Shape(format!(
            "V is {} × {}, so W must be {} × r and H r × {} with r ≥ 1; W is {} × {} and H is {} × {}{hint}",
            v.rows(),
            v.cols(),
            v.rows(),
            v.cols(),
            w.rows(),
            w.cols(),
            h.rows(),
            h.cols()
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
            let (row, col) = (at % m.rows(), at / m.rows());
            Err(Error::BadFactor { name, row, col, value: m.as_slice()[at].to_f64() })
        }
    }
}

/// Divergence and gap of one column.
#[derive(Clone, Copy, Default)]
struct ColumnValue {
    divergence: f64,
    gap: f64,
}

/// Evaluates certificates again and again for one V: its workspace is made once.
pub struct Certifier<'a> {
    /// For H and for W.
    halves: [HalfProblem<'a, f64>; 2],
    values: [Vec<ColumnValue>; 2],
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
        let halves = [half(0, 0), half(1, held)];
        let values = [&halves[0], &halves[1]].map(|half| vec![ColumnValue::default(); half.data.shape().1]);
        Self { halves, values, epsilon }
    }

    /// `duals`: dual values that somebody knows, column by column of one side; a gap is never larger than they show.
    pub fn certify<T: Scalar>(
        &mut self,
        wt: &Mat<T>,
        h: &Mat<T>,
        duals: Option<(Side, &[f64])>,
    ) -> Certificate {
        let measure = Measure::Divergence { epsilon: self.epsilon };
        let of = |wanted: Side| duals.filter(|(side, _)| *side == wanted).map(|(_, duals)| duals);
        let (divergence, gap_h) = self.evaluate(0, wt, h, measure, of(Side::H));
        let measure = if of(Side::W).is_some() { measure } else { Measure::GapOnly };
        let (_, gap_w) = self.evaluate(1, h, wt, measure, of(Side::W));
        // The rows' own divergences are not known, their sum is.
        let gap_w = if gap_h.is_finite() { gap_w.min(divergence) } else { f64::INFINITY };
        Certificate { divergence, gap_w, gap_h }
    }

    /// The sums over the columns of divergence and gap.
    fn evaluate<T: Scalar>(
        &mut self,
        side: usize,
        kt: &Mat<T>,
        x: &Mat<T>,
        measure: Measure,
        duals: Option<&[f64]>,
    ) -> (f64, f64) {
        let (half, values) = (&mut self.halves[side], &mut self.values[side]);
        half.set(kt);
        let mut units = vec![(); values.len()];
        half.for_each((values, 1), (&mut units, 1), |b, values, _, work| {
            let x = &x.as_slice()[b.first * b.r..][..b.q * b.r];
            work.x.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_f64());
            evaluate(b, values, work, measure);
        });
        let values = &mut self.values[side];
        let known =
            values.iter_mut().zip(duals.unwrap_or_default()).filter(|(value, _)| value.gap.is_finite());
        for (value, dual) in known {
            value.gap = value.gap.min(non_negative(value.divergence - dual));
        }
        (total(values.iter().map(|v| v.divergence)), total(values.iter().map(|v| v.gap)))
    }
}

/// What a pass for a certificate measures besides the gap.
#[derive(Clone, Copy, PartialEq)]
enum Measure {
    GapOnly,
    /// With ε added inside the logarithm.
    Divergence {
        epsilon: f64,
    },
}

/// Divergence and gap of the columns of a block, whose weights are in `work.x`.
fn evaluate(b: &Block<'_, f64>, values: &mut [ColumnValue], work: &mut Work<f64>, measure: Measure) {
    let Work { tile, evidence, x, z, .. } = work;
    let x = &x[..b.q * b.r];
    match measure {
        Measure::Divergence { epsilon } if epsilon > 0.0 => {
            let keep = Keep { z: &mut z[..], p: b.p, height: b.p };
            let mut map = KeepAndMeasure { keep, logs: LogSums::new(b.a, b.a, b.q) };
            b.pass(x, Some(&mut evidence.g), tile, &mut map);
            for c in 0..b.q {
                let column = c * b.p..(c + 1) * b.p;
                evidence.logs[c] = kernel::log_sum(&b.a[column.clone()], &z[column], epsilon);
            }
        }
        _ => b.evidence(x, measure != Measure::GapOnly, tile, evidence),
    }
    for (c, (value, x)) in values.iter_mut().zip(x.chunks(b.r)).enumerate() {
        let g = &evidence.g[c * b.r..][..b.r];
        let divergence = match measure {
            Measure::GapOnly => f64::INFINITY,
            _ => non_negative(b.value(c, evidence.logs[c], x)),
        };
        let gap = b.cost.gap(c, b.sums[c], 1.0, x, g);
        // Where g is no number nothing is known, not even that the divergence bounds the gap.
        let known = g.iter().all(|g| g.is_finite());
        *value = ColumnValue { divergence, gap: if known { gap.min(divergence) } else { f64::INFINITY } };
    }
}

/// The first entry of V, in column order, that is positive where the model is zero.
pub fn first_infinite<T: Scalar>(v: Matrix<'_, T>, wt: &Mat<T>, h: &Mat<T>) -> Option<Error> {
    for col in 0..v.cols() {
        for (at, value) in v.column_values(col).iter().enumerate().filter(|(_, v)| **v > T::ZERO) {
            let row = v.row_of(col, at);
            if kernel::dot(wt.col(row), h.col(col)) <= 0.0 {
                return Some(Error::InfiniteStart { row, col, value: value.to_f64() });
            }
        }
    }
    None
}
