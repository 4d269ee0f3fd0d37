//! Section 4.1.3: more parts for a factorisation that has converged.

use super::claim::{Check, Claim, above, compared, signed};
use super::race::{ADMM, AUTO, Entrant, FPA, Lab, MUA};
use super::record::Record;
use super::section::{Along, Item, Section, line};
use super::size::Size;
use super::synthetic_nd::uniform;
use super::trace::Trace;
use crate::chart::{Chart, Line};
use klnmf::{Mat, Solver};
use serde_json::json;

const ID: &str = "warm-restart";
/// The penalty of ADMM, which the paper does not state here: that of its other factorisation of uniform numbers.
const RHO: f64 = 1.0;
const FIRST: &str = "first";
const SECOND: &str = "second";

/// n, m, the ranks, accesses before and after the restart.
fn sizes(size: Size) -> (usize, usize, [usize; 2], [usize; 2]) {
    size.pick(
        (15, 40, [3, 6], [40, 30]),
        (80, 500, [20, 40], [600, 400]),
        (150, 2000, [50, 100], [3000, 2000]),
    )
}

/// What the new columns of W hold for MUA; the largest first.
fn constants(size: Size) -> &'static [f64] {
    match size {
        Size::Full => &[1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0],
        _ => &[1.0, 1e-2, 1e-4, 1e-6, 0.0],
    }
}

pub fn runs(size: Size) -> usize {
    4 + constants(size).len() + 3
}

fn with_constant(method: &str, c: f64) -> String {
    format!("{method} c = {}", short(c))
}

/// 0, 1, or a power of ten.
fn short(c: f64) -> String {
    if c == 0.0 || c == 1.0 { c.to_string() } else { format!("{c:e}") }
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let (n, m, [r1, r2], [before, after]) = sizes(size);
    let v = uniform(n, m, lab.seed);
    let prepared = lab.prepare(&v)?;
    let (w, h) = lab.start(&prepared, r1)?;
    let mut record = Record::default();
    let facts = json!({ "rows": n, "columns": m, "rank": r1, "larger rank": r2, "accesses": before, "more accesses": after, "rho": RHO });
    record.facts = facts.as_object().cloned().unwrap_or_default();
    let entrants = [
        Entrant::mua(),
        Entrant::admm(ADMM, RHO),
        Entrant::fpa(FPA, super::factorisation::INNER),
        Entrant::ours(AUTO, Solver::Auto),
    ];
    for entrant in entrants {
        let (trace, found) = lab.race(FIRST, &entrant, &prepared, (&w, &h), before)?;
        record.traces.push(trace);
        let (mut w1, mut h1) = to_mean_one(found.w, found.h);
        let (rows, columns) = lift_zeros(&v, &mut w1, &mut h1);
        record.facts.insert(format!("lifted rows of {}", entrant.name), rows.into());
        record.facts.insert(format!("lifted columns of {}", entrant.name), columns.into());
        let (grown_w, grown_h) = klnmf::grow(&w1, &h1, r2, lab.seed)?;
        let constants = if entrant.name == MUA { constants(size) } else { &[0.0] };
        for c in constants {
            let mut w2 = grown_w.clone();
            w2.as_mut_slice()[n * r1..].fill(*c);
            let again = Entrant { name: with_constant(&entrant.name, *c), ..entrant.clone() };
            let (trace, found) = lab.race(SECOND, &again, &prepared, (&w2, &grown_h), after)?;
            let still_zero = (r1..r2).filter(|k| found.w.col(*k).iter().all(|x| *x == 0.0)).count();
            record.facts.insert(format!("zero columns of {}", again.name), still_zero.into());
            record.traces.push(trace);
        }
    }
    Ok(record)
}

