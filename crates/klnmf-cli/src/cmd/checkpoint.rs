//! `--checkpoint`, `--every` and `--resume`: the state of a run on disk.

use super::{complain, parse_seconds};
use crate::outputs;
use anyhow::bail;
use clap::Args;
use klnmf::{Run, Scalar};
use klnmf_io::{Checkpoint, NewFile, Saver};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the state of a run is stored, and where it comes from.
#[derive(Args)]
pub struct Checkpoints {
    /// File (.npz) for the state of the run, written from time to time, on Ctrl-C and at the end; --resume
    /// continues from it
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Time between two writes of the checkpoint, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_seconds)]
    every: Duration,
    /// Continue from a checkpoint, to the same bits as a run that was never stopped. V, the solver and its
    /// settings must be the same; limits and --tol may differ, and --seed and --init have no effect any more.
    /// Without --checkpoint, this file is updated
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl Checkpoints {
    /// The state to continue from.
    pub fn read(&self) -> anyhow::Result<Option<Checkpoint>> {
        Ok(self.resume.as_deref().map(klnmf_io::read_checkpoint).transpose()?)
    }

    /// Fails if the state belongs to another V or rank.
    pub fn check(
        &self,
        stored: &Checkpoint,
        shape: (usize, usize),
        fingerprint: &str,
        rank: Option<usize>,
    ) -> anyhow::Result<()> {
        match (stored.difference(shape, fingerprint, rank), &self.resume) {
            (Some(what), Some(path)) => bail!("cannot continue {}: {what}", path.display()),
            _ => Ok(()),
        }
    }

    /// The file that is read.
    pub fn input(&self) -> Option<PathBuf> {
        self.resume.clone()
    }

    /// The new file, if one is written. That of --resume may be replaced.
    pub fn output(&self) -> Option<outputs::Output> {
        let new = self.checkpoint.as_ref().filter(|path| self.resume.as_ref() != Some(path));
        new.map(|path| ("--checkpoint", path.clone()))
    }

    /// Fails if the file cannot be written, or has the extension of another format.
    pub fn check_file(&self) -> anyhow::Result<()> {
        let Some(path) = self.file() else { return Ok(()) };
        outputs::check_model_name("--checkpoint", path)?;
        drop(NewFile::create(path)?);
        Ok(())
    }

    /// The file that is written.
    fn file(&self) -> Option<&Path> {
        self.checkpoint.as_deref().or(self.resume.as_deref())
    }

    /// How to continue from the state, if it is stored.
    pub fn advice(&self) -> Option<String> {
        let path = self.file()?;
        Some(format!("--resume {}", path.display()))
    }

    /// The writer of a run whose result has `given` parts first.
    pub fn saver(
        &self,
        shape: (usize, usize),
        fingerprint: String,
        given: usize,
        part_names: Option<Vec<String>>,
        force: bool,
    ) -> Option<Saver> {
        let (path, every, last) = (self.file()?.to_owned(), self.every, Instant::now());
        let replace = force || self.resume.as_ref() == Some(&path);
        Some(Saver { path, every, last, shape, fingerprint, given, part_names, replace })
    }
}

/// Writes the state if it is time to. A failure does not end the run: the model can still be saved.
pub fn save<T: Scalar>(saver: &mut Option<Saver>, run: &mut Run<'_, T>, end: bool) {
    if let Some(Err(why)) = saver.as_mut().map(|saver| saver.save(run, end)) {
        complain(&format!("cannot write the checkpoint, the run continues: {why}"));
    }
}
