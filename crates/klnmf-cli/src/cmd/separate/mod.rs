//! `klnmf separate`: splits a recording into stems.

mod earlier;
mod explain;
mod factorise;
mod groups;
mod learn;
mod material;
mod model;
mod names;
mod options;
mod page;
mod pictures;
mod recording;
mod results;
mod scene;
mod score;
mod size;
mod stems;
mod supervised;
mod thumbnail;
mod told;

use crate::out_folder::OutFolder;
use crate::{input, interrupt};
use anyhow::Context;
use earlier::{Earlier, MODEL, PAGE, PICTURE};
use klnmf::Status;
use klnmf_audio::Stft;
use learn::Learned;
use material::Material;
use model::{Dictionary, Sources, Weights};
pub use options::Separate;
use results::Results;
use scene::Scene;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use stems::{Stems, Written};

impl Separate {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let settings = self.settings()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build()?;
        pool.install(|| self.work(&settings))
    }

    fn work(&self, settings: &klnmf::Settings) -> anyhow::Result<ExitCode> {
        let begun = Instant::now();
        let mut material = self.material()?;
        let rate = material.mix.rate();
        let stft = self.stft(rate)?;
        self.check_components(&material.mix, &stft)?;
        let known = match &self.dictionary {
            Some(path) => Some(Dictionary::read(path, &stft, rate, self.spectrogram.name())?),
            None => None,
        };
        let names = self.names(known.as_ref(), &material);
        let files = names::files(&names);
        let folder = self.folder(&files)?;
        let earlier = Earlier::of(&folder);
        let all = results(&files);
        if !self.force {
            earlier.check(&all)?;
        }
        let leftovers = earlier.leftovers(&files);
        score::check(&material.truth, material.mix.sound(), names.len(), self.taps)?;
        self.check_size(&material, &stft, known.as_ref(), names.len())?;

        let known = match known {
            Some(known) => Some(known),
            None => match self.learn(&stft, &mut material, settings, begun)? {
                Learned::Nothing => None,
                Learned::All(dictionary) => Some(dictionary),
                Learned::Interrupted => return Ok(ExitCode::from(interrupt::EXIT_CODE)),
            },
        };
        folder.create()?;
        klnmf_io::remove_abandoned(folder.path(), earlier::is_result);
        let (sources, weights, scene, stems) =
            self.split(&mut material, &stft, known, names, settings, begun, &folder, &files)?;
        let seconds = begun.elapsed().as_secs_f64();

        let stopped = sources.status == Status::Stopped;
        // An interrupted result must not replace a complete one.
        let aside = (stopped && earlier.is_whole()).then(|| folder.inner("interrupted")).transpose()?;
        let place = aside.as_ref().unwrap_or(&folder);

        let mut notes = material.mix.notes();
        notes.extend(material.notes.iter().cloned());
        notes.extend(scene.silent_mean());
        notes.extend(stems.clipping());
        if stopped && stems.samples < scene.samples {
            let end = stems.samples as f64 / f64::from(rate);
            notes.push(format!("interrupted: the stems end after {end:.1} s of the recording"));
        }
        if aside.is_some() {
            let (old, new) = (folder.path().display(), place.path().display());
            notes.push(format!(
                "interrupted: {old} keeps the complete results of an earlier run; the new ones are in {new}"
            ));
        }
        // The stems exist; a failure to score them is not a reason to fail.
        let mix = material.mix.sound();
        let scores = match score::Scores::new(&material.truth, mix, &sources.names, &stems.signals, self.taps)
        {
            Ok(scores) => scores,
            Err(why) => {
                notes.push(format!("no scores: {why:#}"));
                None
            }
        };
        let facts = self.facts(
            &material.mix,
            &stft,
            &scene,
            &stems,
            &sources,
            scores.as_ref(),
            place.path(),
            &files,
            &notes,
            seconds,
        );
        let svg = pictures::Pictures { scene: &scene, sources: &sources, waves: &stems.waves }.svg();
        let page = page::html(&material.name, &sources, &files, &facts, &notes, scores.as_ref(), &svg)?;
        let results = Results { folder: place, files: &files, stems, texts: [(PICTURE, svg), (PAGE, page)] };
        // Another program may have put something there in the meantime; a new inner folder is ours alone.
        let check = || if self.force || aside.is_some() { Ok(()) } else { earlier.check(&all) };
        results.write(&sources, weights, &facts, check)?;
        // The new model does not list them, so no later run could recognise them.
        if aside.is_none() {
            leftovers.remove();
        }
        self.tell(&sources, scores.as_ref(), &notes, facts)?;
        Ok(if stopped { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
    }

    /// Explains the recording and writes its stems: block by block if all sources are known, else as a whole.
    fn split(
        &self,
        material: &mut Material,
        stft: &Stft,
        known: Option<Dictionary>,
        names: Vec<String>,
        settings: &klnmf::Settings,
        begun: Instant,
        folder: &OutFolder,
        files: &[String],
    ) -> anyhow::Result<(Sources, Weights, Scene, Written)> {
        let mix = &mut material.mix;
        let (form, format) = ((mix.rate(), mix.channels()), self.format.wav());
        let mut stems = Stems::create(folder, files, form, format, !material.truth.is_empty())?;
        let mut scene = Scene::new(stft.bins());
        let (sources, weights) = match known {
            Some(known) if self.free(true) == 0 => {
                let aside = folder.file(earlier::ASIDE);
                self.supervised(known, mix, stft, settings, begun, &aside, &mut scene, &mut stems)?
            }
            known => {
                let sound = mix.sound().context("the recording was not read into memory")?;
                let v = stft.spectrogram(&sound.mono(), self.spectrogram.spectrum());
                scene.hear(&sound.channels);
                scene.see(&v);
                let settings = klnmf::Settings { time_limit: self.left(begun), ..settings.clone() };
                let (sources, h) = self.explain(&v, known.as_ref(), names, &settings)?;
                drop(v);
                klnmf_audio::separate_by_blocks(sound, stft, &sources.w, &h, &sources.groups, |pieces| {
                    stems.take(pieces)
                })?;
                (sources, Weights::Here(h))
            }
        };
        Ok((sources, weights, scene, stems.complete()?))
    }

    /// Checks that all results can be written and none replaces an input.
    fn folder(&self, files: &[String]) -> anyhow::Result<OutFolder> {
        let train =
            self.train.iter().filter_map(|option| option.split_once('=')).map(|(_, file)| file.into());
        let inputs: Vec<PathBuf> =
            self.path.iter().chain(&self.dictionary).chain(&self.evaluate).cloned().chain(train).collect();
        let names = results(files);
        let folder = OutFolder::new(&self.out, &inputs, &names)?;
        if let Some(save) = &self.save {
            input::check_model_name("--save", save)?;
            let mut outputs: Vec<PathBuf> = names.iter().map(|name| folder.file(name)).collect();
            if !self.out.exists() {
                outputs.clear();
            }
            outputs.push(save.clone());
            input::check_outputs(&inputs, &outputs)?;
        }
        Ok(folder)
    }
}

/// Everything that a run with these stems writes.
fn results(stems: &[String]) -> Vec<&str> {
    [MODEL, PICTURE, PAGE].into_iter().chain(stems.iter().map(String::as_str)).collect()
}
