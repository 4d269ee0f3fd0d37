//! Numpy's array format: a short header and then the elements.
//!
//! The header is the text of a Python dictionary. The reader only looks for its three keys, so deep nesting
//! and large lengths cannot harm it.

use crate::dtype::Dtype;
use crate::error::{Error, Fault, quoted};
use crate::memory::reserved;
use crate::output::{Target, atomically};
use crate::source::{Length, Source};
use crate::table::{Stored, Table};
use klnmf::{Mat, Scalar};
use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Numpy itself refuses headers above 10 000 bytes.
const LONGEST_HEADER: u64 = 1 << 16;
/// Bytes read at a time.
const BLOCK: usize = 1 << 16;
/// Numbers of a row-major array that are collected before they are copied into columns.
const PANEL: usize = 1 << 17;

/// The dense matrix in a `.npy` file.
pub(crate) fn read<T: Scalar>(source: &Source) -> Result<Table<T>, Fault> {
    let stream = source.stream()?;
    let matrix = Array::open(stream.input, stream.length)?.dense()?;
    Ok(Table { matrix: Stored::Dense(matrix), row_names: None, col_names: None })
}

/// The header of an array.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) dtype: Dtype,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
}

impl Header {
    /// Reads the header and returns it with its length in bytes.
    fn read(input: &mut impl Read) -> Result<(Self, u64), Fault> {
        let not_npy = || Fault::content("this is not a numpy array: write it with numpy.save");
        let start = up_to(input, 10)?;
        if start.is_empty() {
            return Err(Fault::content("the file is empty"));
        }
        let (Some(b"\x93NUMPY"), Some(&[major, _, low, high])) = (start.get(..6), start.get(6..10)) else {
            return Err(if start.starts_with(MAGIC) || MAGIC.starts_with(&start) {
                cut_short()
            } else {
                not_npy()
            });
        };
        let (before, length) = match major {
            1 => (10, u64::from(u16::from_le_bytes([low, high]))),
            2 | 3 => match *up_to(input, 2)?.as_slice() {
                [third, fourth] => (12, u64::from(u32::from_le_bytes([low, high, third, fourth]))),
                _ => return Err(cut_short()),
            },
            _ => {
                return Err(Fault::Content(format!(
                    "version {major} of the npy format is unknown: write the file with numpy.save"
                )));
            }
        };
        if length > LONGEST_HEADER {
            return Err(Fault::Content(format!(
                "the header claims {length} bytes: the file is damaged, copy it again"
            )));
        }
        let text = up_to(input, length)?;
        if (text.len() as u64) < length {
            return Err(cut_short());
        }
        let header = Self::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| {
            Fault::content("the header is not one that numpy writes: the file is damaged, copy it again")
        })?;
        Ok((header, before + length))
    }

    fn parse(text: &str) -> Option<Self> {
        let descr = value(text, "descr")?;
        let dtype = match descr.chars().next()? {
            quote @ ('\'' | '"') => Dtype::parse(descr.get(1..)?.split(quote).next()?),
            _ => Dtype::parse("structured"),
        };
        let order = value(text, "fortran_order")?;
        let fortran = order.starts_with("True");
        if !fortran && !order.starts_with("False") {
            return None;
        }
        let shape = value(text, "shape")?.strip_prefix(['(', '['])?;
        let shape = shape[..shape.find([')', ']'])?].trim();
        let shape = shape.strip_suffix(',').unwrap_or(shape);
        let sides = shape.split(',').filter(|_| !shape.is_empty());
        let shape =
            sides.map(|side| side.trim().trim_end_matches('L').parse().ok()).collect::<Option<_>>()?;
        Some(Self { dtype, fortran, shape })
    }

    /// The number of elements.
    pub(crate) fn items(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, side| product.checked_mul(*side))
    }

    /// The shape as Python writes it.
    pub(crate) fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }

    /// Rows and columns; a vector is one column.
    pub(crate) fn rows_and_cols(&self) -> Result<(u64, u64), Fault> {
        match *self.shape {
            [rows, cols] => Ok((rows, cols)),
            [rows] => Ok((rows, 1)),
            _ => Err(Fault::Content(format!(
                "the array has shape {} and {} dimensions, but a matrix has 2: reshape it before saving",
                self.shape_text(),
                self.shape.len()
            ))),
        }
    }
}

/// The text after `'key':` in a dictionary.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let start = [format!("'{key}'"), format!("\"{key}\"")];
    let after = start.iter().find_map(|start| {
        let mut matches = text.match_indices(start.as_str());
        matches.find_map(|(at, _)| text[at + start.len()..].trim_start().strip_prefix(':'))
    })?;
    Some(after.trim_start())
}

