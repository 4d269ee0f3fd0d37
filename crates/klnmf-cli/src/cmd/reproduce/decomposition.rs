//! The convex problem: one factor is at its optimum and stays, the other one is found. The same for every data set.
//!
//! The distance of a primal point to the optimum is D − p*, that of a dual point is p* − (D − gap): the gap is the difference
//! between the divergence and the value of the feasible dual point −V/(WH), scaled.

use super::claim::{Check, Claim, plain, resolution, timed};
use super::race::{ADMM, AUTO, Entrant, FPA, Lab, MUA, OUR_FPA};
use super::record::Record;
use super::section::{Along, Item, line};
use super::sweep::{self, Sweep};
use super::trace::{Level, Point, Trace};
use crate::chart::{Chart, Line};
use crate::summary;
use anyhow::Context;
use klnmf::{DecomposeSettings, Decomposition, Mat, Solver, Update};
use std::time::Instant;

/// The settings of the experiment.
pub struct Setup {
    pub rank: usize,
    /// Multiplicative updates that make the factors which are held.
    pub updates: usize,
    pub iterations: usize,
    /// ADMM's penalty in the paper.
    pub rho: f64,
}

/// The problems by name and by the factor that moves.
pub const PROBLEMS: [(&str, Update); 2] = [("W given H*", Update::W), ("H given W*", Update::H)];

/// Runs that the experiment takes.
pub const RUNS: usize = 1 + PROBLEMS.len() * (5 + sweep::OTHERS);

/// The same point: a distance to the optimum, relative to it.
const SAME: f64 = 1e-6;
/// The distance that iterations and times are counted to.
const NEAR: f64 = 1e-4;

/// Both problems from the same start.
pub fn run(lab: &Lab, v: &Mat<f64>, setup: &Setup, record: &mut Record) -> anyhow::Result<()> {
    let prepared = &lab.prepare(v)?;
    let start = lab.start(prepared, setup.rank)?;
    let (_, optimal) = lab.race("optimum", &Entrant::mua(), prepared, (&start.0, &start.1), setup.updates)?;
    let (w_star, h_star) = to_scale_of(&start.0, optimal.w, optimal.h);
    record.facts.insert("sum".into(), summary::number(optimal.info.sum));
    for (problem, update) in PROBLEMS {
        let factors = match update {
            Update::W => (&start.0, &h_star),
            _ => (&w_star, &start.1),
        };
        let begun = Instant::now();
        let optimum = optimum(lab, v, factors, update)?;
        let fact = |name: &str| format!("{name} of {problem}");
        record.facts.insert(fact("optimum"), summary::number(optimum.divergence()));
        record.facts.insert(fact("gap"), summary::number(optimum.gap()));
        record.facts.insert(fact("seconds"), summary::number(begun.elapsed().as_secs_f64()));
        let entrants = [
            Entrant::mua(),
            Entrant::admm(ADMM, setup.rho),
            Entrant::fpa(FPA, 1),
            Entrant::ours(OUR_FPA, Solver::Fpa),
            Entrant::ours(AUTO, Solver::Auto),
        ];
        for entrant in entrants {
            record
                .traces
                .push(lab.race(problem, &entrant.only(update), prepared, factors, setup.iterations)?.0);
        }
        let paper = record.trace(problem, ADMM).cloned().context("ADMM has run")?;
        let target = Some(Level::near(optimum.divergence(), SAME));
        Sweep { problem, rho: setup.rho, target, paper }.run(record, |entrant| {
            Ok(lab.race(problem, &entrant.only(update), prepared, factors, setup.iterations)?.0)
        })?;
    }
    Ok(())
}

/// The optimum of the factor that moves, certified as far as double precision goes.
fn optimum(
    lab: &Lab,
    v: &Mat<f64>,
    (w, h): (&Mat<f64>, &Mat<f64>),
    update: Update,
) -> klnmf::Result<Decomposition<f64>> {
    let settings = DecomposeSettings {
        tol: 1e-13,
        threads: lab.threads,
        stop: Some(lab.stop.clone()),
        ..DecomposeSettings::default()
    };
    match update {
        Update::W => klnmf::decompose(&v.transpose(), &h.transpose(), &settings),
        _ => klnmf::decompose(v, w, &settings),
    }
}

