//! The whole factorisation: all methods from the same start. The same for every data set.

use super::claim::{Check, Claim, above, compared, lower, margin, plain, resolution, signed, timed};
use super::race::{ADMM, AUTO, BEST_ADMM, Entrant, FPA, Lab, MUA, OUR_FPA};
use super::record::Record;
use super::section::{Along, Item, line};
use super::sweep::{self, Sweep};
use super::trace::{Level, Trace};
use crate::chart::Chart;
use anyhow::Context;
use klnmf::{Mat, Solution, Solver};

/// The problem's name in the data.
pub const PROBLEM: &str = "NMF";
/// The paper's number of steps on one factor.
pub const INNER: usize = 5;

/// The settings of the experiment.
pub struct Setup<'a> {
    pub rank: usize,
    pub accesses: usize,
    /// ADMM's penalty in the paper.
    pub rho: f64,
    /// FPA with other numbers of steps on one factor.
    pub inner: &'a [usize],
}

impl Setup<'_> {
    /// Runs that the experiment takes.
    pub fn runs(&self) -> usize {
        5 + self.inner.len() + sweep::OTHERS
    }
}

/// FPA with another number of steps on one factor.
pub fn with_inner(inner: usize) -> String {
    if inner == INNER { FPA.into() } else { format!("FPA inner {inner}") }
}

/// What the paper's three methods and ours found.
pub type Found = Vec<(String, Solution<f64>)>;

/// All methods from the same start, and the sweep of ρ.
pub fn run(lab: &Lab, v: &Mat<f64>, setup: &Setup<'_>, record: &mut Record) -> anyhow::Result<Found> {
    let v = &lab.prepare(v)?;
    let (w, h) = lab.start(v, setup.rank)?;
    let mut entrants = vec![Entrant::mua(), Entrant::admm(ADMM, setup.rho), Entrant::fpa(FPA, INNER)];
    entrants.extend(setup.inner.iter().map(|inner| Entrant::fpa(&with_inner(*inner), *inner)));
    entrants.extend([Entrant::ours(OUR_FPA, Solver::Fpa), Entrant::ours(AUTO, Solver::Auto)]);
    let mut found = Found::new();
    for entrant in &entrants {
        let (trace, solution) = lab.race(PROBLEM, entrant, v, (&w, &h), setup.accesses)?;
        record.traces.push(trace);
        found.push((entrant.name.clone(), solution));
    }
    let paper = record.trace(PROBLEM, ADMM).cloned().context("ADMM has run")?;
    Sweep { problem: PROBLEM, rho: setup.rho, target: None, paper }
        .run(record, |entrant| Ok(lab.race(PROBLEM, &entrant, v, (&w, &h), setup.accesses)?.0))?;
    Ok(found)
}

/// The lines of a figure: those of FPA with other numbers of steps have a figure of their own.
fn main_traces(record: &Record) -> impl Iterator<Item = &Trace> {
    record.of(PROBLEM).filter(|trace| !trace.method.starts_with("FPA inner"))
}

/// Traces as a chart: all of it, or zoomed to where the methods end.
pub fn chart(traces: &[&Trace], along: Along, title: &str, zoomed: bool) -> Chart {
    let lines = traces.iter().map(|trace| line(&trace.method, along.points(trace, |p| p.divergence)));
    let whole = Chart {
        title: title.into(),
        x_label: along.label(),
        y_label: "divergence D(V‖WH)",
        lines: lines.collect(),
        log_x: true,
        ..Chart::default()
    };
    if zoomed { zoom(traces, along, whole) } else { from_the_start(whole) }
}

/// On a logarithmic axis the start stands a little left of the first access.
fn from_the_start(mut chart: Chart) -> Chart {
    let begun = chart.lines.iter().filter_map(|line| line.points.get(1)).map(|point| point.0);
    let begin = begun.fold(f64::INFINITY, f64::min).max(1e-6) / 2.0;
    chart.lines.iter_mut().filter_map(|line| line.points.first_mut()).for_each(|p| p.0 = begin);
    chart
}

