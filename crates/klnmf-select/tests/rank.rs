//! The range of ranks on planted data, and on data at the edges.

use crate::common::planted;
use klnmf::{Mat, Matrix, Sparse};
use klnmf_select::{Dispersion, Fits, Rank, RankSettings, rank};

fn of(v: &Mat<f64>, to: usize) -> Rank {
    let settings = RankSettings { ranks: (1..=to).collect(), replicates: 3, ..RankSettings::default() };
    rank(&Fits::in_memory(v.into()).unwrap(), &settings).unwrap()
}

#[test]
fn the_range_contains_the_planted_rank() {
    for seed in 0..3 {
        let (v, _) = planted(seed, (40, 80), 4, 2000.0, f64::INFINITY);
        let found = of(&v, 8);
        let (low, high) = found.range().unwrap();
        assert!(low <= 4 && 4 <= high && high - low <= 3, "{low} to {high}");
        let dispersion = found.dispersion.unwrap();
        assert!(!dispersion.is_over() && (dispersion.phi - 1.0).abs() < 0.15, "{dispersion:?}");
        assert!(found.over_dispersed.is_none() && found.counts);
    }
}

#[test]
fn over_dispersed_counts_are_split_with_their_own_size() {
    let (v, _) = planted(1, (40, 80), 4, 4000.0, 5.0);
    let found = of(&v, 9);
    let dispersion = found.dispersion.unwrap();
    assert!(dispersion.is_over() && (3.0..8.0).contains(&dispersion.size), "{dispersion:?}");
    let (poisson, own) = (found.poisson.as_ref().unwrap(), found.over_dispersed.as_ref().unwrap());
    assert!(own.best < poisson.best, "{} {}", own.best, poisson.best);
    let (low, high) = found.range().unwrap();
    assert!(low <= 4 && 4 <= high && high - low <= 2, "{low} to {high}");
}

#[test]
fn the_dispersion_is_defined_for_tiny_means_in_every_storage() {
    // The mean of the first entry is 1e-320.
    let (w, h) = (Mat::from_rows(&[&[1e-160], &[1.0]]), Mat::from_rows(&[&[1e-160, 5.0]]));
    let v = Mat::from_rows(&[&[0.0, 0.0], &[0.0, 5.0]]);
    let found = Dispersion::measure((&v).into(), &w, &h);
    assert!(found.criterion.is_finite() && found.phi.is_finite(), "{found:?}");
    let across = Dispersion::measure(Matrix::from(&v).transpose(), &h.transpose(), &w.transpose());
    let sparse = Dispersion::measure((&Sparse::from_dense(&v)).into(), &w, &h);
    assert_eq!((found, found), (across, sparse));
}

#[test]
fn dense_and_sparse_give_the_same_range() {
    let (v, _) = planted(2, (30, 50), 3, 500.0, f64::INFINITY);
    let settings = RankSettings { ranks: (1..=5).collect(), replicates: 2, ..RankSettings::default() };
    let sparse = Sparse::from_dense(&v);
    let found = rank(&Fits::in_memory((&sparse).into()).unwrap(), &settings).unwrap();
    assert_eq!(found.range(), rank(&Fits::in_memory((&v).into()).unwrap(), &settings).unwrap().range());
}

#[test]
fn what_is_not_counts_is_judged_by_stability() {
    let (mut v, _) = planted(3, (30, 40), 3, 3000.0, f64::INFINITY);
    v.as_mut_slice().iter_mut().for_each(|x| *x *= 0.37);
    let found = of(&v, 5);
    assert!(!found.counts && found.choice().is_none() && found.dispersion.is_none());
    assert_eq!(found.range(), Some((3, 3)));
    let settings = RankSettings { ranks: vec![2], bootstrap: true, ..RankSettings::default() };
    let error = rank(&Fits::in_memory((&v).into()).unwrap(), &settings).unwrap_err().to_string();
    assert!(error.contains("does not hold counts"), "{error}");
}

#[test]
fn edges_are_defined() {
    // Ranks above min(n, m), identical columns, empty rows and columns, nothing at all, a single entry.
    let twins = Mat::from_fn(5, 8, |i, _| if i == 2 { 0.0 } else { (10 * i) as f64 });
    let mut gap = planted(6, (6, 7), 2, 100.0, f64::INFINITY).0;
    gap.col_mut(3).fill(0.0);
    (0..7).for_each(|j| gap[(1, j)] = 0.0);
    for v in [twins, gap, Mat::zeros(3, 4), Mat::from_rows(&[&[7.0]])] {
        let most = 8.min(v.rows() * v.cols());
        let found = of(&v, most);
        assert_eq!(found.rows.len(), most);
        let choice = found.choice().unwrap();
        assert!(choice.totals.iter().chain(&choice.errors).all(|x| x.is_finite()));
        assert!(found.rows.iter().all(|row| row.fit.divergence.is_finite()));
    }
    let v = Mat::from_rows(&[&[7.0]]);
    let fits = Fits::in_memory((&v).into()).unwrap();
    let with = |ranks: Vec<usize>| rank(&fits, &RankSettings { ranks, ..RankSettings::default() });
    assert!(with(vec![]).is_err() && with(vec![0]).is_err() && with(vec![2]).is_err());
}
