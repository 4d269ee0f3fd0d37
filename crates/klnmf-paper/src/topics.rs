//! Sections 3.6 and 5: topic models. The paper describes the extension and claims that it is faster than EM,
//! but has no experiment. This one uses real counts if they are given.

use crate::claim::{Check, Claim, plain, resolution, timed};
use crate::corpus::Corpus;
use crate::optimum;
use crate::race::{AUTO, Course, Entrant, Lab, OUR_FPA, Watch};
use crate::record::{Record, Sheet};
use crate::section::{Along, Item, OTHER_SIZE, Section, line};
use crate::size::Size;
use crate::trace::{Level, Place, Point, Trace};
use anyhow::Context;
use klnmf::{Mat, Solver, Update, match_parts};
use klnmf_report::chart::{Chart, Line};
use serde_json::json;

const ID: &str = "topics";
/// Expectation maximisation, which is the same as multiplicative updates.
const EM: &str = "EM";
/// The primal-dual algorithm with projections onto the simplex.
const FPA: &str = "FPA on the simplex";
const METHODS: [(&str, Solver); 4] =
    [(EM, Solver::Mu), (FPA, Solver::Simplex), (OUR_FPA, Solver::Fpa), (AUTO, Solver::Auto)];
const WEIGHTS: &str = "weights given the topics";
const WHOLE: &str = "topics and weights";
/// The relative distances to the lowest divergence for which times are compared.
const LEVELS: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The same for the convex problem, relative to its certified optimum.
const CONVEX_LEVELS: [f64; 3] = [1e-2, 1e-4, 1e-6];
/// The least cosine at which a learned topic counts as a true one.
const ALIKE: f64 = 0.95;
pub const RUNS: usize = 2 * METHODS.len();

/// The number of topics and of iterations.
fn sizes(size: Size) -> (usize, usize) {
    size.pick((3, 30), (10, 300), (20, 200))
}

/// The number of topics, in the model and in the generated corpus.
pub fn topics(size: Size) -> usize {
    sizes(size).0
}

pub fn run(lab: &Lab, size: Size, corpus: &Corpus) -> anyhow::Result<Record> {
    let (topics, iterations) = sizes(size);
    let v = corpus.counts.view();
    let mut record = Record::new(json!({
        "data": corpus.name, "documents": corpus.given, "step": corpus.step, "rows": v.rows(),
        "columns": v.cols(), "rank": topics, "accesses": iterations, "sum": v.sum(), "entries": v.nnz(),
    }));
    let prepared = &lab.prepare(v)?;
    let (w, h) = lab.start(prepared, topics, 0)?;
    let course = Course { problem: WHOLE, v: prepared, start: (&w, &h), iterations };
    let entrants = METHODS.map(|(name, solver)| Entrant::new(name, solver));
    let mut found = Sheet::new(["method", "perplexity", "found", "cosine"]);
    let mut given = None;
    for entrant in &entrants {
        let (trace, solution) = lab.race(&course, entrant, Watch::Closely)?;
        record.traces.push(trace);
        let (learned, weights, _) = klnmf::to_topics(&solution.w, &solution.h);
        let logs: f64 = klnmf::log_likelihoods(v, &learned, &weights)?.iter().sum();
        let perplexity = klnmf::perplexity(logs, v.sum()).to_string();
        let [alike, cosine] = corpus.truth.as_ref().map_or_else(Default::default, |t| compared(t, &learned));
        found.rows.push(vec![entrant.name.clone(), perplexity, alike, cosine]);
        given = Some(learned);
    }
    record.sheets.insert("found".into(), found);

    // The topics that auto learned: it is the last method.
    let given = given.context("no method has run")?;
    let optimum = klnmf::decompose(v, &given, &optimum::settings(lab))?;
    record.note("optimum", optimum.divergence());
    record.note("gap", optimum.gap());
    let even = even_start(v.col_sums(), topics);
    let course = Course { problem: WEIGHTS, start: (&given, &even), ..course };
    for entrant in entrants {
        record.traces.push(lab.race(&course, &entrant.only(Update::H), Watch::Closely)?.0);
    }
    Ok(record)
}

/// The number of true topics that were found and the mean cosine of all pairs, for the table.
fn compared(truth: &Mat<f64>, learned: &Mat<f64>) -> [String; 2] {
    let matches = match_parts(truth, learned).unwrap_or_default();
    let alike = matches.iter().filter(|m| m.cosine >= ALIKE).count();
    let mean = matches.iter().map(|m| m.cosine).sum::<f64>() / learned.cols() as f64;
    [alike.to_string(), format!("{mean:.4}")]
}

