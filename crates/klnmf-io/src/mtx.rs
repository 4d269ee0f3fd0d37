//! MatrixMarket: a banner, comments, a size line and then one entry per line.

use crate::error::{Fault, quoted};
use crate::lines::{Lines, line_ends, without_end};
use crate::memory::check_sparse;
use crate::number::{self, rounded};
use crate::source::Source;
use crate::table::{Stored, Table};
use klnmf::{Mat, Order, Scalar, Sparse};

/// The matrix in a MatrixMarket file.
pub(crate) fn read<T: Scalar>(source: &Source) -> Result<Table<T>, Fault> {
    let preamble = Preamble::read(&mut Lines::of(source)?)?;
    let matrix = if preamble.coordinate {
        Stored::Sparse(sparse(source, &preamble)?)
    } else {
        Stored::Dense(dense(source, &preamble)?)
    };
    Ok(Table { matrix, row_names: None, col_names: None })
}

/// Everything before the first entry.
pub(crate) struct Preamble {
    /// Whether entries have row and column, instead of all numbers column by column.
    pub(crate) coordinate: bool,
    /// `real`, `integer` or `pattern`.
    pub(crate) field: &'static str,
    /// Whether only one triangle is in the file.
    pub(crate) symmetric: bool,
    pub(crate) rows: u64,
    pub(crate) cols: u64,
    /// The number of entries according to the size line.
    pub(crate) stored: u64,
}

impl Preamble {
    pub(crate) fn read(lines: &mut Lines) -> Result<Self, Fault> {
        let banner = lines.next()?.ok_or_else(|| Fault::content("the file is empty"))?.1.to_ascii_lowercase();
        let words: Vec<&[u8]> =
            banner.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let [b"%%matrixmarket", object, layout, field, symmetry] = *words else {
            return Err(Fault::line(
                1,
                "the first line must be like \"%%MatrixMarket matrix coordinate integer general\"",
            ));
        };
        let wrong = |word: &[u8], right: &str| {
            Fault::line(1, format!("{} is not supported: only {right} can be read", quoted(word)))
        };
        if object != b"matrix" {
            return Err(wrong(object, "matrix"));
        }
        let coordinate = match layout {
            b"coordinate" => true,
            b"array" => false,
            _ => return Err(wrong(layout, "coordinate or array")),
        };
        let field = match field {
            b"real" | b"double" => "real",
            b"integer" => "integer",
            b"pattern" if coordinate => "pattern",
            b"pattern" => {
                return Err(Fault::line(1, "an array cannot be a pattern: write coordinate or real"));
            }
            _ => return Err(wrong(field, "real, integer or pattern")),
        };
        let symmetric = match symmetry {
            b"general" => false,
            b"symmetric" => true,
            _ => return Err(wrong(symmetry, "general or symmetric")),
        };
        let (line, rows, cols, stored) = Self::sizes(lines, coordinate)?;
        if symmetric && rows != cols {
            let what = format!(
                "a symmetric matrix must be square, but this one is {rows} × {cols}: correct the size line"
            );
            return Err(Fault::line(line, what));
        }
        // A dense triangle has the diagonal once; the halving is exact as one factor is even.
        let dense = if symmetric {
            u128::from(rows) * (u128::from(rows) + 1) / 2
        } else {
            u128::from(rows) * u128::from(cols)
        };
        let stored = stored.unwrap_or(u64::try_from(dense).unwrap_or(u64::MAX));
        Ok(Self { coordinate, field, symmetric, rows, cols, stored })
    }

    /// The size line, with its number: rows, columns and, for coordinates, entries.
    fn sizes(lines: &mut Lines, coordinate: bool) -> Result<(u64, u64, u64, Option<u64>), Fault> {
        while let Some((number, line)) = lines.next()? {
            if is_skipped(line) {
                continue;
            }
            let numbers: Option<Vec<u64>> = Words(line).map(number::whole).collect();
            let sizes = match numbers.as_deref() {
                Some(&[rows, cols, stored]) if coordinate => Some((number, rows, cols, Some(stored))),
                Some(&[rows, cols]) if !coordinate => Some((number, rows, cols, None)),
                _ => None,
            };
            let right = if coordinate { "rows, columns and entries" } else { "rows and columns" };
            let what = format!("{} is not a size line: it must hold the numbers of {right}", quoted(line));
            return sizes.ok_or_else(|| Fault::line(number, what));
        }
        Err(Fault::content("the file ends before the size line: copy it again"))
    }