/// Makes WH positive wherever V is, and counts the rows of W and the columns of H that it took: a row of zeros gets a thousandth of the
/// mean of W, and then a column where WH is still zero somewhere a thousandth of the mean of H.
///
/// The paper says nothing of such zeros, but its restart “maintains the same last objective value”, which has to be finite: there the
/// divergence is infinite but for the authors' 2.2e-16, and the dual −V/(WH) that FPA starts with does not exist. Projections leave such
/// zeros. The new columns of W are zero, so they do not help.
fn lift_zeros(v: &Mat<f64>, w: &mut Mat<f64>, h: &mut Mat<f64>) -> (usize, usize) {
    let sums = v.row_sums();
    let empty = |i: usize| sums[i] > 0.0 && (0..w.cols()).all(|k| w[(i, k)] == 0.0);
    let rows: Vec<usize> = (0..w.rows()).filter(|i| empty(*i)).collect();
    let lift = thousandth(w);
    for i in &rows {
        (0..w.cols()).for_each(|k| w[(*i, k)] = lift);
    }
    let (lift, wt) = (thousandth(h), w.transpose());
    let mut columns = 0;
    for j in 0..v.cols() {
        let model = |i: usize| wt.col(i).iter().zip(h.col(j)).map(|(w, h)| w * h).sum::<f64>();
        if (0..v.rows()).any(|i| v[(i, j)] > 0.0 && model(i) == 0.0) {
            h.col_mut(j).iter_mut().for_each(|x| *x += lift);
            columns += 1;
        }
    }
    (rows.len(), columns)
}

/// A thousandth of the mean.
fn thousandth(x: &Mat<f64>) -> f64 {
    1e-3 * x.as_slice().iter().sum::<f64>() / x.as_slice().len() as f64
}

/// W with mean 1, so that c is in units of it, and H the other way.
fn to_mean_one(mut w: Mat<f64>, mut h: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let entries = w.as_slice().len() as f64;
    let mean = w.as_slice().iter().sum::<f64>() / entries;
    if mean > 0.0 {
        w.as_mut_slice().iter_mut().for_each(|x| *x /= mean);
        h.as_mut_slice().iter_mut().for_each(|x| *x *= mean);
    }
    (w, h)
}

pub fn section(record: &Record) -> Section {
    let fact = |name| record.fact(name);
    Section {
        title: "Synthetic data: warm restarts",
        paper: "V is 150 × 2000, r₁ = 50. After 3000 iterations the rank becomes r₂ = 100 (the text says “ten times”, the numbers say two): \
                W = [W₁, c·1] and H = [H₁; ν], for MUA with several c, for FPA with c = 0; 2000 more iterations."
            .into(),
        ours: vec![
            format!(
                "V is {} × {}; r = {} for {} accesses, then r = {} for {} more. Every method goes on from its own W₁ and H₁.",
                fact("rows"),
                fact("columns"),
                fact("rank"),
                fact("accesses"),
                fact("larger rank"),
                fact("more accesses")
            ),
            format!(
                "W₁ is scaled to mean 1 (and H₁ the other way), so that c is in units of W₁'s mean; ν is random, |N(0, 1)| + 0.1 times \
                 the mean of H₁. ADMM, which the paper does not display, has ρ = {RHO}."
            ),
            lifted(record),
            format!(
                "Beyond the paper: from c = 0 the divergence of auto falls by {:.2} %, that of FPA by {:.2} %.",
                gain(record, &with_constant(AUTO, 0.0)),
                gain(record, &with_constant(FPA, 0.0))
            ),
        ],
        claims: claims(record),
        items: vec![figure(record), table(record)],
    }
}

/// What was lifted before the restart.
fn lifted(record: &Record) -> String {
    let count = |what: &str, method: &str| record.fact(&format!("lifted {what} of {method}"));
    // Older records count no rows. They had none: with one every column would have been lifted.
    let counts = |method: &str| {
        let rows = Some(count("rows", method)).filter(|rows| rows.is_finite()).unwrap_or(0.0);
        format!("{method} {rows} and {}", count("columns", method))
    };
    format!(
        "Where W₁H₁ is exactly zero and V is not, which projections can leave, FPA's dual −V/(WH) does not exist: such rows of W₁ and columns of \
         H₁ (of {} and {}: {}) get a thousandth of the mean of W₁ or H₁ before the restart.",
        record.fact("rows"),
        record.fact("columns"),
        [FPA, ADMM, MUA].map(counts).join(", ")
    )
}