/// The part of a chart where the methods end, from when the first of them comes into it. Those that end far above are named.
fn zoom(traces: &[&Trace], along: Along, chart: Chart) -> Chart {
    let (low, high) = heights(traces);
    let above: Vec<&str> =
        traces.iter().filter(|trace| trace.last() > high).map(|trace| trace.method.as_str()).collect();
    let place = |trace: &&Trace| trace.reaches(Level::plain(high)).map(|place| along.of(&place));
    let first = traces.iter().filter_map(place).fold(f64::INFINITY, f64::min);
    let last = chart.lines.iter().filter_map(|line| line.points.last()).map(|p| p.0).fold(0.0, f64::max);
    let title = match above.as_slice() {
        [] => chart.title.clone(),
        names => format!("{} (above it: {})", chart.title, names.join(", ")),
    };
    // A tenth of a decade before it, but not before the first access, and at least half a decade in all.
    let least = if along == Along::Iterations { 1.0 } else { 1e-6 };
    let from = (first / 1.25).min(last / 3.0).max(least);
    Chart { title, linear_y: true, x_range: Some((from, last)), y_range: Some((low, high)), ..chart }
}

/// From a little below the lowest end to well above the highest. An end at several times the lowest is left out: with it the others
/// could not be told apart.
fn heights(traces: &[&Trace]) -> (f64, f64) {
    const FAR: f64 = 3.0;
    let ends = || traces.iter().map(|trace| trace.last());
    let lowest = ends().fold(f64::INFINITY, f64::min);
    let highest = ends().filter(|end| *end <= FAR * lowest).fold(0.0, f64::max);
    let span = (highest - lowest).max(0.004 * lowest);
    (lowest - 0.12 * span, lowest + 2.0 * span)
}

/// The figures against time and iterations, the table of all methods and the sweep.
pub fn items(record: &Record, id: &str, places: [&str; 2], paper_times: [&str; 3]) -> Vec<Item> {
    let traces: Vec<&Trace> = main_traces(record).collect();
    let end = record.trace(PROBLEM, FPA).map_or(0.0, Trace::seconds);
    let marked = |chart: Chart| Chart { marks: vec![(end, "FPA ends".into())], ..chart };
    let times = vec![
        marked(chart(&traces, Along::Seconds, "(a) objective against time", false)),
        marked(chart(&traces, Along::Seconds, "(b) zoomed", true)),
    ];
    let iterations = vec![
        chart(&traces, Along::Iterations, "(a) objective against accesses to the data", false),
        chart(&traces, Along::Iterations, "(b) zoomed", true),
    ];
    vec![
        Item::charts(
            format!("{id}-time"),
            format!(
                "The divergence against seconds of work (paper: {}). The dotted line is FPA's final time. The start is drawn left of \
                 the first access.",
                places[0]
            ),
            times,
        ),
        Item::charts(
            format!("{id}-iterations"),
            format!("The divergence against accesses to the data (paper: {}).", places[1]),
            iterations,
        ),
        table(record, &format!("{id}-table"), paper_times),
        sweep::item(record, &format!("{id}-rho"), &[PROBLEM], "divergence at the end", |_, d| d),
    ]
}

fn table(record: &Record, id: &str, paper_times: [&str; 3]) -> Item {
    let Some(fpa) = record.trace(PROBLEM, FPA) else {
        return Item::table(id.into(), String::new(), &[], Vec::new());
    };
    let lowest = record.of(PROBLEM).map(Trace::last).fold(f64::INFINITY, f64::min);
    let row = |trace: &Trace| {
        let paper = match trace.method.as_str() {
            FPA => paper_times[0],
            ADMM => paper_times[1],
            MUA => paper_times[2],
            _ => "",
        };
        let at_end = trace.at_seconds(fpa.seconds());
        let level = trace.reaches(Level::plain(fpa.last()));
        let name = match sweep::best(record, PROBLEM).filter(|_| trace.method == BEST_ADMM) {
            Some(rho) => format!("ADMM, ρ = {rho}"),
            None => trace.method.clone(),
        };
        vec![
            name,
            paper.into(),
            format!("{:.2} s", trace.seconds()),
            format!("{:.6e}", trace.last()),
            signed(above(trace.last(), lowest)),
            at_end
                .map_or_else(|| "–".into(), |p| format!("{:.6e} ({:.0})", p.divergence, p.iteration.floor())),
            level.map_or_else(|| "–".into(), |p| format!("{:.2} s ({})", p.seconds, p.iteration)),
        ]
    };
    let caption = "Total times, the paper's and ours; the divergence at the end and how far it is above the lowest; the divergence at the \
                   time when FPA ends, and when a method is as low as FPA at its end (accesses in brackets).";
    let header =
        ["method", "paper", "time", "D at the end", "above lowest", "D at FPA's end", "as low as FPA"];
    Item::table(id.into(), caption.into(), &header, record.of(PROBLEM).map(row).collect())
}

