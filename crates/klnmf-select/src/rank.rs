//! How many parts: all ranks of a range, compared.

use crate::Error;
use crate::choice::{Choice, Curve, choose, stable_ranks};
use crate::dispersion::Dispersion;
use crate::fit::Fit;
use crate::fits::Fits;
use crate::job::{Draw, Job};
use crate::stability::{Stability, cluster};
use crate::thinning::{Split, are_counts};
use crate::tree::{Branch, tree};
use klnmf::Mat;

/// Settings of [`rank`].
#[derive(Clone, Debug, PartialEq)]
pub struct RankSettings {
    /// The ranks to compare.
    pub ranks: Vec<usize>,
    /// Fits of each rank, whose parts are compared. The first one is of V itself.
    pub replicates: usize,
    /// Folds of the counts. Fewer than 2: none are held out.
    pub folds: usize,
    /// Whether the other fits are of bootstraps of the counts, not of V from other starts.
    pub bootstrap: bool,
}

impl Default for RankSettings {
    fn default() -> Self {
        Self { ranks: (2..=20).collect(), replicates: 10, folds: 5, bootstrap: false }
    }
}

/// What was found at one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct RankRow {
    /// The rank.
    pub rank: usize,
    /// The best fit of V itself.
    pub fit: Fit,
    /// The number of fits of this rank, folds included.
    pub fits: usize,
    /// Fits that have not converged.
    pub unconverged: usize,
    /// How alike the parts of the replicates are.
    pub stability: Stability,
    /// For every part of `fit`, where it comes from; empty at the first rank.
    pub tree: Vec<Branch>,
}

/// The comparison of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// One for every rank, increasing.
    pub rows: Vec<RankRow>,
    /// Whether V holds counts. Only counts can be thinned.
    pub counts: bool,
    /// The dispersion of the counts, if folds were held out.
    pub dispersion: Option<Dispersion>,
    /// The choice by held-out folds that are multinomial, for Poisson counts.
    pub poisson: Option<Choice>,
    /// The choice by held-out folds that are beta-binomial, if the counts are over-dispersed. The choice for
    /// Poisson counts is then an upper bound.
    pub over_dispersed: Option<Choice>,
    /// The ranks with stable parts, in order.
    pub stable: Vec<usize>,
}

impl Rank {
    /// The choice by held-out counts that applies to these data.
    pub fn choice(&self) -> Option<&Choice> {
        self.over_dispersed.as_ref().or(self.poisson.as_ref())
    }

    /// The range of ranks that are as good as the best one. By held-out counts if there are any, otherwise
    /// the largest rank with stable parts.
    pub fn range(&self) -> Option<(usize, usize)> {
        match self.choice() {
            Some(choice) => choice.range(),
            None => self.stable.last().map(|rank| (*rank, *rank)),
        }
    }
}

/// Compares ranks.
pub fn rank(fits: &Fits<'_>, settings: &RankSettings) -> Result<Rank, Error> {
    let mut ranks = settings.ranks.clone();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.is_empty() || settings.replicates == 0 {
        return Err(Error::Other("at least one rank and one replicate are needed".into()));
    }
    ranks.iter().try_for_each(|rank| klnmf::check_rank(fits.v, *rank))?;
    let counts = are_counts(fits.v);
    if settings.bootstrap {
        check_bootstrap(counts)?;
    }
    let thin = counts && settings.folds >= 2;
    let dispersion = thin.then(|| measure(fits, &ranks)).transpose()?;
    let splits = splits(dispersion, settings.folds);
    let jobs: Vec<Job> = ranks.iter().flat_map(|rank| of_rank(*rank, settings, &splits)).collect();
    let mut found = fits.get(&jobs)?;
    let (mut rows, mut curves) =
        (Vec::new(), vec![Curve { ranks: ranks.clone(), scores: vec![] }; splits.len()]);
    for rank in ranks {
        let count = settings.replicates + splits.len() * settings.folds;
        let of_rank: Vec<Fit> = found.by_ref().take(count).collect::<Result<_, _>>()?;
        let (replicates, folds) = of_rank.split_at(settings.replicates);
        for (curve, folds) in curves.iter_mut().zip(folds.chunks(settings.folds.max(1))) {
            curve.scores.push(sum_of_folds(folds));
        }
        let unconverged = of_rank.iter().filter(|fit| !fit.converged).count();
        rows.push(row(rank, replicates, (count, unconverged), rows.last())?);
    }
    let mut choices = curves.iter().map(choose);
    let silhouettes: Vec<_> = rows.iter().map(|row| (row.rank, row.stability.silhouette())).collect();
    Ok(Rank {
        counts,
        dispersion,
        poisson: choices.next().flatten(),
        over_dispersed: choices.next().flatten(),
        stable: stable_ranks(&silhouettes),
        rows,
    })
}

