//! The parts of a report: as images, as bars over all rows, or as a list of the largest rows.

use crate::html::escape;
use crate::picture::{base64, png};
use klnmf::{Mat, Scalar};
use minijinja::{Value, context};
use std::fmt::Write as _;

/// The rows in a list.
const LISTED: usize = 8;
/// With more rows than this, bars would be too thin to tell apart.
const MOST_BARS: usize = 240;
/// An image has at least this many pixels on a side.
const LEAST_SIDE: usize = 8;
/// Size of the bars.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 64.0;

/// How parts are drawn.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Square images of this side.
    Images(usize),
    /// One bar for every row.
    Bars,
    /// The largest rows only.
    Rows,
}

/// The columns of W, with the names of their rows.
pub(crate) struct Parts<'a, T> {
    w: &'a Mat<T>,
    names: Option<&'a [String]>,
    kind: Kind,
}

impl<'a, T: Scalar> Parts<'a, T> {
    /// Chooses by the data: rows without names that fill a square are pixels, and few rows are bars.
    pub(crate) fn new(w: &'a Mat<T>, names: Option<&'a [String]>) -> Self {
        let side = w.rows().isqrt();
        let kind = if names.is_none() && side >= LEAST_SIDE && side * side == w.rows() {
            Kind::Images(side)
        } else if w.rows() <= MOST_BARS {
            Kind::Bars
        } else {
            Kind::Rows
        };
        Self { w, names, kind }
    }

    /// A sentence on how the parts are drawn.
    pub(crate) fn about(&self) -> String {
        let rows = self.w.rows();
        match self.kind {
            Kind::Images(side) => format!(
                "Each part as an image of {side} × {side} pixels, row after row: V has no row names, and its \
                 {rows} rows fill a square."
            ),
            Kind::Bars if self.names.is_some() => {
                format!("Each part as bars over all {rows} rows of V in their order, then its largest rows.")
            }
            Kind::Bars => format!("Each part as bars over all {rows} rows of V in their order."),
            Kind::Rows => format!("Each part by its largest rows, of {rows}."),
        }
    }

    fn column(&self, part: usize) -> (Vec<f64>, f64) {
        let column: Vec<f64> = self.w.col(part).iter().map(|x| x.to_f64()).collect();
        let most = column.iter().copied().fold(0.0, f64::max);
        (column, most)
    }

    /// The picture of a part; empty if there is none.
    pub(crate) fn picture(&self, part: usize) -> String {
        let (column, most) = self.column(part);
        let most = most.max(f64::MIN_POSITIVE);
        match self.kind {
            Kind::Images(side) => {
                let pixels: Vec<u8> = column.iter().map(|x| (255.0 * (1.0 - x / most)) as u8).collect();
                let Some(png) = png(&pixels, side, side) else { return String::new() };
                let data = base64(&png);
                format!("<img class=\"image\" alt=\"part{}\" src=\"data:image/png;base64,{data}\">", part + 1)
            }
            Kind::Bars => self.bars(part, &column, most),
            Kind::Rows => String::new(),
        }
    }

    fn bars(&self, part: usize, column: &[f64], most: f64) -> String {
        let step = WIDTH / column.len() as f64;
        let mut svg = format!(
            "<svg class=\"bars\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"part{} as bars\">",
            HEIGHT + 14.0,
            part + 1
        );
        for (i, x) in column.iter().enumerate().filter(|(_, x)| **x > 0.002 * most) {
            let (height, name) = (HEIGHT * x / most, escape(&self.name(i)));
            // Writing to a String cannot fail.
            let _ = write!(
                svg,
                "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{height:.1}\"><title>{name}: \
                 {x:.4}</title></rect>",
                i as f64 * step,
                HEIGHT - height,
                0.85 * step
            );
        }
        let (first, last) = (self.name(0), self.name(column.len() - 1));
        let _ = write!(
            svg,
            "<path d=\"M0 {HEIGHT}H{WIDTH}\"/><text x=\"0\" y=\"{y}\">{}</text><text x=\"{WIDTH}\" y=\"{y}\" \
             text-anchor=\"end\">{}</text></svg>",
            escape(&short(&first)),
            escape(&short(&last)),
            y = HEIGHT + 11.0
        );
        svg
    }

    /// The largest rows of a part; none without names, where a picture says more.
    pub(crate) fn largest(&self, part: usize) -> Vec<Value> {
        if self.names.is_none() && self.kind != Kind::Rows {
            return Vec::new();
        }
        let (column, most) = self.column(part);
        let mut order: Vec<usize> = (0..column.len()).filter(|&i| column[i] > 0.0).collect();
        order.sort_by(|&a, &b| column[b].total_cmp(&column[a]));
        order.truncate(LISTED);
        let row = |&i: &usize| {
            let width = format!("{:.1}", 100.0 * column[i] / most);
            context! { name => self.name(i), width, value => format!("{:.4}", column[i]) }
        };
        order.iter().map(row).collect()
    }

    fn name(&self, row: usize) -> String {
        self.names.map_or_else(|| format!("row {row}"), |names| names[row].clone())
    }
}

/// The beginning of a name, for places with little room.
pub(crate) fn short(name: &str) -> String {
    match name.char_indices().nth(16) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drawing_depends_on_the_data() {
        let names = |n: usize| (0..n).map(|i| format!("n{i}")).collect::<Vec<_>>();
        let of = |rows: usize, named: bool| {
            let (w, names) = (Mat::<f64>::from_fn(rows, 1, |i, _| i as f64), names(rows));
            let parts = Parts::new(&w, named.then_some(&names[..]));
            (parts.kind, parts.picture(0), parts.largest(0).len())
        };
        let (kind, picture, listed) = of(361, false);
        assert!(kind == Kind::Images(19) && picture.starts_with("<img") && listed == 0);
        let (kind, picture, listed) = of(96, true);
        assert!(kind == Kind::Bars && picture.matches("<rect").count() == 95 && listed == LISTED);
        let (kind, picture, listed) = of(5000, true);
        assert!(kind == Kind::Rows && picture.is_empty() && listed == LISTED);
        // An image needs no names, and a square; named pixels are words like any other.
        assert!(
            of(361, true).0 == Kind::Rows && of(96, false).0 == Kind::Bars && of(49, false).0 == Kind::Bars
        );
    }

    #[test]
    fn a_part_of_zeros_is_drawn() {
        for rows in [1, 64, 96] {
            let w = Mat::<f32>::zeros(rows, 1);
            let parts = Parts::new(&w, None);
            let picture = parts.picture(0);
            assert!(!picture.contains("NaN") && parts.largest(0).is_empty(), "{picture}");
        }
    }
}
