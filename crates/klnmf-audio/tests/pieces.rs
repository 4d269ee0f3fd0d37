//! Piece by piece the answers have the same bits as in one go.

use crate::common::*;
use klnmf::Mat;
use klnmf_audio::{
    Blocks, Reader, Sound, Spectrum, Splitter, Stft, WavFile, WavFormat, read, separate, write_wav,
};
use std::fs;
use std::path::Path;

/// Feeds a sound in pieces of odd lengths, and calls `f` for every block.
fn in_blocks(sound: &Sound, stft: &Stft, most: usize, mut f: impl FnMut(&klnmf_audio::Block)) {
    let mut blocks = Blocks::new(stft, sound.channels.len(), most);
    let mut start = 0;
    for step in [1, 700, 3, 64, 1000].into_iter().cycle() {
        let end = sound.len().min(start + step);
        blocks.push(&sound.channels.iter().map(|channel| &channel[start..end]).collect::<Vec<_>>());
        start = end;
        while let Some(block) = blocks.block(start == sound.len()) {
            f(&block);
        }
        if start == sound.len() {
            return assert_eq!((blocks.len(), blocks.is_empty()), (sound.len(), sound.is_empty()));
        }
    }
}

#[test]
fn blocks_have_the_frames_and_sources_of_the_whole() {
    for (window, hop, len, channels) in [
        (64, 32, 5000, 1),
        (65, 20, 5001, 2),
        (256, 64, 100, 6),
        (8, 4, 1, 1),
        (64, 32, 32, 2),
        (64, 1, 333, 1),
    ] {
        let stft = Stft::new(window, hop).unwrap();
        let sound = Sound::new(8000, (0..channels).map(|c| noise(len, c as u64 + 1)).collect()).unwrap();
        let (v, r) = (stft.forward(&sound.mono()).power(), 3);
        let w = Mat::from_fn(stft.bins(), r, |i, k| ((i * 7 + k * 3) % 5) as f64);
        let h = Mat::from_fn(r, v.cols(), |k, j| ((k * 5 + j * j) % 7) as f64);
        let groups = [vec![0, 2], vec![1]];
        let whole = separate(&sound, &stft, &w, &h, &groups).unwrap();
        assert!(whole.iter().all(|source| source.len() == len));
        for most in [1, 7, 100, 100_000] {
            let mut splitter = Splitter::new(&stft, &w, &groups, channels).unwrap();
            let mut pieces = vec![vec![Vec::new(); channels]; 2];
            let mut next = 0;
            in_blocks(&sound, &stft, most, |block| {
                assert!(block.first == next && (1..=most).contains(&block.frames));
                next += block.frames;
                let (found, bins) = (block.spectrogram(&stft, Spectrum::Power), stft.bins());
                let columns = &v.as_slice()[block.first * bins..next * bins];
                assert!(found.as_slice() == columns, "{window} {hop} {len}");
                let weights = &h.as_slice()[block.first * r..];
                let take = |given: &[Vec<Vec<f64>>]| {
                    for (to, from) in pieces.iter_mut().flatten().zip(given.iter().flatten()) {
                        to.extend_from_slice(from);
                    }
                    Ok::<(), klnmf_audio::Error>(())
                };
                splitter.split(block, weights, take).unwrap();
            });
            assert_eq!(next, v.cols());
            for (piece, source) in pieces.iter().zip(&whole) {
                assert!(*piece == source.channels, "{window} {hop} {len} {most}");
            }
        }
    }
}

#[test]
fn weights_and_channels_that_do_not_fit_are_refused() {
    let stft = Stft::new(8, 4).unwrap();
    let w = Mat::from_fn(5, 1, |_, _| 1.0);
    let groups = [vec![0]];
    assert!(Splitter::new(&stft, &Mat::from_fn(4, 1, |_, _| 1.0), &groups, 1).is_err());
    assert!(Splitter::new(&stft, &w, &groups, 0).is_err());
    let mut splitter = Splitter::new(&stft, &w, &groups, 1).unwrap();
    let sound = Sound::new(8000, vec![noise(9, 1)]).unwrap();
    let give = |_: &[Vec<Vec<f64>>]| Ok::<(), klnmf_audio::Error>(());
    in_blocks(&sound, &stft, 100, |block| {
        assert!(splitter.split(block, &[1.0], give).is_err());
        assert!(splitter.split(block, &[1.0, -1.0, 1.0, 1.0], give).is_err());
    });
}