/// The dispersion around the first fits, at the rank that Akaike's criterion chooses.
fn measure(fits: &Fits<'_>, ranks: &[usize]) -> Result<Dispersion, Error> {
    // Every process needs them all, so none waits for another.
    let jobs: Vec<Job> = ranks.iter().map(|rank| Job { rank: *rank, draw: Draw::Start(0) }).collect();
    let measure = |fit: Result<Fit, Error>| fit.map(|fit| Dispersion::measure(fits.v, &fit.w, &fit.h));
    let measured = fits.get_here(&jobs)?.map(measure).collect::<Result<Vec<_>, _>>()?.into_iter();
    // A criterion that is not finite says nothing.
    let criterion = |d: &Dispersion| if d.criterion.is_finite() { d.criterion } else { f64::INFINITY };
    Ok(measured.min_by(|a, b| criterion(a).total_cmp(&criterion(b))).expect("there is a rank"))
}

/// The ways to split the counts: always as Poisson, and with their own size if they are over-dispersed. Three
/// digits of the size are enough, and make the names of the fits short.
fn splits(dispersion: Option<Dispersion>, folds: usize) -> Vec<Split> {
    let Some(dispersion) = dispersion else { return Vec::new() };
    let round = |x: f64| format!("{x:.2e}").parse().unwrap_or(x);
    let own = dispersion.is_over().then(|| Split { folds, size: round(dispersion.size) });
    [Split { folds, size: f64::INFINITY }].into_iter().chain(own).collect()
}

/// The fits of a rank: replicates, then folds.
fn of_rank(rank: usize, settings: &RankSettings, splits: &[Split]) -> Vec<Job> {
    let mut jobs = replicates(rank, settings.replicates, settings.bootstrap);
    let folds = splits.iter().flat_map(|split| (0..split.folds).map(|fold| Draw::Fold(fold, *split)));
    jobs.extend(folds.map(|draw| Job { rank, draw }));
    jobs
}

/// The replicates of a rank: V from several starts, or V and bootstraps of it.
pub fn replicates(rank: usize, count: usize, bootstrap: bool) -> Vec<Job> {
    let draw = |k| if bootstrap && k > 0 { Draw::Bootstrap(k) } else { Draw::Start(k) };
    (0..count as u64).map(|k| Job { rank, draw: draw(k) }).collect()
}

/// Fails if V does not hold counts.
pub fn check_bootstrap(counts: bool) -> Result<(), Error> {
    let why = "a bootstrap draws counts again, and V does not hold counts";
    if counts { Ok(()) } else { Err(Error::Other(why.into())) }
}

fn sum_of_folds(folds: &[Fit]) -> Vec<f64> {
    let mut sum = vec![0.0; folds.first().map_or(0, |fit| fit.held_out.len())];
    for fit in folds {
        sum.iter_mut().zip(&fit.held_out).for_each(|(sum, x)| *sum += x);
    }
    sum
}

fn row(
    rank: usize,
    replicates: &[Fit],
    (fits, unconverged): (usize, usize),
    before: Option<&RankRow>,
) -> Result<RankRow, Error> {
    let of_v = replicates.iter().filter(|fit| matches!(fit.job.draw, Draw::Start(_)));
    let best = of_v.min_by(|a, b| a.divergence.total_cmp(&b.divergence)).expect("the first fit is of V");
    // The best fit first: it gives the first means of the clusters.
    let others = replicates.iter().filter(|fit| fit.job != best.job);
    let parts: Vec<&Mat<f64>> = [best].into_iter().chain(others).map(|fit| &fit.w).collect();
    let stability = cluster(&parts, |_, _| true)?.stability();
    let branches = before.map_or(Ok(Vec::new()), |before| tree(&before.fit.w, &best.w))?;
    Ok(RankRow { rank, fit: best.clone(), fits, unconverged, stability, tree: branches })
}
