//! Folds add up to V, do not depend on the storage, and have the right distributions.

use crate::common::{Random, planted};
use klnmf::{Mat, Sparse};
use klnmf_select::{Split, are_counts, bootstrap, split};

const POISSON: Split = Split { folds: 5, size: f64::INFINITY };

fn dense(stored: &klnmf_io::Stored<f64>) -> Mat<f64> {
    let view = stored.view();
    let mut dense = Mat::zeros(view.rows(), view.cols());
    view.entries().for_each(|(i, j, x)| dense[(i, j)] += x);
    dense
}

#[test]
fn folds_add_up_to_v_in_every_storage() {
    let (v, _) = planted(1, (12, 20), 3, 200.0, f64::INFINITY);
    let sparse = Sparse::from_dense(&v);
    for how in [POISSON, Split { folds: 3, size: 4.0 }, Split { folds: 2, size: f64::INFINITY }] {
        let mut sum = Mat::<f64>::zeros(12, 20);
        for fold in 0..how.folds {
            let [train, test] = split((&v).into(), 7, how, fold).unwrap();
            let again = split((&sparse).into(), 7, how, fold).unwrap();
            assert!(again.iter().all(|part| matches!(part, klnmf_io::Stored::Sparse(_))));
            assert_eq!([dense(&train), dense(&test)], again.map(|part| dense(&part)));
            let (train, test) = (dense(&train), dense(&test));
            for (at, x) in test.as_slice().iter().enumerate() {
                assert!(*x >= 0.0 && x.fract() == 0.0);
                assert_eq!(train.as_slice()[at] + x, v.as_slice()[at]);
                sum.as_mut_slice()[at] += x;
            }
        }
        assert_eq!(sum, v);
    }
}

/// The mean and the variance of the first fold of many equal counts.
fn moments(count: f64, how: Split) -> (f64, f64) {
    let v = Mat::from_fn(200, 200, |_, _| count);
    let [_, test] = split((&v).into(), 3, how, 0).unwrap();
    let test = dense(&test);
    let mean = test.as_slice().iter().sum::<f64>() / 40_000.0;
    (mean, test.as_slice().iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 39_999.0)
}

#[test]
fn folds_are_binomial_or_beta_binomial() {
    let (n, k) = (60.0, 5.0);
    let (mean, variance) = moments(n, POISSON);
    let binomial = n / k * (1.0 - 1.0 / k);
    assert!((mean - n / k).abs() < 0.08, "{mean}");
    assert!((variance / binomial - 1.0).abs() < 0.04, "{variance} instead of {binomial}");
    let size = 10.0;
    let (mean, variance) = moments(n, Split { folds: 5, size });
    let beta_binomial = binomial * (size + n) / (size + 1.0);
    assert!((mean - n / k).abs() < 0.2, "{mean}");
    assert!((variance / beta_binomial - 1.0).abs() < 0.05, "{variance} instead of {beta_binomial}");
}

/// The correlation of two folds of counts that all have one mean.
fn correlation(size: f64, how: Split) -> f64 {
    let mut random = Random(11);
    let v = Mat::from_fn(150, 200, |_, _| {
        let mean = if size.is_finite() { 40.0 * random.gamma(size) / size } else { 40.0 };
        random.poisson(mean)
    });
    let [a, b] = [0, 1].map(|fold| dense(&split((&v).into(), 5, how, fold).unwrap()[1]).into_vec());
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (ma, mb) = (mean(&a), mean(&b));
    let product = |x: &[f64], mx: f64, y: &[f64], my: f64| {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
    };
    product(&a, ma, &b, mb) / (product(&a, ma, &a, ma) * product(&b, mb, &b, mb)).sqrt()
}

#[test]
fn folds_are_independent_if_the_split_fits_the_counts() {
    let own = |size| Split { folds: 4, size };
    assert!(correlation(f64::INFINITY, own(f64::INFINITY)).abs() < 0.02);
    assert!(correlation(5.0, own(5.0)).abs() < 0.02);
    // This is why over-dispersed counts must not be split as Poisson counts.
    assert!(correlation(5.0, own(f64::INFINITY)) > 0.3);
}

