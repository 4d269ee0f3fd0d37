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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Accesses to the data so far.
    pub iteration: usize,
    /// Seconds of work so far, without the evaluation of this point.
    pub seconds: f64,
    /// D(V‖WH).
    pub divergence: f64,
    /// What a better W alone could gain at most.
    pub gap_w: f64,
    /// What a better H alone could gain at most.
    pub gap_h: f64,
}

impl From<&Info> for Point {
    fn from(info: &Info) -> Self {
        let Info { iteration, seconds, divergence, gap_w, gap_h, .. } = *info;
        Self { iteration, seconds, divergence, gap_w, gap_h }
    }
}

/// Points that are kept: so many evenly spaced in the logarithm of the iteration, and so many evenly spaced.
const KEPT: (f64, usize) = (70.0, 50);

impl Trace {
    /// Leaves points that can be told apart on a logarithmic axis or on a linear one, and both ends.
    pub fn thin(&mut self) {
        let last = self.points.last().map_or(0, |point| point.iteration);
        let ratio = (last.max(2) as f64).ln() / KEPT.0;
        let step = last.div_ceil(KEPT.1).max(1);
        // The cell of an iteration on the logarithmic and on the linear axis; the first of each cell is kept.
        let cells = |iteration: usize| (((iteration as f64).ln() / ratio).floor() as i64, iteration / step);
        let mut before = None;
        self.points.retain(|point| {
            let now = cells(point.iteration);
            let kept =
                point.iteration == last || before.is_none_or(|(log, linear)| now.0 > log || now.1 > linear);
            if kept {
                before = Some(now);
            }
            kept
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

    /// Seconds of all the work.
    pub fn seconds(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.seconds)
    }

    /// The latest point within so many accesses.
    pub fn at_iteration(&self, iteration: usize) -> Option<&Point> {
        self.points.iter().rev().find(|point| point.iteration <= iteration)
    }

    /// The latest point within so many seconds.
    pub fn at_seconds(&self, seconds: f64) -> Option<&Point> {
        self.points.iter().rev().find(|point| point.seconds <= seconds)
    }

    /// The first point at a divergence or below.
    pub fn reaches(&self, divergence: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.divergence <= divergence)
    }

    /// The share of all its decrease that a method has made within so many accesses.
    pub fn share_of_decrease(&self, iteration: usize) -> f64 {
        let now = self.at_iteration(iteration).map_or(f64::INFINITY, |point| point.divergence);
        (self.first() - now) / (self.first() - self.last())
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
            gap_w: 1.0,
            gap_h: 1.0,
        };
        Trace { problem: "p".into(), method: "m".into(), points: (0..=last).map(point).collect() }
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
    fn points_are_found_by_iteration_time_and_divergence() {
        let trace = trace(10, |i| 100.0 - i as f64);
        assert_eq!(trace.at_iteration(4).unwrap().divergence, 96.0);
        assert_eq!(trace.at_seconds(0.55).unwrap().iteration, 5);
        assert_eq!(trace.reaches(95.5).unwrap().iteration, 5);
        assert!(trace.reaches(10.0).is_none());
        assert_eq!((trace.first(), trace.last(), trace.seconds()), (100.0, 90.0, 1.0));
        assert!((trace.share_of_decrease(3) - 0.3).abs() < 1e-12);
    }
}
