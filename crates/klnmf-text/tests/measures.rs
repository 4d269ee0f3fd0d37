//! Coherence, and parting counts for document completion.

use crate::common::*;
use klnmf::{Mat, Matrix, Order, Sparse};
use klnmf_text::{hold_out, npmi};

/// Some counts of 40 words in 150 documents, more than two blocks of 64 and not a multiple.
fn counts() -> Mat<f64> {
    let value = |i: usize, j: usize| (i * i * 7 + j * j * 3 + i * j * 11) % 17;
    Mat::from_fn(40, 150, |i, j| value(i, j).saturating_sub(11 + i % 4) as f64)
}

fn by_rows(counts: &Sparse<f64>) -> Sparse<f64> {
    let reordered = Sparse::reordered(counts.view()).unwrap();
    assert_eq!(reordered.view().order(), Order::Rows);
    reordered
}

/// The formula, word for word.
fn brute_force(counts: &Mat<f64>, words: &[usize]) -> Option<f64> {
    let documents = counts.cols();
    let share = |holds: &dyn Fn(usize) -> bool| {
        (0..documents).filter(|&document| holds(document)).count() as f64 / documents as f64
    };
    let (mut sum, mut pairs) = (0.0, 0.0);
    for a in 0..words.len() {
        for b in a + 1..words.len() {
            let (i, j) = (words[a], words[b]);
            let with = |word: usize, document: usize| counts[(word, document)] > 0.0;
            let both = share(&|document| with(i, document) && with(j, document));
            let apart = share(&|document| with(i, document)) * share(&|document| with(j, document));
            sum += match both {
                0.0 => -1.0,
                1.0 => 1.0,
                both => (both / apart).ln() / -both.ln(),
            };
            pairs += 1.0;
        }
    }
    (pairs > 0.0).then_some(sum / pairs)
}

#[test]
fn coherence_is_what_the_formula_says() {
    let dense = counts();
    let sparse = Sparse::from_dense(&dense);
    let top: Vec<Vec<usize>> =
        (0..12).map(|topic| (0..topic).map(|k| (topic * 5 + k * 3) % 40).collect()).collect();
    let found = npmi(&sparse, &top);
    let mut seen = Vec::new();
    for (words, value) in top.iter().zip(&found) {
        match (value, brute_force(&dense, words)) {
            (None, None) => assert!(words.len() < 2),
            (Some(value), Some(expected)) => {
                assert!((value - expected).abs() < 1e-12, "{words:?}: {value} ≠ {expected}");
                seen.push(*value);
            }
            pair => panic!("{words:?}: {pair:?}"),
        }
    }
    assert!(seen.len() == 10 && seen.iter().any(|value| *value > -1.0 && *value != seen[0]), "{seen:?}");
    // Storage does not matter.
    assert_eq!(npmi(&by_rows(&sparse), &top), found);
    assert_eq!(npmi(&dense, &top), found);
}

#[test]
fn coherence_at_the_limits() {
    let counts = Mat::from_rows(&[
        &[1.0, 3.0, 1.0, 1.0],
        &[2.0, 1.0, 1.0, 5.0],
        &[1.0, 2.0, 0.0, 0.0],
        &[0.0, 0.0, 1.0, 1.0],
        &[1.0, 0.0, 1.0, 0.0],
        &[0.0; 4],
        &[4.0, 1.0, 0.0, 0.0],
    ]);
    let of = |words: &[usize]| npmi(&counts, &[words.to_vec()])[0];
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[3]), None);
    assert_eq!(of(&[0, 1]), Some(1.0), "both words in every document");
    assert_eq!(of(&[2, 6]), Some(1.0), "only together");
    assert_eq!(of(&[2, 3]), Some(-1.0), "never together");
    assert_eq!(of(&[2, 4]), Some(0.0), "independent");
    assert_eq!(of(&[0, 5]), Some(-1.0), "a word that occurs nowhere");
    assert_eq!(of(&[0, 99]), Some(-1.0), "a word that does not exist");
    let empty = Matrix::dense(2, 0, Order::Columns, &[0.0f64; 0]).unwrap();
    assert_eq!(npmi(empty, &[vec![0, 1]]), [Some(-1.0)]);
    assert!(npmi(&counts, &[]).is_empty());
}

