//! The exact projection onto a simplex, for eight columns at a time.
//!
//! | letter | meaning |
//! | --- | --- |
//! | u, s | a column of numbers and their slopes, s ≥ 0 |
//! | N | the sum of the result |
//! | λ | the multiplier: the result is max(u − λs, 0) |
//!
//! f(λ) = Σ max(u − λs, 0) is decreasing, convex and piecewise linear. Newton's method from the left
//! therefore solves f(λ) = N exactly, in as many steps as it passes pieces. These are a handful, and never
//! more than there are entries, because every step except the last leaves fewer of them positive, even with
//! rounding errors. It starts where all entries are positive, which is left of the solution because max(x,
//! 0) ≥ x.
//!
//! With s = 1 this is the Euclidean projection onto {x ≥ 0, Σx = N} (Maculan & de Paula 1989, Michelot 1986).
//! With other slopes it is the projection onto {x ≥ 0, kᵀx = N} in a diagonal metric: minimising
//! Σ(x − z)²/(2τ) there gives x = max(z − λτk, 0), so u = kz, s = τk² and x = max(u − λs, 0)/k.

use crate::kernel::simd;
use crate::{Mat, Scalar};

/// Columns processed at a time.
pub(crate) const LANES: usize = 8;

/// Replaces every column of `x`, which must be finite, by the nearest point of the simplex {x ≥ 0, Σx = 1}.
///
/// ```
/// use klnmf::{Mat, project_onto_simplex};
/// let mut x = Mat::from_rows(&[&[0.9, 3.0], &[0.5, -1.0]]);
/// project_onto_simplex(&mut x);
/// assert!((x[(0, 0)] - 0.7f64).abs() < 1e-15 && (x[(1, 0)] - 0.3).abs() < 1e-15);
/// assert_eq!((x[(0, 1)], x[(1, 1)]), (1.0, 0.0));
/// ```
pub fn project_onto_simplex<T: Scalar>(x: &mut Mat<T>) {
    let r = x.rows();
    if r == 0 {
        return;
    }
    let (mut u, mut s) = (vec![T::ZERO; r * LANES], vec![T::ZERO; r * LANES]);
    let mut projection = Projection::new(r, [&mut u, &mut s]);
    for columns in x.as_mut_slice().chunks_mut(r * LANES) {
        // Subtracting a constant from a column does not change the result. The remainder is exact and small
        // where it matters.
        for column in columns.chunks_mut(r) {
            let most = column.iter().copied().fold(-T::INFINITY, T::max);
            column.iter_mut().for_each(|x| *x = *x - most);
        }
        projection.load(columns, |_, _, x| (x, T::ONE));
        projection.solve(&[1.0; LANES]);
        projection.store(columns, |_, _, x| x);
    }
}

/// Some columns, up to [`LANES`], entry by entry.
pub(crate) struct Projection<'a, T> {
    u: &'a mut [[T; LANES]],
    s: &'a mut [[T; LANES]],
    lambda: [T; LANES],
}

impl<'a, T: Scalar> Projection<'a, T> {
    /// Prepares for columns of length r, with room for eight of them twice.
    pub fn new(r: usize, [u, s]: [&'a mut [T]; 2]) -> Self {
        let (u, s) = (&mut u.as_chunks_mut().0[..r], &mut s.as_chunks_mut().0[..r]);
        Self { u, s, lambda: [T::ZERO; LANES] }
    }

    /// Loads up to eight columns of length r. `f` gives u and s for an entry (column, row, value).
    pub fn load(&mut self, columns: &[T], f: impl Fn(usize, usize, T) -> (T, T)) {
        let r = self.u.len();
        for lane in 0..LANES {
            let column = columns.get(lane * r..(lane + 1) * r);
            for k in 0..r {
                // An unused lane holds zeros and converges at once.
                let (u, s) = column.map_or((T::ZERO, T::ZERO), |c| f(lane, k, c[k]));
                (self.u[k][lane], self.s[k][lane]) = (u, s);
            }
        }
    }

    /// Finds λ for every column such that it sums to its total.
    pub fn solve(&mut self, totals: &[f64; LANES]) {
        let totals = totals.map(T::from_f64);
        self.lambda = [-T::INFINITY; LANES];
        let mut moved = true;
        while moved {
            moved = false;
            let next = self.step(&totals);
            for (lambda, next) in self.lambda.iter_mut().zip(next) {
                // λ does not grow any more, or is NaN because no entry is positive.
                if next > *lambda {
                    (*lambda, moved) = (next, true);
                }
            }
        }
    }

    /// The zero of the linear piece at the current λ: (Σu − N)/Σs over the entries that are positive there.
    fn step(&self, totals: &[T; LANES]) -> [T; LANES] {
        let (mut us, mut ss) = ([T::ZERO; LANES], [T::ZERO; LANES]);
        let lambda = self.lambda;
        simd(
            #[inline(always)]
            || {
                for (u, s) in self.u.iter().zip(self.s.iter()) {
                    for lane in 0..LANES {
                        // At λ = −∞ every entry with a slope counts.
                        let positive = s[lane] > T::ZERO && u[lane] > lambda[lane] * s[lane];
                        us[lane] += if positive { u[lane] } else { T::ZERO };
                        ss[lane] += if positive { s[lane] } else { T::ZERO };
                    }
                }
            },
        );
        std::array::from_fn(|lane| (us[lane] - totals[lane]) / ss[lane])
    }

    /// Stores max(u − λs, 0), mapped by `f` (column, row, value).
    pub fn store(&self, columns: &mut [T], f: impl Fn(usize, usize, T) -> T) {
        for (lane, column) in columns.chunks_mut(self.u.len()).enumerate() {
            let lambda = self.lambda[lane];
            for (k, x) in column.iter_mut().enumerate() {
                let (u, s) = (self.u[k][lane], self.s[k][lane]);
                // An entry without a slope is zero.
                let value = if s > T::ZERO { u - lambda * s } else { T::ZERO };
                *x = f(lane, k, value.max(T::ZERO));
            }
        }
    }
}
