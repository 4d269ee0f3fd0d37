//! Section 3.6: topic models. The paper states the extension and claims that it is quicker than EM, without an experiment.

use super::claim::{Check, Claim, compared, lower, margin, plain, resolution, timed};
use super::factorisation::chart;
use super::race::{AUTO, Entrant, Lab};
use super::record::{Record, Sheet};
use super::section::{Along, Item, Section, line};
use super::size::Size;
use super::trace::{Level, Trace};
use crate::chart::{Chart, Line};
use crate::matching::match_parts;
use crate::random::Random;
use crate::summary;
use klnmf::{DecomposeSettings, Mat, Order, Solver, Sparse, Update};
use serde_json::json;

const ID: &str = "topics";
/// Expectation maximisation, which multiplicative updates are.
const EM: &str = "EM";
/// The primal-dual algorithm with projections on the simplex.
const FPA: &str = "FPA on the simplex";
const WEIGHTS: &str = "weights given the topics";
const WHOLE: &str = "topics and weights";
/// A found topic counts as a true one from this cosine on.
const ALIKE: f64 = 0.95;
pub const RUNS: usize = 6;

/// Words, documents, topics, mean length of a document, accesses.
fn sizes(size: Size) -> (usize, usize, usize, f64, usize) {
    size.pick((60, 40, 3, 80.0, 30), (1000, 500, 10, 150.0, 300), (5000, 2000, 20, 200.0, 1000))
}

/// A corpus with known topics: words × topics with columns that sum to 1, and counts, words × documents.
fn corpus(size: Size, seed: u64) -> klnmf::Result<(Mat<f64>, Sparse<f64>)> {
    let (words, documents, topics, length, _) = sizes(size);
    // Another stream than that of the starts and of the other experiments.
    let mut random = Random::new(seed ^ 0x7069_6373);
    // Few words make up most of a topic, and every topic has its own; some words are in all of them.
    let mut truth = Mat::from_fn(words, topics, |i, k| {
        let own = if i % topics == k { 1.0 } else { 0.02 };
        let common = if i % 17 == 0 { 0.3 } else { 0.0 };
        (own + common) * random.uniform().powi(4) + 1e-6
    });
    let sums = truth.col_sums();
    for (k, sum) in sums.iter().enumerate() {
        truth.col_mut(k).iter_mut().for_each(|x| *x /= sum);
    }
    let mut entries = Vec::new();
    for j in 0..documents {
        // Most documents are about one topic or two.
        let weights: Vec<f64> = (0..topics).map(|_| random.uniform().powi(6) + 1e-3).collect();
        let total: f64 = weights.iter().sum();
        let size = length * (0.5 + random.uniform());
        for i in 0..words {
            let mean: f64 = weights.iter().enumerate().map(|(k, x)| truth[(i, k)] * x / total).sum();
            let count = random.poisson(size * mean);
            if count > 0.0 {
                entries.push((i, j, count));
            }
        }
    }
    let counts = Sparse::from_triplets(words, documents, Order::Columns, |put| {
        entries.iter().try_for_each(|&(i, j, count)| put(i, j, count))
    })?;
    Ok((truth, counts))
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let (words, documents, topics, _, accesses) = sizes(size);
    let (truth, counts) = corpus(size, lab.seed)?;
    let v = counts.view();
    let facts = json!({
        "rows": words, "columns": documents, "rank": topics, "accesses": accesses, "sum": v.sum(), "entries": v.nnz(),
    });
    let mut record = Record { facts: facts.as_object().cloned().unwrap_or_default(), ..Record::default() };
    let prepared = lab.prepare(v)?;
    let (w, h) = lab.start(&prepared, topics)?;
    let entrants = [
        Entrant::ours(EM, Solver::Mu),
        Entrant::ours(FPA, Solver::Simplex),
        Entrant::ours(AUTO, Solver::Auto),
    ];
    let settings = DecomposeSettings {
        tol: 1e-13,
        threads: lab.threads,
        stop: Some(lab.stop.clone()),
        ..DecomposeSettings::default()
    };
    let optimum = klnmf::decompose(v, &truth, &settings)?;
    record.facts.insert("optimum".into(), summary::number(optimum.divergence()));
    record.facts.insert("gap".into(), summary::number(optimum.gap()));
    let even = even_start(v.col_sums(), topics);
    for entrant in &entrants {
        let convex = entrant.clone().only(Update::H);
        record.traces.push(lab.race(WEIGHTS, &convex, &prepared, (&truth, &even), accesses)?.0);
    }
    let mut found = Sheet::new(&["method", "perplexity", "found", "cosine"]);
    for entrant in &entrants {
        let (trace, solution) = lab.race(WHOLE, entrant, &prepared, (&w, &h), accesses)?;
        record.traces.push(trace);
        let (learned, weights, _) = klnmf::to_topics(&solution.w, &solution.h);
        let logs: f64 = klnmf::log_likelihoods(v, &learned, &weights)?.iter().sum();
        let matches = match_parts(&truth, &learned);
        let alike = matches.iter().filter(|m| m.cosine >= ALIKE).count();
        let mean = matches.iter().map(|m| m.cosine).sum::<f64>() / topics as f64;
        let perplexity = klnmf::perplexity(logs, v.sum());
        found.rows.push(vec![
            entrant.name.clone(),
            perplexity.to_string(),
            alike.to_string(),
            format!("{mean:.4}"),
        ]);
    }
    record.sheets.insert("found".into(), found);
    Ok(record)
}

