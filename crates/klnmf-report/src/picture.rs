//! Parts as pictures: a grid of small grey images, as PNG and as SVG.

use anyhow::Context;
use klnmf::Mat;
use std::fmt::Write as _;

/// A matrix whose columns are shown as images.
pub struct Grid<'a> {
    /// One image per column.
    pub images: &'a Mat<f64>,
    /// Width of an image in pixels; row y·width + x of the matrix is pixel (x, y).
    pub width: usize,
    /// Images per row.
    pub across: usize,
    /// A label under every image, in the SVG.
    pub labels: Vec<String>,
}

/// Screen pixels per pixel of an image, and between two images.
const ZOOM: usize = 4;
const GUTTER: usize = 8;

impl Grid<'_> {
    fn height(&self) -> usize {
        self.images.rows() / self.width
    }

    /// Darkness from 0 to 1, relative to the darkest pixel of the image.
    fn shade(&self, image: usize, x: usize, y: usize) -> f64 {
        let column = self.images.col(image);
        let most = column.iter().copied().fold(0.0, f64::max);
        if most > 0.0 { column[y * self.width + x] / most } else { 0.0 }
    }

    /// The grid as a grey PNG, dark on light, with its width and height.
    ///
    /// # Errors
    /// If the picture is larger than a PNG can be.
    pub fn png(&self) -> anyhow::Result<(Vec<u8>, usize, usize)> {
        let (cell_w, cell_h) = (self.width * ZOOM + GUTTER, self.height() * ZOOM + GUTTER);
        let down = self.images.cols().div_ceil(self.across);
        let (w, h) = (self.across * cell_w + GUTTER, down * cell_h + GUTTER);
        let mut pixels = vec![0xc0u8; w * h];
        for image in 0..self.images.cols() {
            let (left, top) = (GUTTER + image % self.across * cell_w, GUTTER + image / self.across * cell_h);
            for y in 0..self.height() * ZOOM {
                for x in 0..self.width * ZOOM {
                    let shade = self.shade(image, x / ZOOM, y / ZOOM);
                    pixels[(top + y) * w + left + x] = (255.0 * (1.0 - shade)) as u8;
                }
            }
        }
        Ok((png(&pixels, w, h).context("cannot draw the picture: it is too large")?, w, h))
    }

    /// The grid as SVG, with labels. Colours follow the light or dark mode of the page.
    pub fn svg(&self) -> String {
        let (cell_w, cell_h) = (self.width as f64 + 4.0, self.height() as f64 + 10.0);
        let down = self.images.cols().div_ceil(self.across);
        let (w, h) = (self.across as f64 * cell_w + 4.0, down as f64 * cell_h + 2.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{}\" role=\"img\" \
             aria-label=\"parts as images\"><style>.f{{fill:#fff;stroke:#999;stroke-width:.3}}\
             .p{{fill:#111}}text.l{{font:5px sans-serif;fill:#555}}\
             @media(prefers-color-scheme:dark){{.f{{fill:#1b1b1b;stroke:#666}}.p{{fill:#eee}}\
             text.l{{fill:#aaa}}}}</style>",
            w * 4.0
        );
        for image in 0..self.images.cols() {
            let (left, top) =
                (4.0 + (image % self.across) as f64 * cell_w, 2.0 + (image / self.across) as f64 * cell_h);
            let (width, height) = (self.width, self.height());
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                "<rect class=\"f\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>"
            );
            for y in 0..height {
                for x in 0..width {
                    let shade = self.shade(image, x, y);
                    if shade > 0.02 {
                        let (x, y) = (left + x as f64, top + y as f64);
                        let _ = write!(
                            svg,
                            "<rect class=\"p\" x=\"{x}\" y=\"{y}\" width=\"1\" height=\"1\" \
                             opacity=\"{shade:.2}\"/>"
                        );
                    }
                }
            }
            let _ = write!(
                svg,
                "<text class=\"l\" x=\"{left}\" y=\"{}\">{}</text>",
                top + height as f64 + 5.0,
                self.labels.get(image).map_or("", String::as_str)
            );
        }
        svg + "</svg>\n"
    }
}

/// A grey image as PNG.
pub fn png(pixels: &[u8], width: usize, height: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(pixels).ok()?;
    writer.finish().ok()?;
    Some(bytes)
}

/// Base64, for pictures embedded in a page.
pub fn base64(bytes: &[u8]) -> String {
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
