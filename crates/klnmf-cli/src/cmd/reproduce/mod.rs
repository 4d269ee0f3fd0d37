//! `klnmf reproduce`: the experiments of the paper, and a report to read beside it.

mod checksum;
mod claim;
mod corpus;
mod decomposition;
mod dictionary;
mod experiment;
mod faces;
mod factorisation;
mod front;
mod grow;
mod images;
mod judge;
mod manifest;
mod music;
mod optimum;
mod page;
mod race;
mod record;
mod restart_claims;
mod section;
mod size;
mod spread;
mod starts;
mod sweep;
mod synthetic_nd;
mod synthetic_nmf;
mod topics;
mod trace;
mod warm_restart;

use super::{Output, thread_count};
use crate::out_folder::OutFolder;
use crate::{interrupt, progress, summary};
use claim::{VERDICTS, Verdict};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use experiment::{EXPERIMENTS, Experiment, Inputs};
use manifest::Manifest;
use page::Shown;
use race::{Interrupted, Lab};
use serde_json::{Map, Value, json};
use size::Size;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Run the experiments of the paper and write a report to read beside it
///
/// The methods are the authors' own programs, step for step (FPA, MUA, ADMM with the
/// paper's ρ and with others), and ours: fpa with adaptive steps, and auto. (For topics
/// there is no program of theirs: FPA has our steps on the simplex there.) The report
/// lists every claim of the paper with what was measured, where it agrees and where it
/// does not. Claims about beginnings and ends are judged over ten random starts; a claim
/// about the paper's size has a verdict with --full only, and those about faces and music
/// with data of that kind only.
///
/// The folder of --out gets README.md, which sums it up, index.html, which needs nothing
/// else, figures/*.svg, numbered as in the paper, and data/EXPERIMENT/*.csv with a
/// manifest.json, from which all of it is drawn; data/README.md says what every column
/// means. The same command again keeps what is finished and draws the report anew; Ctrl-C
/// keeps the finished experiments, so that a long run can be resumed.
///
///   synthetic-nd   the convex problems on 200×1000 uniform numbers, r = 15
///   synthetic-nmf  the factorisation of 250×2000 uniform numbers, r = 50
///   warm-restart   from r = 50 to r = 100 on 150×2000 uniform numbers
///   faces          r = 49; your images with --faces, else 256 generated ones
///   music          a spectrogram, r = 10; your recording with --music, else a generated one
///   topics         the simplex extension against EM; your counts with --counts, else generated ones
///
/// Examples:
///   klnmf reproduce                                     all of it at small sizes, in a minute or two
///   klnmf reproduce synthetic-nd --full                 one experiment with the paper's sizes
///   klnmf reproduce faces --faces cbcl.npy --column-major --full
///   klnmf reproduce music --music song.wav --full --out song/
///   klnmf reproduce topics --counts newsgroups.npz --full
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Reproduce {
    /// What to run
    #[arg(value_enum, value_name = "EXPERIMENT", default_value = "all")]
    what: Vec<What>,
    /// The folder for the report; it is made if it is not there
    #[arg(long, short, value_name = "FOLDER", default_value = "report")]
    out: PathBuf,
    /// Small sizes, all figures, a minute or two [this is the default]
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The paper's sizes, numbers of iterations and ten random starts; up to half an hour for an experiment
    #[arg(long)]
    full: bool,
    /// Sizes for tests
    #[arg(long, hide = true, conflicts_with_all = ["quick", "full"])]
    tiny: bool,
    /// Images for faces: a matrix with an image in every column (.npy and so on), or a folder of PGM or PNG files
    #[arg(long, value_name = "FILE")]
    faces: Option<PathBuf>,
    /// The images of the matrix of --faces are stored column by column, as MATLAB does
    #[arg(long, requires = "faces")]
    column_major: bool,
    /// A recording for music: WAV, FLAC, OGG/Vorbis or MP3; it is resampled to 11025 Hz
    #[arg(long, value_name = "FILE")]
    music: Option<PathBuf>,
    /// Counts for topics: a matrix of documents × words (.npz, .mtx, .npy, .csv), as for klnmf topics
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Of the generated data and of the first random start; further ones have the seeds after it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one per core. Only times depend on them
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Run experiments again that are finished
    #[arg(long)]
    force: bool,
    /// Only draw the report anew from the data in the folder
    #[arg(long, conflicts_with = "force")]
    draw: bool,
    #[command(flatten)]
    output: Output,
}