/// Uniform weights, which sum to the length of each document.
fn even_start(lengths: Vec<f64>, topics: usize) -> Mat<f64> {
    Mat::from_fn(topics, lengths.len(), |_, j| lengths[j] / topics as f64)
}

pub fn section(record: &Record) -> Section {
    let data = match record.text("data") {
        "" => "No counts were given (--counts), so the corpus is generated with known topics".into(),
        name if record.fact("step") > 1.0 => {
            record.fill("To save time, only some of the {documents} documents of ") + name
        }
        name => format!("All documents of {name}"),
    };
    let real = !record.text("data").is_empty();
    let words = format!("{:.0}", record.fact("sum"));
    let mut items = vec![figure(record, WHOLE), figure(record, WEIGHTS), levels(record)];
    items.extend(found_table(record));
    let mut section = Section { claims: claims(record), items, ..Section::new(ID, record) };
    for sentence in &mut section.ours {
        *sentence = sentence.replace("{which}", &data).replace("{words}", &words);
    }
    section
        .judged_if(real, "not run on real counts")
        .judged_if(!real || record.has(json!({ "step": 1, "accesses": sizes(Size::Full).1 })), OTHER_SIZE)
}

/// The certified optimum of the convex problem, or the lowest divergence that any method reached.
fn best(record: &Record, problem: &str) -> f64 {
    let reached = record.of(problem).flat_map(|trace| &trace.points).map(|p| p.divergence);
    if problem == WEIGHTS { record.fact("optimum") } else { reached.fold(f64::INFINITY, f64::min) }
}

fn figure(record: &Record, problem: &str) -> Item {
    let best = best(record, problem);
    let gap = if problem == WEIGHTS { record.fact("gap") } else { 0.0 };
    let floor = (4.0 * f64::EPSILON * record.fact("sum")).max(gap) / best;
    let chart = |along: Along, title: &str| {
        let draw = |trace: &Trace| {
            let line = line(&trace.method, along.points(trace, |p| (p.divergence / best - 1.0).max(floor)));
            let colour =
                [(EM, 1), (FPA, 0)].iter().find(|(name, _)| trace.method == *name).map(|(_, colour)| *colour);
            Line { colour: colour.or(line.colour), ..line }
        };
        Chart {
            title: title.into(),
            x_label: along.label(),
            y_label: "relative distance to the best",
            lines: record.of(problem).map(draw).collect(),
            log_x: true,
            // The method with the lowest divergence reaches zero distance, which would stretch the axis.
            y_range: (problem == WHOLE).then_some((1e-6, 1.0)),
            ..Chart::default()
        }
    };
    let charts =
        vec![chart(Along::Seconds, "(a) against time"), chart(Along::Iterations, "(b) against iterations")];
    Item::charts(id(problem), id(problem), charts)
}

fn id(problem: &str) -> &'static str {
    if problem == WHOLE { "topics-model" } else { "topics-weights" }
}

/// The same run with the optimum plus the gap in place of the divergence: its certified upper bound.
fn certified(record: &Record, trace: &Trace) -> Trace {
    let points = trace.points.iter().map(|p| Point { divergence: record.fact("optimum") + p.gap_h, ..*p });
    Trace { points: points.collect(), ..trace.clone() }
}

/// The place from which on a method stays within a level of the best. The convex problem uses the method's
/// own certificate.
fn held(record: &Record, problem: &str, method: &str, level: f64) -> Option<Place> {
    let trace = record.trace(problem, method)?;
    let level = Level::near(best(record, problem), level);
    if problem == WEIGHTS { certified(record, trace).holds(level) } else { trace.holds(level) }
}

fn levels(record: &Record) -> Item {
    let mut rows = Vec::new();
    for (problem, levels) in [(WHOLE, LEVELS), (WEIGHTS, CONVEX_LEVELS)] {
        for (method, _) in METHODS {
            let cell = |level: f64| match held(record, problem, method, level) {
                Some(place) => format!("{:.2} s ({})", place.seconds, place.iteration),
                None => "–".into(),
            };
            let end = record.trace(problem, method).map_or(f64::NAN, Trace::last);
            let mut row = vec![problem.to_owned(), method.to_owned()];
            row.extend(levels.map(|level| format!("{level:.0e}: {}", cell(level))));
            row.push(format!("{end:.6e}"));
            rows.push(row);
        }
    }
    let header = ["problem", "method", "first level", "second level", "third level", "D at the end"];
    Item::table("topics-levels", "topics-levels", &header, rows)
}

