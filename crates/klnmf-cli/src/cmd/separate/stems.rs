//! Writes the stems to their files.

use super::thumbnail::Thumbnail;
use crate::out_folder::OutFolder;
use klnmf_audio::{WavFile, WavFormat};
use klnmf_io::NewFile;
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
    /// The mean of the channels, if the whole signal is needed.
    signal: Option<Vec<f64>>,
}

/// Stems that have been written under hidden names.
pub struct Written {
    files: Vec<WavFile>,
    /// The waveforms of the means of the channels.
    pub waves: Vec<Thumbnail>,
    /// The means of the channels, if they are needed.
    pub signals: Vec<Vec<f64>>,
    /// Samples per channel.
    pub samples: usize,
}

impl Stems {
    /// Creates the files; `whole`: the whole signals are needed afterwards.
    pub fn create(
        folder: &OutFolder,
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

    /// Writes the next samples of every stem, `[stem][channel][sample]`.
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

    /// Completes all files.
    pub fn complete(self) -> anyhow::Result<Written> {
        let complete = |mut stem: Stem| stem.file.complete().map(|()| stem);
        let all: Vec<Stem> = self.all.into_par_iter().map(complete).collect::<Result<_, _>>()?;
        let mut written =
            Written { files: Vec::new(), waves: Vec::new(), signals: Vec::new(), samples: self.samples };
        for Stem { file, wave, signal } in all {
            written.files.push(file);
            written.waves.push(wave);
            written.signals.extend(signal);
        }
        Ok(written)
    }
}

impl Written {
    /// A note if samples had to be clipped.
    pub fn clipping(&self) -> Option<String> {
        let note = "samples of the stems exceeded the range of the format and were clipped: use --format \
                    float32 to avoid this";
        let clipped: usize = self.files.iter().map(WavFile::clipped).sum();
        (clipped > 0).then(|| format!("{clipped} {note}"))
    }

    /// The files, to be moved into place.
    pub fn into_files(self) -> impl Iterator<Item = NewFile> {
        self.files.into_iter().map(WavFile::into_file)
    }
}
