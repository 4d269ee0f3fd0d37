//! The area of a chart where the lines are drawn.

use super::axis::{Axis, power_of_ten};
use super::label::{Label, width_of};
use super::{BOTTOM, Chart, HEIGHT, LEAD, LEFT, LETTERS, Line, TOP, WIDTH};
use crate::html::escape;
use std::fmt::Write as _;

/// The area where the lines are drawn.
pub struct Plot {
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    pub fn new(chart: &Chart) -> Self {
        let points: Vec<(f64, f64)> =
            chart.lines.iter().flat_map(|line| usable(line, chart.log_x, !chart.linear_y)).collect();
        let longest = chart.lines.iter().map(|line| width_of(&line.name)).fold(0.0, f64::max);
        let right = (longest + LEAD + 6.0).clamp(40.0, 190.0);
        let xs = range(points.iter().map(|p| p.0), chart.x_range);
        let (x_low, x_high) = if chart.log_x { (xs.0.log10(), xs.1.log10()) } else { xs };
        let x_low = if chart.log_x || chart.x_range.is_some() { x_low } else { x_low.min(0.0) };
        let shown = |p: &&(f64, f64)| chart.x_range.is_none_or(|(low, high)| (low..=high).contains(&p.0));
        let ys = range(points.iter().filter(shown).map(|p| p.1), chart.y_range);
        let (y_low, y_high) = match (chart.linear_y, chart.y_range) {
            (false, None) => ((ys.0 / 1.2).log10(), (ys.1 * 1.2).log10()),
            (false, Some(_)) => (ys.0.log10(), ys.1.log10()),
            (true, Some(_)) => ys,
            (true, None) => (ys.0 - 0.04 * (ys.1 - ys.0), ys.1 + 0.04 * (ys.1 - ys.0)),
        };
        let wide = |low: f64, high: f64| if high - low > 1e-9 * low.abs() { high } else { low + 1.0 };
        Self {
            x: Axis {
                low: x_low,
                high: wide(x_low, x_high),
                log: chart.log_x,
                least: if chart.whole_x { 1.0 } else { 0.0 },
                from: LEFT,
                to: WIDTH - right,
            },
            y: Axis {
                low: y_low,
                high: wide(y_low, y_high),
                log: !chart.linear_y,
                least: 0.0,
                from: HEIGHT - BOTTOM,
                to: TOP,
            },
        }
    }

