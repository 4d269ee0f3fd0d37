//! A bound on the number of documents with a word.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// A number of documents, or a share of them.
///
/// ```
/// use klnmf_text::Frequency;
/// assert_eq!("5".parse::<Frequency>()?, Frequency::Documents(5));
/// assert_eq!("1".parse::<Frequency>()?, Frequency::Documents(1));
/// assert_eq!("1.0".parse::<Frequency>()?, Frequency::Share(1.0));
/// assert_eq!("50%".parse::<Frequency>()?, Frequency::Share(0.5));
/// # Ok::<(), klnmf_text::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frequency {
    /// A number of documents.
    Documents(usize),
    /// A share of all documents, from 0 to 1.
    Share(f64),
}

/// Tolerance for rounding: a word in 7 of 100 documents has a share of 0.07, but 0.07 · 100 is slightly above
/// 7.
const SLACK: f64 = 1e-9;

impl Frequency {
    /// The smallest number of documents that reach this bound.
    pub(crate) fn at_least(self, documents: usize) -> usize {
        match self {
            Frequency::Documents(number) => number,
            Frequency::Share(share) => (share * documents as f64 - SLACK).ceil() as usize,
        }
    }

    /// The largest number of documents within this bound.
    pub(crate) fn at_most(self, documents: usize) -> usize {
        match self {
            Frequency::Documents(number) => number,
            Frequency::Share(share) => (share * documents as f64 + SLACK).floor() as usize,
        }
    }
}

impl FromStr for Frequency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let plain = text.trim();
        if let Ok(number) = plain.parse() {
            return Ok(Frequency::Documents(number));
        }
        let share = match plain.strip_suffix('%') {
            Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
            None => plain.parse(),
        };
        match share {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Frequency::Share(share)),
            _ => {
                let must = "give a number of documents such as 5, or a share of them such as 0.5 or 50%";
                Err(Error::setting(text, must))
            }
        }
    }
}

/// The form that [`FromStr`] takes back.
impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frequency::Documents(number) => write!(f, "{number}"),
            // The long form keeps the decimal point of 1.0, which distinguishes it from one document.
            Frequency::Share(share) => write!(f, "{share:?}"),
        }
    }
}
