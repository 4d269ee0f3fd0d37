//! The convex problem: the weights H for given V and dictionary W, with a certificate for each column.
//!
//! A column passes through up to three stages. [Sweeps](newton_sweeps) of block Newton steps solve most
//! columns, and [Newton's method](free_set_newton) on the free weights solves most others. Any that are left
//! go to the [primal-dual algorithm](primal_dual), which converges for all data.
//!
//! The paper proposes this for online methods, which solve many such problems (Lefèvre, Bach & Févotte 2011).
//! A [`Decomposer`] therefore keeps a prepared dictionary.

mod free_set_newton;
mod newton_sweeps;
mod primal_dual;

use crate::block::{
    Block, Blocks, ColumnData, Dictionary, DictionaryParts, Failure, HalfProblem, Layout, Lines, MOST_BLOCKS,
    Streamed, Terms, Work,
};
use crate::certificate::{check_factor, first_positive};
use crate::cost::non_negative;
use crate::factorize::{check_tol, interrupted};
use crate::kernel::LogSums;
use crate::matrix::Matrix;
use crate::parallel::{Pool, check_threads, total};
use crate::{Error, Mat, Result, Scalar, Status};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Settings of [`decompose`].
#[derive(Clone, Debug)]
pub struct DecomposeSettings {
    /// A column has converged when its duality gap is at most `tol` times its sum. 0 never stops early: every
    /// column takes `max_iter` steps.
    pub tol: f64,
    /// Step limit for a column.
    pub max_iter: usize,
    /// Limit of the elapsed time. Columns that have not begun keep equal weights, certified but not improved.
    pub time_limit: Option<Duration>,
    /// Setting this to true, from any thread, ends the work as a time limit does.
    pub stop: Option<Arc<AtomicBool>>,
    /// Threads; 0 for one per core. Inside a rayon pool, that pool is used instead.
    pub threads: usize,
    /// The fast stages to use: all, except in comparisons.
    pub stages: Stages,
}

/// The stages before the primal-dual algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Sweeps of block Newton steps.
    pub newton_sweeps: bool,
    /// Newton's method on the free weights.
    pub free_set_newton: bool,
}

impl Default for DecomposeSettings {
    fn default() -> Self {
        let stages = Stages { newton_sweeps: true, free_set_newton: true };
        Self { tol: 1e-6, max_iter: 5000, time_limit: None, stop: None, threads: 0, stages }
    }
}

impl DecomposeSettings {
    /// Checks that every setting is in range.
    pub fn validate(&self) -> Result<()> {
        check_tol(self.tol)?;
        check_threads(self.threads)
    }
}

/// Results for one column of a [`Decomposition`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// D(v‖Wh) of the column.
    pub divergence: f64,
    /// No other weights have a divergence that is lower by more than this. It is the distance to the best
    /// dual value found, which is often far better than the closed formula at these weights.
    pub gap: f64,
    /// Steps taken, where the whole stage of free-set Newton counts as its limit.
    pub iterations: usize,
    /// Whether the gap is within the tolerance, or was before the weights were rounded to the precision of V.
    pub converged: bool,
}

/// The weights of all columns, with a certificate for each.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decomposition<T> {
    /// r × m.
    pub h: Mat<T>,
    /// One for every column of V.
    pub columns: Vec<ColumnInfo>,
    /// Why the computation ended: [`Status::Converged`] if every column has converged.
    pub status: Status,
}

impl<T> Decomposition<T> {
    /// D(V‖WH): the sum over the columns.
    pub fn divergence(&self) -> f64 {
        total(self.columns.iter().map(|c| c.divergence))
    }

    /// No H has a divergence that is lower by more than this: the sum over the columns.
    pub fn gap(&self) -> f64 {
        total(self.columns.iter().map(|c| c.gap))
    }

    /// Number of columns above the tolerance.
    pub fn unconverged(&self) -> usize {
        self.columns.iter().filter(|c| !c.converged).count()
    }
}

/// Minimises D(V‖WH) over H ≥ 0 for a fixed W, in double precision whatever the precision of V.
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
    Decomposer::new(w, settings.threads)?.decompose(v, settings)
}

/// A dictionary that is checked and laid out once, for any number of decompositions.
///
/// ```
/// use klnmf::{DecomposeSettings, Decomposer, Mat};
/// let w = Mat::<f64>::from_rows(&[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 1.0]]);
/// let (decomposer, settings) = (Decomposer::new(&w, 0)?, DecomposeSettings::default());
/// for scale in [1.0, 10.0, 100.0] {
///     let v = Mat::from_rows(&[&[2.0 * scale], &[5.0 * scale], &[3.0 * scale]]);
///     assert!(decomposer.decompose(&v, &settings)?.gap() <= 1e-5 * scale);
/// }
/// # Ok::<(), klnmf::Error>(())
/// ```
pub struct Decomposer<T> {
    pool: Pool,
    wt: Mat<T>,
    /// W laid out for dense and for sparse data, on first use.
    layouts: [OnceLock<Arc<Dictionary<f64>>>; 2],
    /// The rows that are all zero.
    zero_rows: Vec<usize>,
}