/// The same weight for every topic of a document.
fn even_start(lengths: Vec<f64>, topics: usize) -> Mat<f64> {
    Mat::from_fn(topics, lengths.len(), |_, j| lengths[j] / topics as f64)
}

pub fn section(record: &Record) -> Section {
    let fact = |name| record.fact(name);
    Section {
        title: "Topic models: the simplex extension",
        paper: "With 1ᵀx = 1 added to the constraints the algorithm finds the weights of topics by projections on the simplex, “thus allowing to go \
                beyond the potential slowness of the expectation-maximization (EM) algorithm”. There is no experiment."
            .into(),
        ours: vec![
            format!(
                "A generated corpus with known topics: {} words, {} documents, {} topics, {:.0} words in all, {} different entries; {} accesses.",
                fact("rows"),
                fact("columns"),
                fact("rank"),
                fact("sum"),
                fact("entries"),
                fact("accesses")
            ),
            "First the weights of all documents for the true topics, which is convex, from even weights; then topics and weights together, from a random \
             start. EM is the multiplicative update; FPA holds every document's weights on their simplex by projection. On this sparse data it has our \
             adaptive steps: the authors' scalar steps are for dense data."
                .into(),
        ],
        claims: claims(record),
        items: vec![convex_figure(record), whole_figure(record), table(record)],
    }
}

/// A line in the colour of the method that it stands for.
fn coloured(trace: &Trace, points: Vec<(f64, f64)>) -> Line {
    let colour = match trace.method.as_str() {
        EM => Some(1),
        FPA => Some(0),
        _ => None,
    };
    let line = line(&trace.method, points);
    Line { colour: colour.or(line.colour), ..line }
}

/// Below this a distance is rounding.
fn floor(record: &Record) -> f64 {
    (4.0 * f64::EPSILON * record.fact("sum")).max(record.fact("gap"))
}

fn convex_figure(record: &Record) -> Item {
    let (optimum, floor) = (record.fact("optimum"), floor(record));
    let chart = |along: Along, title: &str| Chart {
        title: title.into(),
        x_label: along.label(),
        y_label: "nats above the optimum",
        lines: record
            .of(WEIGHTS)
            .map(|t| coloured(t, along.points(t, |p| (p.divergence - optimum).max(floor))))
            .collect(),
        log_x: true,
        ..Chart::default()
    };
    let charts = vec![
        chart(Along::Iterations, "(a) weights, against accesses"),
        chart(Along::Seconds, "(b) weights, against time"),
    ];
    let caption = format!(
        "The weights of all documents for the true topics: log-likelihood below its maximum, which is certified to {} nats.",
        plain(record.fact("gap"))
    );
    Item::charts(format!("{ID}-weights"), caption, charts)
}

fn whole_figure(record: &Record) -> Item {
    let traces: Vec<&Trace> = record.of(WHOLE).collect();
    let make = |along: Along, title: &str| {
        let mut chart = chart(&traces, along, title, true);
        for (line, trace) in chart.lines.iter_mut().zip(&traces) {
            *line = coloured(trace, std::mem::take(&mut line.points));
        }
        chart
    };
    let charts = vec![
        make(Along::Iterations, "(a) topics and weights, against accesses"),
        make(Along::Seconds, "(b) topics and weights, against time"),
    ];
    let caption = "Topics and weights together, zoomed: the divergence, which differs from minus the log-likelihood by a constant.";
    Item::charts(format!("{ID}-model"), caption.into(), charts)
}

