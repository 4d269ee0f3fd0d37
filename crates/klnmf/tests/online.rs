//! Learning from a stream of blocks.

use klnmf::{
    DecomposeSettings, Error, Mat, Online, OnlineSettings, OnlineState, Settings, Sparse, Status, decompose,
    factorize,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Counts of 40 features in `cols` samples, which mix four parts. `shift` moves the parts.
fn block(number: usize, cols: usize, shift: usize) -> Mat<f64> {
    let noise = |n: usize| ((n * 7919 + 13) % 1009) as f64 / 1009.0;
    Mat::from_fn(40, cols, |i, j| {
        let sample = number * cols + j;
        let weight = |k: usize| 30.0 * noise(sample * 131 + k * 977).powi(4);
        let part = |k: usize| if (i + shift) % 40 / 10 == k { 0.5 + noise(i * 57 + k) } else { 0.02 };
        let mean: f64 = (0..4).map(|k| weight(k) * part(k)).sum();
        (mean + noise(sample * 41 + i * 331)).floor()
    })
}

/// The divergence of all blocks at their best weights.
fn divergence(w: &Mat<f64>, blocks: &[Mat<f64>]) -> f64 {
    let settings = DecomposeSettings::default();
    blocks.iter().map(|v| decompose(v, w, &settings).unwrap().divergence()).sum()
}

fn stream(blocks: &[Mat<f64>], settings: OnlineSettings) -> Online {
    let mut online = Online::new(4, settings).unwrap();
    blocks.iter().for_each(|v| drop(online.push(v).unwrap()));
    online
}

#[test]
fn two_passes_come_close_to_the_batch() {
    let blocks: Vec<_> = (0..25).map(|number| block(number, 20, 0)).collect();
    let all = Mat::from_fn(40, 500, |i, j| blocks[j / 20][(i, j % 20)]);
    let batch = factorize(&all, 4, &Settings::default()).unwrap().info.divergence;
    let mut online = stream(&blocks, OnlineSettings::default());
    let once = divergence(&online.dictionary(), &blocks);
    blocks.iter().for_each(|v| drop(online.push(v).unwrap()));
    let twice = divergence(&online.dictionary(), &blocks);
    assert!(once < 1.1 * batch && twice < 1.05 * batch, "{once} and {twice} for {batch}");
    assert!(online.dictionary().col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
}

/// The weights are those of a decomposition with the parts as they were, and their gaps are true.
#[test]
fn weights_are_certified() {
    let mut online = stream(&[block(0, 20, 0)], OnlineSettings::default());
    let (v, w) = (block(1, 20, 0), online.dictionary());
    let found = online.push(&v).unwrap();
    let best = decompose(&v, &w, &DecomposeSettings { tol: 1e-10, ..Default::default() }).unwrap();
    assert!(found.columns.iter().all(|column| column.converged));
    for (found, best) in found.columns.iter().zip(&best.columns) {
        assert!(found.divergence - found.gap <= best.divergence * (1.0 + 1e-9));
    }
    assert_ne!(online.dictionary(), w);
}

#[test]
fn the_same_bits_on_any_threads_after_a_pause_and_for_sparse_blocks() {
    let blocks: Vec<_> = (0..6).map(|number| block(number, 70, 0)).collect();
    let with = |threads| {
        let weights = DecomposeSettings { threads, ..OnlineSettings::default().weights };
        OnlineSettings { weights, ..OnlineSettings::default() }
    };
    let want = stream(&blocks, with(1));
    assert_eq!(stream(&blocks, with(3)).state(), want.state());
    let state = stream(&blocks[..3], with(1)).state().clone();
    let mut resumed = Online::resume(state, with(2)).unwrap();
    blocks[3..].iter().for_each(|v| drop(resumed.push(v).unwrap()));
    assert_eq!(resumed.state(), want.state());
    let mut sparse = Online::new(4, with(2)).unwrap();
    blocks.iter().for_each(|v| drop(sparse.push(&Sparse::from_dense(v)).unwrap()));
    let (a, b) = (sparse.dictionary(), want.dictionary());
    assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-3), "dense and sparse");
}

#[test]
fn features_may_appear_and_never_vanish() {
    let few = |number: usize, rows: usize| Mat::from_fn(rows, 20, |i, j| block(number, 20, 0)[(i, j)]);
    let mut online = Online::new(4, OnlineSettings::default()).unwrap();
    (0..5).for_each(|number| drop(online.push(&few(number, 25)).unwrap()));
    assert_eq!(online.dictionary().rows(), 25);
    (5..30).for_each(|number| drop(online.push(&few(number, 40)).unwrap()));
    let blocks: Vec<_> = (0..25).map(|number| block(number, 20, 0)).collect();
    let straight = divergence(&stream(&blocks, OnlineSettings::default()).dictionary(), &blocks);
    let found = divergence(&online.dictionary(), &blocks);
    assert!(found < 1.1 * straight, "{found} for {straight}");
    let before = online.state().clone();
    assert!(matches!(online.push(&few(0, 25)), Err(Error::Shape(_))));
    // A row that is zero for a while can still be explained afterwards.
    let holed = Mat::from_fn(40, 20, |i, j| if i == 3 { 0.0 } else { block(1, 20, 0)[(i, j)] });
    assert_eq!(online.state(), &before, "a failure teaches nothing");
    (0..50).for_each(|_| drop(online.push(&holed).unwrap()));
    assert!(online.push(&block(2, 20, 0)).unwrap().divergence().is_finite());
}

