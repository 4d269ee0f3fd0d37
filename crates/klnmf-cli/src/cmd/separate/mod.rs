//! `klnmf separate`: a recording into its parts.

mod earlier;
mod explain;
mod factorise;
mod groups;
mod material;
mod model;
mod names;
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

use super::{Output, Precision, parse_seconds};
use crate::out_folder::OutFolder;
use crate::{input, interrupt};
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use earlier::{Earlier, MODEL, PAGE, PICTURE};
use explain::Learned;
use klnmf::{Mat, Solver, Status};
use klnmf_audio::{Frames, Stft, WavFormat};
use material::Material;
use model::{Dictionary, Sources, Weights};
use results::Results;
use scene::Scene;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use stems::{Stems, Written};

/// Split a recording into parts that add up to it
///
/// The spectrogram is factorised with the KL divergence, and Wiener masks cut the recording into stems: at its own rate,
/// length and number of channels, and their sum is the recording.
///
/// Blind: --components K, and --sources N to bundle them into N by likeness. Supervised: --train NAME=FILE for every
/// source learns a dictionary from a recording of it alone; the mix is then explained by these, with a certificate, and
/// --save keeps them for the next time (--dictionary). Both together: known sources, and K components for the rest.
///
/// Reads WAV, FLAC, OGG/Vorbis and MP3. The folder of --out gets a WAV file for every stem, model.npz, picture.svg, and
/// index.html with players. Results of an earlier run there are replaced, but not by those of an interrupted one, which go
/// to a folder in it.
///
/// Examples:
///   klnmf separate song.wav --components 10
///   klnmf separate duo.flac --train piano=piano.wav --train voice=voice.wav --save duo.npz
///   klnmf separate other.mp3 --dictionary duo.npz
///   klnmf separate --demo
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Separate {
    /// The recording
    #[arg(value_name = "SOUND", required_unless_present = "demo", conflicts_with = "demo")]
    path: Option<PathBuf>,
    /// Five synthetic instruments with known stems, instead of a recording
    #[arg(long)]
    demo: bool,
    /// Components to learn from the recording itself [default: 10 without --train and --dictionary, else none]
    #[arg(long, short = 'k', value_name = "K")]
    components: Option<usize>,
    /// Bundle the learned components into so many sources, by the likeness of spectra and activations
    #[arg(long, value_name = "N")]
    sources: Option<usize>,
    /// A source and a recording of it alone, as NAME=FILE; may be given several times
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "demo")]
    train: Vec<String>,
    /// Components to learn for each --train
    #[arg(long, value_name = "K", default_value_t = 24)]
    per_source: usize,
    /// Keep the dictionaries of --train in this .npz file
    #[arg(long, value_name = "FILE", requires = "train")]
    save: Option<PathBuf>,
    /// Dictionaries that --save has kept
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    dictionary: Option<PathBuf>,
    /// Length of the window in milliseconds, rounded to an even number of samples
    #[arg(long, value_name = "MS", default_value_t = klnmf_audio::WINDOW_MS)]
    window: f64,
    /// How much neighbouring windows overlap, from 0.5 to below 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    overlap: f64,
    /// What is factorised
    #[arg(long, value_enum, default_value = "power")]
    spectrogram: Spectrogram,
    /// Resample the recordings to this rate first; the stems have it too
    #[arg(long, value_name = "HZ")]
    rate: Option<u32>,
    /// The method for what is learned
    #[arg(long, value_enum, default_value = "auto")]
    solver: Method,
    /// The most accesses to the data [default: 20 for each --train, 300 for the recording]
    #[arg(long, value_name = "N")]
    max_iter: Option<usize>,
    /// Stop when the relative gap is below this; 0 never stops early [default: 0.1 with known sources, else 1e-4]
    #[arg(long, value_name = "GAP")]
    tol: Option<f64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Number format to learn in; weights of known sources and certificates are always computed in f64 [default: f32 if
    /// --tol is at least 1e-3, and if it is 0 for all but the last 50 accesses; else mixed]
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// Of the random start
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// True stems to compare with, separated by commas: prints SDR, SIR, SAR (BSS Eval v3) and SI-SDR
    #[arg(long, value_name = "FILES", value_delimiter = ',', conflicts_with = "demo")]
    evaluate: Vec<PathBuf>,
    /// Taps of the distortion filter that BSS Eval allows
    #[arg(long, value_name = "N", default_value_t = klnmf_audio::TAPS)]
    taps: usize,
    /// How samples are stored in the stems
    #[arg(long, value_enum, default_value = "float32")]
    format: Format,
    /// The folder for the results; it is made if it is not there
    #[arg(long, short, value_name = "FOLDER", default_value = "stems")]
    out: PathBuf,
    /// Replace files in the folder even if no earlier run has written them, or they have been changed since
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: Output,
}

/// Kinds of spectrogram.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Spectrogram {
    /// Squared magnitudes, as in the paper
    Power,
    /// Magnitudes
    Magnitude,
}

impl Spectrogram {
    fn name(self) -> &'static str {
        if self == Spectrogram::Power { "power" } else { "magnitude" }
    }

    fn of(self, frames: &Frames) -> Mat<f64> {
        if self == Spectrogram::Power { frames.power() } else { frames.magnitude() }
    }
}

