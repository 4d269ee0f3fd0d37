//! The convex problems: one factor is fixed at its optimum, and the other is computed, in the same way for
//! every data set.
//!
//! The distance of a primal point to the optimum is D − p*, and that of a dual point with value d is p* − d.
//! There are two dual points: FPA's own χ, projected as in §3.1, and the certificate D − gap. The certificate
//! is the better of χ and the point −V/(WH), scaled to be feasible. For a method without χ, and in older
//! records, it is that point alone.

use crate::claim::{Check, Claim, plain, resolution, timed};
use crate::optimum::{self, Optimum};
use crate::race::{ADMM, AUTO, Course, ENTRANTS, Entrant, FPA, Lab, MUA, Watch};
use crate::record::Record;
use crate::section::{Along, Item, line};
use crate::sweep::{self, Sweep};
use crate::trace::{Level, Trace};
use anyhow::Context;
use klnmf::{Mat, Update};
use klnmf_report::chart::{Chart, Line};
use std::time::Instant;

/// The problems with the factor that is computed.
pub const PROBLEMS: [(&str, Update); 2] = [("W given H*", Update::W), ("H given W*", Update::H)];

/// The number of runs of the experiment.
pub fn runs() -> usize {
    1 + PROBLEMS.len() * (ENTRANTS + sweep::OTHERS)
}

/// A method has converged if its relative distance to the optimum is at most this.
const SAME: f64 = 1e-6;
/// The relative distance to which iterations and times are counted.
const NEAR: f64 = 1e-4;

/// Runs both problems from the same start. The facts have the rank, the number of multiplicative updates for
/// the fixed factors, and the number of iterations. `rho` is ADMM's penalty in the paper.
pub fn run(lab: &Lab, v: &Mat<f64>, rho: f64, record: &mut Record) -> anyhow::Result<()> {
    let prepared = &lab.prepare(v)?;
    let (w, h) = lab.start(prepared, record.count("rank"), 0)?;
    let course =
        Course { problem: "optimum", v: prepared, start: (&w, &h), iterations: record.count("updates") };
    let (_, optimal) = lab.race(&course, &Entrant::mua(), Watch::Closely)?;
    let (w_star, h_star) = optimum::to_scale_of(&w, optimal.w, optimal.h);
    record.note("sum", optimal.info.sum);
    for (problem, update) in PROBLEMS {
        let start = if update == Update::W { (&w, &h_star) } else { (&w_star, &h) };
        let begun = Instant::now();
        let optimum = optimum::find(lab, v, start, update)?;
        record.note(format!("optimum of {problem}"), optimum.divergence());
        record.note(format!("gap of {problem}"), optimum.gap());
        record.note(format!("seconds of {problem}"), begun.elapsed().as_secs_f64());
        let course = Course { problem, start, iterations: record.count("iterations"), ..course };
        let race = |entrant: Entrant| Ok(lab.race(&course, &entrant.only(update), Watch::Closely)?.0);
        for entrant in Entrant::all(rho, 1) {
            record.traces.push(race(entrant)?);
        }
        let paper = record.trace(problem, ADMM).cloned().context("there is no trace of ADMM")?;
        let target = Some(Level::near(optimum.divergence(), SAME));
        Sweep { problem, rho, target, paper }.run(record, race)?;
    }
    Ok(())
}

/// The figure of both problems against iterations and time, the table of the optima, and ADMM against ρ.
pub fn items(record: &Record, id: &str) -> Vec<Item> {
    let chart = |(letter, along, (problem, _)): (char, Along, (&str, Update))| Chart {
        title: format!("({letter}) {problem}"),
        x_label: along.label(),
        y_label: "distance to the optimum",
        lines: lines(record, problem, along),
        log_x: true,
        ..Chart::default()
    };
    let (i, s, [w, h]) = (Along::Iterations, Along::Seconds, PROBLEMS);
    let charts = [('a', i, w), ('b', i, h), ('c', s, w), ('d', s, h)].map(chart).to_vec();
    let mut items = vec![Item::charts(id, "convex", charts), optima(record, &beyond(id, "optima"))];
    items.push(sweep::item(
        record,
        &beyond(id, "rho"),
        &PROBLEMS.map(|(name, _)| name),
        "distance to the optimum at the end",
        |problem, divergence| Optimum::of(record, problem).distance(divergence),
    ));
    items
}

/// The name of an item that the paper does not have, derived from that of its figure.
fn beyond(id: &str, name: &str) -> String {
    format!("{}-{name}", id.splitn(3, '-').last().unwrap_or(id))
}

