//! Line charts as SVG: logarithmic or linear axes, few ticks, each line labelled at its end. Colours follow
//! the light or dark mode of the page.

use std::fmt::Write as _;

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
/// Height of a line of text, and the mean width of a letter.
const LETTERS: f64 = 13.0;
const LETTER: f64 = 6.3;
/// Distance from the end of a line to its name in the margin.
const LEAD: f64 = 12.0;

impl Chart {
    /// The chart as an SVG element.
    pub fn svg(&self) -> String {
        let above = if self.title.is_empty() { 0.0 } else { TITLE };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
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
    fn names(&self, plot: &Plot, drawn: &[Vec<(f64, f64)>], boxes: &mut Vec<Box>, svg: &mut String) {
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
            boxes.push(Box { x, y: y - LETTERS / 2.0, width: width_of(&name) });
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

/// The points of a line that can be drawn on logarithmic or linear axes.
fn usable(line: &Line, log_x: bool, log_y: bool) -> impl Iterator<Item = (f64, f64)> {
    let fits = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
    line.points.iter().copied().filter(move |p| fits(p.0, log_x) && fits(p.1, log_y))
}

/// One axis: its range, and its position.
struct Axis {
    /// The ends, as logarithms if the axis is logarithmic.
    low: f64,
    high: f64,
    log: bool,
    /// The pixels of the ends.
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// The ticks with their labels, and the power of ten that multiplies all labels.
    fn ticks(&self) -> (Vec<(f64, String)>, i32) {
        if self.log && self.high - self.low >= 0.5 {
            return (log_ticks(self.low, self.high).into_iter().map(|x| (x, short(x))).collect(), 0);
        }
        // Within half a decade, even steps suit a logarithmic axis as well.
        let (low, high) =
            if self.log { (10f64.powf(self.low), 10f64.powf(self.high)) } else { (self.low, self.high) };
        let largest = low.abs().max(high.abs());
        let exponent = if (1e-2..1e5).contains(&largest) { 0 } else { largest.log10().floor() as i32 };
        let unit = 10f64.powi(exponent);
        let step = nice_step((high - low) / 5.0);
        let digits = (-(step / unit).log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        // Adding zero turns −0 into 0.
        let label = |x: f64| format!("{:.digits$}", x / unit + 0.0);
        ((first..=last).map(|n| n as f64 * step).map(|x| (x, label(x))).collect(), exponent)
    }
}

/// The area where the lines are drawn.
struct Plot {
    x: Axis,
    y: Axis,
}

impl Plot {
    fn new(chart: &Chart) -> Self {
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
                from: LEFT,
                to: WIDTH - right,
            },
            y: Axis {
                low: y_low,
                high: wide(y_low, y_high),
                log: !chart.linear_y,
                from: HEIGHT - BOTTOM,
                to: TOP,
            },
        }
    }

    fn axes(&self, chart: &Chart, svg: &mut String) {
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
    fn pixels(&self, line: &Line) -> Vec<(f64, f64)> {
        usable(line, self.x.log, self.y.log).map(|p| (self.x.at(p.0), self.y.at(p.1))).collect()
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        const SLACK: f64 = 0.01;
        (self.x.from - SLACK..=self.x.to + SLACK).contains(&x)
            && (self.y.to - SLACK..=self.y.from + SLACK).contains(&y)
    }

    fn line(&self, line: &Line, colour: usize, pixels: &[(f64, f64)], svg: &mut String) {
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

    fn marks(&self, marks: &[(f64, String)], boxes: &mut Vec<Box>, svg: &mut String) {
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
            boxes.push(Box { x: at, y: y - LETTERS + 3.0, width });
            let _ = write!(svg, "<text class=\"name\" x=\"{at:.1}\" y=\"{y}\">{}</text>", escape(name));
        }
    }
}

/// The approximate width of a name; capitals are wider.
fn width_of(name: &str) -> f64 {
    name.chars().map(|letter| if letter.is_uppercase() { 1.5 * LETTER } else { LETTER }).sum()
}

/// The position of a name; its height is that of a line of text.
struct Box {
    x: f64,
    y: f64,
    width: f64,
}

impl Box {
    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.x - 2.0..self.x + self.width + 2.0).contains(&x) && (self.y..self.y + LETTERS).contains(&y)
    }

    fn covers(&self, other: &Box) -> bool {
        let beside = self.x + self.width < other.x || other.x + other.width < self.x;
        !beside && (self.y - other.y).abs() < LETTERS - 0.5
    }
}

/// The best place for a name near the end of its line: clear of other names, clear of lines if possible, and
/// close.
fn place(
    name: &str,
    end: (f64, f64),
    plot: &Plot,
    lines: &[Vec<(f64, f64)>],
    boxes: &mut Vec<Box>,
) -> (f64, f64) {
    let width = width_of(name);
    let x = (end.0 + 6.0).min(WIDTH - width);
    let candidate = |shift: f64| Box { x, y: end.1 - LETTERS / 2.0 + shift, width };
    let cost = |place: &Box, shift: f64| {
        let covered = boxes.iter().filter(|other| place.covers(other)).count();
        let crossed = lines.iter().filter(|line| crosses(line, place)).count();
        let outside = place.y < plot.y.to - LETTERS || place.y > plot.y.from - 4.0;
        shift.abs() + 60.0 * crossed as f64 + if outside { 500.0 } else { 0.0 } + 5000.0 * covered as f64
    };
    let shifts = (0..400).map(|n| if n % 2 == 0 { f64::from(n) } else { -f64::from(n + 1) } * 1.5);
    let best = shifts
        .map(|shift| (candidate(shift), shift))
        .map(|(place, shift)| (cost(&place, shift), place))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map_or_else(|| candidate(0.0), |(_, place)| place);
    let at = (best.x, best.y + LETTERS - 3.0);
    boxes.push(best);
    at
}

/// Moves names from the wanted heights so that they keep their order and do not overlap, with the least sum
/// of squared shifts.
fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Groups of neighbours that touch: the sum of the heights wanted for their first one, and their number.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (n, y) in wanted.iter().enumerate() {
        pools.push((y - LETTERS * n as f64, 1));
        while let [.., (a, m), (b, k)] = pools[..]
            && b / k as f64 <= a / m as f64
        {
            pools.truncate(pools.len() - 2);
            pools.push((a + b, m + k));
        }
    }
    let free = pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    let mut found: Vec<f64> = free.enumerate().map(|(n, y)| y + LETTERS * n as f64).collect();
    // Back into the plot: first up from the bottom, then down from the top.
    let mut limit = bottom;
    for y in found.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - LETTERS;
    }
    let mut limit = top;
    for y in &mut found {
        *y = y.max(limit);
        limit = *y + LETTERS;
    }
    found
}

