//! Section 4.1.3: warm restarts, which add parts to a factorisation that has converged.

use crate::claim::{above, signed};
use crate::factorisation::INNER;
use crate::grow::{lift_zeros, to_mean_one};
use crate::race::{ADMM, AUTO, BEST_ADMM, Course, Entrant, FPA, Lab, MUA, Watch};
use crate::record::{Record, Sheet};
use crate::restart_claims::{claims, gain};
use crate::section::{Along, Item, OTHER_SIZE, Section, line};
use crate::size::Size;
use crate::starts::{self, Starts};
use crate::synthetic_nd::uniform;
use crate::trace::Trace;
use klnmf::{Mat, Problem, Solver};
use klnmf_report::chart::{Chart, Line};
use serde_json::{Value, json};

const ID: &str = "warm-restart";
pub const FIGURE: &str = "figure-03-warm-restart";
/// ADMM's penalty. The paper does not state it here, so this is the one of `synthetic-nmf`.
const RHO: f64 = 1.0;
/// The penalties of all the paper's experiments, tried before and after the restart.
const RHOS: [f64; 6] = [0.1, 0.15, 0.5, RHO, 10.0, 50.0];
const SHEET: &str = "restart";
pub const FIRST: &str = "first";
pub const SECOND: &str = "second";
/// The smallest positive c, and the largest.
pub const SMALLEST: f64 = 1e-6;
pub const LARGEST: f64 = 1.0;

/// Sizes and settings, by the names of the facts.
fn facts(size: Size) -> Value {
    let ((n, m), [rank, larger], [accesses, more]) = size.pick(
        ((15, 40), [3, 6], [40, 30]),
        ((80, 500), [20, 40], [600, 400]),
        ((150, 2000), [50, 100], [3000, 2000]),
    );
    json!({
        "rows": n, "columns": m, "rank": rank, "larger rank": larger, "accesses": accesses,
        "more accesses": more, "rho": RHO,
    })
}

/// The constants c in the new columns of W, for MUA, the largest first.
fn constants(size: Size) -> &'static [f64] {
    match size {
        Size::Full => &[LARGEST, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, SMALLEST, 0.0],
        _ => &[LARGEST, 1e-2, 1e-4, SMALLEST, 0.0],
    }
}

pub fn runs(size: Size) -> usize {
    let timed = 4 + constants(size).len() + 3;
    let sweep = 3 * RHOS.len() - 1;
    timed + sweep + 7 * (size.starts() - 1)
}

pub fn with_constant(method: &str, c: f64) -> String {
    format!("{method} c = {}", short(c))
}

/// A constant as text: 0, 1, or a power of ten.
pub fn short(c: f64) -> String {
    if c == 0.0 || c == 1.0 { c.to_string() } else { format!("{c:e}") }
}

/// The method and c in the name of a trace.
pub fn split(name: &str) -> (&str, f64) {
    name.split_once(" c = ").map_or((name, f64::NAN), |(method, c)| (method, c.parse().unwrap_or(f64::NAN)))
}

/// The experiment with its data.
#[derive(Clone, Copy)]
struct Bench<'a> {
    lab: &'a Lab,
    v: &'a Mat<f64>,
    prepared: &'a Problem<'a, f64>,
    ranks: [usize; 2],
    iterations: [usize; 2],
}

/// The first phase of a method, and the factors from which the second starts, without c.
struct Before {
    trace: Trace,
    w: Mat<f64>,
    h: Mat<f64>,
    /// The number of rows of W and columns of H whose zeros were raised.
    lifted: (usize, usize),
}

