//! From spectrograms to sources: dictionaries are learned, the mix is explained.

use super::Separate;
use super::material::Material;
use super::model::{Dictionary, Sources};
use crate::progress;
use anyhow::{Context, bail};
use klnmf::{DecomposeSettings, Mat, Solution, Status};
use klnmf_audio::Stft;
use std::ops::ControlFlow;
use std::time::Instant;

/// What came of the training recordings.
pub enum Learned {
    Nothing,
    All(Dictionary),
    Interrupted,
}

impl Separate {
    /// The parts of the training recordings.
    pub(super) fn learn(
        &self,
        stft: &Stft,
        material: &Material,
        settings: &klnmf::Settings,
        begun: Instant,
    ) -> anyhow::Result<Learned> {
        if material.training.is_empty() {
            return Ok(Learned::Nothing);
        }
        let settings = klnmf::Settings { max_iter: self.max_iter.unwrap_or(20), ..settings.clone() };
        let bar = progress::bar(material.training.len(), self.output.quiet);
        let mut known = Dictionary::new();
        for (name, sound) in &material.training {
            bar.set_message(format!("learning {name}"));
            let v = self.spectrogram.of(stft, &sound.mono());
            if v.as_slice().iter().all(|x| *x == 0.0) {
                bail!("--train {name}: the recording is silent, there is nothing to learn from it");
            }
            let k = self.per_source.min(v.rows() * v.cols());
            let settings = klnmf::Settings { time_limit: self.left(begun), ..settings.clone() };
            let found = klnmf::factorize(&v, k, &settings).with_context(|| format!("--train {name}"))?;
            if found.status == Status::Stopped {
                return Ok(Learned::Interrupted);
            }
            known.add(name, found.w);
            bar.inc(1);
        }
        bar.finish_and_clear();
        if let Some(path) = &self.save {
            known.write(path, stft, material.mix.rate, self.spectrogram.name())?;
        }
        Ok(Learned::All(known))
    }

    /// Weights for what is known, parts for what is not.
    pub(super) fn explain(
        &self,
        v: &Mat<f64>,
        known: Option<Dictionary>,
        names: Vec<String>,
        settings: &klnmf::Settings,
    ) -> anyhow::Result<Sources> {
        let Some(known) = known else {
            let (w, h) = klnmf::init(v, self.free(false), settings)?;
            return Ok(Sources::blind(self.watched(v, w, h, settings)?, self.sources, names));
        };
        let (fixed, free) = (known.w.cols(), self.free(true));
        if free == 0 {
            let bar = progress::bar(v.cols(), self.output.quiet);
            let convex = DecomposeSettings {
                tol: settings.tol,
                threads: settings.threads,
                time_limit: settings.time_limit,
                stop: settings.stop.clone(),
                ..Default::default()
            };
            let found = klnmf::decompose_with(v, &known.w, &convex, &|done| bar.set_position(done as u64))?;
            bar.finish_and_clear();
            return Ok(Sources::supervised(known, found, v.as_slice().iter().sum()));
        }
        let (mut w, h) = klnmf::init(v, fixed + free, settings)?;
        w.as_mut_slice()[..known.w.as_slice().len()].copy_from_slice(known.w.as_slice());
        let settings = klnmf::Settings { fixed, ..settings.clone() };
        Ok(Sources::semi(known, self.watched(v, w, h, &settings)?, self.sources, names))
    }

    /// A factorisation with its progress on a bar.
    fn watched(
        &self,
        v: &Mat<f64>,
        w: Mat<f64>,
        h: Mat<f64>,
        settings: &klnmf::Settings,
    ) -> anyhow::Result<Solution<f64>> {
        let bar = progress::bar(settings.max_iter, self.output.quiet);
        let found = klnmf::factorize_from(v, w, h, settings, |info| {
            progress::show(&bar, info);
            ControlFlow::Continue(())
        })?;
        bar.finish_and_clear();
        Ok(found)
    }
}