#[test]
fn the_parts_make_the_whole() {
    let mut whole = counts();
    whole[(3, 3)] = 10.1;
    whole[(4, 4)] = 0.7;
    let counts = Sparse::from_dense(&whole);
    let (train, held) = hold_out(&counts, 0.3, 7).unwrap();
    let (train_dense, held_dense) = (train.to_dense(), held.to_dense());
    for j in 0..whole.cols() {
        for i in 0..whole.rows() {
            let (train, held) = (train_dense[(i, j)], held_dense[(i, j)]);
            assert_eq!(train + held, whole[(i, j)]);
            assert!(train >= 0.0 && held >= 0.0 && held.fract() == 0.0);
        }
    }
    assert_eq!(held_dense[(4, 4)], 0.0);
    assert!(held.nnz() > 0 && held.nnz() < counts.nnz());
    assert_eq!(train.view().nnz(), train.nnz(), "zeros are not stored");
}

#[test]
fn the_parts_depend_on_the_seed_only() {
    let counts = Sparse::from_dense(&counts());
    let parts = hold_out(&counts, 0.5, 1).unwrap();
    assert_eq!(hold_out(&counts, 0.5, 1).unwrap(), parts);
    assert_eq!(hold_out(&by_rows(&counts), 0.5, 1).unwrap(), parts);
    assert_ne!(hold_out(&counts, 0.5, 2).unwrap(), parts);
}

#[test]
fn the_share_is_kept() {
    let counts = Sparse::from_dense(&Mat::from_fn(10, 100, |_, _| 100.0));
    for share in [0.0, 0.1, 0.5, 1.0] {
        let (train, held) = hold_out(&counts, share, 3).unwrap();
        // Six standard deviations of the number of successes in 100 000 trials, and of one entry in 100.
        let near = |found: f64, trials: f64| {
            (found - share * trials).abs() <= 6.0 * (trials * share * (1.0 - share)).sqrt()
        };
        assert!(near(held.view().sum(), 1e5), "{share}: {}", held.view().sum());
        assert!(held.to_dense().as_slice().iter().all(|count| near(*count, 100.0)));
        assert_eq!(train.view().sum() + held.view().sum(), 1e5);
        // Occurrences are drawn one by one, so entries differ.
        let first = held.to_dense()[(0, 0)];
        let same = held.to_dense().as_slice().iter().all(|count| *count == first);
        assert_eq!(same, share == 0.0 || share == 1.0);
    }
}

#[test]
fn what_cannot_be_parted() {
    let counts = |value| Sparse::from_dense(&Mat::from_rows(&[&[value]]));
    for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let message = message(hold_out(&counts(1.0), share, 0));
        assert!(message.contains("must lie between 0 and 1"), "{message}");
    }
    assert!(message(hold_out(&counts(-1.0), 0.5, 0)).contains("negative"));
    assert!(message(hold_out(&counts(f64::NAN), 0.5, 0)).contains("not a finite number"));
}

/// A draw for each of so many occurrences would never end; mean and spread are those of the draws all the
/// same.
#[test]
fn large_counts_are_parted_at_once() {
    let (train, held) = hold_out(&Sparse::from_dense(&Mat::from_rows(&[&[1e300]])), 0.25, 0).unwrap();
    assert!(
        (held.view().sum() / 1e300 - 0.25).abs() < 1e-9 && (train.view().sum() / 1e300 - 0.75).abs() < 1e-9
    );
    let count = 40_000.0;
    let counts = Sparse::from_dense(&Mat::from_fn(2000, 1, |_, _| count));
    let (train, held) = hold_out(&counts, 0.1, 1).unwrap();
    let taken = held.to_dense();
    let mean = taken.as_slice().iter().sum::<f64>() / 2000.0;
    let variance = taken.as_slice().iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2000.0;
    assert!((mean - 4000.0).abs() < 6.0 * (3600.0f64 / 2000.0).sqrt(), "{mean}");
    assert!((variance / 3600.0 - 1.0).abs() < 0.2, "{variance}");
    assert!(
        (0..2000).all(|i| taken[(i, 0)].fract() == 0.0 && taken[(i, 0)] + train.to_dense()[(i, 0)] == count)
    );
}
