//! Learns dictionaries from training recordings.

use super::Separate;
use super::material::Material;
use super::model::Dictionary;
use crate::cmd::thread_count;
use crate::progress;
use anyhow::{Context, bail};
use klnmf::{Mat, Problem, Solution, Status};
use klnmf_audio::Stft;
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// The result of learning.
pub enum Learned {
    Nothing,
    All(Dictionary),
    Interrupted,
}

/// A source, and the spectrogram to learn its components from.
struct Lesson {
    /// Its position among the sources.
    number: usize,
    name: String,
    v: Mat<f64>,
}

impl Separate {
    /// Learns the components of all training recordings.
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
        let bar = progress::bar(material.training.len(), self.output.quiet);
        bar.set_message("learning the sources");
        let lessons = self.lessons(stft, material)?;
        let mut learned = self.learn_all(lessons, settings, begun, &bar)?;
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

    /// The spectrograms of the training recordings, computed one after the other by all threads. The
    /// recordings are dropped.
    fn lessons(&self, stft: &Stft, material: &mut Material) -> anyhow::Result<Vec<Lesson>> {
        let training = std::mem::take(&mut material.training).into_iter().enumerate();
        let lesson = |(number, (name, sound)): (usize, (String, klnmf_audio::Sound))| {
            let v = stft.spectrogram(&sound.mono(), self.spectrogram.spectrum());
            if v.as_slice().iter().all(|x| *x == 0.0) {
                bail!("--train {name}: the recording is silent; give one that contains the source");
            }
            Ok(Lesson { number, name, v })
        };
        training.map(lesson).collect()
    }

    /// Learns all sources in parallel, so that single-threaded work on one does not delay the others. The
    /// longest come first, and each gets its share of the threads, rounded up, so that a long one is not left
    /// on a single thread.
    fn learn_all(
        &self,
        mut lessons: Vec<Lesson>,
        settings: &klnmf::Settings,
        begun: Instant,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<Vec<(usize, String, Solution<f64>)>> {
        lessons.sort_by_key(|lesson| Reverse(lesson.v.cols()));
        let threads = thread_count(self.threads);
        let at_once = threads.min(lessons.len());
        let all: usize = lessons.iter().map(|lesson| lesson.v.cols()).sum();
        let share = |lesson: &Lesson| (threads * lesson.v.cols()).div_ceil(all.max(1)).max(1);
        let queue = Mutex::new(lessons.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> anyhow::Result<Vec<_>> {
            let mut mine = Vec::new();
            while let Some(lesson) = next() {
                let settings = klnmf::Settings { threads: share(&lesson), ..settings.clone() };
                let found = self.learn_one(&lesson, &settings, begun)?;
                mine.push((lesson.number, lesson.name, found));
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
        Ok(parts.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat())
    }

    /// Learns the components of one source.
    fn learn_one(
        &self,
        lesson: &Lesson,
        settings: &klnmf::Settings,
        begun: Instant,
    ) -> anyhow::Result<Solution<f64>> {
        let v = &lesson.v;
        let max_iter = self.max_iter.unwrap_or(20);
        let settings = klnmf::Settings {
            max_iter,
            // With so few iterations, testing the gap on the way is not worth its cost.
            tol: self.tol.unwrap_or(0.0),
            // There is no progress bar to update.
            check_every: Some(max_iter.max(1)),
            time_limit: self.left(begun),
            ..settings.clone()
        };
        let problem = Problem::new(v, settings.threads)?;
        let start = problem.init(self.per_source.min(v.rows() * v.cols()), &settings)?;
        let hidden = indicatif::ProgressBar::hidden();
        self.factorise(v, problem, start, &settings, &hidden)
            .with_context(|| format!("--train {}", lesson.name))
    }
}
