//! Tries ADMM's ρ, which the paper tuned by hand, from a hundredth to a hundred times the paper's value.

use crate::claim::{Check, Claim, MARGIN, lower, margin, plain};
use crate::race::{BEST_ADMM, Entrant};
use crate::record::{Record, Sheet};
use crate::section::{Item, line};
use crate::trace::{Level, Trace};
use klnmf_report::chart::{Chart, Line};

/// Multiples of the paper's ρ.
const FACTORS: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];
/// Runs in addition to the one with the paper's ρ.
pub const OTHERS: usize = FACTORS.len() - 1;
const SHEET: &str = "rho";

/// A sweep on one problem.
pub struct Sweep<'a> {
    pub problem: &'a str,
    /// The paper's ρ.
    pub rho: f64,
    /// The level to which iterations are counted, if there is one.
    pub target: Option<Level>,
    /// ADMM with the paper's ρ.
    pub paper: Trace,
}

impl Sweep<'_> {
    /// Runs ADMM with every ρ, and keeps the trace of the best unless that is the paper's.
    pub fn run(
        &self,
        record: &mut Record,
        mut race: impl FnMut(Entrant) -> anyhow::Result<Trace>,
    ) -> anyhow::Result<()> {
        let mut best: Option<Trace> = None;
        for factor in FACTORS {
            let trace = if factor == 1.0 {
                self.paper.clone()
            } else {
                race(Entrant::admm(BEST_ADMM, factor * self.rho))?
            };
            self.note(record, factor * self.rho, &trace);
            if best.as_ref().is_none_or(|best| self.rank(&trace) < self.rank(best)) {
                best = Some(trace);
            }
        }
        record.traces.extend(best.filter(|best| best.method == BEST_ADMM));
        Ok(())
    }

    fn reached(&self, trace: &Trace) -> Option<usize> {
        Some(trace.reaches(self.target?)?.iteration as usize)
    }

    /// The smaller, the better: first the iterations to the target, then the final divergence.
    fn rank(&self, trace: &Trace) -> (usize, f64) {
        (self.reached(trace).unwrap_or(usize::MAX), trace.last())
    }

    fn note(&self, record: &mut Record, rho: f64, trace: &Trace) {
        let header = ["problem", "rho", "divergence", "reached"];
        let sheet = record.sheets.entry(SHEET.into()).or_insert_with(|| Sheet::new(header));
        let reached = self.reached(trace).map_or(String::new(), |iteration| iteration.to_string());
        sheet.rows.push(vec![self.problem.into(), short(rho), trace.last().to_string(), reached]);
    }
}

/// ρ without the rounding error of the multiplication.
fn short(rho: f64) -> String {
    format!("{rho:.3e}").parse::<f64>().unwrap_or(rho).to_string()
}

/// A run with one ρ.
#[derive(Clone, Copy)]
struct Run {
    rho: f64,
    /// The final divergence.
    divergence: f64,
    /// Iterations to the target, if there is one and it was reached.
    reached: Option<f64>,
}

impl Run {
    /// The smaller, the better: first the iterations to the target, then the final divergence.
    fn rank(&self) -> (f64, f64) {
        (self.reached.unwrap_or(f64::INFINITY), self.divergence)
    }

    /// Whether it is better than another by more than the margin, and by more than one iteration. Divergences
    /// are compared by their distances to `base`.
    fn beats(&self, other: &Run, base: f64) -> bool {
        match (self.reached, other.reached) {
            (Some(own), Some(theirs)) => own < (theirs - 1.0).min((1.0 - MARGIN) * theirs),
            (None, None) => lower(self.divergence - base, other.divergence - base) == Some(true),
            (own, _) => own.is_some(),
        }
    }

    fn describe(&self) -> String {
        let measured = match self.reached {
            Some(iterations) => format!("{iterations:.0} iterations to 1e-6"),
            None => format!("D = {}", precise(self.divergence)),
        };
        format!("ρ = {} ({measured})", plain_rho(self.rho))
    }
}

/// All runs on a problem.
fn runs(record: &Record, problem: &str) -> Vec<Run> {
    let Some(sheet) = record.sheets.get(SHEET) else { return Vec::new() };
    let of = |row: &&Vec<String>| sheet.word(row, "problem") == problem;
    let number = |row: &Vec<String>, column| sheet.number(row, column);
    let run = |row: &Vec<String>| Run {
        rho: number(row, "rho"),
        divergence: number(row, "divergence"),
        reached: Some(number(row, "reached")).filter(|x| x.is_finite()),
    };
    sheet.rows.iter().filter(of).map(run).collect()
}

