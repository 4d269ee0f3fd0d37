//! From recordings of sources to the stems of a mix.

use klnmf::{Mat, Status};
use klnmf_audio::{
    Dictionary, Error, Listener, Reader, Recording, Separator, Sound, Sources, Stft, WavFormat, ensemble,
    training, write_wav,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const RATE: u32 = 8000;

/// Flute and bass: each alone, and in a mix of two channels.
fn duo() -> (Vec<(String, Sound)>, [Vec<f64>; 2], Sound) {
    let named = |(name, sound): (&str, Sound)| (name.to_owned(), sound);
    let alone = training(2.0, RATE, 1).unwrap().into_iter().skip(2).take(2).map(named).collect();
    let parts = ensemble(2.0, RATE, 1).unwrap();
    let parts = [2, 3].map(|n| parts[n].1.mono());
    let sum = |volume: f64| parts[0].iter().zip(&parts[1]).map(|(a, b)| volume * (a + b)).collect();
    let mix = Sound::new(RATE, vec![sum(1.0), sum(0.5)]).unwrap();
    (alone, parts, mix)
}

/// Everything that a separation gives.
#[derive(Default)]
struct All {
    stems: Vec<Vec<Vec<f64>>>,
    samples: Vec<f64>,
    v: Vec<f64>,
    h: Vec<f64>,
}

impl Listener for All {
    type Error = Error;

    fn stems(&mut self, pieces: &[Vec<Vec<f64>>]) -> Result<(), Error> {
        self.stems.resize(pieces.len(), vec![Vec::new(); pieces[0].len()]);
        for (to, from) in self.stems.iter_mut().flatten().zip(pieces.iter().flatten()) {
            to.extend_from_slice(from);
        }
        Ok(())
    }

    fn samples(&mut self, piece: &[&[f64]]) {
        self.samples.extend_from_slice(piece[0]);
    }

    fn frames(&mut self, v: &Mat<f64>, h: &Mat<f64>) -> Result<(), Error> {
        self.v.extend_from_slice(v.as_slice());
        self.h.extend_from_slice(h.as_slice());
        Ok(())
    }
}

fn separate(separator: &Separator, mix: impl Into<Recording>, known: Option<&Dictionary>) -> (Sources, All) {
    let (stft, mut all) = (Stft::for_rate(RATE).unwrap(), All::default());
    let found = separator.separate(&mut mix.into(), &stft, known, &|_| (), &mut all).unwrap();
    (found, all)
}

fn learned(separator: &Separator, alone: Vec<(String, Sound)>) -> Dictionary {
    separator.learn(alone, &Stft::for_rate(RATE).unwrap(), &|_| ()).unwrap().unwrap()
}

#[test]
fn every_way_gives_stems_that_add_up() {
    let (alone, parts, mix) = duo();
    let stft = Stft::for_rate(RATE).unwrap();
    let known = learned(&Separator { per_source: 6, ..Separator::default() }, alone);
    let first = Dictionary {
        w: Mat::new(stft.bins(), 6, known.w.as_slice()[..6 * stft.bins()].to_vec()).unwrap(),
        columns: known.columns[..6].to_vec(),
    };
    let new = |components, sources| Separator { components, sources, ..Separator::default() };
    let cases = [
        (new(0, None), Some(&known), vec!["flute", "bass"]),
        (new(4, Some(1)), Some(&first), vec!["flute", "source01"]),
        (new(3, None), None, vec!["part01", "part02", "part03"]),
    ];
    for (separator, known, names) in cases {
        let (found, all) = separate(&separator, mix.clone(), known);
        assert_eq!(found.names, names);
        assert!(found.status == Status::Converged || found.status == Status::IterationLimit);
        assert_eq!((all.stems.len(), found.groups.len()), (names.len(), names.len()));
        for (c, channel) in mix.channels.iter().enumerate() {
            let sum = |i: usize| all.stems.iter().map(|stem| stem[c][i]).sum::<f64>();
            assert!((0..mix.len()).all(|i| (sum(i) - channel[i]).abs() < 1e-12), "{names:?}");
        }
        assert!(all.samples == mix.channels[0]);
        assert!(all.v == stft.spectrogram(&mix.mono(), separator.spectrum).as_slice());
        assert_eq!(all.h.len(), found.w.cols() * stft.frames(mix.len()));
        if separator.components == 0 {
            let estimates = [0, 1].map(|s| &all.stems[s][0][..]);
            let scores = klnmf_audio::evaluate(&parts, &estimates, 64).unwrap();
            let paired = (0..2).all(|n| scores[n].estimate == n && scores[n].sdr > 8.0);
            assert!(paired, "{names:?}: {scores:?}");
        }
    }
}

/// A file gives the same stems as the sound in memory.
#[test]
fn files_are_read_as_they_are_needed() {
    let (alone, _, mix) = duo();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.wav");
    write_wav(&path, &mix, WavFormat::Float32).unwrap();
    let mix = klnmf_audio::read(&path).unwrap();
    let known = learned(&Separator { per_source: 4, ..Separator::default() }, alone);
    let blind = Separator { components: 2, max_iter: Some(10), ..Separator::default() };
    for (separator, known) in [(Separator::default(), Some(&known)), (blind, None)] {
        let (one, all) = separate(&separator, mix.clone(), known);
        let (two, read) = separate(&separator, Reader::open(&path).unwrap(), known);
        assert!(one.w == two.w && all.stems == read.stems && all.h == read.h);
    }
}

#[test]
fn learning_does_not_depend_on_threads_and_can_be_stopped() {
    let (alone, ..) = duo();
    let on = |threads| Separator { per_source: 4, threads, ..Separator::default() };
    let known = learned(&on(1), alone.clone());
    assert_eq!(
        (known.names(), known.groups()),
        (vec!["flute".to_owned(), "bass".to_owned()], vec![(0..4).collect::<Vec<_>>(), (4..8).collect()])
    );
    assert!(known == learned(&on(3), alone.clone()));
    assert!(known != learned(&Separator { seed: 1, ..on(1) }, alone.clone()));
    let stft = Stft::for_rate(RATE).unwrap();
    let stopped = Separator { stop: Some(Arc::new(AtomicBool::new(true))), ..on(1) };
    assert!(stopped.learn(alone.clone(), &stft, &|_| ()).unwrap().is_none());

    let silent = vec![("s".to_owned(), Sound::new(RATE, vec![vec![0.0; 1000]]).unwrap())];
    let why = on(1).learn(silent, &stft, &|_| ()).unwrap_err().to_string();
    assert_eq!(why, "source \"s\": the recording is silent; give one that contains the source");
    let none = Separator { per_source: 0, ..on(1) }.learn(alone, &stft, &|_| ()).unwrap_err().to_string();
    assert!(none.starts_with("source \"") && !none.contains('\n'), "{none}");
}