fn lines(record: &Record, problem: &str, along: Along) -> Vec<Line> {
    let optimum = Optimum::of(record, problem);
    let mut lines = Vec::new();
    for trace in record.of(problem) {
        let primal = along.points(trace, |p| optimum.distance(p.divergence));
        if trace.method == FPA {
            let carried = along.points(trace, |p| p.dual.map_or(f64::NAN, |dual| optimum.below(dual)));
            let point = along.points(trace, |p| optimum.certificate_distance(p, problem));
            lines.push(Line { name: "FPA primal".into(), ..line(FPA, primal) });
            if carried.iter().any(|(_, y)| y.is_finite()) {
                lines.push(Line { name: "FPA dual χ".into(), dashed: true, ..line(FPA, carried) });
            }
            lines.push(Line { name: "FPA certificate".into(), dashed: true, pale: 0.5, ..line(FPA, point) });
        } else {
            lines.push(line(&trace.method, primal));
        }
    }
    lines
}

fn optima(record: &Record, id: &str) -> Item {
    let rows = PROBLEMS.map(|(problem, _)| {
        let [optimum, gap, seconds] =
            ["optimum", "gap", "seconds"].map(|name| record.fact(&format!("{name} of {problem}")));
        let end = |method: &str| record.trace(problem, method).map_or(f64::NAN, Trace::last);
        let mut row = vec![problem.into(), format!("{optimum:.10e}"), plain(gap), format!("{seconds:.2}")];
        row.extend([FPA, ADMM, MUA, AUTO].map(|method| plain(end(method) - optimum)));
        row
    });
    let header = ["problem", "p*", "gap", "seconds", "FPA", "ADMM", "MUA", "auto"];
    Item::table(id, "optima", &header, rows.to_vec())
}

/// The claims of the paper about its convex problems.
pub fn claims(record: &Record, id: &str, place: &str, rho: f64) -> Vec<Claim> {
    let both = |f: &dyn Fn(&str) -> Vec<Check>| PROBLEMS.iter().flat_map(|(p, _)| f(p)).collect::<Vec<_>>();
    let claim = |name: &str, f: &dyn Fn(&str) -> Vec<Check>| Claim::new(name, id, both(f)).at(place);
    let ahead = |along: Along| {
        move |problem: &str| [MUA, ADMM].map(|other| sooner(record, problem, other, along)).to_vec()
    };
    let optimal = |p: &str| vec![sweep::check(record, p, rho, Optimum::of(record, p).value)];
    vec![
        claim("convex-same", &|p| [FPA, ADMM].map(|method| converged(record, p, method)).to_vec()),
        claim("convex-mua", &|p| vec![slower(record, p)]),
        claim("convex-iterations", &ahead(Along::Iterations)),
        claim("convex-time", &ahead(Along::Seconds)),
        claim("convex-duality", &|p| vec![strong_duality(record, p)]),
        sweep::claim(&beyond(id, "rho"), rho, both(&optimal)).at(place),
    ]
}

fn end(record: &Record, problem: &str, method: &str) -> f64 {
    let optimum = Optimum::of(record, problem);
    record.trace(problem, method).map_or(f64::INFINITY, |t| optimum.relative(optimum.distance(t.last())))
}

fn converged(record: &Record, problem: &str, method: &str) -> Check {
    let distance = end(record, problem, method);
    let text = plain(distance);
    Check::new(
        distance <= SAME,
        format!("{problem}: {method} ends at (D − p*)/p* = {text}; required: at most {SAME:.0e}"),
    )
}

fn slower(record: &Record, problem: &str) -> Check {
    const TIMES: f64 = 100.0;
    let (mua, fpa) = (end(record, problem, MUA), end(record, problem, FPA));
    Check::new(
        mua >= TIMES * fpa,
        format!(
            "{problem}: MUA ends at (D − p*)/p* = {}, FPA at {}; required: a ratio of at least {TIMES}",
            plain(mua),
            plain(fpa)
        ),
    )
}

/// Whether FPA comes near the optimum in at most half the iterations or half the time of another method.
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
        Along::Seconds => (timed(longer, half), format!("; timing error: {}", resolution(longer))),
    };
    let (fpa, theirs) = (text(fpa), text(theirs));
    let measured = format!(
        "{problem}: {} to (D − p*)/p* = {NEAR:.0e}: FPA {fpa}, {other} {theirs}; required: FPA at most \
         half{within}",
        along.label()
    );
    Check::settled(answer, measured)
}