#[test]
fn a_file_in_pieces_is_the_file() {
    for name in ["two.flac", "two.ogg", "two.mp3"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let whole = read(&path).unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!((reader.rate(), reader.channels()), (whole.rate, whole.channels.len()));
        let (mut channels, mut pieces) = (vec![Vec::new(); reader.channels()], 0);
        while let Some(piece) = reader.piece().unwrap() {
            channels.iter_mut().zip(piece).for_each(|(to, from)| to.extend_from_slice(from));
            pieces += 1;
        }
        assert!(pieces > 1 && channels == whole.channels, "{name}: {pieces}");
        assert!(reader.piece().unwrap().is_none());
        assert_eq!(reader.notes(), whole.notes);
    }
}

/// The samples are our own work; another writer has the same bytes.
#[test]
fn a_wav_file_is_what_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.wav"), folder.path().join("two.wav"));
    let formats = [WavFormat::Int8, WavFormat::Int16, WavFormat::Int24, WavFormat::Int32, WavFormat::Float32];
    for (format, bits) in formats.into_iter().zip([8, 16, 24, 32, 32]) {
        for channels in [1, 2, 6] {
            let float = format == WavFormat::Float32;
            let sound = Sound::new(8000, (0..channels).map(|c| noise(333, c + 1)).collect()).unwrap();
            write_wav(&one, &sound, format).unwrap();
            let sample_format = if float { hound::SampleFormat::Float } else { hound::SampleFormat::Int };
            let spec = hound::WavSpec {
                channels: channels as u16,
                sample_rate: 8000,
                bits_per_sample: bits,
                sample_format,
            };
            let mut wav = hound::WavWriter::create(&two, spec).unwrap();
            for (i, c) in (0..333).flat_map(|i| (0..channels as usize).map(move |c| (i, c))) {
                let x = sound.channels[c][i];
                let unit = 2f64.powi(i32::from(bits) - 1);
                let level = (x * unit).round().clamp(-unit, unit - 1.0);
                if float { wav.write_sample(x as f32) } else { wav.write_sample(level as i32) }.unwrap();
            }
            wav.finalize().unwrap();
            assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap(), "{format:?}, {channels} channels");
        }
    }
}

#[test]
fn a_wav_file_appears_when_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one.wav"), folder.path().join("two.wav"));
    let sound =
        Sound::new(8000, vec![noise(1001, 1), noise(1001, 2).iter().map(|x| 3.0 * x).collect()]).unwrap();
    for format in [WavFormat::Int8, WavFormat::Int16, WavFormat::Int24, WavFormat::Float32] {
        let clipped = write_wav(&one, &sound, format).unwrap();
        let mut file = WavFile::create(&two, 8000, 2, format).unwrap();
        for range in [0..1, 1..1, 1..600, 600..1001] {
            file.write(&[&sound.channels[0][range.clone()], &sound.channels[1][range]]).unwrap();
        }
        assert!(!two.exists());
        assert_eq!(file.finish().unwrap(), clipped);
        assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());
        fs::remove_file(&two).unwrap();
    }
    let mut file = WavFile::create(&two, 8000, 1, WavFormat::Float32).unwrap();
    file.write(&[[0.5; 4]]).unwrap();
    let why = file.write(&[[0.5, f64::NAN]]).unwrap_err().to_string();
    assert!(why.contains("NaN at sample 5"), "{why}");
    assert!(file.write(&[[0.5], [0.5]]).is_err());
    drop(file);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // Four hours of stereo are too much for 32 bits a sample, not for 16.
    assert!(WavFormat::Float32.check(44_100, 2, 4 * 3600 * 44_100).is_err());
    assert!(WavFormat::Int16.check(44_100, 2, 4 * 3600 * 44_100).is_ok());
}
