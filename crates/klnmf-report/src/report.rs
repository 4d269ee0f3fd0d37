//! The HTML report of a factorisation: one self-contained file.

use crate::chart::{self, Chart, Line};
use crate::{heat, html, parts};
use klnmf::{Info, Scalar, Solution};
use klnmf_io::{Table, Target};
use minijinja::context;
use serde_json::Value;
use std::path::Path;

/// The content of a report.
pub struct Report<'a, T> {
    /// The file that was factorised.
    pub input: &'a Path,
    /// The command that made it.
    pub command: &'a str,
    /// Its matrix and names.
    pub table: &'a Table<T>,
    /// The factors.
    pub solution: &'a Solution<T>,
    /// The progress of the run.
    pub trace: &'a [Info],
    /// The keys and values of the JSON output.
    pub facts: &'a Value,
}

/// The largest number of parts that are shown.
const MOST_PARTS: usize = 100;
/// What is needed to repeat a run to the same bits.
const REPEAT: [&str; 3] = ["version", "seed", "data_hash"];

impl<T: Scalar> Report<'_, T> {
    /// Writes the page.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, target: Target<'_>) -> anyhow::Result<()> {
        Ok(klnmf_io::write_text(target, &self.page()?)?)
    }

    fn page(&self) -> anyhow::Result<String> {
        let named = |(key, value): (&String, &Value)| [key.replace('_', " "), plain(value)];
        let (repeat, facts): (Vec<_>, Vec<_>) =
            self.facts.as_object().into_iter().flatten().partition(|(key, _)| REPEAT.contains(&key.as_str()));
        let level = klnmf::instruction_level().unwrap_or_default().to_owned();
        let repeat = repeat.into_iter().map(named).chain([["instruction level".to_owned(), level]]);
        let order = self.order();
        let names = self.table.row_names.as_deref();
        let shown = parts::Parts::new(&self.solution.w, names);
        let total: f64 = self.solution.h.row_sums().iter().sum();
        let cards: Vec<_> = order
            .iter()
            .map(|&(k, share)| {
                let share = format!("{:.1}", if total > 0.0 { 100.0 * share / total } else { 0.0 });
                context! { number => k + 1, share, picture => shown.picture(k), rows => shown.largest(k) }
            })
            .collect();
        let ranks: Vec<usize> = order.iter().map(|(k, _)| *k).collect();
        let samples = self.table.col_names.as_deref();
        let values = context! {
            name => klnmf_io::file_name(self.input),
            verdict => self.verdict(),
            facts => facts.into_iter().map(named).collect::<Vec<_>>(),
            repeat => repeat.collect::<Vec<_>>(),
            command => self.command,
            chart => self.chart(),
            chart_style => chart::style(),
            about_parts => shown.about(),
            hidden => self.solution.h.rows() - cards.len(),
            parts => cards,
            heat => heat::map(&self.solution.h, &ranks, samples),
            about_heat => heat::about(self.solution.h.cols(), samples.is_some()),
        };
        Ok(html::render("report.html", include_str!("report.html"), values)?)
    }

    /// The parts to show with their sums of weights, the largest first.
    fn order(&self) -> Vec<(usize, f64)> {
        let mut order: Vec<(usize, f64)> = self.solution.h.row_sums().into_iter().enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        order.truncate(MOST_PARTS);
        order
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
        if self.trace.is_empty() {
            return String::new();
        }
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
