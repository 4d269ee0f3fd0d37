//! Some columns of V or of Vᵀ in a process that works for [others](crate::cluster).

pub use crate::solver::method::Column;

use crate::block::{Blocks, ColumnData, DictionaryParts, HalfProblem, Nonzero, Terms};
use crate::certificate::{self, Values};
use crate::error::require;
use crate::matrix::Matrix;
use crate::parallel::{CHUNK, Pool};
use crate::solver::method;
use crate::{Entry, Error, Mat, Result, Scalar};

/// Some columns of V or of Vᵀ, checked. Whatever it computes is a pure function of its arguments.
///
/// If V is cut at multiples of 64 columns, the pieces together give the same bits as the whole: weights, sums
/// over 64 columns each, and the state of the columns.
#[doc(hidden)]
pub struct Piece<'v, T> {
    data: ColumnData<'v, T>,
}

/// How a half-step is made.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<'s> {
    /// `mu`, `newton`, `fpa` or `simplex`.
    pub name: &'s str,
    /// Number of steps.
    pub steps: usize,
    /// The first `held` weights of every column are fixed.
    pub held: usize,
    /// Whether to return the objective before the first step, as sums over 64 columns each.
    pub measure: bool,
}

impl<'v, T: Scalar> Piece<'v, T> {
    /// Takes a matrix. If it is stored by columns, it is not copied.
    pub fn new(v: impl Into<Matrix<'v, T>>, threads: usize) -> Result<Self> {
        let v = v.into();
        v.check_not_empty()?;
        v.check_entries()?;
        Ok(Self { data: ColumnData::new(&Pool::new(threads)?, v)? })
    }

    /// Copies V if it is borrowed.
    pub fn into_owned(self) -> Result<Piece<'static, T>> {
        Ok(Piece { data: self.data.into_owned()? })
    }

    /// Shape, the sums of 64 columns each, the non-zero entries, and whether the storage is sparse.
    pub fn facts(&self) -> ((usize, usize), Vec<f64>, Nonzero, bool) {
        let data = self.data.blocks::<f64>();
        let sums = data.sums().chunks(CHUNK).map(|chunk| chunk.iter().sum());
        (data.shape(), sums.collect(), data.nonzero(), data.gathers())
    }

    /// The matrix, by columns.
    pub fn view(&self) -> Matrix<'_, T> {
        self.data.view()
    }

    /// One half-step on the weights `x` of these columns, for the transpose `kt` of the dictionary, with V
    /// converted to the precision S.
    pub fn half_step<S: Scalar>(
        &self,
        step: Step<'_>,
        kt: &Mat<S>,
        x: &mut Mat<S>,
        columns: &mut [Column],
        threads: usize,
    ) -> Result<Vec<f64>> {
        S::half_step(step, self.data.blocks(), (kt, x), columns, threads)
    }

    /// The divergence (if it is `measured`), the divergence that the bounds refer to, and the gap, as sums
    /// over 64 columns each. `ε` is zero: see [`certificate`](mod@certificate).
    pub fn evaluate(
        &self,
        kt: &Mat<T>,
        x: &Mat<T>,
        (held, measured): (usize, bool),
        threads: usize,
    ) -> Result<Vec<[f64; 3]>> {
        check(self.data.blocks(), kt, x)?;
        T::evaluate(self.data.blocks(), (kt, x), (held, measured), threads)
    }

    /// The first entry, in column order, that is positive where the model is zero. `h` are the weights of
    /// these columns.
    pub fn first_infinite(&self, wt: &Mat<T>, h: &Mat<T>, threads: usize) -> Result<Option<Entry>> {
        check(self.data.blocks(), wt, h)?;
        Ok(certificate::first_infinite(self.data.blocks(), &Pool::new(threads)?, wt, h))
    }
}

/// Fails unless dictionary and weights fit the columns.
fn check<S: Scalar>(data: &dyn Blocks<S>, kt: &Mat<S>, x: &Mat<S>) -> Result<()> {
    if (kt.cols(), x.cols()) != data.shape() || kt.rows() != x.rows() || kt.rows() == 0 {
        return Err(Error::Shape("dictionary, weights and columns do not match".into()));
    }
    Ok(())
}

pub(crate) fn move_columns<S: Scalar>(
    Step { name, steps, held, measure }: Step<'_>,
    data: &dyn Blocks<S>,
    (kt, x): (&Mat<S>, &mut Mat<S>),
    columns: &mut [Column],
    threads: usize,
) -> Result<Vec<f64>> {
    let step = crate::solver::half_step(name).ok_or_else(|| Error::UnknownSolver(name.into()))?;
    check(data, kt, x)?;
    require(held <= kt.rows(), "held", held, "it must not exceed the number of weights")?;
    require(steps > 0, "steps", steps, "at least 1 is needed")?;
    require(columns.len() == x.cols(), "columns", columns.len(), "there must be one for each column of V")?;
    let (pool, terms) = (Pool::new(threads)?, Terms { held, ..Terms::default() });
    let mut half = HalfProblem::new(data, &pool, kt.rows(), step.parts(), terms);
    // Enters the pool once.
    pool.run(|| method::half_step(&mut half, step, kt, x, columns, steps, measure));
    let sums = columns.chunks(CHUNK).map(|chunk| chunk.iter().map(|c| c.value).sum());
    Ok(if measure { sums.collect() } else { vec![] })
}

pub(crate) fn evaluate<T: Scalar>(
    data: &dyn Blocks<f64>,
    (kt, x): (&Mat<T>, &Mat<T>),
    (held, measured): (usize, bool),
    threads: usize,
) -> Result<Vec<[f64; 3]>> {
    let (pool, terms) = (Pool::new(threads)?, Terms { held, ..Terms::default() });
    let mut half = HalfProblem::new(data, &pool, kt.rows(), DictionaryParts::default(), terms);
    let values = pool.run(|| {
        half.set(kt);
        certificate::values(&half, x.as_slice(), measured.then_some(0.0), None)
    });
    let sum = |chunk: &[Values], of: fn(&Values) -> f64| chunk.iter().map(of).sum();
    let sums = values
        .chunks(CHUNK)
        .map(|chunk| [sum(chunk, |v| v.divergence), sum(chunk, |v| v.exact), sum(chunk, |v| v.gap)]);
    Ok(sums.collect())
}
