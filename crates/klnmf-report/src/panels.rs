//! A picture of a sound and its model: waveforms, spectrograms and curves, one below the other.

use crate::html::escape;
use crate::picture::{base64, png};
use klnmf::Mat;
use std::fmt::Write as _;

/// Width of the picture.
pub const WIDTH: f64 = 960.0;
/// Width of the labels on the left.
pub const LABEL: f64 = 110.0;
/// Heights of a waveform, a spectrogram and a curve.
const WAVE: f64 = 44.0;
const IMAGE: f64 = 150.0;
const ROW: f64 = 22.0;
/// The largest number of columns and rows of an image.
const MOST: (usize, usize) = (800, 160);
/// The range shown, in decibels below the loudest entry.
pub const RANGE: f64 = 80.0;

/// Panels, one below the other.
pub struct Panels {
    body: String,
    y: f64,
}

/// Where a panel lies across the picture.
#[derive(Clone, Copy)]
pub struct Span {
    /// The left edge.
    pub x: f64,
    /// The width.
    pub width: f64,
}

impl Span {
    /// Everything right of the labels.
    pub const ALL: Span = Span { x: LABEL, width: WIDTH - LABEL };
}

impl Panels {
    /// No panels yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { body: String::new(), y: 8.0 }
    }

    /// Leaves a space.
    pub fn skip(&mut self, height: f64) {
        self.y += height;
    }

    fn label(&mut self, text: &str, height: f64) {
        let (x, y) = (LABEL - 8.0, self.y + height / 2.0 + 4.0);
        let text: String = text.chars().take(16).collect();
        let _ =
            write!(self.body, "<text x=\"{x}\" y=\"{y:.0}\" text-anchor=\"end\">{}</text>", escape(&text));
    }

    /// Draws the envelope of a signal on its own line: the lowest and the highest sample of every piece.
    pub fn wave(&mut self, name: &str, envelope: &[(f64, f64)], peak: f64, colour: usize) {
        self.label(name, WAVE);
        self.wave_in(Span::ALL, envelope, peak, colour);
        self.y += WAVE + 4.0;
    }

    /// Draws the pieces, several together if there are more than the picture has columns.
    fn wave_in(&mut self, span: Span, envelope: &[(f64, f64)], peak: f64, colour: usize) {
        let middle = self.y + WAVE / 2.0;
        let columns = (span.width as usize).min(envelope.len());
        let together = |pieces: &[(f64, f64)]| {
            pieces.iter().fold((0.0f64, 0.0f64), |(l, h), (low, high)| (l.min(*low), h.max(*high)))
        };
        let piece = |c: usize| c * envelope.len() / columns..(c + 1) * envelope.len() / columns;
        let pieces = (0..columns).map(|c| together(&envelope[piece(c)]));
        let (mut upper, mut lower) = (String::new(), Vec::new());
        for (c, (low, high)) in pieces.enumerate() {
            let x = span.x + c as f64 * span.width / columns as f64;
            let _ = write!(upper, "{x:.1},{:.1} ", middle - high / peak * WAVE / 2.0);
            lower.push(format!("{x:.1},{:.1} ", middle - low / peak * WAVE / 2.0));
        }
        lower.reverse();
        let _ =
            write!(self.body, "<polygon class=\"w{}\" points=\"{upper}{}\"/>", colour % 6, lower.concat());
    }

    /// Draws a matrix of powers as an image in decibels, with low frequencies at the bottom.
    pub fn image(&mut self, name: &str, v: &Mat<f64>) {
        self.label(name, IMAGE);
        let levels = decibels(v, MOST);
        let (rows, cols) = (levels.rows(), levels.cols());
        let mut pixels = Vec::with_capacity(rows * cols);
        for i in (0..rows).rev() {
            pixels.extend((0..cols).map(|j| (255.0 * levels[(i, j)] / RANGE + 255.0) as u8));
        }
        if let Some(png) = png(&pixels, cols, rows) {
            let _ = write!(
                self.body,
                "<image x=\"{LABEL}\" y=\"{}\" width=\"{}\" height=\"{IMAGE}\" preserveAspectRatio=\"none\" \
                 href=\"data:image/png;base64,{}\"/>",
                self.y,
                WIDTH - LABEL,
                base64(&png)
            );
        }
        self.y += IMAGE + 8.0;
    }

    /// Writes the range of frequencies beside the image that was drawn last, from 0 at the bottom.
    pub fn frequencies(&mut self, hertz: f64) {
        let (x, bottom) = (LABEL - 8.0, self.y - 10.0);
        for (y, text) in [(bottom - IMAGE + 12.0, kilohertz(hertz)), (bottom, "0 kHz".into())] {
            let _ = write!(self.body, "<text x=\"{x}\" y=\"{y:.0}\" text-anchor=\"end\">{text}</text>");
        }
    }

    /// Draws a scale for each panel above: marks from 0 to `end`, and the unit at the last one.
    pub fn scales(&mut self, scales: &[(Span, f64, &str)]) {
        for (span, end, unit) in scales {
            let marks = marks(*end, (span.width / 70.0) as usize);
            for (n, mark) in marks.iter().enumerate() {
                let (x, y) = (span.x + span.width * mark / end, self.y);
                let unit = if n + 1 == marks.len() { format!(" {unit}") } else { String::new() };
                // At the right edge there is no room for half of the text.
                let anchor = if span.x + span.width - x < 20.0 { "end" } else { "middle" };
                let _ = write!(
                    self.body,
                    "<path class=\"tick\" d=\"M{x:.1} {y:.1}v4\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
                     text-anchor=\"{anchor}\">{mark}{unit}</text>",
                    y + 14.0
                );
            }
        }
        self.y += 22.0;
    }

    /// Draws two curves side by side on one line.
    pub fn curves(&mut self, name: &str, curves: [(Span, &[f64]); 2], colour: usize) {
        self.label(name, ROW);
        for (span, values) in curves {
            self.curve(values, span, ROW, colour);
        }
        self.y += ROW + 2.0;
    }

    /// Draws a curve and a waveform side by side.
    pub fn curve_and_wave(
        &mut self,
        name: &str,
        (left, values): (Span, &[f64]),
        (right, envelope, peak): (Span, &[(f64, f64)], f64),
        colour: usize,
    ) {
        self.label(name, WAVE);
        self.curve(values, left, WAVE, colour);
        self.wave_in(right, envelope, peak, colour);
        self.y += WAVE + 4.0;
    }

    /// Writes headings above the next panels.
    pub fn heads(&mut self, heads: [(Span, &str); 2]) {
        for (span, text) in heads {
            let (x, y) = (span.x, self.y + 10.0);
            let _ = write!(self.body, "<text x=\"{x}\" y=\"{y:.0}\">{}</text>", escape(text));
        }
        self.y += 16.0;
    }

    /// Fills the area under a curve, with the largest value of each pixel column.
    fn curve(&mut self, values: &[f64], span: Span, height: f64, colour: usize) {
        let most = values.iter().copied().fold(0.0, f64::max);
        let columns = (span.width as usize).min(values.len()).max(1);
        let base = self.y + height;
        let mut points = format!("{:.1},{base:.1} ", span.x);
        for c in 0..columns {
            let piece = &values[c * values.len() / columns..(c + 1) * values.len() / columns];
            let high = piece.iter().copied().fold(0.0, f64::max);
            let up = if most > 0.0 { high / most * height } else { 0.0 };
            let x = span.x + (c as f64 + 0.5) * span.width / columns as f64;
            let _ = write!(points, "{x:.1},{:.1} ", base - up);
        }
        let end = span.x + span.width;
        let _ =
            write!(self.body, "<polygon class=\"w{}\" points=\"{points}{end:.1},{base:.1}\"/>", colour % 6);
    }

    /// The picture, with a description for screen readers.
    pub fn finish(self, description: &str) -> String {
        let height = self.y + 4.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"{}\"><style>\
             text{{font:11px system-ui,sans-serif;fill:#63656e}}.w0{{fill:#5b5d66}}.w1{{fill:#2f74b5}}\
             .w2{{fill:#c05a12}}\
             .tick{{stroke:#63656e}}.w3{{fill:#2b8a4b}}.w4{{fill:#8a4fb0}}.w5{{fill:#a3801a}}image{{image-rendering:auto}}\
             @media(prefers-color-scheme:dark){{text{{fill:#a2a4ae}}.w0{{fill:#b4b6c0}}.w1{{fill:#74a9e2}}\
             .w2{{fill:#e7a15a}}\
             .tick{{stroke:#a2a4ae}}.w3{{fill:#7fc98f}}.w4{{fill:#c49be0}}.w5{{fill:#d8bf5f}}}}</style>{}</svg>\n",
            escape(description),
            self.body
        )
    }
}

