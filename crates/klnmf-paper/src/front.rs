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

/// What the page says of an experiment, as Markdown.
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

/// A claim with its verdict, why, and what was measured.
fn claim(claim: &Claim, experiment: &str) -> String {
    let why = if claim.reason().is_empty() { String::new() } else { format!(" {}", claim.reason()) };
    let (paper, place, verdict) = (&claim.paper, &claim.place, claim.verdict_in_words());
    let checks = claim.checks.iter().map(|check| {
        let (_, _, mark) = page::mark(check, claim.not_run.is_none());
        format!("  - {mark} {}\n", check.measured)
    });
    format!("- **{paper}** ({experiment}; {place}): {verdict}.{why}\n{}", checks.collect::<String>())
}

/// Size, starts, command, machine and time.
fn run(name: &str, manifest: &Manifest, record: &Record) -> String {
    let Manifest { settings, machine, .. } = manifest;
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let many = |value: &Value, name| plural(value.as_u64().unwrap_or(1) as usize, name);
    let starts = if record.sheets.contains_key("starts") { Starts::of(record).count() } else { 1 };
    format!(
        "- {name}: V is {} × {}, r = {}, {}; `{}`, klnmf {}, {} on {} ({}, {}), {:.0} s in all\n",
        record.fact("rows"),
        record.fact("columns"),
        record.fact("rank"),
        plural(starts, "start"),
        word(&machine["command"]),
        word(&settings["klnmf"]),
        many(&settings["threads"], "thread"),
        many(&machine["cores"], "core"),
        word(&machine["processor"]),
        word(&machine["system"]),
        manifest.seconds()
    )
}

/// The title of the claims with a verdict.
fn title(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "What holds",
        Verdict::Partly => "What holds in part",
        Verdict::Disagrees => "What does not hold",
        Verdict::Undecided => "What could not be decided",
        Verdict::NotRun => "What was not run at the paper's size, or not on such data",
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
    // A template loses the end of its last line.
    Ok(html::render("front.md", include_str!("front.md"), values)? + "\n")
}
