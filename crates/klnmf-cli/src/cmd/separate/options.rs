//! What can be asked of `klnmf separate`.

use crate::cmd::{Output, Precision, parse_seconds, solvers};
use crate::interrupt;
use anyhow::bail;
use clap::{Args, ValueEnum};
use klnmf::{DecomposeSettings, Solver};
use klnmf_audio::{Spectrum, Stft, WavFormat};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Split a recording into parts that add up to it
///
/// The spectrogram is factorised with the KL divergence, and Wiener masks cut
/// the recording into stems: at its own rate, length and number of channels, and
/// their sum is the recording.
///
/// Blind: --components K, and --sources N to bundle them into N by likeness.
/// Supervised: --train NAME=FILE for every source learns a dictionary from a
/// recording of it alone; the mix is then explained by these, with a certificate,
/// and --save keeps them for the next time (--dictionary). Both together (mode
/// "semi"): known sources, and K components for the rest.
///
/// Reads WAV, FLAC, OGG/Vorbis and MP3. The folder of --out gets a WAV file for
/// every stem, model.npz, picture.svg, and index.html with players. Results of an
/// earlier run there are replaced, but not by those of an interrupted one, which
/// go to a folder in it.
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
    pub(super) path: Option<PathBuf>,
    /// Five synthetic instruments with known stems, instead of a recording
    #[arg(long)]
    pub(super) demo: bool,
    /// Components to learn from the recording itself [default: 10 without --train and --dictionary, else none]
    #[arg(long, short = 'k', value_name = "K")]
    pub(super) components: Option<usize>,
    /// Bundle the learned components into so many sources, by the likeness of spectra and activations
    #[arg(long, value_name = "N")]
    pub(super) sources: Option<usize>,
    /// A source and a recording of it alone, as NAME=FILE; may be given several times
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "demo")]
    pub(super) train: Vec<String>,
    /// Components to learn for each --train
    #[arg(long, value_name = "K", default_value_t = 24)]
    pub(super) per_source: usize,
    /// Keep the dictionaries of --train in this .npz file, which is replaced if it is there
    #[arg(long, value_name = "FILE", requires = "train")]
    pub(super) save: Option<PathBuf>,
    /// Dictionaries that --save has kept, or the model.npz of a separation
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub(super) dictionary: Option<PathBuf>,
    /// Length of the window in milliseconds, rounded to an even number of samples
    #[arg(long, value_name = "MS", default_value_t = klnmf_audio::WINDOW_MS)]
    pub(super) window: f64,
    /// How much neighbouring windows overlap, from 0.5 to below 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(super) overlap: f64,
    /// What is factorised
    #[arg(long, value_enum, default_value = "power")]
    pub(super) spectrogram: Spectrogram,
    /// Resample the recordings to this rate first; the stems have it too
    #[arg(long, value_name = "HZ")]
    pub(super) rate: Option<u32>,
    /// The method for what is learned
    #[arg(long, value_name = "SOLVER", value_parser = solvers::among(learners()), default_value_t = Solver::Auto)]
    pub(super) solver: Solver,
    /// The most accesses to the data while something is learned, else the most steps for a frame [default: 20 for each --train, 300
    /// for --components, 5000 steps]
    #[arg(long, value_name = "N")]
    pub(super) max_iter: Option<usize>,
    /// Stop when the relative gap is below this; 0 never stops early [default: 0 for each --train, 0.1 for a recording with known
    /// sources, else 1e-4]
    #[arg(long, value_name = "GAP")]
    pub(super) tol: Option<f64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(super) time_limit: Option<Duration>,
    /// Number format to learn in; weights of known sources and certificates are always computed in f64 [default: f32 if
    /// --tol is at least 1e-2, and if it is 0 for all but the last 50 accesses; else mixed]
    #[arg(long, value_enum)]
    pub(super) precision: Option<Precision>,
    /// Of the random start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) threads: usize,
    /// True stems to compare with, separated by commas: prints SDR, SIR, SAR (BSS Eval v3) and SI-SDR
    #[arg(long, value_name = "FILES", value_delimiter = ',', conflicts_with = "demo")]
    pub(super) evaluate: Vec<PathBuf>,
    /// Taps of the distortion filter that BSS Eval allows
    #[arg(long, value_name = "N", default_value_t = klnmf_audio::TAPS)]
    pub(super) taps: usize,
    /// How samples are stored in the stems
    #[arg(long, value_enum, default_value = "float32")]
    pub(super) format: Format,
    /// The folder for the results; it is made if it is not there
    #[arg(long, short, value_name = "FOLDER", default_value = "stems")]
    pub(super) out: PathBuf,
    /// Replace files in the folder even if no earlier run has written them, or they have been changed since
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) output: Output,
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
    pub fn name(self) -> &'static str {
        if self == Spectrogram::Power { "power" } else { "magnitude" }
    }

    /// What its entries are.
    pub fn spectrum(self) -> Spectrum {
        if self == Spectrogram::Power { Spectrum::Power } else { Spectrum::Magnitude }
    }
}

/// The solvers that can learn new components beside known ones.
fn learners() -> impl Iterator<Item = Solver> {
    Solver::ALL.into_iter().filter(|solver| solver.spec().holds_parts)
}

/// Formats of samples.
#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    Int16,
    Int24,
    Float32,
}

impl Separate {
    /// What the solvers are told; fails if options contradict each other.
    pub(super) fn settings(&self) -> anyhow::Result<klnmf::Settings> {
        let settings = klnmf::Settings {
            solver: self.solver,
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
        if !self.train.is_empty() && self.per_source == 0 {
            bail!("--per-source 0: at least 1 is needed");
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
    pub(super) fn knows(&self) -> bool {
        self.demo || !self.train.is_empty() || self.dictionary.is_some()
    }

    /// Components to learn from the recording itself.
    pub(super) fn free(&self, known: bool) -> usize {
        self.components.unwrap_or(if known { 0 } else { 10 })
    }

    /// The most steps for a frame. With recordings to learn from --max-iter is about these.
    pub(super) fn max_steps(&self) -> usize {
        let asked = self.max_iter.filter(|_| self.train.is_empty() && !self.demo);
        asked.unwrap_or(DecomposeSettings::default().max_iter)
    }

    /// What is left of the time limit.
    pub(super) fn left(&self, begun: Instant) -> Option<Duration> {
        self.time_limit.map(|limit| limit.saturating_sub(begun.elapsed()))
    }

    /// Dictionaries and weights that are fitted closer separated worse on the recordings that this was chosen on, and slightly
    /// better on the built-in ensemble.
    pub(super) fn tol(&self) -> f64 {
        self.tol.unwrap_or(if self.knows() { 0.1 } else { 1e-4 })
    }

    /// The transform for recordings with this rate.
    pub(super) fn stft(&self, rate: u32) -> anyhow::Result<Stft> {
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
    pub fn wav(self) -> WavFormat {
        match self {
            Format::Int16 => WavFormat::Int16,
            Format::Int24 => WavFormat::Int24,
            Format::Float32 => WavFormat::Float32,
        }
    }
}
