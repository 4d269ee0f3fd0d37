//! Text tables of numbers: csv, tsv and similar formats.
//!
//! The first line is data if all its cells are numbers. It is a header if none is, or if its first cell is
//! empty. Anything else is an error, because a header must not swallow a line of data with one wrong cell.
//! The first column holds names if its first cell below the header is text, if the header leaves its own
//! first cell empty, or if the header is one cell shorter than the lines below it, as R writes it.

use crate::cells::{Cells, Separator};
use crate::csv_name::{harmless, original};
use crate::error::{Error, Fault, quoted};
use crate::format::Format;
use crate::lines::{Lines, Piece, line_ends};
use crate::names::check_count;
use crate::number::{self, rounded};
use crate::output::{Target, atomically};
use crate::source::Source;
use crate::table::{Stored, Table};
use klnmf::{Mat, Scalar};
use rayon::prelude::*;
use std::io::{self, Write};

/// The table in a text file.
pub(crate) fn read<T: Scalar>(source: &Source, format: Format) -> Result<Table<T>, Fault> {
    let mut lines = Lines::of(source)?;
    let mut rows: Option<Rows<T>> = None;
    // The first line with data tells the width. All others are parsed in parallel.
    while rows.as_ref().is_none_or(|rows| rows.shape.width == 0)
        && let Some((number, line)) = lines.next()?
    {
        if is_blank(line) || is_comment(line, rows.as_ref().map(|rows| rows.shape.separator)) {
            continue;
        }
        match &mut rows {
            None => rows = Some(Rows::begin(Separator::of(line, format), line, number)?),
            Some(rows) => rows.push_first(line, number)?,
        }
    }
    let mut rows = rows.ok_or_else(|| Fault::content("the file has no lines with numbers"))?;
    let shape = rows.shape;
    lines.in_pieces(|text| shape.parse(text), |block, piece| rows.push(block, piece.first))?;
    rows.finish()
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| *byte == b' ')
}

/// Whether a line before the first line with data is a comment. After the header it may be a row whose name
/// begins like one.
fn is_comment(line: &[u8], separator: Option<Separator>) -> bool {
    let is_row = |separator| {
        let cells = Cells::texts_of(separator, line, 0).unwrap_or_default();
        cells.len() > 1 && cells[1..].iter().all(|cell| is_number(cell))
    };
    line.starts_with(b"#") && !separator.is_some_and(is_row)
}

/// The first line, if it is not data.
struct Header {
    cells: Vec<String>,
    line: u64,
}

/// What every line with data has in common.
#[derive(Clone, Copy)]
struct Shape {
    separator: Separator,
    /// Cells per line, names included; 0 before the first line with data.
    width: usize,
    first_line: u64,
    /// Whether the first cell is a name.
    named: bool,
}

/// Some lines of the table, up to the first that is wrong.
struct Block<T> {
    names: Vec<String>,
    /// The numbers, row by row.
    numbers: Vec<T>,
    fault: Option<Fault>,
}

impl Shape {
    /// Parses some lines. They count from 0.
    fn parse<T: Scalar>(self, text: &[u8]) -> Block<T> {
        let most = (line_ends(text) as usize + 1) * (self.width - usize::from(self.named));
        // Not more than there can be, whatever the file claims.
        let numbers = Vec::with_capacity(most.min(text.len() / 2 + 1));
        let mut block = Block { names: Vec::new(), numbers, fault: None };
        let mut cells = Cells::new(self.separator);
        for (number, line) in (Piece { text, first: 0 }).lines().filter(|(_, line)| !is_blank(line)) {
            block.fault = self.line(line, number, &mut cells, &mut block).err();
            if block.fault.is_some() {
                break;
            }
        }
        block
    }