fn table(record: &Record) -> Item {
    let em = record.trace(WHOLE, EM).map_or(f64::NAN, Trace::last);
    let rows = record.sheets.get("found").map_or(Vec::new(), |sheet| {
        let row = |row: &Vec<String>| {
            let method = sheet.word(row, "method");
            let trace = record.trace(WHOLE, method);
            let level = trace.and_then(|t| t.reaches(Level::plain(em)));
            vec![
                method.to_owned(),
                format!("{:.2} s", trace.map_or(f64::NAN, Trace::seconds)),
                format!("{:.6e}", trace.map_or(f64::NAN, Trace::last)),
                level.map_or_else(|| "–".into(), |p| format!("{:.2} s ({})", p.seconds, p.iteration)),
                format!("{:.3}", sheet.number(row, "perplexity")),
                format!("{} of {}", sheet.word(row, "found"), record.fact("rank")),
                sheet.word(row, "cosine").to_owned(),
            ]
        };
        sheet.rows.iter().map(row).collect()
    });
    let caption = format!(
        "Topics and weights together. As low as EM: when a method has the divergence that EM ends with (accesses in brackets). A true topic is found \
         if it is paired with a learned one at a cosine of at least {ALIKE}; the mean cosine is over all pairs."
    );
    let header =
        ["method", "time", "D at the end", "as low as EM", "perplexity", "topics found", "mean cosine"];
    Item::table(format!("{ID}-table"), caption, &header, rows)
}

fn claims(record: &Record) -> Vec<Claim> {
    let claim = |paper: &str, figure: &str, checks| Claim {
        paper: paper.into(),
        place: "3.6 and 5",
        figure: format!("{ID}-{figure}"),
        checks,
    };
    vec![
        claim(
            "FPA (with our steps on the simplex) goes beyond the slowness of EM: the weights for given topics",
            "weights",
            sooner(record, WEIGHTS),
        ),
        claim(
            "FPA (with our steps on the simplex) goes beyond the slowness of EM: topics and weights",
            "model",
            sooner(record, WHOLE),
        ),
    ]
}

/// Whether FPA is where EM ends in fewer accesses and in less time, and ends lower.
fn sooner(record: &Record, problem: &str) -> Vec<Check> {
    let (Some(em), Some(fpa)) = (record.trace(problem, EM), record.trace(problem, FPA)) else {
        return Vec::new();
    };
    let accesses = em.points.last().map_or(0.0, |p| p.iteration as f64);
    // Only the convex problem has an optimum that is known.
    let (base, floor, of) = match problem {
        WEIGHTS => (record.fact("optimum"), floor(record), "the distance to the optimum"),
        _ => (0.0, 0.0, "it"),
    };
    let end = |trace: &Trace| (trace.last() - base).max(floor);
    let level = fpa.reaches(Level { divergence: em.last(), base });
    let longer = level.map_or(0.0, |p| p.seconds).max(em.seconds());
    let there =
        |f: &dyn Fn(f64, f64) -> String| level.map_or_else(|| "never".into(), |p| f(p.iteration, p.seconds));
    vec![
        Check::new(
            level.is_some_and(|p| p.iteration < accesses),
            format!(
                "FPA is where EM ends after {} accesses (EM: {accesses})",
                there(&|i, _| format!("{i:.0}"))
            ),
        ),
        Check::settled(
            timed(longer, |error| Some(level.is_some_and(|p| p.seconds + error < em.seconds()))),
            format!(
                "… and after {} s (EM: {} s; more than {} apart)",
                there(&|_, s| plain(s)),
                plain(em.seconds()),
                resolution(longer)
            ),
        ),
        Check::settled(
            lower(end(fpa), end(em)),
            format!(
                "at the end the divergence of FPA is {} that of EM (margin {} of {of})",
                compared(fpa.last(), em.last()),
                margin()
            ),
        ),
    ]
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
        let good = record(vec![at(EM, 11.0, 100.0, 0.1), at(FPA, 10.0, 10.0, 0.2)]);
        assert!(sooner(&good, WHOLE).iter().all(|check| check.holds));
        let slow = record(vec![at(EM, 10.0, 10.0, 0.1), at(FPA, 11.0, 100.0, 0.2)]);
        assert!(!sooner(&slow, WHOLE).iter().any(|check| check.holds));
        let dear = record(vec![at(EM, 11.0, 100.0, 0.001), at(FPA, 10.0, 50.0, 10.0)]);
        assert_eq!(sooner(&dear, WHOLE).iter().map(|c| c.holds).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn the_corpus_is_made_of_its_topics() {
        let (truth, counts) = corpus(Size::Tiny, 1).unwrap();
        assert!(truth.col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
        let v = counts.view();
        let (words, documents, topics, length, _) = sizes(Size::Tiny);
        assert_eq!((v.rows(), v.cols(), truth.cols()), (words, documents, topics));
        assert!((v.sum() / documents as f64 / length - 1.0).abs() < 0.2);
    }
}
