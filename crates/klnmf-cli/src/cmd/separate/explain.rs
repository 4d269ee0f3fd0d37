//! From spectrograms to sources: dictionaries are learned, the mix is explained.

use super::Separate;
use super::material::Material;
use super::model::{Dictionary, Sources};
use crate::cmd::thread_count;
use crate::progress;
use anyhow::{Context, bail};
use klnmf::{Mat, Solution, Status};
use klnmf_audio::{Sound, Stft};
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
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
        material: &mut Material,
        settings: &klnmf::Settings,
        begun: Instant,
    ) -> anyhow::Result<Learned> {
        if material.training.is_empty() {
            return Ok(Learned::Nothing);
        }
        let settings = klnmf::Settings { max_iter: self.max_iter.unwrap_or(20), ..settings.clone() };
        let bar = progress::bar(material.training.len(), self.output.quiet);
        bar.set_message("learning the sources");
        // Side by side: what one of them does on a single thread need not keep the others waiting. The longest come first, and
        // each has its share of the threads, rounded up, so that a long one is not left alone on a single thread.
        let mut training: Vec<_> = std::mem::take(&mut material.training).into_iter().enumerate().collect();
        training.sort_by_key(|(_, (_, sound))| Reverse(sound.len()));
        let threads = thread_count(self.threads);
        let at_once = threads.min(training.len());
        let all: usize = training.iter().map(|(_, (_, sound))| sound.len()).sum();
        let share = |sound: &Sound| (threads * sound.len()).div_ceil(all.max(1)).max(1);
        let queue = Mutex::new(training.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> anyhow::Result<Vec<(usize, String, Solution<f64>)>> {
            let mut mine = Vec::new();
            while let Some((number, (name, sound))) = next() {
                let settings = klnmf::Settings { threads: share(&sound), ..settings.clone() };
                let found = self.learn_one(&name, stft, sound, &settings, begun)?;
                mine.push((number, name, found));
                bar.inc(1);
            }
            Ok(mine)
        };
        let parts = thread::scope(|scope| {
            let others: Vec<_> = (1..at_once).map(|_| scope.spawn(work)).collect();
            let mut parts = vec![work()];
            parts.extend(
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
            );
            parts
        });
        let mut learned = parts.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat();
        learned.sort_by_key(|(number, ..)| *number);
        bar.finish_and_clear();
        let mut known = Dictionary::new();
        for (_, name, found) in learned {
            if found.status == Status::Stopped {
                return Ok(Learned::Interrupted);
            }
            known.add(&name, found.w);
        }
        if let Some(path) = &self.save {
            known.write(path, stft, material.mix.rate(), self.spectrogram.name())?;
        }
        Ok(Learned::All(known))
    }

    /// The parts of one training recording.
    fn learn_one(
        &self,
        name: &str,
        stft: &Stft,
        sound: Sound,
        settings: &klnmf::Settings,
        begun: Instant,
    ) -> anyhow::Result<Solution<f64>> {
        let v = self.spectrogram.of(&stft.forward(&sound.mono()));
        drop(sound);
        if v.as_slice().iter().all(|x| *x == 0.0) {
            bail!("--train {name}: the recording is silent, there is nothing to learn from it");
        }
        let k = self.per_source.min(v.rows() * v.cols());
        let settings = klnmf::Settings { time_limit: self.left(begun), ..settings.clone() };
        let (w, h) = klnmf::init(&v, k, &settings)?;
        let hidden = indicatif::ProgressBar::hidden();
        self.factorise(&v, w, h, &settings, &hidden).with_context(|| format!("--train {name}"))
    }

    /// Parts for what is not known, and weights for everything.
    pub(super) fn explain(
        &self,
        v: &Mat<f64>,
        known: Option<&Dictionary>,
        names: Vec<String>,
        settings: &klnmf::Settings,
    ) -> anyhow::Result<(Sources, Mat<f64>)> {
        let (fixed, free) = (known.map_or(0, |known| known.w.cols()), self.free(known.is_some()));
        let (mut w, h) = klnmf::init(v, fixed + free, settings)?;
        if let Some(known) = known {
            w.as_mut_slice()[..known.w.as_slice().len()].copy_from_slice(known.w.as_slice());
        }
        let settings = klnmf::Settings { fixed, ..settings.clone() };
        let bar = progress::bar(settings.max_iter, self.output.quiet);
        let found = self.factorise(v, w, h, &settings, &bar)?;
        bar.finish_and_clear();
        Ok(Sources::learned(known, found, self.sources, names))
    }
}
