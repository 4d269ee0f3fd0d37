//! The claims of the paper, and whether the measurements support them.

use crate::section::paragraphs;

/// A claim of the paper, split into statements that can be measured.
pub struct Claim {
    /// In the paper's words or close to them.
    pub paper: String,
    /// Section and figure of the paper.
    pub place: String,
    /// Our figure or table that shows it.
    pub figure: String,
    /// The statements with their measurements.
    pub checks: Vec<Check>,
    /// Why it holds, and why it does not or holds only in part, as far as we know. Both may be empty.
    pub why: [String; 2],
    /// Why it was not judged, such as “not run at this size”.
    pub not_run: Option<&'static str>,
}

/// A statement that was measured.
#[derive(Clone, Debug)]
pub struct Check {
    pub holds: bool,
    /// Whether it could not be decided: the run was too short, or the difference too small. Such a statement
    /// does not affect the verdict.
    pub open: bool,
    /// The statement with its numbers.
    pub measured: String,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All statements that could be decided hold.
    Agrees,
    /// Some of them hold.
    Partly,
    /// None of them holds.
    Disagrees,
    /// No statement could be decided.
    Undecided,
    /// It was not run at the paper's size or on its kind of data.
    NotRun,
}

/// All verdicts.
pub const VERDICTS: [Verdict; 5] =
    [Verdict::Agrees, Verdict::Partly, Verdict::Disagrees, Verdict::Undecided, Verdict::NotRun];

impl Check {
    pub fn new(holds: bool, measured: String) -> Self {
        Self { holds, open: false, measured }
    }

    /// A statement with its answer; none if it could not be decided.
    pub fn settled(answer: Option<bool>, measured: String) -> Self {
        Self { holds: answer == Some(true), open: answer.is_none(), measured }
    }

    /// A statement that could not be decided.
    pub fn undecided(measured: String) -> Self {
        Self { holds: false, open: true, measured }
    }
}

impl Claim {
    /// A claim by its name in claims.md, with our figure or table that shows it and its statements.
    pub fn new(name: &str, figure: &str, checks: Vec<Check>) -> Self {
        let mut texts = paragraphs(include_str!("claims.md"), name);
        let [paper, place, holds, fails] = std::array::from_fn(|_| texts.next().unwrap_or_default());
        Self { paper, place, figure: figure.into(), checks, why: [holds, fails], not_run: None }
    }

    /// The same claim with another place in the paper.
    pub fn at(self, place: &str) -> Self {
        Self { place: place.into(), ..self }
    }

    /// The reason for the verdict.
    pub fn reason(&self) -> &str {
        match self.verdict() {
            Verdict::Agrees => &self.why[0],
            Verdict::Partly | Verdict::Disagrees => &self.why[1],
            Verdict::Undecided | Verdict::NotRun => "",
        }
    }

    /// The number of statements that could not be decided.
    pub fn open(&self) -> usize {
        self.checks.iter().filter(|check| check.open).count()
    }

    /// The verdict as text, with the number of statements that could not be decided.
    pub fn verdict_in_words(&self) -> String {
        let verdict = self.verdict();
        match self.open() {
            _ if self.not_run.is_some() => self.not_run.unwrap_or_default().into(),
            open if open > 0 && verdict != Verdict::Undecided => {
                format!("{} ({open} of {} statements not decided)", verdict.name(), self.checks.len())
            }
            _ => verdict.name().into(),
        }
    }

    /// The verdict, which follows from the statements alone.
    pub fn verdict(&self) -> Verdict {
        let holding = self.checks.iter().filter(|check| check.holds).count();
        let decided = self.checks.iter().filter(|check| !check.open).count();
        if self.not_run.is_some() {
            Verdict::NotRun
        } else if decided == 0 && !self.checks.is_empty() {
            Verdict::Undecided
        } else if holding == 0 {
            Verdict::Disagrees
        } else if holding == decided {
            Verdict::Agrees
        } else {
            Verdict::Partly
        }
    }
}

