//! `klnmf reproduce`: the experiments of the paper, and a report to read beside it.

use super::{Output, choices, thread_count};
use crate::new_folder::NewFolder;
use crate::out_folder::OutFolder;
use crate::{interrupt, progress, summary};
use clap::Args;
use clap::builder::TypedValueParser;
use klnmf_paper::{
    EXPERIMENTS, Earlier, Experiment, Interrupted, Shown, Size, Study, Task, VERDICTS, Verdict,
};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf reproduce                                     # all of it at small sizes, in a minute or two
  klnmf reproduce synthetic-nd --full                 # one experiment with the paper's sizes
  klnmf reproduce faces --faces cbcl.npy --column-major --full
  klnmf reproduce music --music song.wav --full --out song/
  klnmf reproduce topics --counts newsgroups.npz --full"
)]
pub struct Reproduce {
    /// What to run
    #[arg(value_parser = what(), value_name = "EXPERIMENT", default_value = "all")]
    what: Vec<Option<Experiment>>,
    /// The folder for the report; it must be new, empty or of an earlier run
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
    /// Images for faces: a matrix with an image in every column (.npy and so on), or a folder of PGM or PNG
    /// files
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
    /// Seed of the generated data and of the first random start; the others have the seeds after it
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

/// One of the experiments, or none for all of them.
fn what() -> impl TypedValueParser<Value = Option<Experiment>> {
    let each = EXPERIMENTS.map(|experiment| (Some(experiment), experiment.name(), ""));
    choices::one_of(each.into_iter().chain([(None, "all", "")]))
}

/// What became of an experiment in this run.
struct Done {
    experiment: Experiment,
    /// Whether it was measured now, or earlier.
    now: bool,
    /// The seconds of the measurement, whenever it was.
    seconds: f64,
}

impl Reproduce {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let is = |e: &Experiment| self.what.iter().any(|what| what.is_none_or(|own| own == *e));
        let included = |e: &Experiment| !self.draw && is(e);
        let wanted: Vec<Experiment> = EXPERIMENTS.into_iter().filter(included).collect();
        let given = [(&self.faces, "faces", Experiment::Faces), (&self.music, "music", Experiment::Music)];
        for (path, option, experiment) in
            given.into_iter().chain([(&self.counts, "counts", Experiment::Topics)])
        {
            let (used, name) = (path.is_none() || wanted.contains(&experiment), experiment.name());
            anyhow::ensure!(used, "--{option} is for the experiment {name}: name it, or all");
        }
        OutFolder::new(&self.out, &["data", "index.html", "README.md", "figures"])?;
        let mut folder = self.folder()?;
        let study = self.study();
        let tasks: Vec<Task> = wanted.iter().map(|e| study.load(*e)).collect::<anyhow::Result<_>>()?;
        let mut done = Vec::new();
        let mut interrupted = false;
        for (number, task) in tasks.iter().enumerate() {
            let label = format!("[{}/{}] {}", number + 1, tasks.len(), task.experiment.name());
            match self.measure(&study, task, &label, &folder) {
                Ok(one) => {
                    if one.now {
                        klnmf_paper::draw(&folder.path())?;
                        folder.keep()?;
                        folder = self.folder()?;
                    }
                    done.push(one);
                }
                Err(error) if error.is::<Interrupted>() => {
                    interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        // An experiment that was interrupted may have begun to fill this one.
        drop(folder);
        let folder = self.folder()?;
        folder.copy_target()?;
        let shown = klnmf_paper::draw(&folder.path())?;
        if !shown.verdicts.is_empty() {
            folder.keep()?;
        }
        for (experiment, damage) in &shown.left_out {
            let name = experiment.name();
            self.say(&format!("{name}: {damage}, so the report leaves it out; name it to measure it anew"));
        }
        self.tell(&self.out.join("index.html"), &done, &shown, interrupted)?;
        Ok(interrupt::exit_code(interrupted))
    }

    /// The next state of the folder: as it is, with one more experiment. A killed run leaves it as it was
    /// after the last finished experiment.
    fn folder(&self) -> anyhow::Result<NewFolder> {
        let own = |_: &Path| ["data/", "figures/", "index.html", "README.md"].map(str::to_owned).to_vec();
        let folder = NewFolder::create(&self.out, true, &[], own)?;
        folder.notes.iter().for_each(|note| self.output.note(note));
        Ok(folder)
    }

    fn study(&self) -> Study {
        Study {
            out: self.out.clone(),
            size: self.size(),
            seed: self.seed,
            threads: self.threads,
            faces: self.faces.clone(),
            column_major: self.column_major,
            music: self.music.clone(),
            counts: self.counts.clone(),
        }
    }

    fn size(&self) -> Size {
        match (self.full, self.tiny) {
            (true, _) => Size::Full,
            (_, true) => Size::Tiny,
            _ => Size::Quick,
        }
    }

    /// Runs an experiment, and writes it to the new folder, unless the old one has it already.
    fn measure(&self, study: &Study, task: &Task, label: &str, folder: &NewFolder) -> anyhow::Result<Done> {
        let experiment = task.experiment;
        match study.earlier(task) {
            Earlier::OtherSettings => {
                self.say(&format!("{label}: was measured with other settings, and is measured anew"));
            }
            Earlier::Whole(seconds) if !self.force => {
                self.say(&format!("{label}: finished before, kept"));
                return Ok(Done { experiment, now: false, seconds });
            }
            Earlier::Damaged(damage) if !self.force => {
                self.say(&format!("{label}: {damage}, so it is measured anew"));
            }
            _ => {}
        }
        const STEPS: usize = 10_000;
        let bar = progress::share(STEPS, label, self.output.quiet);
        let shown = bar.clone();
        folder.copy_target()?;
        let study = Study { out: folder.path(), ..study.clone() };
        let seconds = study.measure(task, &interrupt::flag(), move |doing, share| {
            shown.set_message(doing.to_owned());
            shown.set_position((STEPS as f64 * share) as u64);
        });
        bar.finish_and_clear();
        let seconds = seconds?;
        self.say(&format!("{label}: measured in {seconds:.1} s"));
        Ok(Done { experiment, now: true, seconds })
    }

    /// A line about the progress, for people.
    fn say(&self, line: &str) {
        if !self.output.quiet && !self.output.json {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    fn tell(&self, index: &Path, done: &[Done], shown: &Shown, interrupted: bool) -> anyhow::Result<()> {
        if self.output.json {
            return self.tell_json(index, done, shown, interrupted);
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
            let each = VERDICTS.iter().map(|verdict| (verdict, count(verdicts, *verdict)));
            let told = each.filter(|(_, count)| *count > 0).map(|(v, n)| format!("{n} {}", v.counted(n)));
            let told = told.collect::<Vec<_>>().join(", ");
            text += &format!("{:<14} {} claims: {told}\n", experiment.name(), verdicts.len());
        }
        text += &format!("report         {}\n", index.display());
        summary::print(&text)
    }

    fn tell_json(&self, index: &Path, done: &[Done], shown: &Shown, interrupted: bool) -> anyhow::Result<()> {
        let experiment = |one: &Done| {
            let verdicts = shown.verdicts.iter().find(|(e, _)| *e == one.experiment);
            let verdicts = verdicts.map_or(&[][..], |(_, verdicts)| verdicts);
            let claims: Map<String, Value> =
                VERDICTS.iter().map(|v| (v.key().to_owned(), count(verdicts, *v).into())).collect();
            json!({
                "name": one.experiment.name(), "measured": one.now, "seconds": summary::number(one.seconds),
                "claims": claims,
            })
        };
        summary::print_json(&json!({
            "status": if interrupted { "interrupted" } else { "done" },
            "size": self.size().name(),
            "seed": self.seed,
            "threads": thread_count(self.threads),
            "experiments": done.iter().map(experiment).collect::<Vec<_>>(),
            "report": (!shown.verdicts.is_empty()).then(|| index.display().to_string()),
        }))
    }
}

fn count(verdicts: &[Verdict], wanted: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == wanted).count()
}