/// A statement about the ends and beginnings of two or three traces.
pub struct Judge<'a> {
    pub fpa: &'a Trace,
    pub admm: &'a Trace,
    pub mua: &'a Trace,
}

impl<'a> Judge<'a> {
    pub fn new(record: &'a Record) -> Option<Self> {
        let trace = |method| record.trace(PROBLEM, method);
        Some(Self { fpa: trace(FPA)?, admm: trace(ADMM)?, mua: trace(MUA)? })
    }

    fn others(&self) -> [&Trace; 2] {
        [self.admm, self.mua]
    }

    /// A few accesses: one in a hundred, at least ten.
    fn few(&self) -> usize {
        (self.fpa.points.last().map_or(0, |p| p.iteration) / 100).max(10)
    }

    /// FPA takes the least time and MUA the most.
    pub fn order_of_times(&self) -> Vec<Check> {
        let quicker = |a: &Trace, b: &Trace| {
            let longer = a.seconds().max(b.seconds());
            Check::settled(
                timed(longer, |error| Some(a.seconds() + error < b.seconds())),
                format!(
                    "{} takes {:.3} s, {} {:.3} s (more than {} apart)",
                    a.method,
                    a.seconds(),
                    b.method,
                    b.seconds(),
                    resolution(longer)
                ),
            )
        };
        vec![quicker(self.fpa, self.admm), quicker(self.admm, self.mua)]
    }

    /// A method has made most of its decrease within a few accesses.
    pub fn quick_start(&self, trace: &Trace) -> Check {
        let share = trace.share_of_decrease(self.few());
        Check::new(
            share >= 0.5,
            format!(
                "{} makes {:.1} % of its decrease in {} accesses (at least half, from a start with the sum of V)",
                trace.method,
                100.0 * share,
                self.few()
            ),
        )
    }

    /// One method ends below another by more than the margin.
    pub fn ends_below(&self, a: &Trace, b: &Trace) -> Check {
        let answer = lower(a.last(), b.last());
        let compared = compared(b.last(), a.last());
        let (a, b) = (&a.method, &b.method);
        let place = match answer {
            Some(_) => format!("{compared} {a}"),
            None => format!("as low as {a}, {compared} it"),
        };
        let measured = format!("at the end {b} is {place} (margin {})", margin());
        Check::settled(answer, measured)
    }

    /// After a few accesses one method is above another by more than the margin.
    pub fn begins_above(&self, a: &Trace, b: &Trace) -> Check {
        let at = |t: &Trace| t.at_iteration(self.few()).map_or(f64::INFINITY, |p| p.divergence);
        Check::settled(
            lower(at(b), at(a)),
            format!(
                "after {} accesses {} is at {}, {} at {} (margin {})",
                self.few(),
                a.method,
                plain(at(a)),
                b.method,
                plain(at(b)),
                margin()
            ),
        )
    }

    /// Two methods end within so many per cent of each other.
    pub fn ends_alike(&self, a: &Trace, b: &Trace, per_cent: f64) -> Check {
        let difference = above(a.last(), b.last());
        Check::new(
            difference.abs() <= per_cent,
            format!("{} ends {} {} (at most {per_cent} %)", a.method, compared(a.last(), b.last()), b.method),
        )
    }

