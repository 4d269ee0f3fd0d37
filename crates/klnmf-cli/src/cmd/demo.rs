//! `klnmf demo`: the main jobs on built-in data, by the commands that a user would type.

use crate::out_folder::OutFolder;
use crate::{outputs, summary};
use clap::Args;
use klnmf::{Mat, Match, match_parts};
use klnmf_paper::{Random, swimmer};
use klnmf_report::html;
use klnmf_report::picture::Grid;
use minijinja::{Value as Jinja, context};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Show the main jobs on built-in data: parts, certified weights, a warm restart
///
/// The demo writes its data to a folder, runs five klnmf commands on them and prints
/// each one with its time. Typed by hand with --force, it gives the same bytes. The folder
/// then holds a page, index.html, with what was found beside the truth.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf demo
  klnmf demo --out elsewhere"
)]
pub struct Demo {
    /// Folder for the data, the models and the page
    #[arg(long, short, value_name = "FOLDER", default_value = "klnmf-demo")]
    out: PathBuf,
    /// Replace the files of an earlier demo
    #[arg(long)]
    force: bool,
    /// Print one JSON object on standard output instead of sentences
    #[arg(long)]
    json: bool,
}

/// A found part counts as a true one from this cosine on.
const ALIKE: f64 = 0.95;
const CHANNELS: usize = 96;
const SIGNATURES: usize = 5;
const TUMOURS: usize = 120;
const NEW_TUMOURS: usize = 12;

/// What the demo writes, the first file first.
const FILES: [&str; 9] = [
    "catalogue.csv",
    "new.csv",
    "swimmers.npy",
    "model.npz",
    "weights.npz",
    "auto.npz",
    "mean.npz",
    "parts.npz",
    "index.html",
];

/// A command that was run.
struct Ran {
    line: String,
    seconds: f64,
}

/// The generated mutation catalogues.
struct Catalogues {
    signatures: Mat<f64>,
    old: Mat<f64>,
    new: Mat<f64>,
}

impl Demo {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let folder = &self.out;
        let own = OutFolder::new(folder, &FILES)?;
        let out = folder.display();
        anyhow::ensure!(
            self.force || !own.is_used(),
            "{out} exists: use --force to replace it, or give --out"
        );
        own.create()?;
        let catalogues = Catalogues::generate();
        catalogues.write(folder)?;
        klnmf_io::write_npy(&folder.join("swimmers.npy"), &swimmer::images())?;

