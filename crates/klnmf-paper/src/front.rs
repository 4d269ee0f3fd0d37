//! `README.md`: the front page, from the same records as the report.

use crate::claim::{Claim, VERDICTS, Verdict};
use crate::experiment::Experiment;
use crate::factorisation::plural;
use crate::manifest::Manifest;
use crate::page;
use crate::record::Record;
use crate::section::Section;
use crate::starts::Starts;
use klnmf_report::html;
use minijinja::context;
use serde_json::Value;

/// What the page says about an experiment, as Markdown.
pub struct Part {
    /// The claims with their verdicts.
    claims: Vec<(Verdict, String)>,
    /// Rows of the table of times.
    times: String,
    /// How it was run.
    run: String,
    seconds: f64,
}

pub fn part(experiment: Experiment, manifest: &Manifest, record: &Record, section: &Section) -> Part {
    let name = experiment.name();
    let row = |(method, paper, seconds): &(&str, &str, f64)| {
        let ours =
            if *seconds < 60.0 { format!("{seconds:.1} s") } else { format!("{:.1} min", seconds / 60.0) };
        format!("| {name} | {method} | {paper} | {ours} |\n")
    };
    Part {
        claims: section.claims.iter().map(|one| (one.verdict(), claim(one, name))).collect(),
        times: section.times.iter().map(row).collect(),
        run: run(name, manifest, record),
        seconds: manifest.seconds(),
    }
}

/// A claim with its verdict, the reason, and its statements.
fn claim(claim: &Claim, experiment: &str) -> String {
    let (paper, place, verdict, why) = (&claim.paper, &claim.place, claim.verdict_in_words(), claim.reason());
    let head = item("- ", &format!("**{paper}** ({experiment}; {place}): {verdict}. {why}"));
    claim.checks.iter().fold(head, |text, check| {
        let (_, _, mark) = page::mark(check, claim.not_run.is_none());
        text + &item("  - ", &format!("{mark} {}", check.measured))
    })
}

/// Characters of a line, except in tables.
const WIDTH: usize = 100;

/// A wrapped list item. Lines after the first are indented by the width of its mark.
fn item(mark: &str, text: &str) -> String {
    let (mut lines, mut line) = (String::new(), mark.to_owned());
    for word in text.split_whitespace() {
        let begun = line.len() > mark.len();
        if begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &format!("{line}\n");
            line = " ".repeat(mark.len());
        } else if begun {
            line.push(' ');
        }
        line += word;
    }
    format!("{lines}{line}\n")
}

/// Size, starts, machine, time and command.
fn run(name: &str, manifest: &Manifest, record: &Record) -> String {
    let Manifest { settings, machine, .. } = manifest;
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let many = |value: &Value, name| plural(value.as_u64().unwrap_or(1) as usize, name);
    let starts = if record.sheets.contains_key("starts") { Starts::of(record).count() } else { 1 };
    let line = format!(
        "{name}: V is {} × {}, r = {}, {}. klnmf {} took {:.0} s with {} on {} ({}, {}):",
        record.fact("rows"),
        record.fact("columns"),
        record.fact("rank"),
        plural(starts, "start"),
        word(&settings["klnmf"]),
        manifest.seconds(),
        many(&settings["threads"], "thread"),
        many(&machine["cores"], "core"),
        word(&machine["processor"]),
        word(&machine["system"])
    );
    format!("{}  `{}`\n", item("- ", &line), word(&machine["command"]))
}

/// The heading above the claims with this verdict.
fn title(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "Claims that hold",
        Verdict::Partly => "Claims that hold in part",
        Verdict::Disagrees => "Claims that do not hold",
        Verdict::Undecided => "Claims that could not be decided",
        Verdict::NotRun => "Claims that were not run at the paper's sizes or on its kind of data",
    }
}

/// The page.
pub fn text(parts: &[Part]) -> anyhow::Result<String> {
    let of = |verdict| parts.iter().flat_map(|part| &part.claims).filter(move |(own, _)| *own == verdict);
    let (mut counts, mut groups) = (Vec::new(), String::new());
    for verdict in VERDICTS {
        let claims: String = of(verdict).map(|(_, text)| text.as_str()).collect();
        if !claims.is_empty() {
            let count = of(verdict).count();
            counts.push(format!("{count} {}", verdict.counted(count)));
            groups += &format!("## {}\n\n{claims}\n", title(verdict));
        }
    }
    let values = context! {
        claims => parts.iter().map(|part| part.claims.len()).sum::<usize>(),
        counts => counts.join(", "),
        groups,
        times => parts.iter().map(|part| part.times.as_str()).collect::<String>(),
        runs => parts.iter().map(|part| part.run.as_str()).collect::<String>(),
        minutes => format!("{:.0}", parts.iter().map(|part| part.seconds).sum::<f64>() / 60.0),
    };
    // Rendering removes the last newline.
    Ok(html::render("front.md", include_str!("front.md"), values)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_wrapped_and_indented() {
        let text = item("  - ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH) && text.lines().count() == 3);
        assert!(text.starts_with("  - word ") && text.contains("word\n    word "));
    }
}
