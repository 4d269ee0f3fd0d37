//! The list of experiments. Each has its own file.

use crate::record::Record;
use crate::section::Section;
use crate::size::Size;
use crate::{decomposition, faces, music, synthetic_nd, synthetic_nmf, topics, warm_restart};

/// An experiment of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// The convex problems on uniform random data.
    SyntheticNd,
    /// The factorisation of uniform random data.
    SyntheticNmf,
    /// Warm restarts with more parts.
    WarmRestart,
    /// The parts of images.
    Faces,
    /// The parts of a recording.
    Music,
    /// Topic models, compared with EM.
    Topics,
}

/// All experiments, in the order of the paper.
pub const EXPERIMENTS: [Experiment; 6] = [
    Experiment::SyntheticNd,
    Experiment::SyntheticNmf,
    Experiment::WarmRestart,
    Experiment::Faces,
    Experiment::Music,
    Experiment::Topics,
];

/// The name of an experiment, the number of its runs, and its section of the page.
type About = (&'static str, fn(Size) -> usize, fn(&Record) -> Section);

impl Experiment {
    fn about(self) -> About {
        match self {
            Experiment::SyntheticNd => ("synthetic-nd", |_| decomposition::runs(), synthetic_nd::section),
            Experiment::SyntheticNmf => ("synthetic-nmf", synthetic_nmf::runs, synthetic_nmf::section),
            Experiment::WarmRestart => ("warm-restart", warm_restart::runs, warm_restart::section),
            Experiment::Faces => ("faces", faces::runs, faces::section),
            Experiment::Music => ("music", music::runs, music::section),
            Experiment::Topics => ("topics", |_| topics::RUNS, topics::section),
        }
    }

    /// The name on the command line, of the data folder and on the page.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The number of runs of a method in this experiment.
    pub(crate) fn runs(self, size: Size) -> usize {
        self.about().1(size)
    }

    /// The section of the page about this experiment.
    pub(crate) fn section(self, record: &Record) -> Section {
        self.about().2(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::factorisation::tests::made_up;
    use crate::race::quiet_lab;
    use crate::study::Study;
    use serde_json::{Value, json};

    #[test]
    fn every_experiment_runs_shows_its_claims_and_counts_its_runs() {
        let study = Study { size: Size::Tiny, seed: 1, ..Study::default() };
        for experiment in EXPERIMENTS {
            let lab = quiet_lab(1);
            let record = (study.load(experiment).unwrap().run)(&lab, Size::Tiny).unwrap();
            assert_eq!(lab.runs.into_inner(), experiment.runs(Size::Tiny), "{}", experiment.name());
            let section = experiment.section(&record);
            assert!(!section.claims.is_empty() && !section.title.is_empty());
            assert!(section.items.iter().all(|item| !item.caption.is_empty()));
            for claim in &section.claims {
                assert_eq!(claim.verdict(), Verdict::NotRun, "{}: no verdict at another size", claim.paper);
                assert!(!claim.checks.is_empty(), "{}", claim.paper);
                assert!(claim.why.iter().all(|why| why.ends_with('.')), "{}: why, and why not", claim.paper);
                assert!(section.items.iter().any(|item| item.id == claim.figure), "{}", claim.figure);
                let text: String = claim.checks.iter().map(|check| check.measured.as_str()).collect();
                assert!(!text.contains("NaN"), "{text}");
            }
        }
    }

    /// Claims are judged only at the paper's size and on its kind of data.
    #[test]
    fn only_the_papers_size_and_kind_of_data_are_judged() {
        let why = |experiment: Experiment, data: &str, columns: usize, mut facts: Value| {
            facts["data"] = data.into();
            facts["columns"] = columns.into();
            let traces = ["FPA", "ADMM", "MUA"].map(|method| made_up(method, 10.0, 5.0, 0.1)).to_vec();
            let section = experiment.section(&Record { traces, ..Record::new(facts) });
            assert!(section.claims.iter().all(|claim| claim.not_run == section.claims[0].not_run));
            section.claims[0].not_run
        };
        let other = Some("not run at this size");
        let faces = json!({
            "rows": 361, "rank": 49, "accesses": 3000, "updates": 5000, "iterations": 1500, "rho": 50.0,
            "rho of the convex problems": 0.1,
        });
        assert_eq!(why(Experiment::Faces, "cbcl.npy", 2429, faces.clone()), None);
        assert_eq!(why(Experiment::Faces, "cbcl.npy", 100, faces.clone()), other);
        assert_eq!(why(Experiment::Faces, "", 2429, faces), Some("not run on faces"));
        let music = json!({
            "rows": 129, "rank": 10, "accesses": 5000, "updates": 5000, "iterations": 2000, "rho": 10.0,
            "rho of the convex problems": 0.5,
        });
        assert_eq!(why(Experiment::Music, "song.wav", 9312, music.clone()), None);
        assert_eq!(why(Experiment::Music, "song.wav", 9311, music.clone()), other);
        assert_eq!(why(Experiment::Music, "", 9312, music), Some("not run on a recording"));
        let nmf = json!({ "rows": 250, "rank": 50, "accesses": 3000, "rho": 1.0 });
        assert_eq!(why(Experiment::SyntheticNmf, "", 2000, nmf.clone()), None);
        assert_eq!(why(Experiment::SyntheticNmf, "", 600, nmf), other);
        let counts = json!({ "step": 1, "accesses": 200 });
        assert_eq!(why(Experiment::Topics, "newsgroups.npz", 9, counts.clone()), None);
        assert_eq!(why(Experiment::Topics, "", 9, counts), Some("not run on real counts"));
        assert_eq!(why(Experiment::Topics, "x.npz", 9, json!({ "step": 3, "accesses": 200 })), other);
    }
}
