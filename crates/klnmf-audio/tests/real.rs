//! Real recordings, where the environment variable `KLNMF_DATA` names the folder that holds them.

use klnmf_audio::{Stft, read};
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("KLNMF_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: KLNMF_DATA is not set");
    }
    folder
}

#[test]
fn the_recording_of_the_paper_has_its_shape() {
    let Some(folder) = folder() else { return };
    let sound = read(&folder.join("music/maple_leaf_rag_1916_11025.wav")).unwrap();
    assert!(sound.notes.is_empty() && sound.rate == 11025);
    let stft = Stft::for_rate(sound.rate).unwrap();
    let signal = sound.mono();
    let frames = stft.forward_unpadded(&signal);
    assert_eq!((frames.bins, frames.frames), (129, 11303));
    let back = stft.inverse(&stft.forward(&signal), signal.len());
    assert!(signal.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
}
