//! Small dense linear algebra for the solvers: products, a Cholesky solver, eigenvalues of small symmetric
//! matrices, a spectral norm.

use crate::kernel::{Isa, Packed};
use crate::{Mat, Scalar};

/// Packs K, given by its transpose (r × p), for products.
pub(crate) fn packed<T: Scalar>(kt: &Mat<T>) -> Packed<T> {
    let mut packed = Packed::new(Isa::get(), kt.cols(), kt.rows());
    packed.set(kt.as_slice());
    packed
}

/// Aᵀ · B for an r × p matrix A and an r × q matrix B.
pub(crate) fn transposed_product<T: Scalar>(a: &Mat<T>, b: &Mat<T>) -> Mat<T> {
    let mut product = Mat::zeros(a.cols(), b.cols());
    packed(a).multiply(b.as_slice(), b.cols(), product.as_mut_slice());
    product
}

/// A · Aᵀ for an r × p matrix, as a full r × r matrix.
pub(crate) fn gram<T: Scalar>(a: &Mat<T>) -> Mat<T> {
    let at = a.transpose();
    transposed_product(&at, &at)
}

/// The largest singular value of A from its Gram matrix, by power iteration.
///
/// A ≥ 0, so the leading eigenvector is non-negative and the all-ones start has a component along it. The
/// Rayleigh quotient converges twice as fast as the vector, so iteration stops once it changes by rounding
/// error only.
pub(crate) fn spectral_norm<T: Scalar>(gram: &Mat<T>) -> f64 {
    let (mut x, mut value) = (vec![1.0f64; gram.rows()], 0.0f64);
    for _ in 0..1000 {
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length == 0.0 {
            return 0.0;
        }
        x.iter_mut().for_each(|v| *v /= length);
        let mut y = vec![0.0; x.len()];
        for (j, xj) in x.iter().enumerate() {
            y.iter_mut().zip(gram.col(j)).for_each(|(y, g)| *y += g.to_f64() * xj);
        }
        let quotient: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        let settled = (quotient - value).abs() <= 1e-16 * quotient;
        (x, value) = (y, quotient);
        if settled {
            break;
        }
    }
    value.sqrt()
}

/// Factorises the symmetric positive definite A = L·Lᵀ in place. The lower triangle of A becomes L.
pub(crate) fn cholesky<T: Scalar>(a: &mut Mat<T>) {
    let n = a.rows();
    for j in 0..n {
        for k in 0..j {
            let f = a[(j, k)];
            for i in j..n {
                a[(i, j)] = a[(i, j)] - a[(i, k)] * f;
            }
        }
        // The lower bound matters if A is numerically singular or has overflowed.
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

/// Eigenvalues (in decreasing order) and eigenvectors (columns) of a symmetric matrix, by Jacobi rotations.
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

/// Applies the Jacobi rotation that makes a[(p, q)] zero.
fn rotate(a: &mut Mat<f64>, v: &mut Mat<f64>, p: usize, q: usize) {
    let apq = a[(p, q)];
    if apq == 0.0 {
        return;
    }
    let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * apq);
    let sign = if theta == 0.0 { 1.0 } else { theta.signum() };
    let t = sign / (theta.abs() + (theta * theta + 1.0).sqrt());
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