    pub fn axes(&self, chart: &Chart, svg: &mut String) {
        let (left, right, top, bottom) = (self.x.from, self.x.to, self.y.to, self.y.from);
        let (ticks, y_unit) = self.y.ticks();
        for (y, label) in ticks {
            let at = self.y.at(y);
            // Writing to a String cannot fail.
            let _ = write!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right:.1}\"/>");
            let (x, y) = (left - 6.0, at + 4.0);
            let _ = write!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{label}</text>");
        }
        let (ticks, x_unit) = self.x.ticks();
        for (x, label) in ticks {
            let (at, y) = (self.x.at(x), bottom + 17.0);
            let _ = write!(svg, "<path class=\"tick\" d=\"M{at:.1} {bottom}v4\"/>");
            let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
        }
        let _ = write!(svg, "<path class=\"tick\" d=\"M{left} {top}V{bottom}H{right:.1}\"/>");
        let (middle, edge) = ((left + right) / 2.0, HEIGHT - 6.0);
        let label = with_unit(chart.x_label, x_unit);
        let _ = write!(svg, "<text x=\"{middle:.1}\" y=\"{edge}\" text-anchor=\"middle\">{label}</text>");
        let (middle, label) = ((top + bottom) / 2.0, with_unit(chart.y_label, y_unit));
        let _ = write!(
            svg,
            "<text transform=\"translate(14 {middle:.1})rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        );
    }

    /// The points of a line in pixels.
    pub fn pixels(&self, line: &Line) -> Vec<(f64, f64)> {
        usable(line, self.x.log, self.y.log).map(|p| (self.x.at(p.0), self.y.at(p.1))).collect()
    }

    pub fn shows(&self, (x, y): (f64, f64)) -> bool {
        const SLACK: f64 = 0.01;
        (self.x.from - SLACK..=self.x.to + SLACK).contains(&x)
            && (self.y.to - SLACK..=self.y.from + SLACK).contains(&y)
    }

    pub fn line(&self, line: &Line, colour: usize, pixels: &[(f64, f64)], svg: &mut String) {
        let mut path = String::new();
        let mut end = None;
        for piece in pixels.windows(2).filter_map(|pair| self.clip(pair[0], pair[1])) {
            if end != Some(piece.0) {
                let _ = write!(path, "M{:.1} {:.1}", piece.0.0, piece.0.1);
            }
            let _ = write!(path, "L{:.1} {:.1}", piece.1.0, piece.1.1);
            end = Some(piece.1);
        }
        let dashes = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
        let opacity =
            if line.pale > 0.0 { format!(" opacity=\"{:.2}\"", 1.0 - line.pale) } else { "".into() };
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"line c{colour}\"{dashes}{opacity} d=\"{path}\"/>");
        }
        if line.dots || path.is_empty() {
            for (x, y) in pixels.iter().filter(|p| self.shows(**p)) {
                let _ = write!(svg, "<circle class=\"t{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
            }
        }
    }

    /// The part of a segment that lies in the area.
    fn clip(&self, a: (f64, f64), b: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut from, mut to) = (0.0f64, 1.0f64);
        let sides = [
            (-dx, a.0 - self.x.from),
            (dx, self.x.to - a.0),
            (-dy, a.1 - self.y.to),
            (dy, self.y.from - a.1),
        ];
        for (outward, room) in sides {
            if outward == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if outward < 0.0 {
                from = from.max(room / outward);
            } else {
                to = to.min(room / outward);
            }
        }
        let point = |t: f64| (a.0 + t * dx, a.1 + t * dy);
        // Ends that are not cut stay exactly as they are, so that neighbouring segments join.
        let start = if from == 0.0 { a } else { point(from) };
        let stop = if to == 1.0 { b } else { point(to) };
        (from <= to).then_some((start, stop))
    }

    pub fn marks(&self, marks: &[(f64, String)], boxes: &mut Vec<Label>, svg: &mut String) {
        for (value, name) in marks {
            let x = self.x.at(*value);
            if !(self.x.from..=self.x.to).contains(&x) {
                continue;
            }
            let (top, bottom) = (self.y.to, self.y.from);
            let _ = write!(svg, "<path class=\"mark\" d=\"M{x:.1} {top}V{bottom}\"/>");
            let width = width_of(name);
            // Left of the line if there is no room on its right.
            let at = if x + width + 4.0 > WIDTH { x - width - 4.0 } else { x + 4.0 };
            let y = top + 10.0;
            boxes.push(Label { x: at, y: y - LETTERS + 3.0, width });
            let _ = write!(svg, "<text class=\"name\" x=\"{at:.1}\" y=\"{y}\">{}</text>", escape(name));
        }
    }
}

/// The points of a line that can be drawn on logarithmic or linear axes.
fn usable(line: &Line, log_x: bool, log_y: bool) -> impl Iterator<Item = (f64, f64)> {
    let fits = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
    line.points.iter().copied().filter(move |p| fits(p.0, log_x) && fits(p.1, log_y))
}

/// The range of some numbers, or the given one.
fn range(values: impl Iterator<Item = f64>, given: Option<(f64, f64)>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let found = values.fold(none, |(low, high), x| (low.min(x), high.max(x)));
    given.unwrap_or(if found.0 <= found.1 { found } else { (0.1, 1.0) })
}

fn with_unit(label: &str, exponent: i32) -> String {
    let unit = if exponent == 0 { String::new() } else { format!(" (×{})", power_of_ten(exponent)) };
    escape(label) + &unit
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn plot() -> Plot {
        Plot::new(&Chart { x_range: Some((0.0, 10.0)), y_range: Some((1.0, 100.0)), ..Chart::default() })
    }

    #[test]
    fn lines_end_at_the_edge_of_what_is_shown() {
        let plot = plot();
        let (a, b) = ((plot.x.at(0.0), plot.y.at(1000.0)), (plot.x.at(10.0), plot.y.at(10.0)));
        let (start, stop) = plot.clip(a, b).unwrap();
        assert!((start.1 - plot.y.to).abs() < 1e-9 && start.0 > a.0 && stop == b);
        assert!(plot.clip(a, (b.0, a.1)).is_none());
        assert_eq!(plot.clip(b, b), Some((b, b)));
    }
}
