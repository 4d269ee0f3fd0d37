//! The element type of a numpy array, and its conversion from bytes.

use crate::error::{Fault, quoted};
use crate::number::rounded;
use klnmf::Scalar;

/// The kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    /// Characters of four bytes each, padded with zeros.
    Text,
    /// Characters of one byte each, padded with zeros.
    Bytes,
    /// Anything else: complex numbers, objects, dates, records.
    Other,
}

/// A numpy element type such as `<f8`.
#[derive(Clone, Debug)]
pub(crate) struct Dtype {
    /// As in the file.
    pub(crate) descr: String,
    pub(crate) kind: Kind,
    /// Bytes of one element; at least 1.
    pub(crate) size: usize,
    big_endian: bool,
}

/// Appends the elements of `$bytes`, each of type `$t` and mapped by `$map`, to `$out`.
macro_rules! append {
    ($t:ty, $dtype:expr, $bytes:expr, $out:expr, $map:expr) => {{
        let (items, _) = $bytes.as_chunks::<{ size_of::<$t>() }>();
        if $dtype.big_endian {
            $out.extend(items.iter().map(|b| $map(<$t>::from_be_bytes(*b))));
        } else {
            $out.extend(items.iter().map(|b| $map(<$t>::from_le_bytes(*b))));
        }
    }};
}

impl Dtype {
    pub(crate) fn parse(descr: &str) -> Self {
        let mut letters = descr.chars();
        let big_endian = letters.next() == Some('>');
        let letter = letters.next();
        let width: Option<usize> = letters.as_str().parse().ok();
        let known = match (letter, width) {
            (Some('b'), Some(1)) => Some((Kind::Bool, 1)),
            (Some('i'), Some(size @ (1 | 2 | 4 | 8))) => Some((Kind::Int, size)),
            (Some('u'), Some(size @ (1 | 2 | 4 | 8))) => Some((Kind::Uint, size)),
            (Some('f'), Some(size @ (2 | 4 | 8))) => Some((Kind::Float, size)),
            (Some('U'), Some(chars @ 1..)) => chars.checked_mul(4).map(|size| (Kind::Text, size)),
            (Some('S' | 'a'), Some(size @ 1..)) => Some((Kind::Bytes, size)),
            _ => None,
        };
        let (kind, size) = known.unwrap_or((Kind::Other, 1));
        Self { descr: descr.to_owned(), kind, size, big_endian }
    }

    /// Fails unless the elements are real numbers.
    pub(crate) fn check_real(&self) -> Result<(), Fault> {
        match self.kind {
            Kind::Bool | Kind::Int | Kind::Uint | Kind::Float => Ok(()),
            _ => Err(Fault::Content(format!(
                "elements of type {} are not real numbers: save the array with .astype(\"f8\")",
                quoted(&self.descr)
            ))),
        }
    }

    /// Appends the elements in `bytes` as floating-point numbers.
    pub(crate) fn append_reals<T: Scalar>(&self, bytes: &[u8], out: &mut Vec<T>) {
        match (self.kind, self.size) {
            (Kind::Bool, _) => out.extend(bytes.iter().map(|b| if *b == 0 { T::ZERO } else { T::ONE })),
            (Kind::Int, 1) => append!(i8, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Int, 2) => append!(i16, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Int, 4) => append!(i32, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Int, 8) => append!(i64, self, bytes, out, |x| T::from_f64(x as f64)),
            (Kind::Uint, 1) => append!(u8, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Uint, 2) => append!(u16, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Uint, 4) => append!(u32, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Uint, 8) => append!(u64, self, bytes, out, |x| T::from_f64(x as f64)),
            (Kind::Float, 2) => append!(u16, self, bytes, out, |x| T::from_f64(half(x))),
            (Kind::Float, 4) => append!(f32, self, bytes, out, |x| T::from_f64(f64::from(x))),
            (Kind::Float, 8) => append!(f64, self, bytes, out, rounded::<T>),
            // `check_real` has already refused these.
            _ => {}
        }
    }

    /// Appends the elements in `bytes` as integers. One beyond `i64` becomes the largest, which no index
    /// reaches.
    pub(crate) fn append_integers(&self, bytes: &[u8], out: &mut Vec<i64>) -> Result<(), Fault> {
        match (self.kind, self.size) {
            (Kind::Int, 1) => append!(i8, self, bytes, out, i64::from),
            (Kind::Int, 2) => append!(i16, self, bytes, out, i64::from),
            (Kind::Int, 4) => append!(i32, self, bytes, out, i64::from),
            (Kind::Int, 8) => append!(i64, self, bytes, out, |x| x),
            (Kind::Uint, 1) => append!(u8, self, bytes, out, i64::from),
            (Kind::Uint, 2) => append!(u16, self, bytes, out, i64::from),
            (Kind::Uint, 4) => append!(u32, self, bytes, out, i64::from),
            (Kind::Uint, 8) => append!(u64, self, bytes, out, |x| i64::try_from(x).unwrap_or(i64::MAX)),
            _ => {
                let descr = quoted(&self.descr);
                return Err(Fault::Content(format!("integers expected, elements have type {descr}")));
            }
        }
        Ok(())
    }

    /// The text of one element.
    pub(crate) fn text(&self, bytes: &[u8]) -> Result<String, Fault> {
        let codes: Vec<u32> = match self.kind {
            Kind::Bytes => bytes.iter().map(|b| u32::from(*b)).collect(),
            Kind::Text => {
                let mut codes = Vec::new();
                append!(u32, self, bytes, codes, |code| code);
                codes
            }
            _ => {
                let descr = quoted(&self.descr);
                return Err(Fault::Content(format!("text expected, elements have type {descr}")));
            }
        };
        let end = codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1);
        let letters: Option<String> = codes.iter().take(end).map(|code| char::from_u32(*code)).collect();
        letters.ok_or_else(|| {
            Fault::content("the text holds codes that are not Unicode characters: write the file again")
        })
    }
}

/// The value of a half-precision number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    sign * match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn half_precision() {
        let cases = [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f64.powi(-24)), (0, 0.0)];
        for (bits, value) in cases {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(0x7c00), f64::INFINITY);
        assert!(half(0x7e00).is_nan());
    }
}
