//! Other rates.

use klnmf_audio::Sound;
use std::f64::consts::TAU;

fn sine(frequency: f64, rate: u32, len: usize) -> Vec<f64> {
    (0..len).map(|i| (TAU * frequency * i as f64 / f64::from(rate)).sin()).collect()
}

/// A tone that both rates hold, over whole periods, is the same tone.
#[test]
fn tones_keep_their_pitch_and_strength() {
    for (from, to) in [(8000, 11025), (11025, 8000), (16000, 48000), (44100, 44100)] {
        let sound = Sound::new(from, vec![sine(440.0, from, from as usize); 2]).unwrap();
        let other = sound.resampled(to).unwrap();
        assert_eq!((other.rate, other.len(), other.channels.len()), (to, to as usize, 2));
        let exact = sine(440.0, to, to as usize);
        let error = other.channels[1].iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-9, "{from} {to}: {error}");
    }
}

#[test]
fn there_and_back_is_the_same_sound() {
    // Below the lower rate's limit nothing is lost.
    let sound = Sound::new(8000, vec![sine(1000.0, 8000, 801)]).unwrap();
    let back = sound.resampled(24_000).unwrap().resampled(8000).unwrap();
    assert_eq!(back.len(), 801);
    assert!(back.channels[0].iter().zip(&sound.channels[0]).all(|(a, b)| (a - b).abs() < 1e-9));
    assert!(sound.resampled(0).is_err());
    assert_eq!(Sound::new(8000, vec![vec![0.5]]).unwrap().resampled(100).unwrap().len(), 1);
}

/// The highest frequency of an even length, (−1)ⁿ, keeps its strength.
#[test]
fn the_highest_frequency_is_not_doubled() {
    let highest = (0..800).map(|i| if i % 2 == 0 { 0.4 } else { -0.4 }).collect();
    let other = Sound::new(8000, vec![highest]).unwrap().resampled(16_000).unwrap();
    let peak = other.channels[0].iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert!((peak - 0.4).abs() < 1e-9, "{peak}");
}
