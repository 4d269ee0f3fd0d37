//! Judges the paper's statements about warm restarts over all starts.

use crate::claim::{Check, Claim, signed};
use crate::race::{BEST_ADMM, FPA, MUA};
use crate::record::Record;
use crate::spread::Spread;
use crate::starts::{At, Starts, difference};
use crate::warm_restart::{FIGURE, FIRST, LARGEST, SECOND, SMALLEST, short, split, with_constant};

/// The decrease in per cent, given the final divergence divided by that before the restart.
pub fn gain(ratio: f64) -> f64 {
    100.0 * (1.0 - ratio)
}

/// The gain of a method with its c, given the name of its trace.
fn gains_of(starts: &Starts, name: &str) -> Spread {
    starts.each(|d| gain(d(SECOND, name, At::End) / d(FIRST, split(name).0, At::End)))
}

/// The change of the divergence by adding the parts, in per cent.
fn jump(starts: &Starts, name: &str) -> Spread {
    starts.each(|d| -gain(d(SECOND, name, At::First) / d(FIRST, split(name).0, At::End)))
}

pub fn claims(record: &Record, starts: &Starts) -> Vec<Claim> {
    let [fpa, admm] = [FPA, BEST_ADMM].map(|method| with_constant(method, 0.0));
    let all = [
        ("restart-entries", vec![increases(starts)]),
        ("restart-zero", vec![stays(starts, &fpa), gains(starts, &fpa)]),
        ("restart-absorbs", vec![absorbs(record, &with_constant(MUA, 0.0))]),
        ("restart-stuck", gets_stuck(record, starts)),
        ("restart-admm", vec![gains(starts, &admm), alike(record, starts, &admm, &fpa)]),
    ];
    all.into_iter().map(|(name, checks)| Claim::new(name, FIGURE, checks)).collect()
}

fn increases(starts: &Starts) -> Check {
    let jump = jump(starts, &with_constant(MUA, LARGEST));
    let text = jump.text(signed);
    let measured = format!("MUA c = 1: change of D by adding the parts: {text}; required: above 0");
    Check::settled(jump.above(0.0), measured)
}

fn stays(starts: &Starts, name: &str) -> Check {
    let jump = jump(starts, name);
    Check::settled(
        jump.within(-0.01, 0.01),
        format!("{name}: change of D by adding the parts: {}; required: within ±0.01 %", jump.text(signed)),
    )
}

/// The divergence decreases by at least 1 %.
fn gains(starts: &Starts, name: &str) -> Check {
    let gain = gains_of(starts, name);
    let text = gain.text(|x| signed(-x));
    let measured = format!("{name}: change of D after the restart: {text}; required: below −1 %");
    Check::settled(gain.above(1.0), measured)
}

fn absorbs(record: &Record, name: &str) -> Check {
    let zeros = record.fact(&format!("zero columns of {name}"));
    let new = record.fact("larger rank") - record.fact("rank");
    Check::new(zeros == new, format!("{zeros:.0} of the {new:.0} new columns of W are still zero at the end"))
}

fn alike(record: &Record, starts: &Starts, a: &str, b: &str) -> Check {
    let ratio = starts.ratio((SECOND, a, At::End), (SECOND, b, At::End));
    let rho = |name| record.fact(name);
    let tried = match rho("best rho before") {
        before if before.is_finite() => {
            format!(" with ρ = {before} before the restart and {} after it", rho("best rho after"))
        }
        _ => " (only ρ = 1 was tried)".into(),
    };
    Check::settled(
        ratio.within(0.98, 1.02),
        format!("final D of {a}{tried} relative to {b}: {}; required: within ±2 %", ratio.text(difference)),
    )
}

