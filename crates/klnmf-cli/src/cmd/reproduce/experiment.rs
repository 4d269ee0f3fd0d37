//! The experiments by name, each in a file of its own.

use super::race::Lab;
use super::record::Record;
use super::section::Section;
use super::size::Size;
use super::{corpus, decomposition, faces, music, synthetic_nd, synthetic_nmf, topics, warm_restart};
use anyhow::Context;
use serde_json::Value;

/// An experiment of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    SyntheticNd,
    SyntheticNmf,
    WarmRestart,
    Faces,
    Music,
    Topics,
}

/// All of them, in the order of the paper.
pub const EXPERIMENTS: [Experiment; 6] = [
    Experiment::SyntheticNd,
    Experiment::SyntheticNmf,
    Experiment::WarmRestart,
    Experiment::Faces,
    Experiment::Music,
    Experiment::Topics,
];

/// What experiments work on, if it does not follow from the seed and the size.
#[derive(Default)]
pub struct Inputs {
    pub faces: Option<faces::Faces>,
    pub music: Option<music::Piece>,
    pub counts: Option<corpus::Corpus>,
}

impl Inputs {
    /// What tells one input of an experiment from another.
    pub fn fingerprint(&self, experiment: Experiment) -> Value {
        let text = match experiment {
            Experiment::Faces => self.faces.as_ref().map(faces::Faces::fingerprint),
            Experiment::Music => self.music.as_ref().map(music::Piece::fingerprint),
            Experiment::Topics => self.counts.as_ref().map(corpus::Corpus::fingerprint),
            _ => None,
        };
        text.map_or(Value::Null, Value::String)
    }
}

impl Experiment {
    /// The name on the command line, of the folder and on the page.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::SyntheticNd => "synthetic-nd",
            Experiment::SyntheticNmf => "synthetic-nmf",
            Experiment::WarmRestart => "warm-restart",
            Experiment::Faces => "faces",
            Experiment::Music => "music",
            Experiment::Topics => "topics",
        }
    }

    /// How many runs of a method it takes.
    pub fn runs(self, size: Size) -> usize {
        match self {
            Experiment::SyntheticNd => decomposition::runs(),
            Experiment::SyntheticNmf => synthetic_nmf::runs(size),
            Experiment::WarmRestart => warm_restart::runs(size),
            Experiment::Faces => faces::runs(size),
            Experiment::Music => music::runs(size),
            Experiment::Topics => topics::RUNS,
        }
    }

    /// Measures.
    pub fn run(self, lab: &Lab, size: Size, inputs: &Inputs) -> anyhow::Result<Record> {
        match self {
            Experiment::SyntheticNd => synthetic_nd::run(lab, size),
            Experiment::SyntheticNmf => synthetic_nmf::run(lab, size),
            Experiment::WarmRestart => warm_restart::run(lab, size),
            Experiment::Faces => faces::run(lab, size, inputs.faces.as_ref().context("there are no images")?),
            Experiment::Music => {
                music::run(lab, size, inputs.music.as_ref().context("there is no recording")?)
            }
            Experiment::Topics => {
                topics::run(lab, size, inputs.counts.as_ref().context("there are no counts")?)
            }
        }
    }

    /// What the page says and shows of the measurements.
    pub fn section(self, record: &Record) -> Section {
        match self {
            Experiment::SyntheticNd => synthetic_nd::section(record),
            Experiment::SyntheticNmf => synthetic_nmf::section(record),
            Experiment::WarmRestart => warm_restart::section(record),
            Experiment::Faces => faces::section(record),
            Experiment::Music => music::section(record),
            Experiment::Topics => topics::section(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::claim::Verdict;
    use super::super::race::quiet_lab;
    use super::*;

    #[test]
    fn every_experiment_runs_shows_its_claims_and_counts_its_runs() {
        let inputs = Inputs {
            faces: Some(faces::Faces::load(None, false, 1, Size::Tiny).unwrap()),
            music: Some(music::Piece::load(None, 1, Size::Tiny).unwrap()),
            counts: Some(corpus::Corpus::load(None, 1, Size::Tiny).unwrap()),
        };
        for experiment in EXPERIMENTS {
            let lab = quiet_lab(1);
            let record = experiment.run(&lab, Size::Tiny, &inputs).unwrap();
            assert_eq!(lab.runs.get(), experiment.runs(Size::Tiny), "{}", experiment.name());
            let section = experiment.section(&record);
            assert!(!section.claims.is_empty() && !section.items.is_empty());
            for claim in &section.claims {
                assert_eq!(claim.verdict(), Verdict::NotRun, "{}: another size has no verdict", claim.paper);
                assert!(!claim.checks.is_empty(), "{}", claim.paper);
                assert!(claim.why.iter().all(|why| why.ends_with('.')), "{}: why, and why not", claim.paper);
                assert!(section.items.iter().any(|item| item.id == claim.figure), "{}", claim.figure);
                let text: String = claim.checks.iter().map(|check| check.measured.as_str()).collect();
                assert!(!text.contains("NaN"), "{text}");
            }
        }
    }
}
