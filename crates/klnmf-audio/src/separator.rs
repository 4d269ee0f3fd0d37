//! The way from recordings to stems.

use crate::groups::bundle;
use crate::{Dictionary, Error, Listener, Progress, Recording, Spectrum, Stft, Watch, separate_by_blocks};
use klnmf::{DecomposeSettings, Mat, Precision, Problem, Settings, Solution, Solver, Status};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Learns sources from recordings of each alone, and separates mixes into known and new sources.
///
/// The defaults are those of `klnmf separate`.
#[derive(Clone, Debug)]
pub struct Separator {
    /// The kind of spectrogram that is factorised.
    pub spectrum: Spectrum,
    /// Components of each source that is learned from a recording of it alone.
    pub per_source: usize,
    /// Components to learn from the mix itself.
    pub components: usize,
    /// Sources to group these into by the similarity of spectra and activations; none: one for each.
    pub sources: Option<usize>,
    /// Separate every frame as it is heard, with components that learn from it. The number is the least
    /// weight of a new frame, from 0 to 1: with more than 0, old frames are forgotten. Known sources learn,
    /// too, and cannot be combined with new components.
    pub online: Option<f64>,
    /// The solver for all components that are learned.
    pub solver: Solver,
    /// The tolerance, relative to the divergence where components are learned, else to the sum of a frame.
    /// `None`: 0 where known sources are learned, 0.1 for a mix with known sources, else 3e-3. A closer fit
    /// to known sources separated worse on the recordings that the default was chosen on.
    pub tol: Option<f64>,
    /// The most iterations of the learning. `None`: 20 for known sources, 300 for the mix.
    pub max_iter: Option<usize>,
    /// The most iterations for a frame of a mix that has known sources only.
    pub frame_iter: usize,
    /// The number format of the learning. `None`: f32 where that is accurate enough.
    pub precision: Option<Precision>,
    /// The seed of the random starts.
    pub seed: u64,
    /// Threads; 0 for one per core. The result does not depend on them.
    pub threads: usize,
    /// When to end with what has been found so far.
    pub deadline: Option<Instant>,
    /// Set to true from anywhere, it ends the work early.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for Separator {
    fn default() -> Self {
        Self {
            spectrum: Spectrum::Power,
            per_source: 24,
            components: 0,
            sources: None,
            online: None,
            solver: Solver::Auto,
            tol: None,
            max_iter: None,
            frame_iter: DecomposeSettings::default().max_iter,
            precision: None,
            seed: 0,
            threads: 0,
            deadline: None,
            stop: None,
        }
    }
}

/// The model of a mix: its components, and the sources that they belong to.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The spectra, bins × components.
    pub w: Mat<f64>,
    /// The components of every source.
    pub groups: Vec<Vec<usize>>,
    /// The names of the sources, as [`Separator::names`] gives them.
    pub names: Vec<String>,
    /// Why the work ended.
    pub status: Status,
    /// Iterations; with known sources only, the largest number for any frame.
    pub iterations: usize,
    /// D(V‖WH).
    pub divergence: f64,
    /// The gap relative to the divergence where components are learned ([`klnmf::Info::relative_gap`]), else
    /// to the sum of the spectrogram.
    pub relative_gap: f64,
}

impl Separator {
    /// The settings of the solvers for a mix, with known sources or without.
    pub fn settings(&self, known: bool) -> Settings {
        Settings {
            solver: self.solver,
            mixed: self.precision.map(|precision| precision == Precision::Mixed),
            max_iter: self.max_iter.unwrap_or(300),
            tol: self.tol.unwrap_or(if known { 0.1 } else { Settings::default().tol }),
            time_limit: self.left(),
            seed: self.seed,
            threads: self.threads,
            stop: self.stop.clone(),
            ..Settings::default()
        }
    }

    /// What is left of the time.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// The names of all sources of a mix: the known ones, then those that are learned from it.
    pub fn names(&self, known: &[String]) -> Vec<String> {
        let (what, count) = self.sources.map_or(("part", self.components), |sources| ("source", sources));
        let numbered = (1..).map(|n| format!("{what}{n:02}"));
        let new = numbered.filter(|name| !known.contains(name)).take(count);
        known.iter().cloned().chain(new).collect()
    }

    /// Splits a mix into stems that add up to it, one for every source of [`Separator::names`].
    ///
    /// With known sources only, every frame is a convex problem of its own. The recording is then processed
    /// in blocks, so memory does not grow with its length, and after an interruption the stems end where the
    /// work ended. Otherwise the whole recording is held in memory.
    pub fn separate<L: Listener>(
        &self,
        mix: &mut Recording,
        stft: &Stft,
        known: Option<&Dictionary>,
        watch: Watch<'_>,
        listener: &mut L,
    ) -> Result<Sources, L::Error> {
        if self.online.is_some() {
            return self.follow(mix, stft, known, watch, listener);
        }
        if let Some(known) = known.filter(|_| self.components == 0) {
            return self.explain(mix, stft, known, watch, listener);
        }
        let read;
        let sound = match mix {
            Recording::Memory(sound, _) => sound,
            Recording::File(reader) => {
                read = reader.rest()?;
                &read
            }
        };
        listener.samples(&sound.channels.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let v = stft.spectrogram(&sound.mono(), self.spectrum);
        let Solution { w, h, info, status, .. } = self.learn_mix(&v, known, watch)?;
        listener.frames(&v, &h)?;
        drop(v);
        let groups = self.groups(known, &w, &h);
        separate_by_blocks(sound, stft, &w, &h, &groups, |pieces| listener.stems(pieces))?;
        Ok(Sources {
            w,
            groups,
            names: self.names(&known.map_or(Vec::new(), Dictionary::names)),
            status,
            iterations: info.iteration,
            divergence: info.divergence,
            relative_gap: info.relative_gap(),
        })
    }

    /// Learns the unknown components of a mix, and the weights of all.
    fn learn_mix(
        &self,
        v: &Mat<f64>,
        known: Option<&Dictionary>,
        watch: Watch<'_>,
    ) -> Result<Solution<f64>, Error> {
        let fixed = known.map_or(0, |known| known.w.cols());
        let settings = Settings { fixed, ..self.settings(known.is_some()) };
        let problem = Problem::new(v, settings.threads)?;
        let (mut w, h) = problem.init(fixed + self.components, &settings)?;
        if let Some(known) = known {
            w.as_mut_slice()[..known.w.as_slice().len()].copy_from_slice(known.w.as_slice());
        }
        Ok(self.factorize(v, problem, (w, h), &settings, settings.tol, |info| {
            watch(Progress::Iteration(info));
        })?)
    }

    /// The components of every source: those of the known ones, then the new ones, the loudest first.
    fn groups(&self, known: Option<&Dictionary>, w: &Mat<f64>, h: &Mat<f64>) -> Vec<Vec<usize>> {
        let fixed = known.map_or(0, |known| known.w.cols());
        let mut new = bundle(w, h, fixed, self.sources.unwrap_or(self.components));
        let loudness = h.row_sums();
        let loud = |group: &Vec<usize>| group.iter().map(|k| loudness[*k]).sum::<f64>();
        new.sort_by(|a, b| loud(b).total_cmp(&loud(a)));
        let mut groups = known.map_or(Vec::new(), Dictionary::groups);
        groups.extend(new);
        groups
    }
}
