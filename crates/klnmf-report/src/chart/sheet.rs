//! Several charts as one picture, and the style sheet of all charts.

use super::{COLOURS, Chart, HEIGHT, TITLE, WIDTH};

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
         svg text{{font:12px system-ui,sans-serif;fill:var(--soft)}}\
         svg .title{{font-size:14px;fill:var(--ink)}}\
         svg .name{{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}}\
         .grid{{stroke:var(--line);fill:none}}.tick{{stroke:var(--soft);fill:none}}\
         .lead{{fill:none;stroke-width:.8}}.mark{{stroke:var(--soft);stroke-dasharray:2 3;fill:none}}\
         .line{{fill:none;stroke-width:2;stroke-linejoin:round}}\
         {classes}",
        variables(LIGHT),
        variables(DARK)
    )
}

/// A self-contained picture of charts in several columns, light or dark.
pub fn sheet(charts: &[Chart], across: usize) -> String {
    const STYLE: &str = ":root{color-scheme:light dark;\
        --ink:#1d1d1f;--soft:#5f5f66;--line:#e2e2e6;--paper:#fff}\
        @media(prefers-color-scheme:dark){:root{--ink:#e8e8ea;--soft:#a8a8ae;--line:#36363b;--paper:#161618}}\
        .paper{fill:var(--paper)}";
    let height = HEIGHT + TITLE + 8.0;
    let across = across.clamp(1, charts.len().max(1));
    let (wide, high) = (WIDTH * across as f64, height * charts.len().div_ceil(across) as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" width=\"{wide}\" \
         height=\"{high}\"><style>{STYLE}{}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>",
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
