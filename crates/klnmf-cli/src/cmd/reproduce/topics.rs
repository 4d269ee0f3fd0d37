//! Sections 3.6 and 5: topic models. The paper states the extension and claims that it is quicker than EM, without an experiment. Here it is,
//! on real counts if there are any.

use super::claim::{Check, Claim, plain, resolution, timed};
use super::corpus::Corpus;
use super::race::{AUTO, Entrant, Lab, OUR_FPA};
use super::record::{Record, Sheet};
use super::section::{Along, Item, OTHER_SIZE, Section, line};
use super::size::Size;
use super::trace::{Level, Place, Point, Trace};
use crate::chart::{Chart, Line};
use crate::matching::match_parts;
use crate::summary;
use anyhow::Context;
use klnmf::{DecomposeSettings, Mat, Solver, Update};
use serde_json::json;

const ID: &str = "topics";
/// Expectation maximisation, which multiplicative updates are.
const EM: &str = "EM";
/// The primal-dual algorithm with projections on the simplex.
const FPA: &str = "FPA on the simplex";
const METHODS: [(&str, Solver); 4] =
    [(EM, Solver::Mu), (FPA, Solver::Simplex), (OUR_FPA, Solver::Fpa), (AUTO, Solver::Auto)];
const WEIGHTS: &str = "weights given the topics";
const WHOLE: &str = "topics and weights";
/// How far above the best the levels are that times are taken to.
const LEVELS: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The same for the convex problem, whose optimum is certified.
const CONVEX_LEVELS: [f64; 3] = [1e-2, 1e-4, 1e-6];
/// A found topic counts as a true one from this cosine on.
const ALIKE: f64 = 0.95;
pub const RUNS: usize = 2 * METHODS.len();

/// Topics, iterations.
fn sizes(size: Size) -> (usize, usize) {
    size.pick((3, 30), (10, 300), (20, 200))
}

/// Topics of the generated corpus, as many as are looked for.
pub fn topics(size: Size) -> usize {
    sizes(size).0
}

pub fn run(lab: &Lab, size: Size, corpus: &Corpus) -> anyhow::Result<Record> {
    let (topics, iterations) = sizes(size);
    let v = corpus.counts.view();
    let facts = json!({
        "data": corpus.name, "documents": corpus.given, "step": corpus.step, "rows": v.rows(), "columns": v.cols(), "rank": topics,
        "accesses": iterations, "sum": v.sum(), "entries": v.nnz(),
    });
    let mut record = Record { facts: facts.as_object().cloned().unwrap_or_default(), ..Record::default() };
    let prepared = lab.prepare(v)?;
    let (w, h) = lab.start(&prepared, topics, 0)?;
    let entrants = METHODS.map(|(name, solver)| Entrant::ours(name, solver));
    let mut found = Sheet::new(&["method", "perplexity", "found", "cosine"]);
    let mut given = None;
    for entrant in &entrants {
        let (trace, solution) = lab.race(WHOLE, entrant, &prepared, (&w, &h), iterations)?;
        record.traces.push(trace);
        let (learned, weights, _) = klnmf::to_topics(&solution.w, &solution.h);
        let logs: f64 = klnmf::log_likelihoods(v, &learned, &weights)?.iter().sum();
        let (alike, cosine) = corpus.truth.as_ref().map_or_else(Default::default, |truth| {
            let matches = match_parts(truth, &learned);
            let alike = matches.iter().filter(|m| m.cosine >= ALIKE).count();
            let mean = matches.iter().map(|m| m.cosine).sum::<f64>() / topics as f64;
            (alike.to_string(), format!("{mean:.4}"))
        });
        let perplexity = klnmf::perplexity(logs, v.sum()).to_string();
        found.rows.push(vec![entrant.name.clone(), perplexity, alike, cosine]);
        given = Some(learned);
    }
    record.sheets.insert("found".into(), found);

    // The topics that auto has learned, which is the last.
    let given = given.context("there are methods")?;
    let settings = DecomposeSettings {
        tol: 1e-13,
        threads: lab.threads,
        stop: Some(lab.stop.clone()),
        ..DecomposeSettings::default()
    };
    let optimum = klnmf::decompose(v, &given, &settings)?;
    record.facts.insert("optimum".into(), summary::number(optimum.divergence()));
    record.facts.insert("gap".into(), summary::number(optimum.gap()));
    let even = even_start(v.col_sums(), topics);
    for entrant in &entrants {
        let convex = entrant.clone().only(Update::H);
        record.traces.push(lab.race(WEIGHTS, &convex, &prepared, (&given, &even), iterations)?.0);
    }
    Ok(record)
}

/// The same weight for every topic of a document.
fn even_start(lengths: Vec<f64>, topics: usize) -> Mat<f64> {
    Mat::from_fn(topics, lengths.len(), |_, j| lengths[j] / topics as f64)
}

