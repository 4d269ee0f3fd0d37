//! Several starts for the price of two to three, by successive halving (Jamieson & Talwalkar, *Non-stochastic
//! best arm identification and hyperparameter optimization*, 2016).
//!
//! The first start runs to its end, which takes L iterations, so the result is never worse than that of a
//! single start. The others run for L/(2·starts) iterations. The better half of them continues to twice as
//! many, and so on, until one is left, which runs to its end. The better of the two ends is the result.

use crate::factorize::{Settings, Solution, Status};
use crate::problem::Problem;
use crate::run::Run;
use crate::{Init, Result, Scalar};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How far one of several starts came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Its seed.
    pub seed: u64,
    /// The iterations after which it was stopped, or ended.
    pub iterations: usize,
    /// D(V‖WH) at that time. Starts with few iterations were stopped early, and could have decreased further.
    pub divergence: f64,
    /// Whether it ran to its end.
    pub finished: bool,
}

impl Start {
    fn of<T>(seed: u64, found: &Solution<T>) -> Self {
        let finished = found.status != Status::Stopped;
        Self { seed, iterations: found.info.iteration, divergence: found.info.divergence, finished }
    }
}

/// The best of `first`, which began with the seed `settings.seed`, and of the other starts.
pub fn best<T: Scalar>(
    problem: &Problem<'_, T>,
    first: Solution<T>,
    settings: &Settings,
) -> Result<Solution<T>> {
    if settings.starts <= 1 || first.status == Status::Stopped {
        return Ok(first);
    }
    let (begun, spent) = (Instant::now(), first.info.seconds);
    let left = |limit: Duration| limit.saturating_sub(Duration::from_secs_f64(spent));
    let quiet = Settings {
        check_every: Some(settings.max_iter.max(1)),
        time_limit: settings.time_limit.map(left),
        // Starts from singular vectors would all be the same.
        init: Init::Random,
        ..settings.clone()
    };
    let mut starts = vec![Start::of(settings.seed, &first)];
    let rival = best_rival(problem, (first.h.rows(), first.info.iteration), &quiet, &mut starts)?;
    let mut best = if rival.info.divergence < first.info.divergence { rival } else { first };
    best.info.seconds = spent + begun.elapsed().as_secs_f64();
    starts.sort_by_key(|start| start.seed.wrapping_sub(settings.seed));
    best.starts = starts;
    if settings.stopped() {
        best.status = Status::Stopped;
    }
    problem.check().map(|()| best)
}

/// Halves the other starts until one is left, and runs that to its end. The first start took so many
/// iterations.
fn best_rival<T: Scalar>(
    problem: &Problem<'_, T>,
    (rank, iterations): (usize, usize),
    settings: &Settings,
    starts: &mut Vec<Start>,
) -> Result<Solution<T>> {
    let begin = |number: usize| -> Result<(u64, Run<'_, T>)> {
        let seed = settings.seed.wrapping_add(number as u64);
        let (w, h) = problem.init(rank, &Settings { seed, ..settings.clone() })?;
        Ok((seed, problem.run(w, h, settings)?.sort_from(0)))
    };
    let mut rivals = (1..settings.starts).map(begin).collect::<Result<Vec<_>>>()?;
    let mut until = iterations.div_ceil(2 * settings.starts).max(1);
    while rivals.len() > 1 {
        // One thread for each start, as long as there are enough of them.
        problem.pool.run(|| rivals.par_iter_mut().for_each(|(_, run)| run.advance_to(until)));
        rivals.sort_by(|(_, a), (_, b)| a.info().divergence.total_cmp(&b.info().divergence));
        for (seed, run) in rivals.drain(rivals.len() / 2..) {
            let (iterations, divergence) = (run.info().iteration, run.info().divergence);
            starts.push(Start { seed, iterations, divergence, finished: false });
        }
        until *= 2;
    }
    let (seed, run) = rivals.remove(0);
    let found = run.to_end(|_| ControlFlow::Continue(()))?;
    starts.push(Start::of(seed, &found));
    Ok(found)
}
