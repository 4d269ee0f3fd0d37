//! The whole factorisation: all methods from the same start, in the same way for every data set.

use crate::claim::{Claim, above, compared, signed};
use crate::race::{ADMM, AUTO, BEST_ADMM, Course, ENTRANTS, Entrant, FPA, Lab, MUA, OUR_FPA, Watch};
use crate::record::Record;
use crate::section::{Along, Item, line};
use crate::starts::{self, At, Starts, difference};
use crate::sweep::{self, Sweep};
use crate::trace::{Level, Trace};
use anyhow::Context;
use klnmf::{Mat, Solution};
use klnmf_report::chart::Chart;

/// The name of the problem in the data.
pub const PROBLEM: &str = "NMF";
/// The paper's number of steps per factor.
pub const INNER: usize = 5;

/// The settings of the experiment. The rank and the iterations are among the facts.
pub struct Setup<'a> {
    /// ADMM's penalty in the paper.
    pub rho: f64,
    /// Other numbers of steps per factor, for FPA.
    pub inner: &'a [usize],
    /// Number of random starts. The first is timed.
    pub starts: usize,
}

impl Setup<'_> {
    /// The number of runs of the experiment.
    pub fn runs(&self) -> usize {
        ENTRANTS + self.inner.len() + sweep::OTHERS + (self.starts - 1) * (3 + self.inner.len())
    }

    /// The paper's methods, FPA with every number of steps.
    fn paper(&self) -> Vec<Entrant> {
        let mut entrants = vec![Entrant::mua(), Entrant::admm(ADMM, self.rho), Entrant::fpa(FPA, INNER)];
        entrants.extend(self.others());
        entrants
    }

    fn others(&self) -> impl Iterator<Item = Entrant> {
        self.inner.iter().map(|inner| Entrant::fpa(&with_inner(*inner), *inner))
    }
}

/// The name of FPA with a number of steps per factor.
pub fn with_inner(inner: usize) -> String {
    if inner == INNER { FPA.into() } else { format!("FPA inner {inner}") }
}

/// The factors that each method found.
pub type Found = Vec<(String, Solution<f64>)>;

/// Runs all methods from the same start, ADMM with other ρ, and the paper's methods from the other starts.
pub fn run(lab: &Lab, data: &Mat<f64>, setup: &Setup<'_>, record: &mut Record) -> anyhow::Result<Found> {
    let v = &lab.prepare(data)?;
    let (rank, iterations) = (record.count("rank"), record.count("accesses"));
    let (w, h) = lab.start(v, rank, 0)?;
    let course = Course { problem: PROBLEM, v, start: (&w, &h), iterations };
    let mut found = Found::new();
    for entrant in Entrant::all(setup.rho, INNER).into_iter().chain(setup.others()) {
        let (trace, solution) = lab.race(&course, &entrant, Watch::Closely)?;
        record.traces.push(trace);
        found.push((entrant.name.clone(), solution));
    }
    let paper = record.trace(PROBLEM, ADMM).cloned().context("there is no trace of ADMM")?;
    Sweep { problem: PROBLEM, rho: setup.rho, target: None, paper }
        .run(record, |entrant| Ok(lab.race(&course, &entrant, Watch::Closely)?.0))?;
    for entrant in setup.paper() {
        let timed = record.trace(PROBLEM, &entrant.name).cloned().context("the first start has run")?;
        starts::note(record, 0, &timed);
    }
    let further = lab.further_starts(data, setup.starts, |v, start| {
        let (w, h) = lab.start(v, rank, start)?;
        let course = Course { v, start: (&w, &h), ..course };
        setup.paper().iter().map(|entrant| Ok(lab.race(&course, entrant, Watch::Rarely)?.0)).collect()
    })?;
    further.iter().for_each(|(start, trace)| starts::note(record, *start, trace));
    Ok(found)
}

/// The traces of the main figures. FPA with other numbers of steps has its own figure.
fn main_traces(record: &Record) -> impl Iterator<Item = &Trace> {
    record.of(PROBLEM).filter(|trace| !trace.method.starts_with("FPA inner"))
}

/// Traces as a chart, either whole or zoomed to the final divergences.
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

/// Moves the start to the left of the first iteration, because a logarithmic axis has no zero.
fn from_the_start(mut chart: Chart) -> Chart {
    let begun = chart.lines.iter().filter_map(|line| line.points.get(1)).map(|point| point.0);
    let begin = begun.fold(f64::INFINITY, f64::min).max(1e-6) / 2.0;
    chart.lines.iter_mut().filter_map(|line| line.points.first_mut()).for_each(|p| p.0 = begin);
    chart
}

