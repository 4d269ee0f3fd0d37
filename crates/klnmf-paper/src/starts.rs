//! Further random starts: what every method has at a few places on its way, from each start. Only the first
//! start is timed and drawn; the places of the others that stand for a time are the iterations that the
//! method had made by then from the first.

use crate::claim::{above, signed};
use crate::race::FPA;
use crate::record::{Record, Sheet};
use crate::spread::Spread;
use crate::trace::Trace;

const SHEET: &str = "starts";

/// A place on the way of a method; the names of the columns follow.
#[derive(Clone, Copy)]
pub enum At {
    /// The start.
    First,
    /// After a few iterations.
    Few,
    /// At a hundredth of FPA's time.
    Early,
    /// At half of FPA's time.
    Half,
    /// When FPA ends.
    Same,
    End,
}

const COLUMNS: [&str; 6] = ["first", "few", "early", "half", "same", "end"];

/// A few iterations: one in a hundred, at least ten.
pub fn few(iterations: usize) -> usize {
    (iterations / 100).max(10)
}

/// A hundredth of FPA's time, but not before it has done something; half of it, and all of it.
pub fn times(fpa: &Trace) -> [f64; 3] {
    let begun = fpa.points.get(2).map_or(0.0, |point| point.seconds);
    [(fpa.seconds() / 100.0).max(begun), fpa.seconds() / 2.0, fpa.seconds()]
}

/// One method from one start.
struct Row {
    problem: String,
    method: String,
    start: usize,
    /// Divergences in the order of the columns.
    values: [f64; COLUMNS.len()],
}

impl Row {
    /// Reads the places off a line; the record has the times of the first start.
    fn new(record: &Record, start: usize, trace: &Trace) -> Self {
        let timed = record.trace(&trace.problem, &trace.method).zip(record.trace(&trace.problem, FPA));
        let divergence =
            |iteration: f64| trace.at_iteration(iteration).map_or(f64::NAN, |place| place.divergence);
        let at_time = |n: usize| {
            let place = timed.and_then(|(own, fpa)| own.at_seconds(times(fpa)[n]));
            place.map_or(f64::NAN, |place| divergence(place.iteration))
        };
        let few = few(trace.iterations()) as f64;
        // What is no number has diverged.
        let [first, few, last] = [trace.first(), divergence(few), trace.last()]
            .map(|x| if x.is_nan() { f64::INFINITY } else { x });
        let values = [first, few, at_time(0), at_time(1), at_time(2), last];
        Self { problem: trace.problem.clone(), method: trace.method.clone(), start, values }
    }
}

/// Notes what a method did from a start, by the name that its trace has.
pub fn note(record: &mut Record, start: usize, trace: &Trace) {
    let row = Row::new(record, start, trace);
    let header = ["problem", "method", "start"].into_iter().chain(COLUMNS);
    let sheet = record.sheets.entry(SHEET.into()).or_insert_with(|| Sheet::new(header));
    let mut cells = vec![row.problem, row.method, start.to_string()];
    cells.extend(row.values.map(|x| x.to_string()));
    sheet.rows.push(cells);
}

/// Everything from every start.
pub struct Starts(Vec<Row>);

impl Starts {
    /// What was recorded; older records have the first start only.
    pub fn of(record: &Record) -> Self {
        let Some(sheet) = record.sheets.get(SHEET) else {
            return Self(record.traces.iter().map(|trace| Row::new(record, 0, trace)).collect());
        };
        let row = |row: &Vec<String>| Row {
            problem: sheet.word(row, "problem").into(),
            method: sheet.word(row, "method").into(),
            start: sheet.number(row, "start") as usize,
            values: COLUMNS.map(|column| sheet.number(row, column)),
        };
        Self(sheet.rows.iter().map(row).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|row| row.start + 1).max().unwrap_or(0)
    }

    /// Something that follows from the divergences of a start, which are given by problem, method and place:
    /// NaN if there is none.
    pub fn each(&self, f: impl Fn(&dyn Fn(&str, &str, At) -> f64) -> f64) -> Spread {
        Spread::new((0..self.count()).map(|start| {
            f(&|problem, method, at| {
                let own = |row: &&Row| (row.start, &*row.problem, &*row.method) == (start, problem, method);
                self.0.iter().find(own).map_or(f64::NAN, |row| row.values[at as usize])
            })
        }))
    }

    /// One divergence over another, each by problem, method and place, start by start.
    pub fn ratio(&self, (p, a, at): (&str, &str, At), (q, b, bt): (&str, &str, At)) -> Spread {
        self.each(|d| d(p, a, at) / d(q, b, bt))
    }
}

/// How far a ratio is from one, for reading.
pub fn difference(ratio: f64) -> String {
    signed(above(ratio, 1.0))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::factorisation::PROBLEM;
    use crate::factorisation::tests::made_up;
    use crate::race::MUA;

    /// Puts the same lines down as those of so many further starts, each a little higher.
    pub fn repeat(record: &mut Record, starts: usize) {
        let traces = record.traces.clone();
        for start in 0..starts {
            for mut trace in traces.clone() {
                trace.points.iter_mut().for_each(|p| p.divergence *= 1.0 + 1e-3 * start as f64);
                note(record, start, &trace);
            }
        }
    }

    #[test]
    fn differences_are_paired() {
        let traces = vec![made_up(FPA, 10.0, 5.0, 0.1), made_up(MUA, 10.001, 5.0, 0.1)];
        let mut record = Record { traces, ..Record::default() };
        let ends =
            |record: &Record| Starts::of(record).ratio((PROBLEM, FPA, At::End), (PROBLEM, MUA, At::End));
        assert_eq!(ends(&record).below(1.0), None, "one start decides nothing");
        repeat(&mut record, 10);
        // The starts differ by more than the methods do, but within each FPA is lower.
        assert_eq!((ends(&record).below(1.0), Starts::of(&record).count()), (Some(true), 10));
        assert_eq!(difference(0.99), "−1.00 %");
    }

    #[test]
    fn places_in_time_are_those_of_the_first_start() {
        let traces = vec![made_up(FPA, 10.0, 5.0, 0.1), made_up(MUA, 10.0, 5.0, 0.2)];
        let record = Record { traces, ..Record::default() };
        let Row { values, .. } = Row::new(&record, 3, &made_up(MUA, 20.0, 5.0, 77.0));
        let there = made_up(MUA, 20.0, 5.0, 77.0);
        assert_eq!(values[At::Same as usize], there.at_iteration(500.0).unwrap().divergence);
        assert_eq!((values[At::First as usize], values[At::End as usize]), (there.first(), there.last()));
        assert_eq!(values[At::Few as usize], there.points[10].divergence);
    }
}
