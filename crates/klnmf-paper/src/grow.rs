//! W₁ and H₁ of the first phase, made ready for more parts.

use klnmf::Mat;

/// Makes WH positive wherever V is, and counts the rows of W and the columns of H that it took: a row of
/// zeros gets a thousandth of the mean of W, and then a column where WH is still zero somewhere a thousandth
/// of the mean of H.
///
/// The paper says nothing of such zeros, but its restart “maintains the same last objective value”, which has
/// to be finite: there the divergence is infinite but for the authors' 2.2e-16, and the dual −V/(WH) that FPA
/// starts with does not exist. Projections leave such zeros. The new columns of W are zero, so they do not
/// help.
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

/// W with mean 1, so that c is in units of it, and H the other way.
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
    fn zeros_of_the_model_are_lifted_where_there_are_data() {
        let v = Mat::from_rows(&[&[1.0, 2.0, 0.0], &[3.0, 4.0, 5.0]]);
        let mut w = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]);
        let mut h = Mat::from_rows(&[&[0.0, 2.0, 0.0], &[4.0, 3.0, 3.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 1));
        assert_eq!((h[(0, 0)], h[(1, 0)], h[(0, 1)], h[(0, 2)]), (2e-3, 4.002, 2.0, 0.0));
    }

    #[test]
    fn rows_of_zeros_are_lifted_where_there_are_data() {
        let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0], &[0.0, 0.0]]);
        let mut w = Mat::from_rows(&[&[0.0, 0.0], &[2.0, 4.0], &[0.0, 0.0]]);
        let mut h = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 0.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (1, 1), "the first row, and the second column");
        assert_eq!((w[(0, 0)], w[(1, 0)], w[(2, 0)]), (1e-3, 2.0, 0.0));
        assert_eq!((h[(0, 0)], h[(0, 1)]), (1.0, 5e-4));
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 0), "now nothing is left");
    }
}