/// Zooms a chart to the final divergences. It begins where the first method comes into view. The title names
/// the methods that end above the chart.
fn zoom(traces: &[&Trace], along: Along, chart: Chart) -> Chart {
    let (low, high) = heights(traces);
    let above: Vec<&str> =
        traces.iter().filter(|trace| trace.last() > high).map(|trace| trace.method.as_str()).collect();
    let place = |trace: &&Trace| trace.reaches(Level::plain(high)).map(|place| along.of(&place));
    let first = traces.iter().filter_map(place).fold(f64::INFINITY, f64::min);
    let last = chart.lines.iter().filter_map(|line| line.points.last()).map(|p| p.0).fold(0.0, f64::max);
    let title = match above.as_slice() {
        [] => chart.title.clone(),
        names => format!("{} (above the chart: {})", chart.title, names.join(", ")),
    };
    // Begins a tenth of a decade earlier, not before the first iteration, and spans at least half a decade.
    let least = if along == Along::Iterations { 1.0 } else { 1e-6 };
    let from = (first / 1.25).min(last / 3.0).max(least);
    Chart { title, linear_y: true, x_range: Some((from, last)), y_range: Some((low, high)), ..chart }
}

/// The y range, from a little below the lowest final divergence to well above the highest. A final divergence
/// above three times the lowest is ignored, because it would hide the differences between the others.
fn heights(traces: &[&Trace]) -> (f64, f64) {
    const FAR: f64 = 3.0;
    let ends = || traces.iter().map(|trace| trace.last());
    let lowest = ends().fold(f64::INFINITY, f64::min);
    let highest = ends().filter(|end| *end <= FAR * lowest).fold(0.0, f64::max);
    let span = (highest - lowest).max(0.004 * lowest);
    (lowest - 0.12 * span, lowest + 2.0 * span)
}

/// The figures against time and iterations, the table of all methods, and ADMM against ρ. Takes the names of
/// the figures and the paper's times of FPA, ADMM and MUA.
pub fn items(record: &Record, id: &str, figures: [&str; 2], paper_times: [&str; 3]) -> Vec<Item> {
    let traces: Vec<&Trace> = main_traces(record).collect();
    let end = record.trace(PROBLEM, FPA).map_or(0.0, Trace::seconds);
    let marked = |chart: Chart| Chart { marks: vec![(end, "FPA ends".into())], ..chart };
    let times = vec![
        marked(chart(&traces, Along::Seconds, "(a) objective against time", false)),
        marked(chart(&traces, Along::Seconds, "(b) zoomed", true)),
    ];
    let iterations = vec![
        chart(&traces, Along::Iterations, "(a) objective against iterations", false),
        chart(&traces, Along::Iterations, "(b) zoomed", true),
    ];
    vec![
        Item::charts(figures[0], "times", times),
        Item::charts(figures[1], "iterations", iterations),
        table(record, &format!("{id}-table"), paper_times),
        sweep::item(record, &format!("{id}-rho"), &[PROBLEM], "divergence at the end", |_, d| d),
    ]
}

