//! The measurements of an experiment, and their folder: `traces.csv`, other tables, and the manifest.

use crate::manifest::{self, Manifest};
use crate::trace::{Point, Trace};
use anyhow::{Context, bail};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The measurements from which figures, tables and verdicts are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The lines of the figures.
    pub traces: Vec<Trace>,
    /// Other tables, by the name of their file without `.csv`.
    pub sheets: BTreeMap<String, Sheet>,
    /// Sizes, settings and single numbers, by name.
    pub facts: Map<String, Value>,
}

/// A table of words and numbers. Words must not contain commas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

const TRACES: &str = "traces.csv";
const TRACE_HEADER: [&str; 8] =
    ["problem", "method", "iteration", "seconds", "divergence", "gap_w", "gap_h", "dual"];

impl Sheet {
    pub fn new<N: Into<String>>(header: impl IntoIterator<Item = N>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// The number in a column of a row; NaN if there is none.
    pub fn number(&self, row: &[String], column: &str) -> f64 {
        self.word(row, column).parse().unwrap_or(f64::NAN)
    }

    /// The word in a column of a row; empty if there is no such column.
    pub fn word<'a>(&self, row: &'a [String], column: &str) -> &'a str {
        self.header.iter().position(|name| name == column).map_or("", |at| &row[at])
    }

    /// Writes the table and returns its entry in the manifest.
    fn write(&self, path: &Path) -> anyhow::Result<Value> {
        let line = |cells: &Vec<String>| cells.join(",") + "\n";
        let text: String = std::iter::once(&self.header).chain(&self.rows).map(line).collect();
        klnmf_io::write_text(path, &text)?;
        Ok(manifest::sum(text.as_bytes()))
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = text.lines();
        let sheet = Self { header: cells(lines.next().unwrap_or("")), rows: lines.map(cells).collect() };
        let fields = sheet.header.len();
        if let Some(row) = sheet.rows.iter().position(|row| row.len() != fields) {
            let (path, line) = (path.display(), row + 2);
            bail!("{path}: line {line} does not have {fields} fields; remove the folder, or use --force");
        }
        Ok(sheet)
    }
}

impl Record {
    /// A record with these facts only.
    pub fn new(facts: Value) -> Self {
        let mut record = Self::default();
        record.add(facts);
        record
    }

    /// Adds the facts of a JSON object.
    pub fn add(&mut self, facts: Value) {
        self.facts.extend(facts.as_object().cloned().unwrap_or_default());
    }

    /// Adds a fact. A number that is not finite becomes null, because JSON has no infinity.
    pub fn note(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.facts.insert(name.into(), value.into());
    }

