//! The lines of a text file, as bytes in one buffer that is reused for every line.

use crate::error::Fault;
use crate::source::Source;
use std::io::{BufRead, Read};

/// The longest line that is read. A file without line ends must not fill the memory.
const LONGEST: u64 = 1 << 30;

pub(crate) struct Lines<'a> {
    input: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(source: &'a Source) -> Result<Self, Fault> {
        Ok(Self { input: source.stream()?.input, line: Vec::new(), number: 0 })
    }

    /// The next line, without its end, and its number from 1. An initial byte order mark is dropped.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Fault> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 == LONGEST {
            return Err(Fault::line(
                self.number,
                "the line is too long for a text file with numbers: check the line ends",
            ));
        }
        let mut line = self.line.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}
