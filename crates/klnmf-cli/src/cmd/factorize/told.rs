//! What `klnmf factorize` prints.

use super::Factorize;
use crate::{outputs, summary};
use klnmf::{Matrix, Scalar, Solution, Solver, Start, Status};
use serde_json::{Value, json};

/// The keys and values of one of several starts.
pub fn start(start: &Start) -> Value {
    let Start { seed, iterations, divergence, finished } = *start;
    let divergence = summary::number(divergence);
    json!({ "seed": seed, "iterations": iterations, "divergence": divergence, "finished": finished })
}

/// A line on several starts: which is the best, and how much they differ.
fn starts(starts: &[Start]) -> String {
    let ends = starts.iter().filter(|start| start.finished);
    let (Some(first), Some(best)) =
        (starts.first(), ends.min_by(|a, b| a.divergence.total_cmp(&b.divergence)))
    else {
        return String::new();
    };
    let gain = 100.0 * (first.divergence - best.divergence) / first.divergence.max(f64::MIN_POSITIVE);
    let found = if best.seed == first.seed {
        format!("seed {}, the first, is the best", first.seed)
    } else {
        format!("seed {} is the best, {gain:.2} % below seed {}", best.seed, first.seed)
    };
    format!("starts       {}: {found}\n", starts.len())
}

impl Factorize {
    pub(super) fn tell<T: Scalar>(
        &self,
        solution: &Solution<T>,
        v: Matrix<'_, T>,
        sparse: bool,
        facts: Value,
    ) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let info = &solution.info;
            let storage = if sparse { "sparse" } else { "dense" };
            let mut text =
                format!("V            {} × {}, {storage}, sum {:.6e}\n", v.rows(), v.cols(), info.sum);
            text += &format!(
                "{:<12} {} after {} iterations in {:.2} s\n",
                facts["solver"].as_str().unwrap_or_default(),
                solution.status.name(),
                info.iteration,
                info.seconds
            );
            text += &summary::gaps(info);
            text += &starts(&solution.starts);
            // No method can start from factors with infinite gaps.
            let limited = matches!(solution.status, Status::IterationLimit | Status::TimeLimit);
            if limited && info.gap_h.is_finite() {
                let limit = if solution.status == Status::TimeLimit { "--time-limit" } else { "--max-iter" };
                let how =
                    if self.solver == Solver::Auto { String::new() } else { ", or use --solver auto".into() };
                let from =
                    self.checkpoints.advice().unwrap_or_else(|| format!("--init {}", self.out().display()));
                text += &format!("advice       to get closer: raise {limit}, or continue with {from}{how}\n");
            }
            text += &format!(
                "model        {} (W {} × {}, H {} × {})\n",
                self.out().display(),
                solution.w.rows(),
                solution.w.cols(),
                solution.h.rows(),
                solution.h.cols()
            );
            for path in self.csv.iter().flat_map(|prefix| outputs::csv_names(prefix)) {
                text += &format!("{:<12} {}\n", "table", path.display());
            }
            for (what, path) in [("trace", &self.trace), ("report", &self.report)] {
                text +=
                    &path.as_ref().map_or(String::new(), |path| format!("{what:<12} {}\n", path.display()));
            }
            text
        })
    }
}
