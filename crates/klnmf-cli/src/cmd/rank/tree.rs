//! The tree of parts: one column of dots for every rank, and lines to the parts of the rank before.

use crate::outputs::part;
use klnmf_select::{Rank, RankRow};
use std::fmt::Write as _;

/// Distances between ranks, and between parts of a rank.
const ACROSS: f64 = 46.0;
const DOWN: f64 = 17.0;
/// The height of the first part of every rank, below the rank's number.
const TOP: f64 = 32.0;
/// The largest radius of a dot.
const DOT: f64 = 7.0;

/// The tree as SVG. A dot's area is the part's share; a solid line is a part that continues, a dashed one
/// leads from a new part to the nearest old one. Pale lines have small cosines.
pub fn svg(found: &Rank) -> String {
    let most = found.rows.last().map_or(1, |row| row.rank);
    let (width, height) = (ACROSS * found.rows.len() as f64 + 20.0, TOP + DOWN * most as f64);
    let mut svg = format!(
        "<svg class=\"tree\" viewBox=\"0 0 {width} {height}\" style=\"width:{width}px;max-width:none\" \
         role=\"img\" aria-label=\"which part of a rank comes from which part of the rank before\">"
    );
    let mut before: Vec<f64> = Vec::new();
    for (column, row) in found.rows.iter().enumerate() {
        let x = 24.0 + ACROSS * column as f64;
        let places = places(row, &before);
        for (k, branch) in row.tree.iter().enumerate() {
            let (from, to) = (before[branch.parent], places[k]);
            let dashes = if branch.continues { "" } else { " stroke-dasharray=\"3 3\"" };
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                "<path class=\"branch\" d=\"M{:.1} {from:.1}C{:.1} {from:.1} {:.1} {to:.1} {x:.1} {to:.1}\" \
                 opacity=\"{:.2}\"{dashes}/>",
                x - ACROSS,
                x - ACROSS / 2.0,
                x - ACROSS / 2.0,
                (branch.cosine * branch.cosine).clamp(0.08, 1.0)
            );
        }
        let shares = shares(row);
        for (k, y) in places.iter().enumerate() {
            let radius = DOT * shares[k].sqrt().max(0.25);
            let told = row.tree.get(k).map_or(String::new(), |branch| {
                format!(", cosine {:.2} with {} of the rank before", branch.cosine, part(branch.parent))
            });
            let _ = write!(
                svg,
                "<circle class=\"part\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>rank {}, \
                 {}: {:.1} % of the total{told}</title></circle>",
                row.rank,
                part(k),
                100.0 * shares[k]
            );
        }
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"14\" text-anchor=\"middle\">{}</text>", row.rank);
        before = places;
    }
    svg + "</svg>"
}

/// The heights of the parts of a rank, in the order of the parts they come from. New parts follow those.
fn places(row: &RankRow, before: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..row.rank).collect();
    let wanted = |k: usize| {
        row.tree.get(k).map_or(0.0, |branch| before[branch.parent] + if branch.continues { 0.0 } else { 0.5 })
    };
    order.sort_by(|a, b| wanted(*a).total_cmp(&wanted(*b)));
    let mut places = vec![0.0; row.rank];
    order.iter().enumerate().for_each(|(at, k)| places[*k] = TOP + DOWN * at as f64);
    places
}

/// The shares of the parts in the sum of the fit.
fn shares(row: &RankRow) -> Vec<f64> {
    let sums = row.fit.h.row_sums();
    let total: f64 = sums.iter().sum();
    sums.iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 }).collect()
}
