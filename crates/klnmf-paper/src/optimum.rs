//! The certified optimum of a convex problem, and distances to it.

use crate::decomposition::PROBLEMS;
use crate::race::Lab;
use crate::record::Record;
use crate::trace::Point;
use klnmf::{DecomposeSettings, Decomposition, Mat, Update};

/// Settings for an optimum that is certified to nearly double precision.
pub fn settings(lab: &Lab) -> DecomposeSettings {
    let stop = Some(lab.stop.clone());
    DecomposeSettings { tol: 1e-13, threads: lab.threads, stop, ..DecomposeSettings::default() }
}

/// The optimum of the factor that is not fixed.
pub fn find(
    lab: &Lab,
    v: &Mat<f64>,
    (w, h): (&Mat<f64>, &Mat<f64>),
    update: Update,
) -> klnmf::Result<Decomposition<f64>> {
    match update {
        Update::W => klnmf::decompose(&v.transpose(), &h.transpose(), &settings(lab)),
        _ => klnmf::decompose(v, w, &settings(lab)),
    }
}

/// Scales the columns of W to the sums of those of the start, and H inversely. The library returns columns
/// that sum to 1, which does not fit the start of the other factor. With this scaling both problems start
/// with ΣWH = ΣV.
pub fn to_scale_of(start: &Mat<f64>, mut w: Mat<f64>, mut h: Mat<f64>) -> (Mat<f64>, Mat<f64>) {
    let wanted = start.col_sums();
    let sums = w.col_sums();
    for (k, (wanted, sum)) in wanted.iter().zip(&sums).enumerate().filter(|(_, (_, sum))| **sum > 0.0) {
        w.col_mut(k).iter_mut().for_each(|x| *x *= wanted / sum);
        (0..h.cols()).for_each(|j| h[(k, j)] *= sum / wanted);
    }
    (w, h)
}

/// The optimum of a problem.
pub struct Optimum {
    pub value: f64,
    /// Distances below this are rounding errors or within the gap of the optimum.
    pub floor: f64,
}

impl Optimum {
    pub fn of(record: &Record, problem: &str) -> Self {
        let rounding = 4.0 * f64::EPSILON * record.fact("sum");
        let gap = record.fact(&format!("gap of {problem}"));
        Self { value: record.fact(&format!("optimum of {problem}")), floor: rounding.max(gap) }
    }

    /// The distance of a primal value, at least the floor.
    pub fn distance(&self, divergence: f64) -> f64 {
        (divergence - self.value).max(self.floor)
    }

    /// The distance of the certificate, D − gap.
    pub fn certificate_distance(&self, point: &Point, problem: &str) -> f64 {
        let gap = if problem == PROBLEMS[0].0 { point.gap_w } else { point.gap_h };
        self.below(point.divergence - gap)
    }

    /// The distance of a dual value, at least the floor.
    pub fn below(&self, dual: f64) -> f64 {
        (self.value - dual).max(self.floor)
    }

    pub fn relative(&self, distance: f64) -> f64 {
        distance / self.value
    }
}
