//! BSS Eval against the reference implementation, and what must hold of any measure.

use crate::common::*;
use klnmf_audio::{TAPS, evaluate, si_sdr};

fn sources(count: usize, len: usize) -> Vec<Vec<f64>> {
    (0..count).map(|j| source(len, j as u64)).collect()
}

/// Each source delayed by 3 samples, with some of the next one and noise; in reverse order.
fn estimates(sources: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let estimate = |j: usize| {
        let (own, next) = (&sources[j], &sources[(j + 1) % sources.len()]);
        let late = std::iter::repeat_n(&0.0, 3).chain(own);
        let rest = next.iter().zip(noise(own.len(), 100 + j as u64));
        late.zip(rest).map(|(own, (next, noise))| own + 0.1 * (j + 1) as f64 * next + 0.05 * noise).collect()
    };
    (0..sources.len()).rev().map(estimate).collect()
}

/// Sources, samples, taps; then estimate, SDR, SIR, SAR of each source. Printed by mir_eval_values.py.
type Case = (usize, usize, usize, &'static [(usize, f64, f64, f64)]);

#[rustfmt::skip]
const MIR_EVAL: [Case; 4] = [
    (1, 2000, 512, &[
        (0, 24.890483062, f64::INFINITY, 24.890483062),
    ]),
    (2, 4000, 512, &[
        (1, 18.723296474, 20.174317156, 24.231254318),
        (0, 13.619472352, 13.994933607, 24.607779395),
    ]),
    (3, 3000, 64, &[
        (2, 18.459853068, 20.139728361, 23.439674791),
        (1, 13.609392725, 14.084047328, 23.624979644),
        (0, 10.224881572, 10.472318316, 23.164263287),
    ]),
    (2, 300, 1, &[
        (1, 7.651608988, 17.957840623, 8.145405905),
        (0, 0.912740751, 12.178288946, 1.505359723),
    ]),
];

#[test]
fn the_values_are_those_of_mir_eval() {
    for (count, len, taps, values) in MIR_EVAL {
        let references = sources(count, len);
        let scores = evaluate(&references, &estimates(&references), taps).unwrap();
        for (score, (estimate, sdr, sir, sar)) in scores.iter().zip(values) {
            assert_eq!(score.estimate, *estimate);
            assert!((score.sdr - sdr).abs() < 1e-6, "SDR {} but {sdr}", score.sdr);
            assert!(score.sir == *sir || (score.sir - sir).abs() < 1e-6, "SIR {} but {sir}", score.sir);
            assert!((score.sar - sar).abs() < 1e-6, "SAR {} but {sar}", score.sar);
        }
    }
}

#[test]
fn si_sdr_forgives_loudness_only() {
    // The error 0.1·n is orthogonal to s, so the ratio is that of their energies: 20 dB.
    let (s, n) = ([1.0, 1.0, -1.0, 1.0], [1.0, -1.0, 1.0, 1.0]);
    let estimate: Vec<f64> = s.iter().zip(n).map(|(s, n)| 3.0 * (s + 0.1 * n)).collect();
    assert!((si_sdr(&s, &estimate) - 20.0).abs() < 1e-9);
    assert_eq!(si_sdr(&s, &s), f64::INFINITY);
    assert_eq!(si_sdr(&s, &n), f64::NEG_INFINITY);
    assert!(si_sdr(&[0.0; 4], &s).is_nan() && si_sdr(&s, &[0.0; 4]).is_nan());
    let references = sources(2, 1000);
    let scores = evaluate(&references, &estimates(&references), 16).unwrap();
    assert_eq!(scores[0].si_sdr, si_sdr(&references[0], &estimates(&references)[1]));
}

#[test]
fn perfect_and_filtered_estimates_are_nearly_faultless() {
    let references = sources(3, 3000);
    // In another order, and louder.
    let perfect: Vec<Vec<f64>> =
        [2, 0, 1].iter().map(|j: &usize| references[*j].iter().map(|x| 3.0 * x).collect()).collect();
    let scores = evaluate(&references, &perfect, TAPS).unwrap();
    assert_eq!(scores.iter().map(|score| score.estimate).collect::<Vec<_>>(), [1, 2, 0]);
    assert!(
        scores.iter().all(|score| score.sdr > 150.0 && score.sir > 150.0 && score.sar > 150.0),
        "{scores:?}"
    );
    // An echo is a filter, if its tail is not cut off.
    let mut quiet = references.clone();
    quiet.iter_mut().for_each(|signal| signal[2900..].fill(0.0));
    let echo = |x: &Vec<f64>| (0..3000).map(|i| x[i] + if i >= 50 { 0.5 * x[i - 50] } else { 0.0 }).collect();
    let echoes: Vec<Vec<f64>> = quiet.iter().map(echo).collect();
    assert!(evaluate(&quiet, &echoes, 51).unwrap().iter().all(|score| score.sdr > 150.0));
    assert!(evaluate(&quiet, &echoes, 50).unwrap().iter().all(|score| score.sdr < 50.0));
}

#[test]
fn singular_references_have_finite_scores() {
    // Pure tones, whose delays are but two-dimensional, and one of them twice.
    let tone = |hz: f64| (0..2000).map(|i| (hz * f64::from(i)).sin()).collect::<Vec<f64>>();
    let references = [tone(0.1), tone(0.1), tone(0.31)];
    let mixed: Vec<Vec<f64>> = references
        .iter()
        .map(|x| x.iter().zip(noise(2000, 9)).map(|(x, n)| x + 0.01 * n).collect())
        .collect();
    for score in evaluate(&references, &mixed, 64).unwrap() {
        assert!(score.sdr.is_finite() && score.sdr > 20.0, "{score:?}");
        assert!(!score.sir.is_nan() && score.sar.is_finite(), "{score:?}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let references = sources(3, 2000);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| evaluate(&references, &estimates(&references), 100).unwrap())
    };
    assert_eq!(with(1), with(5));
}

#[test]
fn what_cannot_be_judged_is_an_error() {
    let good = sources(2, 100);
    let with = |signal: Vec<f64>| vec![good[0].clone(), signal];
    for (references, estimates, taps, why) in [
        (with(vec![0.0; 100]), good.clone(), 8, "reference 1 (counting from 0) is silent"),
        (good.clone(), with(vec![0.0; 100]), 8, "estimate 1 (counting from 0) is silent"),
        (good.clone(), with(vec![f64::NAN; 100]), 8, "estimate 1 (counting from 0) is not finite"),
        (
            good.clone(),
            with(vec![1.0; 99]),
            8,
            "estimate 1 (counting from 0) has 99 samples but reference 0 has 100",
        ),
        (good.clone(), good[..1].to_vec(), 8, "2 references but 1 estimates"),
        (vec![], vec![], 8, "sources = 0"),
        (good.clone(), good.clone(), 0, "taps = 0"),
        (good.clone(), good.clone(), 9000, "taps = 9000"),
    ] {
        let error = evaluate(&references, &estimates, taps).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
}
