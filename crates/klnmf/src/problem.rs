//! The data V of a problem, checked and summed, by columns and by rows.

use crate::block::{
    Blocks, ColumnData, DictionaryParts, Failure, HalfProblem, Lines, Nonzero, Storage, Streamed, Terms,
};
use crate::certificate::{Certificate, Certifier, check_factor, check_factors_of};
use crate::factorize::{Info, Settings, Solution};
use crate::matrix::Matrix;
use crate::parallel::{Pool, total};
use crate::run::{Run, conditions};
use crate::solver::method::{Factors, Pair};
use crate::solver::{Side, State, Store, missing};
use crate::{Error, Mat, Result, Scalar};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::time::Instant;

/// A matrix prepared for any number of factorisations: checked, summed, by columns and by rows.
///
/// ```
/// use klnmf::{Mat, Problem, Settings};
/// let v = Mat::from_fn(20, 30, |i, j| ((i % 3) * (j % 4) + (i % 5) * (j % 2)) as f64);
/// let problem = Problem::new(&v, 0)?;
/// for rank in 1..4 {
///     assert!(problem.factorize(rank, &Settings::default())?.info.relative_gap() <= 3e-3);
/// }
/// # Ok::<(), klnmf::Error>(())
/// ```
pub struct Problem<'v, T: Scalar> {
    pub(crate) pool: Pool,
    /// V and Vᵀ.
    halves: [Box<dyn Storage + 'v>; 2],
    /// ΣV.
    pub(crate) sum: f64,
    pub(crate) nonzero: Nonzero,
    /// What went wrong while V was read, if it is not in memory.
    failure: Failure,
    /// The precision of the factors.
    precision: PhantomData<T>,
}

impl<'v, T: Scalar> Problem<'v, T> {
    /// Checks V and lays it out on `threads` threads, 0 for one per core. Later calls use the same threads.
    /// Inside a rayon pool, that pool is used instead.
    pub fn new(v: impl Into<Matrix<'v, T>>, threads: usize) -> Result<Self> {
        T::problem(v.into(), threads)
    }

    pub(crate) fn prepare(v: Matrix<'v, T>, threads: usize) -> Result<Self> {
        let pool = Pool::new(threads)?;
        v.check_not_empty()?;
        pool.run(|| v.check_entries())?;
        let (columns, rows) = (ColumnData::new(&pool, v)?, ColumnData::new(&pool, v.transpose())?);
        Self::of(pool, [Box::new(columns), Box::new(rows)])
    }

    /// A problem with V and Vᵀ in storages of any kind, whose entries have been checked.
    pub(crate) fn of(pool: Pool, halves: [Box<dyn Storage + 'v>; 2]) -> Result<Self> {
        let columns: &dyn Blocks<f64> = &*halves[0];
        let (sum, nonzero) = (total(columns.sums().iter().copied()), columns.nonzero());
        if !sum.is_finite() {
            return Err(Error::SumOverflow);
        }
        Ok(Self { pool, halves, sum, nonzero, failure: Failure::default(), precision: PhantomData })
    }

    /// A problem whose V is outside memory, by columns and by rows. The results have the same bits as in
    /// memory.
    ///
    /// Both are read once here, to check and to sum them. If a later reading fails, the work ends with
    /// [`Error::Unreadable`]; a caller of [`Problem::run`] asks [`Problem::check`].
    pub fn from_lines(columns: &'v dyn Lines, rows: &'v dyn Lines, threads: usize) -> Result<Self> {
        T::streamed(columns, rows, threads)
    }

    pub(crate) fn stream(columns: &'v dyn Lines, rows: &'v dyn Lines, threads: usize) -> Result<Self> {
        let ((m, n), failure) = (columns.shape(), Failure::default());
        if n == 0 || m == 0 {
            return Err(Error::Empty { rows: n, cols: m });
        }
        if rows.shape() != (n, m) || rows.is_sparse() != columns.is_sparse() {
            return Err(Error::Shape("the rows and the columns are not those of one matrix".into()));
        }
        let pool = Pool::new(threads)?;
        let columns = Streamed::<T>::new(&pool, columns, failure.clone(), |col, row| (row, col))?;
        let rows = Streamed::<T>::new(&pool, rows, failure.clone(), |row, col| (row, col))?;
        if Blocks::<f64>::nonzero(&columns) != Blocks::<f64>::nonzero(&rows) {
            return Err(Error::Shape("the rows and the columns have different entries".into()));
        }
        Ok(Self { failure, ..Self::of(pool, [Box::new(columns), Box::new(rows)])? })
    }

    /// Fails if V could not be read at some time since the problem was made. Results are then worthless.
    pub fn check(&self) -> Result<()> {
        self.failure.check()
    }

    /// The data of the half-steps on one factor: V for H, Vᵀ for W.
    pub(crate) fn blocks<S: Scalar>(&self, side: Side) -> &dyn Blocks<S> {
        S::blocks(&*self.halves[side as usize])
    }

    /// One half for r atoms that need only products.
    pub(crate) fn plain_half<S: Scalar>(&self, side: Side, r: usize) -> HalfProblem<'_, S> {
        HalfProblem::new(self.blocks(side), &self.pool, r, DictionaryParts::default(), Terms::default())
    }