fn figure(record: &Record) -> Item {
    let accesses = record.fact("accesses");
    let after: Vec<Line> = record.of(SECOND).map(|trace| shifted(trace, accesses)).collect();
    let mut whole: Vec<Line> = record
        .of(FIRST)
        .map(|trace| {
            let name = String::new();
            Line { name, ..line(&trace.method, Along::Iterations.points(trace, |p| p.divergence)) }
        })
        .collect();
    whole.extend(after.iter().cloned());
    let lowest = record.of(SECOND).map(Trace::last).fold(f64::INFINITY, f64::min);
    let highest = record.of(FIRST).map(Trace::last).fold(0.0, f64::max);
    let span = (highest - lowest).max(0.004 * lowest);
    let zoomed = |lines: Vec<Line>, title: &str, x_range, y_range| Chart {
        title: title.into(),
        x_label: "accesses to the data",
        y_label: "divergence D(V‖WH)",
        lines,
        linear_y: true,
        x_range: Some(x_range),
        y_range: Some(y_range),
        ..Chart::default()
    };
    let end = accesses + record.fact("more accesses");
    let charts = vec![
        zoomed(
            whole,
            "(a) before and after the restart",
            (0.0, end),
            (lowest - 0.1 * span, lowest + 2.2 * span),
        ),
        zoomed(after, "(b) after the restart", (accesses, end), (lowest - 0.08 * span, lowest + 1.25 * span)),
    ];
    let caption = "The divergence at each access (paper: Figure 3). Lines of MUA are the paler the smaller c is. Values above the figure, \
                   such as just after a restart with a large c, are cut off.";
    Item::charts(format!("{ID}-objective"), caption.into(), charts)
}

/// A line after the restart; those of MUA the paler the smaller c is.
fn shifted(trace: &Trace, accesses: f64) -> Line {
    let points = trace.points.iter().map(|p| (accesses + p.iteration as f64, p.divergence)).collect();
    let (method, c) = split(&trace.method);
    let pale = if method != MUA || c >= 1.0 {
        0.0
    } else if c > 0.0 {
        0.08 * -c.log10()
    } else {
        0.6
    };
    Line { name: trace.method.clone(), pale, dashed: method == MUA && c == 0.0, ..line(method, points) }
}

/// The method and c of a name.
fn split(name: &str) -> (&str, f64) {
    name.split_once(" c = ").map_or((name, f64::NAN), |(method, c)| (method, c.parse().unwrap_or(f64::NAN)))
}

fn table(record: &Record) -> Item {
    let row = |trace: &Trace| {
        let (method, c) = split(&trace.method);
        let before = record.trace(FIRST, method).map_or(f64::NAN, Trace::last);
        vec![
            method.into(),
            short(c),
            format!("{before:.6e}"),
            signed(above(trace.first(), before)),
            format!("{:.6e}", trace.last()),
            signed(above(trace.last(), before)),
            format!("{:.0}", record.fact(&format!("zero columns of {}", trace.method))),
            format!("{:.2} s", trace.seconds()),
        ]
    };
    let caption = "The restart: the divergence at the end of the first phase, how it changes by adding parts, at the end of the second phase, and \
                   how many of the new columns of W are still zero then.";
    let header =
        ["method", "c", "D before", "by adding parts", "D at the end", "change", "zero columns", "time"];
    Item::table(format!("{ID}-table"), caption.into(), &header, record.of(SECOND).map(row).collect())
}

/// What a method gained by the restart, relative to where it was, in per cent.
fn gain(record: &Record, name: &str) -> f64 {
    let before = record.trace(FIRST, split(name).0).map_or(f64::NAN, Trace::last);
    record.trace(SECOND, name).map_or(f64::NAN, |trace| -above(trace.last(), before))
}

