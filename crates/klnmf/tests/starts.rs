//! Several starts: never worse than one, the same bits on any number of threads, limits and stops.

use crate::common::{Random, sparse};
use klnmf::{Init, Mat, Settings, Solution, Start, Status, factorize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn example() -> Mat<f64> {
    Random(3).counts(30, 50, 0.4, 20.0)
}

#[test]
fn the_best_of_several_starts_is_never_worse_and_usually_better() {
    let v = example();
    let mut better = 0;
    for seed in 0..6 {
        let one = factorize(&v, 6, &Settings { seed, ..Settings::default() }).unwrap();
        let many = factorize(&v, 6, &Settings { seed, starts: 8, ..Settings::default() }).unwrap();
        assert!(many.info.divergence <= one.info.divergence);
        better += usize::from(many.info.divergence < one.info.divergence);
        assert_eq!(one.starts, []);
        let seeds: Vec<u64> = many.starts.iter().map(|start| start.seed).collect();
        assert_eq!(seeds, (seed..seed + 8).collect::<Vec<_>>());
        assert_eq!(many.starts[0].divergence, one.info.divergence);
        assert!(many.starts[0].finished && many.starts.iter().all(|start| start.iterations > 0));
        let lowest = many.starts.iter().filter(|s| s.finished).map(|s| s.divergence).fold(f64::MAX, f64::min);
        assert_eq!(lowest, many.info.divergence);
    }
    assert!(better >= 3, "{better} of 6");
}

#[test]
fn only_a_better_start_may_take_the_work_beyond_two_and_a_half_times_one() {
    // The ten iterations of the warm-up take a fourth of the work of later ones.
    let work = |start: &Start| start.iterations as f64 - 0.75 * start.iterations.min(10) as f64;
    let mut same = 0;
    for (v, rank) in [(example(), 6), (Random(4).counts(40, 60, 0.3, 30.0), 8)] {
        for seed in 0..10 {
            let settings = Settings { seed, starts: 8, ..Settings::default() };
            for starts in [factorize(&v, rank, &settings), factorize(&sparse(&v), rank, &settings)] {
                let Solution { info, starts, .. } = starts.unwrap();
                let (one, all) = (work(&starts[0]), starts.iter().map(work).sum::<f64>());
                let better = info.divergence < starts[0].divergence;
                assert!(all <= 2.5 * one || better, "seed {seed}: {:.2}", all / one);
                same += usize::from(!better);
            }
        }
    }
    assert!(same > 5, "the first start was the best in {same} of 40 cases");
}

#[test]
fn the_survivor_is_the_run_of_its_seed() {
    let v = example();
    let many = factorize(&v, 6, &Settings { starts: 5, ..Settings::default() }).unwrap();
    let winner = many.starts.iter().filter(|s| s.finished).find(|s| s.divergence == many.info.divergence);
    let seed = winner.unwrap().seed;
    let alone = factorize(&v, 6, &Settings { seed, ..Settings::default() }).unwrap();
    assert_eq!((alone.w, alone.h), (many.w, many.h));
}

#[test]
fn threads_and_storage_do_not_change_a_bit() {
    let v = example();
    let with = |threads| Settings { starts: 6, threads, ..Settings::default() };
    let found = [1, 2, 5].map(|threads| factorize(&v, 4, &with(threads)).unwrap());
    for other in &found[1..] {
        assert_eq!((&found[0].w, &found[0].h, &found[0].starts), (&other.w, &other.h, &other.starts));
    }
    let stored = [1, 3].map(|threads| factorize(&sparse(&v), 4, &with(threads)).unwrap());
    assert_eq!((&stored[0].w, &stored[0].starts), (&stored[1].w, &stored[1].starts));
}

#[test]
fn edges_are_defined() {
    let v = example();
    let with = |starts, max_iter| Settings { starts, max_iter, ..Settings::default() };
    assert!(factorize(&v, 2, &with(0, 10)).unwrap_err().to_string().contains("starts"));
    for (starts, max_iter) in [(2, 0), (2, 1), (3, 7), (40, 5)] {
        let found = factorize(&v, 2, &with(starts, max_iter)).unwrap();
        assert_eq!((found.starts.len(), found.status), (starts, Status::IterationLimit));
    }
    // NNDSVD is one start; the others are random.
    let svd = factorize(&v, 4, &Settings { init: Init::Nndsvd, ..with(4, 2000) }).unwrap();
    assert!(svd.starts[1..].windows(2).all(|pair| pair[0].divergence != pair[1].divergence));
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let stopped = factorize(&v, 2, &Settings { stop, ..with(4, 2000) }).unwrap();
    assert_eq!((stopped.status, stopped.starts.len()), (Status::Stopped, 0));
    let late = Settings { time_limit: Some(std::time::Duration::ZERO), ..with(4, 2000) };
    let late = factorize(&v, 2, &late).unwrap();
    assert_eq!((late.status, late.starts.len()), (Status::TimeLimit, 0));
    let zero = factorize(&Mat::<f64>::zeros(3, 4), 2, &with(4, 10)).unwrap();
    assert_eq!(zero.info.divergence, 0.0);
}