/// The order of the blocks hardly matters, and the precision of the data does not.
#[test]
fn any_order_and_precision_ends_alike() {
    let blocks: Vec<_> = (0..50).map(|number| block(number % 25, 20, 0)).collect();
    let found = |order: &dyn Fn(usize) -> usize| {
        let mut online = Online::new(4, OnlineSettings::default()).unwrap();
        (0..50).for_each(|t| drop(online.push(&blocks[order(t)]).unwrap()));
        divergence(&online.dictionary(), &blocks[..25])
    };
    let straight = found(&|t| t);
    for other in [found(&|t| 49 - t), found(&|t| t * 17 % 50), found(&|t| t * 31 % 50)] {
        assert!((other - straight).abs() < 0.01 * straight, "{other} and {straight}");
    }
    let mut single = Online::new(4, OnlineSettings::default()).unwrap();
    blocks.iter().for_each(|v| drop(single.push(&v.cast::<f32>()).unwrap()));
    let single = divergence(&single.dictionary(), &blocks[..25]);
    assert!((single - straight).abs() < 1e-3 * straight, "{single} and {straight}");
}

/// After the parts have moved, a stream that forgets describes the new ones better.
#[test]
fn forgetting_follows_drift() {
    let mut blocks: Vec<_> = (0..60).map(|number| block(number, 20, 0)).collect();
    blocks.extend((60..70).map(|number| block(number, 20, 5)));
    let of = |forgetting| {
        let online = stream(&blocks, OnlineSettings { forgetting, ..OnlineSettings::default() });
        divergence(&online.dictionary(), &blocks[60..])
    };
    let (forgets, remembers) = (of(0.3), of(0.0));
    assert!(forgets < 0.95 * remembers, "{forgets} against {remembers}");
}

#[test]
fn refusals_and_empty_blocks() {
    assert!(Online::new(0, OnlineSettings::default()).is_err());
    assert!(Online::new(1, OnlineSettings { forgetting: 1.5, ..OnlineSettings::default() }).is_err());
    let mut online = Online::new(2, OnlineSettings::default()).unwrap();
    assert_eq!(online.push(&Mat::<f64>::zeros(3, 4)).unwrap().divergence(), 0.0);
    assert!(matches!(online.push(&Mat::from_rows(&[&[1.0, -2.0]])), Err(Error::Negative(_))));
    assert_eq!(online.state().blocks, 0);
    online.push(&block(0, 20, 0)).unwrap();
    let mut state = online.state().clone();
    state.features.pop();
    assert!(matches!(Online::resume(state, OnlineSettings::default()), Err(Error::State(_))));
    let mut endless = online.state().clone();
    endless.features[0] = f64::INFINITY;
    assert!(matches!(Online::resume(endless, OnlineSettings::default()), Err(Error::State(_))));
    let mut huge = online.state().clone();
    huge.parts = Mat::from_fn(2, 40, |_, _| 1e308);
    assert!(matches!(Online::resume(huge, OnlineSettings::default()), Err(Error::State(_))));
    let nothing = OnlineState { parts: Mat::zeros(2, 3), features: vec![0.0; 3], ..online.state().clone() };
    assert!(matches!(Online::resume(nothing, OnlineSettings::default()), Err(Error::State(_))));
    // A state without parts is refused, one with a single part is not.
    let of = |rank| OnlineState { parts: Mat::zeros(rank, 0), features: vec![], ..online.state().clone() };
    assert!(matches!(Online::resume(of(0), OnlineSettings::default()), Err(Error::State(_))));
    assert!(Online::resume(of(1), OnlineSettings::default()).is_ok());
}

/// The weights of columns that were not reached are those of the start.
#[test]
fn a_stopped_block_teaches_nothing() {
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let weights = DecomposeSettings { stop, ..DecomposeSettings::default() };
    let mut online = Online::new(2, OnlineSettings { weights, ..OnlineSettings::default() }).unwrap();
    assert_eq!(online.push(&block(0, 20, 0)).unwrap().status, Status::Stopped);
    assert_eq!(online.state().blocks, 0);
}

#[test]
fn a_small_feature_keeps_its_parts_in_f32() {
    let mut online = Online::new(2, OnlineSettings::default()).unwrap();
    // Its share of V is below the smallest number of f32.
    let v = Mat::from_rows(&[&[1e30f32, 2e30], &[1e-20, 3e-20]]);
    let found = online.push(&v).unwrap();
    assert!(found.columns.iter().all(|c| c.divergence.is_finite() && c.gap.is_finite()));
}
