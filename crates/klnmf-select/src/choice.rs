//! The ranks that are as good as the best one.

/// Held-out scores: the lower, the better.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The ranks, increasing.
    pub ranks: Vec<usize>,
    /// For every rank, the score of every column of V, summed over the folds.
    pub scores: Vec<Vec<f64>>,
}

/// What the scores say.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// For every rank, the sum of its scores.
    pub totals: Vec<f64>,
    /// For every rank, the standard error of its difference to the best rank.
    pub errors: Vec<f64>,
    /// The rank with the lowest total.
    pub best: usize,
    /// The smallest rank whose total is within one standard error of the lowest.
    pub smallest: usize,
    /// Whether the best rank is the last one, so that larger ranks may be better.
    pub falling: bool,
}

impl Choice {
    /// The smallest and the best rank, unless the scores are still falling.
    pub fn range(&self) -> Option<(usize, usize)> {
        (!self.falling).then_some((self.smallest, self.best))
    }
}

/// The rank with the lowest score, and the smallest one within a standard error of it. The standard error is
/// that of a sum of paired differences over the columns: √m times their standard deviation. None if there are
/// no ranks.
pub fn choose(curve: &Curve) -> Option<Choice> {
    let totals: Vec<f64> = curve.scores.iter().map(|columns| columns.iter().sum()).collect();
    let at = (0..totals.len()).min_by(|a, b| totals[*a].total_cmp(&totals[*b]))?;
    let errors: Vec<f64> = curve.scores.iter().map(|other| error(other, &curve.scores[at])).collect();
    let near = (0..totals.len()).find(|k| totals[*k] - totals[at] <= errors[*k])?;
    Some(Choice {
        best: curve.ranks[at],
        smallest: curve.ranks[near],
        falling: at + 1 == totals.len(),
        totals,
        errors,
    })
}

fn error(a: &[f64], b: &[f64]) -> f64 {
    let m = a.len() as f64;
    let differences = || a.iter().zip(b).map(|(a, b)| a - b);
    let mean = differences().sum::<f64>() / m;
    let variance = differences().map(|d| (d - mean) * (d - mean)).sum::<f64>() / (m - 1.0).max(1.0);
    (m * variance).sqrt()
}

/// The silhouettes of a stable rank: at least this mean and this minimum, as SigProfiler and MuSiCal ask.
pub const STABLE: (f64, f64) = (0.8, 0.2);

/// The ranks whose parts are stable, in order, given the mean and the minimum of each rank's silhouettes.
pub fn stable_ranks(ranks: &[(usize, Option<(f64, f64)>)]) -> Vec<usize> {
    let stable = |found: &(f64, f64)| found.0 >= STABLE.0 && found.1 >= STABLE.1;
    ranks.iter().filter(|(_, found)| found.as_ref().is_some_and(stable)).map(|(rank, _)| *rank).collect()
}
