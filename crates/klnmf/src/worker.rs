//! Half-steps for another process that holds some columns of V or of Vᵀ.

pub use crate::solver::method::Column;

use crate::block::{ColumnData, HalfProblem, Terms};
use crate::error::require;
use crate::matrix::Matrix;
use crate::parallel::{CHUNK, Pool};
use crate::solver::method;
use crate::{Error, Mat, Result, Scalar};

/// One half-step as a pure function: `steps` steps on the weights `x` of some columns of V or Vᵀ, for the
/// transpose `kt` of the dictionary, with V converted to the precision S. If `measure` is set, it returns the
/// objective before the first step, as sums over 64 columns each.
///
/// If V is cut at multiples of 64 columns, the pieces together give the same bits as the whole: weights, sums
/// and the state of the columns. `name` is `mu`, `newton`, `fpa` or `simplex`. The first `held` weights of
/// every column are fixed.
#[doc(hidden)]
pub fn half_step<'v, T: Scalar, S: Scalar>(
    name: &str,
    v: impl Into<Matrix<'v, T>>,
    kt: &Mat<S>,
    x: &mut Mat<S>,
    columns: &mut [Column],
    (steps, held, measure): (usize, usize, bool),
    threads: usize,
) -> Result<Vec<f64>> {
    let (v, pool) = (v.into(), Pool::new(threads)?);
    v.check_not_empty()?;
    let step = S::half_step(name).ok_or_else(|| Error::UnknownSolver(name.into()))?;
    if (kt.cols(), x.cols(), columns.len()) != (v.rows(), v.cols(), v.cols())
        || kt.rows() != x.rows()
        || kt.rows() == 0
    {
        return Err(Error::Shape("dictionary, weights, columns and data of a half-step do not match".into()));
    }
    v.check_entries()?;
    require(held <= kt.rows(), "held", held, "it must not exceed the number of weights")?;
    require(steps > 0, "steps", steps, "at least 1 is needed")?;
    let data = ColumnData::new(&pool, v)?;
    let terms = Terms { held, ..Terms::default() };
    let mut half = HalfProblem::new(data.blocks::<S>(), &pool, kt.rows(), step.parts(), terms);
    method::half_step(&mut half, step, kt, x, columns, steps, measure);
    let sums = columns.chunks(CHUNK).map(|chunk| chunk.iter().map(|c| c.value).sum());
    Ok(if measure { sums.collect() } else { vec![] })
}
