//! Several starts for about twice the work of one, by successive halving (Jamieson & Talwalkar,
//! *Non-stochastic best arm identification and hyperparameter optimization*, 2016).
//!
//! The first start runs to its end, so the result is never worse than that of a single start. Its work C sets
//! the budget of the others. They race in rounds, which share `RACE`·C evenly: the better half of each round
//! stays, until `LAST` are left. These run to their ends one after the other, as long as the budget of
//! `OTHERS`·C lasts. A run is also stopped when it is unlikely to beat the best result so far. One that is
//! already below it goes on even when the budget is spent: the first start was then a poor one, and its work
//! is a poor estimate. The lowest end is the result. Work is counted, not timed, so the result is the same on
//! every machine.

use crate::factorize::{Settings, Solution, Status};
use crate::problem::Problem;
use crate::run::Run;
use crate::solver::WARM_UP;
use crate::{Init, Result, Scalar, Solver, parallel};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The most work of all other starts, relative to the first one.
const OTHERS: f64 = 1.4;
/// The work of the race, relative to the first start. It is short, because a start that wins it needs about
/// as much work as the first one to reach its end.
const RACE: f64 = 0.2;
/// The starts that are left after the race.
const LAST: usize = 2;
/// A start goes on after the race if at least this share of the work of the first one is left.
const ENOUGH: f64 = 0.5;
/// A run is stopped if its divergence would stay above the best end even after it fell by this share of what
/// it fell in the later half of its iterations.
const HOPE: f64 = 0.5;
/// The work of an iteration of the warm-up of `auto` and `newton`, and of a certificate, relative to a later
/// iteration. Measured.
const CHEAP: f64 = 0.25;

/// The outcome of one of several starts.
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

    fn stopped<T: Scalar>(seed: u64, run: &Run<'_, T>) -> Self {
        let info = run.info();
        Self { seed, iterations: info.iteration, divergence: info.divergence, finished: false }
    }
}

/// The best of `first`, which began at `begun` with the seed `settings.seed`, and of the other starts.
pub fn best<T: Scalar>(
    problem: &Problem<'_, T>,
    first: Solution<T>,
    settings: &Settings,
    begun: Instant,
) -> Result<Solution<T>> {
    if settings.starts <= 1 || matches!(first.status, Status::Stopped | Status::TimeLimit) {
        return Ok(first);
    }
    let (now, spent) = (Instant::now(), first.info.seconds);
    let left = |limit: Duration| limit.saturating_sub(begun.elapsed());
    let quiet = Settings {
        check_every: Some(settings.max_iter.max(1)),
        time_limit: settings.time_limit.map(left),
        // Starts from singular vectors would all be the same.
        init: Init::Random,
        ..settings.clone()
    };
    let warms_up = matches!(settings.solver, Solver::Auto | Solver::Newton);
    let work = Work { cheap: if warms_up { WARM_UP as f64 } else { 0.0 } };
    let starts = vec![Start::of(settings.seed, &first)];
    let one = work.of(first.info.iteration);
    let mut contest = Contest { problem, settings: &quiet, work, one, left: OTHERS * one, starts };
    let rivals = contest.begin(first.h.rows());
    let rivals = contest.race(rivals);
    let mut best = contest.finish(rivals, first);
    best.info.seconds = spent + now.elapsed().as_secs_f64();
    best.starts = contest.starts;
    best.starts.sort_by_key(|start| start.seed.wrapping_sub(settings.seed));
    if settings.stopped() {
        best.status = Status::Stopped;
    }
    problem.check().map(|()| best)
}

/// A start and its seed.
type Rival<'a, T> = (u64, Run<'a, T>);

/// The other starts against the first one.
struct Contest<'a, 'v, T: Scalar> {
    problem: &'a Problem<'v, T>,
    settings: &'a Settings,
    work: Work,
    /// The work of the first start.
    one: f64,
    /// The work that is left for the others.
    left: f64,
    /// How far the starts came that were stopped or have ended.
    starts: Vec<Start>,
}

