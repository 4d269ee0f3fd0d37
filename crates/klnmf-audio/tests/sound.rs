//! Sound files that are read and written.

use crate::common::*;
use klnmf_audio::{Error, Sound, WavFormat, read, write_wav};
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The error for a file with this content.
fn refused(content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound.wav");
    fs::write(&path, content).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("sound.wav") && !error.contains('\n'), "{error}");
    error
}

/// A WAV file by hand: format tag 1 for whole numbers, 3 for floating point.
fn wav(tag: u16, channels: u16, rate: u32, bits: u16, extensible: bool, samples: &[u8]) -> Vec<u8> {
    let align = channels * bits / 8;
    let mut format = Vec::new();
    format.extend(if extensible { 0xfffeu16 } else { tag }.to_le_bytes());
    format.extend(channels.to_le_bytes());
    format.extend(rate.to_le_bytes());
    format.extend((rate * u32::from(align)).to_le_bytes());
    format.extend(align.to_le_bytes());
    format.extend(bits.to_le_bytes());
    if extensible {
        format.extend(22u16.to_le_bytes());
        format.extend(bits.to_le_bytes());
        format.extend(((1u32 << channels) - 1).to_le_bytes());
        format.extend(tag.to_le_bytes());
        format.extend(*b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71");
    }
    let chunk = |name: &[u8], body: &[u8]| [name, &(body.len() as u32).to_le_bytes(), body].concat();
    chunk(b"RIFF", &[b"WAVE", &chunk(b"fmt ", &format)[..], &chunk(b"data", samples)].concat())
}

#[test]
fn whole_numbers_of_hound_are_read_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    for channels in [1u16, 2, 6] {
        for bits in [8u16, 16, 24, 32] {
            let sample_format = hound::SampleFormat::Int;
            let spec = hound::WavSpec { channels, sample_rate: 22050, bits_per_sample: bits, sample_format };
            let unit = 2f64.powi(i32::from(bits) - 1);
            let levels: Vec<i32> = (0..3000 * usize::from(channels))
                .map(|i| match i {
                    0 => -unit as i32,
                    1 => (unit - 1.0) as i32,
                    i => ((i as f64 * 0.37).sin() * 0.9 * unit) as i32,
                })
                .collect();
            let mut out = hound::WavWriter::create(&path, spec).unwrap();
            levels.iter().for_each(|level| out.write_sample(*level).unwrap());
            out.finalize().unwrap();
            let sound = read(&path).unwrap();
            assert_eq!((sound.rate, sound.channels.len(), sound.len()), (22050, channels.into(), 3000));
            assert!(sound.notes.is_empty());
            for (i, level) in levels.iter().enumerate() {
                let (c, place) = (i % usize::from(channels), i / usize::from(channels));
                assert_eq!(sound.channels[c][place], f64::from(*level) / unit, "{channels} × {bits} bits");
            }
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    for channels in [1, 2, 6] {
        let sound = Sound::new(44100, (0..channels).map(|c| noise(2345, c)).collect()).unwrap();
        for (format, error) in [
            (WavFormat::Int8, 0.5 / 128.0),
            (WavFormat::Int16, 0.5 / 32768.0),
            (WavFormat::Int24, 0.5 / 8388608.0),
            (WavFormat::Int32, 0.5 / 2147483648.0),
            (WavFormat::Float32, 6e-8),
        ] {
            let clipped = write_wav(&path, &sound, format).unwrap();
            let back = read(&path).unwrap();
            assert_eq!((back.rate, back.channels.len()), (44100, channels as usize));
            for (a, b) in sound.channels.iter().zip(&back.channels) {
                // Only what rounds to 1 is clipped, by one step.
                assert!(distance(a, b) <= if clipped > 0 { 2.0 * error } else { error }, "{format:?}");
            }
        }
    }
}

#[test]
fn floating_point_keeps_what_whole_numbers_clip() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let sound = Sound::new(8000, vec![vec![0.0, 1.5, -2.0, -1.0, 0.25]]).unwrap();
    assert_eq!(write_wav(&path, &sound, WavFormat::default()).unwrap(), 0);
    assert_eq!(read(&path).unwrap(), sound);
    assert_eq!(write_wav(&path, &sound, WavFormat::Int16).unwrap(), 2);
    assert_eq!(read(&path).unwrap().channels[0], [0.0, 32767.0 / 32768.0, -1.0, -1.0, 0.25]);
}

#[test]
fn floating_point_of_64_bits_and_extensible_headers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let samples = noise(1000, 1);
    let bytes: Vec<u8> = samples.iter().flat_map(|x| x.to_le_bytes()).collect();
    for extensible in [false, true] {
        fs::write(&path, wav(3, 2, 48000, 64, extensible, &bytes)).unwrap();
        let sound = read(&path).unwrap();
        assert_eq!(sound.channels[1], samples.iter().skip(1).step_by(2).copied().collect::<Vec<_>>());
    }
    fs::write(&path, wav(1, 1, 48000, 16, true, &[0, 64, 0, 192])).unwrap();
    assert_eq!(read(&path).unwrap().channels, [[0.5, -0.5]]);
}

