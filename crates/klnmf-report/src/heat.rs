//! The weights of a report as a heat map: a row for every part, a column for every sample.

use crate::html::escape;
use crate::parts::short;
use crate::picture::{base64, png};
use klnmf::{Mat, Scalar};
use std::fmt::Write as _;

/// The largest number of samples that are shown.
const MOST: usize = 300;
/// The largest number of labels below.
const LABELS: usize = 40;
/// Sizes of the picture.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 64.0;
const ROW: f64 = 14.0;
/// Width of a letter below.
const LETTER: f64 = 6.0;

/// A sentence on what is shown.
pub(crate) fn about(samples: usize, named: bool) -> String {
    let which = if samples > MOST {
        format!("{MOST} of {samples} samples, evenly chosen")
    } else {
        "All samples".into()
    };
    let labels = if named { "" } else { ", which are numbered from 0" };
    format!(
        "{which}{labels}. Each column is a sample, in the order of its largest part. The stronger the tone, the \
         larger the share of the part in the sample, from 0 to 100 %."
    )
}

/// The heat map of these parts.
pub(crate) fn map<T: Scalar>(h: &Mat<T>, parts: &[usize], names: Option<&[String]>) -> String {
    let samples = chosen(h, parts);
    let (rows, cols) = (parts.len(), samples.len());
    let pixels: Vec<u8> = parts
        .iter()
        .flat_map(|&k| samples.iter().map(move |&j| (255.0 * (1.0 - share(h, k, j))) as u8))
        .collect();
    let Some(png) = png(&pixels, cols, rows) else { return String::new() };
    let (height, wide) = (ROW * rows as f64, WIDTH - LEFT);
    let name = |j: usize| names.map_or_else(|| j.to_string(), |names| short(&names[j]));
    let longest = samples.iter().map(|&j| name(j).chars().count()).max().unwrap_or(0);
    let mut svg = format!(
        "<svg class=\"heat\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"shares of {rows} parts in \
         {cols} samples\"><image x=\"{LEFT}\" width=\"{wide}\" height=\"{height}\" \
         preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/><rect x=\"{LEFT}\" width=\"{wide}\" \
         height=\"{height}\"/>",
        height + 12.0 + LETTER * longest as f64,
        base64(&png)
    );
    for (row, k) in parts.iter().enumerate() {
        // Writing to a String cannot fail.
        let y = ROW * (row as f64 + 0.5) + 4.0;
        let _ = write!(svg, "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\">part{}</text>", LEFT - 6.0, k + 1);
    }
    let every = cols.div_ceil(LABELS).max(1);
    for column in (0..cols).step_by(every) {
        let (x, y) = (LEFT + wide * (column as f64 + 0.5) / cols as f64 + 4.0, height + 6.0);
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"end\" transform=\"rotate(-90 {x:.1} {y})\">{}</text>",
            escape(&name(samples[column]))
        );
    }
    svg + "</svg>"
}

/// The share of a part in a sample, from 0 to 1.
fn share<T: Scalar>(h: &Mat<T>, part: usize, sample: usize) -> f64 {
    let sum: f64 = h.col(sample).iter().map(|x| x.to_f64()).sum();
    if sum > 0.0 { h[(part, sample)].to_f64() / sum } else { 0.0 }
}

/// At most [`MOST`] samples, ordered by their largest part, and by its share within.
fn chosen<T: Scalar>(h: &Mat<T>, parts: &[usize]) -> Vec<usize> {
    let key = |j: usize| {
        let shares = parts.iter().map(|&k| share(h, k, j));
        shares.enumerate().fold((0, 0.0), |best, (row, x)| if x > best.1 { (row, x) } else { best })
    };
    let mut all: Vec<((usize, f64), usize)> = (0..h.cols()).map(|j| (key(j), j)).collect();
    all.sort_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let shown = all.len().min(MOST);
    (0..shown).map(|n| all[n * all.len() / shown].1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_by_their_largest_part() {
        let h = Mat::from_rows(&[&[1.0, 9.0, 0.0, 5.0], &[9.0, 1.0, 0.0, 4.0], &[0.0; 4]]);
        assert_eq!(chosen(&h, &[0, 1, 2]), [1, 3, 2, 0]);
        // The rows may have another order than the parts.
        assert_eq!(chosen(&h, &[1, 0, 2]), [0, 2, 1, 3]);
        assert_eq!(share(&h, 0, 3), 5.0 / 9.0);
        let many = Mat::<f32>::from_fn(2, 1000, |k, j| ((j + k) % 7) as f32);
        let mut some = chosen(&many, &[0, 1]);
        some.dedup();
        assert_eq!(some.len(), MOST);
    }

    #[test]
    fn names_are_escaped_and_numbers_stand_for_them() {
        let h = Mat::from_rows(&[&[1.0, 2.0]]);
        let svg = map(&h, &[0], Some(&["<a>".into(), "b".into()]));
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("<a>") && svg.contains("part1"));
        assert!(map(&h, &[0], None).contains(">0</text>"));
    }
}