#[test]
fn bootstraps_keep_the_sums_of_columns() {
    let (mut v, _) = planted(2, (30, 25), 3, 400.0, f64::INFINITY);
    v.col_mut(4).fill(0.0);
    let drawn = dense(&bootstrap((&v).into(), 9).unwrap());
    assert_eq!(drawn.col_sums(), v.col_sums());
    assert_ne!(drawn, v);
    assert!(drawn.as_slice().iter().zip(v.as_slice()).all(|(new, old)| *old > 0.0 || *new == 0.0));
    let sparse = Sparse::from_dense(&v);
    assert_eq!(dense(&bootstrap((&sparse).into(), 9).unwrap()), drawn);
    // Over many bootstraps, the mean is V, and the variance that of a multinomial.
    let (mut sum, mut squares, runs) = (0.0, 0.0, 2000);
    for seed in 0..runs {
        let x = dense(&bootstrap((&v).into(), 100 + seed).unwrap())[(3, 0)];
        (sum, squares) = (sum + x, squares + x * x);
    }
    let (x, total) = (v[(3, 0)], v.col_sums()[0]);
    let (mean, wanted) = (sum / runs as f64, x * (1.0 - x / total));
    let variance = squares / runs as f64 - mean * mean;
    assert!((mean - x).abs() < 4.0 * (wanted / runs as f64).sqrt() + 1e-9, "{mean} instead of {x}");
    assert!((variance - wanted).abs() < 0.2 * wanted + 1e-9, "{variance} instead of {wanted}");
}

#[test]
fn huge_counts_are_drawn_as_fast_as_small_ones() {
    // Means and variances are those of the distributions; 40 000 draws give them to about 1 %.
    for (n, size) in [(3000.0, 10.0), (4e9, 10.0), (4e9, 0.5), (8e15, 1e5)] {
        let binomial = n / 5.0 * 0.8;
        let (mean, variance) = moments(n, POISSON);
        assert!((mean - n / 5.0).abs() < 5.0 * (binomial / 4e4).sqrt(), "{mean} of {n}");
        assert!((variance / binomial - 1.0).abs() < 0.04, "{variance} instead of {binomial}");
        let beta_binomial = binomial * (size + n) / (size + 1.0);
        let (mean, variance) = moments(n, Split { folds: 5, size });
        assert!((mean - n / 5.0).abs() < 5.0 * (beta_binomial / 4e4).sqrt(), "{mean} of {n}");
        assert!((variance / beta_binomial - 1.0).abs() < 0.05, "{variance} instead of {beta_binomial}");
    }
    let v = Mat::from_rows(&[&[4e9, 0.0], &[3e9, 8e15], &[5.0, 1.0]]);
    for size in [f64::INFINITY, 3.0, 1e-6] {
        let how = Split { folds: 4, size };
        let folds = (0..4).map(|fold| dense(&split((&v).into(), 1, how, fold).unwrap()[1]).into_vec());
        let sum = folds.reduce(|a, b| a.iter().zip(b).map(|(a, b)| a + b).collect()).unwrap();
        assert_eq!(sum, v.as_slice(), "{size}");
    }
    assert_eq!(dense(&bootstrap((&v).into(), 1).unwrap()).col_sums(), v.col_sums());
}

#[test]
fn counts_are_whole_numbers() {
    assert!(are_counts((&Mat::from_rows(&[&[0.0, 3.0]])).into()));
    assert!(!are_counts((&Mat::from_rows(&[&[0.5, 3.0]])).into()));
    assert!(!are_counts((&Mat::from_rows(&[&[1e17, 3.0]])).into()));
    // The sum of a column must be exact too.
    assert!(are_counts((&Mat::from_rows(&[&[8e15, 8e15]])).into()));
    assert!(!are_counts((&Mat::from_rows(&[&[8e15], &[8e15]])).into()));
}
