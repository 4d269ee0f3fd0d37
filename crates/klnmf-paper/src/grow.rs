//! Prepares W₁ and H₁ of the first phase for more parts.

use klnmf::Mat;

/// Makes WH positive wherever V is, and returns the number of changed rows of W and columns of H. A zero row
/// of W is set to a thousandth of the mean of W. If WH is still zero somewhere in a column, a thousandth of
/// the mean of H is added to that column of H.
///
/// Projections leave such zeros. There the divergence would be infinite without the authors' 2.2e-16, and the
/// dual point −V/(WH) from which FPA starts does not exist. The paper does not mention these zeros, but its
/// restart “maintains the same last objective value”, which must therefore be finite. The new columns of W
/// are zero, so they do not help.
pub fn lift_zeros(v: &Mat<f64>, w: &mut Mat<f64>, h: &mut Mat<f64>) -> (usize, usize) {
    let sums = v.row_sums();
    let empty = |i: usize| sums[i] > 0.0 && (0..w.cols()).all(|k| w[(i, k)] == 0.0);
    let rows: Vec<usize> = (0..w.rows()).filter(|i| empty(*i)).collect();
    let lift = thousandth(w);
    for i in &rows {
        (0..w.cols()).for_each(|k| w[(*i, k)] = lift);
    }
    let (lift, wt) = (thousandth(h), w.transpose());
    let mut columns = 0;
    for j in 0..v.cols() {
        let model = |i: usize| wt.col(i).iter().zip(h.col(j)).map(|(w, h)| w * h).sum::<f64>();
        if (0..v.rows()).any(|i| v[(i, j)] > 0.0 && model(i) == 0.0) {
            h.col_mut(j).iter_mut().for_each(|x| *x += lift);
            columns += 1;
        }
    }
    (rows.len(), columns)
}

/// A thousandth of the mean.
fn thousandth(x: &Mat<f64>) -> f64 {
    1e-3 * x.as_slice().iter().sum::<f64>() / x.as_slice().len() as f64
}

/// Scales W to mean 1, so that c is relative to the mean, and H inversely.
pub fn to_mean_one(mut w: Mat<f64>, mut h: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let entries = w.as_slice().len() as f64;
    let mean = w.as_slice().iter().sum::<f64>() / entries;
    if mean > 0.0 {
        w.as_mut_slice().iter_mut().for_each(|x| *x /= mean);
        h.as_mut_slice().iter_mut().for_each(|x| *x *= mean);
    }
    (w, h)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_wh_are_raised_where_v_is_positive() {
        let v = Mat::from_rows(&[&[1.0, 2.0, 0.0], &[3.0, 4.0, 5.0]]);
        let mut w = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]);
        let mut h = Mat::from_rows(&[&[0.0, 2.0, 0.0], &[4.0, 3.0, 3.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 1));
        assert_eq!((h[(0, 0)], h[(1, 0)], h[(0, 1)], h[(0, 2)]), (2e-3, 4.002, 2.0, 0.0));
    }

    #[test]
    fn zero_rows_of_w_are_raised_where_v_is_positive() {
        let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0], &[0.0, 0.0]]);
        let mut w = Mat::from_rows(&[&[0.0, 0.0], &[2.0, 4.0], &[0.0, 0.0]]);
        let mut h = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 0.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (1, 1), "the first row, and the second column");
        assert_eq!((w[(0, 0)], w[(1, 0)], w[(2, 0)]), (1e-3, 2.0, 0.0));
        assert_eq!((h[(0, 0)], h[(0, 1)]), (1.0, 5e-4));
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 0), "nothing is left to change");
    }
}