fn kilohertz(hertz: f64) -> String {
    format!("{} kHz", (hertz / 100.0).round() / 10.0)
}

/// At most so many round numbers from 0 to `end`, at equal distances of 1, 2 or 5 times a power of ten.
fn marks(end: f64, most: usize) -> Vec<f64> {
    if !(end > 0.0 && end.is_finite()) {
        return Vec::new();
    }
    let least = end / most.max(2) as f64;
    let exponent = least.log10().floor() as i32;
    // Whole powers are multiplied or divided by, so that 0.3 is written as 0.3.
    let times = |n: f64| if exponent < 0 { n / 10f64.powi(-exponent) } else { n * 10f64.powi(exponent) };
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| times(*step) >= least).unwrap_or(10.0);
    (0..).map(|n| times(n as f64 * step)).take_while(|mark| *mark <= end).collect()
}

/// Splits a signal into at most `columns` pieces: the lowest and the highest sample of each, zero included.
pub fn envelope(signal: &[f64], columns: usize) -> Vec<(f64, f64)> {
    let columns = columns.min(signal.len()).max(1);
    let piece = |c: usize| &signal[c * signal.len() / columns..(c + 1) * signal.len() / columns];
    let ends = |piece: &[f64]| piece.iter().fold((0.0f64, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
    (0..columns).map(|c| ends(piece(c))).collect()
}

/// Powers in decibels relative to the largest, at least −[`RANGE`]. The matrix is reduced to at most `most`
/// columns and rows, with the largest entry of each cell.
pub fn decibels(v: &Mat<f64>, most: (usize, usize)) -> Mat<f64> {
    let (cols, rows) = (v.cols().min(most.0), v.rows().min(most.1));
    let part = |n: usize, of: usize, all: usize| n * all / of..((n + 1) * all / of).max(n * all / of + 1);
    let mut small = Mat::from_fn(rows, cols, |i, j| {
        let cells = part(j, cols, v.cols()).flat_map(|j| part(i, rows, v.rows()).map(move |i| v[(i, j)]));
        cells.fold(0.0, f64::max)
    });
    let loudest = small.as_slice().iter().copied().fold(0.0, f64::max);
    let level = |x: f64| if loudest > 0.0 { 10.0 * (x / loudest).log10() } else { -RANGE };
    small.as_mut_slice().iter_mut().for_each(|x| *x = level(*x).clamp(-RANGE, 0.0));
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round() {
        assert_eq!(marks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(marks(0.7, 8), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(marks(137.0, 4), [0.0, 50.0, 100.0]);
        assert!(marks(0.0, 5).is_empty() && marks(f64::NAN, 5).is_empty());
        for end in [1e-3, 0.04, 1.0, 3.3, 59.0, 7261.5, 1e6] {
            let marks = marks(end, 8);
            assert!((3..=10).contains(&marks.len()) && marks.iter().all(|mark| mark.to_string().len() < 8));
        }
    }

    #[test]
    fn scales_have_units() {
        let mut panels = Panels::new();
        panels.scales(&[(Span::ALL, 12.0, "s")]);
        panels.frequencies(8000.0);
        assert!(panels.body.contains(">12 s<") && panels.body.contains(">8 kHz<"), "{}", panels.body);
    }

    #[test]
    fn a_steady_wave_is_drawn_without_gaps() {
        for pieces in [1, 400, 850, 1600, 5000] {
            let mut panels = Panels::new();
            panels.wave("", &vec![(-1.0, 1.0); pieces], 1.0, 0);
            let polygon = panels.body.split("points=\"").nth(1).expect("a polygon");
            let heights: Vec<&str> =
                polygon.split(['"', ' ']).filter_map(|point| point.split(',').nth(1)).collect();
            let (upper, lower) = heights.split_at(pieces.min(850));
            assert!(upper.iter().all(|y| *y == upper[0]) && upper[0] != lower[0], "{pieces}: {polygon}");
            assert_eq!(lower[..upper.len()], vec![lower[0]; upper.len()]);
        }
    }
}
