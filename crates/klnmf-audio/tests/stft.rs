//! Short-time spectra and the way back.

use crate::common::*;
use klnmf_audio::{Complex, Spectrum, Stft, WINDOW_MS, window_for};

const SHAPES: [(usize, usize); 9] =
    [(2, 1), (3, 1), (8, 4), (9, 4), (15, 7), (64, 10), (63, 17), (256, 128), (100, 1)];

#[test]
fn the_way_back_is_exact() {
    let mut click = vec![0.0; 500];
    click[0] = 1.0;
    click[499] = -1.0;
    let signals = [
        noise(1000, 1),
        vec![0.0; 300],
        click,
        vec![0.7],
        vec![],
        vec![0.1, -0.2],
        noise(777, 2),
        noise(8, 3),
    ];
    for (window, hop) in SHAPES {
        let stft = Stft::new(window, hop).unwrap();
        for signal in &signals {
            let frames = stft.forward(signal);
            assert_eq!((frames.bins, frames.frames), (stft.bins(), stft.frames(signal.len())));
            let back = stft.inverse(&frames, signal.len());
            assert!(distance(&back, signal) <= 1e-12, "window {window}, hop {hop}, {} samples", signal.len());
        }
    }
}

#[test]
fn a_frame_is_the_transform_of_weighted_samples() {
    let (window, hop) = (9, 4);
    let signal = noise(40, 4);
    let frames = Stft::new(window, hop).unwrap().forward(&signal);
    for j in 0..frames.frames {
        for k in 0..frames.bins {
            let mut sum = Complex::new(0.0, 0.0);
            for i in 0..window {
                let place = (j * hop + i).checked_sub(window - hop).and_then(|place| signal.get(place));
                let weight = (std::f64::consts::PI * (i as f64 + 0.5) / window as f64).sin();
                let turn = -std::f64::consts::TAU * (i * k) as f64 / window as f64;
                sum += Complex::from_polar(weight * place.unwrap_or(&0.0), turn);
            }
            assert!((sum - frames.data[j * frames.bins + k]).norm() < 1e-12);
        }
    }
}

#[test]
fn spectrograms_have_the_shapes_of_the_literature() {
    let stft = Stft::for_rate(11025).unwrap();
    assert_eq!((stft.window(), stft.hop()), (256, 128));
    // 131 seconds at 11025 Hz, as in the paper.
    let frames = stft.forward_unpadded(&vec![0.0; 1_446_912]);
    assert_eq!((frames.bins, frames.frames), (129, 11303));
    assert_eq!(stft.forward_unpadded(&[0.0; 255]).frames, 0);
    assert_eq!(stft.forward_unpadded(&[0.0; 256]).frames, 1);
    assert_eq!(stft.forward_unpadded(&[0.0; 383]).frames, 1);
    // Those without padding are among those with it.
    let signal = noise(2000, 5);
    let (all, inner) = (stft.forward(&signal), stft.forward_unpadded(&signal));
    assert_eq!(all.data[129..][..inner.data.len()], inner.data);
}

#[test]
fn power_is_magnitude_squared() {
    let (stft, signal) = (Stft::new(16, 8).unwrap(), noise(100, 6));
    let frames = stft.forward(&signal);
    let (power, magnitude) = (frames.power(), frames.magnitude());
    assert_eq!(power, stft.spectrogram(&signal, Spectrum::Power));
    assert_eq!(magnitude, stft.spectrogram(&signal, Spectrum::Magnitude));
    assert_eq!((power.rows(), power.cols()), (9, frames.frames));
    for (p, m) in power.as_slice().iter().zip(magnitude.as_slice()) {
        assert!((p - m * m).abs() <= 1e-13 * p);
    }
    assert_eq!(power[(3, 2)], frames.data[2 * 9 + 3].norm_sqr());
}

#[test]
fn windows_are_even_and_near_their_time() {
    assert_eq!(window_for(11025, WINDOW_MS), 256);
    assert_eq!(window_for(44100, WINDOW_MS), 1024);
    assert_eq!(window_for(16000, WINDOW_MS), 372);
    assert_eq!(window_for(1, WINDOW_MS), 2);
}

#[test]
fn impossible_windows_are_errors() {
    for (window, hop) in [(0, 0), (1, 1), (8, 0), (8, 5), (9, 5), (usize::MAX, 1)] {
        let error = Stft::new(window, hop).err().unwrap().to_string();
        assert!(error.contains("possible") && !error.contains('\n'), "{error}");
    }
}
