//! Line charts as SVG: logarithmic or linear axes, few ticks, each line labelled at its end. Colours follow
//! the light or dark mode of the page.

mod axis;
mod label;
mod plot;
mod sheet;

use crate::html::escape;
use label::{Label, place, spread, width_of};
use plot::Plot;
use std::fmt::Write as _;

pub use sheet::{sheet, style};

/// A line of a chart.
#[derive(Clone, Default)]
pub struct Line {
    /// Its name, written at its end.
    pub name: String,
    /// Its points. Those that are not finite, or not positive on a logarithmic axis, are left out.
    pub points: Vec<(f64, f64)>,
    /// Its colour, below [`COLOURS`]. By default its number among the lines.
    pub colour: Option<usize>,
    /// Whether it is dashed.
    pub dashed: bool,
    /// How pale it is, from 0 to 1, for lines that share a colour.
    pub pale: f64,
    /// Whether every point has a dot.
    pub dots: bool,
}

/// A chart; both axes are logarithmic or linear.
#[derive(Clone, Default)]
pub struct Chart {
    /// The title; none if empty.
    pub title: String,
    /// The label of the x axis.
    pub x_label: &'static str,
    /// The label of the y axis.
    pub y_label: &'static str,
    /// The lines: at most [`COLOURS`] of them, unless they set their colours.
    pub lines: Vec<Line>,
    /// Whether the x axis is logarithmic. It then starts at the first positive point.
    pub log_x: bool,
    /// Whether only whole numbers of the x axis have ticks. It must be linear.
    pub whole_x: bool,
    /// Whether the y axis is linear.
    pub linear_y: bool,
    /// The range of the x axis. By default that of the data.
    pub x_range: Option<(f64, f64)>,
    /// The range of the y axis. By default that of the data.
    pub y_range: Option<(f64, f64)>,
    /// Dotted vertical lines, each with a label.
    pub marks: Vec<(f64, String)>,
}

/// The number of line colours.
pub const COLOURS: usize = 8;
/// Size of a chart without its title.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
/// Margins for labels on the left, above and below. The right margin depends on the names of the lines.
const LEFT: f64 = 72.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 44.0;
/// Height of a title.
const TITLE: f64 = 24.0;
/// Height of a line of text.
const LETTERS: f64 = 13.0;
/// Distance from the end of a line to its name in the margin.
const LEAD: f64 = 12.0;

impl Chart {
    /// The chart as an SVG element.
    pub fn svg(&self) -> String {
        let above = if self.title.is_empty() { 0.0 } else { TITLE };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} {WIDTH} {}\" role=\"img\" \
             aria-label=\"{}\">",
            -above,
            HEIGHT + above,
            escape(&self.description())
        );
        if above > 0.0 {
            let _ = write!(svg, "<text class=\"title\" x=\"{LEFT}\" y=\"-6\">{}</text>", escape(&self.title));
        }
        let plot = Plot::new(self);
        plot.axes(self, &mut svg);
        let drawn: Vec<Vec<(f64, f64)>> = self.lines.iter().map(|line| plot.pixels(line)).collect();
        for (line, (colour, pixels)) in self.lines.iter().zip(self.colours().zip(&drawn)) {
            plot.line(line, colour, pixels, &mut svg);
        }
        let mut boxes = Vec::new();
        plot.marks(&self.marks, &mut boxes, &mut svg);
        self.names(&plot, &drawn, &mut boxes, &mut svg);
        svg + "</svg>"
    }

    /// Writes the names of the lines. Lines that end at the margin are named there, in the order of their
    /// ends; others where they end.
    fn names(&self, plot: &Plot, drawn: &[Vec<(f64, f64)>], boxes: &mut Vec<Label>, svg: &mut String) {
        let end = |pixels: &Vec<(f64, f64)>| pixels.iter().rev().copied().find(|p| plot.shows(*p));
        let ends = drawn.iter().map(end).zip(self.colours()).zip(&self.lines);
        let named = ends.filter_map(|((end, colour), line)| Some((end?, colour, escape(&line.name))));
        let (mut margin, inside): (Vec<_>, Vec<_>) =
            named.filter(|(_, _, name)| !name.is_empty()).partition(|(end, ..)| end.0 > plot.x.to - 3.0);
        margin.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
        let wanted: Vec<f64> = margin.iter().map(|(end, ..)| end.1).collect();
        let found = spread(&wanted, plot.y.to, plot.y.from);
        for ((end, colour, name), y) in margin.into_iter().zip(found) {
            let x = end.0 + LEAD;
            let _ = write!(
                svg,
                "<path class=\"lead c{colour}\" d=\"M{:.1} {:.1}L{:.1} {y:.1}\"/>",
                end.0,
                end.1,
                x - 3.0
            );
            let _ = write!(svg, "<text class=\"t{colour}\" x=\"{x:.1}\" y=\"{:.1}\">{name}</text>", y + 4.0);
            boxes.push(Label { x, y: y - LETTERS / 2.0, width: width_of(&name) });
        }
        for (end, colour, name) in inside {
            let (x, y) = place(&name, end, plot, drawn, boxes);
            let _ = write!(svg, "<text class=\"name t{colour}\" x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>");
        }
    }

    /// The description for screen readers.
    fn description(&self) -> String {
        let names: Vec<&str> = self.lines.iter().map(|line| line.name.as_str()).collect();
        let title = if self.title.is_empty() { String::new() } else { format!("{}: ", self.title) };
        format!("{title}{} against {}; lines: {}", self.y_label, self.x_label, names.join(", "))
    }

    fn colours(&self) -> impl Iterator<Item = usize> + '_ {
        self.lines.iter().enumerate().map(|(number, line)| line.colour.unwrap_or(number) % COLOURS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_nothing_and_of_nonsense_are_still_charts() {
        let all = [vec![], vec![(0.0, f64::INFINITY)], vec![(1.0, 5.0)], vec![(0.0, 1.0), (1.0, 1e-9)]];
        for points in all {
            for (log_x, linear_y) in [(false, false), (true, false), (false, true), (true, true)] {
                let lines = vec![Line { name: "a < b".into(), points: points.clone(), ..Line::default() }];
                let marks = vec![(0.5, "half".into()), (-3.0, "nowhere".into())];
                let chart = Chart { lines, log_x, linear_y, marks, ..Chart::default() };
                let svg = chart.svg();
                assert!(svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(!svg.contains("a < b"));
                let svg = sheet(&[chart.clone(), chart], 1);
                assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
            }
        }
    }
}