impl<T: Scalar> Decomposer<T> {
    /// Checks the dictionary W. `threads`: 0 for one per core. All decompositions use them.
    pub fn new(w: &Mat<T>, threads: usize) -> Result<Self> {
        check_factor("W", w, &w.col_sums())?;
        Self::of_transposed(w.transpose(), threads)
    }

    /// Takes Wᵀ, which has been checked.
    pub(crate) fn of_transposed(wt: Mat<T>, threads: usize) -> Result<Self> {
        let zero = |i: &usize| wt.col(*i).iter().all(|w| *w == T::ZERO);
        let zero_rows = (0..wt.cols()).filter(zero).collect();
        let layouts = [OnceLock::new(), OnceLock::new()];
        Ok(Self { pool: Pool::new(threads)?, wt, layouts, zero_rows })
    }

    /// W laid out for blocks that gather some of its rows, or for blocks that use all of it.
    fn layout(&self, gathers: bool) -> Arc<Dictionary<f64>> {
        let layout = &self.layouts[usize::from(gathers)];
        if let Some(dictionary) = layout.get() {
            return dictionary.clone();
        }
        let shape = (self.wt.cols(), self.wt.rows());
        let mut dictionary = Dictionary::new(shape, gathers, PARTS, Terms::default());
        dictionary.set(&self.pool, &self.wt);
        // Not inside the lock: a thread that waits for the others may begin another decomposition with this
        // dictionary, and would then wait for itself. If two threads pack it at once, that does no harm.
        layout.get_or_init(|| Arc::new(dictionary)).clone()
    }

