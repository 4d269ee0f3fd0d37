//! What the verbs that make many fits share: their options, their folder and their progress.

use super::{Data, Output, Precision};
use crate::out_folder::OutFolder;
use crate::progress::{self, Log};
use crate::{input, interrupt, outputs};
use anyhow::bail;
use clap::Args;
use klnmf::{Matrix, Settings};
use klnmf_io::Table;
use klnmf_select::{Error, FitSettings, Fits, Progress, Worker};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// The fits of a verb.
#[derive(Args)]
pub struct Many {
    /// Fits of all but the first replicate are of bootstraps: the counts of every column are drawn again
    #[arg(long)]
    pub bootstrap: bool,
    /// Starts of each fit, of which the best is kept
    #[arg(long, value_name = "N", default_value_t = 1)]
    starts: usize,
    /// Seed of all random numbers; the same seed gives the same files
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Tolerance of each fit, relative to its divergence
    #[arg(long, value_name = "GAP", default_value_t = FitSettings::default().tol)]
    tol: f64,
    /// Maximum number of iterations of each fit
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_iter)]
    max_iter: usize,
    /// Share of the fits that this process makes, such as 3/8 for the third of eight jobs. All use the
    /// same folder; the last one to finish writes the results
    #[arg(long, value_name = "K/N", value_parser = parse_worker)]
    worker: Option<(usize, usize)>,
    /// Folder for the fits and the results [default: named after V]
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Replace results with other settings that are in the folder; the fits in it are used again
    #[arg(long)]
    force: bool,
}

fn parse_worker(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match parsed {
        Some((k, n)) if (1..=n).contains(&k) => Ok((k, n)),
        _ => Err("give the number of this worker and the number of workers, such as 3/8".into()),
    }
}

impl Many {
    /// The folder of the results.
    pub fn out(&self, data: &Data, ending: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| outputs::named_after(&data.path, ending))
    }

    /// Fails if the folder holds results with other settings, unless they may be replaced. `file` is the JSON
    /// of the results.
    pub fn check_results(&self, file: &Path, settings: &Value) -> anyhow::Result<()> {
        let Ok(text) = std::fs::read_to_string(file) else { return Ok(()) };
        let there: Value = serde_json::from_str(&text).unwrap_or_default();
        if self.force || there["settings"] == *settings {
            return Ok(());
        }
        bail!(
            "{} holds results with other settings: use --force to replace them and keep the fits, or give \
             another folder with --out",
            file.display()
        )
    }

    /// Reads V and checks that the fits can succeed.
    pub fn read(&self, data: &Data, most: usize) -> anyhow::Result<Table<f64>> {
        if data.precision == Some(Precision::F32) {
            bail!("--precision f32: the fits are compared in f64; leave it out");
        }
        let (starts, tol, threads) = (self.starts, self.tol, data.threads);
        Settings { starts, tol, threads, ..Settings::default() }.validate()?;
        interrupt::flag();
        interrupt::nothing_to_save();
        let table = input::read::<f64>(data)?;
        let v = table.matrix.view();
        input::about(data, v.check())?;
        if self.bootstrap && !klnmf_select::are_counts(v) {
            bail!(
                "{}: --bootstrap draws counts again, and V does not hold counts; leave it out",
                data.path.display()
            );
        }
        input::about(data, klnmf::check_rank(v, most))?;
        // Every thread has its own factors, and its own copies of V if counts are drawn.
        let (of_fit, threads) = (klnmf::memory(v, most, 1), super::thread_count(data.threads) as u128);
        let more =
            (threads * self.starts as u128).saturating_mul(12 * of_fit.factors) + 4 * threads * of_fit.v;
        input::check_memory(&data.path, v, most, data.threads, more)?;
        Ok(table)
    }

    /// The fits of V in a folder, of which the files `own` are results.
    pub fn fits<'v>(
        &self,
        v: Matrix<'v, f64>,
        (data, output): (&Data, &Output),
        (folder, own): (&OutFolder, &Path),
    ) -> anyhow::Result<Fits<'v>> {
        folder.create()?;
        let (number, of) = self.worker.unwrap_or((1, 1));
        let watch = watch(output);
        let mut fits = Fits::in_memory(v)?;
        fits.settings = FitSettings {
            seed: self.seed,
            starts: self.starts,
            tol: self.tol,
            max_iter: self.max_iter,
            stop: Some(interrupt::flag()),
        };
        fits.threads = data.threads;
        fits.worker = Some(Worker { number: number - 1, of });
        fits.watch = Box::new(watch);
        interrupt::something_to_save();
        Ok(fits.in_folder(own)?)
    }
}

/// Shows the progress: as a bar, or line by line if asked or where there is no terminal.
fn watch(output: &Output) -> impl Fn(Progress, Progress) + Sync + use<> {
    let (bar, verbose) = (progress::share(1, "fits", output.quiet), output.verbose);
    let log = (bar.is_hidden() && !output.quiet).then(|| Mutex::new(Log::new(Instant::now())));
    move |done, all| {
        bar.set_length(all.work as u64);
        bar.set_position(done.work as u64);
        let line = format!("{} of {} fits", done.fits, all.fits);
        if verbose {
            super::complain(&line);
        } else if let Some(Ok(mut log)) = log.as_ref().map(Mutex::lock)
            && let Some(line) = log.line(Instant::now(), &line, done.work as f64 / all.work as f64)
        {
            super::complain(&line);
        }
        bar.set_message(line);
        if done.fits == all.fits {
            bar.finish_and_clear();
        }
    }
}

/// The end of a verb whose fits are not complete; other errors are passed on.
pub fn incomplete(output: &Output, why: Error) -> anyhow::Result<ExitCode> {
    match why {
        Error::Stopped { done, all } => {
            output.note(&format!("stopped after {done} of {all} fits; the same command continues"));
            Ok(interrupt::exit_code(true))
        }
        Error::Incomplete { missing, all } => {
            output.note(&format!(
                "the fits of this worker are done, and {} of {all} are missing; the last worker to finish \
                 writes the results",
                missing.len()
            ));
            Ok(ExitCode::SUCCESS)
        }
        why => Err(why.into()),
    }
}