/// What can be asked for.
#[derive(Clone, Copy)]
enum What {
    One(Experiment),
    All,
}

impl ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        const VARIANTS: [What; EXPERIMENTS.len() + 1] = {
            let mut variants = [What::All; EXPERIMENTS.len() + 1];
            let mut n = 0;
            while n < EXPERIMENTS.len() {
                variants[n] = What::One(EXPERIMENTS[n]);
                n += 1;
            }
            variants
        };
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            What::One(experiment) => experiment.name(),
            What::All => "all",
        }))
    }
}

impl What {
    fn includes(self, experiment: Experiment) -> bool {
        match self {
            What::One(own) => own == experiment,
            What::All => true,
        }
    }
}

/// What is recorded of an experiment: it changes when there is more of it, so that older records are made anew.
const RECORD: usize = 2;

/// What became of an experiment in this run.
struct Done {
    experiment: Experiment,
    /// Whether it was measured now, or earlier.
    now: bool,
    /// What the measurement took, whenever it was.
    seconds: f64,
}

impl Reproduce {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let included = |e: &Experiment| !self.draw && self.what.iter().any(|what| what.includes(*e));
        let wanted: Vec<Experiment> = EXPERIMENTS.into_iter().filter(included).collect();
        let read: Vec<PathBuf> = self.faces.iter().chain(&self.music).chain(&self.counts).cloned().collect();
        let folder = OutFolder::new(&self.out, &read, &["index.html", "README.md"])?;
        let inputs = self.inputs(&wanted)?;
        folder.create()?;
        let stop = interrupt::flag();
        let mut done = Vec::new();
        let mut interrupted = false;
        for (number, experiment) in wanted.iter().enumerate() {
            let label = format!("[{}/{}] {}", number + 1, wanted.len(), experiment.name());
            match self.measure(*experiment, &label, &inputs, &stop) {
                Ok(one) => done.push(one),
                Err(error) if error.is::<Interrupted>() => {
                    interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let shown = page::write(&self.out)?;
        for (experiment, damage) in &shown.left_out {
            let name = experiment.name();
            self.say(&format!("{name}: {damage}, so the report leaves it out; name it to measure it anew"));
        }
        self.tell(&folder.file("index.html"), &done, &shown, interrupted)?;
        Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
    }

    fn size(&self) -> Size {
        if self.full {
            Size::Full
        } else if self.tiny {
            Size::Tiny
        } else {
            Size::Quick
        }
    }

    /// Reads what the options name, before any work.
    fn inputs(&self, wanted: &[Experiment]) -> anyhow::Result<Inputs> {
        let size = self.size();
        let mut inputs = Inputs::default();
        if wanted.contains(&Experiment::Faces) {
            inputs.faces =
                Some(faces::Faces::load(self.faces.as_deref(), self.column_major, self.seed, size)?);
        } else if self.faces.is_some() {
            anyhow::bail!("--faces is for the experiment faces: name it, or all");
        }
        if wanted.contains(&Experiment::Music) {
            inputs.music = Some(music::Piece::load(self.music.as_deref(), self.seed, size)?);
        } else if self.music.is_some() {
            anyhow::bail!("--music is for the experiment music: name it, or all");
        }
        if wanted.contains(&Experiment::Topics) {
            inputs.counts = Some(corpus::Corpus::load(self.counts.as_deref(), self.seed, size)?);
        } else if self.counts.is_some() {
            anyhow::bail!("--counts is for the experiment topics: name it, or all");
        }
        Ok(inputs)
    }

    /// What tells one measurement from another: another one has to be made anew.
    fn identity(&self, experiment: Experiment, inputs: &Inputs) -> Value {
        json!({
            "experiment": experiment.name(),
            "size": self.size().name(),
            "seed": self.seed,
            "data": inputs.fingerprint(experiment),
            "threads": thread_count(self.threads),
            "klnmf": env!("CARGO_PKG_VERSION"),
            "record": RECORD,
        })
    }

    /// Runs an experiment unless its folder has it already.
    fn measure(
        &self,
        experiment: Experiment,
        label: &str,
        inputs: &Inputs,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Done> {
        let folder = data_folder(&self.out, experiment);
        let identity = self.identity(experiment, inputs);
        match Manifest::read(&folder) {
            Some(there) if there.settings != identity => {
                self.say(&format!("{label}: was measured with other settings, and is measured anew"));
            }
            Some(there) if !self.force => match there.damage(&folder) {
                None => {
                    self.say(&format!("{label}: finished before, kept"));
                    return Ok(Done { experiment, now: false, seconds: there.seconds() });
                }
                Some(damage) => self.say(&format!("{label}: {damage}, so it is measured anew")),
            },
            _ => {}
        }
        let begun = Instant::now();
        let lab = Lab {
            seed: self.seed,
            threads: self.threads,
            stop: stop.clone(),
            bar: progress::share(experiment.runs(self.size()) * race::STEPS, label, self.output.quiet),
            runs: Cell::new(0),
        };
        let record = experiment.run(&lab, self.size(), inputs);
        lab.bar.finish_and_clear();
        let seconds = (begun.elapsed().as_secs_f64() * 1e3).round() / 1e3;
        record?.write(&folder, &identity, &self.machine(experiment, seconds))?;
        self.say(&format!("{label}: measured in {seconds:.1} s"));
        Ok(Done { experiment, now: true, seconds })
    }

    fn machine(&self, experiment: Experiment, seconds: f64) -> Value {
        json!({
            "command": self.command(experiment),
            "cores": thread_count(0),
            "system": std::env::consts::OS,
            "processor": std::env::consts::ARCH,
            "seconds": seconds,
        })
    }

    /// A line about the progress, for people.
    fn say(&self, line: &str) {
        if !self.output.quiet && !self.output.json {
            eprintln!("{line}");
        }
    }

    /// The command that measures the same again.
    fn command(&self, experiment: Experiment) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut command = format!("klnmf reproduce {}", experiment.name());
        if self.size() != Size::Quick {
            command += &format!(" --{}", self.size().name());
        }
        if let Some(path) = self.faces.as_deref().filter(|_| experiment == Experiment::Faces) {
            command += &format!(" --faces {}", name(path));
            command += if self.column_major { " --column-major" } else { "" };
        }
        if let Some(path) = self.music.as_deref().filter(|_| experiment == Experiment::Music) {
            command += &format!(" --music {}", name(path));
        }
        if let Some(path) = self.counts.as_deref().filter(|_| experiment == Experiment::Topics) {
            command += &format!(" --counts {}", name(path));
        }
        command + &format!(" --seed {}", self.seed)
    }

    fn tell(&self, index: &Path, done: &[Done], shown: &Shown, interrupted: bool) -> anyhow::Result<()> {
        let count = |verdicts: &[Verdict], wanted| verdicts.iter().filter(|v| **v == wanted).count();
        if self.output.json {
            let experiments: Vec<Value> = done
                .iter()
                .map(|one| {
                    let none = Vec::new();
                    let verdicts =
                        shown.verdicts.iter().find(|(e, _)| *e == one.experiment).map_or(&none, |(_, v)| v);
                    let claims: Map<String, Value> =
                        VERDICTS.iter().map(|v| (v.key().to_owned(), count(verdicts, *v).into())).collect();
                    json!({ "name": one.experiment.name(), "measured": one.now, "seconds": summary::number(one.seconds), "claims": claims })
                })
                .collect();
            let object = json!({
                "status": if interrupted { "interrupted" } else { "done" },
                "size": self.size().name(),
                "seed": self.seed,
                "threads": thread_count(self.threads),
                "experiments": experiments,
                "report": (!shown.verdicts.is_empty()).then(|| index.display().to_string()),
            });
            return summary::print_json(object.as_object().cloned().unwrap_or_default());
        }
        if shown.verdicts.is_empty() {
            self.say(if interrupted {
                "interrupted before any experiment was finished: there is no report yet"
            } else {
                "there is nothing to draw: no experiment is finished"
            });
            return Ok(());
        }
        if self.output.quiet {
            return Ok(());
        }
        let mut text = String::new();
        for (experiment, verdicts) in &shown.verdicts {
            let each = VERDICTS.map(|verdict| (verdict, count(verdicts, verdict)));
            let told = each.iter().filter(|(_, count)| *count > 0);
            let told: Vec<String> = told.map(|(v, count)| format!("{count} {}", v.counted(*count))).collect();
            text += &format!("{:<14} {} claims: {}\n", experiment.name(), verdicts.len(), told.join(", "));
        }
        text += &format!("report         {}\n", index.display());
        summary::print(&text)
    }
}

/// Where the data of an experiment lie.
fn data_folder(out: &Path, experiment: Experiment) -> PathBuf {
    out.join("data").join(experiment.name())
}