        let mut ran = Vec::new();
        for words in self.commands() {
            let begun = Instant::now();
            let line = words.join(" ");
            if !self.json {
                summary::print(&format!("$ {line}\n"))?;
            }
            let quiet = self.json.then_some("--quiet");
            let force = self.force.then_some("--force");
            let more = quiet.into_iter().chain(force).map(str::to_owned);
            let code = super::run(words.into_iter().chain(more))?;
            if code != ExitCode::SUCCESS {
                return Ok(code);
            }
            ran.push(Ran { line, seconds: begun.elapsed().as_secs_f64() });
            if !self.json {
                summary::print(&format!("time         {:.2} s\n\n", ran[ran.len() - 1].seconds))?;
            }
        }
        self.show(&catalogues, &ran)
    }

    /// The command lines, word by word.
    fn commands(&self) -> [Vec<String>; 5] {
        let file = |name: &str| self.out.join(name).display().to_string();
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let [catalogue, new, model, weights] =
            ["catalogue.csv", "new.csv", "model.npz", "weights.npz"].map(file);
        let [swimmers, auto, mean, parts] = ["swimmers.npy", "auto.npz", "mean.npz", "parts.npz"].map(file);
        let fpa = ["--solver", "fpa", "--tol", "1e-6", "--out"];
        [
            command(&["klnmf", "factorize", &catalogue, "--rank", "5", "--out", &model]),
            command(&["klnmf", "decompose", &new, "--dictionary", &model, "--out", &weights]),
            command(&["klnmf", "factorize", &swimmers, "--rank", "17", "--out", &auto]),
            [command(&["klnmf", "factorize", &swimmers, "--rank", "1"]), command(&fpa), vec![mean.clone()]]
                .concat(),
            [
                command(&["klnmf", "factorize", &swimmers, "--init", &mean, "--rank", "17"]),
                command(&fpa),
                vec![parts],
            ]
            .concat(),
        ]
    }

    /// What the models say beside the truth.
    fn compare(&self, catalogues: &Catalogues) -> anyhow::Result<Findings> {
        let model = |name: &str| klnmf_io::read_model::<f64>(&self.out.join(name));
        let (model_w, weights) = (model("model.npz")?.w, model("weights.npz")?.h);
        // The gaps are in weights.npz, too; the same call gives the same numbers.
        let again = klnmf::decompose(&catalogues.new, &model_w, &klnmf::DecomposeSettings::default())?;
        let gaps = again.columns.iter().map(|column| column.gap).collect();
        let (auto, fpa) = (model("auto.npz")?.w, model("parts.npz")?.w);
        let truth = swimmer::parts();
        Ok(Findings {
            signatures: match_parts(&catalogues.signatures, &model_w)?,
            by_auto: match_parts(&truth, &auto)?,
            by_fpa: match_parts(&truth, &fpa)?,
            model_w,
            weights,
            gaps,
            auto,
            fpa,
        })
    }

    /// Writes the page and tells what is on it.
    fn show(&self, catalogues: &Catalogues, ran: &[Ran]) -> anyhow::Result<ExitCode> {
        let found = self.compare(catalogues)?;
        let relative = found.gaps.iter().zip(catalogues.new.col_sums()).map(|(gap, sum)| gap / sum);
        let largest = relative.fold(0.0, f64::max);
        let path = self.out.join("index.html");
        klnmf_io::write_text(&path, &found.page(catalogues, ran, largest)?)?;
        let [signatures, auto, fpa] = [&found.signatures, &found.by_auto, &found.by_fpa].map(|m| alike(m));
        if self.json {
            let commands: Vec<_> =
                ran.iter().map(|ran| json!({ "command": ran.line, "seconds": ran.seconds })).collect();
            let facts = json!({
                "commands": commands,
                "signatures": { "true": SIGNATURES, "found": signatures },
                "largest_relative_gap": largest,
                "swimmers": { "true": swimmer::PARTS, "auto": auto, "warm_restart": fpa },
                "page": path.display().to_string(),
            });
            summary::print_json(&facts)?;
        } else {
            summary::print(&format!(
                "signatures   {signatures} of {SIGNATURES} found in the noisy counts (cosine ≥ {ALIKE})\n\
                 new tumours  {NEW_TUMOURS} explained, each within {largest:.1e} of its sum of the best weights there are\n\
                 swimmers     auto fits exactly with other parts: {auto} of {parts} are the true ones\n\
                 \x20            the paper's warm restart with fpa finds {fpa} of {parts}\n\
                 page         {}\n",
                path.display(),
                parts = swimmer::PARTS
            ))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the commands found.
struct Findings {
    /// The parts of the catalogue, paired with the true signatures.
    model_w: Mat<f64>,
    signatures: Vec<Match>,
    /// Of the new tumours.
    weights: Mat<f64>,
    gaps: Vec<f64>,
    /// The parts of the swimmers, paired with the true ones.
    auto: Mat<f64>,
    by_auto: Vec<Match>,
    fpa: Mat<f64>,
    by_fpa: Vec<Match>,
}

impl Findings {
    fn page(&self, catalogues: &Catalogues, ran: &[Ran], largest: f64) -> anyhow::Result<String> {
        let step =
            |ran: &Ran| context! { line => ran.line.clone(), seconds => format!("{:.2}", ran.seconds) };
        let signature = |m: &&Match| {
            let svg = bars(catalogues.signatures.col(m.first), self.model_w.col(m.second), m.second + 1);
            context! { name => outputs::part(m.second), cosine => format!("{:.4}", m.cosine), svg }
        };
        let mut by_part: Vec<&Match> = self.signatures.iter().collect();
        by_part.sort_by_key(|m| m.second);
        let tumour = |j: usize| {
            let sum: f64 = self.weights.col(j).iter().sum();
            let shares: Vec<f64> = self.weights.col(j).iter().map(|x| 100.0 * x / sum).collect();
            context! { name => new_name(j), shares, gap => format!("{:.1e}", self.gaps[j]), sum => format!("{sum:.0}") }
        };
        let values = context! {
            version => env!("CARGO_PKG_VERSION"),
            seconds => format!("{:.1}", ran.iter().map(|ran| ran.seconds).sum::<f64>()),
            steps => ran.iter().map(step).collect::<Vec<Jinja>>(),
            bars => by_part.iter().map(signature).collect::<Vec<Jinja>>(),
            tumours => (0..self.weights.cols()).map(tumour).collect::<Vec<Jinja>>(),
            largest => format!("{largest:.1e}"),
            samples => picture(&samples(), 8),
            auto => picture(&in_order(&self.auto, &self.by_auto), 6),
            auto_found => alike(&self.by_auto),
            fpa => picture(&in_order(&self.fpa, &self.by_fpa), 6),
            fpa_found => alike(&self.by_fpa),
            parts => swimmer::PARTS,
        };
        Ok(html::render("demo.html", include_str!("demo.html"), values)?)
    }
}

impl Catalogues {
    /// Five signatures, 120 tumours with 300 to 10 000 mutations, and twelve new ones; counts are Poisson.
    fn generate() -> Self {
        let mut random = Random::new(17);
        let mut signatures = Mat::from_fn(CHANNELS, SIGNATURES, |_, _| random.uniform().powi(8) + 0.002);
        for (k, sum) in signatures.col_sums().into_iter().enumerate() {
            signatures.col_mut(k).iter_mut().for_each(|x| *x /= sum);
        }
        let mut catalogue = |tumours: usize| {
            let mut counts = Mat::zeros(CHANNELS, tumours);
            for j in 0..tumours {
                let shares: Vec<f64> = (0..SIGNATURES).map(|_| random.uniform().powi(3)).collect();
                let scale = 300.0 * 10f64.powf(1.5 * random.uniform()) / shares.iter().sum::<f64>();
                for i in 0..CHANNELS {
                    let mean: f64 =
                        shares.iter().enumerate().map(|(k, share)| signatures[(i, k)] * share).sum();
                    counts[(i, j)] = random.poisson(scale * mean);
                }
            }
            counts
        };
        let (old, new) = (catalogue(TUMOURS), catalogue(NEW_TUMOURS));
        Self { signatures, old, new }
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let channels = channels();
        let old: Vec<String> = (1..=TUMOURS).map(|j| format!("tumour {j}")).collect();
        let new: Vec<String> = (0..NEW_TUMOURS).map(new_name).collect();
        klnmf_io::write_csv(&folder.join("catalogue.csv"), &self.old, Some(&channels), Some(&old))?;
        Ok(klnmf_io::write_csv(&folder.join("new.csv"), &self.new, Some(&channels), Some(&new))?)
    }
}

/// The 96 kinds of single-base substitutions: `A[C>A]A` and so on.
fn channels() -> Vec<String> {
    let changes = ["C>A", "C>G", "C>T", "T>A", "T>C", "T>G"];
    let bases = ["A", "C", "G", "T"];
    let one = |n: usize| format!("{}[{}]{}", bases[n / 4 % 4], changes[n / 16], bases[n % 4]);
    (0..CHANNELS).map(one).collect()
}

fn new_name(j: usize) -> String {
    format!("new {}", j + 1)
}

fn alike(matches: &[Match]) -> usize {
    matches.iter().filter(|m| m.cosine >= ALIKE).count()
}

/// The found parts in the order of the true ones, with their cosines below them.
fn in_order(w: &Mat<f64>, matches: &[Match]) -> (Mat<f64>, Vec<String>) {
    let images = Mat::from_fn(w.rows(), matches.len(), |i, k| w[(i, matches[k].second)]);
    (images, matches.iter().map(|m| format!("{:.2}", m.cosine)).collect())
}

fn samples() -> (Mat<f64>, Vec<String>) {
    let all = swimmer::images();
    (Mat::from_fn(all.rows(), 8, |i, k| all[(i, 36 * k)]), Vec::new())
}

fn picture((images, labels): &(Mat<f64>, Vec<String>), across: usize) -> String {
    Grid { images, width: swimmer::SIDE, across, labels: labels.clone() }.svg()
}

/// The true signature in grey and the found part in its colour, channel by channel.
fn bars(truth: &[f64], found: &[f64], part: usize) -> String {
    let sum: f64 = found.iter().sum();
    let most = truth.iter().copied().fold(0.0, f64::max).max(found.iter().copied().fold(0.0, f64::max) / sum);
    let mut svg = String::from(
        "<svg viewBox=\"0 0 480 60\" role=\"img\" aria-label=\"the true and the found signature\">",
    );
    for (i, (t, f)) in truth.iter().zip(found).enumerate() {
        let (x, t, f) = (5.0 * i as f64, 58.0 * t / most, 58.0 * f / sum / most);
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<rect class=\"truth\" x=\"{x}\" y=\"{:.1}\" width=\"4\" height=\"{t:.1}\"/>",
            60.0 - t
        );
        let _ = write!(
            svg,
            "<rect class=\"p{part}\" x=\"{}\" y=\"{:.1}\" width=\"2\" height=\"{f:.1}\"/>",
            x + 1.0,
            60.0 - f
        );
    }
    svg + "</svg>"
}