/// W and H with the columns of W scaled to the sums of the start's. The solution of the library has columns that sum to 1, which is not
/// the scale of the other factor's start; so scaled both starts have ΣWH = ΣV.
fn to_scale_of(start: &Mat<f64>, mut w: Mat<f64>, mut h: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let wanted = start.col_sums();
    let sums = w.col_sums();
    for (k, (wanted, sum)) in wanted.iter().zip(&sums).enumerate().filter(|(_, (_, sum))| **sum > 0.0) {
        w.col_mut(k).iter_mut().for_each(|x| *x *= wanted / sum);
        (0..h.cols()).for_each(|j| h[(k, j)] *= sum / wanted);
    }
    (w, h)
}

/// What is known of the optimum of a problem.
struct Optimum {
    value: f64,
    /// Below this a distance is rounding.
    floor: f64,
}

impl Optimum {
    fn of(record: &Record, problem: &str) -> Self {
        let rounding = 4.0 * f64::EPSILON * record.fact("sum");
        let gap = record.fact(&format!("gap of {problem}"));
        Self { value: record.fact(&format!("optimum of {problem}")), floor: rounding.max(gap) }
    }

    /// The distance of a primal value, at least the rounding.
    fn distance(&self, divergence: f64) -> f64 {
        (divergence - self.value).max(self.floor)
    }

    /// The distance of the dual value.
    fn dual_distance(&self, point: &Point, problem: &str) -> f64 {
        let gap = if problem == PROBLEMS[0].0 { point.gap_w } else { point.gap_h };
        (self.value - (point.divergence - gap)).max(self.floor)
    }

    fn relative(&self, distance: f64) -> f64 {
        distance / self.value
    }
}

/// The figure of both problems against iterations and time, the sweep of ρ, and the table of the optima.
pub fn items(record: &Record, id: &str, place: &str) -> Vec<Item> {
    let chart = |problem: &str, along: Along, letter: char| Chart {
        title: format!("({letter}) {problem}"),
        x_label: along.label(),
        y_label: "distance to the optimum",
        lines: lines(record, problem, along),
        log_x: true,
        ..Chart::default()
    };
    let [(w, _), (h, _)] = PROBLEMS;
    let charts = vec![
        chart(w, Along::Iterations, 'a'),
        chart(h, Along::Iterations, 'b'),
        chart(w, Along::Seconds, 'c'),
        chart(h, Along::Seconds, 'd'),
    ];
    let caption = format!(
        "Distance to the optimum p* of the convex problems (paper: {place}). Primal: D − p*. Dual of FPA (dashed): p* − d, where d is \
         the value of the dual point −V/(WH) at FPA's iterate, scaled to be feasible. What is below the rounding of the sums, or the \
         gap that p* is certified to, is drawn there."
    );
    let mut items = vec![Item::charts(id.into(), caption, charts), optima(record, &format!("{id}-optima"))];
    items.push(sweep::item(
        record,
        &format!("{id}-rho"),
        &PROBLEMS.map(|(name, _)| name),
        "distance to the optimum at the end",
        |problem, divergence| Optimum::of(record, problem).distance(divergence),
    ));
    items
}

fn lines(record: &Record, problem: &str, along: Along) -> Vec<Line> {
    let optimum = Optimum::of(record, problem);
    let mut lines = Vec::new();
    for trace in record.of(problem) {
        let primal = along.points(trace, |p| optimum.distance(p.divergence));
        if trace.method == FPA {
            let dual = along.points(trace, |p| optimum.dual_distance(p, problem));
            lines.push(Line { name: "FPA primal".into(), ..line(FPA, primal) });
            lines.push(Line { name: "FPA dual".into(), dashed: true, ..line(FPA, dual) });
        } else {
            lines.push(line(&trace.method, primal));
        }
    }
    lines
}

