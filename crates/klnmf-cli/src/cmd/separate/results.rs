//! Takes the results as they are found, and writes them.

use super::scene::Scene;
use super::told::Told;
use super::{frames, model, page, pictures};
use crate::new_folder::NewFolder;
use crate::thumbnail::Thumbnail;
use klnmf::Mat;
use klnmf_audio::{Frame, Listener, Recording, WavFile, WavFormat};
use klnmf_io::{Spool, write_text};
use rayon::prelude::*;
use serde_json::Value;

/// What is found of a recording. Stems and weights go to disk, so memory does not grow with its length.
pub struct Results {
    pub scene: Scene,
    pub stems: Vec<Stem>,
    /// Samples per channel of the stems.
    pub samples: usize,
    /// What is known about each frame, with --online.
    pub heard: Vec<Frame>,
    /// H.
    weights: Spool,
}

pub struct Stem {
    /// None when it is finished.
    file: Option<WavFile>,
    /// The waveform of the mean of the channels.
    pub wave: Thumbnail,
    /// The mean of the channels, if the whole signal is needed.
    signal: Option<Vec<f64>>,
}

impl Results {
    /// Creates the stems of a mix; `whole`: the whole signals are needed afterwards.
    pub fn create(
        folder: &NewFolder,
        files: &[String],
        mix: &Recording,
        (bins, components): (usize, usize),
        format: WavFormat,
        whole: bool,
    ) -> anyhow::Result<Self> {
        let stem = |name: &String| -> anyhow::Result<Stem> {
            let file = WavFile::create(&folder.file(name), mix.rate(), mix.channels(), format)?;
            Ok(Stem { file: Some(file), wave: Thumbnail::of_wave(), signal: whole.then(Vec::new) })
        };
        Ok(Self {
            scene: Scene::new(bins, components),
            stems: files.iter().map(stem).collect::<anyhow::Result<_>>()?,
            samples: 0,
            heard: Vec::new(),
            weights: Spool::beside(&folder.file("H"), components)?,
        })
    }

    /// Completes the stems, and returns the number of clipped samples.
    pub fn finish_stems(&mut self) -> anyhow::Result<usize> {
        let files = self.stems.par_iter_mut().filter_map(|stem| stem.file.take());
        let clipped: Vec<usize> = files.map(WavFile::finish).collect::<Result<_, _>>()?;
        Ok(clipped.iter().sum())
    }

    /// The means of the channels, if they are kept.
    pub fn signals(&self) -> Vec<&[f64]> {
        self.stems.iter().filter_map(|stem| stem.signal.as_deref()).collect()
    }

    /// What is unusual about the results.
    pub fn notes(&self, clipped: usize, rate: u32, stopped: bool) -> Vec<String> {
        let mut notes: Vec<String> = self.scene.silent_mean().into_iter().collect();
        if clipped > 0 {
            notes.push(format!(
                "{clipped} samples of the stems exceeded the range of the format and were clipped: use \
                 --format float32 to avoid this"
            ));
        }
        if stopped && self.samples < self.scene.samples {
            let end = self.samples as f64 / f64::from(rate);
            notes.push(format!("interrupted: the stems end after {end:.1} s of the recording"));
        }
        notes
    }

    /// Writes the model, the picture and the page.
    pub fn write(
        mut self,
        folder: &NewFolder,
        name: &str,
        told: &Told<'_>,
        facts: &Value,
    ) -> anyhow::Result<()> {
        let svg = pictures::svg(&self, told.sources, facts["rate"].as_f64().unwrap_or_default());
        let page = page::page(name, &self.scene.loudness, told, facts, &svg)?;
        write_text(&folder.file(model::PICTURE), &svg)?;
        write_text(&folder.file(model::PAGE), &page)?;
        if !self.heard.is_empty() {
            write_text(&folder.file(model::FRAMES), &frames::csv(&self.heard, facts))?;
        }
        model::write(&folder.file(model::MODEL), told.sources, &mut self.weights, facts)
    }
}

impl Listener for Results {
    type Error = anyhow::Error;

    fn samples(&mut self, piece: &[&[f64]]) {
        self.scene.hear(piece);
    }

    fn frames(&mut self, v: &Mat<f64>, h: &Mat<f64>) -> anyhow::Result<()> {
        self.scene.see(v, h);
        Ok(self.weights.push(h)?)
    }

    fn heard(&mut self, frame: Frame) {
        self.heard.push(frame);
    }

    fn stems(&mut self, pieces: &[Vec<Vec<f64>>]) -> anyhow::Result<()> {
        self.samples += pieces.first().and_then(|stem| stem.first()).map_or(0, Vec::len);
        self.stems.par_iter_mut().zip(pieces).try_for_each(|(stem, piece)| {
            let mean = klnmf_audio::mean(piece);
            stem.wave.add_wave(&mean);
            if let Some(signal) = &mut stem.signal {
                signal.extend_from_slice(&mean);
            }
            Ok(stem.file.as_mut().map_or(Ok(()), |file| file.write(piece))?)
        })
    }
}