    /// Fails unless the file has as many entries as the size line says.
    fn check_end(&self, seen: u64) -> Result<(), Fault> {
        if seen == self.stored {
            return Ok(());
        }
        let promised = self.stored;
        Err(Fault::Content(format!(
            "the size line says {promised} entries but the file ends after {seen}: copy the file again, or \
             correct the line"
        )))
    }

    fn too_many(&self, line: u64) -> Fault {
        Fault::line(
            line,
            format!("there are more entries than the {} of the size line: correct that line", self.stored),
        )
    }
}

/// Entries of a piece of the file, and what is wrong with the line after the last of them.
type Parsed<T> = (Vec<(u32, u32, T)>, Option<Fault>);

/// Reads coordinates once. They are kept as they are in the file until the length of every line is known.
fn sparse<T: Scalar>(source: &Source, preamble: &Preamble) -> Result<Sparse<T>, Fault> {
    // Each entry takes at least four bytes, so a larger number of entries is wrong and not a matter of
    // memory.
    let possible = preamble.stored.min(source.stream()?.length.bound() / 4 + 1);
    let mirrored = if preamble.symmetric { 2 } else { 1 };
    let (rows, cols) = check_sparse(preamble.rows, preamble.cols, possible.saturating_mul(mirrored))?;
    let (mut pieces, mut counted) = (Vec::new(), false);
    for_each_piece(source, preamble, |entries| {
        pieces.push(entries);
        Ok(())
    })?;
    Sparse::from_triplets(rows, cols, Order::shorter(rows, cols), |put| {
        for entries in &mut pieces {
            spread(entries, preamble, put)?;
            if counted {
                // The second time is the last, so their memory is free for the matrix.
                *entries = Vec::new();
            }
        }
        counted = true;
        Ok(())
    })
}