/// Whether a line crosses a name, checked every few pixels.
fn crosses(line: &[(f64, f64)], place: &Box) -> bool {
    line.windows(2).any(|pair| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let pieces = (dx.abs().max(dy.abs()) / 4.0).clamp(1.0, 300.0) as usize;
        (0..=pieces).any(|n| {
            let t = n as f64 / pieces as f64;
            place.holds((pair[0].0 + t * dx, pair[0].1 + t * dy))
        })
    })
}

/// The style sheet of charts, light and dark. The colours are safe for the colour-blind (after Okabe & Ito,
/// with the light ones darkened so that text is legible). The page defines `--ink`, `--soft`, `--line` and
/// `--paper`.
pub fn style() -> String {
    const LIGHT: [&str; COLOURS] =
        ["#0072b2", "#c64a00", "#00805c", "#a8438a", "#1d1d1f", "#8a6a00", "#3a8fc7", "#6b6b70"];
    const DARK: [&str; COLOURS] =
        ["#6cb8f0", "#ff9a57", "#3fd0a4", "#e59ccb", "#f2f2f4", "#e3bf45", "#9ad4ff", "#a0a0a6"];
    let variables = |colours: [&str; COLOURS]| -> String {
        colours.iter().enumerate().map(|(c, colour)| format!("--c{c}:{colour};")).collect()
    };
    let classes: String =
        (0..COLOURS).map(|c| format!(".c{c}{{stroke:var(--c{c})}}svg .t{c}{{fill:var(--c{c})}}")).collect();
    format!(
        ":root{{{}}}@media(prefers-color-scheme:dark){{:root{{{}}}}}\
         svg text{{font:12px system-ui,sans-serif;fill:var(--soft)}}svg .title{{font-size:14px;fill:var(--ink)}}\
         svg .name{{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}}\
         .grid{{stroke:var(--line);fill:none}}.tick{{stroke:var(--soft);fill:none}}\
         .lead{{fill:none;stroke-width:.8}}.mark{{stroke:var(--soft);stroke-dasharray:2 3;fill:none}}.line{{fill:none;stroke-width:2;stroke-linejoin:round}}\
         {classes}",
        variables(LIGHT),
        variables(DARK)
    )
}

/// A self-contained picture of charts in several columns, light or dark.
pub fn sheet(charts: &[Chart], across: usize) -> String {
    const STYLE: &str = ":root{color-scheme:light dark;--ink:#1d1d1f;--soft:#5f5f66;--line:#e2e2e6;--paper:#fff}\
        @media(prefers-color-scheme:dark){:root{--ink:#e8e8ea;--soft:#a8a8ae;--line:#36363b;--paper:#161618}}\
        .paper{fill:var(--paper)}";
    let height = HEIGHT + TITLE + 8.0;
    let across = across.clamp(1, charts.len().max(1));
    let (wide, high) = (WIDTH * across as f64, height * charts.len().div_ceil(across) as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" height=\"{high}\">\
         <style>{STYLE}{}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>",
        style()
    );
    for (number, chart) in charts.iter().enumerate() {
        let (x, y) = (WIDTH * (number % across) as f64, height * (number / across) as f64);
        let high = if chart.title.is_empty() { HEIGHT } else { HEIGHT + TITLE };
        let place =
            format!("<svg x=\"{x}\" y=\"{}\" width=\"{WIDTH}\" height=\"{high}\"", y + height - high - 4.0);
        svg += &chart.svg().replacen("<svg", &place, 1);
    }
    svg + "</svg>\n"
}

