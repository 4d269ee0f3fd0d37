//! Text tables of numbers: csv, tsv and similar formats.
//!
//! The first line is data if all its cells are numbers. It is a header if none is, or if its first cell is
//! empty. Anything else is an error, because a header must not swallow a line of data with one wrong cell.
//! The first column holds names if its first cell below the header is text, if the header leaves its own first
//! cell empty, or if the header is one cell shorter than the lines below it, as R writes it.

use crate::csv_name::{harmless, original};
use crate::error::{Error, Fault, quoted};
use crate::format::Format;
use crate::lines::Lines;
use crate::number;
use crate::output::{Target, atomically};
use crate::source::Source;
use crate::table::{Stored, Table};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use klnmf::{Mat, Scalar};
use std::io::{self, Write};

/// The table in a text file.
pub(crate) fn read<T: Scalar>(source: &Source, format: Format) -> Result<Table<T>, Fault> {
    let mut lines = Lines::of(source)?;
    let mut rows: Option<Rows<T>> = None;
    while let Some((number, line)) = lines.next()? {
        let data_seen = rows.as_ref().is_some_and(|rows| rows.width > 0);
        if is_blank(line) || !data_seen && line.starts_with(b"#") {
            continue;
        }
        match &mut rows {
            None => rows = Some(Rows::begin(Separator::of(line, format), line, number)?),
            Some(rows) => rows.push(line, number)?,
        }
    }
    rows.ok_or_else(|| Fault::content("the file has no lines with numbers"))?.finish()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| *byte == b' ')
}

/// The first line, if it is not data.
struct Header {
    cells: Vec<String>,
    line: u64,
}

/// The rows read so far.
struct Rows<T> {
    cells: Cells,
    header: Option<Header>,
    /// Cells per line, names included; 0 before the first line with data.
    width: usize,
    first_line: u64,
    named: bool,
    names: Vec<String>,
    /// The numbers, row by row.
    numbers: Vec<T>,
}

impl<T: Scalar> Rows<T> {
    /// Starts with the first line, a header or data.
    fn begin(separator: Separator, line: &[u8], number: u64) -> Result<Self, Fault> {
        let mut cells = Cells::new(separator);
        cells.split(line, number)?;
        let first = cells.texts();
        let is_header = is_header(&first, separator).map_err(|(column, what)| Fault::Cell {
            line: number,
            column,
            what,
        })?;
        let header = is_header.then_some(Header { cells: first, line: number });
        let (names, numbers) = (Vec::new(), Vec::new());
        let mut rows = Self { cells, header, width: 0, first_line: 0, named: false, names, numbers };
        if !is_header {
            rows.push(line, number)?;
        }
        Ok(rows)
    }

    /// Adds a line with data.
    fn push(&mut self, line: &[u8], number: u64) -> Result<(), Fault> {
        self.cells.split(line, number)?;
        if self.width == 0 {
            self.settle(number)?;
        }
        let mut count = 0;
        for cell in self.cells.iter() {
            count += 1;
            if self.named && count == 1 {
                self.names.push(name(cell));
                continue;
            }
            match number::real(cell) {
                Some(value) => self.numbers.push(T::from_f64(value)),
                None => {
                    let what = not_a_number(cell, self.cells.separator);
                    return Err(Fault::Cell { line: number, column: count as u64, what });
                }
            }
        }
        if count != self.width {
            let what = format!(
                "the number of cells is {count}, but {} in line {}: give every line the same number",
                self.width, self.first_line
            );
            return Err(Fault::line(number, what));
        }
        Ok(())
    }

    /// Decides whether there are row names, at the first line with data.
    fn settle(&mut self, line: u64) -> Result<(), Fault> {
        let cells = self.cells.texts();
        (self.width, self.first_line) = (cells.len(), line);
        let (Some(header), Some(first)) = (&self.header, cells.first()) else {
            return Ok(());
        };
        let titles = header.cells.len();
        let corner = header.cells.first().map_or("", String::as_str);
        if titles != cells.len() && titles + 1 != cells.len() {
            let what = format!(
                "the number of cells is {}, but {titles} in the header in line {}: give every line the same \
                 number",
                cells.len(),
                header.line
            );
            return Err(Fault::line(line, what));
        }
        self.named = titles + 1 == cells.len() || titles > 1 && (corner.is_empty() || is_name(first));
        Ok(())
    }

