//! Real recordings, where the environment variable `KLNMF_DATA` names the folder that holds them.

use klnmf_audio::{Stft, read};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("KLNMF_DATA").expect("KLNMF_DATA names the folder of the real data"))
}

#[test]
#[ignore = "needs the folder of real data, KLNMF_DATA"]
fn the_recording_of_the_paper_has_its_shape() {
    let folder = folder();
    let sound = read(&folder.join("music/maple_leaf_rag_1916_11025.wav")).unwrap();
    assert!(sound.notes.is_empty() && sound.rate == 11025);
    let stft = Stft::for_rate(sound.rate).unwrap();
    let signal = sound.mono();
    let frames = stft.forward_unpadded(&signal);
    assert_eq!((frames.bins, frames.frames), (129, 11303));
    let back = stft.inverse(&stft.forward(&signal), signal.len());
    assert!(signal.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
}
