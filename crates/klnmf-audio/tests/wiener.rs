//! Sources that add up to the sound.

use crate::common::*;
use klnmf::Mat;
use klnmf_audio::{Error, Sound, Stft, masks, separate, separate_by_blocks};

fn stereo(len: usize) -> Sound {
    Sound::new(8000, vec![noise(len, 1), source(len, 2)]).unwrap()
}

/// Factors with zeros, so that WH has zeros as well, and entries of very different sizes.
fn factors(stft: &Stft, len: usize, components: usize) -> (Mat<f64>, Mat<f64>) {
    let (bins, frames) = (stft.bins(), stft.frames(len));
    let mut w = noise(bins * components, 7).into_iter();
    let mut h = noise(components * frames, 8).into_iter();
    let w = Mat::from_fn(bins, components, |i, _| if i % 5 == 0 { 0.0 } else { w.next().unwrap().abs() });
    let h =
        Mat::from_fn(components, frames, |_, j| if j == 3 { 0.0 } else { (30.0 * h.next().unwrap()).exp() });
    (w, h)
}

fn groups() -> Vec<Vec<usize>> {
    vec![vec![0, 4], vec![1], vec![3, 2]]
}

#[test]
fn sources_add_up_to_the_sound() {
    for (window, hop, len) in [(64, 32, 5000), (65, 20, 5001), (256, 64, 100), (8, 4, 1)] {
        let stft = Stft::new(window, hop).unwrap();
        let sound = stereo(len);
        let (w, h) = factors(&stft, len, 5);
        let sources = separate(&sound, &stft, &w, &h, &groups()).unwrap();
        assert_eq!(sources.len(), 3);
        for c in 0..2 {
            let mut sum = vec![0.0; len];
            for source in &sources {
                assert_eq!((source.rate, source.channels.len(), source.len()), (8000, 2, len));
                sum.iter_mut().zip(&source.channels[c]).for_each(|(sum, x)| *sum += x);
            }
            assert!(distance(&sum, &sound.channels[c]) < 1e-12);
        }
    }
}

#[test]
fn sources_are_masked_frames() {
    let (stft, sound) = (Stft::new(64, 16).unwrap(), stereo(3000));
    let (w, h) = factors(&stft, 3000, 5);
    let masks = masks(&w, &h, &groups()).unwrap();
    let sources = separate(&sound, &stft, &w, &h, &groups()).unwrap();
    for (mask, source) in masks.iter().zip(&sources) {
        for (channel, separated) in sound.channels.iter().zip(&source.channels) {
            let mut frames = stft.forward(channel);
            frames.data.iter_mut().zip(mask.as_slice()).for_each(|(x, m)| *x *= m);
            assert!(distance(&stft.inverse(&frames, 3000), separated) < 1e-12);
        }
    }
}

#[test]
fn masks_are_shares() {
    let stft = Stft::new(64, 32).unwrap();
    let (w, h) = factors(&stft, 1000, 5);
    let masks = masks(&w, &h, &groups()).unwrap();
    for j in 0..h.cols() {
        for i in 0..w.rows() {
            let model = |ks: &[usize]| ks.iter().map(|k| w[(i, *k)] * h[(*k, j)]).sum::<f64>();
            let whole = model(&[0, 1, 2, 3, 4]);
            for (mask, group) in masks.iter().zip(groups()) {
                let share = if whole > 0.0 { model(&group) / whole } else { 1.0 / 3.0 };
                assert!((mask[(i, j)] - share).abs() < 1e-14);
            }
        }
    }
}

#[test]
fn factors_that_overflow_are_split_evenly() {
    let (w, h) = (Mat::from_fn(2, 2, |_, _| 1e200), Mat::from_fn(2, 1, |_, _| 1e200));
    let masks = masks(&w, &h, &[vec![0], vec![1]]).unwrap();
    assert!(masks.iter().all(|mask| mask.as_slice() == [0.5, 0.5]));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (stft, sound) = (Stft::new(64, 32).unwrap(), stereo(9000));
    let (w, h) = factors(&stft, 9000, 5);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| separate(&sound, &stft, &w, &h, &groups()).unwrap())
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(7));
}

#[test]
fn blocks_are_short_and_follow_each_other() {
    let (stft, sound) = (Stft::new(16, 8).unwrap(), stereo(20_000));
    let (w, h) = factors(&stft, 20_000, 5);
    let (mut longest, mut first) = (0, Vec::new());
    separate_by_blocks(&sound, &stft, &w, &h, &groups(), |blocks| {
        longest = longest.max(blocks[2][1].len());
        first.extend_from_slice(&blocks[0][0]);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert!(longest <= 64 * 8);
    assert_eq!(first, separate(&sound, &stft, &w, &h, &groups()).unwrap()[0].channels[0]);

    let mut calls = 0;
    let stopped: Result<(), Error> = separate_by_blocks(&sound, &stft, &w, &h, &groups(), |_| {
        calls += 1;
        Err(Error::Shape("enough".into()))
    });
    assert!(stopped.is_err() && calls == 1);
}

#[test]
fn nothing_comes_from_nothing() {
    let (stft, sound) = (Stft::new(16, 8).unwrap(), Sound::new(8000, vec![vec![]]).unwrap());
    let (w, h) = (Mat::zeros(9, 1), Mat::zeros(1, 0));
    assert!(separate(&sound, &stft, &w, &h, &[vec![0]]).unwrap()[0].is_empty());
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (stft, sound) = (Stft::new(64, 32).unwrap(), stereo(1000));
    let (w, h) = factors(&stft, 1000, 5);
    let mut negative = w.clone();
    negative[(2, 1)] = -1.0;
    let uneven = Sound { channels: vec![vec![0.0; 1000], vec![0.0; 999]], ..sound.clone() };
    let no_groups: [Vec<usize>; 0] = [];
    for (sound, w, h, groups, why) in [
        (&sound, &w, &h, &[vec![0, 1, 2, 3]][..], "component 4 (counting from 0) is in 0 sources"),
        (&sound, &w, &h, &[vec![0, 1, 2, 3, 4], vec![0]], "component 0 (counting from 0) is in 2 sources"),
        (&sound, &w, &h, &[vec![0, 1, 2, 3, 4, 5]], "component 5 (counting from 0) but there are 5"),
        (&sound, &w, &h, &no_groups, "component 0 (counting from 0) is in 0 sources"),
        (&sound, &w, &w, &groups(), "W is 33 × 5 but H has 33 rows"),
        (
            &sound,
            &w,
            &Mat::zeros(5, 7),
            &groups(),
            "WH is 33 × 7 but the spectrogram of the sound is 33 × 33",
        ),
        (&sound, &negative, &h, &groups(), "W[2, 1] = -1"),
        (&uneven, &w, &h, &groups(), "channel 1 (counting from 0) has 999 samples"),
    ] {
        let error = separate(sound, &stft, w, h, groups).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
}
