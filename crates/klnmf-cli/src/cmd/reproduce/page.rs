//! The report: drawn from the data in the folder, and from nothing else.

use super::claim::{Check, Claim, VERDICTS, Verdict};
use super::data_folder;
use super::dictionary;
use super::experiment::{EXPERIMENTS, Experiment};
use super::front;
use super::manifest::Manifest;
use super::record::Record;
use super::section::{Body, Item, Section};
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
    let mut fronts = Vec::new();
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
        fronts.push(front::part(experiment, &manifest, &record, &section));
        let size = manifest.settings["size"].as_str().unwrap_or_default();
        sections.push(context! {
            name => experiment.name(),
            title => section.title,
            paper => &section.paper,
            ours => &section.ours,
            reduced => size != "full",
            machine => facts(&manifest),
            claims => section.claims.iter().map(|one| claim(one, &section)).collect::<Vec<_>>(),
            items => section.items.iter().map(item).collect::<Vec<_>>(),
        });
    }
    if sections.is_empty() {
        return Ok(Shown { verdicts, left_out });
    }
    let all: Vec<Verdict> =
        verdicts.iter().flat_map(|(_, v): &(_, Vec<Verdict>)| v.iter().copied()).collect();
    let counts: Vec<Jinja> = VERDICTS
        .iter()
        .map(|wanted| (wanted, all.iter().filter(|verdict| *verdict == wanted).count()))
        .filter(|(verdict, count)| *count > 0 || verdict.key() == "agrees")
        .map(|(verdict, count)| context! { key => verdict.key(), count, name => verdict.counted(count) })
        .collect();
    let mut environment = Environment::new();
    environment.add_template("page.html", include_str!("page.html"))?;
    let page = environment.get_template("page.html")?.render(context! {
        chart_style => chart::style(),
        sections,
        claims => all.len(),
        counts,
    })?;
    let front = front::text(&fronts)?;
    let words = dictionary::text(&files);
    klnmf_io::atomically(&out.join("data/README.md"), |file| file.write_all(words.as_bytes()))?;
    klnmf_io::atomically(&out.join("index.html"), |file| file.write_all(page.as_bytes()))?;
    klnmf_io::atomically(&out.join("README.md"), |file| file.write_all(front.as_bytes()))?;
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

/// The command, the machine and the time, in a line.
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

/// What stands before a statement: its class, what it says aloud, and its mark.
pub fn mark(check: &Check, judged: bool) -> (&'static str, &'static str, &'static str) {
    match (judged, check.open, check.holds) {
        (false, ..) => ("soft", "measured", "·"),
        (_, true, _) => ("soft", "undecided", "?"),
        (_, _, true) => ("agrees", "holds", "✓"),
        _ => ("disagrees", "does not hold", "✗"),
    }
}

fn claim(claim: &Claim, section: &Section) -> Jinja {
    let one = |check: &Check| {
        let (class, says, mark) = mark(check, claim.not_run.is_none());
        context! { class, says, mark, text => &check.measured }
    };
    let shown = section.items.iter().find(|item| item.id == claim.figure);
    context! {
        paper => &claim.paper,
        place => claim.place,
        figure => &claim.figure,
        shown => shown.map(|item| match item.label() {
            label if label.starts_with("Figure") => label,
            _ => item.id.clone(),
        }),
        verdict => claim.verdict_in_words(),
        key => claim.verdict().key(),
        why => claim.reason(),
        checks => claim.checks.iter().map(one).collect::<Vec<_>>(),
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
    context! { id => &item.id, label => item.label(), caption => &item.caption, panels, header, rows, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    /// Every file under a folder by its path there.
    fn files(root: &Path, under: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in std::fs::read_dir(under).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                files(root, &path, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }

    /// The recorded front page, the report and its figures are what their data give, byte for byte: a number that somebody changes by
    /// hand, or a rule that changes, fails here. `klnmf reproduce --draw --out docs/paper` writes them anew.
    #[test]
    fn the_recorded_pages_follow_from_their_data() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paper");
        if !recorded.join("data").is_dir() {
            eprintln!("{} is absent, as in a packaged crate: nothing to check", recorded.display());
            return;
        }
        let copy = tempfile::tempdir().unwrap();
        let mut there = BTreeMap::new();
        files(&recorded, &recorded, &mut there);
        for (path, bytes) in there.iter().filter(|(path, _)| path.starts_with("data")) {
            std::fs::create_dir_all(copy.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(copy.path().join(path), bytes).unwrap();
        }
        let shown = write(copy.path()).unwrap();
        assert!(shown.left_out.is_empty() && shown.verdicts.len() >= 3);
        let mut again = BTreeMap::new();
        files(copy.path(), copy.path(), &mut again);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&there), names(&again));
        for (path, bytes) in &there {
            assert!(again[path] == *bytes, "docs/paper/{} is not what the data give", path.display());
        }
    }
}