/// Passes all entries to `put`, with those of the other triangle if the matrix is symmetric.
pub(crate) fn replay<T: Scalar>(
    source: &Source,
    preamble: &Preamble,
    put: &mut dyn FnMut(usize, usize, T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for_each_piece(source, preamble, |entries| spread(&entries, preamble, put))
}

/// Passes entries to `put`, with those of the other triangle if the matrix is symmetric.
fn spread<T: Scalar>(
    entries: &[(u32, u32, T)],
    preamble: &Preamble,
    put: &mut dyn FnMut(usize, usize, T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for &(i, j, value) in entries {
        put(i as usize, j as usize, value)?;
        if preamble.symmetric && i != j {
            put(j as usize, i as usize, value)?;
        }
    }
    Ok(())
}

/// Parses all entries in parallel and passes them to `take` in the order of the file.
fn for_each_piece<T: Scalar>(
    source: &Source,
    preamble: &Preamble,
    mut take: impl FnMut(Vec<(u32, u32, T)>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (rows, cols, most) = (preamble.rows, preamble.cols, u64::from(u32::MAX));
    if rows.max(cols) > most {
        let what = format!("a sparse matrix has at most {most} rows and columns, not {rows} × {cols}");
        return Err(Fault::Content(what));
    }
    let mut lines = Lines::of(source)?;
    Preamble::read(&mut lines)?;
    let mut seen = 0;
    let parse = |text: &[u8]| parse::<T>(text, preamble);
    lines.in_pieces(parse, |(mut entries, fault), piece| {
        let left = preamble.stored - seen;
        if entries.len() as u64 > left {
            entries.truncate(left as usize);
            take(entries)?;
            let mut numbers = piece.lines().filter(|(_, line)| !is_skipped(line)).map(|(number, _)| number);
            return Err(preamble.too_many(numbers.nth(left as usize).unwrap_or(piece.first)));
        }
        seen += entries.len() as u64;
        take(entries)?;
        fault.map_or(Ok(()), |fault| Err(fault.below(piece.first)))
    })?;
    preamble.check_end(seen)
}

/// The entries of some lines, up to the first line that is wrong. Lines count from 0.
fn parse<T: Scalar>(text: &[u8], preamble: &Preamble) -> Parsed<T> {
    let mut entries = Vec::with_capacity(line_ends(text) as usize + 1);
    let (mut rest, mut number) = (text, 0);
    while !rest.is_empty() {
        let (found, length) = match usual(rest, preamble) {
            Some((entry, length)) => (Some(entry), length),
            None => {
                let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
                let line = without_end(&rest[..length]);
                let found = entry(line, preamble);
                if found.is_none() && !is_skipped(line) {
                    return (entries, Some(Fault::line(number, explain(line, preamble))));
                }
                (found, length)
            }
        };
        entries.extend(found.map(|(i, j, value)| (i as u32, j as u32, rounded(value))));
        (rest, number) = (&rest[length..], number + 1);
    }
    (entries, None)
}

/// An entry as nearly all programs write it, with single spaces and without sign or power of ten, and the
/// length of its line.
#[inline]
fn usual(text: &[u8], preamble: &Preamble) -> Option<((usize, usize, f64), usize)> {
    let (i, first) = number::leading(text, 0);
    let (j, second) = number::leading(text.get(first + 1..)?, 0);
    let second = first + 1 + second;
    let (value, third) = number::plain(text.get(second + 1..)?)?;
    let end = second + 1 + third;
    let usual = text[first] == b' ' && text[second] == b' ' && text.get(end) == Some(&b'\n');
    // A missing number is read as 0, which is outside, and ten digits do not overflow.
    let inside = first <= 10
        && second - first <= 11
        && i.wrapping_sub(1) < preamble.rows
        && j.wrapping_sub(1) < preamble.cols;
    (usual && inside && preamble.field != "pattern")
        .then(|| (((i - 1) as usize, (j - 1) as usize, value), end + 1))
}

/// Row and column from 0 and the value, if the line is an entry within the matrix.
fn entry(line: &[u8], preamble: &Preamble) -> Option<(usize, usize, f64)> {
    let mut words = Words(line);
    let i = number::whole(words.next()?)?.checked_sub(1)?;
    let j = number::whole(words.next()?)?.checked_sub(1)?;
    let value = if preamble.field == "pattern" { 1.0 } else { number::entry(words.next()?)? };
    let whole_line = words.next().is_none();
    (whole_line && i < preamble.rows && j < preamble.cols).then_some((i as usize, j as usize, value))
}

/// Why a line is not an entry.
fn explain(line: &[u8], preamble: &Preamble) -> String {
    let right = if preamble.field == "pattern" { "row and column" } else { "row, column and value" };
    let words: Vec<&[u8]> = Words(line).collect();
    if let [i, j, ..] = *words
        && words.len() == right.split(' ').filter(|word| *word != "and").count()
        && let (Some(i), Some(j)) = (number::whole(i), number::whole(j))
    {
        let (rows, cols) = (preamble.rows, preamble.cols);
        if i == 0 || j == 0 {
            return format!(
                "entry ({i}, {j}) is outside the matrix: this format counts rows and columns from 1"
            );
        }
        if i > rows || j > cols {
            return format!("entry ({i}, {j}) is outside the {rows} × {cols} matrix of the size line");
        }
        if let Some(value) = words.get(2).filter(|value| number::vanishes(value)) {
            return number::too_small(value);
        }
    }
    format!("{} is not an entry: it must hold {right}", quoted(line))
}

/// Reads an array: all numbers, column after column.
fn dense<T: Scalar>(source: &Source, preamble: &Preamble) -> Result<Mat<T>, Fault> {
    // Each number takes a digit and a separator.
    if preamble.stored > source.stream()?.length.bound() / 2 + 1 {
        return Err(Fault::Content(format!(
            "the size line claims {} × {} numbers but the file is too short for them",
            preamble.rows, preamble.cols
        )));
    }
    let (rows, cols) = (preamble.rows as usize, preamble.cols as usize);
    let mut matrix = Mat::try_zeros(rows, cols)?;
    let mut lines = Lines::of(source)?;
    Preamble::read(&mut lines)?;
    let (mut i, mut j, mut seen) = (0, 0, 0);
    while let Some((number, line)) = lines.next()? {
        if is_skipped(line) {
            continue;
        }
        for word in Words(line) {
            let Some(value) = number::entry(word) else {
                let other = || format!("{} is not a number: correct it", quoted(word));
                let small = number::vanishes(word).then(|| number::too_small(word));
                return Err(Fault::line(number, small.unwrap_or_else(other)));
            };
            if seen == preamble.stored {
                return Err(preamble.too_many(number));
            }
            seen += 1;
            matrix[(i, j)] = rounded(value);
            if preamble.symmetric {
                matrix[(j, i)] = rounded(value);
            }
            i += 1;
            if i == rows {
                j += 1;
                i = if preamble.symmetric { j } else { 0 };
            }
        }
    }
    preamble.check_end(seen)?;
    Ok(matrix)
}

/// Comments and blank lines.
fn is_skipped(line: &[u8]) -> bool {
    line.trim_ascii_start().first().is_none_or(|byte| *byte == b'%')
}

/// The words of a line.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0.trim_ascii_start();
        let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}
