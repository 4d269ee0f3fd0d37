//! The lines of a text file: one after the other, or in pieces that are parsed in parallel.

use crate::error::Fault;
use crate::source::Source;
use rayon::prelude::*;
use std::io::{self, BufRead, Read};

/// The longest line that is read. A file without line ends must not fill the memory.
const LONGEST: u64 = 1 << 30;

/// Bytes of a piece, up to the end of its last line.
const PIECE: usize = 1 << 18;

/// Pieces that are parsed together, while the next ones are read and decompressed.
const PIECES: usize = 16;

/// The lines that have not been read yet.
pub(crate) struct Lines<'a> {
    input: Box<dyn BufRead + Send + 'a>,
    /// The last line, in a buffer that is reused.
    line: Vec<u8>,
    /// Its number.
    number: u64,
}

/// Some whole lines, and the number of the first.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) first: u64,
}

impl<'a> Piece<'a> {
    /// The lines, without their ends, and their numbers.
    pub(crate) fn lines(self) -> impl Iterator<Item = (u64, &'a [u8])> {
        (self.first..).zip(self.text.split_inclusive(|byte| *byte == b'\n').map(without_end))
    }
}

/// Whether the text begins with the byte order mark of UTF-16, or with a letter in two bytes.
fn is_utf_16(text: &[u8]) -> bool {
    matches!(text, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [1..=0x7f, 0, ..] | [0, 1..=0x7f, ..])
}

/// The line without the characters that end it.
pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl<'a> Lines<'a> {
    pub(crate) fn of(source: &'a Source) -> Result<Self, Fault> {
        let mut input = source.stream()?.input;
        if is_utf_16(input.fill_buf()?) {
            return Err(Fault::content(
                "the text is in UTF-16: save it in UTF-8, or convert it with iconv -f UTF-16 -t UTF-8",
            ));
        }
        Ok(Self { input, line: Vec::new(), number: 0 })
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
            return Err(too_long(self.number));
        }
        let mut line = self.line.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        Ok(Some((self.number, without_end(line))))
    }

    /// Parses the lines that are left in pieces, on all threads of the pool that this is called in, and
    /// passes the results to `take` one after the other, in the order of the file.
    ///
    /// The numbers of the lines of a piece are not known while it is parsed: `parse` counts them from 0.
    /// `take` gets the piece with the true number of its first line.
    pub(crate) fn in_pieces<P: Send>(
        mut self,
        parse: impl Fn(&[u8]) -> P + Sync,
        mut take: impl FnMut(P, Piece) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (mut texts, mut next) = (Vec::new(), Vec::new());
        let mut read = self.read_pieces(&mut texts);
        let mut first = self.number + 1;
        loop {
            let ended = read.is_err() || texts.is_empty();
            let parse = |text: &Vec<u8>| (parse(text), line_ends(text));
            let parsed = || texts.par_iter().with_max_len(1).map(parse).collect::<Vec<_>>();
            let (parsed, after) = match ended {
                true => (parsed(), Ok(())),
                false => rayon::join(parsed, || self.read_pieces(&mut next)),
            };
            for ((parsed, ends), text) in parsed.into_iter().zip(&texts) {
                take(parsed, Piece { text, first })?;
                first += ends;
            }
            if ended {
                return read.map_err(|fault| fault.below(first - 1));
            }
            read = after;
            std::mem::swap(&mut texts, &mut next);
        }
    }

    /// Reads the next pieces into `texts`, whose buffers are reused; none at the end. What was read before a
    /// failure is kept. Its line is counted from the end of that.
    fn read_pieces(&mut self, texts: &mut Vec<Vec<u8>>) -> Result<(), Fault> {
        let mut room = std::mem::take(texts).into_iter();
        while texts.len() < PIECES {
            let mut text = room.next().unwrap_or_else(|| Vec::with_capacity(PIECE + PIECE / 8));
            text.clear();
            if self.read_piece(&mut text)? == LONGEST {
                return Err(too_long(line_ends(&text) + 1));
            }
            if text.is_empty() {
                break;
            }
            texts.push(text);
        }
        Ok(())
    }

    /// Appends some whole lines to `text` and returns the bytes that were read to complete the last one.
    fn read_piece(&mut self, text: &mut Vec<u8>) -> io::Result<u64> {
        let whole = |text: &[u8]| text.last().is_none_or(|byte| *byte == b'\n');
        (&mut self.input).take(PIECE as u64).read_to_end(text)?;
        if whole(text) {
            return Ok(0);
        }
        (&mut self.input).take(LONGEST).read_until(b'\n', text).map(|read| read as u64)
    }
}

/// The number of lines that end in the text.
pub(crate) fn line_ends(text: &[u8]) -> u64 {
    // Counting in bytes first is several times faster.
    let count = |part: &[u8]| part.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    text.chunks(255).map(|part| u64::from(count(part))).sum()
}

fn too_long(line: u64) -> Fault {
    Fault::line(line, "the line is too long for a text file with numbers: check the line ends")
}