/// Methods by name.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Method {
    Auto,
    Fpa,
    Mu,
    Mue,
    Newton,
}

/// Formats of samples.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Int16,
    Int24,
    Float32,
}

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
        let known = match &self.dictionary {
            Some(path) => Some(Dictionary::read(path, &stft, rate, self.spectrogram.name())?),
            None => None,
        };
        let names = self.names(known.as_ref(), &material);
        let files = names::files(&names);
        let folder = self.folder(&files)?;
        let earlier = Earlier::of(&folder);
        if !self.force {
            earlier.check(&results(&files))?;
        }
        let leftovers = earlier.leftovers(&files);
        score::check(&material.truth, material.mix.sound(), names.len(), self.taps)?;
        self.check_size(&material, &stft, names.len())?;

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
        // What was interrupted does not take the place of what was whole.
        let aside = (stopped && earlier.is_whole()).then(|| folder.inner("interrupted")).transpose()?;
        let place = aside.as_ref().unwrap_or(&folder);

        let mut notes = material.mix.notes();
        notes.extend(scene.silent_mean());
        notes.extend(stems.clipping());
        if stopped && stems.samples < scene.samples {
            let end = stems.samples as f64 / f64::from(rate);
            notes.push(format!("interrupted: the stems end after {end:.1} s of the recording"));
        }
        if aside.is_some() {
            let (old, new) = (folder.path().display(), place.path().display());
            notes.push(format!(
                "interrupted: {old} keeps the whole results of an earlier run, these are in {new}"
            ));
        }
        // The stems are there; that they cannot be scored is no reason to fail.
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
        results.write(&sources, weights, &facts)?;
        if !stopped {
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
                let sound = mix.sound().context("the recording has not been read")?;
                let v = self.spectrogram.of(&stft.forward(&sound.mono()));
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

    fn settings(&self) -> anyhow::Result<klnmf::Settings> {
        let settings = klnmf::Settings {
            solver: self.solver.solver(),
            max_iter: self.max_iter.unwrap_or(300),
            tol: self.tol(),
            time_limit: self.time_limit,
            seed: self.seed,
            threads: self.threads,
            stop: Some(interrupt::flag()),
            ..Default::default()
        };
        settings.validate()?;
        let known = self.knows();
        if known && self.components.is_some() {
            // Fails now, not after the dictionaries have been learned.
            klnmf::Settings { fixed: 1, ..settings.clone() }.validate()?;
        }
        let free = self.free(known);
        if self.components == Some(0) && !known {
            bail!("--components 0: at least 1 is needed");
        }
        if let Some(sources) = self.sources
            && !(1..=free).contains(&sources)
        {
            bail!(
                "--sources {sources}: the {free} learned components cannot be bundled into so many, see --components"
            );
        }
        Ok(settings)
    }

    /// Whether spectra of some sources are known before the recording is heard.
    fn knows(&self) -> bool {
        self.demo || !self.train.is_empty() || self.dictionary.is_some()
    }

    /// Components to learn from the recording itself.
    fn free(&self, known: bool) -> usize {
        self.components.unwrap_or(if known { 0 } else { 10 })
    }

    /// What is left of the time limit.
    fn left(&self, begun: Instant) -> Option<Duration> {
        self.time_limit.map(|limit| limit.saturating_sub(begun.elapsed()))
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

    /// Dictionaries and weights that are fitted closer separated worse on the recordings that this was chosen on, and slightly
    /// better on the built-in ensemble.
    fn tol(&self) -> f64 {
        self.tol.unwrap_or(if self.knows() { 0.1 } else { 1e-4 })
    }

    fn stft(&self, rate: u32) -> anyhow::Result<Stft> {
        if !(self.window.is_finite() && self.window > 0.0) {
            bail!("--window {}: a number of milliseconds above 0 is needed", self.window);
        }
        if !(0.5..1.0).contains(&self.overlap) {
            bail!("--overlap {}: a share from 0.5 to below 1 is needed", self.overlap);
        }
        let window = klnmf_audio::window_for(rate, self.window);
        let hop = ((window as f64 * (1.0 - self.overlap)).round() as usize).max(1);
        Ok(Stft::new(window, hop.min((window / 2).max(1)))?)
    }
}

impl Format {
    fn wav(self) -> WavFormat {
        match self {
            Format::Int16 => WavFormat::Int16,
            Format::Int24 => WavFormat::Int24,
            Format::Float32 => WavFormat::Float32,
        }
    }
}

impl Method {
    fn solver(self) -> Solver {
        match self {
            Method::Auto => Solver::Auto,
            Method::Fpa => Solver::Fpa,
            Method::Mu => Solver::Mu,
            Method::Mue => Solver::Mue,
            Method::Newton => Solver::Newton,
        }
    }
}

/// Everything that a run with these stems writes.
fn results(stems: &[String]) -> Vec<&str> {
    [MODEL, PICTURE, PAGE].into_iter().chain(stems.iter().map(String::as_str)).collect()
}
