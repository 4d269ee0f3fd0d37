//! Names in CSV files that a spreadsheet must not take for formulas.
//!
//! A spreadsheet executes a cell that begins with `=`, `+`, `-`, `@` or a tab, and names come from files of
//! strangers. Such a name is written with an apostrophe in front. A name that has apostrophes in front of
//! such a letter gets one more, so that reading removes exactly what writing has added.

use std::borrow::Cow;

/// The name as it is written to a CSV file, without quotes.
pub fn harmless(name: &str) -> Cow<'_, str> {
    if is_formula(name.trim_start_matches('\'')) { format!("'{name}").into() } else { name.into() }
}

/// A name as a cell of a CSV file: [`harmless`], and in quotes if it needs them.
pub fn csv_cell(name: &str) -> String {
    let cell = harmless(name);
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into_owned()
    }
}

/// The name that [`harmless`] has changed.
pub(crate) fn original(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|rest| is_formula(rest.trim_start_matches('\''))).unwrap_or(cell)
}

fn is_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}
