//! The convex problem: given V and a dictionary W, the weights H, each column with its own certificate.
//!
//! Most columns are settled by [sweeps](crate::sweeps) of block Newton steps and the rest by [Newton's method](crate::polish) on
//! the weights that are free. What is left goes to the [primal-dual algorithm](crate::primal_dual), which converges whatever
//! the data.

use crate::block::{Block, Dictionary, Half, MOST_BLOCKS, Wants, Work, take};
use crate::divergence::{check_factor, non_negative};
use crate::matrix::Matrix;
use crate::parallel::{Pool, check_threads};
use crate::primal_dual::PrimalDual;
use crate::{Error, Mat, Result, Scalar, Status, kernel, sweeps};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How [`decompose`] works and when it stops.
#[derive(Clone, Debug)]
pub struct DecomposeSettings {
    /// A column is done when its duality gap is at most `tol` times its sum. 0 never stops early.
    pub tol: f64,
    /// The most steps for a column.
    pub max_iter: usize,
    /// Stop after this much time on the clock. Columns that have not begun keep an even start, certified but not
    /// improved.
    pub time_limit: Option<Duration>,
    /// Set to true from anywhere, it ends the work as a time limit does.
    pub stop: Option<Arc<AtomicBool>>,
    /// Threads; 0 for one per core.
    pub threads: usize,
}

impl Default for DecomposeSettings {
    fn default() -> Self {
        Self { tol: 1e-6, max_iter: 5000, time_limit: None, stop: None, threads: 0 }
    }
}

impl DecomposeSettings {
    /// Checks that every setting is in range.
    pub fn validate(&self) -> Result<()> {
        crate::solver::check_tol(self.tol)?;
        check_threads(self.threads)
    }
}

/// What is known of one column of a [`Decomposition`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColumnInfo {
    /// D(v‖Wh) of the column.
    pub divergence: f64,
    /// No other weights have a divergence lower by more than this: the distance to the best dual value seen on the way,
    /// which is often far better than the closed formula at these weights.
    pub gap: f64,
    /// Steps taken.
    pub iterations: usize,
    /// Whether the gap is within the tolerance, or was before the weights were rounded to the precision of V.
    pub converged: bool,
}

/// The weights of every column, with a certificate each.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposition<T> {
    /// r × m.
    pub h: Mat<T>,
    /// One for every column of V.
    pub columns: Vec<ColumnInfo>,
    /// Why it ended: [`Status::Converged`] if every column has.
    pub status: Status,
}

impl<T> Decomposition<T> {
    /// D(V‖WH): the sum over the columns.
    pub fn divergence(&self) -> f64 {
        self.columns.iter().map(|c| c.divergence).sum()
    }

    /// No H has a divergence lower by more than this: the sum over the columns.
    pub fn gap(&self) -> f64 {
        self.columns.iter().map(|c| c.gap).sum()
    }

    /// How many columns did not reach the tolerance.
    pub fn unconverged(&self) -> usize {
        self.columns.iter().filter(|c| !c.converged).count()
    }
}

/// Minimises D(V‖WH) over H ≥ 0 for a fixed W. Works in double precision whatever the precision of V.
///
/// ```
/// use klnmf::{decompose, DecomposeSettings, Mat};
/// let w = Mat::<f64>::from_rows(&[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0]]);
/// let v = Mat::from_rows(&[&[2.0], &[5.0], &[3.0]]);
/// let found = decompose(&v, &w, &DecomposeSettings::default())?;
/// assert!((found.h[(0, 0)] - 2.0).abs() < 1e-2 && (found.h[(1, 0)] - 3.0).abs() < 1e-2);
/// assert!(found.columns[0].gap <= 1e-6 * 10.0);
/// # Ok::<(), klnmf::Error>(())
/// ```
pub fn decompose<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: &Mat<T>,
    settings: &DecomposeSettings,
) -> Result<Decomposition<T>> {
    decompose_with(v, w, settings, &|_| ())
}

/// [`decompose`], telling `progress` now and then how many columns are done.
pub fn decompose_with<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    w: &Mat<T>,
    settings: &DecomposeSettings,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Decomposition<T>> {
    T::decompose(v.into(), w, settings, progress)
}

