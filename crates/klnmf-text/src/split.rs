//! Splits counts into a part to learn from and a part to predict (document completion).

use crate::Error;
use klnmf::{Matrix, Order, Sparse};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;

/// Counts above this are split with the normal approximation of the binomial distribution, which is accurate
/// there, instead of drawing a number for each occurrence.
const MANY: f64 = 10_000.0;

/// Splits the counts into (train, held): every occurrence of a word is held out with probability `share`,
/// independently of all others. Train + held = counts; the fraction of a count that is not an integer stays
/// in train.
///
/// If counts are Poisson, both parts are Poisson and independent, so a model of train can be tested on held,
/// scaled by share / (1 − share). The same seed gives the same parts, whether the counts are stored by rows
/// or columns.
pub fn hold_out(counts: &Sparse<f64>, share: f64, seed: u64) -> Result<(Sparse<f64>, Sparse<f64>), Error> {
    if !(0.0..=1.0).contains(&share) {
        return Err(Error::setting(share, "the share to hold out must lie between 0 and 1"));
    }
    let counts = by_columns(counts)?;
    let view = counts.view();
    view.check()?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut train, mut held) = (Vec::with_capacity(counts.nnz()), Vec::with_capacity(counts.nnz()));
    for (_, _, count) in view.entries() {
        let taken = if count > MANY {
            about(count.floor(), share, &mut rng)
        } else {
            (0..count as u64).filter(|_| rng.random_bool(share)).count() as f64
        };
        train.push(count - taken);
        held.push(taken);
    }
    Ok((with_values(view, &train)?, with_values(view, &held)?))
}

/// A random number of held-out occurrences out of `count`: an integer with the mean and variance of the
/// binomial distribution.
fn about(count: f64, share: f64, rng: &mut ChaCha8Rng) -> f64 {
    // Box and Muller: two uniform numbers give a normal one.
    let (radius, angle): (f64, f64) = (rng.random(), rng.random());
    let normal = (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    (count * share + (count * share * (1.0 - share)).sqrt() * normal).round().clamp(0.0, count)
}

/// Converts the matrix to columns, because numbers are always drawn in this order.
fn by_columns(counts: &Sparse<f64>) -> Result<Cow<'_, Sparse<f64>>, Error> {
    Ok(match counts.view().order() {
        Order::Columns => Cow::Borrowed(counts),
        Order::Rows => Cow::Owned(Sparse::reordered(counts.view())?),
    })
}

/// The matrix with new values for its stored entries. Zeros are dropped.
fn with_values(pattern: Matrix<'_, f64>, values: &[f64]) -> Result<Sparse<f64>, Error> {
    Sparse::from_triplets(pattern.rows(), pattern.cols(), Order::Columns, |put| {
        pattern.entries().zip(values).try_for_each(|((row, col, _), value)| put(row, col, *value))
    })
}
