//! WAV files, written as their samples come.

use crate::sound::not_finite;
use crate::{Error, Sound};
use klnmf_io::NewFile;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

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

    /// Fails if a WAV file cannot hold `samples` in each of so many channels.
    pub fn check(self, rate: u32, channels: usize, samples: u64) -> Result<(), Error> {
        let moment = (channels as u64).saturating_mul(u64::from(self.bits() / 8));
        // Bytes per second must fit into 32 bits as well.
        let bytes = moment.saturating_mul(samples.max(u64::from(rate)));
        if moment <= u64::from(u16::MAX) && bytes <= u64::from(u32::MAX) - 1024 {
            return Ok(());
        }
        let must =
            "a WAV file holds less than 4 GiB: cut the sound into pieces, or use a format with fewer bits";
        Err(Error::setting("samples", samples.saturating_mul(channels as u64), must))
    }
}

/// A WAV file in the making. It appears, complete, when it is [finished](WavFile::finish); dropped before that, it leaves
/// nothing behind.
pub struct WavFile {
    path: PathBuf,
    wav: hound::WavWriter<BufWriter<File>>,
    file: NewFile,
    format: WavFormat,
    rate: u32,
    channels: usize,
    /// Samples per channel so far, and how many of all were clipped.
    len: u64,
    clipped: usize,
}

impl WavFile {
    /// Begins the file that will be at `path`.
    pub fn create(path: &Path, rate: u32, channels: usize, format: WavFormat) -> Result<Self, Error> {
        format.check(rate, channels, 0)?;
        let spec = hound::WavSpec {
            channels: u16::try_from(channels).unwrap_or(u16::MAX),
            sample_rate: rate,
            bits_per_sample: format.bits(),
            sample_format: format.kind(),
        };
        let file = NewFile::create(path)?;
        let wav =
            file.writer().map_err(hound::Error::IoError).and_then(|out| hound::WavWriter::new(out, spec));
        let wav = wav.map_err(|why| cannot(path, why))?;
        Ok(Self { path: path.to_owned(), wav, file, format, rate, channels, len: 0, clipped: 0 })
    }

    /// Appends samples of every channel.
    pub fn write<S: AsRef<[f64]>>(&mut self, piece: &[S]) -> Result<(), Error> {
        let len = piece.first().map_or(0, |channel| channel.as_ref().len());
        if piece.len() != self.channels || piece.iter().any(|channel| channel.as_ref().len() != len) {
            return Err(Error::Shape(format!(
                "{} channels of {len} samples for a file of {}: give all of them, of one length",
                piece.len(),
                self.channels
            )));
        }
        if let Some((c, i)) = not_finite(piece) {
            let (value, place) = (piece[c].as_ref()[i], self.len + i as u64);
            return Err(Error::signal("channel", c, format!("is {value} at sample {place}")));
        }
        self.format.check(self.rate, self.channels, self.len + len as u64)?;
        self.len += len as u64;
        self.put(piece, len).map_err(|why| cannot(&self.path, why))
    }

    fn put<S: AsRef<[f64]>>(&mut self, piece: &[S], len: usize) -> hound::Result<()> {
        let unit = 2f64.powi(i32::from(self.format.bits()) - 1);
        for i in 0..len {
            for channel in piece {
                let sample = channel.as_ref()[i];
                if self.format == WavFormat::Float32 {
                    self.wav.write_sample(sample as f32)?;
                    continue;
                }
                let level = (sample * unit).round();
                let kept = level.clamp(-unit, unit - 1.0);
                self.clipped += usize::from(kept != level);
                self.wav.write_sample(kept as i32)?;
            }
        }
        Ok(())
    }

    /// Puts the file in its place, and says how many samples had to be clipped to the range of whole numbers.
    pub fn finish(self) -> Result<usize, Error> {
        self.wav.finalize().map_err(|why| cannot(&self.path, why))?;
        self.file.keep()?;
        Ok(self.clipped)
    }
}

fn cannot(path: &Path, why: hound::Error) -> Error {
    let why = match why {
        hound::Error::IoError(why) => why,
        why => io::Error::other(why),
    };
    klnmf_io::Error::Write { path: path.to_owned(), why }.into()
}

/// Writes a WAV file, in full or not at all, and says how many samples had to be clipped to the range of whole numbers.
pub fn write_wav(path: &Path, sound: &Sound, format: WavFormat) -> Result<usize, Error> {
    sound.check()?;
    format.check(sound.rate, sound.channels.len(), sound.len() as u64)?;
    let mut file = WavFile::create(path, sound.rate, sound.channels.len(), format)?;
    file.write(&sound.channels)?;
    file.finish()
}
