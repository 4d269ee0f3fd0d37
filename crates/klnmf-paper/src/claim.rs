//! What the paper claims, and whether the measurements bear it out.

use crate::section::paragraphs;

/// A claim of the paper, taken apart into statements that can be measured.
pub struct Claim {
    /// In the paper's words or close to them.
    pub paper: String,
    /// Section and figure of the paper.
    pub place: String,
    /// The figure or table of ours that shows it.
    pub figure: String,
    /// The statements, each with what was measured.
    pub checks: Vec<Check>,
    /// Why it holds, and why it does not or only in part, as far as we know; may be empty.
    pub why: [String; 2],
    /// Why it has no verdict at all, such as “not run at this size”.
    pub not_run: Option<&'static str>,
}

/// A statement that was measured.
#[derive(Clone, Debug)]
pub struct Check {
    pub holds: bool,
    /// Whether the run was too short to tell, or the difference too small; then it has no say.
    pub open: bool,
    /// The statement with its numbers.
    pub measured: String,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every statement that could be decided holds.
    Agrees,
    /// Some hold.
    Partly,
    /// None holds.
    Disagrees,
    /// None could be decided.
    Undecided,
    /// It was not run at the paper's size, or on other data.
    NotRun,
}

/// All of them.
pub const VERDICTS: [Verdict; 5] =
    [Verdict::Agrees, Verdict::Partly, Verdict::Disagrees, Verdict::Undecided, Verdict::NotRun];

impl Check {
    pub fn new(holds: bool, measured: String) -> Self {
        Self { holds, open: false, measured }
    }

    /// A statement that may be open.
    pub fn settled(answer: Option<bool>, measured: String) -> Self {
        Self { holds: answer == Some(true), open: answer.is_none(), measured }
    }

    /// What could not be decided.
    pub fn undecided(measured: String) -> Self {
        Self { holds: false, open: true, measured }
    }
}

impl Claim {
    /// A claim by its name in claims.md, the figure or table of ours that shows it, and its statements.
    pub fn new(name: &str, figure: &str, checks: Vec<Check>) -> Self {
        let mut texts = paragraphs(include_str!("claims.md"), name);
        let [paper, place, holds, fails] = std::array::from_fn(|_| texts.next().unwrap_or_default());
        Self { paper, place, figure: figure.into(), checks, why: [holds, fails], not_run: None }
    }

    /// The same claim at another place of the paper.
    pub fn at(self, place: &str) -> Self {
        Self { place: place.into(), ..self }
    }

    /// Why the verdict is what it is.
    pub fn reason(&self) -> &str {
        match self.verdict() {
            Verdict::Agrees => &self.why[0],
            Verdict::Partly | Verdict::Disagrees => &self.why[1],
            Verdict::Undecided | Verdict::NotRun => "",
        }
    }

    /// Statements that could not be decided.
    pub fn open(&self) -> usize {
        self.checks.iter().filter(|check| check.open).count()
    }

    /// The verdict for reading: statements that were left open are counted, unless that is all there is.
    pub fn verdict_in_words(&self) -> String {
        let verdict = self.verdict();
        match self.open() {
            _ if self.not_run.is_some() => self.not_run.unwrap_or_default().into(),
            open if open > 0 && verdict != Verdict::Undecided => format!("{} ({open} open)", verdict.name()),
            _ => verdict.name().into(),
        }
    }

    /// Follows from the statements alone.
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
    /// The name for reading.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Partly => "partly",
            Verdict::Disagrees => "does not agree",
            Verdict::Undecided => "undecided",
            Verdict::NotRun => "not run",
        }
    }

    /// What this number of claims does.
    pub fn counted(self, count: usize) -> &'static str {
        match self {
            Verdict::Agrees if count == 1 => "agrees",
            Verdict::Agrees => "agree",
            Verdict::Disagrees if count == 1 => "does not agree",
            Verdict::Disagrees => "do not agree",
            Verdict::Partly => "in part",
            Verdict::Undecided if count == 1 => "is undecided",
            Verdict::Undecided => "are undecided",
            Verdict::NotRun if count == 1 => "was not run",
            Verdict::NotRun => "were not run",
        }
    }

    /// The name for style sheets and JSON.
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

/// Divergences that differ by less than this share are as low as each other: another start moves an end by as
/// much.
pub const MARGIN: f64 = 1e-3;

/// Differences of times below this, in seconds, are those of caches and of whatever else the machine does.
const RESOLUTION: f64 = 5e-3;

/// Differences of times below this share of the longer one decide nothing either: every run is made once, and
/// the next would differ.
const RESOLUTION_SHARE: f64 = 0.1;

/// How well a time is known, in seconds, given the longer of those that are compared.
fn error_of(longer: f64) -> f64 {
    RESOLUTION.max(RESOLUTION_SHARE * longer)
}

/// Whether a value is below another by more than the margin; none if they are as low as each other.
pub fn lower(a: f64, b: f64) -> Option<bool> {
    let clearly = |a: f64, b: f64| a < (1.0 - MARGIN) * b;
    if clearly(a, b) { Some(true) } else { clearly(b, a).then_some(false) }
}

/// An answer that depends on a time, given the error of the time: it is open if it changes within the
/// resolution, which follows from the longer of the times that are compared.
pub fn timed(longer: f64, answer: impl Fn(f64) -> Option<bool>) -> Option<bool> {
    let (middle, error) = (answer(0.0), error_of(longer));
    [-error, error].iter().all(|error| answer(*error) == middle).then_some(middle)?
}

/// The margin for reading.
pub fn margin() -> String {
    format!("{} %", 100.0 * MARGIN)
}

/// The resolution for reading, given the longer of the times that are compared.
pub fn resolution(longer: f64) -> String {
    let error = error_of(longer);
    if error < 1.0 { format!("{:.0} ms", 1e3 * error) } else { format!("{error:.1} s") }
}

/// A number for reading: few digits, powers of ten only where they help.
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

/// A share in per cent with its sign.
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
    fn what_is_open_has_no_say() {
        let claim = |checks: Vec<Check>| Claim::new("", "", checks);
        let (yes, no) = (Check::new(true, String::new()), Check::new(false, String::new()));
        let open = Check::undecided(String::new());
        assert_eq!(claim(vec![yes.clone()]).verdict_in_words(), "agrees");
        assert_eq!(claim(vec![open.clone(), yes.clone()]).verdict_in_words(), "agrees (1 open)");
        assert_eq!(claim(vec![open.clone()]).verdict_in_words(), "undecided");
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
        assert_eq!(claim(&[]).verdict(), Verdict::Disagrees, "what was not measured is not borne out");
        assert_eq!([claim(&[true]).reason(), claim(&[true, false]).reason()], ["good", "bad"]);
        // Without the paper's size there is no verdict, whatever was measured.
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
