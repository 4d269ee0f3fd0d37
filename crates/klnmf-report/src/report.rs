//! The HTML report of a factorisation: one self-contained file.

use crate::chart::{self, Chart, Line};
use crate::html;
use klnmf::{Info, Scalar, Solution};
use klnmf_io::{Table, Target};
use minijinja::{Value as Jinja, context};
use serde_json::{Map, Value};
use std::io::Write;
use std::path::Path;

/// The content of a report.
pub struct Report<'a, T> {
    /// The file that was factorised.
    pub input: &'a Path,
    /// Its matrix and names.
    pub table: &'a Table<T>,
    /// The factors.
    pub solution: &'a Solution<T>,
    /// The progress of the run.
    pub trace: &'a [Info],
    /// The keys and values of the JSON output.
    pub facts: &'a Map<String, Value>,
}

/// The largest number of parts, and of rows of a part, that are shown.
const MOST_PARTS: usize = 100;
const ROWS: usize = 8;

impl<T: Scalar> Report<'_, T> {
    /// Writes the page.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, target: Target<'_>) -> anyhow::Result<()> {
        let page = self.page()?;
        Ok(klnmf_io::atomically(target, |out| out.write_all(page.as_bytes()))?)
    }

    fn page(&self) -> anyhow::Result<String> {
        let facts: Vec<[String; 2]> =
            self.facts.iter().map(|(key, value)| [key.clone(), plain(value)]).collect();
        let parts = self.parts();
        let values = context! {
            input => self.input.display().to_string(),
            verdict => self.verdict(),
            facts,
            chart => self.chart(),
            chart_style => chart::style(),
            hidden => self.solution.h.rows() - parts.len(),
            parts,
        };
        Ok(html::render("report.html", include_str!("report.html"), values)?)
    }

    fn verdict(&self) -> String {
        let Solution { info, status, .. } = self.solution;
        if !info.relative_gap().is_finite() {
            return "The model is zero where V is not, so its divergence and its gaps are infinite.".into();
        }
        format!(
            "Divergence {:.6e}, {} after {} iterations. Changing W alone could lower it by at most {:.2e}, \
             changing H alone by at most {:.2e}. In short, {}.",
            info.divergence,
            status.name(),
            info.iteration,
            info.gap_w,
            info.gap_h,
            info.left()
        )
    }

    fn chart(&self) -> String {
        let line = |name: &str, f: &dyn Fn(&Info) -> f64| Line {
            name: name.into(),
            points: self
                .trace
                .iter()
                .filter(|i| i.iteration > 0)
                .map(|i| (i.iteration as f64, f(i)))
                .collect(),
            ..Line::default()
        };
        let lines = vec![
            line("divergence", &|i| i.divergence),
            line("gap of W", &|i| i.gap_w),
            line("gap of H", &|i| i.gap_h),
        ];
        Chart { x_label: "iterations", y_label: "divergence and gaps", lines, ..Chart::default() }.svg()
    }

    /// The parts sorted by their share of the total, each with its largest rows.
    fn parts(&self) -> Vec<Jinja> {
        let shares = self.solution.h.row_sums();
        let total: f64 = shares.iter().sum();
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        order.truncate(MOST_PARTS);
        let share = |k: usize| if total > 0.0 { 100.0 * shares[k] / total } else { 0.0 };
        order
            .iter()
            .map(|&k| context! { number => k + 1, share => format!("{:.1}", share(k)), rows => self.rows(k) })
            .collect()
    }

    fn rows(&self, part: usize) -> Vec<Jinja> {
        let column: Vec<f64> = self.solution.w.col(part).iter().map(|x| x.to_f64()).collect();
        let mut order: Vec<usize> = (0..column.len()).collect();
        order.sort_by(|&a, &b| column[b].total_cmp(&column[a]));
        let most = order.first().map_or(0.0, |&i| column[i]);
        let shown = order.iter().take(ROWS).filter(|&&i| column[i] > 0.0);
        let name = |i: usize| {
            self.table.row_names.as_ref().map_or_else(|| format!("row {i}"), |names| names[i].clone())
        };
        shown
            .map(|&i| {
                let width = format!("{:.1}", 100.0 * column[i] / most);
                context! { name => name(i), width, value => format!("{:.4}", column[i]) }
            })
            .collect()
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('_', " "),
        Value::Number(number) if number.is_f64() => {
            let x = number.as_f64().unwrap_or_default();
            if (0.01..1e5).contains(&x) { format!("{x:.3}") } else { format!("{x:.4e}") }
        }
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" × "),
        Value::Null => "not finite".into(),
        other => other.to_string(),
    }
}
