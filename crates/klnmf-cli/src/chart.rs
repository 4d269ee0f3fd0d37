//! Line charts as SVG: logarithmic axes, few ticks, each line named where it ends. Colours follow the page's.

use std::fmt::Write as _;

/// A line of a chart.
pub struct Line {
    /// Its name, written at its end.
    pub name: String,
    /// Its points; those that are not finite, or not positive, are left out.
    pub points: Vec<(f64, f64)>,
}

/// A chart with a logarithmic y axis.
pub struct Chart {
    /// What is on the x axis.
    pub x_label: &'static str,
    /// What is on the y axis.
    pub y_label: &'static str,
    /// Up to eight lines.
    pub lines: Vec<Line>,
    /// Whether the x axis is logarithmic too; then it shows what is right of the first point.
    pub log_x: bool,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
/// Room for labels: left, right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 90.0, 12.0, 40.0);

impl Chart {
    /// The chart as an SVG element.
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(usable);
        let x_max = points().map(|p| p.0).fold(0.0, f64::max).max(1e-9);
        let (mut low, mut high) =
            points().fold((f64::INFINITY, 0.0f64), |(l, h), p| (l.min(p.1), h.max(p.1)));
        if low > high {
            (low, high) = (0.1, 1.0);
        }
        let (low, high) = ((low / 1.2).log10(), (high * 1.2).log10());
        let (left, right, top, bottom) = MARGIN;
        let x_min = points().map(|p| p.0).filter(|x| *x > 0.0).fold(x_max, f64::min);
        let (x_low, x_high) = if self.log_x { (x_min.log10(), x_max.log10()) } else { (0.0, x_max) };
        let share =
            |x: f64| (if self.log_x { x.max(x_min).log10() } else { x } - x_low) / (x_high - x_low).max(1e-9);
        let at_x = |x: f64| left + share(x) * (WIDTH - left - right);
        let at_y = |y: f64| top + (high - y.log10()) / (high - low) * (HEIGHT - top - bottom);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            self.y_label
        );
        for y in log_ticks(low, high) {
            let (h, w) = (at_y(y), WIDTH - right);
            // Writing to a String cannot fail.
            let _ = write!(svg, "<path class=\"grid\" d=\"M{left} {h:.1}H{w}\"/>");
            let _ = write!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                h + 4.0,
                short(y)
            );
        }
        let x_ticks = if self.log_x {
            log_ticks(x_low, x_high)
        } else {
            (0..=4).map(|step| x_max * f64::from(step) / 4.0).collect()
        };
        for x in x_ticks {
            let (w, h) = (at_x(x), HEIGHT - bottom + 16.0);
            let _ = write!(svg, "<text x=\"{w:.1}\" y=\"{h}\" text-anchor=\"middle\">{}</text>", short(x));
        }
        let (middle, low_edge) = ((left + WIDTH - right) / 2.0, HEIGHT - 6.0);
        let _ = write!(
            svg,
            "<text x=\"{middle}\" y=\"{low_edge}\" text-anchor=\"middle\">{}</text>",
            self.x_label
        );
        let mut taken: Vec<f64> = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let path: Vec<String> =
                usable(line).map(|(x, y)| format!("{:.1} {:.1}", at_x(x), at_y(y))).collect();
            if path.is_empty() {
                continue;
            }
            let _ = write!(svg, "<path class=\"line c{number}\" d=\"M{}\"/>", path.join("L"));
            if let Some((x, y)) = usable(line).last() {
                let (x, y) = (at_x(x) + 5.0, free_place(&mut taken, at_y(y) + 4.0));
                let _ =
                    write!(svg, "<text class=\"t{number}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", line.name);
            }
        }
        svg + "</svg>"
    }
}

