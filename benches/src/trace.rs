//! Divergence over time: of our solvers, of a peer.

use klnmf::{Mat, Problem, Scalar, Settings, Solver};
use std::ops::ControlFlow;
use std::time::Duration;

/// How a method came down.
#[derive(Clone, Debug)]
pub struct Trace {
    pub name: String,
    /// (seconds, divergence), in the order of time.
    pub points: Vec<(f64, f64)>,
}

impl Trace {
    /// Runs a solver of ours with its default settings from a given start, for so long.
    pub fn race<T: Scalar>(
        solver: Solver,
        problem: &Problem<'_, T>,
        (w, h): (&Mat<T>, &Mat<T>),
        seconds: f64,
    ) -> klnmf::Result<Self> {
        let settings = Settings {
            solver,
            tol: 0.0,
            max_iter: usize::MAX,
            time_limit: Some(Duration::from_secs_f64(seconds)),
            check_every: Some(5),
            ..Settings::default()
        };
        let mut points = Vec::new();
        problem.factorize_from(w.clone(), h.clone(), &settings, |info| {
            points.push((info.seconds, info.divergence));
            ControlFlow::Continue(())
        })?;
        Ok(Self { name: solver.name().into(), points })
    }

    /// The divergence at the end.
    pub fn last(&self) -> f64 {
        self.points.last().map_or(f64::INFINITY, |p| p.1)
    }

    /// When it came down to a divergence, if it did; between two points on the straight line in ln D.
    pub fn time_to(&self, divergence: f64) -> Option<f64> {
        let after = self.points.iter().position(|p| p.1 <= divergence)?;
        let (t1, d1) = self.points[after];
        let Some((t0, d0)) = after.checked_sub(1).map(|i| self.points[i]) else { return Some(t1) };
        let part = (d0 / divergence).ln() / (d0 / d1).ln();
        Some(if part.is_finite() { t0 + part.clamp(0.0, 1.0) * (t1 - t0) } else { t1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_to_a_divergence_is_found_between_points() {
        let trace = Trace { name: "a".into(), points: vec![(0.0, 100.0), (2.0, 1.0)] };
        assert_eq!(trace.time_to(200.0), Some(0.0));
        assert!((trace.time_to(10.0).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(trace.time_to(1.0), Some(2.0));
        assert_eq!(trace.time_to(0.5), None);
    }
}
