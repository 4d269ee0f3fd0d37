//! The divergences of every method at a few places of its run, from each random start. Only the first start
//! is timed and drawn. For the others, a time stands for the iteration that the method had reached by then
//! from the first start.

use crate::claim::{above, signed};
use crate::race::FPA;
use crate::record::{Record, Sheet};
use crate::spread::Spread;
use crate::trace::Trace;

const SHEET: &str = "starts";

/// A place in a run. `COLUMNS` has the names in the data, in the same order.
#[derive(Clone, Copy)]
pub enum At {
    /// The start.
    First,
    /// After the first iterations; see [`few`].
    Few,
    /// At a hundredth of FPA's time.
    Early,
    /// At half of FPA's time.
    Half,
    /// At FPA's final time.
    Same,
    End,
}

const COLUMNS: [&str; 6] = ["first", "few", "early", "half", "same", "end"];

/// The number of first iterations: 1 % of all, at least 10.
pub fn few(iterations: usize) -> usize {
    (iterations / 100).max(10)
}

/// A hundredth of FPA's time, but at least that of its third point; half of its time; and all of it.
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
    /// Reads the divergences off a trace. The record has the times of the first start.
    fn new(record: &Record, start: usize, trace: &Trace) -> Self {
        let timed = record.trace(&trace.problem, &trace.method).zip(record.trace(&trace.problem, FPA));
        let divergence =
            |iteration: f64| trace.at_iteration(iteration).map_or(f64::NAN, |place| place.divergence);
        let at_time = |n: usize| {
            let place = timed.and_then(|(own, fpa)| own.at_seconds(times(fpa)[n]));
            place.map_or(f64::NAN, |place| divergence(place.iteration))
        };
        let few = few(trace.iterations()) as f64;
        // NaN means that the run has diverged.
        let [first, few, last] = [trace.first(), divergence(few), trace.last()]
            .map(|x| if x.is_nan() { f64::INFINITY } else { x });
        let values = [first, few, at_time(0), at_time(1), at_time(2), last];
        Self { problem: trace.problem.clone(), method: trace.method.clone(), start, values }
    }
}

/// Records the divergences of a method from a start, under the name of its trace.
pub fn note(record: &mut Record, start: usize, trace: &Trace) {
    let row = Row::new(record, start, trace);
    let header = ["problem", "method", "start"].into_iter().chain(COLUMNS);
    let sheet = record.sheets.entry(SHEET.into()).or_insert_with(|| Sheet::new(header));
    let mut cells = vec![row.problem, row.method, start.to_string()];
    cells.extend(row.values.map(|x| x.to_string()));
    sheet.rows.push(cells);
}

/// The divergences of all methods from all starts.
pub struct Starts(Vec<Row>);

impl Starts {
    /// The recorded starts. Older records have only the first.
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

    /// The number of starts.
    pub fn count(&self) -> usize {
        self.0.iter().map(|row| row.start + 1).max().unwrap_or(0)
    }

    /// Evaluates `f` for each start. It gets a function that returns the divergence by problem, method and
    /// place, or NaN if there is none.
    pub fn each(&self, f: impl Fn(&dyn Fn(&str, &str, At) -> f64) -> f64) -> Spread {
        Spread::new((0..self.count()).map(|start| {
            f(&|problem, method, at| {
                let own = |row: &&Row| (row.start, &*row.problem, &*row.method) == (start, problem, method);
                self.0.iter().find(own).map_or(f64::NAN, |row| row.values[at as usize])
            })
        }))
    }

    /// One divergence divided by another within each start, each given by problem, method and place.
    pub fn ratio(&self, (p, a, at): (&str, &str, At), (q, b, bt): (&str, &str, At)) -> Spread {
        self.each(|d| d(p, a, at) / d(q, b, bt))
    }
}

/// The relative difference that corresponds to a ratio, as text.
pub fn difference(ratio: f64) -> String {
    signed(above(ratio, 1.0))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::factorisation::PROBLEM;
    use crate::factorisation::tests::made_up;
    use crate::race::MUA;

    /// Records the same traces for `starts` starts, each a little higher than the one before.
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
    fn methods_are_compared_within_each_start() {
        let traces = vec![made_up(FPA, 10.0, 5.0, 0.1), made_up(MUA, 10.001, 5.0, 0.1)];
        let mut record = Record { traces, ..Record::default() };
        let ends =
            |record: &Record| Starts::of(record).ratio((PROBLEM, FPA, At::End), (PROBLEM, MUA, At::End));
        assert_eq!(ends(&record).below(1.0), None, "one start decides nothing");
        repeat(&mut record, 10);
        // The starts differ by more than the methods, but FPA is lower within each.
        assert_eq!((ends(&record).below(1.0), Starts::of(&record).count()), (Some(true), 10));
        assert_eq!(difference(0.99), "−1.00 %");
    }

    #[test]
    fn times_stand_for_iterations_of_the_first_start() {
        let traces = vec![made_up(FPA, 10.0, 5.0, 0.1), made_up(MUA, 10.0, 5.0, 0.2)];
        let record = Record { traces, ..Record::default() };
        let Row { values, .. } = Row::new(&record, 3, &made_up(MUA, 20.0, 5.0, 77.0));
        let there = made_up(MUA, 20.0, 5.0, 77.0);
        assert_eq!(values[At::Same as usize], there.at_iteration(500.0).unwrap().divergence);
        assert_eq!((values[At::First as usize], values[At::End as usize]), (there.first(), there.last()));
        assert_eq!(values[At::Few as usize], there.points[10].divergence);
    }
}
