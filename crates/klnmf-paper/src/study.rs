//! A study: how experiments are run, on which data, and where the results are stored.

pub(crate) use klnmf::thread_count;

use crate::corpus::Corpus;
use crate::experiment::Experiment;
use crate::faces::{self, Faces};
use crate::manifest::Manifest;
use crate::music::{self, Piece};
use crate::race::Lab;
use crate::record::Record;
use crate::size::Size;
use crate::{synthetic_nd, synthetic_nmf, topics, warm_restart};
use klnmf_io::file_name;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Instant;

/// The version of the record. It changes when more is recorded, so that experiments with older records are
/// measured again.
const RECORD: usize = 2;

/// How experiments are run.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// The folder of the report. The data are in its subfolder `data`.
    pub out: PathBuf,
    /// The size of the experiments.
    pub size: Size,
    /// Seed of the generated data and of the first random start. The other starts use the following seeds.
    pub seed: u64,
    /// Number of threads; 0 for one per core.
    pub threads: usize,
    /// Images: a matrix or a folder. If not given, they are generated, as are the next two.
    pub faces: Option<PathBuf>,
    /// Whether the matrix stores each image column by column.
    pub column_major: bool,
    /// A recording.
    pub music: Option<PathBuf>,
    /// Counts, documents × words.
    pub counts: Option<PathBuf>,
}

/// An experiment with its data, ready to run.
pub struct Task {
    /// The experiment.
    pub experiment: Experiment,
    /// Identifies the input if it does not follow from the seed and the size.
    fingerprint: Option<String>,
    pub(crate) run: Run,
}

type Run = Box<dyn Fn(&Lab, Size) -> anyhow::Result<Record>>;

/// What the folder already contains of an experiment.
pub enum Earlier {
    /// No finished measurement.
    Nothing,
    /// A measurement with other settings.
    OtherSettings,
    /// Data that were changed after they were written, and how.
    Damaged(String),
    /// The measurement, and the seconds that it took.
    Whole(f64),
}

impl Study {
    /// Reads or generates the data of an experiment.
    ///
    /// # Errors
    /// If a file cannot be read, or does not suit the experiment.
    pub fn load(&self, experiment: Experiment) -> anyhow::Result<Task> {
        let &Self { size, seed, column_major, .. } = self;
        let generated = |run: fn(&Lab, Size) -> anyhow::Result<Record>| (None, Box::new(run) as Run);
        let (fingerprint, run): (_, Run) = match experiment {
            Experiment::SyntheticNd => generated(synthetic_nd::run),
            Experiment::SyntheticNmf => generated(synthetic_nmf::run),
            Experiment::WarmRestart => generated(warm_restart::run),
            Experiment::Faces => {
                let images = Faces::load(self.faces.as_deref(), column_major, seed, size)?;
                (Some(images.fingerprint()), Box::new(move |lab, size| faces::run(lab, size, &images)))
            }
            Experiment::Music => {
                let piece = Piece::load(self.music.as_deref(), seed, size)?;
                (Some(piece.fingerprint()), Box::new(move |lab, size| music::run(lab, size, &piece)))
            }
            Experiment::Topics => {
                let corpus = Corpus::load(self.counts.as_deref(), seed, size)?;
                (Some(corpus.fingerprint()), Box::new(move |lab, size| topics::run(lab, size, &corpus)))
            }
        };
        Ok(Task { experiment, fingerprint, run })
    }

    /// What the folder already contains of an experiment.
    pub fn earlier(&self, task: &Task) -> Earlier {
        let folder = data_folder(&self.out, task.experiment);
        match Manifest::read(&folder) {
            None => Earlier::Nothing,
            Some(there) if there.settings != self.identity(task) => Earlier::OtherSettings,
            Some(there) => there.damage(&folder).map_or(Earlier::Whole(there.seconds()), Earlier::Damaged),
        }
    }

    /// Measures an experiment, writes its data, and returns the seconds that it took. `progress` is called
    /// with the current run and the fraction of the work done. Setting `stop` ends the measurement with
    /// [`Interrupted`](crate::Interrupted).
    ///
    /// # Errors
    /// If it is interrupted, or the data cannot be written.
    pub fn measure(
        &self,
        task: &Task,
        stop: &Arc<AtomicBool>,
        progress: impl Fn(&str, f64) + Send + Sync + 'static,
    ) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let lab = Lab {
            seed: self.seed,
            threads: self.threads,
            stop: stop.clone(),
            all: task.experiment.runs(self.size),
            runs: AtomicUsize::new(0),
            progress: Box::new(progress),
        };
        let record = (task.run)(&lab, self.size)?;
        let seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        let machine = json!({
            "command": self.command(task.experiment),
            "cores": thread_count(0),
            "system": std::env::consts::OS,
            "processor": std::env::consts::ARCH,
            "seconds": seconds,
        });
        record.write(&data_folder(&self.out, task.experiment), &self.identity(task), &machine)?;
        Ok(seconds)
    }

    /// The settings that identify a measurement.
    fn identity(&self, task: &Task) -> Value {
        json!({
            "experiment": task.experiment.name(),
            "size": self.size.name(),
            "seed": self.seed,
            "data": task.fingerprint,
            "threads": thread_count(self.threads),
            "klnmf": env!("CARGO_PKG_VERSION"),
            "record": RECORD,
        })
    }

    /// The command that repeats the measurement.
    fn command(&self, experiment: Experiment) -> String {
        let size = if self.size == Size::Quick { String::new() } else { format!(" --{}", self.size.name()) };
        let (option, path, turned) = match experiment {
            Experiment::Faces => ("faces", &self.faces, self.column_major),
            Experiment::Music => ("music", &self.music, false),
            Experiment::Topics => ("counts", &self.counts, false),
            _ => ("", &None, false),
        };
        let input = path.as_deref().map(|path| format!(" --{option} {}", file_name(path)));
        let turned = if turned { " --column-major" } else { "" };
        let (name, input) = (experiment.name(), input.unwrap_or_default());
        format!("klnmf reproduce {name}{size}{input}{turned} --seed {}", self.seed)
    }
}

/// The folder with the data of an experiment.
pub(crate) fn data_folder(out: &Path, experiment: Experiment) -> PathBuf {
    out.join("data").join(experiment.name())
}
