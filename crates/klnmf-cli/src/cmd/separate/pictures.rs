//! The recording, its spectrogram, the model and the stems in one picture, as in the paper's last figure.

use super::model::Sources;
use super::scene::Scene;
use super::thumbnail::Thumbnail;
use std::fmt::Write as _;

/// Width of the picture, of its labels, and heights of a waveform, a spectrogram and a line of the model.
const WIDTH: f64 = 960.0;
const LABEL: f64 = 110.0;
const WAVE: f64 = 44.0;
const IMAGE: f64 = 150.0;
const ROW: f64 = 22.0;
/// Columns of an image at most.
const MOST_COLUMNS: usize = 800;
/// The decibels below the loudest that are still shown.
const RANGE: f64 = 80.0;
/// Components that are drawn.
const MOST_ROWS: usize = 24;

/// What is drawn.
pub struct Pictures<'a> {
    pub scene: &'a Scene,
    pub sources: &'a Sources,
    /// The stems.
    pub waves: &'a [Thumbnail],
}

impl Pictures<'_> {
    pub fn svg(&self) -> String {
        let mut panels = Panels { body: String::new(), y: 8.0 };
        let peak = self.scene.peak.max(1e-12);
        panels.wave("recording", &self.scene.wave, peak, 0);
        panels.image("spectrogram, dB", &self.scene.spectrogram);
        panels.model(self.sources);
        for (n, (name, wave)) in self.sources.names.iter().zip(self.waves).enumerate().take(MOST_ROWS) {
            panels.wave(name, wave, peak, n + 1);
        }
        panels.finish()
    }
}

/// Panels below one another.
struct Panels {
    body: String,
    y: f64,
}

impl Panels {
    fn label(&mut self, text: &str, height: f64) {
        let (x, y) = (LABEL - 8.0, self.y + height / 2.0 + 4.0);
        let text: String = text.chars().take(16).collect();
        let _ =
            write!(self.body, "<text x=\"{x}\" y=\"{y:.0}\" text-anchor=\"end\">{}</text>", escape(&text));
    }

    /// The envelope of a signal.
    fn wave(&mut self, name: &str, wave: &Thumbnail, peak: f64, colour: usize) {
        self.label(name, WAVE);
        let columns = ((WIDTH - LABEL) as usize).min(wave.cols()).max(1);
        let middle = self.y + WAVE / 2.0;
        let [low, high] = [0, 1].map(|i| thin(&wave.row(i), columns));
        let (mut upper, mut lower) = (String::new(), Vec::new());
        for (c, (low, high)) in low.iter().zip(&high).enumerate() {
            let x = LABEL + c as f64 * (WIDTH - LABEL) / columns as f64;
            let _ = write!(upper, "{x:.1},{:.1} ", middle - high / peak * WAVE / 2.0);
            lower.push(format!("{x:.1},{:.1} ", middle + low / peak * WAVE / 2.0));
        }
        lower.reverse();
        let _ =
            write!(self.body, "<polygon class=\"w{}\" points=\"{upper}{}\"/>", colour % 6, lower.concat());
        self.y += WAVE + 4.0;
    }

    /// A matrix in decibels, low frequencies at the bottom, as an image of its own.
    fn image(&mut self, name: &str, v: &Thumbnail) {
        self.label(name, IMAGE);
        let (cols, rows) = (v.cols().min(MOST_COLUMNS), v.rows());
        let most = (0..rows).flat_map(|i| v.row(i)).fold(0.0, f64::max);
        let mut pixels = Vec::with_capacity(rows * cols);
        for i in (0..rows).rev() {
            for x in thin(&v.row(i), cols) {
                let decibels = if most > 0.0 { 10.0 * (x / most).log10() } else { -RANGE };
                pixels.push((255.0 * (decibels / RANGE).clamp(-1.0, 0.0) + 255.0) as u8);
            }
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

    /// For the loudest components of every source the spectrum on the left and the activation on the right.
    fn model(&mut self, sources: &Sources) {
        let (left, gap) = (220.0, 16.0);
        let loudness = &sources.loudness;
        let each = (MOST_ROWS / sources.groups.len().max(1)).max(1);
        let loudest = |group: &Vec<usize>| {
            let mut group = group.clone();
            group.sort_by(|a, b| loudness[*b].total_cmp(&loudness[*a]));
            group.truncate(each);
            group
        };
        let members = sources.groups.iter().map(loudest).enumerate();
        for (s, k) in members.flat_map(|(s, group)| group.into_iter().map(move |k| (s, k))).take(MOST_ROWS) {
            self.label(&format!("{} · {}", sources.names[s], k + 1), ROW);
            // The ear hears ratios: square roots of the spectrum bring out what is faint.
            let spectrum: Vec<f64> = sources.w.col(k).iter().map(|x| x.sqrt()).collect();
            self.curve(&spectrum, LABEL, left, s + 1);
            self.curve(&sources.activations.row(k), LABEL + left + gap, WIDTH - LABEL - left - gap, s + 1);
            self.y += ROW + 2.0;
        }
        self.y += 8.0;
    }

    /// An area under the largest values of a curve.
    fn curve(&mut self, values: &[f64], x: f64, width: f64, colour: usize) {
        let most = values.iter().copied().fold(0.0, f64::max);
        let columns = (width as usize).min(values.len()).max(1);
        let base = self.y + ROW;
        let mut points = format!("{x:.1},{base:.1} ");
        for (c, high) in thin(values, columns).into_iter().enumerate() {
            let height = if most > 0.0 { high / most * ROW } else { 0.0 };
            let _ =
                write!(points, "{:.1},{:.1} ", x + (c as f64 + 0.5) * width / columns as f64, base - height);
        }
        let _ = write!(
            self.body,
            "<polygon class=\"w{}\" points=\"{points}{:.1},{base:.1}\"/>",
            colour % 6,
            x + width
        );
    }

    fn finish(self) -> String {
        let height = self.y + 4.0;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"the recording, its spectrogram, spectra and activations, and the stems\"><style>\
             text{{font:11px system-ui,sans-serif;fill:#63656e}}.w0{{fill:#5b5d66}}.w1{{fill:#2f74b5}}.w2{{fill:#c05a12}}\
             .w3{{fill:#2b8a4b}}.w4{{fill:#8a4fb0}}.w5{{fill:#a3801a}}image{{image-rendering:auto}}\
             @media(prefers-color-scheme:dark){{text{{fill:#a2a4ae}}.w0{{fill:#b4b6c0}}.w1{{fill:#74a9e2}}.w2{{fill:#e7a15a}}\
             .w3{{fill:#7fc98f}}.w4{{fill:#c49be0}}.w5{{fill:#d8bf5f}}}}</style>{}</svg>\n",
            self.body
        )
    }
}

/// The largest values in each of `columns` equal parts.
fn thin(values: &[f64], columns: usize) -> Vec<f64> {
    let part = |c: usize| &values[c * values.len() / columns..(c + 1) * values.len() / columns];
    (0..columns).map(|c| part(c).iter().copied().fold(0.0, f64::max)).collect()
}

/// A grey image.
fn png(pixels: &[u8], width: usize, height: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels).ok()?;
    writer.finish().ok()?;
    Some(bytes)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        for n in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize];
            text.push(if n <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
