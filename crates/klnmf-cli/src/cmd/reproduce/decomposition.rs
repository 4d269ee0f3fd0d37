//! The convex problem: one factor is at its optimum and stays, the other one is found. The same for every data set.
//!
//! The distance of a primal point to the optimum is D − p*, that of a dual point of value d is p* − d. There are two: the χ that FPA
//! carries, projected as in §3.1, and the certificate D − gap, which is the better of that χ and of the point −V/(WH), scaled to be
//! feasible; for a method that carries none, and in older records, it is that point alone.

use super::claim::{Check, Claim, plain, resolution, timed};
use super::optimum::{self, Optimum};
use super::race::{ADMM, AUTO, Entrant, FPA, Lab, MUA};
use super::record::Record;
use super::section::{Along, Item, line};
use super::sweep::{self, Sweep};
use super::trace::{Level, Trace};
use crate::chart::{Chart, Line};
use crate::summary;
use anyhow::Context;
use klnmf::{Mat, Update};
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
pub fn runs() -> usize {
    1 + PROBLEMS.len() * (Entrant::count() + sweep::OTHERS)
}

/// The same point: a distance to the optimum, relative to it.
const SAME: f64 = 1e-6;
/// The distance that iterations and times are counted to.
const NEAR: f64 = 1e-4;