/// Charts one below the other, each with its title, as a picture that stands alone, light or dark.
pub fn stack(charts: &[(String, String)]) -> String {
    const STYLE: &str = "svg{color-scheme:light dark;--ink:#1d1d1f;--soft:#6b6b70;--line:#dcdce0;--c0:#2166ac;--c1:#b2560d;\
        --c2:#1b7837;--c3:#762a83;--c4:#b2182b;--c5:#35978f;--c6:#8c510a;--c7:#4d4d4d}\
        @media(prefers-color-scheme:dark){svg{--ink:#e8e8ea;--soft:#a0a0a6;--line:#3a3a3f;--c0:#7fb2e5;--c1:#e7a15a;\
        --c2:#7fc98f;--c3:#c9a0dc;--c4:#f08a8a;--c5:#80cdc1;--c6:#dfc27d;--c7:#bababa}}\
        text{font:12px system-ui,sans-serif;fill:var(--soft)}.title{font-size:14px;fill:var(--ink)}\
        .grid{stroke:var(--line);fill:none}.line{fill:none;stroke-width:2}";
    let colours: String =
        (0..8).map(|c| format!(".c{c}{{stroke:var(--c{c})}}.t{c}{{fill:var(--c{c})}}")).collect();
    let height = HEIGHT + 24.0;
    let all = height * charts.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {all}\" width=\"{WIDTH}\" height=\"{all}\">\
         <style>{STYLE}{colours}</style>"
    );
    for (number, (title, chart)) in charts.iter().enumerate() {
        let top = height * number as f64;
        let place = format!("<svg y=\"{}\" height=\"{HEIGHT}\"", top + 24.0);
        let _ = write!(svg, "<text class=\"title\" x=\"12\" y=\"{}\">{title}</text>", top + 18.0);
        svg += &chart.replacen("<svg", &place, 1);
    }
    svg + "</svg>\n"
}

/// The nearest height at or below `y` where a name does not cover one of those already written.
fn free_place(taken: &mut Vec<f64>, mut y: f64) -> f64 {
    const LETTERS: f64 = 13.0;
    // A little slack: rounding must not make a place that was just taken too near.
    while let Some(other) = taken.iter().find(|other| (*other - y).abs() < LETTERS - 0.5) {
        y = other + LETTERS;
    }
    taken.push(y);
    y
}

fn usable(line: &Line) -> impl Iterator<Item = (f64, f64)> + '_ {
    line.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite() && *y > 0.0)
}

/// Round numbers between two powers of ten: decades, or finer where there are less than two of them.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades: Vec<i32> = (low.floor() as i32..=high.ceil() as i32).collect();
    let every = decades.len().div_ceil(8).max(1);
    let coarse = decades.iter().step_by(every).map(|d| 10f64.powi(*d));
    let fine = decades.iter().flat_map(|d| [1.0, 2.0, 3.0, 5.0, 7.0].map(|f| f * 10f64.powi(*d)));
    let inside = |y: &f64| (low..=high).contains(&y.log10());
    let coarse: Vec<f64> = coarse.filter(inside).collect();
    if coarse.len() >= 2 { coarse } else { fine.filter(inside).collect() }
}

/// A number in few letters.
fn short(x: f64) -> String {
    if x == 0.0 || (0.01..100_000.0).contains(&x) {
        let text = format!("{x:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{x:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_any_height_find_a_place() {
        let mut taken = Vec::new();
        for n in 0..200 {
            free_place(&mut taken, 0.1 + 0.3 * f64::from(n % 17));
        }
        taken.sort_by(f64::total_cmp);
        assert!(taken.windows(2).all(|pair| pair[1] - pair[0] >= 12.0));
    }

    #[test]
    fn charts_of_nothing_and_of_nonsense_are_still_charts() {
        let line = |points, log_x| Chart {
            x_label: "x",
            y_label: "y",
            lines: vec![Line { name: "a".into(), points }],
            log_x,
        };
        for points in [vec![], vec![(0.0, f64::INFINITY)], vec![(1.0, 5.0)], vec![(0.0, 1.0), (1.0, 1e-9)]] {
            for log_x in [false, true] {
                let svg = line(points.clone(), log_x).svg();
                assert!(svg.ends_with("</svg>") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                let svg = stack(&[("one".into(), svg.clone()), ("two".into(), svg)]);
                assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
            }
        }
    }
}