impl Verdict {
    /// The verdict on one claim, as text.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "holds",
            Verdict::Partly => "holds in part",
            Verdict::Disagrees => "does not hold",
            Verdict::Undecided => "not decided",
            Verdict::NotRun => "not run",
        }
    }

    /// The verb phrase after a number of claims, as in “2 hold”.
    pub fn counted(self, count: usize) -> &'static str {
        match self {
            Verdict::Agrees if count == 1 => "holds",
            Verdict::Agrees => "hold",
            Verdict::Partly if count == 1 => "holds in part",
            Verdict::Partly => "hold in part",
            Verdict::Disagrees if count == 1 => "does not hold",
            Verdict::Disagrees => "do not hold",
            Verdict::Undecided => "could not be decided",
            Verdict::NotRun if count == 1 => "was not run",
            Verdict::NotRun => "were not run",
        }
    }

    /// The name in style sheets and JSON.
    pub fn key(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Partly => "partly",
            Verdict::Disagrees => "disagrees",
            Verdict::Undecided => "undecided",
            Verdict::NotRun => "not_run",
        }
    }
}

/// Divergences whose relative difference is smaller count as equal. The final divergences of different starts
/// differ by as much.
pub const MARGIN: f64 = 1e-3;

/// Time differences below this, in seconds, may come from caches and other work of the machine.
const RESOLUTION: f64 = 5e-3;

/// Relative to the longer time. Smaller differences decide nothing either: every run is timed once, and the
/// next one would differ.
const RESOLUTION_SHARE: f64 = 0.1;

/// The timing error in seconds, given the longer of the compared times.
fn error_of(longer: f64) -> f64 {
    RESOLUTION.max(RESOLUTION_SHARE * longer)
}

/// Whether a value is below another by more than the margin; none if they differ by less.
pub fn lower(a: f64, b: f64) -> Option<bool> {
    let clearly = |a: f64, b: f64| a < (1.0 - MARGIN) * b;
    if clearly(a, b) { Some(true) } else { clearly(b, a).then_some(false) }
}

/// The answer to a question that depends on a time, as a function of the error of that time. It is none if
/// the answer changes within the timing error, which follows from the longer of the compared times.
pub fn timed(longer: f64, answer: impl Fn(f64) -> Option<bool>) -> Option<bool> {
    let (middle, error) = (answer(0.0), error_of(longer));
    [-error, error].iter().all(|error| answer(*error) == middle).then_some(middle)?
}

/// The margin as text.
pub fn margin() -> String {
    format!("{} %", 100.0 * MARGIN)
}

/// The timing error as text, given the longer of the compared times.
pub fn resolution(longer: f64) -> String {
    let error = error_of(longer);
    if error < 1.0 { format!("{:.0} ms", 1e3 * error) } else { format!("{error:.1} s") }
}

/// A number as text, with few digits. Very large and very small numbers have an exponent.
pub fn plain(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        "∞".into()
    } else if x == 0.0 || (1e-2..10.0).contains(&size) {
        format!("{x:.3}")
    } else if (10.0..1e3).contains(&size) {
        format!("{x:.1}")
    } else if (1e3..1e5).contains(&size) {
        format!("{x:.0}")
    } else {
        format!("{x:.2e}")
    }
}

/// How far a number is above another, in per cent.
pub fn above(x: f64, other: f64) -> f64 {
    100.0 * (x / other - 1.0)
}

/// A percentage with its sign.
pub fn signed(per_cent: f64) -> String {
    if per_cent.abs() < 5e-4 {
        return "0.000 %".into();
    }
    let sign = if per_cent < 0.0 { "−" } else { "+" };
    sign.to_owned() + &size(per_cent)
}

/// How far a number is above or below another, in words.
pub fn compared(x: f64, other: f64) -> String {
    let per_cent = above(x, other);
    format!("{} {}", size(per_cent), if per_cent < 0.0 { "below" } else { "above" })
}