impl Bench<'_> {
    fn first(&self, watch: Watch, entrant: &Entrant, start: usize) -> anyhow::Result<Before> {
        let (w, h) = self.lab.start(self.prepared, self.ranks[0], start)?;
        let iterations = self.iterations[0];
        let course = Course { problem: FIRST, v: self.prepared, start: (&w, &h), iterations };
        let (trace, found) = self.lab.race(&course, entrant, watch)?;
        let (mut w, mut h) = to_mean_one(found.w, found.h);
        let lifted = lift_zeros(self.v, &mut w, &mut h);
        let (w, h) = klnmf::grow(&w, &h, self.ranks[1], self.lab.seed.wrapping_add(start as u64))?;
        Ok(Before { trace, w, h, lifted })
    }

    /// Runs the second phase. Also returns how many of the new columns of W are zero at its end.
    fn second(
        &self,
        watch: Watch,
        entrant: &Entrant,
        before: &Before,
        c: f64,
    ) -> anyhow::Result<(Trace, usize)> {
        let mut w = before.w.clone();
        w.as_mut_slice()[self.v.rows() * self.ranks[0]..].fill(c);
        let again = Entrant { name: with_constant(&entrant.name, c), ..entrant.clone() };
        let (start, iterations) = ((&w, &before.h), self.iterations[1]);
        let course = Course { problem: SECOND, v: self.prepared, start, iterations };
        let (trace, found) = self.lab.race(&course, &again, watch)?;
        let zero = |k: &usize| found.w.col(*k).iter().all(|x| *x == 0.0);
        Ok((trace, (self.ranks[0]..self.ranks[1]).filter(zero).count()))
    }

    /// Runs ADMM with the same ρ before and after the restart, and with every other ρ from the first phase
    /// that ended lowest. Records all of them in a table, and the traces of the one that ends lowest. Returns
    /// its two ρ.
    fn sweep(&self, record: &mut Record) -> anyhow::Result<[f64; 2]> {
        let entrant = |rho| Entrant::admm(BEST_ADMM, rho);
        let mut firsts = Vec::new();
        for rho in RHOS {
            firsts.push((rho, self.first(Watch::Rarely, &entrant(rho), 0)?));
        }
        let end = |trace: &Trace| if trace.last().is_nan() { f64::INFINITY } else { trace.last() };
        let lowest =
            (0..RHOS.len()).min_by(|a, b| end(&firsts[*a].1.trace).total_cmp(&end(&firsts[*b].1.trace)));
        let lowest = lowest.unwrap_or(0);
        let mut sheet = Sheet::new(["before", "after", "first", "second"]);
        let mut best: Option<(Trace, Trace, [f64; 2])> = None;
        let same = (0..RHOS.len()).map(|n| (n, RHOS[n]));
        let from_lowest = RHOS.into_iter().filter(|rho| *rho != RHOS[lowest]).map(|rho| (lowest, rho));
        for (n, after) in same.chain(from_lowest) {
            let (rho, before) = &firsts[n];
            let (trace, _) = self.second(Watch::Rarely, &entrant(after), before, 0.0)?;
            let cells = [*rho, after, before.trace.last(), trace.last()].map(|x| x.to_string());
            sheet.rows.push(cells.to_vec());
            if best.as_ref().is_none_or(|best| end(&trace) < end(&best.1)) {
                best = Some((before.trace.clone(), trace, [*rho, after]));
            }
        }
        record.sheets.insert(SHEET.into(), sheet);
        let Some((mut first, mut second, pair)) = best else { return Ok([RHO; 2]) };
        first.thin();
        second.thin();
        record.traces.extend([first, second]);
        Ok(pair)
    }
}

pub fn run(lab: &Lab, size: Size) -> anyhow::Result<Record> {
    let mut record = Record::new(facts(size));
    let v = &uniform(record.count("rows"), record.count("columns"), lab.seed);
    let ranks = ["rank", "larger rank"].map(|name| record.count(name));
    let iterations = ["accesses", "more accesses"].map(|name| record.count(name));
    let bench = Bench { lab, v, prepared: &lab.prepare(v)?, ranks, iterations };
    let (mua, fpa) = (Entrant::mua(), Entrant::fpa(FPA, INNER));
    for entrant in [&mua, &Entrant::admm(ADMM, RHO), &fpa, &Entrant::new(AUTO, Solver::Auto)] {
        let before = bench.first(Watch::Closely, entrant, 0)?;
        record.note(format!("lifted rows of {}", entrant.name), before.lifted.0);
        record.note(format!("lifted columns of {}", entrant.name), before.lifted.1);
        record.traces.push(before.trace.clone());
        let constants = if entrant.name == MUA { constants(size) } else { &[0.0] };
        for c in constants {
            let (trace, zeros) = bench.second(Watch::Closely, entrant, &before, *c)?;
            record.note(format!("zero columns of {}", trace.method), zeros);
            record.traces.push(trace);
        }
    }
    // This runs ρ = 1 once more, under another name and evaluated less often, which costs little.
    let [before, after] = bench.sweep(&mut record)?;
    record.add(json!({ "best rho before": before, "best rho after": after }));
    let [admm, admm_after] = [before, after].map(|rho| Entrant::admm(BEST_ADMM, rho));
    let plan = [(&mua, &mua, &[LARGEST, SMALLEST][..]), (&fpa, &fpa, &[0.0]), (&admm, &admm_after, &[0.0])];
    for (entrant, _, constants) in plan {
        let names = constants.iter().map(|c| (SECOND, with_constant(&entrant.name, *c)));
        for (problem, name) in std::iter::once((FIRST, entrant.name.clone())).chain(names) {
            let trace = record.trace(problem, &name).cloned();
            trace.iter().for_each(|trace| starts::note(&mut record, 0, trace));
        }
    }
    let further = lab.further_starts(v, size.starts(), |prepared, start| {
        let (bench, mut traces) = (Bench { prepared, ..bench }, Vec::new());
        for (entrant, again, constants) in plan {
            let before = bench.first(Watch::Rarely, entrant, start)?;
            traces.push(before.trace.clone());
            for c in constants {
                traces.push(bench.second(Watch::Rarely, again, &before, *c)?.0);
            }
        }
        Ok(traces)
    })?;
    further.iter().for_each(|(start, trace)| starts::note(&mut record, *start, trace));
    Ok(record)
}