#[test]
fn compressed_sounds_are_where_they_were() {
    let sine = |hz: f64, volume: f64| {
        let sample = |i| volume * (std::f64::consts::TAU * hz / 16000.0 * f64::from(i)).sin();
        (0..5001).map(|i| (sample(i) * 32768.0).round() / 32768.0).collect::<Vec<f64>>()
    };
    let truth = [sine(440.0, 0.5), sine(1000.0, 0.3)];
    // The formats that lose something do so mostly at the ends.
    for (name, error, ends) in [("two.flac", 0.0, 0), ("two.ogg", 0.02, 300), ("two.mp3", 0.02, 600)] {
        let sound = read(&data(name)).unwrap();
        assert_eq!((sound.rate, sound.channels.len(), sound.len()), (16000, 2, 5001), "{name}");
        assert!(sound.notes.is_empty(), "{:?}", sound.notes);
        for (channel, truth) in sound.channels.iter().zip(&truth) {
            let inner = ends..5001 - ends;
            let far = distance(&channel[inner.clone()], &truth[inner]);
            assert!(far <= error, "{name}: {far}");
        }
    }
}

#[test]
fn a_file_cut_short_gives_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let whole = read(&data("two.flac")).unwrap();
    write_wav(&path, &whole, WavFormat::Int16).unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..44 + 4 * 1500 + 3]).unwrap();
    let sound = read(&path).unwrap();
    assert_eq!(sound.notes, ["only 1500 of 5001 samples are left: the file is cut short or damaged"]);
    for c in 0..2 {
        assert_eq!(sound.channels[c], whole.channels[c][..1500]);
    }
    for name in ["two.flac", "two.ogg", "two.mp3"] {
        let (bytes, whole) = (fs::read(data(name)).unwrap(), read(&data(name)).unwrap());
        let mut taken = 0;
        for tenths in 1..10 {
            fs::write(&path, &bytes[..bytes.len() * tenths / 10]).unwrap();
            match read(&path) {
                Err(error) => assert!(!error.to_string().contains('\n')),
                Ok(sound) => {
                    assert!(sound.len() <= whole.len(), "{name}");
                    taken += 1;
                    assert!(!sound.notes.is_empty(), "{name}, {tenths} tenths");
                }
            }
        }
        // So short a sound has one page in OGG, which is there or is not.
        assert!(taken >= 1 || name == "two.ogg", "{name}");
    }
}

