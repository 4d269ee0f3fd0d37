//! The page of `klnmf rank`.

use super::{dispersion, range, stability, tree};
use klnmf_io::Table;
use klnmf_report::chart::{self, Chart, Line};
use klnmf_report::html;
use klnmf_select::{Choice, Rank};
use minijinja::{Value as Jinja, context};
use std::path::Path;

/// The page as HTML.
pub fn page(input: &Path, table: &Table<f64>, found: &Rank) -> anyhow::Result<String> {
    let (fits, unconverged) =
        found.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.fits, sum.1 + row.unconverged));
    let values = context! {
        input => klnmf_io::file_name(input),
        shape => format!("{} × {}", table.matrix.rows(), table.matrix.cols()),
        answer => range(found),
        stability => stability(found),
        dispersion => dispersion(found),
        over => found.over_dispersed.is_some(),
        held_out => held_out(found),
        stable => stable(found),
        divergence => divergence(found),
        tree => tree::svg(found),
        rows => rows(found),
        fits,
        unconverged,
        chart_style => chart::style(),
    };
    Ok(html::render("rank.html", include_str!("rank.html"), values)?)
}

fn line(name: &str, found: &Rank, value: impl Fn(usize) -> f64) -> Line {
    let points = found.rows.iter().enumerate().map(|(at, row)| (row.rank as f64, value(at))).collect();
    Line { name: name.into(), points, dots: true, ..Line::default() }
}

/// A chart over the ranks. Its y axis is logarithmic unless it has a range.
fn chart(found: &Rank, y_label: &'static str, lines: Vec<Line>, y_range: Option<(f64, f64)>) -> String {
    let (first, last) = (found.rows[0].rank as f64, found.rows[found.rows.len() - 1].rank as f64);
    let chart = Chart {
        whole_x: true,
        x_label: "parts",
        y_label,
        lines,
        linear_y: y_range.is_some(),
        x_range: Some((first - 0.5, last + 0.5)),
        y_range,
        marks: marks(found),
        ..Chart::default()
    };
    chart.svg()
}

/// The ends of the range.
fn marks(found: &Rank) -> Vec<(f64, String)> {
    match found.range() {
        Some((low, high)) if low == high => vec![(low as f64, low.to_string())],
        Some((low, high)) => vec![(low as f64, low.to_string()), (high as f64, high.to_string())],
        None => Vec::new(),
    }
}

/// How much worse than the best rank each rank predicts held-out counts. Ranks below the range can be so much
/// worse that the chart is scaled to the others, unless there are none.
fn held_out(found: &Rank) -> Option<String> {
    let choices = [("Poisson", &found.poisson), ("over-dispersed", &found.over_dispersed)];
    let choices: Vec<(&str, &Choice)> =
        choices.into_iter().filter_map(|(n, c)| Some((n, c.as_ref()?))).collect();
    let (_, last) = *choices.last()?;
    let excess = |choice: &Choice, at: usize| {
        choice.totals[at] - choice.totals.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let at = found.rows.iter().position(|row| row.rank == last.smallest).unwrap_or(0);
    let (at, room) = if at + 1 < found.rows.len() { (at, 2.0) } else { (at.saturating_sub(4), 1.15) };
    let above = |choice: &Choice| (at..found.rows.len()).map(|at| excess(choice, at)).fold(1.0, f64::max);
    let top = room * choices.iter().map(|(_, choice)| above(choice)).fold(1.0, f64::max);
    let lines = choices.iter().map(|(name, choice)| line(name, found, |at| excess(choice, at))).collect();
    Some(chart(found, "held-out divergence above the best", lines, Some((-0.06 * top, top))))
}

fn stable(found: &Rank) -> String {
    let pair = |at: usize, cosine: bool| {
        let stability = &found.rows[at].stability;
        (if cosine { stability.cosine() } else { stability.silhouette() }).unwrap_or((f64::NAN, f64::NAN))
    };
    let dashed = |line: Line, colour| Line { dashed: true, colour: Some(colour), ..line };
    let lines = vec![
        line("mean cosine", found, |at| pair(at, true).0),
        line("mean silhouette", found, |at| pair(at, false).0),
        dashed(line("least cosine", found, |at| pair(at, true).1), 0),
        dashed(line("least silhouette", found, |at| pair(at, false).1), 1),
    ];
    let lowest = lines.iter().flat_map(|line| &line.points).map(|p| p.1).filter(|y| y.is_finite());
    let lowest = lowest.fold(0.0, f64::min);
    // With room for the labels of the marks above the lines.
    chart(found, "stability", lines, Some((lowest - 0.03, 1.13)))
}

fn divergence(found: &Rank) -> String {
    let lines = vec![line("divergence", found, |at| found.rows[at].fit.divergence)];
    chart(found, "divergence of the best fit", lines, None)
}

fn rows(found: &Rank) -> Vec<Jinja> {
    let range = found.range().unwrap_or((1, 0));
    let two = |x: f64| if x.is_finite() { format!("{x:.2}") } else { "–".into() };
    let pair =
        |pair: Option<(f64, f64)>| pair.map_or("–".into(), |(mean, least)| two(mean) + " / " + &two(least));
    let held_out = |at: usize| {
        found.choice().map_or("–".into(), |choice| {
            let best = choice.totals.iter().copied().fold(f64::INFINITY, f64::min);
            format!("{:.1} ± {:.1}", choice.totals[at] - best, choice.errors[at])
        })
    };
    let row = |(at, row): (usize, &klnmf_select::RankRow)| {
        context! {
            rank => row.rank,
            chosen => (range.0..=range.1).contains(&row.rank),
            divergence => crate::summary::six(row.fit.divergence),
            gap => format!("{:.2} %", 100.0 * row.fit.relative_gap),
            held_out => held_out(at),
            cosine => pair(row.stability.cosine()),
            silhouette => pair(row.stability.silhouette()),
            unconverged => row.unconverged,
            fits => row.fits,
        }
    };
    found.rows.iter().enumerate().map(row).collect()
}