/// [`decompose_with`], to be compiled once.
pub(crate) fn run<T: Scalar>(
    v: Matrix<'_, T>,
    w: &Mat<T>,
    settings: &DecomposeSettings,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Decomposition<T>> {
    settings.validate()?;
    check(&v, w)?;
    let (m, r) = (v.cols(), w.cols());
    let pool = Pool::new(settings.threads)?;
    let half = Half::new(v)?;
    let mut dictionary = Dictionary::new(&half, r, Wants { u: true, atoms: true });
    dictionary.set(&pool, &w.transpose());
    let scratch = half.scratch::<f64>(&pool, r);
    let mut h = Mat::<T>::try_zeros(r, m)?;
    let mut columns = vec![ColumnInfo::default(); m];
    let done = AtomicUsize::new(0);
    let limits = Limits {
        begun: Instant::now(),
        time: settings.time_limit,
        stop: settings.stop.clone(),
        max_iter: settings.max_iter,
    };
    half.for_each_group(
        &pool,
        &scratch,
        &dictionary,
        (h.as_mut_slice(), r),
        (&mut columns, 1),
        MOST_BLOCKS,
        |blocks, x, info, work| solve(blocks, x, info, work, settings.tol, &limits),
        |columns| progress(done.fetch_add(columns, Ordering::Relaxed) + columns),
    );
    if h.as_slice().iter().any(|x| !x.is_finite()) {
        return Err(Error::Overflow { precision: T::NAME });
    }
    let status = if columns.iter().all(|c| c.converged) {
        Status::Converged
    } else if limits.stopped() {
        Status::Stopped
    } else if limits.late() {
        Status::TimeLimit
    } else {
        Status::IterationLimit
    };
    Ok(Decomposition { h, columns, status })
}

/// All columns of a group of blocks: by sweeps, and what is left by the primal-dual algorithm.
fn solve<T: Scalar>(
    blocks: &[Block<'_, f64>],
    mut out: &mut [T],
    mut info: &mut [ColumnInfo],
    work: &mut Work<f64>,
    tol: f64,
    limits: &Limits,
) {
    let steps = sweeps::run(blocks, out, info, work, tol, limits);
    let start = std::mem::take(&mut work.small[sweeps::START]);
    let mut rest = &start[..];
    for b in blocks {
        let (mine, others) = rest.split_at(b.q * b.r);
        rest = others;
        let (out, info) = (take(&mut out, b.q * b.r), take(&mut info, b.q));
        PrimalDual { b, tol, limits, steps, start: mine }.run(out, info, work);
    }
    work.small[sweeps::START] = start;
}

/// Checks shapes and values, and that no positive entry meets a zero row of the dictionary.
fn check<T: Scalar>(v: &Matrix<'_, T>, w: &Mat<T>) -> Result<()> {
    if v.rows() == 0 || v.cols() == 0 {
        return Err(Error::Empty { rows: v.rows(), cols: v.cols() });
    }
    if w.rows() != v.rows() || w.cols() == 0 {
        return Err(Error::Shape(format!(
            "V has {} rows, so the dictionary must have as many and at least one column; it is {} × {}",
            v.rows(),
            w.rows(),
            w.cols()
        )));
    }
    v.check()?;
    check_factor("W", w)?;
    let sums = w.row_sums();
    if sums.iter().all(|&s| s > 0.0) {
        return Ok(());
    }
    let rows = crate::matrix::Columns::new(v.transpose())?;
    let view = rows.view();
    for row in (0..v.rows()).filter(|&i| sums[i] == 0.0) {
        if let Some(at) = view.column_values(row).iter().position(|a| *a > T::ZERO) {
            let value = view.column_values(row)[at].to_f64();
            return Err(Error::ZeroRow { row, col: view.row_of(row, at), value });
        }
    }
    Ok(())
}

/// When to give up before the tolerance is met.
pub(crate) struct Limits {
    begun: Instant,
    time: Option<Duration>,
    stop: Option<Arc<AtomicBool>>,
    pub max_iter: usize,
}

impl Limits {
    fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn late(&self) -> bool {
        self.time.is_some_and(|limit| self.begun.elapsed() >= limit)
    }

    /// Whether a column that has taken this many steps must end.
    pub fn reached(&self, iteration: usize) -> bool {
        iteration >= self.max_iter || self.stopped() || self.late()
    }
}

/// D of one column of a block at the weights that are given out, rounding included; `x` is room for them.
pub(crate) fn divergence_of<T: Scalar>(
    b: &Block<'_, f64>,
    column: usize,
    out: &[T],
    tile: &mut [f64],
    x: &mut [f64],
) -> f64 {
    x.iter_mut().zip(out).for_each(|(x, out)| *x = out.to_f64());
    let (one, mut sum) = (Block { q: 1, ..*b }, b.total(x));
    one.pass(Some(x), None, tile, |rows, z| {
        let (terms, on_support) = kernel::divergence_terms(&b.a[b.part(column, &rows)], z, 0.0);
        sum += terms - on_support;
    });
    non_negative(sum)
}
