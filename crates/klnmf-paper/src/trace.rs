//! How a method came down: the points of a line.

use klnmf::Info;

/// A method on a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What was to be solved, as in the data.
    pub problem: String,
    /// Who solved it, as in the figures.
    pub method: String,
    /// In the order of iterations; the first one is the start.
    pub points: Vec<Point>,
}

/// What the library reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Iterations so far.
    pub iteration: usize,
    /// Seconds of work so far, without the evaluation of this point.
    pub seconds: f64,
    /// D(V‖WH).
    pub divergence: f64,
    /// What a better W alone could gain at most.
    pub gap_w: f64,
    /// What a better H alone could gain at most.
    pub gap_h: f64,
    /// The value of the dual point that the method itself carries, if it carries one.
    pub dual: Option<f64>,
}

/// A level to come down to.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub divergence: f64,
    /// What distances are measured from: the optimum where it is known, else 0.
    pub base: f64,
}

impl Level {
    /// A divergence, where no optimum is known.
    pub fn plain(divergence: f64) -> Self {
        Self { divergence, base: 0.0 }
    }

    /// So far above an optimum, relative to it.
    pub fn near(optimum: f64, relative: f64) -> Self {
        Self { divergence: optimum * (1.0 + relative), base: optimum }
    }
}

/// A place on the line of a trace, most often between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub iteration: f64,
    pub seconds: f64,
    pub divergence: f64,
}

/// The place at a share of the way between two points.
///
/// Only some points of a run are kept, so what is read off between them must not depend on which. Methods
/// come down by about the same factor with every access, so the logarithm of the distance is taken to be
/// linear between neighbours; the points are so dense that another rule would move a place by less than an
/// access.
fn between(a: &Point, b: &Point, share: f64, base: f64) -> Place {
    // Next to an infinite value there is no line: the earlier point holds until the later one.
    let divergence = if a.divergence.is_finite() && b.divergence.is_finite() {
        base + distance(a, base).powf(1.0 - share) * distance(b, base).powf(share)
    } else if share < 1.0 {
        a.divergence
    } else {
        b.divergence
    };
    let mix = |a: f64, b: f64| a + share * (b - a);
    Place {
        iteration: mix(a.iteration as f64, b.iteration as f64),
        seconds: mix(a.seconds, b.seconds),
        divergence,
    }
}

/// How far a point is above a base, at least the rounding.
fn distance(point: &Point, base: f64) -> f64 {
    (point.divergence - base).max(f64::EPSILON * point.divergence.abs()).max(f64::MIN_POSITIVE)
}

impl From<&Info> for Point {
    fn from(info: &Info) -> Self {
        let Info { iteration, seconds, divergence, gap_w, gap_h, dual, .. } = *info;
        Self { iteration, seconds, divergence, gap_w, gap_h, dual }
    }
}

/// Points that are kept: so many evenly spaced in the logarithm of the iteration, and so many evenly spaced.
const KEPT: (f64, usize) = (70.0, 50);

impl Trace {
    pub fn new(problem: &str, method: &str, points: Vec<Point>) -> Self {
        Self { problem: problem.into(), method: method.into(), points }
    }

    /// Leaves points that can be told apart on a logarithmic axis or on a linear one, and both ends.
    pub fn thin(&mut self) {
        let last = self.iterations();
        let ratio = (last.max(2) as f64).ln() / KEPT.0;
        let step = last.div_ceil(KEPT.1).max(1);
        // The cell of an iteration on the logarithmic and on the linear axis; the first of each cell is kept.
        let cells = |iteration: usize| (((iteration as f64).ln() / ratio).floor() as i64, iteration / step);
        // Iterations only grow, so both cells do.
        let mut before = None;
        self.points.retain(|point| {
            let now = Some(cells(point.iteration));
            point.iteration == last || std::mem::replace(&mut before, now) != now
        });
    }

    /// The divergence at the end.
    pub fn last(&self) -> f64 {
        self.points.last().map_or(f64::INFINITY, |point| point.divergence)
    }

    /// The divergence at the start.
    pub fn first(&self) -> f64 {
        self.points.first().map_or(f64::INFINITY, |point| point.divergence)
    }

    /// Iterations of all the work.
    pub fn iterations(&self) -> usize {
        self.points.last().map_or(0, |point| point.iteration)
    }

