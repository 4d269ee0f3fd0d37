//! The stems on their way into their files.

use super::thumbnail::Thumbnail;
use crate::out_folder::OutFolder;
use klnmf_audio::{WavFile, WavFormat};
use rayon::prelude::*;

/// Stems that are being written.
pub struct Stems {
    all: Vec<Stem>,
    /// Samples per channel so far.
    samples: usize,
}

struct Stem {
    file: WavFile,
    wave: Thumbnail,
    /// The mean of the channels, if it is wanted as a whole.
    signal: Option<Vec<f64>>,
}

/// Stems that have been written.
pub struct Written {
    /// Of the means of the channels.
    pub waves: Vec<Thumbnail>,
    /// The means of the channels, if they were wanted.
    pub signals: Vec<Vec<f64>>,
    /// Samples per channel.
    pub samples: usize,
    /// Samples that had to be clipped.
    clipped: usize,
}

impl Stems {
    /// Begins the files; `whole`: the signals are wanted afterwards.
    pub fn create(
        folder: &OutFolder<'_>,
        files: &[String],
        (rate, channels): (u32, usize),
        format: WavFormat,
        whole: bool,
    ) -> anyhow::Result<Self> {
        let stem = |name: &String| -> anyhow::Result<Stem> {
            let file = WavFile::create(&folder.file(name), rate, channels, format)?;
            Ok(Stem { file, wave: Thumbnail::of_wave(), signal: whole.then(Vec::new) })
        };
        Ok(Self { all: files.iter().map(stem).collect::<anyhow::Result<_>>()?, samples: 0 })
    }

    /// Takes the next samples of every stem, `[stem][channel][sample]`.
    pub fn take(&mut self, pieces: &[Vec<Vec<f64>>]) -> anyhow::Result<()> {
        self.samples += pieces.first().and_then(|stem| stem.first()).map_or(0, Vec::len);
        self.all.par_iter_mut().zip(pieces).try_for_each(|(stem, piece)| {
            let mean = klnmf_audio::mean(piece);
            stem.wave.add_wave(&mean);
            if let Some(signal) = &mut stem.signal {
                signal.extend_from_slice(&mean);
            }
            Ok(stem.file.write(piece)?)
        })
    }

    /// Puts all files in their places.
    pub fn finish(self) -> anyhow::Result<Written> {
        let finish = |Stem { file, wave, signal }: Stem| Ok((file.finish()?, wave, signal));
        let all: Vec<_> = self.all.into_par_iter().map(finish).collect::<anyhow::Result<_>>()?;
        let mut written =
            Written { waves: Vec::new(), signals: Vec::new(), samples: self.samples, clipped: 0 };
        for (clipped, wave, signal) in all {
            written.clipped += clipped;
            written.waves.push(wave);
            written.signals.extend(signal);
        }
        Ok(written)
    }
}

impl Written {
    /// A note if samples had to be clipped.
    pub fn clipping(&self) -> Option<String> {
        let note = "samples of the stems are beyond the range of the format and were clipped: with --format float32 nothing is";
        (self.clipped > 0).then(|| format!("{} {note}", self.clipped))
    }
}