fn shape_text(shape: &[u64]) -> String {
    let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
    if sides.len() == 1 { format!("({},)", sides[0]) } else { format!("({})", sides.join(", ")) }
}

fn cut_short() -> Fault {
    io::Error::from(io::ErrorKind::UnexpectedEof).into()
}

/// The next `count` bytes, or fewer at the end of the input.
fn up_to(input: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An array whose header has been read and whose elements follow.
pub(crate) struct Array<'a> {
    pub(crate) header: Header,
    items: usize,
    input: Box<dyn Read + 'a>,
    block: Vec<u8>,
}

impl<'a> Array<'a> {
    /// Reads the header and checks that the input is long enough for its elements.
    pub(crate) fn open(input: impl Read + 'a, length: Length) -> Result<Self, Fault> {
        let mut input: Box<dyn Read + 'a> = Box::new(input);
        let (header, before) = Header::read(&mut input)?;
        let claimed = header.items().and_then(|items| items.checked_mul(header.dtype.size as u64));
        let total = claimed.and_then(|bytes| bytes.checked_add(before));
        // The size of an unknown type is unknown too; such an array is refused later, with its type.
        let known = header.dtype.kind != crate::dtype::Kind::Other;
        let items = usize::try_from(header.items().unwrap_or(0)).unwrap_or(0);
        match (total, length) {
            _ if !known => {}
            (Some(total), Length::AtMost(most)) if total <= most => {}
            (Some(total), Length::Exactly(exactly)) if total == exactly => {}
            (Some(total), Length::Exactly(exactly)) if total < exactly => {
                return Err(Fault::Content(format!(
                    "there are {} bytes too many after the array: write the file again",
                    exactly - total
                )));
            }
            _ => {
                return Err(Fault::Content(format!(
                    "the header claims an array of shape {} but the file is too short for it: copy it again \
                     or write it again",
                    header.shape_text()
                )));
            }
        }
        Ok(Self { header, items, input, block: Vec::new() })
    }

    /// The number of elements.
    pub(crate) fn items(&self) -> usize {
        self.items
    }

    /// The whole array as a matrix.
    pub(crate) fn dense<T: Scalar>(mut self) -> Result<Mat<T>, Fault> {
        self.header.dtype.check_real()?;
        let (rows, cols) = self.header.rows_and_cols()?;
        let (rows, cols) = (rows as usize, cols as usize);
        let matrix = if self.header.fortran || rows <= 1 || cols <= 1 {
            Mat::new(rows, cols, self.reals()?)?
        } else {
            self.row_major(rows, cols)?
        };
        self.finish()?;
        Ok(matrix)
    }

    /// All elements as numbers, in the order of the file.
    pub(crate) fn reals<T: Scalar>(&mut self) -> Result<Vec<T>, Fault> {
        let mut out = reserved(self.items)?;
        self.next_reals(self.items, &mut out)?;
        Ok(out)
    }

    /// Copies rows into columns, a panel of rows at a time, so that both stay in cache and there is no second
    /// copy.
    fn row_major<T: Scalar>(&mut self, rows: usize, cols: usize) -> Result<Mat<T>, Fault> {
        let mut matrix = Mat::try_zeros(rows, cols)?;
        let mut panel = Vec::new();
        let (mut row, mut col) = (0, 0);
        while row < rows {
            // A panel is several full rows, or a piece of one long row.
            let height = (PANEL / cols).clamp(1, rows - row);
            let width = if cols > PANEL { PANEL.min(cols - col) } else { cols };
            panel.clear();
            self.next_reals(height * width, &mut panel)?;
            for j in 0..width {
                let to = &mut matrix.col_mut(col + j)[row..row + height];
                to.iter_mut().zip(panel.iter().skip(j).step_by(width)).for_each(|(to, from)| *to = *from);
            }
            col += width;
            if col == cols {
                (row, col) = (row + height, 0);
            }
        }
        Ok(matrix)
    }

    /// Appends the next `count` elements as numbers.
    pub(crate) fn next_reals<T: Scalar>(&mut self, count: usize, out: &mut Vec<T>) -> Result<(), Fault> {
        self.header.dtype.check_real()?;
        self.blocks(count, |dtype, bytes| {
            dtype.append_reals(bytes, out);
            Ok(())
        })
    }