/// Escapes the characters that have a meaning in XML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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

/// The smallest 1, 2 or 5 times a power of ten that is not below a number.
fn nice_step(x: f64) -> f64 {
    let decade = 10f64.powf(x.max(f64::MIN_POSITIVE).log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|f| f * decade).find(|step| *step >= x * 0.999).unwrap_or(10.0 * decade)
}

/// Round numbers between two powers of ten: decades, or finer if there are fewer than two of them.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades: Vec<i32> = (low.floor() as i32..=high.ceil() as i32).collect();
    let every = decades.len().div_ceil(8).max(1);
    let coarse = decades.iter().step_by(every).map(|d| 10f64.powi(*d));
    let fine = decades.iter().flat_map(|d| [1.0, 2.0, 3.0, 5.0, 7.0].map(|f| f * 10f64.powi(*d)));
    let inside = |y: &f64| (low..=high).contains(&y.log10());
    let coarse: Vec<f64> = coarse.filter(inside).collect();
    if coarse.len() >= 2 { coarse } else { fine.filter(inside).collect() }
}

/// A number in few characters.
fn short(x: f64) -> String {
    if x == 0.0 || (0.00999..9999.0).contains(&x) {
        let text = format!("{x:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let exponent = (x.log10() + 1e-9).floor() as i32;
    let digit = (x / 10f64.powi(exponent)).round();
    if digit == 1.0 { power_of_ten(exponent) } else { format!("{digit}×{}", power_of_ten(exponent)) }
}

fn power_of_ten(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.to_digit(10).unwrap_or(0) as usize],
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        Plot::new(&Chart { x_range: Some((0.0, 10.0)), y_range: Some((1.0, 100.0)), ..Chart::default() })
    }

    #[test]
    fn names_at_any_height_find_a_place() {
        let mut boxes = Vec::new();
        for n in 0..15 {
            place("some name", (300.0, 60.0 + 0.3 * f64::from(n % 17)), &plot(), &[], &mut boxes);
        }
        boxes.sort_by(|a, b| a.y.total_cmp(&b.y));
        assert!(boxes.windows(2).all(|pair| pair[1].y - pair[0].y >= LETTERS - 0.5));
        assert!(boxes.iter().all(|b| b.y >= TOP - LETTERS && b.y <= HEIGHT - BOTTOM));
    }

    #[test]
    fn names_in_the_margin_keep_their_order_and_their_distance() {
        let found = spread(&[20.0, 21.0, 22.0, 100.0, 199.0, 200.0], 14.0, 200.0);
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= LETTERS - 1e-9), "{found:?}");
        assert_eq!((found[3], found[5]), (100.0, 200.0));
        assert!(found[0] >= 14.0 && (found[1] - 27.0).abs() < 8.0, "{found:?}");
    }

    #[test]
    fn names_keep_off_other_lines() {
        let (mut boxes, end) = (Vec::new(), (300.0, 100.0));
        let flat = vec![(LEFT, 100.0), (600.0, 100.0)];
        let (_, y) = place("name", end, &plot(), &[flat], &mut boxes);
        assert!(!boxes[0].holds((310.0, 100.0)) && (y - 100.0).abs() < 25.0);
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

    #[test]
    fn ticks_are_round_numbers() {
        let axis = |low, high, log| Axis { low, high, log, from: 0.0, to: 100.0 };
        let labels =
            |axis: &Axis| axis.ticks().0.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(&axis(0.0, 1200.0, false)), "0 500 1000");
        assert_eq!(labels(&axis(0.0, 1.0, false)), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(
            (labels(&axis(8.1e6, 8.6e6, false)).as_str(), axis(8.1e6, 8.6e6, false).ticks().1),
            ("8.1 8.2 8.3 8.4 8.5 8.6", 6)
        );
        assert_eq!(labels(&axis(-7.0, 6.0, true)), "10⁻⁷ 10⁻⁵ 10⁻³ 0.1 10 1000 10⁵");
        assert_eq!(
            (labels(&axis(6.5, 6.7, true)).as_str(), axis(6.5, 6.7, true).ticks().1),
            ("3.5 4.0 4.5 5.0", 6)
        );
        assert_eq!(short(2e7), "2×10⁷");
    }

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