    /// The trace of a method on a problem.
    pub fn trace(&self, problem: &str, method: &str) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.problem == problem && trace.method == method)
    }

    /// The traces of a problem.
    pub fn of<'a>(&'a self, problem: &'a str) -> impl Iterator<Item = &'a Trace> {
        self.traces.iter().filter(move |trace| trace.problem == problem)
    }

    /// A number among the facts; NaN if there is none.
    pub fn fact(&self, name: &str) -> f64 {
        self.facts.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    /// An integer among the facts; 0 if there is none.
    pub fn count(&self, name: &str) -> usize {
        self.fact(name) as usize
    }

    /// Whether the facts include these numbers.
    pub fn has(&self, numbers: Value) -> bool {
        numbers.as_object().is_some_and(|all| all.iter().all(|(name, x)| x.as_f64() == Some(self.fact(name))))
    }

    /// Fills in the facts of a sentence: `{rank}` becomes the number of that name.
    pub fn fill(&self, sentence: &str) -> String {
        let put =
            |text: String, name: &String| text.replace(&format!("{{{name}}}"), &self.fact(name).to_string());
        self.facts.keys().fold(sentence.to_owned(), put)
    }

    /// A text among the facts; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.facts.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Writes the record with its settings and machine. The manifest comes last, so an incomplete folder has
    /// none.
    pub fn write(&self, folder: &Path, settings: &Value, machine: &Value) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
        Manifest::remove(folder)?;
        let mut files = Map::new();
        files.insert(TRACES.into(), self.traces_sheet().write(&folder.join(TRACES))?);
        for (name, sheet) in &self.sheets {
            let name = format!("{name}.csv");
            let sum = sheet.write(&folder.join(&name))?;
            files.insert(name, sum);
        }
        let (settings, machine) = (settings.clone(), machine.clone());
        Manifest { settings, machine, facts: self.facts.clone(), files }.write(folder)
    }

    /// Reads the record of a folder.
    pub fn read(folder: &Path, manifest: &Manifest) -> anyhow::Result<Self> {
        let mut sheets = BTreeMap::new();
        for file in manifest.files.keys().filter(|file| *file != TRACES) {
            let name = file.trim_end_matches(".csv").to_owned();
            sheets.insert(name, Sheet::read(&folder.join(file))?);
        }
        let traces = read_traces(&folder.join(TRACES))?;
        Ok(Self { traces, sheets, facts: manifest.facts.clone() })
    }

    fn traces_sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(TRACE_HEADER);
        for trace in &self.traces {
            for p in &trace.points {
                sheet.rows.push(vec![
                    trace.problem.clone(),
                    trace.method.clone(),
                    p.iteration.to_string(),
                    format!("{:.6}", p.seconds),
                    p.divergence.to_string(),
                    p.gap_w.to_string(),
                    p.gap_h.to_string(),
                    p.dual.unwrap_or(f64::NAN).to_string(),
                ]);
            }
        }
        sheet
    }
}

fn read_traces(path: &Path) -> anyhow::Result<Vec<Trace>> {
    let sheet = Sheet::read(path)?;
    let mut traces: Vec<Trace> = Vec::new();
    for row in &sheet.rows {
        let (problem, method) = (sheet.word(row, "problem"), sheet.word(row, "method"));
        let number = |column| sheet.number(row, column);
        let point = Point {
            iteration: number("iteration") as usize,
            seconds: number("seconds"),
            divergence: number("divergence"),
            gap_w: number("gap_w"),
            gap_h: number("gap_h"),
            // Older records do not have this column.
            dual: Some(number("dual")).filter(|dual| !dual.is_nan()),
        };
        match traces.last_mut().filter(|trace| trace.problem == problem && trace.method == method) {
            Some(trace) => trace.points.push(point),
            None => traces.push(Trace::new(problem, method, vec![point])),
        }
    }
    Ok(traces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_survives_writing_and_reading() {
        let point = |(iteration, divergence): (usize, f64)| Point {
            iteration,
            seconds: 0.25,
            divergence,
            gap_w: divergence / 3.0,
            gap_h: 0.0,
            dual: (iteration > 0).then_some(divergence),
        };
        let points = [0.1 + 0.2, f64::INFINITY, 1e-300].into_iter().enumerate().map(point).collect();
        let mut sheet = Sheet::new(["rho", "divergence"]);
        sheet.rows.push(vec!["0.15".into(), "7".into()]);
        let record = Record {
            traces: vec![Trace::new("nmf", "ADMM ρ = 1", points)],
            sheets: BTreeMap::from([("sweep".into(), sheet)]),
            ..Record::new(json!({ "rank": 3, "data": "generated" }))
        };
        let folder = tempfile::tempdir().unwrap();
        record.write(folder.path(), &json!({ "seed": 1 }), &json!({ "threads": 2 })).unwrap();
        let manifest = Manifest::read(folder.path()).unwrap();
        assert_eq!(Record::read(folder.path(), &manifest).unwrap(), record);
        assert_eq!((&manifest.settings, manifest.damage(folder.path())), (&json!({ "seed": 1 }), None));
        assert_eq!((record.fact("rank"), record.text("data")), (3.0, "generated"));
        std::fs::write(folder.path().join("sweep.csv"), "rho,divergence\n1\n").unwrap();
        assert!(Record::read(folder.path(), &manifest).unwrap_err().to_string().contains("line 2"));
    }
}
