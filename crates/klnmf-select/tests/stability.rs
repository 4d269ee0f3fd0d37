//! Clusters of parts, silhouettes against their definition, the choice of a range, trees.

use crate::common::Random;
use klnmf::{Mat, cosine};
use klnmf_select::{Clusters, Curve, choose, cluster, stable_ranks, tree};

/// Parts that are permuted and noisy copies of the same ones.
fn copies(fits: usize, r: usize, noise: f64) -> Vec<Mat<f64>> {
    let mut random = Random(3);
    let truth = Mat::from_fn(25, r, |_, _| random.gamma(0.3));
    (0..fits)
        .map(|fit| Mat::from_fn(25, r, |i, k| truth[(i, (k + fit) % r)] + noise * random.uniform()))
        .collect()
}

fn of(parts: &[Mat<f64>]) -> Clusters {
    cluster(&parts.iter().collect::<Vec<_>>(), |_, _| true).unwrap()
}

#[test]
fn permuted_copies_form_clusters() {
    let parts = copies(6, 5, 0.01);
    let found = of(&parts);
    for (fit, members) in found.parts.iter().enumerate() {
        for (cluster, part) in members.iter().enumerate() {
            assert_eq!((part.unwrap() + fit) % 5, cluster);
        }
    }
    let (mean, least) = found.stability().silhouette().unwrap();
    assert!(mean > 0.9 && least > 0.9, "{mean} {least}");
}

#[test]
fn stability_agrees_with_its_definition() {
    let parts = copies(4, 3, 0.5);
    let found = of(&parts);
    let stability = found.stability();
    let column = |(fit, part): (usize, usize)| parts[fit].col(part);
    for c in 0..3 {
        let members: Vec<_> = found.members(c).collect();
        let (mut alike, mut silhouette) = (0.0, 0.0);
        for own in &members {
            let mean = |others: Vec<(usize, usize)>| {
                others.iter().map(|o| cosine(column(*own), column(*o))).sum::<f64>() / others.len() as f64
            };
            let inside = mean(members.iter().filter(|o| *o != own).copied().collect());
            let outside = (0..3).filter(|d| *d != c).map(|d| mean(found.members(d).collect()));
            let (a, b) = (1.0 - inside, 1.0 - outside.fold(-1.0, f64::max));
            alike += inside / 4.0;
            silhouette += (b - a) / a.max(b) / 4.0;
        }
        assert!((stability.cosines[c] - alike).abs() < 1e-12);
        assert!((stability.silhouettes[c] - silhouette).abs() < 1e-12);
    }
}

#[test]
fn edges_are_defined() {
    assert_eq!(of(&[]).stability().cosine(), None);
    // One fit has no pairs, and one cluster no other cluster.
    assert_eq!(of(&copies(1, 3, 0.1)).stability().silhouette(), None);
    let single = of(&copies(4, 1, 0.1)).stability();
    assert!(single.cosine().unwrap().0 > 0.9 && single.silhouette().is_none());
    // Parts that are zero are like nothing.
    let zeros = of(&[Mat::zeros(4, 2), Mat::zeros(4, 2)]).stability();
    assert_eq!(zeros.cosine(), Some((0.0, 0.0)));
    // Parts that are left out belong to no cluster.
    let parts = copies(3, 2, 0.01);
    let found = cluster(&parts.iter().collect::<Vec<_>>(), |fit, part| (fit, part) != (1, 0)).unwrap();
    assert_eq!(found.parts[1].iter().flatten().count(), 1);
    assert_eq!((0..2).map(|c| found.members(c).count()).sum::<usize>(), 5);
}

#[test]
fn the_range_ends_at_the_best_rank() {
    let column = |total: f64| (0..10).map(|j| total / 10.0 + if j % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let of = |totals: &[f64]| {
        let scores = totals.iter().enumerate().map(|(at, total)| {
            let mut scores: Vec<f64> = column(*total);
            // The differences between ranks vary over the columns.
            scores[at % 10] += 3.0;
            scores[(at + 1) % 10] -= 3.0;
            scores
        });
        choose(&Curve { ranks: (2..2 + totals.len()).collect(), scores: scores.collect() }).unwrap()
    };
    let found = of(&[100.0, 50.0, 10.5, 10.0, 12.0, 40.0]);
    assert_eq!((found.best, found.smallest, found.range()), (5, 4, Some((4, 5))));
    assert_eq!(of(&[100.0, 50.0, 10.0]).range(), None);
    assert_eq!(of(&[5.0, 50.0, 100.0]).range(), Some((2, 2)));
    assert_eq!(choose(&Curve { ranks: vec![], scores: vec![] }), None);
    let stable = [(2, Some((0.99, 0.98))), (3, Some((0.9, 0.1))), (4, Some((0.85, 0.3))), (5, None)];
    assert_eq!(stable_ranks(&stable), [2, 4]);
    assert!(stable_ranks(&[(2, None)]).is_empty());
}

#[test]
fn a_new_part_hangs_on_the_nearest_old_one() {
    let before = Mat::from_rows(&[&[1.0, 0.0], &[0.0, 1.0], &[0.0, 1.0]]);
    let next = Mat::from_rows(&[&[0.0, 1.0, 0.1], &[0.9, 0.0, 0.2], &[1.0, 0.0, 1.0]]);
    let found = tree(&before, &next).unwrap();
    let told: Vec<(usize, bool)> = found.iter().map(|branch| (branch.parent, branch.continues)).collect();
    assert_eq!(told, [(1, true), (0, true), (1, false)]);
}
