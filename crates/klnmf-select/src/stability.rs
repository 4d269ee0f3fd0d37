//! How alike the parts of several fits of one rank are.
//!
//! The parts are grouped into r clusters with one part of every fit in each: each fit is assigned to the
//! means of the clusters, one to one and with the largest sum of cosines, and the means are computed again,
//! until nothing changes. The first fit gives the first means.

use crate::Error;
use klnmf::{Mat, assign, cosines, dot, unit_columns};

/// The most rounds of assignments.
const ROUNDS: usize = 50;

/// Clusters of parts, with at most one part of every fit in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// For every fit and every cluster, the fit's part in it.
    pub parts: Vec<Vec<Option<usize>>>,
    /// Parts scaled to length 1, fit by fit.
    unit: Vec<Mat<f64>>,
}

/// How alike the parts of a cluster are, and how different from those of other clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stability {
    /// For every cluster, the mean cosine of its pairs. Not a number if it has fewer than two parts.
    pub cosines: Vec<f64>,
    /// For every cluster, the mean silhouette of its parts by 1 − cosine. Not a number if it has fewer than
    /// two parts, or if there is no other cluster.
    pub silhouettes: Vec<f64>,
}

impl Stability {
    /// The mean and the minimum of the mean cosines; none if one is not defined.
    pub fn cosine(&self) -> Option<(f64, f64)> {
        mean_and_least(&self.cosines)
    }

    /// The mean and the minimum of the silhouettes; none if one is not defined.
    pub fn silhouette(&self) -> Option<(f64, f64)> {
        mean_and_least(&self.silhouettes)
    }
}

fn mean_and_least(values: &[f64]) -> Option<(f64, f64)> {
    let defined = !values.is_empty() && values.iter().all(|x| x.is_finite());
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    defined.then(|| (values.iter().sum::<f64>() / values.len() as f64, least))
}

/// Clusters the parts of several fits of one rank. The first fit should be the best one. Parts for which
/// `keep` is false belong to no cluster.
pub fn cluster(fits: &[&Mat<f64>], keep: impl Fn(usize, usize) -> bool) -> Result<Clusters, Error> {
    let unit: Vec<Mat<f64>> = fits.iter().map(|w| unit_columns(w)).collect();
    let Some(first) = unit.first() else { return Ok(Clusters { parts: Vec::new(), unit }) };
    let (mut means, mut parts) = (first.clone(), Vec::new());
    for _ in 0..ROUNDS {
        let mut assigned = Vec::with_capacity(unit.len());
        for (fit, w) in unit.iter().enumerate() {
            let mut table = cosines(&means, w)?;
            // Parts to leave out are assigned after all others.
            for k in (0..w.cols()).filter(|k| !keep(fit, *k)) {
                table.col_mut(k).fill(-2.0);
            }
            let found = assign(&table).into_iter();
            assigned.push(found.map(|part| part.filter(|k| keep(fit, *k))).collect::<Vec<_>>());
        }
        if assigned == parts {
            break;
        }
        parts = assigned;
        means = sums(&parts, &unit, first.rows());
    }
    Ok(Clusters { parts, unit })
}

/// The sums of the unit parts of every cluster.
fn sums(parts: &[Vec<Option<usize>>], unit: &[Mat<f64>], rows: usize) -> Mat<f64> {
    let mut sums = Mat::zeros(rows, parts.first().map_or(0, Vec::len));
    for (members, w) in parts.iter().zip(unit) {
        for (cluster, part) in members.iter().enumerate().filter_map(|(c, part)| Some((c, (*part)?))) {
            sums.col_mut(cluster).iter_mut().zip(w.col(part)).for_each(|(sum, x)| *sum += x);
        }
    }
    sums
}

impl Clusters {
    /// The number of clusters.
    pub fn count(&self) -> usize {
        self.parts.first().map_or(0, Vec::len)
    }

    /// The members of a cluster: (fit, part).
    pub fn members(&self, cluster: usize) -> impl Iterator<Item = (usize, usize)> {
        self.parts.iter().enumerate().filter_map(move |(fit, parts)| Some((fit, parts[cluster]?)))
    }

    /// A part scaled to length 1.
    pub fn unit_part(&self, (fit, part): (usize, usize)) -> &[f64] {
        self.unit[fit].col(part)
    }

    /// How alike the parts of each cluster are. Means over a cluster are products with its sum, so no pairs
    /// of parts are formed.
    pub fn stability(&self) -> Stability {
        let rows = self.unit.first().map_or(0, Mat::rows);
        let sums = sums(&self.parts, &self.unit, rows);
        let sizes: Vec<usize> = (0..self.count()).map(|c| self.members(c).count()).collect();
        let mut found = Stability::default();
        for cluster in 0..self.count() {
            let others = sizes[cluster] as f64 - 1.0;
            let (mut alike, mut silhouette) = (0.0, 0.0);
            for member in self.members(cluster) {
                let part = self.unit_part(member);
                let own = (dot(part, sums.col(cluster)) - dot(part, part)) / others;
                let rivals = (0..self.count()).filter(|c| *c != cluster && sizes[*c] > 0);
                let nearest = rivals.map(|c| dot(part, sums.col(c)) / sizes[c] as f64).reduce(f64::max);
                alike += own;
                silhouette += nearest.map_or(f64::NAN, |nearest| of_distances(1.0 - own, 1.0 - nearest));
            }
            let mean = |sum: f64| if others > 0.0 { sum / (others + 1.0) } else { f64::NAN };
            found.cosines.push(mean(alike));
            found.silhouettes.push(mean(silhouette));
        }
        found
    }
}

/// The silhouette of a part with this mean distance to its own cluster and to the nearest other one.
fn of_distances(own: f64, other: f64) -> f64 {
    let larger = own.max(other);
    if larger > 0.0 { (other - own) / larger } else { 0.0 }
}
