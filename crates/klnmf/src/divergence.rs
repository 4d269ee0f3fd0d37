//! The divergence, its dual and the gap between them: one page of mathematics.
//!
//! For one column a of V with dictionary K (p × r) and weights x ≥ 0,
//!
//! P(x) = Σ_i [ a_i log(a_i/(Kx)_i) − a_i + (Kx)_i ],  0·log 0 = 0.
//!
//! The dual problem is to maximise Σ_S a_i log(−y_i) over y < 0 on the support S = {a > 0} with K_Sᵀ(−y) ≤ Kᵀ1. Any y < 0
//! becomes feasible when divided by s = max_k (K_Sᵀ(−y))_k/(Kᵀ1)_k. With y = −a/(Kx) the bound is in closed form, for
//! *any* x with Kx > 0 on S, from any solver:
//!
//! gap(x) = Σ(Kx) − Σa + Σa·log s,  s = max_k ρ_k,  ρ = Kᵀ(a/Kx)/Kᵀ1,
//!
//! and ρ is the factor of the multiplicative update: a certificate costs one such pass. The point y = −1 is feasible
//! too and bounds the gap by P(x) itself; the smaller one counts. gap(x) ≥ P(x) − min P always, up to the rounding of the
//! sums, some 1e-14·Σa.
//!
//! If some weights f are fixed, s is the maximum over the others, and since z(1 − θ) ≥ (K_f x_f)(1 − θ) for the feasible θ = −y/s,
//! the gap is Σ(Kx) − Σa + Σa·log s − Σ_f x_k((Kᵀ1)_k − g_k/s) with g = Kᵀ(a/Kx).
//!
//! Everything here is computed in double precision, whatever the precision of the data. What overflows
//! is reported as infinite.

use crate::block::{Block, Dictionary, Half, Scratch, Wants, Work};
use crate::map::{Logs, Ratio};
use crate::matrix::Matrix;
use crate::parallel::{PerThread, Pool};
use crate::{Error, Mat, Result, Scalar, kernel};

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

/// The certificate of given factors: W is n × r, H is r × m, V is n × m.
///
/// ```
/// use klnmf::{certificate, Mat};
/// let (w, h) = (Mat::from_rows(&[&[1.0], &[2.0]]), Mat::from_rows(&[&[3.0, 4.0]]));
/// let v = Mat::from_rows(&[&[3.0, 4.0], &[6.0, 8.0]]);
/// let exact = certificate(&v, &w, &h)?;
/// assert!(exact.divergence.abs() < 1e-12 && exact.gap_w < 1e-12 && exact.gap_h < 1e-12);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn certificate<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: &Mat<T>,
    h: &Mat<T>,
) -> Result<Certificate> {
    T::certificate(v.into(), w, h)
}

/// [`certificate`], to be compiled once.
pub(crate) fn run<T: Scalar>(v: Matrix<'_, T>, w: &Mat<T>, h: &Mat<T>) -> Result<Certificate> {
    check_factors(v, w, h)?;
    v.check()?;
    let pool = Pool::new(0)?;
    let halves = [Half::new(v)?, Half::new(v.transpose())?];
    Ok(Certifier::new(&pool, &halves, h.rows(), 0.0).certify(&w.transpose(), h))
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
    check_factor("W", w)?;
    check_factor("H", h)
}