fn best_run(runs: &[Run]) -> Option<Run> {
    let order = |a: &&Run, b: &&Run| {
        let (a, b) = (a.rank(), b.rank());
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    runs.iter().min_by(order).copied()
}

/// The best of the ρ that were tried.
pub fn best(record: &Record, problem: &str) -> Option<f64> {
    best_run(&runs(record, problem)).map(|run| run.rho)
}

/// The claim that the paper's ρ is the best.
pub fn claim(figure: &str, rho: f64, checks: Vec<Check>) -> Claim {
    let claim = Claim::new("rho", figure, checks);
    Claim { paper: claim.paper.replace("{rho}", &rho.to_string()), ..claim }
}

/// Whether the paper's ρ is better than every other by more than the margin. This is not decided if the best
/// other is within the margin. `base` is the optimum if it is known, else 0.
pub fn check(record: &Record, problem: &str, rho: f64, base: f64) -> Check {
    let runs = runs(record, problem);
    let paper = runs.iter().find(|run| same(run.rho, rho));
    let others: Vec<Run> = runs.iter().filter(|run| !same(run.rho, rho)).copied().collect();
    let (Some(rival), Some(paper)) = (best_run(&others), paper) else {
        return Check::undecided(format!("{problem}: only one ρ was tried"));
    };
    let of = match paper.reached.or(rival.reached) {
        Some(_) => "the iterations, at least one iteration",
        None if base > 0.0 => "D − p*",
        None => "D",
    };
    let (answer, what) = if paper.beats(&rival, base) {
        (Some(true), format!("{} is the best of {} values", paper.describe(), runs.len()))
    } else if rival.beats(paper, base) {
        (Some(false), format!("{} is better than {}", rival.describe(), paper.describe()))
    } else {
        (None, format!("{} is within the margin of the best other, {}", paper.describe(), rival.describe()))
    };
    Check::settled(answer, format!("{problem}: {what}; margin: {} of {of}", margin()))
}

fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

fn precise(x: f64) -> String {
    if x.is_finite() { format!("{x:.5e}") } else { "∞".into() }
}

fn plain_rho(rho: f64) -> String {
    if (1e-4..1e5).contains(&rho) { rho.to_string() } else { plain(rho) }
}

/// The final value of ADMM against ρ, with a mark at the paper's.
pub fn item(
    record: &Record,
    id: &str,
    problems: &[&str],
    y_label: &'static str,
    height: impl Fn(&str, f64) -> f64,
) -> Item {
    let lines = problems.iter().enumerate().map(|(n, problem)| {
        let points =
            runs(record, problem).iter().map(|run| (run.rho, height(problem, run.divergence))).collect();
        let name = if problems.len() > 1 { (*problem).to_owned() } else { "ADMM".to_owned() };
        Line { name, dots: true, dashed: n > 0, ..line(crate::race::ADMM, points) }
    });
    let rho = runs(record, problems.first().unwrap_or(&"")).get(FACTORS.len() / 2).map(|run| run.rho);
    let chart = Chart {
        x_label: "ρ of ADMM",
        y_label,
        lines: lines.collect(),
        log_x: true,
        marks: rho.map(|rho| (rho, format!("the paper's ρ = {}", plain_rho(rho)))).into_iter().collect(),
        ..Chart::default()
    };
    Item::charts(id, "rho", vec![chart])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::ADMM;
    use crate::trace::Point;

    fn trace(method: &str, divergence: f64) -> Trace {
        let point = |iteration, divergence| Point { iteration, divergence, ..Point::default() };
        Trace::new("p", method, vec![point(0, 99.0), point(5, divergence)])
    }

    fn sweep(best_rho: f64) -> Record {
        let mut record = Record::default();
        let end = |rho: f64| 1.0 + (rho / best_rho).ln().abs();
        let paper = trace(ADMM, end(0.15));
        Sweep { problem: "p", rho: 0.15, target: None, paper }
            .run(&mut record, |e| Ok(trace(&e.name, end(e.settings.rho.unwrap()))))
            .unwrap();
        record
    }

    #[test]
    fn the_best_rho_is_found_and_kept_unless_it_is_the_papers() {
        let agreed = sweep(0.15);
        assert!(check(&agreed, "p", 0.15, 0.0).holds && agreed.traces.is_empty());
        let other = sweep(15.0);
        let verdict = check(&other, "p", 0.15, 0.0);
        assert!(
            !verdict.holds && verdict.measured.contains("ρ = 15 (D = 1.00000e0) is better"),
            "{}",
            verdict.measured
        );
        assert_eq!(other.traces.len(), 1);
        assert!((other.traces[0].last() - 1.0).abs() < 1e-9);
        assert_eq!(other.sheets["rho"].rows.len(), FACTORS.len());
    }

    #[test]
    fn fewer_iterations_to_the_target_count_first() {
        let early = Trace { points: vec![trace("", 2.0).points[1]], ..trace(ADMM, 0.0) };
        let mut late = trace(ADMM, 1.0);
        late.points[1].iteration = 50;
        let sweep = |paper: &Trace| Sweep {
            problem: "p",
            rho: 1.0,
            target: Some(Level::plain(2.5)),
            paper: paper.clone(),
        };
        assert!(sweep(&early).rank(&early) < sweep(&early).rank(&late));
    }

    #[test]
    fn differences_below_the_margin_do_not_count() {
        let run = |divergence, reached| Run { rho: 1.0, divergence, reached };
        assert!(!run(9.995, None).beats(&run(10.0, None), 0.0));
        assert!(run(9.995, None).beats(&run(10.0, None), 9.9), "near the optimum this is a large difference");
        assert!(run(9.9, None).beats(&run(10.0, None), 0.0));
        assert!(run(10.0, Some(700.0)).beats(&run(9.0, None), 0.0));
        assert!(!run(10.0, Some(719.0)).beats(&run(10.0, Some(720.0)), 0.0), "one iteration");
        assert!(run(10.0, Some(710.0)).beats(&run(10.0, Some(720.0)), 0.0));
        let mut record = sweep(15.0);
        let sheet = record.sheets.get_mut(SHEET).unwrap();
        sheet.rows.iter_mut().for_each(|row| row[2] = if row[1] == "15" { "9.999" } else { "10" }.into());
        let check = check(&record, "p", 0.15, 0.0);
        assert!(
            check.open && check.measured.contains("within the margin of the best other, ρ = 15"),
            "{}",
            check.measured
        );
        assert!(check.measured.contains("margin: 0.1 %"), "{}", check.measured);
    }
}