/// Whether FPA's own dual variable ends at the optimum. The certificate is reported too, but does not count.
fn strong_duality(record: &Record, problem: &str) -> Check {
    let optimum = Optimum::of(record, problem);
    let Some(last) = record.trace(problem, FPA).and_then(|trace| trace.points.last()) else {
        return Check::undecided(format!("{problem}: not recorded"));
    };
    let relative = |distance: f64| plain(optimum.relative(distance));
    let point =
        format!("the certificate ends {} below p*", relative(optimum.certificate_distance(last, problem)));
    match last.dual.map(|dual| optimum.below(dual)) {
        Some(distance) => Check::new(
            optimum.relative(distance) <= SAME,
            format!(
                "{problem}: FPA's dual χ ends {} below p*, relative to p*; required: at most {SAME:.0e}; \
                 {point}",
                relative(distance)
            ),
        ),
        None => {
            Check::undecided(format!("{problem}: FPA's dual χ was not recorded; {point}, relative to p*"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::quiet_lab;
    use crate::random::Random;
    use crate::trace::Point;
    use serde_json::json;

    fn made_up(ends: [(&str, f64); 3]) -> Record {
        let mut record = Record::new(json!({ "sum": 100.0 }));
        for (problem, _) in PROBLEMS {
            record.note(format!("optimum of {problem}"), 10.0);
            record.note(format!("gap of {problem}"), 0.0);
            let point = |iteration, divergence| Point {
                iteration,
                seconds: iteration as f64,
                divergence,
                gap_w: divergence - 10.0,
                gap_h: divergence - 10.0,
                dual: Some(10.0 - 1e-9),
            };
            let points = |end| vec![point(0, 20.0), point(10, end), point(100, end)];
            record.traces.extend(ends.map(|(method, end)| Trace::new(problem, method, points(end))));
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
            assert!(strong_duality(record, problem).holds, "the dual is the optimum in both");
        }
        assert!(!sooner(&good, problem, ADMM, Along::Iterations).holds, "equal is not half");
        assert!(converged(&bad, problem, ADMM).holds);
        // Too fast for the clock.
        let mut quick = good.clone();
        quick.traces.iter_mut().flat_map(|t| &mut t.points).for_each(|p| p.seconds *= 1e-5);
        assert!(sooner(&quick, problem, ADMM, Along::Seconds).open);
        let with_dual = |dual: Option<f64>| {
            let mut record = good.clone();
            record
                .traces
                .iter_mut()
                .flat_map(|t| &mut t.points)
                .for_each(|p| (p.gap_h, p.dual) = (p.gap_h + 1.0, dual));
            strong_duality(&record, problem)
        };
        assert!(with_dual(Some(10.0)).holds, "only FPA's own dual counts");
        assert!(!with_dual(Some(9.0)).holds && !with_dual(Some(9.0)).open);
        assert!(with_dual(None).open, "without a record it is not decided");
    }

    #[test]
    fn the_optimum_is_below_every_method_and_certified() {
        let (lab, mut random) = (quiet_lab(1), Random::new(5));
        let v = Mat::from_fn(15, 30, |_, _| 750.0 * random.uniform());
        let mut record = Record::new(json!({ "rank": 3, "updates": 300, "iterations": 300 }));
        run(&lab, &v, 0.15, &mut record).unwrap();
        assert_eq!(lab.runs.into_inner(), runs());
        for (problem, _) in PROBLEMS {
            let optimum = Optimum::of(&record, problem);
            assert!(record.fact(&format!("gap of {problem}")) <= 1e-10 * record.fact("sum"));
            for trace in record.of(problem) {
                let first = &trace.points[0];
                assert!(trace.last() >= optimum.value - optimum.floor, "{problem}: {}", trace.method);
                assert!(first.divergence < record.fact("sum"), "a start with the right scale");
            }
            assert!(converged(&record, problem, AUTO).holds);
            let dual = |method: &str| record.trace(problem, method).unwrap().points.last().unwrap().dual;
            assert!(
                dual(FPA).is_some_and(|dual| dual <= optimum.value + optimum.floor),
                "{problem}: below p*"
            );
            assert!(dual(FPA).is_some_and(|dual| dual >= 0.99 * optimum.value), "{problem}: {:?}", dual(FPA));
            assert!(dual(MUA).is_none() && dual(ADMM).is_none(), "only FPA has one");
        }
    }
}