    /// A column of numbers with a typing error in its first cell must not be taken for a column of names.
    fn check_names(&self) -> Result<(), Fault> {
        let corner = self.header.as_ref().filter(|header| header.cells.len() == self.width);
        let told_by_cell =
            corner.and_then(|header| header.cells.first()).is_some_and(|corner| !corner.is_empty());
        match self.names.split_first() {
            Some((first, rest))
                if told_by_cell && !rest.is_empty() && rest.iter().all(|name| is_number(name)) =>
            {
                let what = format!(
                    "{} is not a number, but all cells below it are: correct it, or empty the first cell of \
                     the header if this column holds names",
                    quoted(first.as_bytes())
                );
                Err(Fault::Cell { line: self.first_line, column: 1, what })
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Table<T>, Fault> {
        if self.width == 0 {
            return Err(Fault::content("the file has a header but no lines with numbers"));
        }
        self.check_names()?;
        let cols = self.width - usize::from(self.named);
        let rows = self.numbers.len().checked_div(cols).unwrap_or(0);
        // The rows are the columns of the transposed matrix.
        let matrix = Mat::new(cols, rows, self.numbers)?.transpose();
        let col_names = self.header.map(|header| {
            let skipped = header.cells.len() - cols.min(header.cells.len());
            header.cells.iter().skip(skipped).map(|cell| name(cell.as_bytes())).collect()
        });
        let row_names = self.named.then_some(self.names);
        Ok(Table { matrix: Stored::Dense(matrix), row_names, col_names })
    }
}

/// Whether the first line is a header; if that is not clear, the column of a cell and what is wrong with it.
fn is_header(cells: &[String], separator: Separator) -> Result<bool, (u64, String)> {
    let is = |number: bool| cells.iter().position(|cell| is_number(cell) == number);
    let (Some(number), Some(text)) = (is(true), is(false)) else { return Ok(is(true).is_none()) };
    if cells[0].is_empty() {
        return Ok(true);
    }
    let what = not_a_number(cells[text].as_bytes(), separator);
    let advice = format!(
        "{what}; if this line is a header, empty its first cell or rename {}; if the first column holds names, \
         add a header",
        quoted(cells[number].as_bytes())
    );
    Err((text as u64 + 1, advice))
}

fn is_number(cell: &str) -> bool {
    number::real(cell.as_bytes()).is_some()
}

fn has_decimal_comma(cell: &[u8]) -> bool {
    let with_point: Vec<u8> = cell.iter().map(|byte| if *byte == b',' { b'.' } else { *byte }).collect();
    cell.contains(&b',') && number::real(&with_point).is_some()
}

/// Whether a cell can only be a name, and not a mistyped number.
fn is_name(cell: &str) -> bool {
    !cell.is_empty() && !is_number(cell) && !has_decimal_comma(cell.as_bytes())
}

/// The error for a cell that should be a number.
fn not_a_number(cell: &[u8], separator: Separator) -> String {
    let shown = quoted(cell);
    if cell.is_empty() {
        "the cell is empty: write 0 if you mean 0".into()
    } else if has_decimal_comma(cell) {
        format!("{shown} has a decimal comma: write a decimal point")
    } else if separator == Separator::Byte(b',') && cell.contains(&b';') {
        format!("{shown} is not a number: separate cells with commas only, and write decimals with a point")
    } else {
        format!("{shown} is not a number: correct it, or remove its line or column")
    }
}

/// The separator of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    /// One or more spaces or tabs.
    Space,
}

impl Separator {
    /// Detects the separator from the first line.
    fn of(line: &[u8], format: Format) -> Self {
        let first_of =
            |candidates: &[u8]| candidates.iter().copied().find(|byte| outside_quotes(line, *byte));
        match format {
            Format::Tsv => Separator::Byte(b'\t'),
            Format::Txt => first_of(b"\t,;").map_or(Separator::Space, Separator::Byte),
            _ => Separator::Byte(first_of(b",;\t").unwrap_or(b',')),
        }
    }

    fn byte(self) -> u8 {
        match self {
            Separator::Byte(byte) => byte,
            Separator::Space => b' ',
        }
    }
}

fn outside_quotes(line: &[u8], wanted: u8) -> bool {
    let mut quoted = false;
    line.iter().any(|byte| {
        quoted ^= *byte == b'"';
        !quoted && *byte == wanted
    })
}

/// Splits lines into cells.
struct Cells {
    separator: Separator,
    parser: Reader,
    /// The cells of the line one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    fn new(separator: Separator) -> Self {
        let mut builder = ReaderBuilder::new();
        let parser = builder.delimiter(separator.byte()).terminator(Terminator::Any(b'\n')).build();
        Self { separator, parser, text: Vec::new(), ends: Vec::new() }
    }

    /// Takes the next line.
    fn split(&mut self, line: &[u8], number: u64) -> Result<(), Fault> {
        // The parser wants room for one more of both.
        let most = 2 + line.iter().filter(|byte| **byte == self.separator.byte()).count();
        self.text.resize(self.text.len().max(line.len() + 1), 0);
        self.ends.resize(most, 0);
        self.parser.reset();
        let (_, _, text, ends) = self.parser.read_record(line, &mut self.text, &mut self.ends);
        let (result, _, _, last) =
            self.parser.read_record(b"\n", &mut self.text[text..], &mut self.ends[ends..]);
        self.ends.truncate(ends + last);
        if result != ReadRecordResult::Record {
            let what = "a quote is not closed: close it; a cell cannot continue on the next line";
            return Err(Fault::line(number, what));
        }
        Ok(())
    }

    /// The cells of the line, trimmed. Several spaces separate as one does.
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let start = |n: usize| if n == 0 { 0 } else { self.ends[n - 1] };
        let cells = self.ends.iter().enumerate().map(move |(n, end)| self.text[start(n)..*end].trim_ascii());
        cells.filter(|cell| self.separator != Separator::Space || !cell.is_empty())
    }