/// The paper's times and ours.
pub fn times(record: &Record, paper: [&'static str; 3]) -> Vec<(&'static str, &'static str, f64)> {
    let seconds = |method: &str| record.trace(PROBLEM, method).map_or(f64::NAN, Trace::seconds);
    [FPA, ADMM, MUA].into_iter().zip(paper).map(|(method, paper)| (method, paper, seconds(method))).collect()
}

fn table(record: &Record, id: &str, paper_times: [&str; 3]) -> Item {
    let Some(fpa) = record.trace(PROBLEM, FPA) else {
        return Item::table(id, "", &[], Vec::new());
    };
    let starts = Starts::of(record);
    let lowest = record.of(PROBLEM).map(Trace::last).fold(f64::INFINITY, f64::min);
    let row = |trace: &Trace| {
        let paper = match trace.method.as_str() {
            FPA => paper_times[0],
            ADMM => paper_times[1],
            MUA => paper_times[2],
            _ => "",
        };
        let level = trace.reaches(Level::plain(fpa.last()));
        let name = match sweep::best(record, PROBLEM).filter(|_| trace.method == BEST_ADMM) {
            Some(rho) => format!("ADMM, ρ = {rho}"),
            None => trace.method.clone(),
        };
        let against = starts.ratio((PROBLEM, &trace.method, At::End), (PROBLEM, FPA, At::End));
        let spread = match against.interval() {
            Some((low, high)) => {
                format!("{} [{}, {}]", difference(against.median()), difference(low), difference(high))
            }
            None => "–".into(),
        };
        vec![
            name,
            paper.into(),
            format!("{:.2} s", trace.seconds()),
            format!("{:.6e}", trace.last()),
            signed(above(trace.last(), lowest)),
            spread,
            trace
                .at_seconds(fpa.seconds())
                .map_or_else(|| "–".into(), |p| format!("{:.6e} ({:.0})", p.divergence, p.iteration.floor())),
            level.map_or_else(|| "–".into(), |p| format!("{:.2} s ({})", p.seconds, p.iteration)),
        ]
    };
    let header = [
        "method",
        "paper",
        "time",
        "D at the end",
        "above lowest",
        "against FPA",
        "D at FPA's end",
        "as low as FPA",
    ];
    let table = Item::table(id, "factorisation", &header, record.of(PROBLEM).map(row).collect());
    Item { caption: table.caption.replace("{starts}", &plural(starts.count(), "start")), ..table }
}

/// A number with its noun, as in “2 starts”.
pub fn plural(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// The claim that the paper's ρ is the best.
pub fn rho_claim(record: &Record, id: &str, place: &str, rho: f64) -> Claim {
    sweep::claim(&format!("{id}-rho"), rho, vec![sweep::check(record, PROBLEM, rho, 0.0)]).at(place)
}

/// A sentence that compares our methods with FPA's final divergence.
pub fn beyond(record: &Record) -> String {
    let sentence = |method: &str| {
        let (fpa, ours) = (record.trace(PROBLEM, FPA)?, record.trace(PROBLEM, method)?);
        let level = match ours.reaches(Level::plain(fpa.last())) {
            Some(p) => format!(
                "reaches FPA's final divergence after {} iterations and {:.2} s (FPA: {:.2} s)",
                p.iteration,
                p.seconds,
                fpa.seconds()
            ),
            None => "does not reach FPA's final divergence".into(),
        };
        Some(format!("{method} {level} and ends {} FPA", compared(ours.last(), fpa.last())))
    };
    let sentences: Vec<String> = [AUTO, OUR_FPA].into_iter().filter_map(sentence).collect();
    format!("Beyond the paper: {}.", sentences.join("; "))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::trace::Point;

    /// A trace that decays from 100 to `end` with a time constant of `pace` iterations of `seconds` each.
    pub fn made_up(method: &str, end: f64, pace: f64, seconds: f64) -> Trace {
        let point = |iteration: usize| Point {
            iteration,
            seconds: seconds * iteration as f64,
            divergence: end + (100.0 - end) * (-(iteration as f64) / pace).exp(),
            gap_h: 1.0,
            ..Point::default()
        };
        Trace::new(PROBLEM, method, (0..=1000).map(point).collect())
    }

    pub fn record(traces: Vec<Trace>) -> Record {
        Record { traces, ..Record::default() }
    }

    #[test]
    fn zoomed_charts_show_all_final_divergences() {
        let traces = [made_up(FPA, 10.0, 2.0, 0.1), made_up(MUA, 10.5, 2.0, 0.1)];
        let (low, high) = heights(&[&traces[0], &traces[1]]);
        assert!(low < 10.0 && high > 10.5 && high < 12.0, "{low} {high}");
        // As after few iterations: final divergences up to three times the lowest are shown, and the title
        // names the other.
        let ends = [(AUTO, 10.0), (MUA, 13.0), (FPA, 17.0), (ADMM, 80.0)];
        let traces = ends.map(|(method, end)| made_up(method, end, 50.0, 0.1));
        let traces: Vec<&Trace> = traces.iter().collect();
        let chart = chart(&traces, Along::Iterations, "(b) zoomed", true);
        let ((low, high), (from, to)) = (chart.y_range.unwrap(), chart.x_range.unwrap());
        assert!(low < 10.0 && high > 17.0 && high < 30.0, "{low} {high}");
        assert_eq!(chart.title, "(b) zoomed (above the chart: ADMM)");
        let entry = traces.iter().filter_map(|trace| trace.reaches(Level::plain(high))).map(|p| p.iteration);
        assert!(to == 1000.0 && from > 50.0 && entry.fold(f64::INFINITY, f64::min) > from, "{from}");
    }
}