    /// Adds a line to the block.
    fn line<T: Scalar>(
        self,
        line: &[u8],
        number: u64,
        cells: &mut Cells,
        block: &mut Block<T>,
    ) -> Result<(), Fault> {
        let count = match line.contains(&b'"') {
            true => {
                cells.split(line, number)?;
                cells.iter().try_fold(0, |count, cell| self.cell(cell, count, block))
            }
            false => self.unquoted(line, block),
        };
        let count = count.map_err(|(column, what)| Fault::Cell { line: number, column, what })?;
        if count != self.width {
            let what = format!(
                "the number of cells is {count}, but {} in line {}: give every line the same number",
                self.width, self.first_line
            );
            return Err(Fault::line(number, what));
        }
        Ok(())
    }

    /// Adds the cells of a line without quotes and counts them. If one is wrong: its column, and why.
    fn unquoted<T: Scalar>(self, line: &[u8], block: &mut Block<T>) -> Result<usize, (u64, String)> {
        let (separator, mut count, mut rest) = (self.separator.byte(), 0, Some(line));
        while let Some(text) = rest {
            let usual = number::plain(text).filter(|(_, end)| text.get(*end).is_none_or(|b| *b == separator));
            let end = match usual {
                Some((value, end)) if count > 0 || !self.named => {
                    block.numbers.push(rounded(value));
                    count += 1;
                    end
                }
                _ => {
                    let end = text.iter().position(|byte| *byte == separator).unwrap_or(text.len());
                    let cell = text[..end].trim_ascii();
                    if !self.separator.skips(cell) {
                        count = self.cell(cell, count, block)?;
                    }
                    end
                }
            };
            rest = text.get(end + 1..);
        }
        Ok(count)
    }

    /// Adds a cell that `count` others precede, and counts it. If it is wrong: its column, and why.
    fn cell<T: Scalar>(
        self,
        cell: &[u8],
        count: usize,
        block: &mut Block<T>,
    ) -> Result<usize, (u64, String)> {
        if self.named && count == 0 {
            block.names.push(name(cell));
        } else {
            let value = number::entry(cell);
            let wrong = || (count as u64 + 1, not_a_number(cell, self.separator));
            block.numbers.push(rounded(value.ok_or_else(wrong)?));
        }
        Ok(count + 1)
    }
}

/// The rows read so far.
struct Rows<T> {
    shape: Shape,
    header: Option<Header>,
    names: Vec<String>,
    /// The numbers, row by row, some rows at a time.
    blocks: Vec<Vec<T>>,
}

impl<T: Scalar> Rows<T> {
    /// Starts with the first line, a header or data.
    fn begin(separator: Separator, line: &[u8], number: u64) -> Result<Self, Fault> {
        let first = Cells::texts_of(separator, line, number)?;
        let is_header = is_header(&first, separator).map_err(|(column, what)| Fault::Cell {
            line: number,
            column,
            what,
        })?;
        let header = is_header.then_some(Header { cells: first, line: number });
        let shape = Shape { separator, width: 0, first_line: 0, named: false };
        let mut rows = Self { shape, header, names: Vec::new(), blocks: Vec::new() };
        if !is_header {
            rows.push_first(line, number)?;
        }
        Ok(rows)
    }

    /// Adds the first line with data.
    fn push_first(&mut self, line: &[u8], number: u64) -> Result<(), Fault> {
        self.settle(line, number)?;
        self.push(self.shape.parse(line), number)
    }

    /// Adds the block whose first line has this number.
    fn push(&mut self, block: Block<T>, first: u64) -> Result<(), Fault> {
        self.names.extend(block.names);
        self.blocks.push(block.numbers);
        block.fault.map_or(Ok(()), |fault| Err(fault.below(first)))
    }

    /// Decides the width and whether there are row names, at the first line with data.
    fn settle(&mut self, text: &[u8], line: u64) -> Result<(), Fault> {
        let cells = Cells::texts_of(self.shape.separator, text, line)?;
        (self.shape.width, self.shape.first_line) = (cells.len(), line);
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
        self.shape.named = titles + 1 == cells.len() || titles > 1 && (corner.is_empty() || is_name(first));
        Ok(())
    }

