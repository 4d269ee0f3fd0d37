//! The options of `klnmf separate`.

use crate::cmd::{Output, Precision, choices, parse_seconds};
use crate::{interrupt, outputs};
use anyhow::bail;
use clap::Args;
use clap::builder::TypedValueParser;
use klnmf::Solver;
use klnmf_audio::{Separator, Spectrum, Stft, WavFormat};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Split a recording into stems that add up to it
///
/// The spectrogram is factorised with the KL divergence, and Wiener masks split
/// the recording into stems. They have its rate, length and channels, and their
/// sum is the recording.
///
/// Blind: --components K learns K components; --sources N groups them into N
/// sources by similarity.
/// Supervised: --train NAME=FILE learns a dictionary from a recording of each
/// source alone. Explaining the mix is then a convex problem with an optimality
/// gap. --save stores the dictionaries, and --dictionary reuses them.
/// Both (mode "semi"): known sources, and K components for the rest.
/// Online: --online separates every frame as it comes and learns from it.
///
/// Reads WAV, FLAC, OGG/Vorbis and MP3. Writes a WAV file for every stem,
/// model.npz, picture.svg, and index.html with players to the folder of --out. The
/// folder appears when all results are complete; after Ctrl-C, with those so far.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf separate song.wav --components 10
  klnmf separate duo.flac --train piano=piano.wav --train voice=voice.wav --save duo.npz --out duo
  klnmf separate other.mp3 --dictionary duo.npz --out other
  klnmf separate song.wav --components 10 --online --forgetting 0.01
  klnmf separate --demo --out demo"
)]
pub struct Separate {
    /// Recording to separate
    #[arg(value_name = "SOUND", required_unless_present = "demo", conflicts_with = "demo")]
    pub(super) path: Option<PathBuf>,
    /// Separate five synthetic instruments with known stems instead of a recording
    #[arg(long)]
    pub(super) demo: bool,
    /// Number of components to learn from the recording itself [default: 10 without --train and --dictionary,
    /// else none]
    #[arg(long, short = 'k', visible_aliases = ["rank", "topics"], value_name = "K")]
    pub(super) components: Option<usize>,
    /// Number of sources to group the learned components into, by the similarity of spectra and activations
    #[arg(long, value_name = "N")]
    pub(super) sources: Option<usize>,
    /// Separate frame by frame, as if the recording were heard now, with components that learn from every
    /// frame; frames.csv has the latency and the gap of each
    #[arg(long, conflicts_with_all = ["sources", "time_limit"])]
    pub(super) online: bool,
    /// Least weight of a new frame with --online, from 0 to 1; above 0, old frames are forgotten
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, requires = "online")]
    pub(super) forgetting: f64,
    /// Name of a source and a recording of it alone, as NAME=FILE; may be repeated
    #[arg(long, value_name = "NAME=FILE", conflicts_with = "demo")]
    pub(super) train: Vec<String>,
    /// Number of components to learn for each --train
    #[arg(long, value_name = "K", default_value_t = 24)]
    pub(super) per_source: usize,
    /// File (.npz) to store the dictionaries of --train in
    #[arg(long, value_name = "FILE", requires = "train")]
    pub(super) save: Option<PathBuf>,
    /// Dictionaries to use: a file of --save, or the model.npz of a separation
    #[arg(long, value_name = "FILE", conflicts_with = "train")]
    pub(super) dictionary: Option<PathBuf>,
    /// Length of the window in milliseconds, rounded to an even number of samples
    #[arg(long, value_name = "MS", default_value_t = klnmf_audio::WINDOW_MS)]
    pub(super) window: f64,
    /// Overlap of neighbouring windows as a fraction, from 0.5 to below 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    pub(super) overlap: f64,
    /// Kind of spectrogram to factorise
    #[arg(long, value_parser = spectrum(), default_value = "power")]
    pub(super) spectrogram: Spectrum,
    /// Sample rate in Hz to convert the recordings to first, at most 768000; the stems have it too
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=768_000))]
    pub(super) rate: Option<u32>,
    /// Solver for the components that are learned
    #[arg(long, value_name = "SOLVER", value_parser = learners(), default_value_t = Solver::Auto)]
    pub(super) solver: Solver,
    /// Maximum number of iterations of the learning, or for each frame if nothing is learned [default: 20 for
    /// each --train, 300 for --components, 5000 for a frame]
    #[arg(long, value_name = "N")]
    pub(super) max_iter: Option<usize>,
    /// Tolerance, relative to the divergence where components are learned, else to the sum of a frame: stop
    /// when the gap is at most this times that; 0 never stops early [default: 0 for each --train, 0.1 for a
    /// recording with known sources, else 3e-3]
    #[arg(long, value_name = "GAP")]
    pub(super) tol: Option<f64>,
    /// Time limit in seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    pub(super) time_limit: Option<Duration>,
    /// Number format of the learning. Components beside known sources, weights of known sources and gaps are
    /// always computed in f64 [default: f32 if --tol is at least 1e-2; f32 for all but the last 50 iterations
    /// if it is 0; else mixed]
    #[arg(long, value_parser = choices::precision())]
    pub(super) precision: Option<Precision>,
    /// Seed of the random start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Number of threads; 0 means one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) threads: usize,
    /// True stems to score the result with, separated by commas: prints SDR, SIR, SAR (BSS Eval v3) and
    /// SI-SDR
    #[arg(long, value_name = "FILES", value_delimiter = ',', conflicts_with = "demo")]
    pub(super) evaluate: Vec<PathBuf>,
    /// Number of taps of BSS Eval's distortion filter
    #[arg(long, value_name = "N", default_value_t = klnmf_audio::TAPS)]
    pub(super) taps: usize,
    /// Sample format of the stems
    #[arg(long, value_parser = format(), default_value = "float32")]
    pub(super) format: WavFormat,
    /// Folder for the results; it must be new or empty [default: named after the recording, such as
    /// song-stems10, or song-stems with known sources only]
    #[arg(long, short, value_name = "FOLDER")]
    pub(super) out: Option<PathBuf>,
    /// Replace the folder if it holds nothing but the results of an earlier run, and the file of --save
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

