//! The report: drawn from the data in the folder, and from nothing else.

use super::claim::{Claim, Verdict};
use super::data_folder;
use super::dictionary;
use super::experiment::{EXPERIMENTS, Experiment};
use super::manifest::Manifest;
use super::record::Record;
use super::section::{Body, Item};
use crate::chart;
use anyhow::Context;
use minijinja::{Environment, Value as Jinja, context};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

/// What a page shows.
pub struct Shown {
    /// The verdicts by experiment.
    pub verdicts: Vec<(Experiment, Vec<Verdict>)>,
    /// Experiments whose data are damaged, and what is wrong with them.
    pub left_out: Vec<(Experiment, String)>,
}

/// Writes index.html and the figures of all that is finished and whole; nothing if that is nothing.
pub fn write(out: &Path) -> anyhow::Result<Shown> {
    let figures = out.join("figures");
    let (mut sections, mut verdicts, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut files = BTreeSet::new();
    for experiment in EXPERIMENTS {
        let folder = data_folder(out, experiment);
        let Some(manifest) = Manifest::read(&folder) else { continue };
        if let Some(damage) = manifest.damage(&folder) {
            left_out.push((experiment, damage));
            continue;
        }
        files.extend(manifest.files.keys().cloned());
        let record = Record::read(&folder, &manifest)?;
        let section = experiment.section(&record);
        std::fs::create_dir_all(&figures)
            .with_context(|| format!("cannot make the folder {}", figures.display()))?;
        for item in &section.items {
            for (name, svg) in standalone(item) {
                klnmf_io::atomically(&figures.join(name), |file| file.write_all(svg.as_bytes()))?;
            }
        }
        let of = |claim: &Claim| claim.verdict();
        verdicts.push((experiment, section.claims.iter().map(of).collect()));
        let size = manifest.settings["size"].as_str().unwrap_or_default();
        sections.push(context! {
            name => experiment.name(),
            title => section.title,
            paper => section.paper,
            ours => section.ours,
            reduced => size != "full",
            machine => facts(&manifest),
            claims => section.claims.iter().map(claim).collect::<Vec<_>>(),
            items => section.items.iter().map(item).collect::<Vec<_>>(),
        });
    }
    if sections.is_empty() {
        return Ok(Shown { verdicts, left_out });
    }
    let all: Vec<Verdict> =
        verdicts.iter().flat_map(|(_, v): &(_, Vec<Verdict>)| v.iter().copied()).collect();
    let count = |wanted: Verdict| all.iter().filter(|verdict| **verdict == wanted).count();
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html"))?;
    let page = environment.get_template("page.html")?.render(context! {
        chart_style => chart::style(),
        sections,
        claims => all.len(),
        agree => count(Verdict::Agrees),
        partly => count(Verdict::Partly),
        disagree => count(Verdict::Disagrees),
        undecided => count(Verdict::Undecided),
    })?;
    let words = dictionary::text(&files);
    klnmf_io::atomically(&out.join("data/README.md"), |file| file.write_all(words.as_bytes()))?;
    klnmf_io::atomically(&out.join("index.html"), |file| file.write_all(page.as_bytes()))?;
    Ok(Shown { verdicts, left_out })
}

/// The figure as files of its own, each with its name.
fn standalone(item: &Item) -> Vec<(String, String)> {
    match &item.body {
        Body::Charts(charts) => vec![(format!("{}.svg", item.id), chart::sheet(charts, 2))],
        Body::Pictures(pictures) if pictures.len() == 1 => {
            vec![(format!("{}.svg", item.id), pictures[0].clone())]
        }
        Body::Pictures(pictures) => {
            let name = |number: usize| format!("{}-{}.svg", item.id, number + 1);
            pictures.iter().enumerate().map(|(n, svg)| (name(n), svg.clone())).collect()
        }
        Body::Table(..) => Vec::new(),
    }
}

fn facts(manifest: &Manifest) -> String {
    let Manifest { settings, machine, .. } = manifest;
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!(
        "{}: klnmf {}, {} threads, {} cores, {} {}, {:.1} s in all.",
        word(&machine["command"]),
        word(&settings["klnmf"]),
        settings["threads"],
        machine["cores"],
        word(&machine["system"]),
        word(&machine["processor"]),
        manifest.seconds()
    )
}

fn claim(claim: &Claim) -> Jinja {
    let checks: Vec<Jinja> = claim
        .checks
        .iter()
        .map(|check| context! { holds => check.holds, open => check.open, text => &check.measured })
        .collect();
    let verdict = claim.verdict();
    context! {
        paper => &claim.paper,
        place => claim.place,
        figure => &claim.figure,
        verdict => claim.verdict_in_words(),
        key => verdict.key(),
        checks,
    }
}

fn item(item: &Item) -> Jinja {
    let (panels, header, rows) = match &item.body {
        Body::Charts(charts) => (charts.iter().map(chart::Chart::svg).collect(), Vec::new(), Vec::new()),
        Body::Pictures(pictures) => (pictures.clone(), Vec::new(), Vec::new()),
        Body::Table(header, rows) => (Vec::new(), header.clone(), rows.clone()),
    };
    let kind = match &item.body {
        Body::Pictures(pictures) if pictures.len() > 1 => "small",
        Body::Pictures(_) => "wide",
        _ => "",
    };
    context! { id => &item.id, caption => &item.caption, panels, header, rows, kind }
}
