//! No content makes the reader panic: random bytes, random bytes after a good beginning, and good files with
//! damage.

use klnmf_audio::read;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;
use std::path::Path;

/// The file is read, or refused in one line; what is read is consistent.
fn look(content: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound");
    fs::write(&path, content).unwrap();
    match read(&path) {
        Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
        Ok(sound) => {
            assert!(sound.rate > 0 && !sound.is_empty());
            assert!(sound.channels.iter().all(|channel| channel.len() == sound.len()));
            assert!(sound.channels.iter().flatten().all(|x| x.is_finite()));
            assert!(!sound.notes.iter().any(|note| note.chars().any(char::is_control)));
        }
    }
}

fn good(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn wave() -> Vec<u8> {
    let mut bytes = b"RIFF\x24\x01\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00".to_vec();
    bytes.extend(b"\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00data\x00\x01\x00\x00");
    bytes.extend([7; 256]);
    bytes
}

fn files() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(wave()), Just(good("two.flac")), Just(good("two.ogg")), Just(good("two.mp3"))]
}

proptest! {
    // The same cases in every run, so that a change is judged by nothing but itself.
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes(content in prop::collection::vec(any::<u8>(), 0..600)) {
        look(&content);
    }

    #[test]
    fn random_bytes_after_a_good_beginning(
        file in files(),
        good in 4usize..200,
        content in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        look(&[&file[..good.min(file.len())], &content].concat());
    }

    #[test]
    fn good_files_with_damage(
        file in files(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        header in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = file;
        // Half of the time only the header is hit, which is where it hurts.
        let reach = if header { bytes.len().min(60) } else { bytes.len() };
        for (place, byte) in damage {
            bytes[place.index(reach)] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        look(&bytes);
    }
}