/// Both problems from the same start.
pub fn run(lab: &Lab, v: &Mat<f64>, setup: &Setup, record: &mut Record) -> anyhow::Result<()> {
    let prepared = &lab.prepare(v)?;
    let start = lab.start(prepared, setup.rank, 0)?;
    let (_, optimal) = lab.race("optimum", &Entrant::mua(), prepared, (&start.0, &start.1), setup.updates)?;
    let (w_star, h_star) = optimum::to_scale_of(&start.0, optimal.w, optimal.h);
    record.facts.insert("sum".into(), summary::number(optimal.info.sum));
    for (problem, update) in PROBLEMS {
        let factors = match update {
            Update::W => (&start.0, &h_star),
            _ => (&w_star, &start.1),
        };
        let begun = Instant::now();
        let optimum = optimum::find(lab, v, factors, update)?;
        let fact = |name: &str| format!("{name} of {problem}");
        record.facts.insert(fact("optimum"), summary::number(optimum.divergence()));
        record.facts.insert(fact("gap"), summary::number(optimum.gap()));
        record.facts.insert(fact("seconds"), summary::number(begun.elapsed().as_secs_f64()));
        for entrant in Entrant::all(setup.rho, 1) {
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

/// The figure of both problems against iterations and time, the sweep of ρ, and the table of the optima.
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
    let caption = "Distance to the optimum p* of the convex problems. Primal: D − p*. Dual: p* − d, where d is the value of the χ that FPA \
         carries, projected as in §3.1 (dashed), or of the certificate, the better of it and of the point −V/(WH) (dashed and pale). What is below \
         the rounding of the sums, or the gap that p* is certified to, is drawn there.";
    let mut items = vec![Item::charts(id, caption, charts), optima(record, &beyond(id, "optima"))];
    items.push(sweep::item(
        record,
        &beyond(id, "rho"),
        &PROBLEMS.map(|(name, _)| name),
        "distance to the optimum at the end",
        |problem, divergence| Optimum::of(record, problem).distance(divergence),
    ));
    items
}

/// The name of what the paper does not have, after that of its figure.
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
    let both = |f: &dyn Fn(&str) -> Vec<Check>| {
        PROBLEMS.iter().flat_map(|(problem, _)| f(problem)).collect::<Vec<_>>()
    };
    let claim = |paper: &str, f: &dyn Fn(&str) -> Vec<Check>| Claim::new(paper, place, id, both(f));
    let ahead = |along: Along| {
        move |problem: &str| [MUA, ADMM].map(|other| sooner(record, problem, other, along)).to_vec()
    };
    vec![
        claim("FPA and ADMM converge to the same point", &|problem| {
            [FPA, ADMM].map(|method| converged(record, problem, method)).to_vec()
        })
        .because(
            "The problem is convex, and both methods converge to its one optimal value.",
            "The problem is convex, so that both go to the same value; the number of iterations does not take both there.",
        ),
        claim("MUA exhibits slow convergence", &|problem| vec![slower(record, problem)]).because(
            "Multiplicative updates take short steps where weights go to zero.",
            "MUA does not end a hundred times farther from the optimum than FPA.",
        ),
        claim("Significant advantage of FPA, against iterations", &ahead(Along::Iterations)).because(
            "FPA's steps come from the dual too, and no step size is set by hand.",
            "FPA's scalar steps fit all columns at once, which suits some data less than others.",
        ),
        claim("Significant advantage of FPA, against time", &ahead(Along::Seconds)).because(
            "An iteration of FPA costs about as much as one of MUA, and less than one of ADMM.",
            "What FPA gains by iterations is not twice what the others take in time.",
        ),
        claim("Primal and dual of FPA reveal strong duality", &|problem| vec![strong_duality(record, problem)])
            .because(
                "The dual that FPA itself carries goes to the optimum, as the theory of Chambolle and Pock says.",
                "The dual that FPA itself carries is not at the optimum when the run ends.",
            ),
        Claim::new(
            format!("ρ = {rho} is the optimal parameter of ADMM"),
            place,
            &beyond(id, "rho"),
            both(&|problem| vec![sweep::check(record, problem, rho, Optimum::of(record, problem).value)]),
        )
        .because(sweep::WHY[0], sweep::WHY[1]),
    ]
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

/// The dual that FPA carries ends at the optimum; the certificate is told beside it, and decides nothing.
fn strong_duality(record: &Record, problem: &str) -> Check {
    let optimum = Optimum::of(record, problem);
    let Some(last) = record.trace(problem, FPA).and_then(|trace| trace.points.last()) else {
        return Check::undecided(format!("{problem}: not recorded"));
    };
    let relative = |distance: f64| plain(optimum.relative(distance));
    let point =
        format!("the certificate ends {} below it", relative(optimum.certificate_distance(last, problem)));
    match last.dual.map(|dual| optimum.below(dual)) {
        Some(distance) => Check::new(
            optimum.relative(distance) <= SAME,
            format!(
                "{problem}: the χ that FPA carries ends {} below p*, relative (at most {SAME:.0e}); {point}",
                relative(distance)
            ),
        ),
        None => {
            Check::undecided(format!("{problem}: the χ that FPA carries was not recorded; {point}, relative"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::race::quiet_lab;
    use super::super::trace::Point;
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
                    dual: Some(10.0 - 1e-9),
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
            assert!(strong_duality(record, problem).holds, "the dual is the optimum in both");
        }
        assert!(!sooner(&good, problem, ADMM, Along::Iterations).holds, "as soon is not sooner");
        assert!(converged(&bad, problem, ADMM).holds);
        // So quick that no clock can tell.
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
        assert!(with_dual(Some(10.0)).holds, "only what FPA carries counts");
        assert!(!with_dual(Some(9.0)).holds && !with_dual(Some(9.0)).open);
        assert!(with_dual(None).open, "what was not recorded decides nothing");
    }

    #[test]
    fn the_optimum_is_below_every_method_and_certified() {
        let (lab, mut random) = (quiet_lab(1), Random::new(5));
        let v = Mat::from_fn(15, 30, |_, _| 750.0 * random.uniform());
        let setup = Setup { rank: 3, updates: 300, iterations: 300, rho: 0.15 };
        let mut record = Record::default();
        run(&lab, &v, &setup, &mut record).unwrap();
        assert_eq!(lab.runs.get(), runs());
        for (problem, _) in PROBLEMS {
            let optimum = Optimum::of(&record, problem);
            assert!(record.fact(&format!("gap of {problem}")) <= 1e-10 * record.fact("sum"));
            for trace in record.of(problem) {
                let first = &trace.points[0];
                assert!(trace.last() >= optimum.value - optimum.floor, "{problem}: {}", trace.method);
                assert!(first.divergence < record.fact("sum"), "a start of the right scale");
            }
            assert!(converged(&record, problem, AUTO).holds);
            let dual = |method: &str| record.trace(problem, method).unwrap().points.last().unwrap().dual;
            assert!(
                dual(FPA).is_some_and(|dual| dual <= optimum.value + optimum.floor),
                "{problem}: below p*"
            );
            assert!(dual(FPA).is_some_and(|dual| dual >= 0.99 * optimum.value), "{problem}: {:?}", dual(FPA));
            assert!(dual(MUA).is_none() && dual(ADMM).is_none(), "only FPA carries one");
        }
    }
}