    fn texts(&self) -> Vec<String> {
        self.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    }
}

/// Writes a matrix as comma-separated text that [`read`](crate::read) reads back unchanged, with its names.
///
/// Names that a spreadsheet would execute get an apostrophe in front, which reading removes.
pub fn write_csv<'p, T: Scalar>(
    target: impl Into<Target<'p>>,
    matrix: &Mat<T>,
    row_names: Option<&[String]>,
    col_names: Option<&[String]>,
) -> Result<(), Error> {
    let target = target.into();
    for (what, names, length) in [("row", row_names, matrix.rows()), ("column", col_names, matrix.cols())] {
        if let Some(names) = names
            && names.len() != length
        {
            let what = format!("{} {what} names where {length} are needed", names.len());
            return Err(Fault::Content(what).at(target.path()));
        }
    }
    atomically(target, |out| write(out, matrix, row_names, col_names))
}

fn write<T: Scalar>(
    out: &mut impl Write,
    matrix: &Mat<T>,
    row_names: Option<&[String]>,
    col_names: Option<&[String]>,
) -> io::Result<()> {
    if row_names.is_some() || col_names.is_some() {
        // A file with row names needs a header, so columns without names get numbers.
        let number = |j: usize| (j + 1).to_string();
        let title = |j: usize| {
            col_names.and_then(|names| names.get(j)).map_or_else(|| number(j), |name| escaped(name))
        };
        let corner = row_names.map(|_| String::new());
        let titles: Vec<String> = corner.into_iter().chain((0..matrix.cols()).map(title)).collect();
        writeln!(out, "{}", titles.join(","))?;
    }
    for i in 0..matrix.rows() {
        let name = row_names.and_then(|names| names.get(i)).map(|name| escaped(name));
        let numbers = (0..matrix.cols()).map(|j| matrix[(i, j)].to_string());
        let cells: Vec<String> = name.into_iter().chain(numbers).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// The name in quotes. Line breaks become spaces, because the reader works line by line.
fn escaped(name: &str) -> String {
    let line = name.replace(['\n', '\r'], " ");
    format!("\"{}\"", harmless(&line).replace('"', "\"\""))
}

/// The name in a cell.
fn name(cell: &[u8]) -> String {
    original(&String::from_utf8_lossy(cell)).to_owned()
}