fn size(per_cent: f64) -> String {
    let size = per_cent.abs();
    if !size.is_finite() {
        return "∞".into();
    }
    let digits = if size < 0.095 { 3 } else { 2 };
    format!("{size:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_are_not_decided_do_not_count() {
        let claim = |checks: Vec<Check>| Claim::new("", "", checks);
        let (yes, no) = (Check::new(true, String::new()), Check::new(false, String::new()));
        let open = Check::undecided(String::new());
        assert_eq!(claim(vec![yes.clone()]).verdict_in_words(), "holds");
        let half = claim(vec![open.clone(), yes.clone()]).verdict_in_words();
        assert_eq!(half, "holds (1 of 2 statements not decided)");
        assert_eq!(claim(vec![open.clone()]).verdict_in_words(), "not decided");
        assert_eq!(claim(vec![open.clone(), yes]).verdict(), Verdict::Agrees);
        assert_eq!(claim(vec![open.clone(), no]).verdict(), Verdict::Disagrees);
        assert_eq!(claim(vec![open.clone(), open]).verdict(), Verdict::Undecided);
    }

    #[test]
    fn verdicts_follow_from_the_statements() {
        let claim = |holds: &[bool]| {
            let checks = holds.iter().map(|h| Check::new(*h, "y".into())).collect();
            Claim { why: ["good".into(), "bad".into()], ..Claim::new("", "", checks) }
        };
        assert_eq!(claim(&[true, true]).verdict(), Verdict::Agrees);
        assert_eq!(claim(&[true, false]).verdict(), Verdict::Partly);
        assert_eq!(claim(&[false]).verdict(), Verdict::Disagrees);
        assert_eq!(claim(&[]).verdict(), Verdict::Disagrees, "a claim without measurements does not hold");
        assert_eq!([claim(&[true]).reason(), claim(&[true, false]).reason()], ["good", "bad"]);
        // At other sizes than the paper's there is no verdict, whatever was measured.
        let elsewhere = Claim { not_run: Some("not run at this size"), ..claim(&[true]) };
        assert_eq!((elsewhere.verdict(), elsewhere.reason()), (Verdict::NotRun, ""));
        assert_eq!(elsewhere.verdict_in_words(), "not run at this size");
    }

    #[test]
    fn small_differences_decide_nothing() {
        assert_eq!([lower(0.99, 1.0), lower(1.0, 0.99)], [Some(true), Some(false)]);
        assert_eq!([lower(0.9995, 1.0), lower(1.0, 0.9995), lower(f64::NAN, 1.0)], [None; 3]);
        assert_eq!([lower(1.0, f64::INFINITY), lower(f64::INFINITY, f64::INFINITY)], [Some(true), None]);
        let sooner = |a: f64, b: f64| timed(a.max(b), |error| Some(a + error < b));
        assert_eq!([sooner(1.0, 1.2), sooner(1.2, 1.0)], [Some(true), Some(false)]);
        assert_eq!([sooner(1.0, 1.05), sooner(1.05, 1.0), sooner(1.0, 1.0)], [None; 3], "a tenth");
        assert_eq!([sooner(0.010, 0.016), sooner(0.010, 0.014)], [Some(true), None], "5 ms");
        assert_eq!(margin(), "0.1 %");
        assert_eq!([0.0, 0.05, 0.4, 21.0].map(resolution), ["5 ms", "5 ms", "40 ms", "2.1 s"]);
        let check = |answer| Check::settled(answer, String::new());
        assert!(check(Some(true)).holds && !check(Some(false)).holds && !check(Some(false)).open);
        assert!(check(None).open && !check(None).holds);
    }

    #[test]
    fn numbers_are_short() {
        let all = [0.0, 0.5, 12.34, 1234.5, 8.123e6, 3.1e-7, f64::INFINITY].map(plain);
        assert_eq!(all, ["0.000", "0.500", "12.3", "1234", "8.12e6", "3.10e-7", "∞"]);
        assert_eq!(
            [signed(above(101.0, 100.0)), signed(-0.01), signed(1e-9)],
            ["+1.00 %", "−0.010 %", "0.000 %"]
        );
        assert_eq!([compared(99.0, 100.0), compared(3.0, 2.0)], ["1.00 % below", "50.00 % above"]);
    }
}