    /// Rows and columns of V.
    pub fn shape(&self) -> (usize, usize) {
        self.blocks::<f64>(Side::H).shape()
    }

    /// ΣV.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The start (W, H), as given by `settings.init` and `settings.seed`.
    pub fn init(&self, rank: usize, settings: &Settings) -> Result<(Mat<T>, Mat<T>)> {
        // Inside the pool, so that no other threads are started.
        self.pool.run(|| T::init(self, rank, settings))
    }

    /// [`factorize`](crate::factorize) for this V.
    pub fn factorize(&self, rank: usize, settings: &Settings) -> Result<Solution<T>> {
        settings.validate()?;
        let (w, h) = self.init(rank, settings)?;
        let begun = Instant::now();
        // Without a callback, certificates are needed only to test the tolerance.
        let settings = Settings { check_every: Some(settings.max_iter.max(1)), ..settings.clone() };
        let found = self.run(w, h, &settings)?.sort_from(0).to_end(|_| ControlFlow::Continue(()));
        self.check().and(found).and_then(|first| self.challenge(first, &settings, begun))
    }

    /// [`factorize_from`](crate::factorize_from) for this V.
    pub fn factorize_from(
        &self,
        w: Mat<T>,
        h: Mat<T>,
        settings: &Settings,
        watch: impl FnMut(&Info) -> ControlFlow<()>,
    ) -> Result<Solution<T>> {
        let found = self.run(w, h, settings)?.to_end(watch);
        self.check().and(found)
    }

    /// A run from given factors, which the caller advances.
    pub fn run<'a>(&'a self, w: Mat<T>, h: Mat<T>, settings: &'a Settings) -> Result<Run<'a, T>> {
        check_factors_of(self.shape(), &w, &h)?;
        T::run(self, Factors { wt: w.transpose(), h }, settings, None)
    }

    /// A run continued from a stored state, with the same bits as an uninterrupted run. The settings must be
    /// those at its start, except for limits and tolerance. The bits differ if a limit cut a round short (7
    /// iterations with rounds of 5), because a run without that limit would have completed the round.
    pub fn resume<'a>(&'a self, state: &State, settings: &'a Settings) -> Result<Run<'a, T>> {
        let factors = restored(state, self.shape(), self.sum, settings)?;
        T::run(self, factors, settings, Some(state))
    }

    /// Tries the other starts of [`Settings::starts`] and returns the best solution. `first` is the solution
    /// from the start with the seed `settings.seed`, whose run began at `begun`; the time limit counts from
    /// there. If there is one start, or if `first` was stopped, it is the result.
    pub fn challenge(&self, first: Solution<T>, settings: &Settings, begun: Instant) -> Result<Solution<T>> {
        T::challenge(self, first, settings, begun)
    }

    /// The certificate of given factors.
    pub fn certificate(&self, w: &Mat<T>, h: &Mat<T>) -> Result<Certificate> {
        T::certificate(self, w, h)
    }

    pub(crate) fn certify(&self, w: &Mat<T>, h: &Mat<T>) -> Result<Certificate> {
        check_factors_of(self.shape(), w, h)?;
        let (certificate, _) = Certifier::new(self, h.rows(), 0.0, 0).certify(&w.transpose(), h, None);
        self.check().map(|()| certificate)
    }
}

/// The factors of a stored state, if it belongs to a V of this shape and sum and to these settings.
pub(crate) fn restored<T: Scalar>(
    state: &State,
    (n, m): (usize, usize),
    sum: f64,
    settings: &Settings,
) -> Result<Pair<T>> {
    if state.solver != settings.solver {
        let why = format!("it belongs to solver {}, not {}", state.solver, settings.solver);
        return Err(Error::State(why));
    }
    for (name, value) in conditions::<T>(sum, settings) {
        if state.number(name)?.to_bits() != value.to_bits() {
            return Err(Error::State(format!("it was made with another {}", &name["with.".len()..])));
        }
    }
    if !(0.0..=state.iteration as f64).contains(&state.number("before")?) {
        return Err(Error::State("its last two iterations are not in order".into()));
    }
    let fits = |h: &&Mat<f64>| h.rows() > 0 && h.cols() == m;
    let rank = state.arrays.get("h").filter(fits).ok_or_else(|| missing("h for this V"))?.rows();
    let mut factors = Factors { wt: Mat::try_zeros(rank, n)?, h: Mat::try_zeros(rank, m)? };
    factors.carry("", &mut Store::Load(state))?;
    check_factor("Wᵀ", &factors.wt, &factors.wt.row_sums())?;
    check_factor("H", &factors.h, &factors.h.row_sums())?;
    Ok(factors)
}