    /// Appends the next `count` elements as indices below `limit`.
    pub(crate) fn next_indices<I: TryFrom<i64>>(
        &mut self,
        count: usize,
        limit: u64,
        out: &mut Vec<I>,
    ) -> Result<(), Fault> {
        let mut integers = Vec::new();
        self.blocks(count, |dtype, bytes| {
            integers.clear();
            dtype.append_integers(bytes, &mut integers)?;
            for &integer in &integers {
                let inside = u64::try_from(integer).is_ok_and(|index| index < limit);
                match I::try_from(integer) {
                    Ok(index) if inside => out.push(index),
                    _ => return Err(outside(integer, limit)),
                }
            }
            Ok(())
        })
    }

    /// Skips the next `count` elements.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), Fault> {
        self.blocks(count, |_, _| Ok(()))
    }

    /// All elements as text.
    pub(crate) fn texts(mut self) -> Result<Vec<String>, Fault> {
        let mut out = Vec::new();
        self.blocks(self.items, |dtype, bytes| {
            for element in bytes.chunks_exact(dtype.size) {
                out.push(dtype.text(element)?);
            }
            Ok(())
        })?;
        self.finish()?;
        Ok(out)
    }

    /// Fails if anything follows the last element. In an archive this also checks the checksum.
    pub(crate) fn finish(mut self) -> Result<(), Fault> {
        match up_to(&mut self.input, 1)?.is_empty() {
            true => Ok(()),
            false => Err(Fault::content("there are bytes after the end of the array: write the file again")),
        }
    }

    /// Passes the bytes of the next `count` elements to `each`, many elements at a time.
    fn blocks(
        &mut self,
        count: usize,
        mut each: impl FnMut(&Dtype, &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let size = self.header.dtype.size;
        let mut left = count;
        while left > 0 {
            let now = left.min((BLOCK / size).max(1));
            self.block.resize(now * size, 0);
            self.input.read_exact(&mut self.block)?;
            each(&self.header.dtype, &self.block)?;
            left -= now;
        }
        Ok(())
    }
}

pub(crate) fn outside(integer: i64, limit: u64) -> Fault {
    Fault::Content(match limit {
        0 => format!(
            "index {integer} is not possible: the matrix has no rows or columns; write the file again"
        ),
        _ => format!(
            "index {integer} is outside 0 to {}: the matrix is damaged, write the file again",
            limit - 1
        ),
    })
}

/// Writes a matrix as a numpy array in Fortran order.
pub fn write_npy<'p, T: Scalar>(target: impl Into<Target<'p>>, matrix: &Mat<T>) -> Result<(), Error> {
    atomically(target, |out| write_matrix(out, matrix))
}

pub(crate) fn write_matrix<T: Scalar>(out: &mut impl Write, matrix: &Mat<T>) -> io::Result<()> {
    write_array(out, matrix.as_slice(), &[matrix.rows() as u64, matrix.cols() as u64])
}

/// Writes an array of one dimension.
pub(crate) fn write_numbers(out: &mut impl Write, numbers: &[f64]) -> io::Result<()> {
    write_array(out, numbers, &[numbers.len() as u64])
}

fn write_array<T: Scalar>(out: &mut impl Write, numbers: &[T], shape: &[u64]) -> io::Result<()> {
    write_header(out, if size_of::<T>() == 4 { "<f4" } else { "<f8" }, shape)?;
    bytes_of(out, numbers)
}

/// Writes the numbers alone, as in a numpy array.
pub(crate) fn bytes_of<T: Scalar>(out: &mut impl Write, numbers: &[T]) -> io::Result<()> {
    let single = size_of::<T>() == 4;
    let mut bytes = Vec::with_capacity(BLOCK);
    for block in numbers.chunks(BLOCK / size_of::<T>()) {
        bytes.clear();
        for number in block {
            let number = number.to_f64();
            match single {
                true => bytes.extend_from_slice(&(number as f32).to_le_bytes()),
                false => bytes.extend_from_slice(&number.to_le_bytes()),
            }
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Writes text as an array of the given shape. Numpy pads each element to the length of the longest.
pub(crate) fn write_texts(out: &mut impl Write, texts: &[String], shape: &[u64]) -> io::Result<()> {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    write_header(out, &format!("<U{width}"), shape)?;
    for text in texts {
        let padding = std::iter::repeat('\0');
        for letter in text.chars().chain(padding).take(width) {
            out.write_all(&u32::from(letter).to_le_bytes())?;
        }
    }
    Ok(())
}

pub(crate) fn write_header(out: &mut impl Write, descr: &str, shape: &[u64]) -> io::Result<()> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': {}, }}", shape_text(shape));
    // Numpy aligns the elements to 64 bytes. Ten bytes precede the text, and a line end follows it.
    let unpadded = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let length = u16::try_from(text.len()).map_err(|_| io::Error::other(quoted(&text)))?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(text.as_bytes())
}
