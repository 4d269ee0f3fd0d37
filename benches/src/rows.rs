//! The figures of a bench: printed as they come, then written as CSV.

use klnmf_io::csv_cell;
use std::io::Write as _;
use std::path::Path;

/// All figures so far, and the case that the next ones belong to.
#[derive(Default)]
pub struct Rows {
    all: Vec<Row>,
    case: String,
    precision: &'static str,
}

struct Row {
    case: String,
    precision: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
}

impl Rows {
    /// Begins a case.
    pub fn case(&mut self, name: &str, precision: &'static str) {
        (self.case, self.precision) = (name.to_owned(), precision);
    }

    /// Adds a figure and prints it.
    pub fn tell(&mut self, what: &str, value: f64, unit: &'static str) {
        let Self { all, case, precision } = self;
        println!("{case:<24} {precision} {what:<46} {value:10.2} {unit}");
        all.push(Row { case: case.clone(), precision, what: what.into(), value, unit });
    }

    /// Writes them all; a name with a comma or a quote in it is quoted.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        klnmf_io::atomically(path, |out| {
            writeln!(out, "case,precision,what,value,unit")?;
            self.all.iter().try_for_each(|Row { case, precision, what, value, unit }| {
                writeln!(out, "{},{precision},{},{value},{unit}", csv_cell(case), csv_cell(what))
            })
        })?;
        Ok(())
    }
}
