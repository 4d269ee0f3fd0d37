//! Judges the paper's statements about the whole factorisation over all starts. Times are from the first.

use crate::claim::{Check, MARGIN, lower, margin, plain, resolution, timed};
use crate::factorisation::PROBLEM;
use crate::race::{ADMM, FPA, MUA};
use crate::record::Record;
use crate::spread::Spread;
use crate::starts::{self, At, Starts, difference};
use crate::trace::Trace;

/// The traces of the paper's three methods from the timed start, and their divergences from all starts.
pub struct Judge<'a> {
    pub fpa: &'a Trace,
    pub admm: &'a Trace,
    pub mua: &'a Trace,
    pub starts: Starts,
}

/// The answer, if the timed start, which allows for the timing error, and the median of all starts agree.
fn both(timed: Option<bool>, all: Option<bool>) -> Option<bool> {
    timed.filter(|timed| all == Some(*timed))
}

impl<'a> Judge<'a> {
    pub fn new(record: &'a Record) -> Option<Self> {
        let trace = |method| record.trace(PROBLEM, method);
        Some(Self { fpa: trace(FPA)?, admm: trace(ADMM)?, mua: trace(MUA)?, starts: Starts::of(record) })
    }

    fn few(&self) -> usize {
        starts::few(self.fpa.iterations())
    }

    fn ratio(&self, a: &str, b: &str, at: At) -> Spread {
        self.starts.ratio((PROBLEM, a, at), (PROBLEM, b, at))
    }

    /// FPA takes the least time and MUA the most.
    pub fn order_of_times(&self) -> Vec<Check> {
        let quicker = |a: &Trace, b: &Trace| {
            let [first, second] = [a, b].map(Trace::seconds);
            let longer = first.max(second);
            let (a, b, within) = (&a.method, &b.method, resolution(longer));
            Check::settled(
                timed(longer, |error| Some(first + error < second)),
                format!("{a} takes {first:.3} s, {b} {second:.3} s; required: {a} faster by over {within}"),
            )
        };
        vec![quicker(self.fpa, self.admm), quicker(self.admm, self.mua)]
    }

    /// A method makes at least half of its decrease in the first iterations.
    pub fn quick_start(&self, method: &str) -> Check {
        let share = self.starts.each(|d| {
            let [first, few, end] = [At::First, At::Few, At::End].map(|at| d(PROBLEM, method, at));
            (first - few) / (first - end)
        });
        let (made, few) = (share.text(|x| format!("{:.1} %", 100.0 * x)), self.few());
        let measured = format!(
            "{method} makes {made} of its decrease in the first {few} iterations; required: at least half, \
             from a start with ΣWH = ΣV"
        );
        Check::settled(share.above(0.5), measured)
    }

    /// One method ends below another.
    pub fn ends_below(&self, a: &str, b: &str) -> Check {
        let ratio = self.ratio(a, b, At::End);
        let text = ratio.text(difference);
        Check::settled(ratio.below(1.0), format!("final D of {a} relative to {b}: {text}; required: below 0"))
    }

    /// One method is above another after the first iterations.
    pub fn begins_above(&self, a: &str, b: &str) -> Check {
        let ratio = self.ratio(a, b, At::Few);
        let (few, text) = (self.few(), ratio.text(difference));
        let measured = format!("after {few} iterations, D of {a} relative to {b}: {text}; required: above 0");
        Check::settled(ratio.above(1.0), measured)
    }

    /// The final divergences of two methods differ by at most `per_cent` per cent.
    pub fn ends_alike(&self, a: &str, b: &str, per_cent: f64) -> Check {
        let ratio = self.ratio(a, b, At::End);
        let text = ratio.text(difference);
        Check::settled(
            ratio.within(1.0 - per_cent / 100.0, 1.0 + per_cent / 100.0),
            format!("final D of {a} relative to {b}: {text}; required: within ±{per_cent} %"),
        )
    }

    /// At FPA's final time the other methods have a divergence that is larger by more than the margin. The
    /// paper says “significantly larger”, so a smaller difference counts against the claim.
    pub fn larger_at_the_same_time(&self) -> Vec<Check> {
        let check = |other: &Trace| {
            let end = self.fpa.seconds();
            let first =
                timed(end, |error| Some(lower(self.fpa.last(), at_time(other, end + error)) == Some(true)));
            let ratio = self.starts.ratio((PROBLEM, &other.method, At::Same), (PROBLEM, FPA, At::End));
            let iterations = other.at_seconds(end).map_or(0.0, |place| place.iteration.floor());
            let (method, text, within) = (&other.method, ratio.text(difference), resolution(end));
            let measured = format!(
                "at FPA's final time, after {iterations:.0} iterations, D of {method} relative to FPA: \
                 {text}; required: above +{}; timing error: {within}",
                margin()
            );
            Check::settled(both(first, ratio.above(1.0 + MARGIN)), measured)
        };
        [self.admm, self.mua].map(check).to_vec()
    }

