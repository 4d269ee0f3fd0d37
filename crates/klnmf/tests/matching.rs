//! The assignment against all permutations, and cosines at the edges.

use crate::common::Random;
use klnmf::{Mat, assign, cosine, cosines, match_parts};

/// The largest sum over all ways to give every row its own column, by trying them all.
fn best_sum(values: &Mat<f64>, row: usize, used: &mut [bool]) -> f64 {
    if row == values.rows() {
        return 0.0;
    }
    let mut best = f64::NEG_INFINITY;
    for j in 0..values.cols() {
        if !used[j] {
            used[j] = true;
            best = best.max(values[(row, j)] + best_sum(values, row + 1, used));
            used[j] = false;
        }
    }
    best
}

#[test]
fn no_other_assignment_has_a_larger_sum() {
    let mut random = Random(5);
    for (n, m) in [(1, 1), (2, 2), (3, 5), (5, 5), (6, 7), (7, 7)] {
        for case in 0..20 {
            // Rounded values have many ties.
            let round = |x: f64| if case % 2 == 0 { (4.0 * x).round() } else { 2.0 * x - 1.0 };
            let values = Mat::from_fn(n, m, |_, _| round(random.uniform()));
            let found = assign(&values);
            let sum: f64 = found.iter().enumerate().map(|(i, j)| values[(i, j.unwrap())]).sum();
            let best = best_sum(&values, 0, &mut vec![false; m]);
            assert!((sum - best).abs() < 1e-12, "{n} × {m}: {sum} instead of {best}");
            let mut columns: Vec<usize> = found.iter().flatten().copied().collect();
            columns.sort_unstable();
            columns.dedup();
            assert_eq!(columns.len(), n);
            // The same for more rows than columns, where some rows have no partner.
            let turned = assign(&values.transpose());
            let sum: f64 = turned.iter().enumerate().filter_map(|(j, i)| Some(values[((*i)?, j)])).sum();
            assert!((sum - best).abs() < 1e-12 && turned.iter().flatten().count() == n);
        }
    }
}

#[test]
fn a_greedy_choice_would_be_wrong() {
    let values = Mat::from_rows(&[&[1.0, 0.9], &[0.9, 0.1]]);
    assert_eq!(assign(&values), [Some(1), Some(0)]);
}

#[test]
fn permuted_parts_find_their_partners() {
    let mut random = Random(1);
    let (r, turn) = (40, |k: usize| (7 * k + 3) % 40);
    let a = Mat::from_fn(30, r, |_, _| random.uniform());
    let b = Mat::from_fn(30, r, |i, k| 5.0 * a[(i, turn(k))]);
    for m in match_parts(&b, &a).unwrap() {
        assert_eq!(m.second, turn(m.first));
        assert!((m.cosine - 1.0).abs() < 1e-14);
    }
}

#[test]
fn edges_are_defined() {
    assert_eq!(cosine(&[0.0, 0.0], &[1.0, 2.0]), 0.0);
    assert!((cosine(&[1e200, 1e200], &[1e-200, 1e-200]) - 1.0).abs() < 1e-15);
    let (none, one) = (Mat::zeros(2, 0), Mat::from_rows(&[&[1.0], &[0.0]]));
    assert!(match_parts(&none, &one).unwrap().is_empty() && match_parts(&one, &none).unwrap().is_empty());
    let error = match_parts(&one, &Mat::zeros(3, 1)).unwrap_err().to_string();
    assert!(error.contains("2 and with 3 features"), "{error}");
    let bad = Mat::from_rows(&[&[f64::NAN], &[0.0]]);
    assert!(cosines(&bad, &one).is_err());
}