fn optima(record: &Record, id: &str) -> Item {
    let rows = PROBLEMS.map(|(problem, _)| {
        let fact = |name: &str| record.fact(&format!("{name} of {problem}"));
        let found = |method: &str| record.trace(problem, method).map_or(f64::NAN, Trace::last);
        vec![
            problem.into(),
            format!("{:.10e}", fact("optimum")),
            plain(fact("gap")),
            format!("{:.2}", fact("seconds")),
            plain(found(FPA) - fact("optimum")),
            plain(found(ADMM) - fact("optimum")),
            plain(found(MUA) - fact("optimum")),
            plain(found(AUTO) - fact("optimum")),
        ]
    });
    let caption = "The optimum p* by klnmf decompose with its certificate: no factor has a divergence below p* − gap. Then D − p* at \
                   the end of each method; differences near 1e-16 of ΣV, of either sign, are rounding.";
    let header = ["problem", "p*", "gap", "seconds", "FPA", "ADMM", "MUA", "auto"];
    Item::table(id.into(), caption.into(), &header, rows.to_vec())
}

/// The claims that the paper makes for its convex problems.
pub fn claims(record: &Record, id: &str, place: &'static str, rho: f64) -> Vec<Claim> {
    let claim =
        |paper: &str, checks: Vec<Check>| Claim { paper: paper.into(), place, figure: id.into(), checks };
    let both = |f: &dyn Fn(&str) -> Vec<Check>| PROBLEMS.iter().flat_map(|(problem, _)| f(problem)).collect();
    let mut claims = vec![
        claim(
            "FPA and ADMM converge to the same point",
            both(&|problem| [FPA, ADMM].map(|method| converged(record, problem, method)).to_vec()),
        ),
        claim("MUA exhibits slow convergence", both(&|problem| vec![slower(record, problem)])),
        claim(
            "Significant advantage of FPA, against iterations",
            both(&|problem| {
                [MUA, ADMM].map(|other| sooner(record, problem, other, Along::Iterations)).to_vec()
            }),
        ),
        claim(
            "Significant advantage of FPA, against time",
            both(&|problem| [MUA, ADMM].map(|other| sooner(record, problem, other, Along::Seconds)).to_vec()),
        ),
        claim(
            "Primal and dual of FPA reveal strong duality",
            both(&|problem| vec![strong_duality(record, problem)]),
        ),
    ];
    claims.push(Claim {
        paper: format!("ρ = {rho} is the optimal parameter of ADMM"),
        place,
        figure: format!("{id}-rho"),
        checks: both(&|problem| vec![sweep::check(record, problem, rho, Optimum::of(record, problem).value)]),
    });
    claims
}

fn end(record: &Record, problem: &str, method: &str) -> f64 {
    let optimum = Optimum::of(record, problem);
    record.trace(problem, method).map_or(f64::INFINITY, |t| optimum.relative(optimum.distance(t.last())))
}

fn converged(record: &Record, problem: &str, method: &str) -> Check {
    let distance = end(record, problem, method);
    Check::new(
        distance <= SAME,
        format!("{problem}: {method} ends {} above p*, relative (at most {SAME:.0e})", plain(distance)),
    )
}

fn slower(record: &Record, problem: &str) -> Check {
    const TIMES: f64 = 100.0;
    let (mua, fpa) = (end(record, problem, MUA), end(record, problem, FPA));
    Check::new(
        mua >= TIMES * fpa,
        format!(
            "{problem}: MUA ends {} above p*, FPA {}, relative (at least {TIMES} times)",
            plain(mua),
            plain(fpa)
        ),
    )
}

/// Whether FPA comes near the optimum in at most half the iterations or time of another method.
fn sooner(record: &Record, problem: &str, other: &str, along: Along) -> Check {
    let target = Level::near(Optimum::of(record, problem).value, NEAR);
    let reach = |method: &str| Some(along.of(&record.trace(problem, method)?.reaches(target)?));
    let (fpa, theirs) = (reach(FPA), reach(other));
    let text = |x: Option<f64>| match x {
        Some(x) if along == Along::Iterations => format!("{x:.0}"),
        Some(x) => format!("{} s", plain(x)),
        None => "not reached".into(),
    };
    let half = |error: f64| match (fpa, theirs) {
        (Some(fpa), Some(theirs)) => Some(2.0 * fpa + error <= theirs),
        (None, None) => None,
        (fpa, _) => Some(fpa.is_some()),
    };
    let longer = (2.0 * fpa.unwrap_or(0.0)).max(theirs.unwrap_or(0.0));
    let (answer, within) = match along {
        Along::Iterations => (half(0.0), String::new()),
        Along::Seconds => (timed(longer, half), format!(", to {}", resolution(longer))),
    };
    let (fpa, theirs) = (text(fpa), text(theirs));
    let measured =
        format!("{problem}: to {NEAR:.0e} above p* FPA {fpa}, {other} {theirs} (at most half{within})");
    Check::settled(answer, measured)
}

