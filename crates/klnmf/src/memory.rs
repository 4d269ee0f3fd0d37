//! How much memory a factorisation takes, known before it starts.

use crate::{Matrix, Scalar};

/// Bytes of workspace that do not depend on the data: tiles, stacks, the program itself.
pub const WORKSPACE: u128 = 64 << 20;

/// The most bytes that [`factorize`](crate::factorize) needs at rank `rank` with `fpa` or `mu`, V included:
///
/// 2·(bytes of V) + 8·(bytes of W and H) + [`WORKSPACE`].
///
/// V is held twice, by columns and by rows, so that both half-steps read it in order; a sparse V stays sparse. The
/// methods that keep a dense n × m dual or auxiliary matrix (`admm`, `fpa` in the paper's own form) take two V more.
///
/// ```
/// use klnmf::{memory, Mat, WORKSPACE};
/// let v = Mat::<f64>::zeros(100, 50);
/// assert_eq!(memory(&v, 10), 2 * 40_000 + 8 * (8 * 150 * 10) + WORKSPACE);
/// ```
pub fn memory<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, rank: usize) -> u128 {
    let v = v.into();
    let factors = (v.rows() as u128 + v.cols() as u128) * rank as u128 * size_of::<T>() as u128;
    2 * v.bytes() as u128 + 8 * factors + WORKSPACE
}
