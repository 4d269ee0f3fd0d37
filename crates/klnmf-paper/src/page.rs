//! Draws the report from the data in the folder alone.

use crate::claim::{Check, Claim, VERDICTS, Verdict};
use crate::dictionary;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::front;
use crate::manifest::Manifest;
use crate::record::Record;
use crate::section::{Body, Item, Section};
use crate::study::data_folder;
use anyhow::Context;
use klnmf_io::write_text;
use klnmf_report::{chart, html};
use minijinja::{Value as Jinja, context};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What the report shows.
pub struct Shown {
    /// The verdicts by experiment.
    pub verdicts: Vec<(Experiment, Vec<Verdict>)>,
    /// Experiments that are left out because their data are damaged, and how.
    pub left_out: Vec<(Experiment, String)>,
}

/// Writes index.html, README.md, data/README.md and the figures for all experiments in the folder that are
/// finished and undamaged. Writes nothing if there are none.
///
/// # Errors
/// If the data cannot be read, or a file cannot be written.
pub fn draw(out: &Path) -> anyhow::Result<Shown> {
    let mut shown = Shown { verdicts: Vec::new(), left_out: Vec::new() };
    let (mut sections, mut fronts, mut files) = (Vec::new(), Vec::new(), BTreeSet::new());
    for experiment in EXPERIMENTS {
        let folder = data_folder(out, experiment);
        let Some(manifest) = Manifest::read(&folder) else { continue };
        if let Some(damage) = manifest.damage(&folder) {
            shown.left_out.push((experiment, damage));
            continue;
        }
        files.extend(manifest.files.keys().cloned());
        let record = Record::read(&folder, &manifest)?;
        let section = experiment.section(&record);
        write_figures(&out.join("figures"), &section)?;
        shown.verdicts.push((experiment, section.claims.iter().map(Claim::verdict).collect()));
        fronts.push(front::part(experiment, &manifest, &record, &section));
        sections.push(context! {
            name => experiment.name(),
            title => &section.title,
            paper => &section.paper,
            ours => &section.ours,
            reduced => manifest.settings["size"] != "full",
            machine => facts(&manifest),
            claims => section.claims.iter().map(|one| claim(one, &section)).collect::<Vec<_>>(),
            items => section.items.iter().map(item).collect::<Vec<_>>(),
        });
    }
    if !sections.is_empty() {
        write_text(&out.join("data/README.md"), &dictionary::text(&files))?;
        write_text(&out.join("index.html"), &page(sections, &shown)?)?;
        write_text(&out.join("README.md"), &front::text(&fronts)?)?;
    }
    Ok(shown)
}

fn page(sections: Vec<Jinja>, shown: &Shown) -> anyhow::Result<String> {
    let all: Vec<Verdict> = shown.verdicts.iter().flat_map(|(_, verdicts)| verdicts).copied().collect();
    let counts: Vec<Jinja> = VERDICTS
        .iter()
        .map(|wanted| (wanted, all.iter().filter(|verdict| *verdict == wanted).count()))
        .filter(|(verdict, count)| *count > 0 || **verdict == Verdict::Agrees)
        .map(|(verdict, count)| context! { key => verdict.key(), count, name => verdict.counted(count) })
        .collect();
    let values = context! { chart_style => chart::style(), sections, claims => all.len(), counts };
    Ok(html::render("page.html", include_str!("page.html"), values)?)
}

fn write_figures(folder: &Path, section: &Section) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let figures = section.items.iter().flat_map(standalone);
    Ok(figures.into_iter().try_for_each(|(name, svg)| write_text(&folder.join(name), &svg))?)
}

/// The figure as separate files, with their names.
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

/// The command, the machine and the time, in one line.
fn facts(manifest: &Manifest) -> String {
    let Manifest { settings, machine, .. } = manifest;
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!(
        "{}: klnmf {}, {} threads, {} cores, {} {}, {:.1} s in total.",
        word(&machine["command"]),
        word(&settings["klnmf"]),
        settings["threads"],
        machine["cores"],
        word(&machine["system"]),
        word(&machine["processor"]),
        manifest.seconds()
    )
}

/// The mark before a statement: its CSS class, its text for screen readers, and the mark itself.
pub fn mark(check: &Check, judged: bool) -> (&'static str, &'static str, &'static str) {
    match (judged, check.open, check.holds) {
        (false, ..) => ("soft", "measured", "·"),
        (_, true, _) => ("soft", "not decided", "?"),
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
        place => &claim.place,
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

    /// Every file under a folder, by its path relative to `root`.
    fn files(root: &Path, under: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in std::fs::read_dir(under).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                files(root, &path, found);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }

    /// The recorded pages and figures are those that their data give, byte for byte. This fails if somebody
    /// edits a number by hand or changes a rule. `klnmf reproduce --draw --out docs/paper` writes them again.
    #[test]
    fn the_recorded_pages_follow_from_their_data() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/paper");
        if !recorded.join("data").is_dir() {
            eprintln!("{} does not exist, as in a packaged crate: nothing to check", recorded.display());
            return;
        }
        let copy = tempfile::tempdir().unwrap();
        let mut there = BTreeMap::new();
        files(&recorded, &recorded, &mut there);
        for (path, bytes) in there.iter().filter(|(path, _)| path.starts_with("data")) {
            std::fs::create_dir_all(copy.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(copy.path().join(path), bytes).unwrap();
        }
        let shown = draw(copy.path()).unwrap();
        assert!(shown.left_out.is_empty() && shown.verdicts.len() >= 3);
        let mut again = BTreeMap::new();
        files(copy.path(), copy.path(), &mut again);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&there), names(&again));
        for (path, bytes) in &there {
            assert!(again[path] == *bytes, "docs/paper/{} does not follow from its data", path.display());
        }
    }
}
