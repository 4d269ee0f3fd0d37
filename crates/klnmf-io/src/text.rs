//! Text tables of numbers: csv, tsv and similar formats.
//!
//! The first line is a header if any of its cells is not a number. The first column holds names if its first
//! cell below the header is text, if the header leaves its own first cell empty, or if the header is one cell
//! shorter than the lines below it, as R writes it.

use crate::error::{Error, Fault, quoted};
use crate::format::Format;
use crate::lines::Lines;
use crate::number;
use crate::output::atomically;
use crate::source::Source;
use crate::table::{Stored, Table};
use klnmf::{Mat, Scalar};
use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// The table in a text file.
pub(crate) fn read<T: Scalar>(source: &Source, format: Format) -> Result<Table<T>, Fault> {
    let mut lines = Lines::of(source)?;
    let mut rows: Option<Rows<T>> = None;
    while let Some((number, line)) = lines.next()? {
        let data_seen = rows.as_ref().is_some_and(|rows| rows.cells > 0);
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
    separator: Separator,
    header: Option<Header>,
    /// Cells per line, names included; 0 before the first line with data.
    cells: usize,
    first_line: u64,
    named: bool,
    names: Vec<String>,
    /// The numbers, row by row.
    numbers: Vec<T>,
}

impl<T: Scalar> Rows<T> {
    /// Starts with the first line, a header or data.
    fn begin(separator: Separator, line: &[u8], number: u64) -> Result<Self, Fault> {
        let cells = texts(separator, line, number)?;
        let is_header = !cells.iter().all(|cell| is_number(cell));
        let header = is_header.then_some(Header { cells, line: number });
        let (names, numbers) = (Vec::new(), Vec::new());
        let mut rows = Self { separator, header, cells: 0, first_line: 0, named: false, names, numbers };
        if !is_header {
            rows.push(line, number)?;
        }
        Ok(rows)
    }

    /// Adds a line with data.
    fn push(&mut self, line: &[u8], number: u64) -> Result<(), Fault> {
        if self.cells == 0 {
            self.settle(&texts(self.separator, line, number)?, number)?;
        }
        let mut count = 0;
        for cell in Cells::of(self.separator, line) {
            let cell = cell.map_err(|what| Fault::line(number, what))?;
            count += 1;
            if self.named && count == 1 {
                self.names.push(String::from_utf8_lossy(cell.trim_ascii()).into_owned());
                continue;
            }
            match number::real(cell.trim_ascii()) {
                Some(value) => self.numbers.push(T::from_f64(value)),
                None => {
                    let what = not_a_number(cell.trim_ascii(), self.separator);
                    return Err(Fault::Cell { line: number, column: count as u64, what });
                }
            }
        }
        if count != self.cells {
            let what = format!(
                "the number of cells is {count}, but {} in line {}: give every line the same number",
                self.cells, self.first_line
            );
            return Err(Fault::line(number, what));
        }
        Ok(())
    }

    /// Decides whether there are row names, at the first line with data.
    fn settle(&mut self, cells: &[String], line: u64) -> Result<(), Fault> {
        (self.cells, self.first_line) = (cells.len(), line);
        let (Some(header), Some(first)) = (&self.header, cells.first()) else {
            return Ok(());
        };
        let titles = header.cells.len();
        let corner = header.cells.first().map_or("", String::as_str);
        if titles + 1 == cells.len() {
            self.named = true;
        } else if titles != cells.len() {
            let what = format!(
                "the number of cells is {}, but {titles} in the header in line {}: give every line the same \
                 number",
                cells.len(),
                header.line
            );
            return Err(Fault::line(line, what));
        } else {
            self.named = titles > 1 && (corner.is_empty() || is_name(first));
            // "a,1,2" above "b,3,4" could have a header or not, so neither is assumed silently.
            if self.named && !corner.is_empty() && header.cells.iter().skip(1).all(|cell| is_number(cell)) {
                let what = format!(
                    "after {} there are only numbers, so this may be a header or data: if a header, empty \
                     its first cell; if data, add a header above it",
                    quoted(corner.as_bytes())
                );
                return Err(Fault::line(header.line, what));
            }
        }
        Ok(())
    }

    /// A column of numbers with a typing error in its first cell must not be taken for a column of names.
    fn check_names(&self) -> Result<(), Fault> {
        let corner = self.header.as_ref().filter(|header| header.cells.len() == self.cells);
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
        if self.cells == 0 {
            return Err(Fault::content("the file has a header but no lines with numbers"));
        }
        self.check_names()?;
        let cols = self.cells - usize::from(self.named);
        let rows = self.numbers.len().checked_div(cols).unwrap_or(0);
        // The rows are the columns of the transposed matrix.
        let matrix = Mat::new(cols, rows, self.numbers)?.transpose();
        let col_names = self.header.map(|header| {
            let skipped = header.cells.len() - cols.min(header.cells.len());
            header.cells.into_iter().skip(skipped).collect()
        });
        let row_names = self.named.then_some(self.names);
        Ok(Table { matrix: Stored::Dense(matrix), row_names, col_names })
    }
}

/// All cells of a line as trimmed text.
fn texts(separator: Separator, line: &[u8], number: u64) -> Result<Vec<String>, Fault> {
    let text = |cell: Cow<[u8]>| String::from_utf8_lossy(cell.trim_ascii()).into_owned();
    let cells: Result<_, _> = Cells::of(separator, line).map(|cell| cell.map(text)).collect();
    cells.map_err(|what| Fault::line(number, what))
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

    fn is(self, byte: u8) -> bool {
        match self {
            Separator::Byte(separator) => byte == separator,
            Separator::Space => byte == b' ' || byte == b'\t',
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

/// The cells of a line.
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Cells<'a> {
    fn of(separator: Separator, line: &'a [u8]) -> Self {
        let line = if separator == Separator::Space { line.trim_ascii() } else { line };
        Self { rest: Some(line), separator }
    }

    /// Continues after a separator at `end`, or to the end of the line if there is none.
    fn go_on(&mut self, rest: &'a [u8], end: usize) {
        self.rest = rest.get(end + 1..).map(|next| match self.separator {
            Separator::Space => next.trim_ascii_start(),
            Separator::Byte(_) => next,
        });
    }

    fn plain(&mut self, rest: &'a [u8]) -> Cow<'a, [u8]> {
        let end = rest.iter().position(|byte| self.separator.is(*byte)).unwrap_or(rest.len());
        self.go_on(rest, end);
        Cow::Borrowed(rest.get(..end).unwrap_or_default())
    }

    /// The cell after an opening quote; a doubled quote stands for one.
    fn quoted(&mut self, rest: &'a [u8]) -> Result<Cow<'a, [u8]>, &'static str> {
        let mut cell = Vec::new();
        let mut at = 0;
        loop {
            match (rest.get(at), rest.get(at + 1)) {
                (None, _) => {
                    return Err("a quote is not closed: close it; a cell cannot continue on the next line");
                }
                (Some(b'"'), Some(b'"')) => {
                    cell.push(b'"');
                    at += 2;
                }
                (Some(b'"'), _) => break,
                (Some(byte), _) => {
                    cell.push(*byte);
                    at += 1;
                }
            }
        }
        let after = rest.get(at + 1..).unwrap_or_default();
        let end = after.iter().position(|byte| self.separator.is(*byte)).unwrap_or(after.len());
        if !after.iter().take(end).all(|byte| *byte == b' ') {
            return Err("there is text between a closing quote and the end of its cell: remove it");
        }
        self.go_on(after, end);
        Ok(Cow::Owned(cell))
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Result<Cow<'a, [u8]>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        match rest.get(blanks..) {
            Some([b'"', inner @ ..]) => {
                let cell = self.quoted(inner);
                Some(cell)
            }
            _ => Some(Ok(self.plain(rest))),
        }
    }
}

/// Writes a matrix as comma-separated text that [`read`](crate::read) reads back unchanged, with its names.
pub fn write_csv<T: Scalar>(
    path: &Path,
    matrix: &Mat<T>,
    row_names: Option<&[String]>,
    col_names: Option<&[String]>,
) -> Result<(), Error> {
    for (what, names, length) in [("row", row_names, matrix.rows()), ("column", col_names, matrix.cols())] {
        if let Some(names) = names
            && names.len() != length
        {
            let what = format!("{} {what} names where {length} are needed", names.len());
            return Err(Fault::Content(what).at(path));
        }
    }
    atomically(path, |out| write(out, matrix, row_names, col_names))
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
    format!("\"{}\"", name.replace(['\n', '\r'], " ").replace('"', "\"\""))
}