pub fn section(record: &Record) -> Section {
    let fact = |name| record.fact(name);
    let data = match record.text("data") {
        "" => "No counts were given (--counts), so this is a generated corpus with known topics".into(),
        name if fact("step") > 1.0 => {
            format!("To be quick only some of the {} documents of {name}", fact("documents"))
        }
        name => format!("All documents of {name}"),
    };
    let real = !record.text("data").is_empty();
    let mut items = vec![
        figure(
            record,
            WHOLE,
            "Topics and weights together: how far the divergence, which is minus the log-likelihood but for a constant, is above \
                               the lowest that any method reached, relative to it.",
        ),
        figure(
            record,
            WEIGHTS,
            "The weights of all documents for given topics, those that auto has learned: how far the divergence is above the \
                                 certified optimum, relative to it.",
        ),
        levels(record),
    ];
    items.extend(found_table(record));
    Section {
        title: "Topic models: the simplex extension",
        paper: "With 1ᵀx = 1 added to the constraints the algorithm finds the weights of topics by projections on the simplex, “thus allowing to go \
                beyond the potential slowness of the expectation-maximization (EM) algorithm”. There is no experiment."
            .into(),
        ours: vec![
            format!(
                "{data}: {} words, {} documents, {} topics, {:.0} words in all, {} different entries; {} iterations.",
                fact("rows"),
                fact("columns"),
                fact("rank"),
                fact("sum"),
                fact("entries"),
                fact("accesses")
            ),
            "First topics and weights together, from one random start; then the weights alone, which is convex, from even weights. EM is the \
             multiplicative update; FPA holds every document's weights on their simplex by projection. On this sparse data it has our \
             adaptive steps: the authors' scalar steps are for dense data."
                .into(),
        ],
        claims: claims(record),
        items,
        ..Section::default()
    }
    .judged_if(real, "not run on real counts")
    .judged_if(!real || record.has(&[("step", 1), ("accesses", sizes(Size::Full).1)]), OTHER_SIZE)
}

/// The lowest divergence of a problem: certified for the convex one, else the lowest that was reached.
fn best(record: &Record, problem: &str) -> f64 {
    let reached = record.of(problem).flat_map(|trace| &trace.points).map(|p| p.divergence);
    if problem == WEIGHTS { record.fact("optimum") } else { reached.fold(f64::INFINITY, f64::min) }
}

fn figure(record: &Record, problem: &str, caption: &str) -> Item {
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
            y_label: "above the best, relative",
            lines: record.of(problem).map(draw).collect(),
            log_x: true,
            // The method that reached the best touches the floor, which would make all of the figure.
            y_range: (problem == WHOLE).then_some((1e-6, 1.0)),
            ..Chart::default()
        }
    };
    let charts =
        vec![chart(Along::Seconds, "(a) against time"), chart(Along::Iterations, "(b) against iterations")];
    Item::charts(id(problem), caption, charts)
}

fn id(problem: &str) -> &'static str {
    if problem == WHOLE { "topics-model" } else { "topics-weights" }
}

/// A run by what its certificates say instead of what it has: never above the optimum by more than this.
fn certified(record: &Record, trace: &Trace) -> Trace {
    let points = trace.points.iter().map(|p| Point { divergence: record.fact("optimum") + p.gap_h, ..*p });
    Trace { points: points.collect(), ..trace.clone() }
}

/// From where on a method is within a level of the best; by its own certificate for the convex problem.
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
    let caption = "From when on a method is within these levels of the best: relative to the lowest divergence of all for topics and weights, and by the \
                   method's own duality gap, a certificate, for the weights given the topics; iterations in brackets. The same start for all, one start.";
    let header = ["problem", "method", "first level", "second level", "third level", "D at the end"];
    Item::table(format!("{ID}-levels"), caption.into(), &header, rows)
}

/// Perplexities, and what was found of topics that are known.
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
    let caption = format!(
        "What topics and weights are worth at the end. Where the true topics are known, one is found if it is paired with a learned one at a cosine of \
         at least {ALIKE}; the mean cosine is over all pairs."
    );
    let header = ["method", "perplexity", "topics found", "mean cosine"];
    Some(Item::table(format!("{ID}-found"), caption, &header, sheet.rows.iter().map(row).collect()))
}

fn claims(record: &Record) -> Vec<Claim> {
    let claim = |paper: &str, problem: &str, levels: [f64; 3]| {
        let checks = levels.map(|level| sooner(record, problem, level)).to_vec();
        Claim::new(paper, "3.6 and 5", id(problem), checks)
    };
    vec![
        claim("FPA on the simplex goes beyond the slowness of EM: topics and weights", WHOLE, LEVELS).because(
            "Its steps are longer than EM's near the boundary of the simplex.",
            "EM's iterations are cheap, and far from the end they go as far; a projection on the simplex costs time at every step.",
        ),
        claim("FPA on the simplex goes beyond the slowness of EM: the weights for given topics", WEIGHTS, CONVEX_LEVELS)
            .because(
                "EM takes ever shorter steps towards weights that are zero; a projection sets them to zero.",
                "EM's iterations are cheap, and a rough certificate does not need the exact zeros that a projection finds.",
            ),
    ]
}

/// Whether FPA on the simplex is within a level of the best sooner than EM, by the clock.
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
        None => "never".into(),
    };
    let by = if problem == WEIGHTS { "certified to" } else { "to" };
    Check::settled(
        answer,
        format!(
            "{by} {level:.0e} above the best: {FPA} {}, EM {} (more than {} apart)",
            text(fpa),
            text(em),
            resolution(longer)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::factorisation::tests::made_up;
    use super::*;

    #[test]
    fn sooner_is_told_from_later() {
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

    /// For the convex problem the certificate counts, not the divergence that nobody knows to be near the best.
    #[test]
    fn the_weights_are_judged_by_certificates() {
        let with_gap = |method: &str, gap: f64| {
            let mut trace = Trace { problem: WEIGHTS.into(), ..made_up(method, 10.0, 1.0, 0.1) };
            trace.points.iter_mut().skip(500).for_each(|p| p.gap_h = gap);
            trace
        };
        let traces = vec![with_gap(EM, 1.0), with_gap(FPA, 1e-9)];
        let mut record = Record { traces, ..Record::default() };
        record.facts.insert("optimum".into(), 10.0.into());
        assert!(held(&record, WEIGHTS, EM, 1e-2).is_none());
        assert_eq!(held(&record, WEIGHTS, FPA, 1e-2).unwrap().iteration, 500.0);
        assert!(sooner(&record, WEIGHTS, 1e-2).holds);
    }
}
