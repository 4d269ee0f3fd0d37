//! Five synthetic instruments, for demonstrations and tests without recordings.
//!
//! One formula plays them all: partials whose strength decreases with their number and that decay faster the
//! higher they are, with or without vibrato, and noise. The instruments differ only in their parameters.

use crate::{Error, Sound};
use std::f64::consts::TAU;

/// The loudest sample of each instrument; the sum of five stays below 1.
const PEAK: f64 = 0.19;

/// Notes of a phrase, which is repeated until the end.
const PHRASE: usize = 8;

struct Instrument {
    name: &'static str,
    /// Lowest and highest note as MIDI numbers (69 is 440 Hz).
    range: (u32, u32),
    /// Seconds from one note to the next.
    pace: f64,
    /// The duration of a note as a multiple of that time.
    hold: f64,
    partials: usize,
    /// Partial k has the strength k^−slope.
    slope: f64,
    /// The strength of the even partials relative to the odd ones.
    even: f64,
    /// Seconds until a note is at its loudest.
    attack: f64,
    /// Partial k decays as e^(−decay·k·seconds).
    decay: f64,
    /// Largest relative change of the frequency.
    vibrato: f64,
    /// Strength of the noise, which decays like the first partial.
    noise: f64,
}

#[rustfmt::skip]
const INSTRUMENTS: [Instrument; 5] = [
    Instrument { name: "piano", range: (57, 76), pace: 0.29, hold: 1.6, partials: 14, slope: 1.2, even: 1.0,
        attack: 0.004, decay: 0.9, vibrato: 0.0, noise: 0.0 },
    Instrument { name: "strings", range: (62, 79), pace: 0.83, hold: 1.0, partials: 18, slope: 0.8, even: 1.0,
        attack: 0.09, decay: 0.0, vibrato: 0.007, noise: 0.004 },
    Instrument { name: "flute", range: (76, 91), pace: 0.47, hold: 0.95, partials: 4, slope: 2.2, even: 0.6,
        attack: 0.05, decay: 0.0, vibrato: 0.003, noise: 0.03 },
    Instrument { name: "bass", range: (31, 45), pace: 0.58, hold: 0.9, partials: 8, slope: 1.5, even: 0.4,
        attack: 0.01, decay: 0.5, vibrato: 0.0, noise: 0.0 },
    Instrument { name: "percussion", range: (60, 60), pace: 0.145, hold: 0.8, partials: 0, slope: 0.0, even: 0.0,
        attack: 0.001, decay: 45.0, vibrato: 0.0, noise: 1.0 },
];

/// Five named instruments, each playing its own phrase; their sum is the mix. The same seed gives the same
/// music.
pub fn ensemble(seconds: f64, rate: u32, seed: u64) -> Result<Vec<(&'static str, Sound)>, Error> {
    play(seconds, rate, seed, |instrument, random| {
        let (low, high) = instrument.range;
        let phrase: Vec<u32> = (0..PHRASE).map(|_| low + random.below(high - low + 1)).collect();
        let count = (seconds / instrument.pace) as usize + 1;
        (0..count)
            .map(|n| (n as f64 * instrument.pace, instrument.hold * instrument.pace, phrase[n % PHRASE]))
            .collect()
    })
}

/// The instruments of [`ensemble`], each playing all its notes upwards within `seconds`, to learn
/// dictionaries from.
pub fn training(seconds: f64, rate: u32, seed: u64) -> Result<Vec<(&'static str, Sound)>, Error> {
    // Another seed, so that the noise differs from that of the phrase.
    play(seconds, rate, !seed, |instrument, _| {
        let (low, high) = instrument.range;
        let step = seconds / f64::from(high - low + 1);
        (low..=high).map(|note| (f64::from(note - low) * step, step, note)).collect()
    })
}

/// Start and length in seconds, and the semitone.
type Note = (f64, f64, u32);

fn play(
    seconds: f64,
    rate: u32,
    seed: u64,
    score: impl Fn(&Instrument, &mut Random) -> Vec<Note>,
) -> Result<Vec<(&'static str, Sound)>, Error> {
    if !(seconds > 0.0 && seconds <= 3600.0) {
        return Err(Error::setting("seconds", seconds, "give more than 0 and at most 3600"));
    }
    if !(4000..=384_000).contains(&rate) {
        return Err(Error::setting("rate", rate, "4000 to 384000 Hz are possible"));
    }
    let len = (seconds * f64::from(rate)).ceil() as usize;
    let stem = |(number, instrument): (u64, &Instrument)| {
        let mut random = Random(seed.wrapping_mul(INSTRUMENTS.len() as u64).wrapping_add(number));
        let mut samples = vec![0.0; len];
        for (start, length, semitone) in score(instrument, &mut random) {
            let first = (start * f64::from(rate)) as usize;
            let place = &mut samples[first.min(len)..];
            let end = place.len().min((length * f64::from(rate)) as usize);
            let hz = 440.0 * 2f64.powf((f64::from(semitone) - 69.0) / 12.0);
            instrument.sound(f64::from(rate), hz, &mut place[..end], &mut random);
        }
        let loudest = samples.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        samples.iter_mut().for_each(|x| *x *= PEAK / loudest);
        Ok((instrument.name, Sound::new(rate, vec![samples])?))
    };
    (0..).zip(&INSTRUMENTS).map(stem).collect()
}

impl Instrument {
    /// Adds one note.
    fn sound(&self, rate: f64, hz: f64, samples: &mut [f64], random: &mut Random) {
        // Partials near half the rate would alias.
        let partials = self.partials.min((0.45 * rate / hz) as usize);
        let strength =
            |k: usize| (k as f64).powf(-self.slope) * if k.is_multiple_of(2) { self.even } else { 1.0 };
        let strengths: Vec<f64> = (1..=partials).map(strength).collect();
        let (mut phase, mut last, len) = (random.uniform() * TAU, 0.0, samples.len());
        for (i, sample) in samples.iter_mut().enumerate() {
            let t = i as f64 / rate;
            let release = (len - i) as f64 / rate / 0.02;
            let envelope = (t / self.attack).min(1.0) * release.min(1.0);
            let decay = (-self.decay * t).exp();
            phase += TAU * hz / rate * (1.0 + self.vibrato * (TAU * 5.5 * t).sin());
            // The difference of white noise hisses: its power lies at high frequencies.
            let white = 2.0 * random.uniform() - 1.0;
            let hiss = (white - last) * self.noise * decay;
            last = white;
            *sample += envelope * (tone(&strengths, phase, decay) + hiss);
        }
    }
}

/// Σ_k strength_k·decay^k·sin(k·phase), with sin(k·φ) = 2 cos φ·sin((k − 1)φ) − sin((k − 2)φ).
fn tone(strengths: &[f64], phase: f64, decay: f64) -> f64 {
    let twice = 2.0 * phase.cos();
    let (mut before, mut now, mut left, mut sum) = (0.0, phase.sin(), 1.0, 0.0);
    for strength in strengths {
        left *= decay;
        sum += strength * left * now;
        (before, now) = (now, twice * now - before);
    }
    sum
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, end: u32) -> u32 {
        (self.uniform() * f64::from(end)) as u32
    }
}