    /// A column of numbers with a typing error in its first cell must not be taken for a column of names.
    fn check_names(&self) -> Result<(), Fault> {
        let corner = self.header.as_ref().filter(|header| header.cells.len() == self.shape.width);
        let told_by_cell =
            corner.and_then(|header| header.cells.first()).is_some_and(|corner| !corner.is_empty());
        match self.names.split_first() {
            Some((first, rest))
                if told_by_cell && !rest.is_empty() && rest.iter().all(|name| is_number(name)) =>
            {
                let what = format!(
                    "{} is not a number, but all cells below it are: correct it, or empty the first cell of \
                     the header if this column holds names",
                    quoted(first)
                );
                Err(Fault::Cell { line: self.shape.first_line, column: 1, what })
            }
            _ => Ok(()),
        }
    }

    fn finish(self) -> Result<Table<T>, Fault> {
        let Shape { width, named, .. } = self.shape;
        if width == 0 {
            return Err(Fault::content("the file has a header but no lines with numbers"));
        }
        self.check_names()?;
        let cols = width - usize::from(named);
        let matrix = by_columns(self.blocks, cols)?;
        let col_names = self.header.map(|header| {
            let skipped = header.cells.len() - cols.min(header.cells.len());
            header.cells.iter().skip(skipped).map(|cell| name(cell.as_bytes())).collect()
        });
        let row_names = named.then_some(self.names);
        Ok(Table { matrix: Stored::Dense(matrix), row_names, col_names })
    }
}

/// The matrix whose rows are in `blocks`.
fn by_columns<T: Scalar>(blocks: Vec<Vec<T>>, cols: usize) -> Result<Mat<T>, Fault> {
    let rows = blocks.iter().map(Vec::len).sum::<usize>().checked_div(cols).unwrap_or(0);
    let mut matrix = Mat::try_zeros(rows, cols)?;
    // Sixteen numbers fill two lines of the cache.
    let panels = matrix.as_mut_slice().par_chunks_mut((16 * rows).max(1)).enumerate();
    panels.for_each(|(panel, to)| {
        for (row, from) in blocks.iter().flat_map(|block| block.chunks(cols)).enumerate() {
            let from = &from[16 * panel..];
            to[row..].iter_mut().step_by(rows).zip(from).for_each(|(to, from)| *to = *from);
        }
    });
    Ok(matrix)
}

/// Whether the first line is a header; if that is not clear, the column of a cell and what is wrong with it.
fn is_header(cells: &[String], separator: Separator) -> Result<bool, (u64, String)> {
    let is = |number: bool| cells.iter().position(|cell| is_number(cell) == number);
    let (Some(number), Some(text)) = (is(true), is(false)) else {
        // Mistyped numbers are not a header.
        if cells.iter().all(|cell| has_decimal_comma(cell.as_bytes())) && !cells.is_empty() {
            return Err((1, not_a_number(cells[0].as_bytes(), separator)));
        }
        return Ok(is(true).is_none());
    };
    if cells[0].is_empty() {
        return Ok(true);
    }
    let what = not_a_number(cells[text].as_bytes(), separator);
    let advice = format!(
        "{what}; if this line is a header, empty its first cell or rename {}; if the first column holds names, \
         add a header",
        quoted(&cells[number])
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
    } else if number::vanishes(cell) {
        number::too_small(cell)
    } else if has_decimal_comma(cell) {
        let (_, after) = cell.split_at(cell.iter().position(|byte| *byte == b',').map_or(0, |at| at + 1));
        match after.len() == 3 && after.iter().all(u8::is_ascii_digit) {
            // This may be a thousand or a decimal number with three digits after the comma.
            true => format!("{shown} has a comma: leave it out between thousands, or write a decimal point"),
            false => format!("{shown} has a decimal comma: write a decimal point"),
        }
    } else if separator == Separator::Byte(b',') && cell.contains(&b';') {
        format!("{shown} is not a number: separate cells with commas only, and write decimals with a point")
    } else {
        format!("{shown} is not a number: correct it, or remove its line or column")
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
    check_count("row", row_names, matrix.rows())
        .and_then(|()| check_count("column", col_names, matrix.cols()))
        .map_err(|fault| fault.at(target.path()))?;
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
