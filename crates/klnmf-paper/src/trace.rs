//! The progress of a method, as points of a line.

use klnmf::Info;

/// The run of a method on a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The problem, named as in the data.
    pub problem: String,
    /// The method, named as in the figures.
    pub method: String,
    /// In the order of iterations. The first is the start.
    pub points: Vec<Point>,
}

/// What the library reported at an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Iterations so far.
    pub iteration: usize,
    /// Seconds of computation so far, without the evaluation of points.
    pub seconds: f64,
    /// D(V‖WH).
    pub divergence: f64,
    /// An upper bound on what changing W alone could still gain.
    pub gap_w: f64,
    /// An upper bound on what changing H alone could still gain.
    pub gap_h: f64,
    /// The value of the method's own dual variable, if it has one.
    pub dual: Option<f64>,
}

/// A divergence to reach.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub divergence: f64,
    /// The value from which distances are measured: the optimum if it is known, else 0.
    pub base: f64,
}

impl Level {
    /// A divergence for a problem whose optimum is not known.
    pub fn plain(divergence: f64) -> Self {
        Self { divergence, base: 0.0 }
    }

    /// A relative distance above an optimum.
    pub fn near(optimum: f64, relative: f64) -> Self {
        Self { divergence: optimum * (1.0 + relative), base: optimum }
    }
}

/// A place on the line of a trace, usually between two points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub iteration: f64,
    pub seconds: f64,
    pub divergence: f64,
}

/// The place at a fraction `share` of the way between two points.
///
/// Only some points of a run are kept, and interpolated values must not depend on which. Methods reduce the
/// distance by about the same factor in every iteration, so its logarithm is interpolated linearly. The
/// points are so dense that another rule would move a place by less than one iteration.
fn between(a: &Point, b: &Point, share: f64, base: f64) -> Place {
    // Next to an infinite value nothing is interpolated: the earlier value holds until the later point.
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

/// The distance of a point to `base`, at least the rounding error.
fn distance(point: &Point, base: f64) -> f64 {
    (point.divergence - base).max(f64::EPSILON * point.divergence.abs()).max(f64::MIN_POSITIVE)
}

impl From<&Info> for Point {
    fn from(info: &Info) -> Self {
        let Info { iteration, seconds, divergence, gap_w, gap_h, dual, .. } = *info;
        Self { iteration, seconds, divergence, gap_w, gap_h, dual }
    }
}

/// The number of points kept, evenly spaced in the logarithm of the iteration and in the iteration itself.
const KEPT: (f64, usize) = (70.0, 50);

impl Trace {
    pub fn new(problem: &str, method: &str, points: Vec<Point>) -> Self {
        Self { problem: problem.into(), method: method.into(), points }
    }

    /// Keeps the points that are distinguishable on a logarithmic or on a linear axis, and both ends.
    pub fn thin(&mut self) {
        let last = self.iterations();
        let ratio = (last.max(2) as f64).ln() / KEPT.0;
        let step = last.div_ceil(KEPT.1).max(1);
        // The cells of an iteration on the logarithmic and the linear axis. The first point of each is kept.
        let cells = |iteration: usize| (((iteration as f64).ln() / ratio).floor() as i64, iteration / step);
        // Iterations increase, so the cells do too.
        let mut before = None;
        self.points.retain(|point| {
            let now = Some(cells(point.iteration));
            point.iteration == last || std::mem::replace(&mut before, now) != now
        });
    }

    /// The final divergence.
    pub fn last(&self) -> f64 {
        self.points.last().map_or(f64::INFINITY, |point| point.divergence)
    }

    /// The divergence at the start.
    pub fn first(&self) -> f64 {
        self.points.first().map_or(f64::INFINITY, |point| point.divergence)
    }

    /// The total number of iterations.
    pub fn iterations(&self) -> usize {
        self.points.last().map_or(0, |point| point.iteration)
    }

    /// The total number of seconds.
    pub fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.seconds)
    }

    /// The place at an iteration, or the end if the run is shorter.
    pub fn at_iteration(&self, iteration: f64) -> Option<Place> {
        self.at(iteration, |point| point.iteration as f64)
    }

    /// The place at a time, or the end if the run is shorter.
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

    /// The first place at or below a level. The iteration is rounded up to an integer.
    pub fn reaches(&self, level: Level) -> Option<Place> {
        let there = self.points.iter().position(|point| point.divergence <= level.divergence)?;
        Some(self.meets(there, level))
    }

    /// The place from which on it stays at or below a level.
    pub fn holds(&self, level: Level) -> Option<Place> {
        let above = |point: &Point| point.divergence.is_nan() || point.divergence > level.divergence;
        let there = self.points.iter().rposition(above).map_or(0, |last| last + 1);
        (there < self.points.len()).then(|| self.meets(there, level))
    }

    /// The place where the line crosses a level just before the point `there`, which is at or below it.
    fn meets(&self, there: usize, level: Level) -> Place {
        let (a, b) = (&self.points[there.saturating_sub(1)], &self.points[there]);
        let (from, to) = (distance(a, level.base), distance(b, level.base));
        let share = (from / (level.divergence - level.base)).ln() / (from / to).ln();
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        let place = between(a, b, share, level.base);
        // An iteration that is an integer except for rounding is not rounded up.
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
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] <= 60), "no gap on a linear axis");
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
        assert_eq!(trace.at_seconds(9.0).unwrap().divergence, 90.0, "the end");
        let place = trace.reaches(Level::plain(95.5)).unwrap();
        assert!(place.iteration == 5.0 && (place.seconds - 0.45).abs() < 0.001, "{place:?}");
        assert_eq!(trace.reaches(Level::plain(95.0)).unwrap().iteration, 5.0);
        assert_eq!(trace.reaches(Level::plain(100.0)).unwrap().iteration, 0.0);
        assert!(trace.reaches(Level::plain(10.0)).is_none());
        assert_eq!((trace.first(), trace.last(), trace.seconds()), (100.0, 90.0, 1.0));
    }

    #[test]
    fn interpolated_values_do_not_depend_on_the_points_kept() {
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
    fn a_level_counts_from_when_the_trace_stays_below_it() {
        let trace = trace(10, |i| if i == 6 { 97.5 } else { 100.0 - i as f64 });
        let level = Level::plain(96.0);
        assert_eq!(trace.reaches(level).unwrap().iteration, 4.0);
        assert_eq!(trace.holds(level).unwrap().iteration, 7.0);
        assert_eq!(trace.holds(Level::plain(90.0)).unwrap().iteration, 10.0);
        assert!(trace.holds(Level::plain(89.0)).is_none());
        assert_eq!(trace.holds(Level::plain(200.0)).unwrap().iteration, 0.0);
    }

    #[test]
    fn infinite_values_are_not_interpolated() {
        let down = trace(4, |i| if i < 2 { f64::INFINITY } else { 10.0 });
        assert_eq!(down.at_seconds(0.15).unwrap().divergence, f64::INFINITY);
        assert_eq!(down.at_iteration(2.0).unwrap().divergence, 10.0);
        assert_eq!(down.reaches(Level::plain(11.0)).unwrap().iteration, 2.0);
        let up = trace(4, |i| if i < 2 { 10.0 } else { f64::INFINITY });
        assert_eq!(up.at_seconds(0.15).unwrap().divergence, 10.0);
    }
}
