//! One fit as a small value.

use crate::Error;
use crate::thinning::Split;
use std::fmt;
use std::str::FromStr;

/// The data of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// V itself, from the start with this number.
    Start(u64),
    /// V with its counts drawn again.
    Bootstrap(u64),
    /// V without one fold of its counts.
    Fold(usize, Split),
}

/// One fit. Its text is also the name of its file.
///
/// ```
/// use klnmf_select::{Draw, Job};
/// let job: Job = "r08-start003".parse()?;
/// assert_eq!(job, Job { rank: 8, draw: Draw::Start(3) });
/// assert_eq!("r12-fold1of5".parse::<Job>()?.to_string(), "r12-fold1of5");
/// # Ok::<(), klnmf_select::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The number of parts.
    pub rank: usize,
    /// The data.
    pub draw: Draw,
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{:02}-", self.rank)?;
        match self.draw {
            Draw::Start(number) => write!(f, "start{number:03}"),
            Draw::Bootstrap(number) => write!(f, "boot{number:03}"),
            Draw::Fold(fold, Split { folds, size }) if size.is_finite() => {
                write!(f, "fold{fold}of{folds}-size{size}")
            }
            Draw::Fold(fold, Split { folds, .. }) => write!(f, "fold{fold}of{folds}"),
        }
    }
}

impl FromStr for Job {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| Error::Other(format!("{text:?} is not a fit, such as r08-start003")))
    }
}

fn parse(text: &str) -> Option<Job> {
    let (rank, draw) = text.strip_prefix('r')?.split_once('-')?;
    let draw = if let Some(number) = draw.strip_prefix("start") {
        Draw::Start(number.parse().ok()?)
    } else if let Some(number) = draw.strip_prefix("boot") {
        Draw::Bootstrap(number.parse().ok()?)
    } else {
        let (fold, rest) = draw.strip_prefix("fold")?.split_once("of")?;
        let (folds, size) = match rest.split_once("-size") {
            Some((folds, size)) => (folds, size.parse().ok()?),
            None => (rest, f64::INFINITY),
        };
        let (fold, folds) = (fold.parse().ok()?, folds.parse().ok()?);
        (fold < folds && folds >= 2 && size > 0.0).then_some(Draw::Fold(fold, Split { folds, size }))?
    };
    Some(Job { rank: rank.parse().ok()?, draw })
}