/// The gain is smaller for the smallest positive c than for the largest, and nearly vanishes against FPA's.
fn gets_stuck(record: &Record, starts: &Starts) -> Vec<Check> {
    let [small, large] = [SMALLEST, LARGEST].map(|c| with_constant(MUA, c));
    let against = |other: &str| {
        let gained = |d: &dyn Fn(&str, &str, At) -> f64, name: &str| {
            gain(d(SECOND, name, At::End) / d(FIRST, split(name).0, At::End))
        };
        starts.each(|d| gained(d, &small) / gained(d, other))
    };
    let first: Vec<String> = record
        .of(SECOND)
        .filter(|trace| split(&trace.method).0 == MUA && split(&trace.method).1 > 0.0)
        .filter_map(|trace| {
            let gain = gain(trace.last() / record.trace(FIRST, MUA)?.last());
            Some(format!("{gain:.2} % (c = {})", short(split(&trace.method).1)))
        })
        .collect();
    let share = |x: f64| format!("{x:.3}");
    let (of_large, of_fpa) = (against(&large), against(&with_constant(FPA, 0.0)));
    vec![
        Check::settled(
            of_large.below(0.9),
            format!(
                "MUA's gain with c = {} divided by that with c = 1: {}; required: below 0.9. Gains from the \
                 first start: {}",
                short(SMALLEST),
                of_large.text(share),
                first.join(", ")
            ),
        ),
        Check::settled(
            of_fpa.below(0.1),
            format!(
                "MUA's gain with c = {} divided by FPA's with c = 0: {}; required: below 0.1",
                short(SMALLEST),
                of_fpa.text(share)
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factorisation::tests::made_up;
    use crate::starts::tests::repeat;
    use crate::trace::Trace;
    use serde_json::json;

    fn record(seconds: &[(&str, f64, f64)]) -> Record {
        let at = |problem: &str, name: &str, end| Trace {
            problem: problem.into(),
            ..made_up(name, end, 2.0, 0.1)
        };
        let mut traces: Vec<Trace> = [MUA, BEST_ADMM, FPA].map(|method| at(FIRST, method, 50.0)).to_vec();
        traces.extend(seconds.iter().map(|(name, c, end)| at(SECOND, &with_constant(name, *c), *end)));
        let mut record = Record { traces, ..Record::default() };
        repeat(&mut record, 10);
        record
    }

    #[test]
    fn stuck_runs_are_recognised() {
        let verdicts = |small| {
            let record = record(&[(MUA, 1.0, 41.0), (MUA, 1e-6, small), (FPA, 0.0, 40.0)]);
            gets_stuck(&record, &Starts::of(&record))
                .iter()
                .map(|check| (check.holds, check.open))
                .collect::<Vec<_>>()
        };
        assert_eq!(verdicts(49.9), [(true, false), (true, false)]);
        assert_eq!(verdicts(40.5), [(false, false), (false, false)]);
        assert_eq!(verdicts(45.0), [(true, false), (false, false)]);
    }

    #[test]
    fn the_best_rho_is_judged_and_named() {
        let like = |end: f64| {
            let mut record = record(&[(FPA, 0.0, 40.0), (BEST_ADMM, 0.0, end)]);
            record.add(json!({ "best rho before": 0.5, "best rho after": 10.0 }));
            let claims = claims(&record, &Starts::of(&record));
            claims.last().unwrap().checks.clone()
        };
        assert!(like(40.4).iter().all(|check| check.holds));
        assert!(like(40.4)[1].measured.contains("ρ = 0.5 before the restart and 10 after it"));
        assert_eq!(like(44.0).iter().map(|check| check.holds).collect::<Vec<_>>(), [true, false]);
        assert!(
            !like(f64::INFINITY).iter().any(|check| check.holds || check.open),
            "a run that diverges makes no progress"
        );
        let old = Record { sheets: Default::default(), ..record(&[(FPA, 0.0, 40.0)]) };
        assert!(claims(&old, &Starts::of(&old)).last().unwrap().checks.iter().all(|check| check.open));
    }

    #[test]
    fn names_hold_the_constant() {
        for c in [0.0, SMALLEST, 0.1, LARGEST] {
            assert_eq!(split(&with_constant(MUA, c)), (MUA, c));
        }
    }
}
