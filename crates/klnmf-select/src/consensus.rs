//! The parts that many fits of one rank have in common.
//!
//! The parts of all fits are clustered with one part of every fit in each cluster ([`cluster`]). A consensus
//! part is the median of its cluster, row by row. Its weights come from a decomposition, with an optimality
//! gap for every column; if asked, some iterations on both factors follow.
//!
//! The density filter is that of cNMF (Kotliar et al., *Identifying gene expression programs of cell-type
//! identity and cellular activity with single-cell RNA sequencing*, 2019): a part is left out if its mean
//! distance to its nearest neighbours is large. There are as many neighbours as 30 % of the fits.

use crate::Error;
use crate::fit::Fit;
use crate::fits::Fits;
use crate::rank::{check_bootstrap, replicates};
use crate::stability::{Clusters, Stability, cluster};
use crate::thinning::are_counts;
use klnmf::{DecomposeSettings, Decomposer, Decomposition, Mat, Matrix, Problem, Settings, Status};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// The share of the fits that are neighbours in the density filter.
const NEIGHBOURS: f64 = 0.3;
/// What a row gets that no consensus part has, relative to its share of V.
const TRACE: f64 = 1e-6;

/// Settings of [`consensus`].
#[derive(Clone, Debug, PartialEq)]
pub struct ConsensusSettings {
    /// The number of parts.
    pub rank: usize,
    /// The number of fits.
    pub replicates: usize,
    /// Whether all fits but the first are of bootstraps of the counts, not of V from other starts.
    pub bootstrap: bool,
    /// Parts whose mean distance to their nearest neighbours is larger are left out; distances are between
    /// parts of length 1, so 2 keeps all. `None`: all parts are kept.
    pub density: Option<f64>,
    /// Iterations on both factors at the end; 0 leaves the medians as they are.
    pub sweeps: usize,
}

impl Default for ConsensusSettings {
    fn default() -> Self {
        Self { rank: 1, replicates: 100, bootstrap: false, density: None, sweeps: 0 }
    }
}

/// Consensus parts and their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Consensus {
    /// The consensus parts, n × r; the one with the largest share of WH first. Clusters without parts are
    /// left out, so there may be fewer than asked for.
    pub w: Mat<f64>,
    /// Their weights, r × m.
    pub h: Mat<f64>,
    /// D(V‖WH).
    pub divergence: f64,
    /// For every column, by how much other weights of these parts could at most lower its divergence.
    pub gaps: Vec<f64>,
    /// For every consensus part, its members: (fit, part).
    pub members: Vec<Vec<(usize, usize)>>,
    /// How alike the members of each consensus part are.
    pub stability: Stability,
    /// Parts that the density filter left out.
    pub left_out: usize,
    /// The fits, the best one first, without their weights: H has no entries.
    pub fits: Vec<Fit>,
}

/// The consensus of many fits.
pub fn consensus(fits: &Fits<'_>, settings: &ConsensusSettings) -> Result<Consensus, Error> {
    klnmf::check_rank(fits.v, settings.rank)?;
    if settings.replicates == 0 {
        return Err(Error::Other("at least one replicate is needed".into()));
    }
    let jobs = replicates(settings.rank, settings.replicates, settings.bootstrap);
    if settings.bootstrap {
        check_bootstrap(are_counts(fits.v))?;
    }
    let without_weights = |fit: Fit| Fit { h: Mat::zeros(0, 0), ..fit };
    let mut found = fits.get(&jobs)?.map(|fit| fit.map(without_weights)).collect::<Result<Vec<_>, _>>()?;
    if !settings.bootstrap {
        found.sort_by(|a, b| a.divergence.total_cmp(&b.divergence));
    }
    join(fits, settings, found)
}

fn join(fits: &Fits<'_>, settings: &ConsensusSettings, found: Vec<Fit>) -> Result<Consensus, Error> {
    let parts: Vec<&Mat<f64>> = found.iter().map(|fit| &fit.w).collect();
    let mut clusters = cluster(&parts, |_, _| true)?;
    if let Some(most) = settings.density {
        let distances = distances(&clusters, &parts);
        clusters = cluster(&parts, |fit, part| distances[fit][part] <= most)?;
    }
    let filled: Vec<usize> =
        (0..clusters.count()).filter(|c| clusters.members(*c).next().is_some()).collect();
    if filled.is_empty() {
        return Err(Error::Other("the density filter left out every part: raise the threshold".into()));
    }
    let (w, weights) = weigh(fits, settings, medians(fits.v, &parts, &clusters, &filled))?;
    let shares = weights.h.row_sums();
    let mut order: Vec<usize> = (0..filled.len()).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let stability = clusters.stability();
    let of = |values: &[f64]| order.iter().map(|k| values[filled[*k]]).collect();
    let members: Vec<Vec<_>> = order.iter().map(|k| clusters.members(filled[*k]).collect()).collect();
    let all: usize = parts.iter().map(|w| w.cols()).sum();
    Ok(Consensus {
        w: Mat::from_fn(w.rows(), order.len(), |i, k| w[(i, order[k])]),
        h: Mat::from_fn(order.len(), fits.v.cols(), |k, j| weights.h[(order[k], j)]),
        divergence: weights.divergence(),
        gaps: weights.columns.iter().map(|column| column.gap).collect(),
        left_out: all - members.iter().map(Vec::len).sum::<usize>(),
        members,
        stability: Stability { cosines: of(&stability.cosines), silhouettes: of(&stability.silhouettes) },
        fits: found,
    })
}