fn strong_duality(record: &Record, problem: &str) -> Check {
    let optimum = Optimum::of(record, problem);
    let last = record.trace(problem, FPA).and_then(|trace| trace.points.last());
    let distance = last.map_or(f64::INFINITY, |p| optimum.relative(optimum.dual_distance(p, problem)));
    Check::new(
        distance <= SAME,
        format!("{problem}: the dual value ends {} below p*, relative (at most {SAME:.0e})", plain(distance)),
    )
}

#[cfg(test)]
mod tests {
    use super::super::race::quiet_lab;
    use super::*;
    use crate::random::Random;

    fn made_up(ends: [(&str, f64); 3]) -> Record {
        let mut record = Record::default();
        record.facts.insert("sum".into(), 100.0.into());
        for (problem, _) in PROBLEMS {
            record.facts.insert(format!("optimum of {problem}"), 10.0.into());
            record.facts.insert(format!("gap of {problem}"), 0.0.into());
            for (method, end) in ends {
                let point = |iteration, divergence| Point {
                    iteration,
                    seconds: iteration as f64,
                    divergence,
                    gap_w: divergence - 10.0,
                    gap_h: divergence - 10.0,
                };
                record.traces.push(Trace {
                    problem: problem.into(),
                    method: method.into(),
                    points: vec![point(0, 20.0), point(10, end), point(100, end)],
                });
            }
        }
        record
    }

    #[test]
    fn checks_hold_and_fail_as_they_should() {
        let good = made_up([(FPA, 10.0 + 1e-9), (ADMM, 10.0 + 1e-8), (MUA, 10.5)]);
        let bad = made_up([(FPA, 10.5), (ADMM, 10.0 + 1e-8), (MUA, 10.5)]);
        let problem = PROBLEMS[1].0;
        for (record, expected) in [(&good, true), (&bad, false)] {
            assert_eq!(converged(record, problem, FPA).holds, expected);
            assert_eq!(slower(record, problem).holds, expected);
            assert_eq!(sooner(record, problem, MUA, Along::Iterations).holds, expected);
            assert_eq!(sooner(record, problem, MUA, Along::Seconds).holds, expected);
            assert!(strong_duality(record, problem).holds, "D − gap is the optimum in both");
        }
        assert!(!sooner(&good, problem, ADMM, Along::Iterations).holds, "as soon is not sooner");
        assert!(converged(&bad, problem, ADMM).holds);
        // So quick that no clock can tell.
        let mut quick = good.clone();
        quick.traces.iter_mut().flat_map(|t| &mut t.points).for_each(|p| p.seconds *= 1e-5);
        assert!(sooner(&quick, problem, ADMM, Along::Seconds).open);
        assert!(!sooner(&quick, problem, ADMM, Along::Iterations).open);
        let mut loose = good.clone();
        loose.traces.iter_mut().flat_map(|t| &mut t.points).for_each(|p| p.gap_h += 1.0);
        assert!(!strong_duality(&loose, problem).holds);
    }

    #[test]
    fn the_optimum_is_below_every_method_and_certified() {
        let (lab, mut random) = (quiet_lab(1), Random::new(5));
        let v = Mat::from_fn(15, 30, |_, _| 750.0 * random.uniform());
        let setup = Setup { rank: 3, updates: 300, iterations: 300, rho: 0.15 };
        let mut record = Record::default();
        run(&lab, &v, &setup, &mut record).unwrap();
        assert_eq!(lab.runs.get(), RUNS);
        for (problem, _) in PROBLEMS {
            let optimum = Optimum::of(&record, problem);
            assert!(record.fact(&format!("gap of {problem}")) <= 1e-10 * record.fact("sum"));
            for trace in record.of(problem) {
                let first = &trace.points[0];
                assert!(trace.last() >= optimum.value - optimum.floor, "{problem}: {}", trace.method);
                assert!(first.divergence < record.fact("sum"), "a start of the right scale");
            }
            assert!(converged(&record, problem, AUTO).holds);
        }
    }
}