/// Kinds of spectrogram.
fn spectrum() -> impl TypedValueParser<Value = Spectrum> {
    let power = (Spectrum::Power, "Squared magnitudes, as in the paper");
    let kinds = [power, (Spectrum::Magnitude, "Magnitudes")];
    choices::one_of(kinds.map(|(kind, help)| (kind, kind.name(), help)))
}

/// The solvers that can learn new components beside known ones.
fn learners() -> impl TypedValueParser<Value = Solver> {
    choices::solvers(Solver::ALL.into_iter().filter(|solver| solver.spec().holds_parts))
}

/// Formats of samples.
fn format() -> impl TypedValueParser<Value = WavFormat> {
    let formats = [(WavFormat::Int16, "int16"), (WavFormat::Int24, "int24"), (WavFormat::Float32, "float32")];
    choices::one_of(formats.map(|(format, name)| (format, name, "")))
}

impl Separate {
    /// The separation that the options describe; fails if they contradict each other.
    pub(super) fn separator(&self, begun: Instant) -> anyhow::Result<Separator> {
        let mut separator = Separator {
            spectrum: self.spectrogram,
            per_source: self.per_source,
            components: self.free(),
            sources: self.sources,
            online: self.online.then_some(self.forgetting),
            solver: self.solver,
            tol: self.tol,
            max_iter: self.max_iter,
            precision: self.precision,
            seed: self.seed,
            threads: self.threads,
            deadline: self.time_limit.and_then(|limit| begun.checked_add(limit)),
            stop: Some(interrupt::flag()),
            ..Separator::default()
        };
        // With recordings to learn from, --max-iter applies to the learning instead.
        if let Some(max_iter) = self.max_iter.filter(|_| self.dictionary.is_some()) {
            separator.frame_iter = max_iter;
        }
        let (known, free) = (self.knows(), self.free());
        // Fails now, not after the dictionaries have been learned.
        let fixed = usize::from(known && free > 0);
        klnmf::Settings { fixed, ..separator.settings(known) }.validate()?;
        if !self.train.is_empty() && self.per_source == 0 {
            bail!("--per-source 0: give at least 1");
        }
        if self.online && known && free > 0 {
            bail!("--online with --components {free} and known sources: give one of the two");
        }
        if !(0.0..=1.0).contains(&self.forgetting) {
            bail!("--forgetting {}: give a number from 0 to 1", self.forgetting);
        }
        if free == 0 && !known {
            bail!("--components 0: give at least 1");
        }
        if let Some(sources) = self.sources
            && !(1..=free).contains(&sources)
        {
            bail!(
                "--sources {sources}: {free} components are learned; give 1 to {free} sources, or more \
                 --components"
            );
        }
        Ok(separator)
    }

    /// Whether the spectra of some sources are known before the recording is read.
    pub(super) fn knows(&self) -> bool {
        self.demo || !self.train.is_empty() || self.dictionary.is_some()
    }

    /// Components to learn from the recording itself.
    pub(super) fn free(&self) -> usize {
        self.components.unwrap_or(if self.knows() { 0 } else { 10 })
    }

    /// The folder for the results.
    pub(super) fn out(&self) -> PathBuf {
        let ending = if self.explains() { "-stems".into() } else { format!("-stems{}", self.free()) };
        let sound = self.path.as_deref().unwrap_or(Path::new("demo"));
        self.out.clone().unwrap_or_else(|| outputs::named_after(sound, &ending))
    }

    /// Whether known sources alone explain the recording.
    pub(super) fn explains(&self) -> bool {
        self.knows() && self.free() == 0
    }

    /// Whether the recording is separated in one go from its beginning to its end.
    pub(super) fn goes_along(&self) -> bool {
        self.online || self.explains()
    }

    /// The transform for recordings with this rate.
    pub(super) fn stft(&self, rate: u32) -> anyhow::Result<Stft> {
        if !(self.window.is_finite() && self.window > 0.0) {
            bail!("--window {}: give a number of milliseconds above 0", self.window);
        }
        if !(0.5..1.0).contains(&self.overlap) {
            bail!("--overlap {}: give a fraction from 0.5 to below 1", self.overlap);
        }
        let window = klnmf_audio::window_for(rate, self.window);
        let hop = ((window as f64 * (1.0 - self.overlap)).round() as usize).max(1);
        Ok(Stft::new(window, hop.min((window / 2).max(1)))?)
    }
}