/// What adding the parts did to the divergence, in per cent.
fn jump(record: &Record, name: &str) -> f64 {
    let before = record.trace(FIRST, split(name).0).map_or(f64::NAN, Trace::last);
    record.trace(SECOND, name).map_or(f64::NAN, |trace| above(trace.first(), before))
}

fn claims(record: &Record) -> Vec<Claim> {
    let claim = |paper: &str, checks| Claim {
        paper: paper.into(),
        place: "4.1.3, Figure 3",
        figure: format!("{ID}-objective"),
        checks,
    };
    let fpa = with_constant(FPA, 0.0);
    let admm = with_constant(ADMM, 0.0);
    let stuck = with_constant(MUA, 0.0);
    vec![
        claim("Entries in both factors that are not zero increase the objective", vec![increases(record)]),
        claim(
            "With c = 0 the objective stays what it was, and FPA goes on from there",
            vec![
                Check::new(
                    jump(record, &fpa).abs() < 0.01,
                    format!("adding parts with c = 0 changes D by {} (FPA)", signed(jump(record, &fpa))),
                ),
                gains(record, &fpa, 1.0),
            ],
        ),
        claim("With c = 0 MUA cannot perform, because it absorbs zeros", vec![absorbs(record, &stuck)]),
        claim("As c → 0 MUA gets stuck in the poor optimum of W₁ and H₁", gets_stuck(record)),
        claim("ADMM behaves like FPA", vec![gains(record, &admm, 1.0), alike(record, &admm, &fpa)]),
    ]
}

fn increases(record: &Record) -> Check {
    let largest = with_constant(MUA, 1.0);
    let jump = jump(record, &largest);
    Check::new(jump > 0.0, format!("with c = 1 D changes by {} (MUA)", signed(jump)))
}

fn gains(record: &Record, name: &str, least: f64) -> Check {
    let gain = gain(record, name);
    let way = if gain < 0.0 { "rises" } else { "falls" };
    Check::new(gain >= least, format!("{name}: D {way} by {:.2} % (falls by at least {least} %)", gain.abs()))
}

fn absorbs(record: &Record, name: &str) -> Check {
    let zeros = record.fact(&format!("zero columns of {name}"));
    let new = record.fact("larger rank") - record.fact("rank");
    Check::new(zeros == new, format!("{zeros:.0} of the {new:.0} new columns of W are still zero at the end"))
}

fn alike(record: &Record, a: &str, b: &str) -> Check {
    let last = |name: &str| record.trace(SECOND, name).map_or(f64::INFINITY, Trace::last);
    Check::new(
        above(last(a), last(b)).abs() <= 2.0,
        format!("{a} ends {} {b} (at most 2 %)", compared(last(a), last(b))),
    )
}

