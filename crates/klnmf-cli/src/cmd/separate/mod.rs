//! `klnmf separate`: splits a recording into stems.

mod frames;
mod material;
mod model;
mod options;
mod page;
mod pictures;
mod results;
mod scene;
mod score;
mod size;
mod told;

use crate::file_names::sound_files;
use crate::new_folder::NewFolder;
use crate::{input, interrupt, outputs, progress};
use anyhow::Context;
use klnmf::Status;
use klnmf_audio::{Dictionary, Progress, Separator, Stft};
use klnmf_io::Target;
use material::Material;
pub use options::Separate;
use results::Results;
use score::Scores;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use told::Told;

impl Separate {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let begun = Instant::now();
        let separator = self.separator(begun)?;
        input::pool(self.threads)?.install(|| self.work(&separator, begun))
    }

    fn work(&self, separator: &Separator, begun: Instant) -> anyhow::Result<ExitCode> {
        let folder = self.folder()?;
        self.output.tell(|| "reading the recordings".into());
        let mut material = self.material()?;
        let rate = material.mix.rate();
        let stft = self.stft(rate)?;
        self.check_components(&material.mix, &stft)?;
        let read = |path| model::read_dictionary(path, &stft, rate, self.spectrogram.name());
        let mut known = self.dictionary.as_deref().map(read).transpose()?;
        let trained = || material.training.iter().map(|(name, _)| name.clone()).collect();
        let names = separator.names(&known.as_ref().map_or_else(trained, Dictionary::names));
        score::check(&material.truth, material.mix.sound(), names.len(), self.taps)?;
        self.check_size(separator, &material, &stft, known.as_ref(), names.len())?;
        if !material.training.is_empty() {
            known = self.learn(separator, &stft, &mut material)?;
            if known.is_none() {
                return Ok(interrupt::exit_code(true));
            }
        }

        let files = sound_files(&names);
        let whole = !material.truth.is_empty();
        let components = known.as_ref().map_or(0, |known| known.w.cols()) + separator.components;
        let size = (stft.bins(), components);
        let mut results = Results::create(&folder, &files, &material.mix, size, self.format, whole)?;
        let frames = material.mix.promised().map_or(0, |samples| stft.frames(samples as usize));
        let steps = if self.goes_along() { frames } else { separator.settings(true).max_iter };
        let bar = progress::bar(steps, self.output.quiet);
        let watch = |step: Progress<'_>| match step {
            Progress::Frames(done) => bar.set_position(done as u64),
            Progress::Iteration(info) => {
                progress::show(&bar, info);
                self.output.tell(|| progress::line(info));
            }
            _ => {}
        };
        let sources = separator.separate(&mut material.mix, &stft, known.as_ref(), &watch, &mut results)?;
        bar.finish_and_clear();
        let seconds = begun.elapsed().as_secs_f64();
        let mode = if self.online {
            "online"
        } else if self.explains() {
            "supervised"
        } else {
            known.map_or("blind", |_| "semi")
        };
        let stopped = sources.status == Status::Stopped;

        let clipped = results.finish_stems()?;
        let mut notes = material.mix.notes();
        notes.extend(material.notes);
        notes.extend(results.notes(clipped, rate, stopped));
        notes.extend(folder.notes.iter().cloned());
        // The stems exist; a failure to score them is not a reason to fail.
        let mix = material.mix.sound();
        let scores = Scores::new(&material.truth, mix, &names, &results.signals(), self.taps);
        let scores = scores.unwrap_or_else(|why| {
            notes.push(format!("no scores: {why:#}"));
            None
        });
        let told = Told { mode, sources: &sources, scores: scores.as_ref(), notes: &notes, files: &files };
        let facts = self.facts(&told, &material.mix, &stft, &results, seconds);
        results.write(&folder, &material.name, &told, &facts)?;
        folder.keep()?;
        self.tell(&told, facts)?;
        Ok(interrupt::exit_code(stopped))
    }

    /// The folder for the results, which must hold neither an input nor the file of --save.
    fn folder(&self) -> anyhow::Result<NewFolder> {
        let train =
            self.train.iter().filter_map(|option| option.split_once('=')).map(|(_, file)| file.into());
        let mut files: Vec<PathBuf> =
            self.path.iter().chain(&self.dictionary).chain(&self.evaluate).cloned().chain(train).collect();
        if let Some(save) = &self.save {
            outputs::check_model_name("--save", save)?;
            outputs::check(&files, &[("--save", save.clone())], self.force)?;
            files.push(save.clone());
        }
        NewFolder::create(&self.out(), self.force, &files, model::written)
    }

    /// Learns the training recordings, and writes the file of --save. None after an interruption.
    fn learn(
        &self,
        separator: &Separator,
        stft: &Stft,
        material: &mut Material,
    ) -> anyhow::Result<Option<Dictionary>> {
        let training = std::mem::take(&mut material.training);
        let bar = progress::bar(training.len(), self.output.quiet);
        bar.set_message("learning the sources");
        let known = separator.learn(training, stft, &|_| bar.inc(1)).context("--train")?;
        bar.finish_and_clear();
        if let (Some(path), Some(known)) = (&self.save, &known) {
            let target = Target::new(path, self.force);
            model::write_dictionary(target, known, stft, material.mix.rate(), self.spectrogram.name())?;
        }
        Ok(known)
    }
}
