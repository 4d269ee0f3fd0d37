//! Signals by formula, the same in `mir_eval_values.py`.

#![allow(dead_code)]

/// White noise from −1 to 1 by SplitMix64.
pub fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Two sines and noise of a fifth of their strength, which keeps the correlations well conditioned.
pub fn source(len: usize, number: u64) -> Vec<f64> {
    let hz = 0.01 + 0.013 * number as f64;
    let tone = |i: usize| {
        let phase = std::f64::consts::TAU * hz * i as f64;
        0.5 * phase.sin() + 0.3 * (2.7 * phase + 1.0).sin()
    };
    noise(len, number + 1).iter().enumerate().map(|(i, n)| tone(i) + 0.1 * n).collect()
}

/// The largest difference of two signals of one length.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
