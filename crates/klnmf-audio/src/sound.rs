//! A sound in memory, and its way into a WAV file.

use crate::Error;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Samples of one or more channels, nominally from −1 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sound {
    /// Samples per second.
    pub rate: u32,
    /// The samples, channel by channel; all channels have one length.
    pub channels: Vec<Vec<f64>>,
    /// What the reader had to put up with, one line each; empty for a sound in good order.
    pub notes: Vec<String>,
}

impl Sound {
    /// A sound of channels with one length.
    pub fn new(rate: u32, channels: Vec<Vec<f64>>) -> Result<Self, Error> {
        let sound = Self { rate, channels, notes: Vec::new() };
        sound.check()?;
        Ok(sound)
    }

    /// The fields are public, so what relies on them looks again.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.rate == 0 {
            return Err(Error::setting("rate", 0, "a sound needs at least 1 sample per second"));
        }
        if self.channels.is_empty() {
            return Err(Error::Shape("a sound needs at least one channel".into()));
        }
        match self.channels.iter().position(|channel| channel.len() != self.len()) {
            None => Ok(()),
            Some(c) => Err(Error::Shape(format!(
                "channel {c} (counting from 0) has {} samples but channel 0 has {}: pad the shorter one",
                self.channels[c].len(),
                self.len()
            ))),
        }
    }

    /// Samples per channel.
    pub fn len(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How long it lasts.
    pub fn seconds(&self) -> f64 {
        self.len() as f64 / f64::from(self.rate)
    }

    /// The mean of the channels.
    pub fn mono(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.len()];
        for channel in &self.channels {
            mean.iter_mut().zip(channel).for_each(|(m, x)| *m += x);
        }
        mean.iter_mut().for_each(|m| *m /= self.channels.len() as f64);
        mean
    }

    /// Channel and place of the first sample that is NaN or infinite.
    pub(crate) fn not_finite(&self) -> Option<(usize, usize)> {
        let place =
            |(c, channel): (usize, &Vec<f64>)| Some((c, channel.iter().position(|x| !x.is_finite())?));
        self.channels.iter().enumerate().find_map(place)
    }
}

/// How samples are stored in a WAV file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WavFormat {
    /// 8-bit whole numbers.
    Int8,
    /// 16-bit whole numbers, as on a compact disc.
    Int16,
    /// 24-bit whole numbers.
    Int24,
    /// 32-bit whole numbers.
    Int32,
    /// 32-bit floating point: nothing is clipped.
    #[default]
    Float32,
}

impl WavFormat {
    fn bits(self) -> u16 {
        match self {
            WavFormat::Int8 => 8,
            WavFormat::Int16 => 16,
            WavFormat::Int24 => 24,
            WavFormat::Int32 | WavFormat::Float32 => 32,
        }
    }

    fn kind(self) -> hound::SampleFormat {
        if self == WavFormat::Float32 { hound::SampleFormat::Float } else { hound::SampleFormat::Int }
    }
}

/// Writes a WAV file, in full or not at all, and says how many samples had to be clipped to the range of whole numbers.
pub fn write_wav(path: &Path, sound: &Sound, format: WavFormat) -> Result<usize, Error> {
    sound.check()?;
    if let Some((c, i)) = sound.not_finite() {
        return Err(Error::signal("channel", c, format!("is {} at sample {i}", sound.channels[c][i])));
    }
    let spec = hound::WavSpec {
        // More channels than 16 bits can count are also more bytes than 32 bits can: the check below refuses them.
        channels: u16::try_from(sound.channels.len()).unwrap_or(u16::MAX),
        sample_rate: sound.rate,
        bits_per_sample: format.bits(),
        sample_format: format.kind(),
    };
    let moment = sound.channels.len() as u64 * u64::from(format.bits() / 8);
    let most = u64::from(u32::MAX) - 1024;
    if moment > u64::from(u16::MAX) || moment * (sound.len() as u64).max(u64::from(sound.rate)) > most {
        let must = "a WAV file holds less than 4 GiB: cut the sound into pieces";
        return Err(Error::setting("samples", sound.len() * sound.channels.len(), must));
    }
    let mut clipped = 0;
    klnmf_io::atomically(path, |out| {
        clipped = put(out, spec, sound).map_err(|why| match why {
            hound::Error::IoError(why) => why,
            why => io::Error::other(why),
        })?;
        Ok(())
    })?;
    Ok(clipped)
}

fn put(out: &mut BufWriter<File>, spec: hound::WavSpec, sound: &Sound) -> hound::Result<usize> {
    let mut wav = hound::WavWriter::new(out, spec)?;
    let unit = 2f64.powi(i32::from(spec.bits_per_sample) - 1);
    let mut clipped = 0;
    for i in 0..sound.len() {
        for channel in &sound.channels {
            if spec.sample_format == hound::SampleFormat::Float {
                wav.write_sample(channel[i] as f32)?;
                continue;
            }
            let level = (channel[i] * unit).round();
            let kept = level.clamp(-unit, unit - 1.0);
            clipped += usize::from(kept != level);
            wav.write_sample(kept as i32)?;
        }
    }
    wav.finalize()?;
    Ok(clipped)
}
