//! The tables of solvers in the pages, and the help, say what the library says.

use crate::common::Place;
use klnmf::{Solver, Spec};
use std::path::Path;

/// What a column says of a solver.
type Says = fn(&Spec) -> String;

/// What the columns say, by their titles; a title that is not here is free text.
const COLUMNS: [(&str, Says); 5] = [
    ("sparse data", |spec| yes(!spec.dense_only)),
    ("divergence never increases", |spec| yes(spec.never_rises)),
    ("weights can leave zero", |spec| yes(spec.leaves_zero)),
    ("can hold known parts", |spec| yes(spec.holds_parts)),
    ("steps per factor", |spec| spec.inner.to_string()),
];

fn yes(holds: bool) -> String {
    if holds { "yes".into() } else { "no".into() }
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The titles and the rows of the table that begins with `--solver`.
fn table(page: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let begins: Vec<_> =
        text.lines().enumerate().filter(|(_, line)| line.starts_with("| `--solver`")).collect();
    assert_eq!(begins.len(), 1, "{page} has one table of solvers");
    let (at, titles) = begins[0];
    let rows = text.lines().skip(at + 2).take_while(|line| line.starts_with('|')).map(cells).collect();
    (cells(titles), rows)
}

#[test]
fn every_solver_has_its_row() {
    let page = "docs/solvers.md";
    let (titles, rows) = table(page);
    let names: Vec<&str> = rows.iter().map(|row| row[0].trim_end_matches(" (default)")).collect();
    assert_eq!(names, Solver::ALL.map(|solver| format!("`{solver}`")), "{page}: one row a solver, in order");
    for (solver, row) in Solver::ALL.into_iter().zip(&rows) {
        assert_eq!(row.len(), titles.len(), "{page}: {solver}");
        assert_eq!(row[0].ends_with(" (default)"), solver == Solver::default(), "{page}: {solver}");
        for (title, cell) in titles.iter().zip(row) {
            if let Some((_, says)) = COLUMNS.iter().find(|(name, _)| name == title) {
                assert_eq!(*cell, says(solver.spec()), "{page}: {solver}, {title}");
            }
        }
    }
    let known = |title: &&String| COLUMNS.iter().any(|(name, _)| name == title);
    assert!(titles.iter().filter(known).count() >= 3, "{page}: {titles:?}");
}

/// Every verb lists the names with the library's sentences, and no others.
#[test]
fn the_help_lists_the_solvers_that_a_verb_takes() {
    let place = Place::new();
    let learners = |solver: &Solver| solver.spec().holds_parts;
    let cases: [(&str, Vec<Solver>); 3] = [
        ("factorize", Solver::ALL.to_vec()),
        ("separate", Solver::ALL.into_iter().filter(learners).collect()),
        ("topics", vec![Solver::Auto, Solver::Simplex]),
    ];
    for (verb, takes) in cases {
        let help = place.ok(&format!("{verb} --help"));
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for solver in Solver::ALL {
            let line = format!("- {solver}: {}", solver.spec().help);
            assert_eq!(words.contains(&line), takes.contains(&solver), "{verb}: {line}");
        }
    }
}