    /// [`decompose`] for this dictionary.
    pub fn decompose<'a>(
        &self,
        v: impl Into<Matrix<'a, T>>,
        settings: &DecomposeSettings,
    ) -> Result<Decomposition<T>> {
        self.decompose_with(v, settings, &|_| ())
    }

    /// [`Decomposer::decompose`] that calls `progress` now and then with the number of columns done.
    pub fn decompose_with<'a>(
        &self,
        v: impl Into<Matrix<'a, T>>,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<T>> {
        T::decompose(self, v.into(), settings, progress)
    }

    /// [`Decomposer::decompose_with`] for a V outside memory, given by its columns.
    pub fn decompose_lines(
        &self,
        columns: &dyn Lines,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<T>> {
        T::decompose_lines(self, columns, settings, progress)
    }

    pub(crate) fn solve_lines(
        &self,
        columns: &dyn Lines,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<T>> {
        settings.validate()?;
        self.check_shape((columns.shape().1, columns.shape().0))?;
        let failure = Failure::default();
        let data = Streamed::<T>::new(&self.pool, columns, failure.clone(), |col, row| (row, col))?;
        let found = self.solve_blocks(&data, settings, progress);
        failure.check().and(found)
    }

    pub(crate) fn solve(
        &self,
        v: Matrix<'_, T>,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<T>> {
        settings.validate()?;
        self.check_shape((v.rows(), v.cols()))?;
        self.pool.run(|| v.check_entries())?;
        self.solve_blocks(ColumnData::new(&self.pool, v)?.blocks(), settings, progress)
    }

    fn solve_blocks(
        &self,
        blocks: &dyn Blocks<f64>,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<T>> {
        let (m, r) = (blocks.shape().1, self.wt.rows());
        if !blocks.sums().iter().sum::<f64>().is_finite() {
            return Err(Error::SumOverflow);
        }
        self.check_zero_rows(blocks)?;
        let half = HalfProblem::sharing(blocks, &self.pool, PARTS, self.layout(blocks.gathers()));
        let mut h = Mat::<T>::try_zeros(r, m)?;
        let mut columns = vec![ColumnInfo::default(); m];
        let done = AtomicUsize::new(0);
        let job = Job { settings, begun: Instant::now(), single: size_of::<T>() == 4 };
        half.for_each_group(
            (h.as_mut_slice(), r),
            (&mut columns, 1),
            Layout::Gathered(MOST_BLOCKS),
            |blocks, out, info, work| {
                let mut x = std::mem::take(&mut work.start);
                job.solve(blocks, &mut x[..out.len()], info, work);
                out.iter_mut().zip(&x).for_each(|(out, x)| *out = T::from_f64(*x));
                work.start = x;
            },
            |columns| progress(done.fetch_add(columns, Ordering::Relaxed) + columns),
        );
        if h.as_slice().iter().any(|x| !x.is_finite()) {
            return Err(Error::Overflow(T::NAME));
        }
        let status = job.status(&columns);
        Ok(Decomposition { h, columns, status })
    }

    /// Checks that V is not empty and has as many rows as the dictionary.
    fn check_shape(&self, (rows, cols): (usize, usize)) -> Result<()> {
        if rows == 0 || cols == 0 {
            return Err(Error::Empty { rows, cols });
        }
        let (n, r) = (self.wt.cols(), self.wt.rows());
        if n != rows || r == 0 {
            return Err(Error::Shape(format!(
                "V has {rows} rows, so the dictionary must have as many and at least one column; it is {n} × {r}"
            )));
        }
        Ok(())
    }

    /// Checks that every positive entry has a non-zero row in the dictionary.
    fn check_zero_rows(&self, blocks: &dyn Blocks<f64>) -> Result<()> {
        if self.zero_rows.is_empty() {
            return Ok(());
        }
        let unexplained = |row, _| self.zero_rows.binary_search(&row).is_ok();
        let first = first_positive(blocks, &self.pool, unexplained).min_by_key(|e| (e.row, e.col));
        first.map_or(Ok(()), |entry| Err(Error::ZeroRow(entry)))
    }
}

/// Dictionary parts for the stages: atoms for the sweeps, shares for the primal-dual algorithm.
const PARTS: DictionaryParts = DictionaryParts { shares: true, atoms: true, arrays: true };

/// The stopping rules, shared by the stages.
struct Job<'a> {
    settings: &'a DecomposeSettings,
    begun: Instant,
    /// Whether weights are returned in f32. They are then certified as returned.
    single: bool,
}

impl Job<'_> {
    /// Solves all columns of a group of blocks, stage by stage.
    fn solve(&self, blocks: &[Block<'_, f64>], x: &mut [f64], info: &mut [ColumnInfo], work: &mut Work<f64>) {
        let r = blocks[0].r;
        for ((b, x), info) in columns(blocks).zip(x.chunks_mut(r)).zip(&mut *info) {
            // An empty column has the optimum x = 0 and no gap.
            *info = ColumnInfo { converged: b.sums[0] == 0.0, ..ColumnInfo::default() };
            spread(&b, x);
        }
        let steps = newton_sweeps::run(self, blocks, x, info, work);
        for ((b, x), info) in columns(blocks).zip(x.chunks_mut(r)).zip(&mut *info) {
            if !info.converged {
                *info = primal_dual::run(self, &b, x, steps, work);
            }
        }
    }

    /// Whether a gap is small enough for a column with this sum.
    fn enough(&self, gap: f64, sum: f64) -> bool {
        self.settings.tol > 0.0 && gap <= self.settings.tol * sum
    }

    fn interrupted(&self) -> Option<Status> {
        interrupted(&self.settings.stop, self.settings.time_limit, self.begun)
    }

    /// Whether a column that has taken this many steps must stop.
    fn reached(&self, steps: usize) -> bool {
        steps >= self.settings.max_iter || self.interrupted().is_some()
    }

    fn status(&self, columns: &[ColumnInfo]) -> Status {
        if columns.iter().all(|c| c.converged) {
            Status::Converged
        } else {
            self.interrupted().unwrap_or(Status::IterationLimit)
        }
    }

    /// The result for a column with the final weights x, where F is `primal` and no weights have an F below
    /// `dual`. The divergence is recomputed if the weights are rounded on return or `primal` is not `exact`.
    fn close(
        &self,
        b: &Block<'_, f64>,
        x: &mut [f64],
        (primal, dual, exact): (f64, f64, bool),
        iterations: usize,
        (tile, g): (&mut [f64], &mut [f64]),
    ) -> ColumnInfo {
        let (mut divergence, mut known) = (non_negative(primal), true);
        // Subnormal weights were rounded when x moved to its best ray.
        if self.single || !exact || x.iter().any(|x| *x > 0.0 && *x < f64::TINY) {
            if self.single {
                x.iter_mut().for_each(|x| *x = f64::from(*x as f32));
            }
            let mut logs = LogSums::certifying(b.a, 1);
            b.pass(x, Some(g), tile, &mut logs);
            divergence = non_negative(b.value(0, logs.sum(0), x));
            known = g[..b.r].iter().all(|g| g.is_finite());
        }
        let gap = if known { non_negative(divergence - dual) } else { f64::INFINITY };
        // A gap or divergence that is not finite certifies nothing.
        let converged = self.enough(primal - dual, b.sums[0]) && gap.is_finite() && divergence.is_finite();
        ColumnInfo { divergence, gap, iterations, converged }
    }
}

/// The columns of some blocks, each as a block of its own.
fn columns<'a>(blocks: &[Block<'a, f64>]) -> impl Iterator<Item = Block<'a, f64>> {
    blocks.iter().flat_map(|b| (0..b.q).map(|c| b.column(c)))
}

/// Gives every atom the same share of the column's sum.
fn spread(b: &Block<'_, f64>, x: &mut [f64]) {
    let live = b.k_sum.iter().filter(|k| **k > 0.0).count().max(1) as f64;
    for (x, k) in x.iter_mut().zip(b.k_sum) {
        *x = if *k > 0.0 { b.sums[0] / (live * k) } else { 0.0 };
    }
}
