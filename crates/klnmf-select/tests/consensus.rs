//! Consensus parts of planted data, certified weights, the density filter.

use crate::common::planted;
use klnmf::{Mat, match_parts};
use klnmf_select::{Consensus, ConsensusSettings, Error, Fits, consensus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn of(v: &Mat<f64>, settings: &ConsensusSettings) -> Consensus {
    consensus(&Fits::in_memory(v.into()).unwrap(), settings).unwrap()
}

#[test]
fn consensus_parts_are_the_planted_ones() {
    let (v, truth) = planted(1, (30, 60), 4, 3000.0, f64::INFINITY);
    for bootstrap in [false, true] {
        let settings = ConsensusSettings { rank: 4, replicates: 8, bootstrap, ..Default::default() };
        let found = of(&v, &settings);
        let pairs = match_parts(&truth, &found.w).unwrap();
        assert!(pairs.iter().all(|pair| pair.cosine > 0.95), "{pairs:?}");
        assert!(found.members.iter().all(|members| members.len() == 8));
        assert!(found.w.col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
        // The weights are certified.
        let gap: f64 = found.gaps.iter().sum();
        assert!(gap <= 1e-6 * v.as_slice().iter().sum::<f64>());
        let certificate = klnmf::certificate(&v, &found.w, &found.h, 1).unwrap();
        assert!((certificate.divergence - found.divergence).abs() < 1e-6 * found.divergence);
        let swept = of(&v, &ConsensusSettings { sweeps: 50, ..settings });
        assert!(swept.divergence < found.divergence);
        assert!(swept.h.row_sums().is_sorted_by(|a, b| a >= b), "{:?}", swept.h.row_sums());
        // The weights of the fits are not kept in memory.
        assert!(found.fits.iter().all(|fit| fit.h.cols() == 0 && fit.w.cols() == 4));
        let best = found.fits.iter().map(|fit| fit.divergence);
        assert!(bootstrap || swept.divergence < 1.01 * best.fold(f64::INFINITY, f64::min));
    }
}

#[test]
fn the_density_filter_leaves_out_lonely_parts() {
    // At too high a rank some parts differ from fit to fit.
    let (v, _) = planted(2, (30, 60), 3, 1000.0, f64::INFINITY);
    let settings = ConsensusSettings { rank: 7, replicates: 10, ..Default::default() };
    let (all, strict) = (of(&v, &settings), of(&v, &ConsensusSettings { density: Some(0.3), ..settings }));
    assert_eq!(all.left_out, 0);
    assert!(strict.left_out > 0 && strict.left_out < 70, "{}", strict.left_out);
    let members = strict.members.iter().map(Vec::len).sum::<usize>();
    assert_eq!(members + strict.left_out, 70);
    let error = consensus(
        &Fits::in_memory((&v).into()).unwrap(),
        &ConsensusSettings { rank: 2, replicates: 2, density: Some(-1.0), ..Default::default() },
    );
    assert!(error.unwrap_err().to_string().contains("raise the threshold"));
}

#[test]
fn a_stop_after_the_fits_is_no_result() {
    let (v, _) = planted(1, (20, 30), 3, 500.0, f64::INFINITY);
    let folder = tempfile::tempdir().unwrap();
    for sweeps in [0, 5] {
        let settings = ConsensusSettings { rank: 3, replicates: 2, sweeps, ..Default::default() };
        let mut fits = Fits::in_memory((&v).into()).unwrap().in_folder(folder.path()).unwrap();
        consensus(&fits, &settings).unwrap();
        fits.settings.stop = Some(Arc::new(AtomicBool::new(true)));
        let found = consensus(&fits, &settings);
        assert!(matches!(found, Err(Error::Stopped { done: 2, all: 2 })), "{found:?}");
    }
}

#[test]
fn edges_are_defined() {
    let (v, _) = planted(3, (8, 9), 2, 50.0, f64::INFINITY);
    let one = of(&v, &ConsensusSettings { rank: 2, replicates: 1, ..Default::default() });
    assert!(one.stability.cosine().is_none() && one.members.iter().all(|members| members.len() == 1));
    let single =
        of(&v, &ConsensusSettings { rank: 1, replicates: 3, density: Some(0.5), ..Default::default() });
    assert!(single.stability.silhouette().is_none() && single.w.cols() == 1);
    let zero = of(&Mat::zeros(3, 4), &ConsensusSettings { rank: 2, replicates: 2, ..Default::default() });
    assert_eq!(zero.divergence, 0.0);
}