    /// At FPA's final time the others have a cost that is larger by more than the margin. The paper says “significantly larger”, so a tie
    /// decides against it, while it leaves open which of two is lower.
    pub fn larger_at_the_same_time(&self) -> Vec<Check> {
        let check = |other: &Trace| {
            let end = self.fpa.seconds();
            let answer =
                timed(end, |error| Some(lower(self.fpa.last(), at_time(other, end + error)) == Some(true)));
            let accesses = other.at_seconds(end).map_or(0.0, |place| place.iteration.floor());
            Check::settled(
                answer,
                format!(
                    "at FPA's final time {} is {} FPA, after {accesses:.0} accesses (significantly larger: more than {} above; time to {})",
                    other.method,
                    compared(at_time(other, end), self.fpa.last()),
                    margin(),
                    resolution(end)
                ),
            )
        };
        self.others().map(check).to_vec()
    }

    /// Early MUA is the lowest: at a hundredth of FPA's time, but not before FPA has done something.
    pub fn mua_leads_early(&self) -> Vec<Check> {
        let begun = self.fpa.points.get(2).map_or(0.0, |point| point.seconds);
        let seconds = (self.fpa.seconds() / 100.0).max(begun);
        vec![self.leads_at(seconds, self.mua, self.fpa), self.leads_at(seconds, self.mua, self.admm)]
    }

    /// At a time one method is below another by more than the margin.
    pub fn leads_at(&self, seconds: f64, a: &Trace, b: &Trace) -> Check {
        Check::settled(
            timed(seconds, |error| lower(at_time(a, seconds), at_time(b, seconds + error))),
            format!(
                "after {} s {} is at {}, {} at {} (margin {}; time to {})",
                plain(seconds),
                a.method,
                plain(at_time(a, seconds)),
                b.method,
                plain(at_time(b, seconds)),
                margin(),
                resolution(seconds)
            ),
        )
    }
}

/// The divergence at a time; infinite before the start.
fn at_time(trace: &Trace, seconds: f64) -> f64 {
    trace.at_seconds(seconds).map_or(f64::INFINITY, |place| place.divergence)
}

/// The claim about ρ.
pub fn rho_claim(record: &Record, id: &str, place: &'static str, rho: f64) -> Claim {
    Claim {
        paper: format!("ρ = {rho} is the optimal parameter of ADMM"),
        place,
        figure: format!("{id}-rho"),
        checks: vec![sweep::check(record, PROBLEM, rho, 0.0)],
    }
}

/// What was achieved beyond the paper: our methods against FPA's end.
pub fn beyond(record: &Record) -> String {
    let sentence = |method: &str| {
        let (fpa, ours) = (record.trace(PROBLEM, FPA)?, record.trace(PROBLEM, method)?);
        let level = match ours.reaches(Level::plain(fpa.last())) {
            Some(p) => format!(
                "is as low as FPA at its end after {} accesses and {:.2} s (FPA: {:.2} s)",
                p.iteration,
                p.seconds,
                fpa.seconds()
            ),
            None => "does not come as low as FPA".into(),
        };
        Some(format!("{method} {level} and ends {} it", compared(ours.last(), fpa.last())))
    };
    let sentences: Vec<String> = [AUTO, OUR_FPA].into_iter().filter_map(sentence).collect();
    format!("Beyond the paper: {}.", sentences.join("; "))
}

#[cfg(test)]
pub mod tests {
    use super::super::trace::Point;
    use super::*;

    /// A trace that falls from 100 to `end` in `pace` accesses, each of `seconds`.
    pub fn made_up(method: &str, end: f64, pace: f64, seconds: f64) -> Trace {
        let point = |iteration: usize| Point {
            iteration,
            seconds: seconds * iteration as f64,
            divergence: end + (100.0 - end) * (-(iteration as f64) / pace).exp(),
            gap_w: 1.0,
            gap_h: 1.0,
        };
        Trace { problem: PROBLEM.into(), method: method.into(), points: (0..=1000).map(point).collect() }
    }

    pub fn record(traces: Vec<Trace>) -> Record {
        Record { traces, ..Record::default() }
    }

