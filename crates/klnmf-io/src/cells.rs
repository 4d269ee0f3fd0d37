//! The cells of a line of text.

use crate::error::Fault;
use crate::format::Format;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

/// The separator of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Byte(u8),
    /// One or more spaces or tabs.
    Space,
}

impl Separator {
    /// Detects the separator from the first line.
    pub(crate) fn of(line: &[u8], format: Format) -> Self {
        let first_of =
            |candidates: &[u8]| candidates.iter().copied().find(|byte| outside_quotes(line, *byte));
        match format {
            Format::Tsv => Separator::Byte(b'\t'),
            Format::Txt => first_of(b"\t,;").map_or(Separator::Space, Separator::Byte),
            _ => Separator::Byte(first_of(b",;\t").unwrap_or(b',')),
        }
    }

    pub(crate) fn byte(self) -> u8 {
        match self {
            Separator::Byte(byte) => byte,
            Separator::Space => b' ',
        }
    }

    /// Whether a cell is only the gap between two spaces.
    pub(crate) fn skips(self, cell: &[u8]) -> bool {
        self == Separator::Space && cell.is_empty()
    }
}

fn outside_quotes(line: &[u8], wanted: u8) -> bool {
    let mut quoted = false;
    line.iter().any(|byte| {
        quoted ^= *byte == b'"';
        !quoted && *byte == wanted
    })
}

/// The most cells of a line. A small compressed file can hold one endless line, whose cells must not fill the
/// memory.
const MOST: usize = 1 << 24;

/// Splits lines into cells.
pub(crate) struct Cells {
    separator: Separator,
    parser: Reader,
    /// The cells of the line one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    pub(crate) fn new(separator: Separator) -> Self {
        let mut builder = ReaderBuilder::new();
        let parser = builder.delimiter(separator.byte()).terminator(Terminator::Any(b'\n')).build();
        Self { separator, parser, text: Vec::new(), ends: Vec::new() }
    }

    /// Takes the next line.
    pub(crate) fn split(&mut self, line: &[u8], number: u64) -> Result<(), Fault> {
        // The parser wants room for one more of both.
        let most = 2 + line.iter().filter(|byte| **byte == self.separator.byte()).count();
        if most > MOST + 1 {
            let what = format!(
                "the line has more than {MOST} cells: check the line ends, or save the matrix as .npy or .npz"
            );
            return Err(Fault::line(number, what));
        }
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let start = |n: usize| if n == 0 { 0 } else { self.ends[n - 1] };
        let cells = self.ends.iter().enumerate().map(move |(n, end)| self.text[start(n)..*end].trim_ascii());
        cells.filter(|cell| !self.separator.skips(cell))
    }

    /// The cells of one line.
    pub(crate) fn texts_of(separator: Separator, line: &[u8], number: u64) -> Result<Vec<String>, Fault> {
        let mut cells = Self::new(separator);
        cells.split(line, number)?;
        Ok(cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect())
    }
}