    /// MUA is the lowest at a hundredth of FPA's time.
    pub fn mua_leads_early(&self) -> Vec<Check> {
        [self.fpa, self.admm].map(|other| self.leads(At::Early, self.mua, other)).to_vec()
    }

    /// One method is below another at a hundredth or at half of FPA's time.
    pub fn leads(&self, at: At, a: &Trace, b: &Trace) -> Check {
        let seconds = starts::times(self.fpa)[if matches!(at, At::Early) { 0 } else { 1 }];
        let first = timed(seconds, |error| lower(at_time(a, seconds), at_time(b, seconds + error)));
        let ratio = self.ratio(&a.method, &b.method, at);
        let (at, text, within) = (plain(seconds), ratio.text(difference), resolution(seconds));
        let (a, b) = (&a.method, &b.method);
        let measured = format!(
            "after {at} s, D of {a} relative to {b}: {text}; required: below 0; timing error: {within}"
        );
        Check::settled(both(first, ratio.below(1.0)), measured)
    }
}

/// The divergence at a time; infinite if there is none.
fn at_time(trace: &Trace, seconds: f64) -> f64 {
    trace.at_seconds(seconds).map_or(f64::INFINITY, |place| place.divergence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorisation::tests::{made_up, record};
    use crate::starts::tests::repeat;

    fn repeated(traces: [Trace; 3]) -> Record {
        let mut record = record(traces.to_vec());
        repeat(&mut record, 10);
        record
    }

    fn all(judge: &Judge<'_>) -> Vec<Check> {
        let mut checks = judge.order_of_times();
        checks.extend(judge.larger_at_the_same_time());
        checks.extend([
            judge.quick_start(FPA),
            judge.ends_below(FPA, MUA),
            judge.begins_above(ADMM, FPA),
            judge.ends_alike(ADMM, FPA, 1.0),
            judge.leads(At::Half, judge.fpa, judge.mua),
        ]);
        checks
    }

    #[test]
    fn statements_hold_and_fail_as_they_should() {
        let right = repeated([
            made_up(FPA, 10.0, 2.0, 0.1),
            made_up(ADMM, 10.05, 50.0, 0.2),
            made_up(MUA, 12.0, 2.0, 0.3),
        ]);
        let wrong = repeated([
            made_up(FPA, 12.0, 50.0, 0.3),
            made_up(ADMM, 10.0, 2.0, 0.2),
            made_up(MUA, 10.0, 200.0, 0.1),
        ]);
        for (record, expected) in [(&right, true), (&wrong, false)] {
            for check in all(&Judge::new(record).unwrap()) {
                assert!(check.holds == expected && !check.open, "{}", check.measured);
            }
        }
        let early = repeated([
            made_up(FPA, 10.0, 500.0, 0.1),
            made_up(ADMM, 10.0, 400.0, 0.1),
            made_up(MUA, 12.0, 5.0, 0.1),
        ]);
        assert!(Judge::new(&early).unwrap().mua_leads_early().iter().all(|check| check.holds));
        assert!(!Judge::new(&wrong).unwrap().mua_leads_early().iter().any(|check| check.holds));
        assert!(Judge::new(&record(vec![])).is_none());
    }

    #[test]
    fn one_start_decides_only_times() {
        let one = record(vec![
            made_up(FPA, 10.0, 2.0, 0.1),
            made_up(ADMM, 10.05, 50.0, 0.2),
            made_up(MUA, 12.0, 2.0, 0.3),
        ]);
        for (n, check) in all(&Judge::new(&one).unwrap()).iter().enumerate() {
            assert_eq!(check.open, n >= 2, "{}", check.measured);
            assert!(n < 2 || check.measured.contains("one start"), "{}", check.measured);
        }
    }

    #[test]
    fn times_that_are_too_close_decide_nothing() {
        let alike = repeated([
            made_up(FPA, 10.0, 2.0, 0.1),
            made_up(ADMM, 10.005, 2.0, 0.1),
            made_up(MUA, 9.995, 2.0, 0.1),
        ]);
        let judge = Judge::new(&alike).unwrap();
        assert!(judge.order_of_times().iter().all(|check| check.open));
        let larger = judge.larger_at_the_same_time();
        assert!(larger.iter().all(|check| !check.open && !check.holds), "a tie is not significantly larger");
        // Ten starts decide even a difference below the margin, if every start has it.
        assert!(judge.ends_below(FPA, ADMM).holds && !judge.ends_below(FPA, MUA).holds);
        // Where the lines are steep, the timing error matters.
        let steep = repeated([
            made_up(FPA, 10.0, 100.0, 1e-4),
            made_up(ADMM, 10.0, 100.0, 1e-4),
            made_up(MUA, 10.0, 90.0, 1e-4),
        ]);
        let judge = Judge::new(&steep).unwrap();
        assert!(judge.leads(At::Early, judge.mua, judge.fpa).open);
    }
}
