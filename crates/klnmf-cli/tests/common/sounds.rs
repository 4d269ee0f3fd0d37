//! Sounds to separate, and what became of them.

use super::Place;
use klnmf_audio::{Sound, WavFormat, read, write_wav};

/// Two seconds of two of the built-in instruments and their sum, on two channels of different loudness.
pub fn duo(place: &Place) -> [Sound; 3] {
    let parts = klnmf_audio::ensemble(2.0, 8000, 3).unwrap();
    let stereo = |sound: &Sound| {
        let quiet = sound.channels[0].iter().map(|x| 0.5 * x).collect();
        Sound::new(8000, vec![sound.channels[0].clone(), quiet]).unwrap()
    };
    let (a, b) = (stereo(&parts[2].1), stereo(&parts[3].1));
    let sum = |c: usize| a.channels[c].iter().zip(&b.channels[c]).map(|(x, y)| x + y).collect();
    let mix = Sound::new(8000, vec![sum(0), sum(1)]).unwrap();
    for (name, sound) in [("flute.wav", &a), ("bass.wav", &b), ("mix.wav", &mix)] {
        write_wav(&place.path(name), sound, WavFormat::Float32).unwrap();
    }
    [a, b, mix]
}

/// The stems that the summary names, read back.
pub fn stems(place: &Place, folder: &str, found: &serde_json::Value) -> Vec<Sound> {
    let files = found["files"].as_array().unwrap();
    files.iter().map(|file| read(&place.path(folder).join(file.as_str().unwrap())).unwrap()).collect()
}

/// The largest difference between the sum of the stems and the sound, relative to its peak.
pub fn distance(stems: &[Sound], sound: &Sound) -> f64 {
    let peak = sound.channels.iter().flatten().fold(1e-9f64, |m, x| m.max(x.abs()));
    let mut worst = 0.0f64;
    for (c, channel) in sound.channels.iter().enumerate() {
        for (i, x) in channel.iter().enumerate() {
            let sum: f64 = stems.iter().map(|stem| stem.channels[c][i]).sum();
            worst = worst.max((sum - x).abs() / peak);
        }
    }
    worst
}