/// The gain falls with c, and nearly vanishes for the smallest positive one.
fn gets_stuck(record: &Record) -> Vec<Check> {
    let mut gains: Vec<(f64, f64)> = record
        .of(SECOND)
        .map(|trace| (split(&trace.method), &trace.method))
        .filter(|((method, c), _)| *method == MUA && *c > 0.0)
        .map(|((_, c), name)| (c, gain(record, name)))
        .collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let text: Vec<String> =
        gains.iter().map(|(c, gain)| format!("{gain:.2} % (c = {})", short(*c))).collect();
    // Valleys differ a little, so it need not fall from each to the next, but on the whole.
    let steady = gains.windows(2).all(|pair| pair[1].1 <= pair[0].1 + 0.5);
    let falls = steady && gains.first().zip(gains.last()).is_some_and(|(most, least)| least.1 < 0.9 * most.1);
    let fpa = gain(record, &with_constant(FPA, 0.0));
    let (smallest, least) = gains.last().copied().unwrap_or((f64::NAN, f64::NAN));
    vec![
        Check::new(falls, format!("the gain falls with c: {}", text.join(", "))),
        Check::new(
            least < 0.1 * fpa,
            format!("with c = {smallest:e} MUA gains {least:.2} %, FPA {fpa:.2} % (less than a tenth)"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::factorisation::tests::made_up;
    use super::super::race::quiet_lab;
    use super::*;

    fn record(ends: &[(f64, f64)]) -> Record {
        let at = |problem: &str, name: String, end| Trace {
            problem: problem.into(),
            ..made_up(&name, end, 2.0, 0.1)
        };
        let mut traces: Vec<Trace> =
            [MUA, ADMM, FPA, AUTO].map(|method| at(FIRST, method.into(), 50.0)).to_vec();
        traces.extend(ends.iter().map(|(c, end)| at(SECOND, with_constant(MUA, *c), *end)));
        traces.push(at(SECOND, with_constant(FPA, 0.0), 40.0));
        Record { traces, ..Record::default() }
    }

    #[test]
    fn being_stuck_is_told_from_going_on() {
        let stuck = gets_stuck(&record(&[(1.0, 41.0), (1e-2, 45.0), (1e-6, 49.9), (0.0, 50.0)]));
        assert!(stuck.iter().all(|check| check.holds), "{stuck:?}");
        let not = gets_stuck(&record(&[(1.0, 41.0), (1e-2, 40.0), (1e-6, 40.5), (0.0, 50.0)]));
        assert!(!not.iter().any(|check| check.holds), "{not:?}");
        let all = record(&[(0.0, 50.0)]);
        assert!(gains(&all, &with_constant(FPA, 0.0), 1.0).holds);
        assert!(!gains(&all, &with_constant(MUA, 0.0), 1.0).holds);
        assert!(alike(&all, &with_constant(FPA, 0.0), &with_constant(FPA, 0.0)).holds);
        assert!(!alike(&all, &with_constant(FPA, 0.0), &with_constant(MUA, 0.0)).holds);
    }

    #[test]
    fn zeros_of_the_model_are_lifted_where_there_are_data() {
        let v = Mat::from_rows(&[&[1.0, 2.0, 0.0], &[3.0, 4.0, 5.0]]);
        let mut w = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0]]);
        let mut h = Mat::from_rows(&[&[0.0, 2.0, 0.0], &[4.0, 3.0, 3.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 1));
        assert_eq!((h[(0, 0)], h[(1, 0)], h[(0, 1)], h[(0, 2)]), (2e-3, 4.002, 2.0, 0.0));
    }

    #[test]
    fn rows_of_zeros_are_lifted_where_there_are_data() {
        let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0], &[0.0, 0.0]]);
        let mut w = Mat::from_rows(&[&[0.0, 0.0], &[2.0, 4.0], &[0.0, 0.0]]);
        let mut h = Mat::from_rows(&[&[1.0, 0.0], &[1.0, 0.0]]);
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (1, 1), "the first row, and the second column");
        assert_eq!((w[(0, 0)], w[(1, 0)], w[(2, 0)]), (1e-3, 2.0, 0.0));
        assert_eq!((h[(0, 0)], h[(0, 1)]), (1.0, 5e-4));
        assert_eq!(lift_zeros(&v, &mut w, &mut h), (0, 0), "now nothing is left");
    }

    #[test]
    fn names_hold_the_constant() {
        for c in [0.0, 1e-6, 0.1, 1.0] {
            assert_eq!(split(&with_constant(MUA, c)), (MUA, c));
        }
    }

    #[test]
    fn a_restart_from_zero_keeps_the_divergence() {
        let lab = quiet_lab(1);
        let record = run(&lab, Size::Tiny).unwrap();
        assert_eq!(lab.runs.get(), runs(Size::Tiny));
        for method in [FPA, ADMM, MUA] {
            assert!(jump(&record, &with_constant(method, 0.0)).abs() < 1e-9, "{method}");
        }
        // What auto returns in the end may be a little better than what it last showed.
        assert!(jump(&record, &with_constant(AUTO, 0.0)) < 1e-9);
        assert!(absorbs(&record, &with_constant(MUA, 0.0)).holds);
        assert!(!absorbs(&record, &with_constant(FPA, 0.0)).holds);
        assert!(increases(&record).holds);
    }
}