    #[test]
    fn statements_hold_and_fail_as_they_should() {
        let paper_is_right = record(vec![
            made_up(FPA, 10.0, 2.0, 0.1),
            made_up(ADMM, 10.05, 50.0, 0.2),
            made_up(MUA, 12.0, 2.0, 0.3),
        ]);
        let paper_is_wrong = record(vec![
            made_up(FPA, 12.0, 50.0, 0.3),
            made_up(ADMM, 10.0, 2.0, 0.2),
            made_up(MUA, 10.0, 200.0, 0.1),
        ]);
        for (record, expected) in [(&paper_is_right, true), (&paper_is_wrong, false)] {
            let judge = Judge::new(record).unwrap();
            let all = |checks: Vec<Check>| checks.iter().all(|check| check.holds == expected);
            assert!(all(judge.order_of_times()));
            assert!(all(vec![judge.quick_start(judge.fpa)]));
            assert!(all(vec![judge.ends_below(judge.fpa, judge.mua)]));
            assert!(all(vec![judge.begins_above(judge.admm, judge.fpa)]));
            assert!(all(vec![judge.ends_alike(judge.admm, judge.fpa, 1.0)]));
            assert!(all(judge.larger_at_the_same_time()));
        }
        let early = record(vec![
            made_up(FPA, 10.0, 500.0, 0.1),
            made_up(ADMM, 10.0, 400.0, 0.1),
            made_up(MUA, 12.0, 5.0, 0.1),
        ]);
        assert!(Judge::new(&early).unwrap().mua_leads_early().iter().all(|check| check.holds));
        assert!(!Judge::new(&paper_is_wrong).unwrap().mua_leads_early().iter().any(|check| check.holds));
        assert!(Judge::new(&record(vec![])).is_none());
    }

    #[test]
    fn small_differences_are_left_open() {
        let alike = record(vec![
            made_up(FPA, 10.0, 2.0, 0.1),
            made_up(ADMM, 10.005, 2.0, 0.1),
            made_up(MUA, 9.995, 2.0, 0.1 + 4e-6),
        ]);
        let judge = Judge::new(&alike).unwrap();
        let mut checks = vec![
            judge.ends_below(judge.fpa, judge.admm),
            judge.ends_below(judge.fpa, judge.mua),
            judge.begins_above(judge.admm, judge.fpa),
            judge.leads_at(50.0, judge.fpa, judge.mua),
        ];
        checks.extend(judge.order_of_times());
        for check in &checks {
            assert!(check.open && !check.holds, "{}", check.measured);
            assert!(
                check.measured.contains("0.1 %") || check.measured.contains("more than 10.0 s apart"),
                "{}",
                check.measured
            );
        }
        assert!(checks[0].measured.contains("as low as"));
        let larger = judge.larger_at_the_same_time();
        assert!(larger.iter().all(|check| !check.open && !check.holds), "a tie is not significantly larger");
        // A few milliseconds decide where lines are steep.
        let steep = record(vec![
            made_up(FPA, 10.0, 100.0, 1e-4),
            made_up(ADMM, 10.0, 100.0, 1e-4),
            made_up(MUA, 10.0, 90.0, 1e-4),
        ]);
        let judge = Judge::new(&steep).unwrap();
        assert!(judge.leads_at(6e-3, judge.mua, judge.fpa).open);
    }

    #[test]
    fn zoomed_charts_hold_all_ends() {
        let traces = [made_up(FPA, 10.0, 2.0, 0.1), made_up(MUA, 10.5, 2.0, 0.1)];
        let (low, high) = heights(&[&traces[0], &traces[1]]);
        assert!(low < 10.0 && high > 10.5 && high < 12.0, "{low} {high}");
        // As in few accesses: all that end within three times the lowest are shown, and the one above is named.
        let ends = [(AUTO, 10.0), (MUA, 13.0), (FPA, 17.0), (ADMM, 80.0)];
        let traces = ends.map(|(method, end)| made_up(method, end, 50.0, 0.1));
        let traces: Vec<&Trace> = traces.iter().collect();
        let chart = chart(&traces, Along::Iterations, "(b) zoomed", true);
        let ((low, high), (from, to)) = (chart.y_range.unwrap(), chart.x_range.unwrap());
        assert!(low < 10.0 && high > 17.0 && high < 30.0, "{low} {high}");
        assert_eq!(chart.title, "(b) zoomed (above it: ADMM)");
        let entry = traces.iter().filter_map(|trace| trace.reaches(Level::plain(high))).map(|p| p.iteration);
        assert!(to == 1000.0 && from > 50.0 && entry.fold(f64::INFINITY, f64::min) > from, "{from}");
    }
}
