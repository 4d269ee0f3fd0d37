//! The little dense linear algebra the solvers need: products by strides, a Cholesky solve, eigenvalues of
//! small symmetric matrices, a spectral norm.

use crate::{Mat, Scalar};

/// A column-major-or-not rectangle of numbers: entry (i, j) lies at `i · rs + j · cs`.
#[derive(Clone, Copy)]
pub(crate) struct View<'a, T> {
    pub data: &'a [T],
    pub rows: usize,
    pub cols: usize,
    pub rs: usize,
    pub cs: usize,
}

impl<'a, T: Scalar> View<'a, T> {
    /// The first `rows` rows and `cols` columns of column-major `data` with columns `ld` apart.
    pub fn columns(data: &'a [T], rows: usize, cols: usize, ld: usize) -> Self {
        Self { data, rows, cols, rs: 1, cs: ld }
    }

    pub fn of(m: &'a Mat<T>) -> Self {
        Self::columns(m.as_slice(), m.rows(), m.cols(), m.rows())
    }

    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, rs: self.cs, cs: self.rs, ..self }
    }

    /// One past the last place the rectangle touches.
    fn extent(&self) -> usize {
        if self.rows == 0 || self.cols == 0 {
            0
        } else {
            (self.rows - 1) * self.rs + (self.cols - 1) * self.cs + 1
        }
    }
}

/// dst ← lhs · rhs on one thread; dst is column-major with columns `ld` apart.
pub(crate) fn matmul<T: Scalar>(dst: &mut [T], ld: usize, lhs: View<'_, T>, rhs: View<'_, T>) {
    let (m, n, k) = (lhs.rows, rhs.cols, lhs.cols);
    assert_eq!(k, rhs.rows, "inner sizes of a product");
    if m == 0 || n == 0 {
        return;
    }
    assert!(ld >= m && dst.len() >= (n - 1) * ld + m, "room for a product");
    assert!(lhs.data.len() >= lhs.extent() && rhs.data.len() >= rhs.extent(), "factors of a product");
    if k == 0 {
        return (0..n).for_each(|j| dst[j * ld..][..m].fill(T::ZERO));
    }
    // Safety: the assertions above keep every address that the strides can reach inside the three slices, and
    // dst, being borrowed mutably, overlaps neither factor.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            ld as isize,
            1,
            false,
            lhs.data.as_ptr(),
            lhs.cs as isize,
            lhs.rs as isize,
            rhs.data.as_ptr(),
            rhs.cs as isize,
            rhs.rs as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// A · Aᵀ for an r × p matrix, as a full r × r matrix.
pub(crate) fn gram<T: Scalar>(a: &Mat<T>) -> Mat<T> {
    let mut g = Mat::zeros(a.rows(), a.rows());
    matmul(g.as_mut_slice(), a.rows(), View::of(a), View::of(a).t());
    g
}

/// The largest singular value of A from its Gram matrix, by power iteration.
///
/// A ≥ 0 here, so the leading vector is positive and the all-ones start meets it. The Rayleigh quotient
/// converges twice as fast as the vector, so it is trusted once it has settled to rounding.
pub(crate) fn spectral_norm<T: Scalar>(gram: &Mat<T>) -> f64 {
    let r = gram.rows();
    let (mut x, mut y) = (vec![1.0f64; r], vec![0.0; r]);
    let mut value = 0.0f64;
    for _ in 0..1000 {
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length == 0.0 {
            return 0.0;
        }
        x.iter_mut().for_each(|v| *v /= length);
        y.fill(0.0);
        for (j, xj) in x.iter().enumerate() {
            y.iter_mut().zip(gram.col(j)).for_each(|(y, g)| *y += g.to_f64() * xj);
        }
        let quotient: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let settled = (quotient - value).abs() <= 1e-16 * quotient;
        value = quotient;
        std::mem::swap(&mut x, &mut y);
        if settled {
            break;
        }
    }
    value.sqrt()
}

/// Factors the symmetric positive definite A = L·Lᵀ in place; the lower triangle of A becomes L.
pub(crate) fn cholesky<T: Scalar>(a: &mut Mat<T>) {
    let n = a.rows();
    for j in 0..n {
        for k in 0..j {
            let f = a[(j, k)];
            for i in j..n {
                let l = a[(i, k)];
                a[(i, j)] = a[(i, j)] - l * f;
            }
        }
        // The floor matters where A is singular to rounding, or has overflowed.
        let d = a[(j, j)].max(T::EPSILON).sqrt();
        for i in j..n {
            a[(i, j)] = a[(i, j)] / d;
        }
    }
}

/// Solves L·Lᵀ x = b in place.
pub(crate) fn cholesky_solve<T: Scalar>(l: &Mat<T>, x: &mut [T]) {
    let n = l.rows();
    for j in 0..n {
        x[j] = x[j] / l[(j, j)];
        let f = x[j];
        for (x, l) in x[j + 1..].iter_mut().zip(&l.col(j)[j + 1..]) {
            *x = *x - *l * f;
        }
    }
    for j in (0..n).rev() {
        let below: T = x[j + 1..].iter().zip(&l.col(j)[j + 1..]).map(|(x, l)| *x * *l).sum();
        x[j] = (x[j] - below) / l[(j, j)];
    }
}

/// Eigenvalues (falling) and eigenvectors (columns) of a symmetric matrix, by Jacobi rotations.
pub(crate) fn symmetric_eigen(mut a: Mat<f64>) -> (Vec<f64>, Mat<f64>) {
    let n = a.rows();
    let mut v = Mat::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    let norm = a.as_slice().iter().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..60 {
        let mut off: f64 = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                off = off.max(a[(p, q)].abs());
                rotate(&mut a, &mut v, p, q);
            }
        }
        if off <= 1e-15 * norm {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(j, j)].total_cmp(&a[(i, i)]));
    let values = order.iter().map(|&i| a[(i, i)]).collect();
    let vectors = Mat::from_fn(n, n, |i, j| v[(i, order[j])]);
    (values, vectors)
}

/// One Jacobi rotation that clears a[(p, q)].
fn rotate(a: &mut Mat<f64>, v: &mut Mat<f64>, p: usize, q: usize) {
    let apq = a[(p, q)];
    if apq == 0.0 {
        return;
    }
    let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    let n = a.rows();
    let turn = |m: &mut Mat<f64>, at: (usize, usize), bt: (usize, usize)| {
        let (x, y) = (m[at], m[bt]);
        m[at] = c * x - s * y;
        m[bt] = s * x + c * y;
    };
    (0..n).for_each(|k| turn(a, (k, p), (k, q)));
    (0..n).for_each(|k| turn(a, (p, k), (q, k)));
    (0..n).for_each(|k| turn(v, (k, p), (k, q)));
}

#[cfg(test)]
#[path = "../tests/unit/linalg.rs"]
mod tests;
