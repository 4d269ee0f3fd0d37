//! One document per row of a csv or tsv file with a header.

use crate::error::missing;
use crate::source::Source;
use crate::{Documents, Error, ReadOptions};
use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};

/// The documents of a table; a quoted text may span several lines.
pub(crate) fn read(source: &Source, separator: u8, options: &ReadOptions) -> Result<Documents, Error> {
    let fault = |why| fault(source, why);
    let separator = if separator == b',' && semicolons(source) { b';' } else { separator };
    let mut reader =
        ReaderBuilder::new().delimiter(separator).trim(Trim::Headers).from_reader(source.text.as_bytes());
    let header = reader.headers().map_err(fault)?.clone();
    let find = |name: &str, option| find(source, &header, name, option);
    let text = match &options.column {
        None if header.len() == 1 => 0,
        column => find(column.as_deref().unwrap_or("text"), "--column")?,
    };
    let id = options.id.as_deref().map(|name| find(name, "--id")).transpose()?;

    let mut documents = Documents::default();
    let mut last = 0;
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(fault)?;
        last = record.position().map_or(last, |position| position.byte() as usize);
        let cell = |column| record.get(column).unwrap_or_default().to_owned();
        documents.push(id.map_or_else(|| format!("row {}", row + 1), cell), cell(text));
    }
    check_closed(source, last)?;
    if documents.texts.is_empty() {
        return Err(source.wrong("the table has a header but no rows: add one row per document"));
    }
    Ok(documents)
}

/// Whether the header is separated by semicolons, which is common where the comma is the decimal mark.
fn semicolons(source: &Source) -> bool {
    let header = source.text.lines().next().unwrap_or_default();
    header.contains(';') && !header.contains(',')
}

fn find(source: &Source, header: &StringRecord, name: &str, option: &str) -> Result<usize, Error> {
    let place = header.iter().position(|column| column == name);
    place.ok_or_else(|| source.wrong(missing("column", name, header.iter(), option)))
}

fn fault(source: &Source, why: csv::Error) -> Error {
    match why.kind() {
        ErrorKind::UnequalLengths { pos: Some(position), expected_len, len } => {
            let what = format!(
                "the number of cells is {len}, but {expected_len} in the header: put quotes around a text \
                 that contains the separator"
            );
            source.wrong_line(line_at(&source.text, position.byte() as usize), what)
        }
        _ => source.wrong(why.to_string()),
    }
}

/// An unclosed quote puts all lines after it into one text. The last row then spans several lines and has an
/// odd number of quotes.
fn check_closed(source: &Source, last: usize) -> Result<(), Error> {
    let row = source.text.get(last..).unwrap_or_default().trim();
    if row.contains('\n') && row.matches('"').count() % 2 == 1 {
        let what = "a quote in this row is never closed: close it, or double it if it is part of the text";
        return Err(source.wrong_line(line_at(&source.text, last), what));
    }
    Ok(())
}

/// The line where the row after this position begins; empty lines before it belong to no row.
fn line_at(text: &str, place: usize) -> usize {
    let (before, after) = text.as_bytes().split_at(place.min(text.len()));
    let skipped = after.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    1 + before.iter().chain(skipped).filter(|byte| **byte == b'\n').count()
}