impl<'a, T: Scalar> Contest<'a, '_, T> {
    /// The other starts, each with its first certificate. If there is no memory for one, the others compete.
    fn begin(&mut self, rank: usize) -> Vec<Rival<'a, T>> {
        let (problem, settings) = (self.problem, self.settings);
        let begin = |number: usize| -> Result<Rival<'a, T>> {
            let seed = settings.seed.wrapping_add(number as u64);
            let (w, h) = problem.init(rank, &Settings { seed, ..settings.clone() })?;
            Ok((seed, problem.run(w, h, settings)?.sort_from(0)))
        };
        let numbers = (1..settings.starts).take_while(|_| !settings.stopped());
        let rivals: Vec<_> = numbers.filter_map(|number| begin(number).ok()).collect();
        self.left -= CHEAP * rivals.len() as f64;
        rivals
    }

    /// Halves the rivals in rounds until few are left.
    fn race(&mut self, mut rivals: Vec<Rival<'a, T>>) -> Vec<Rival<'a, T>> {
        let halves = std::iter::successors(Some(rivals.len()), |n| Some(n / 2));
        let work_of_round = RACE * self.one / halves.take_while(|n| *n > LAST).count() as f64;
        // The work of each rival so far.
        let mut raced = 0.0;
        while rivals.len() > LAST {
            raced += work_of_round / rivals.len() as f64;
            let until = self.work.iterations(raced).max(1);
            // One thread for each start, as long as there are enough of them.
            self.problem.pool.run(|| parallel::for_each(rivals.iter_mut(), |(_, run)| run.advance_to(until)));
            self.left -= CHEAP * rivals.len() as f64;
            rivals.sort_by(|(_, a), (_, b)| a.info().divergence.total_cmp(&b.info().divergence));
            for (seed, run) in rivals.split_off((rivals.len() / 2).max(LAST)) {
                self.left -= self.work.of(run.iterations());
                self.starts.push(Start::stopped(seed, &run));
            }
        }
        self.left -= rivals.iter().map(|(_, run)| self.work.of(run.iterations())).sum::<f64>();
        rivals
    }

    /// Runs the remaining starts to their ends while the budget lasts, and returns the best end of all.
    fn finish(&mut self, rivals: Vec<Rival<'a, T>>, first: Solution<T>) -> Solution<T> {
        let mut best = first;
        for (seed, run) in rivals {
            if self.left < ENOUGH * self.one && run.ended().is_none() {
                self.starts.push(Start::stopped(seed, &run));
                continue;
            }
            let done = self.work.of(run.iterations());
            let most = self.work.iterations(done + self.left.max(0.0));
            let so_far = Start::stopped(seed, &run);
            let Ok(found) = to_end(run, most, best.info.divergence) else {
                // It has left the range of the numbers. The other starts have not.
                self.starts.push(so_far);
                continue;
            };
            self.left -= self.work.of(found.info.iteration) - done;
            let start = Start::of(seed, &found);
            self.starts.push(start);
            if start.finished && start.divergence < best.info.divergence {
                best = found;
            }
        }
        best
    }
}

/// Runs to the end, but not beyond `most` iterations unless it is below `lowest`, and not if it will hardly
/// come below.
fn to_end<T: Scalar>(run: Run<'_, T>, most: usize, lowest: f64) -> Result<Solution<T>> {
    let mut seen: Vec<(usize, f64)> = Vec::new();
    run.to_end_with(|run| {
        let (iteration, divergence) = (run.info().iteration, run.info().divergence);
        if seen.last().is_none_or(|last| last.0 < iteration) {
            seen.push((iteration, divergence));
        }
        let hopeless = seen[0].0.max(WARM_UP) * 2 <= iteration && {
            let half = seen[seen.partition_point(|(at, _)| 2 * at < iteration)].1;
            divergence - HOPE * (half - divergence) > lowest
        };
        let spent = run.iterations() >= most && divergence >= lowest;
        if (spent || hopeless) && run.ended().is_none() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

/// Counts work, in iterations after the warm-up.
#[derive(Clone, Copy)]
struct Work {
    /// The iterations of the warm-up.
    cheap: f64,
}

impl Work {
    fn of(self, iterations: usize) -> f64 {
        let iterations = iterations as f64;
        iterations - (1.0 - CHEAP) * iterations.min(self.cheap)
    }

    /// The iterations that take so much work.
    fn iterations(self, work: f64) -> usize {
        let warm = CHEAP * self.cheap;
        (if work < warm { work / CHEAP } else { work - warm + self.cheap }) as usize
    }
}