/// Checks that a factor is finite and non-negative.
pub(crate) fn check_factor<T: Scalar>(name: &'static str, m: &Mat<T>) -> Result<()> {
    match m.as_slice().iter().position(|x| !(x.is_finite() && *x >= T::ZERO)) {
        None => Ok(()),
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
pub(crate) struct Certifier<'a, 'v, T> {
    pool: &'a Pool,
    sides: [CertifierSide<'a, 'v, T>; 2],
    /// Added inside the logarithm: 0, but for the authors' own objective.
    epsilon: f64,
    /// Columns of W that do not move.
    fixed: usize,
}

struct CertifierSide<'a, 'v, T> {
    half: &'a Half<'v, T>,
    dictionary: Dictionary<f64>,
    scratch: PerThread<Scratch<f64>>,
    values: Vec<ColumnValue>,
}

impl<'a, 'v, T: Scalar> Certifier<'a, 'v, T> {
    /// `halves` are V and Vᵀ.
    pub fn new(pool: &'a Pool, halves: &'a [Half<'v, T>; 2], r: usize, epsilon: f64) -> Self {
        let side = |half: &'a Half<'v, T>| CertifierSide {
            half,
            dictionary: Dictionary::new(half, r, Wants::default()),
            scratch: half.scratch(pool, r),
            values: vec![ColumnValue::default(); half.view().cols()],
        };
        Self { pool, sides: [side(&halves[0]), side(&halves[1])], epsilon, fixed: 0 }
    }

    /// The same, where the first columns of W do not move.
    pub fn with_fixed(self, fixed: usize) -> Self {
        Self { fixed, ..self }
    }

    pub fn certify(&mut self, wt: &Mat<T>, h: &Mat<T>) -> Certificate {
        let [h_side, w_side] = &mut self.sides;
        let (divergence, gap_h) = h_side.evaluate(self.pool, wt, h, Some(self.epsilon), 0);
        let (_, gap_w) = w_side.evaluate(self.pool, h, wt, None, self.fixed);
        // The rows' own divergences are not known, their sum is.
        let gap_w = if gap_h.is_finite() { gap_w.min(divergence) } else { f64::INFINITY };
        Certificate { divergence, gap_w, gap_h }
    }

    /// The first entry of V, in column order, that is positive where the model is zero.
    pub fn first_infinite(&self, wt: &Mat<T>, h: &Mat<T>) -> Option<Error> {
        let view = self.sides[0].half.view();
        for col in 0..view.cols() {
            for (at, value) in view.column_values(col).iter().enumerate().filter(|(_, v)| **v > T::ZERO) {
                let row = view.row_of(col, at);
                if kernel::dot(wt.col(row), h.col(col)) <= 0.0 {
                    return Some(Error::InfiniteStart { row, col, value: value.to_f64() });
                }
            }
        }
        None
    }
}

impl<T: Scalar> CertifierSide<'_, '_, T> {
    /// The sums over the columns of divergence (if asked for, with its ε) and gap, in column order.
    fn evaluate(
        &mut self,
        pool: &Pool,
        kt: &Mat<T>,
        x: &Mat<T>,
        epsilon: Option<f64>,
        fixed: usize,
    ) -> (f64, f64) {
        self.dictionary.set(pool, kt);
        let mut units = vec![(); self.values.len()];
        self.half.for_each_block(
            pool,
            &self.scratch,
            &self.dictionary,
            (&mut self.values, 1),
            (&mut units, 1),
            |b, values, _, work| {
                let x = &x.as_slice()[b.first * b.r..][..b.q * b.r];
                evaluate(b, x, values, work, epsilon, fixed);
            },
        );
        self.values.iter().fold((0.0, 0.0), |(d, g), v| (d + v.divergence, g + v.gap))
    }
}

fn evaluate<T: Scalar>(
    b: &Block<'_, f64>,
    x: &[T],
    values: &mut [ColumnValue],
    work: &mut Work<f64>,
    epsilon: Option<f64>,
    fixed: usize,
) {
    let Work { tile, small: [x64, g, ..], .. } = work;
    let x64 = &mut x64[..x.len()];
    x64.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_f64());
    for (c, value) in values.iter_mut().enumerate() {
        let total = b.total(&x64[c * b.r..][..b.r]);
        *value = ColumnValue { divergence: total, gap: total - b.sums[c] };
    }
    match epsilon {
        None => b.pass_map(x64, Some(g), tile, &mut Ratio::new(b.a)),
        Some(0.0) => {
            let mut logs = Logs::new(b.a, b.a);
            b.pass_map(x64, Some(g), tile, &mut logs);
            for (c, value) in values.iter_mut().enumerate() {
                value.divergence += logs.sum(c) - b.sums[c];
            }
        }
        Some(epsilon) => b.pass(Some(x64), Some(g), tile, |rows, z| {
            for (c, z) in z.chunks(rows.len()).enumerate() {
                let (terms, on_support) = kernel::divergence_terms(&b.a[b.part(c, &rows)], z, epsilon);
                // Rows off the support count Kx alone: the total less what lies on the support.
                values[c].divergence += terms - on_support;
            }
            b.ratio(&rows, z);
        }),
    }
    for (c, value) in values.iter_mut().enumerate() {
        let g = &g[c * b.r..][..b.r];
        if b.sums[c] > 0.0 {
            let s = largest_ratio(g[fixed..].iter().copied(), &b.k_sum[fixed..]);
            if fixed == 0 {
                value.gap += b.sums[c] * s.ln();
            } else {
                let x = &x64[c * b.r..][..fixed];
                let (held, pull) = (kernel::dot(x, &b.k_sum[..fixed]), kernel::dot(x, &g[..fixed]));
                // Any s from there on will do; this one makes the bound the tightest.
                let s = s.max(pull / b.sums[c]);
                value.gap += b.sums[c] * s.ln() - held + pull / s;
            }
        }
        // A model that is zero where V is not, or that overflows, shows in g; nothing is known then.
        let known = g.iter().all(|g| g.is_finite());
        value.divergence = non_negative(value.divergence);
        let bound = if epsilon.is_some() { value.divergence } else { f64::INFINITY };
        value.gap = if known { non_negative(value.gap).min(bound) } else { f64::INFINITY };
    }
}

/// What is non-negative but for rounding, at zero if it is a hair below; infinite if it is not a number.
pub(crate) fn non_negative(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.max(0.0) }
}

/// s = max_k g_k/(Kᵀ1)_k over the atoms that are not zero, at least 0.
pub(crate) fn largest_ratio<T: Scalar>(g: impl Iterator<Item = T>, k_sum: &[T]) -> T {
    g.zip(k_sum).filter(|(_, k)| **k > T::ZERO).map(|(g, k)| g / *k).fold(T::ZERO, T::max)
}