pub fn section(record: &Record) -> Section {
    let mut items = vec![figure(record), table(record)];
    items.extend(rho_table(record));
    let [auto, fpa] = [AUTO, FPA].map(|method| first_gain(record, method));
    let beyond = format!(
        "Beyond the paper: with c = 0, from the first start, auto decreases the divergence by {auto} and FPA \
         by {fpa}."
    );
    Section { claims: claims(record, &Starts::of(record)), items, ..Section::new(ID, record) }
        .with([lifted(record), beyond])
        .judged_if(record.has(facts(Size::Full)), OTHER_SIZE)
}

/// The decrease of a method with c = 0 from the first start.
fn first_gain(record: &Record, method: &str) -> String {
    let end = |problem, name: &str| record.trace(problem, name).map_or(f64::NAN, Trace::last);
    format!("{:.2} %", gain(end(SECOND, &with_constant(method, 0.0)) / end(FIRST, method)))
}

/// A sentence about the zeros that were raised before the restart.
fn lifted(record: &Record) -> String {
    let count = |what: &str, method: &str| record.fact(&format!("lifted {what} of {method}"));
    // Older records do not count rows. There were none, or every column would have been raised.
    let counts = |method: &str| {
        let rows = Some(count("rows", method)).filter(|rows| rows.is_finite()).unwrap_or(0.0);
        format!("{method} {rows} and {}", count("columns", method))
    };
    format!(
        "Projections can leave entries where W₁H₁ is zero and V is not. FPA's dual point −V/(WH) does not \
         exist there, so we add a thousandth of the mean of W₁ or H₁ to such rows of W₁ and columns of H₁ \
         before the restart (of {} rows and {} columns: {}).",
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
        x_label: Along::Iterations.label(),
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
    Item::charts(FIGURE, "restart", charts)
}

/// A line after the restart. Those of MUA are paler for smaller c.
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
            Some(record.fact(&format!("zero columns of {}", trace.method)))
                .filter(|zeros| zeros.is_finite())
                .map_or_else(|| "–".into(), |zeros| zeros.to_string()),
        ]
    };
    let header = ["method", "c", "D before", "adding parts", "D at the end", "total change", "zero columns"];
    Item::table("warm-restart-table", "warm-restart-table", &header, record.of(SECOND).map(row).collect())
}

/// The table of ADMM with every ρ that was tried.
fn rho_table(record: &Record) -> Option<Item> {
    let sheet = record.sheets.get(SHEET)?;
    let row = |row: &Vec<String>| {
        let number = |name| sheet.number(row, name);
        let value = |x: f64| if x.is_finite() { format!("{x:.6e}") } else { "∞".into() };
        let [first, second] = [number("first"), number("second")];
        let [before, after] = ["before", "after"].map(|name| sheet.word(row, name).to_owned());
        vec![before, after, value(first), value(second), signed(above(second, first))]
    };
    let header = ["ρ before", "ρ after", "D before", "D at the end", "change"];
    Some(Item::table("warm-restart-rho", "warm-restart-rho", &header, sheet.rows.iter().map(row).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::quiet_lab;

    #[test]
    fn a_restart_from_zero_keeps_the_divergence() {
        let lab = quiet_lab(1);
        let record = run(&lab, Size::Tiny).unwrap();
        assert_eq!(lab.runs.into_inner(), runs(Size::Tiny));
        let jump = |method: &str| {
            let second = record.trace(SECOND, &with_constant(method, 0.0)).unwrap();
            second.first() / record.trace(FIRST, method).unwrap().last() - 1.0
        };
        for method in [FPA, ADMM, MUA, BEST_ADMM] {
            assert!(jump(method).abs() < 1e-11, "{method}");
        }
        // The factors that auto returns may be a little better than those it last reported.
        assert!(jump(AUTO) < 1e-11);
        // The best ρ is the one with the lowest divergence in the table.
        let sheet = &record.sheets[SHEET];
        let ends: Vec<f64> = sheet.rows.iter().map(|row| sheet.number(row, "second")).collect();
        let best = record.trace(SECOND, &with_constant(BEST_ADMM, 0.0)).unwrap().last();
        assert_eq!(ends.iter().copied().fold(f64::INFINITY, f64::min), best);
        assert_eq!(sheet.rows.len(), 2 * RHOS.len() - 1);
        let starts = Starts::of(&record);
        assert_eq!(starts.count(), 2);
        let name = with_constant(BEST_ADMM, 0.0);
        let first = starts.each(|d| d(SECOND, &name, starts::At::End));
        assert!(first.text(|x| format!("{x}")).contains("in 2 starts"));
    }
}
