//! Writes WAV files as the samples arrive.

use crate::sound::not_finite;
use crate::{Error, Sound};
use klnmf_io::NewFile;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

/// How samples are stored in a WAV file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WavFormat {
    /// 8-bit integers.
    Int8,
    /// 16-bit integers, as on a compact disc.
    Int16,
    /// 24-bit integers.
    Int24,
    /// 32-bit integers.
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

    /// Fails if a WAV file cannot hold `samples` in each of `channels` channels.
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

/// A WAV file that is being written. It gets its name when it is [finished](WavFile::finish); if it is
/// dropped before that, nothing remains. It is open only while samples are written, so there can be many.
pub struct WavFile {
    file: NewFile,
    /// The header; its last four bytes hold the length of the samples in bytes.
    header: usize,
    format: WavFormat,
    rate: u32,
    channels: usize,
    /// Samples per channel so far, and the number of clipped samples in all channels.
    len: u64,
    clipped: usize,
}

impl WavFile {
    /// Creates the file that will be at `path`.
    pub fn create(path: &Path, rate: u32, channels: usize, format: WavFormat) -> Result<Self, Error> {
        format.check(rate, channels, 0)?;
        let mut file = NewFile::create(path)?;
        let header = file.visit(|out| {
            let header = header(rate, channels, format)?;
            out.write_all(&header)?;
            Ok(header.len())
        })?;
        Ok(Self { file, header, format, rate, channels, len: 0, clipped: 0 })
    }

    /// Appends samples of every channel.
    pub fn write<S: AsRef<[f64]>>(&mut self, piece: &[S]) -> Result<(), Error> {
        let len = piece.first().map_or(0, |channel| channel.as_ref().len());
        if piece.len() != self.channels || piece.iter().any(|channel| channel.as_ref().len() != len) {
            return Err(Error::Shape(format!(
                "got {} channels of {len} samples for a file with {}: give all channels, of one length",
                piece.len(),
                self.channels
            )));
        }
        if let Some((c, i)) = not_finite(piece) {
            let (value, place) = (piece[c].as_ref()[i], self.len + i as u64);
            return Err(Error::signal("channel", c, format!("is {value} at sample {place}")));
        }
        self.format.check(self.rate, self.channels, self.len + len as u64)?;
        let (end, bytes) = (self.bytes(), self.encoded(piece, len));
        self.file.visit(|out| {
            out.seek(SeekFrom::Start(end))?;
            out.write_all(&bytes)
        })?;
        self.len += len as u64;
        Ok(())
    }

    /// Encodes samples as in the file: little-endian, and unsigned for 8 bits.
    fn encoded<S: AsRef<[f64]>>(&mut self, piece: &[S], len: usize) -> Vec<u8> {
        let width = usize::from(self.format.bits() / 8);
        let unit = 2f64.powi(i32::from(self.format.bits()) - 1);
        let mut bytes = Vec::with_capacity(len * piece.len() * width);
        for i in 0..len {
            for channel in piece {
                let sample = channel.as_ref()[i];
                if self.format == WavFormat::Float32 {
                    bytes.extend((sample as f32).to_le_bytes());
                    continue;
                }
                let level = (sample * unit).round();
                let kept = level.clamp(-unit, unit - 1.0);
                self.clipped += usize::from(kept != level);
                let kept = if self.format == WavFormat::Int8 { kept + unit } else { kept };
                bytes.extend(&(kept as i32).to_le_bytes()[..width]);
            }
        }
        bytes
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.header as u64 + self.len * self.channels as u64 * u64::from(self.format.bits() / 8)
    }

    /// Completes the file and moves it into place. Returns the number of samples that were clipped to the
    /// range of the integer format.
    pub fn finish(mut self) -> Result<usize, Error> {
        // No file is longer than 4 GiB: that is checked before every piece.
        let (whole, header) = (self.bytes() as u32, self.header as u32);
        self.file.visit(|out| {
            out.seek(SeekFrom::Start(4))?;
            out.write_all(&(whole - 8).to_le_bytes())?;
            out.seek(SeekFrom::Start(u64::from(header) - 4))?;
            out.write_all(&(whole - header).to_le_bytes())
        })?;
        self.file.keep()?;
        Ok(self.clipped)
    }
}

/// The header of a WAV file.
fn header(rate: u32, channels: usize, format: WavFormat) -> io::Result<Vec<u8>> {
    let spec = hound::WavSpec {
        channels: u16::try_from(channels).unwrap_or(u16::MAX),
        sample_rate: rate,
        bits_per_sample: format.bits(),
        sample_format: format.kind(),
    };
    let mut bytes = Cursor::new(Vec::new());
    let written = hound::WavWriter::new(&mut bytes, spec).and_then(hound::WavWriter::finalize);
    written.map_err(|why| match why {
        hound::Error::IoError(why) => why,
        why => io::Error::other(why),
    })?;
    Ok(bytes.into_inner())
}

/// Writes a WAV file, completely or not at all, and returns the number of samples that were clipped.
pub fn write_wav(path: &Path, sound: &Sound, format: WavFormat) -> Result<usize, Error> {
    sound.check()?;
    format.check(sound.rate, sound.channels.len(), sound.len() as u64)?;
    let mut file = WavFile::create(path, sound.rate, sound.channels.len(), format)?;
    file.write(&sound.channels)?;
    file.finish()
}