/// The weights of the parts. After iterations on both factors, if asked for, the weights are computed once
/// more, so that every column has its gap.
fn weigh(
    fits: &Fits<'_>,
    with: &ConsensusSettings,
    w: Mat<f64>,
) -> Result<(Mat<f64>, Decomposition<f64>), Error> {
    let (stop, all) = (fits.settings.stop.clone(), with.replicates);
    let of_h = DecomposeSettings { stop: stop.clone(), ..DecomposeSettings::default() };
    let unless_stopped = |status: Status| match status {
        Status::Stopped => Err(Error::Stopped { done: all, all }),
        _ => Ok(()),
    };
    let weights = |w: &Mat<f64>| -> Result<_, Error> {
        let weights = Decomposer::new(w, fits.threads)?.decompose(fits.v, &of_h)?;
        unless_stopped(weights.status)?;
        Ok(weights)
    };
    let first = weights(&w)?;
    if with.sweeps == 0 {
        return Ok((w, first));
    }
    let tol = fits.settings.tol.min(Settings::default().tol);
    let settings = Settings { max_iter: with.sweeps, tol, stop, ..Settings::default() };
    let go_on = |_: &klnmf::Info| ControlFlow::Continue(());
    let swept = Problem::new(fits.v, fits.threads)?.factorize_from(w, first.h, &settings, go_on)?;
    unless_stopped(swept.status)?;
    let last = weights(&swept.w)?;
    Ok((swept.w, last))
}

/// The medians of the clusters, as parts that sum to 1. In a row of V that would be zero in all of them, the
/// means stand in, and if these are zero too, a trace of the row.
fn medians(v: Matrix<'_, f64>, parts: &[&Mat<f64>], clusters: &Clusters, filled: &[usize]) -> Mat<f64> {
    let (rows, total) = (v.row_sums(), v.sum().max(f64::MIN_POSITIVE));
    let mut w = Mat::zeros(v.rows(), filled.len());
    for i in 0..v.rows() {
        let of_cluster = |c: &usize| clusters.members(*c).map(|(fit, part)| parts[fit][(i, part)]).collect();
        let members: Vec<Vec<f64>> = filled.iter().map(of_cluster).collect();
        let centres = [median, mean].map(|centre| members.iter().map(|x| centre(x)).collect::<Vec<f64>>());
        let fits_v = |row: &Vec<f64>| rows[i] == 0.0 || row.iter().any(|x| *x > 0.0);
        let trace = || vec![TRACE * rows[i] / total; filled.len()];
        let row = centres.into_iter().find(fits_v).unwrap_or_else(trace);
        row.into_iter().enumerate().for_each(|(k, x)| w[(i, k)] = x);
    }
    for k in 0..w.cols() {
        let sum: f64 = w.col(k).iter().sum();
        if sum > 0.0 {
            w.col_mut(k).iter_mut().for_each(|x| *x /= sum);
        }
    }
    w
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    0.5 * (values[low] + values[high])
}

/// For every part, its mean distance to its nearest neighbours among all parts.
fn distances(clusters: &Clusters, parts: &[&Mat<f64>]) -> Vec<Vec<f64>> {
    let all: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(fit, w)| (0..w.cols()).map(move |part| (fit, part))).collect();
    let neighbours = ((NEIGHBOURS * parts.len() as f64) as usize).clamp(1, all.len().max(2) - 1);
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    let mean = |own: &(usize, usize)| {
        let part = clusters.unit_part(*own);
        let others = all.iter().filter(|other| *other != own);
        let mut near: Vec<f64> = others.map(|other| distance(part, clusters.unit_part(*other))).collect();
        near.sort_by(f64::total_cmp);
        near.truncate(neighbours);
        near.iter().sum::<f64>() / near.len().max(1) as f64
    };
    let means: Vec<f64> = all.par_iter().map(mean).collect();
    let mut means = means.into_iter();
    parts.iter().map(|w| means.by_ref().take(w.cols()).collect()).collect()
}
