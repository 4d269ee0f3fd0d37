//! Splits of counts into parts that can serve as training and test data, and bootstraps of counts.
//!
//! Every draw depends on the seed and on the position of the entry only, so that any fold can be made alone,
//! in any order. Zeros stay zeros, and sparse data stay sparse.
//!
//! * If V is Poisson with mean Λ, a multinomial split into K folds gives independent Poisson folds with means
//!   Λ/K (Neufeld et al., *Data thinning for convolution-closed distributions*, 2024).
//! * If V is negative binomial with mean Λ and size b, a Dirichlet-multinomial split with the parameters b/K
//!   gives independent negative binomial folds of size b/K. Each fold alone is beta-binomial.

use crate::random::Stream;
use klnmf::{Mat, Matrix, Result, Sparse};
use klnmf_io::Stored;

/// Up to so many counts of an entry are drawn one by one.
const FEW: u64 = 256;

/// The folds of a split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// The number of folds, at least 2.
    pub folds: usize,
    /// The size of the negative binomial distribution; infinite for Poisson.
    pub size: f64,
}

/// V without the counts of a fold, and the fold.
pub fn split(v: Matrix<'_, f64>, seed: u64, how: Split, fold: usize) -> Result<[Stored<f64>; 2]> {
    let test = map(v, |i, j, x| fold_of(x as u64, &mut Stream::new(&[seed, 1, i, j]), how, fold) as f64)?;
    let train =
        map(v, |i, j, x| x - fold_of(x as u64, &mut Stream::new(&[seed, 1, i, j]), how, fold) as f64)?;
    Ok([train, test])
}

/// The counts of one fold among `count`.
fn fold_of(count: u64, stream: &mut Stream, how: Split, fold: usize) -> u64 {
    if how.size.is_finite() {
        return if count > FEW { stick(count, stream, how, fold) } else { urn(count, stream, how)[fold] };
    }
    let mut left = count;
    for earlier in 0..fold {
        left -= stream.binomial(left, 1.0 / (how.folds - earlier) as f64);
    }
    stream.binomial(left, 1.0 / (how.folds - fold) as f64)
}

/// All folds of `count` by Pólya's urn: a count goes to a random fold, or to that of an earlier count.
fn urn(count: u64, stream: &mut Stream, how: Split) -> Vec<u64> {
    let mut folds = vec![0; how.folds];
    for earlier in 0..count {
        let at = stream.uniform() * (how.size + earlier as f64);
        if at < how.size {
            folds[((at / how.size * how.folds as f64) as usize).min(how.folds - 1)] += 1;
        } else {
            let mut left = (at - how.size) as u64;
            let of_earlier = folds.iter().position(|n| {
                let here = left < *n;
                left = left.saturating_sub(*n);
                here
            });
            folds[of_earlier.unwrap_or(how.folds - 1)] += 1;
        }
    }
    folds
}

/// One fold of many counts: multinomial, with probabilities that are Dirichlet. All folds draw the same ones.
fn stick(count: u64, stream: &mut Stream, how: Split, fold: usize) -> u64 {
    let logs: Vec<f64> = (0..how.folds).map(|_| stream.ln_gamma(how.size / how.folds as f64)).collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let (mut left, mut drawn) = (count, 0);
    for at in 0..=fold {
        left -= drawn;
        let rest: f64 = weights[at..].iter().sum();
        drawn = if left > 0 { stream.binomial(left, weights[at] / rest) } else { 0 };
    }
    drawn
}

/// V with the counts of every column drawn again, with probabilities in proportion to the column.
pub fn bootstrap(v: Matrix<'_, f64>, seed: u64) -> Result<Stored<f64>> {
    let mut columns: Vec<Vec<(usize, u64)>> = vec![Vec::new(); v.cols()];
    v.entries().filter(|(.., x)| *x > 0.0).for_each(|(i, j, x)| columns[j].push((i, x as u64)));
    for (j, column) in columns.iter_mut().enumerate() {
        column.sort_unstable();
        let total = column.iter().map(|(_, x)| x).sum();
        spread(total, total, column, &mut Stream::new(&[seed, 2, j as u64]));
    }
    stored_like(v, || {
        let columns = columns.iter().enumerate();
        columns.flat_map(|(j, column)| column.iter().map(move |(i, x)| (*i, j, *x as f64)))
    })
}

/// Replaces the weights, whose sum is `sum`, by `n` draws among them. The entries are halved again and again.
fn spread(n: u64, sum: u64, weights: &mut [(usize, u64)], stream: &mut Stream) {
    match weights {
        [] => {}
        [only] => only.1 = n,
        _ => {
            let (left, right) = weights.split_at_mut(weights.len() / 2);
            let of_left = left.iter().map(|(_, x)| x).sum::<u64>();
            let drawn = if sum > 0 { stream.binomial(n, of_left as f64 / sum as f64) } else { 0 };
            spread(drawn, of_left, left, stream);
            spread(n - drawn, sum - of_left, right, stream);
        }
    }
}

/// V with every positive entry replaced by a function of its row, its column and itself.
fn map(v: Matrix<'_, f64>, f: impl Fn(u64, u64, f64) -> f64) -> Result<Stored<f64>> {
    let new = |(i, j, x): (usize, usize, f64)| (i, j, f(i as u64, j as u64, x));
    stored_like(v, || v.entries().filter(|(.., x)| *x > 0.0).map(new))
}

/// A matrix of the shape of V with these entries, sparse if V is.
fn stored_like<E: Iterator<Item = (usize, usize, f64)>>(
    v: Matrix<'_, f64>,
    entries: impl Fn() -> E,
) -> Result<Stored<f64>> {
    if v.is_sparse() {
        let sparse = Sparse::from_triplets(v.rows(), v.cols(), v.order(), |put| {
            entries().try_for_each(|(i, j, x)| put(i, j, x))
        });
        return sparse.map(Stored::Sparse);
    }
    let mut dense = Mat::try_zeros(v.rows(), v.cols())?;
    entries().for_each(|(i, j, x)| dense[(i, j)] = x);
    Ok(Stored::Dense(dense))
}

/// The largest sum of a column of counts. Larger integers are not exact in f64.
const MOST: f64 = 9e15;

/// Whether all entries are counts: integers that f64 holds exactly, and so are the sums of the columns.
pub fn are_counts(v: Matrix<'_, f64>) -> bool {
    v.entries().all(|(.., x)| x.fract() == 0.0 && x >= 0.0) && v.col_sums().iter().all(|sum| *sum <= MOST)
}