/// The perplexities, and how many true topics were found if these are known.
fn found_table(record: &Record) -> Option<Item> {
    let sheet = record.sheets.get("found")?;
    let row = |row: &Vec<String>| {
        let known = |text: String| if sheet.word(row, "found").is_empty() { "–".into() } else { text };
        vec![
            sheet.word(row, "method").to_owned(),
            format!("{:.3}", sheet.number(row, "perplexity")),
            known(format!("{} of {}", sheet.word(row, "found"), record.fact("rank"))),
            known(sheet.word(row, "cosine").to_owned()),
        ]
    };
    let header = ["method", "perplexity", "topics found", "mean cosine"];
    Some(Item::table("topics-found", "topics-found", &header, sheet.rows.iter().map(row).collect()))
}

fn claims(record: &Record) -> Vec<Claim> {
    let claim = |(problem, levels): (&str, [f64; 3])| {
        let checks = levels.map(|level| sooner(record, problem, level)).to_vec();
        Claim::new(id(problem), id(problem), checks)
    };
    [(WHOLE, LEVELS), (WEIGHTS, CONVEX_LEVELS)].map(claim).into()
}

/// Whether FPA on the simplex takes less time than EM to come within a level of the best.
fn sooner(record: &Record, problem: &str, level: f64) -> Check {
    let [fpa, em] = [FPA, EM].map(|method| held(record, problem, method, level));
    let seconds = |place: Option<Place>| place.map_or(0.0, |place| place.seconds);
    let longer = seconds(fpa).max(seconds(em));
    let answer = match (fpa, em) {
        (Some(fpa), Some(em)) => timed(longer, |error| Some(fpa.seconds + error < em.seconds)),
        (None, None) => None,
        (fpa, None) => Some(fpa.is_some()),
        (None, Some(_)) => Some(false),
    };
    let text = |place: Option<Place>| match place {
        Some(place) => format!("{} s ({} iterations)", plain(place.seconds), place.iteration),
        None => "not reached".into(),
    };
    let distance = if problem == WEIGHTS { "certified gap" } else { "distance to the lowest D" };
    Check::settled(
        answer,
        format!(
            "time to a relative {distance} of {level:.0e}: {FPA} {}, EM {}; required: FPA faster by over {}",
            text(fpa),
            text(em),
            resolution(longer)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorisation::tests::made_up;

    #[test]
    fn the_faster_method_is_recognised() {
        let at = |method: &str, end, pace, seconds| Trace {
            problem: WHOLE.into(),
            ..made_up(method, end, pace, seconds)
        };
        let record = |traces| Record { traces, ..Record::default() };
        let verdicts =
            |record: &Record| LEVELS.map(|level| sooner(record, WHOLE, level)).map(|c| (c.holds, c.open));
        let good = record(vec![at(EM, 10.0, 100.0, 0.1), at(FPA, 10.0, 10.0, 0.2)]);
        assert_eq!(verdicts(&good), [(true, false); 3]);
        let slow = record(vec![at(EM, 10.0, 10.0, 0.1), at(FPA, 11.0, 100.0, 0.2)]);
        assert_eq!(verdicts(&slow), [(false, false); 3]);
        let neither =
            record(vec![at(EM, 12.0, 10.0, 0.1), at(FPA, 11.0, 100.0, 0.2), at(AUTO, 10.0, 1.0, 0.1)]);
        assert_eq!(verdicts(&neither), [(false, true); 3]);
        let close = record(vec![at(EM, 10.0, 10.0, 0.1), at(FPA, 10.0, 10.0, 0.101)]);
        assert_eq!(verdicts(&close), [(false, true); 3]);
    }

    /// For the convex problem the certificate counts, not the divergence.
    #[test]
    fn the_weights_are_judged_by_certificates() {
        let with_gap = |method: &str, gap: f64| {
            let mut trace = Trace { problem: WEIGHTS.into(), ..made_up(method, 10.0, 1.0, 0.1) };
            trace.points.iter_mut().skip(500).for_each(|p| p.gap_h = gap);
            trace
        };
        let traces = vec![with_gap(EM, 1.0), with_gap(FPA, 1e-9)];
        let record = Record { traces, ..Record::new(json!({ "optimum": 10.0 })) };
        assert!(held(&record, WEIGHTS, EM, 1e-2).is_none());
        assert_eq!(held(&record, WEIGHTS, FPA, 1e-2).unwrap().iteration, 500.0);
        assert!(sooner(&record, WEIGHTS, 1e-2).holds);
    }
}