    /// Seconds of all the work.
    pub fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.seconds)
    }

    /// Where it is after so many iterations; where it ends if it ends before.
    pub fn at_iteration(&self, iteration: f64) -> Option<Place> {
        self.at(iteration, |point| point.iteration as f64)
    }

    /// Where it is after so many seconds; where it ends if it ends before.
    pub fn at_seconds(&self, seconds: f64) -> Option<Place> {
        self.at(seconds, |point| point.seconds)
    }

    fn at(&self, x: f64, along: impl Fn(&Point) -> f64) -> Option<Place> {
        let after = self.points.iter().position(|point| along(point) > x).unwrap_or(self.points.len());
        let a = self.points.get(after.checked_sub(1)?)?;
        let b = self.points.get(after).unwrap_or(a);
        let length = along(b) - along(a);
        Some(between(a, b, if length > 0.0 { (x - along(a)) / length } else { 0.0 }, 0.0))
    }

    /// Where it first comes down to a level. Iterations are rounded up: a level is met with a whole one.
    pub fn reaches(&self, level: Level) -> Option<Place> {
        let there = self.points.iter().position(|point| point.divergence <= level.divergence)?;
        Some(self.meets(there, level))
    }

    /// From where on it stays at a level or below.
    pub fn holds(&self, level: Level) -> Option<Place> {
        let above = |point: &Point| point.divergence.is_nan() || point.divergence > level.divergence;
        let there = self.points.iter().rposition(above).map_or(0, |last| last + 1);
        (there < self.points.len()).then(|| self.meets(there, level))
    }

    /// The place of a level between a point that is at it or below and the one before.
    fn meets(&self, there: usize, level: Level) -> Place {
        let (a, b) = (&self.points[there.saturating_sub(1)], &self.points[there]);
        let (from, to) = (distance(a, level.base), distance(b, level.base));
        let share = (from / (level.divergence - level.base)).ln() / (from / to).ln();
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        let place = between(a, b, share, level.base);
        // What is a whole number up to rounding stays it.
        Place { iteration: (place.iteration - 1e-9).ceil(), ..place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(last: usize, divergence: impl Fn(usize) -> f64) -> Trace {
        let point = |iteration: usize| Point {
            iteration,
            seconds: iteration as f64 / 10.0,
            divergence: divergence(iteration),
            ..Point::default()
        };
        Trace::new("p", "m", (0..=last).map(point).collect())
    }

    #[test]
    fn thin_traces_keep_the_ends_and_the_beginning() {
        let mut thin = trace(3000, |i| 1.0 / (1 + i) as f64);
        thin.thin();
        let kept: Vec<usize> = thin.points.iter().map(|p| p.iteration).collect();
        assert!(kept.starts_with(&[0, 1, 2, 3, 4]) && kept.ends_with(&[3000]), "{kept:?}");
        assert!((60..130).contains(&kept.len()), "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 60), "no hole on a linear axis");
        let mut short = trace(9, |i| i as f64);
        short.thin();
        assert_eq!(short.points.len(), 10);
    }

    #[test]
    fn places_are_found_by_iteration_time_and_divergence() {
        let trace = trace(10, |i| 100.0 - i as f64);
        assert_eq!(trace.at_iteration(4.0).unwrap().divergence, 96.0);
        let place = trace.at_seconds(0.55).unwrap();
        assert!((place.iteration - 5.5).abs() < 1e-9 && (place.divergence - 94.5).abs() < 0.01, "{place:?}");
        assert_eq!(trace.at_seconds(9.0).unwrap().divergence, 90.0, "where it ends");
        let place = trace.reaches(Level::plain(95.5)).unwrap();
        assert!(place.iteration == 5.0 && (place.seconds - 0.45).abs() < 0.001, "{place:?}");
        assert_eq!(trace.reaches(Level::plain(95.0)).unwrap().iteration, 5.0);
        assert_eq!(trace.reaches(Level::plain(100.0)).unwrap().iteration, 0.0);
        assert!(trace.reaches(Level::plain(10.0)).is_none());
        assert_eq!((trace.first(), trace.last(), trace.seconds()), (100.0, 90.0, 1.0));
    }

    #[test]
    fn what_is_read_off_does_not_depend_on_the_points_that_are_kept() {
        const OPTIMUM: f64 = 1000.0;
        let runs: [fn(usize) -> f64; 2] =
            [|i| OPTIMUM + 500.0 * (-(i as f64) / 200.0).exp(), |i| OPTIMUM + 500.0 / (1.0 + i as f64)];
        for run in runs {
            let full = trace(3000, run);
            let mut thin = full.clone();
            thin.thin();
            for relative in [0.2, 0.03, 4e-3, 7e-4, 2e-4] {
                let [a, b] = [&full, &thin].map(|t| t.reaches(Level::near(OPTIMUM, relative)).unwrap());
                assert!((a.iteration - b.iteration).abs() <= 1.0, "{relative}: {a:?} and {b:?}");
                assert!((a.seconds - b.seconds).abs() <= 0.1, "{relative}: {a:?} and {b:?}");
            }
            for iteration in [7.0, 95.0, 1234.0, 2999.0] {
                let [a, b] = [&full, &thin].map(|t| t.at_iteration(iteration).unwrap().divergence);
                assert!((a / b - 1.0).abs() < 1e-3, "{iteration}: {a} and {b}");
            }
        }
    }

    #[test]
    fn a_level_that_is_left_again_is_not_held() {
        let trace = trace(10, |i| if i == 6 { 97.5 } else { 100.0 - i as f64 });
        let level = Level::plain(96.0);
        assert_eq!(trace.reaches(level).unwrap().iteration, 4.0);
        assert_eq!(trace.holds(level).unwrap().iteration, 7.0);
        assert_eq!(trace.holds(Level::plain(90.0)).unwrap().iteration, 10.0);
        assert!(trace.holds(Level::plain(89.0)).is_none());
        assert_eq!(trace.holds(Level::plain(200.0)).unwrap().iteration, 0.0);
    }

    #[test]
    fn infinite_values_are_no_part_of_a_line() {
        let down = trace(4, |i| if i < 2 { f64::INFINITY } else { 10.0 });
        assert_eq!(down.at_seconds(0.15).unwrap().divergence, f64::INFINITY);
        assert_eq!(down.at_iteration(2.0).unwrap().divergence, 10.0);
        assert_eq!(down.reaches(Level::plain(11.0)).unwrap().iteration, 2.0);
        let up = trace(4, |i| if i < 2 { 10.0 } else { f64::INFINITY });
        assert_eq!(up.at_seconds(0.15).unwrap().divergence, 10.0);
    }
}
