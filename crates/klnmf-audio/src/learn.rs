//! Learns known sources from recordings of each alone.

use crate::{Dictionary, Error, Progress, Separator, Sound, Stft, Watch};
use klnmf::{Mat, Problem, Settings, Solution, Status};
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A source, and the spectrogram to learn its components from.
struct Lesson {
    /// Its position among the sources.
    number: usize,
    name: String,
    v: Mat<f64>,
}

impl Separator {
    /// Learns the components of every source from a recording of it alone. None if the work was stopped.
    pub fn learn(
        &self,
        training: Vec<(String, Sound)>,
        stft: &Stft,
        watch: Watch<'_>,
    ) -> Result<Option<Dictionary>, Error> {
        let lesson = |(number, (name, sound)): (usize, (String, Sound))| {
            // One after the other by all threads; the recording is dropped.
            let v = stft.spectrogram(&sound.mono(), self.spectrum);
            if v.as_slice().iter().all(|x| *x == 0.0) {
                let why = "the recording is silent; give one that contains the source".into();
                return Err(Error::Source { name, why });
            }
            Ok(Lesson { number, name, v })
        };
        let lessons: Vec<Lesson> = training.into_iter().enumerate().map(lesson).collect::<Result<_, _>>()?;
        let mut learned = self.learn_all(lessons, watch)?;
        if learned.iter().any(|(_, found)| found.status == Status::Stopped) {
            return Ok(None);
        }
        learned.sort_by_key(|(lesson, _)| lesson.number);
        let name = |(lesson, found): &(Lesson, Solution<f64>)| vec![lesson.name.clone(); found.w.cols()];
        let columns = learned.iter().flat_map(name).collect::<Vec<_>>();
        let spectra: Vec<f64> = learned.into_iter().flat_map(|(_, found)| found.w.into_vec()).collect();
        Ok(Some(Dictionary { w: Mat::new(stft.bins(), columns.len(), spectra)?, columns }))
    }

    /// Learns all sources in parallel, so that single-threaded work on one does not delay the others. The
    /// longest come first, and each gets its share of the threads, rounded up, so that a long one is not left
    /// on a single thread.
    fn learn_all(
        &self,
        mut lessons: Vec<Lesson>,
        watch: Watch<'_>,
    ) -> Result<Vec<(Lesson, Solution<f64>)>, Error> {
        lessons.sort_by_key(|lesson| Reverse(lesson.v.cols()));
        let threads = klnmf::thread_count(self.threads);
        let at_once = threads.min(lessons.len());
        let all: usize = lessons.iter().map(|lesson| lesson.v.cols()).sum();
        let share = |lesson: &Lesson| (threads * lesson.v.cols()).div_ceil(all.max(1)).max(1);
        let queue = Mutex::new(lessons.into_iter());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            let mut mine = Vec::new();
            while let Some(lesson) = next() {
                let found = self.learn_one(&lesson, share(&lesson))?;
                mine.push((lesson, found));
                watch(Progress::Source);
            }
            Ok::<_, Error>(mine)
        };
        let parts = thread::scope(|scope| {
            let others: Vec<_> = (1..at_once).map(|_| scope.spawn(work)).collect();
            let mut parts = vec![work()];
            parts.extend(
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
            );
            parts
        });
        Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Learns the components of one source.
    fn learn_one(&self, Lesson { name, v, .. }: &Lesson, threads: usize) -> Result<Solution<f64>, Error> {
        let max_iter = self.max_iter.unwrap_or(20);
        let mix = self.settings(true);
        let settings = Settings {
            max_iter,
            // With so few iterations, testing the gap on the way is not worth its cost.
            tol: self.tol.unwrap_or(0.0),
            // Nobody watches the iterations.
            check_every: Some(max_iter.max(1)),
            threads,
            ..mix
        };
        let learn = || {
            let problem = Problem::new(v, threads)?;
            let start = problem.init(self.per_source.min(v.rows() * v.cols()), &settings)?;
            // The tolerance for the mix decides the precision: a fixed number of iterations needs no small
            // gap.
            self.factorize(v, problem, start, &settings, mix.tol, |_| ())
        };
        learn().map_err(|why| Error::Source { name: name.clone(), why: why.to_string() })
    }
}