#[test]
fn a_page_of_ogg_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ogg");
    let (bytes, whole) = (fs::read(data("long.ogg")).unwrap(), read(&data("long.ogg")).unwrap());
    assert!(whole.notes.is_empty() && whole.len() == 80_000);
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let sound = read(&path).unwrap();
    let len = sound.len();
    assert_eq!(
        sound.notes,
        [format!("reading stopped after {len} samples: the end of the stream was not found")]
    );
    assert!(len > 60_000 && sound.channels[0] == whole.channels[0][..len]);
}

#[test]
fn damage_is_silence_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.flac");
    let (mut bytes, whole) = (fs::read(data("two.flac")).unwrap(), read(&data("two.flac")).unwrap());
    // The first of two packets, of 4096 samples.
    bytes[1000..1100].fill(0x55);
    fs::write(&path, &bytes).unwrap();
    let sound = read(&path).unwrap();
    assert_eq!(sound.notes, ["damaged places replaced by silence: 1"]);
    for c in 0..2 {
        assert!(sound.channels[c][..4096].iter().all(|x| *x == 0.0));
        assert_eq!(sound.channels[c][4096..], whole.channels[c][4096..]);
    }
}

#[test]
fn files_that_are_no_sounds() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(&folder.path().join("none.wav")).unwrap_err();
    assert!(matches!(missing, Error::File(klnmf_io::Error::Read { .. })), "{missing}");
    assert!(
        read(folder.path()).unwrap_err().to_string().ends_with("this is a folder: name a sound file in it")
    );
    assert!(refused(b"").contains("the file is empty"));
    assert!(
        refused(b"Dear diary, today I learnt to whistle.\n".repeat(50).as_slice())
            .contains("no sound can be read")
    );
    assert!(refused(&wav(1, 1, 8000, 16, false, &[])).contains("no samples"));
    assert!(refused(&wav(1, 1, 8000, 16, false, &[0; 100])[..30]).contains("no sound can be read"));
    assert!(refused(&wav(1, 1, 8000, 16, false, &[0; 100])[..44]).contains("no samples"));
    assert!(refused(&wav(1, 1, 0, 16, false, &[0; 100])).contains("rate"));
    assert!(refused(&wav(1, 0, 8000, 16, false, &[0; 100])).contains("no sound can be read"));
    assert!(refused(&wav(1, 1, 8000, 12, false, &[0; 100])).contains("no sound can be read"));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let samples: Vec<u8> = [0.5, 0.5, 0.5, bad].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert!(
            refused(&wav(3, 2, 8000, 32, false, &samples))
                .contains("channel 1, sample 1 (counting from 0) is ")
        );
    }
}

#[test]
fn sounds_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    let good = Sound::new(8000, vec![vec![0.0; 4]; 2]).unwrap();
    let mut uneven = good.clone();
    uneven.channels[1].pop();
    let mut bad = good.clone();
    bad.channels[1][2] = f64::NAN;
    let fast = Sound { rate: u32::MAX, ..good.clone() };
    let many = Sound { channels: vec![vec![0.0]; 70_000], ..good.clone() };
    let (still, none) = (Sound { rate: 0, ..good.clone() }, Sound { channels: vec![], ..good.clone() });
    for (sound, why) in [
        (&uneven, "channel 1 (counting from 0) has 3 samples"),
        (&bad, "channel 1 (counting from 0) is NaN at sample 2"),
        (&fast, "4 GiB"),
        (&many, "4 GiB"),
        (&still, "rate = 0"),
        (&none, "at least one channel"),
    ] {
        let error = write_wav(&path, sound, WavFormat::Float32).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
        assert!(!path.exists());
    }
    assert!(write_wav(&folder.path().join("no/a.wav"), &good, WavFormat::Int8).is_err());
}

#[test]
fn mono_is_the_mean() {
    let sound = Sound::new(4, vec![vec![1.0, 0.0], vec![0.5, -1.0]]).unwrap();
    assert_eq!(sound.mono(), [0.75, -0.5]);
    assert_eq!((sound.len(), sound.seconds(), sound.is_empty()), (2, 0.5, false));
}
