//! Topic models: projections, both ways to the weights, certificates, recovery of known topics.

use crate::common::{Random, naive_divergence, product};
use klnmf::{
    DecomposeSettings, Mat, Settings, Solver, Status, TopicSettings, Update, cosine, decompose, factorize,
    factorize_from, log_likelihoods, project_onto_simplex, to_poisson, to_topics, topic_weights, topics,
};
use std::ops::ControlFlow;

fn go_on<I>(_: &I) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The nearest point of the simplex, by trying every support.
fn brute_force(z: &[f64]) -> Vec<f64> {
    let r = z.len();
    // Subtracting a constant does not change the result.
    let most = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let z: Vec<f64> = z.iter().map(|z| z - most).collect();
    let candidates = (1u32..1 << r).filter_map(|support| {
        let on = |k: usize| support >> k & 1 == 1;
        let (sum, count) = (0..r).filter(|k| on(*k)).fold((0.0, 0.0), |(s, n), k| (s + z[k], n + 1.0));
        let shift = (sum - 1.0) / count;
        let x: Vec<f64> = (0..r).map(|k| if on(k) { z[k] - shift } else { 0.0 }).collect();
        let sum: f64 = x.iter().sum();
        (x.iter().all(|x| *x >= 0.0) && (sum - 1.0).abs() < 1e-9).then_some(x)
    });
    let distance = |x: &Vec<f64>| x.iter().zip(&z).map(|(x, z)| (x - z).powi(2)).sum::<f64>();
    candidates.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()
}

#[test]
fn projections_are_the_nearest_points() {
    let mut random = Random(1);
    for r in 1..9 {
        for scale in [1e-3, 0.5, 1.0, 30.0] {
            // Nineteen columns: two full groups of lanes and a partial one.
            let z = Mat::from_fn(
                r,
                19,
                |_, j| if j == 7 { 0.25 } else { scale * (2.0 * random.uniform() - 1.0) },
            );
            let mut x = z.clone();
            project_onto_simplex(&mut x);
            for j in 0..19 {
                let exact = brute_force(z.col(j));
                for k in 0..r {
                    assert!((x[(k, j)] - exact[k]).abs() <= 1e-13, "{:?} {exact:?}", x.col(j));
                }
            }
        }
    }
}

/// Large numbers lose no accuracy: the result lies on the simplex, and entries more than 1 below the largest
/// are zero.
#[test]
fn projections_of_large_numbers_lie_on_the_simplex() {
    for scale in [1e3, 1e10, 1e17] {
        let mut random = Random(2);
        let z =
            Mat::from_fn(5, 9, |_, j| if j == 3 { scale } else { scale * (2.0 * random.uniform() - 1.0) });
        let mut x = z.clone();
        project_onto_simplex(&mut x);
        let mut single: Mat<f32> = z.cast();
        project_onto_simplex(&mut single);
        for j in 0..9 {
            let most = z.col(j).iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!((x.col_sums()[j] - 1.0).abs() <= 1e-14 && (single.col_sums()[j] - 1.0).abs() <= 1e-6);
            assert!((0..5).all(|k| z[(k, j)] >= most - 1.0 || x[(k, j)] == 0.0));
        }
    }
}

/// Breakpoints that grow a hundredfold each, so that Newton's method passes them one by one.
#[test]
fn projections_with_many_pieces_are_exact() {
    let r = 60;
    let z = Mat::from_fn(r, 3, |k, j| match k {
        0..3 => -0.1 * (k + j) as f64,
        _ => -(100f64.powi(k as i32 - 1)),
    });
    let mut x = z.clone();
    project_onto_simplex(&mut x);
    for j in 0..3 {
        // All except the first three are far away.
        let exact = brute_force(&z.col(j)[..3]);
        for k in 0..r {
            let exact = exact.get(k).copied().unwrap_or(0.0);
            assert!((x[(k, j)] - exact).abs() <= 1e-13, "{j} {k}: {} {exact}", x[(k, j)]);
        }
    }
}

/// Counts of documents drawn from known topics that share some words, and the topics.
fn corpus(seed: u64, n: usize, m: usize, k: usize, length: usize) -> (Mat<f64>, Mat<f64>) {
    let mut random = Random(seed);
    let mut topics = Mat::from_fn(n, k, |_, _| random.uniform().powi(8));
    for t in 0..k {
        let sum: f64 = topics.col(t).iter().sum();
        topics.col_mut(t).iter_mut().for_each(|x| *x /= sum);
    }
    let mut v = Mat::zeros(n, m);
    let draw = |p: &[f64], random: &mut Random| {
        let mut u = random.uniform() * p.iter().sum::<f64>();
        p.iter()
            .position(|p| {
                u -= p;
                u < 0.0
            })
            .unwrap_or(p.len() - 1)
    };
    for j in 0..m {
        let weights: Vec<f64> = (0..k).map(|_| random.uniform().powi(6)).collect();
        for _ in 0..length {
            let t = draw(&weights, &mut random);
            v[(draw(topics.col(t), &mut random), j)] += 1.0;
        }
    }
    (v, topics)
}

#[test]
fn known_topics_are_recovered() {
    let (v, truth) = corpus(3, 300, 400, 6, 150);
    let stored = crate::common::sparse(&v);
    for solver in [Solver::Auto, Solver::Simplex] {
        for (topic_prior, word_prior) in [(0.0, 0.0), (0.1, 0.01)] {
            let settings = TopicSettings { solver, topic_prior, word_prior, ..TopicSettings::default() };
            let found = topics(&stored, 6, &settings, go_on).unwrap();
            for t in 0..6 {
                let best = (0..6).map(|s| cosine(truth.col(t), found.topics.col(s))).fold(0.0, f64::max);
                assert!(best >= 0.95, "{solver:?} {topic_prior}: topic {t} has {best}");
            }
        }
    }
}

/// Projection and Poisson factorisation reach the same likelihood.
#[test]
fn both_routes_have_the_same_optimum() {
    let (v, truth) = corpus(4, 60, 40, 5, 80);
    let free =
        decompose(&v, &truth, &DecomposeSettings { tol: 1e-9, ..DecomposeSettings::default() }).unwrap();
    let settings = Settings {
        solver: Solver::Simplex,
        update: Update::H,
        tol: 1e-7,
        max_iter: 20_000,
        ..Settings::default()
    };
    for stored in [false, true] {
        let start = Mat::from_fn(5, 40, |_, _| 1.0);
        let held = if stored {
            factorize_from(&crate::common::sparse(&v), truth.clone(), start, &settings, go_on).unwrap()
        } else {
            factorize_from(&v, truth.clone(), start, &settings, go_on).unwrap()
        };
        assert!(held.info.gap_h <= 1e-7 * held.info.sum, "{:?}", held.info);
        let sum = held.info.sum;
        assert!((held.info.divergence - free.divergence()).abs() <= 2e-7 * sum);
        // On the simplex: every column of the model sums to the length of its document.
        for j in 0..40 {
            let (model, length): (f64, f64) = (held.h.col(j).iter().sum(), v.col(j).iter().sum());
            assert!((model - length).abs() <= 1e-9 * length, "{model} {length}");
        }
    }
}

/// The log-posterior of a document, by its definition.
fn log_posterior(a: &[f64], topics: &Mat<f64>, x: &[f64], alpha: f64) -> f64 {
    let fit: f64 = (0..a.len())
        .filter(|i| a[*i] > 0.0)
        .map(|i| a[i] * (0..x.len()).map(|k| topics[(i, k)] * x[k]).sum::<f64>().ln())
        .sum();
    fit + if alpha > 0.0 { alpha * x.iter().map(|x| x.ln()).sum::<f64>() } else { 0.0 }
}

#[test]
fn certificates_bound_the_distance_to_the_best_weights() {
    let (v, truth) = corpus(5, 50, 30, 4, 60);
    for alpha in [0.0, 0.05, 1.0] {
        let settings =
            |weights_tol| TopicSettings { topic_prior: alpha, weights_tol, ..TopicSettings::default() };
        let rough = topic_weights(&v, &truth, &settings(1e-2), &|_| ()).unwrap();
        let fine = topic_weights(&v, &truth, &settings(1e-9), &|_| ()).unwrap();
        assert_eq!(fine.unconverged, 0);
        assert!(rough.gaps.iter().any(|gap| *gap > 1e-6), "all gaps are tiny, so this tests nothing");
        for j in 0..30 {
            let value = |x: &[f64]| log_posterior(v.col(j), &truth, x, alpha);
            let (best, here) = (value(fine.weights.col(j)), value(rough.weights.col(j)));
            assert!(rough.gaps[j] >= best - here - 1e-9, "{alpha} {j}: {} {}", rough.gaps[j], best - here);
            assert!((fine.weights.col_sums()[j] - 1.0).abs() < 1e-12);
            // From there, expectation maximisation gains no more than the certificate allows.
            let mut x = fine.weights.col(j).to_vec();
            for _ in 0..200 {
                let ratio = |i: usize| v[(i, j)] / (0..4).map(|k| truth[(i, k)] * x[k]).sum::<f64>();
                let ratios: Vec<f64> =
                    (0..50).map(|i| if v[(i, j)] > 0.0 { ratio(i) } else { 0.0 }).collect();
                let next: Vec<f64> = (0..4)
                    .map(|k| x[k] * (0..50).map(|i| truth[(i, k)] * ratios[i]).sum::<f64>() + alpha)
                    .collect();
                let sum: f64 = next.iter().sum();
                x = next.iter().map(|x| x / sum).collect();
            }
            assert!(value(&x) - best <= fine.gaps[j] + 1e-9);
        }
        let naive: Vec<f64> =
            (0..30).map(|j| log_posterior(v.col(j), &truth, fine.weights.col(j), 0.0)).collect();
        assert!(naive.iter().zip(&fine.log_likelihood).all(|(a, b)| (a - b).abs() < 1e-9));
    }
}

#[test]
fn conversions_are_exact() {
    let v = Random(6).counts(20, 15, 0.3, 9.0);
    let model = factorize(&v, 3, &Settings::default()).unwrap();
    let (w, h) = (Mat::from_fn(20, 3, |i, k| 7.0 * model.w[(i, k)] * (k + 1) as f64), model.h.clone());
    let (shares, weights, sizes) = to_topics(&w, &h);
    for sum in shares.col_sums().iter().chain(&weights.col_sums()) {
        assert!((sum - 1.0).abs() < 1e-12);
    }
    let (back_w, back_h) = to_poisson(&shares, &weights, &sizes);
    let (before, after) = (product(&w, &h), product(&back_w, &back_h));
    for (a, b) in before.as_slice().iter().zip(after.as_slice()) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1e-12));
    }
}

/// At a Poisson optimum the sums of documents and model agree, so the likelihood of the topic model follows
/// from D.
#[test]
fn likelihood_and_divergence_agree() {
    let (v, _) = corpus(7, 40, 30, 3, 50);
    let settings = TopicSettings { topic_prior: 0.0, word_prior: 0.0, tol: 1e-9, ..TopicSettings::default() };
    let found = topics(&v, 3, &settings, go_on).unwrap();
    let lengths: Vec<f64> = (0..30).map(|j| v.col(j).iter().sum()).collect();
    let (w, h) = to_poisson(&found.topics, &found.weights.weights, &lengths);
    let entropy: f64 = (0..30)
        .flat_map(|j| v.col(j).iter().map(move |a| (j, *a)))
        .filter(|(_, a)| *a > 0.0)
        .map(|(j, a)| a * (a / lengths[j]).ln())
        .sum();
    let likelihood: f64 = found.weights.log_likelihood.iter().sum();
    let d = naive_divergence(&v, &w, &h);
    assert!((d - (entropy - likelihood)).abs() <= 1e-8 * entropy.abs(), "{d} {}", entropy - likelihood);
}

#[test]
fn the_smoothed_objective_decreases_and_is_reported_correctly() {
    let (v, _) = corpus(8, 50, 40, 4, 60);
    let (alpha, beta) = (0.2, 0.05);
    let settings = TopicSettings {
        topic_prior: alpha,
        word_prior: beta,
        tol: 0.0,
        max_iter: 400,
        ..TopicSettings::default()
    };
    let mut seen = Vec::new();
    let found = topics(&crate::common::sparse(&v), 4, &settings, |info| {
        seen.push((info.iteration, info.objective));
        ControlFlow::Continue(())
    })
    .unwrap();
    let smooth: Vec<f64> = seen.iter().filter(|s| s.0 > 20).map(|s| s.1).collect();
    assert!(smooth.len() > 30 && smooth.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-12)), "{smooth:?}");
    let lengths: Vec<f64> = (0..40).map(|j| v.col(j).iter().sum()).collect();
    let (w, h) = to_poisson(&found.topics, &found.weights.weights, &lengths);
    let logs = |m: &Mat<f64>| m.as_slice().iter().map(|x| x.ln()).sum::<f64>();
    let naive =
        naive_divergence(&v, &w, &h) - alpha * logs(&found.weights.weights) - beta * logs(&found.topics);
    let last = *smooth.last().unwrap();
    assert!((naive - last).abs() <= 1e-4 * last, "{naive} {last}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (v, _) = corpus(9, 200, 150, 4, 40);
    let stored = crate::common::sparse(&v);
    let run =
        |threads| topics(&stored, 4, &TopicSettings { threads, ..TopicSettings::default() }, go_on).unwrap();
    let (one, three) = (run(1), run(3));
    assert_eq!(one.topics, three.topics);
    assert_eq!(one.weights.weights, three.weights.weights);
}

#[test]
fn degenerate_corpora_have_defined_answers() {
    // An empty document, a one-word vocabulary, more topics than words.
    let mut v = Random(10).counts(6, 8, 0.2, 4.0);
    v.col_mut(3).fill(0.0);
    for (topic_prior, word_prior) in [(0.0, 0.0), (0.1, 0.1), (0.0, 0.1), (0.1, 0.0)] {
        let settings = TopicSettings { topic_prior, word_prior, ..TopicSettings::default() };
        let found = topics(&v, 3, &settings, go_on).unwrap();
        assert_eq!(found.weights.weights.col(3), [1.0 / 3.0; 3]);
        assert_eq!(found.weights.gaps[3], 0.0);
        assert_eq!(found.weights.log_likelihood[3], 0.0);

        let one = Mat::from_rows(&[&[3.0, 1.0, 0.0]]);
        let found = topics(&one, 2, &settings, go_on).unwrap();
        assert_eq!(found.topics.as_slice(), [1.0, 1.0]);
        assert!(found.weights.log_likelihood.iter().all(|l| l.abs() < 1e-12));

        let more = topics(&v, 20, &settings, go_on).unwrap();
        assert!(more.topics.as_slice().iter().all(|x| x.is_finite()));
        let logs = log_likelihoods(&v, &more.topics, &more.weights.weights).unwrap();
        assert!(logs.iter().all(|l| l.is_finite()));
    }
    // A pseudo-count that underflows leaves weights of zero, whose logarithms must not spoil the objective.
    let tiny = TopicSettings { topic_prior: 0.0, word_prior: 1e-300, ..TopicSettings::default() };
    let finite = |info: &klnmf::TopicInfo| {
        assert!(info.objective.is_finite(), "{info:?}");
        ControlFlow::Continue(())
    };
    topics(&v, 3, &tiny, finite).unwrap();
    let nothing = Mat::<f64>::zeros(4, 3);
    let found = topics(&nothing, 2, &TopicSettings::default(), go_on).unwrap();
    assert_eq!(found.status, Status::Converged);
    assert!(found.topics.as_slice().iter().chain(found.weights.weights.as_slice()).all(|x| x.is_finite()));
    assert!(topics(&v, 0, &TopicSettings::default(), go_on).is_err());
    assert!(topics(&v, 2, &TopicSettings { topic_prior: -1.0, ..TopicSettings::default() }, go_on).is_err());
}

/// The default computes in f32, and reaches the optimum of f64.
#[test]
fn single_precision_suffices_for_the_default_tolerance() {
    let (v, _) = corpus(11, 80, 60, 4, 80);
    let fit = |tol| topics(&v, 4, &TopicSettings { tol, ..TopicSettings::default() }, go_on).unwrap();
    let (quick, exact) = (fit(1e-5), fit(1e-8));
    assert!(quick.iterations <= exact.iterations);
    let words: f64 = v.as_slice().iter().sum();
    let (a, b) = (quick.weights.perplexity(words), exact.weights.perplexity(words));
    assert!((a - b).abs() <= 2e-3 * b, "{a} {b}");
}

#[test]
fn weights_are_computed_even_at_a_limit() {
    let (v, _) = corpus(12, 80, 60, 4, 80);
    for max_iter in [0, 1, 5, 20, 21, 25] {
        let settings = TopicSettings { max_iter, tol: 0.0, ..TopicSettings::default() };
        let found = topics(&v, 4, &settings, go_on).unwrap();
        assert_eq!(found.iterations, max_iter);
        assert_eq!(found.weights.unconverged, 0);
    }
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let found =
        topics(&v, 4, &TopicSettings { stop: Some(stop), ..TopicSettings::default() }, go_on).unwrap();
    assert_eq!((found.status, found.weights.unconverged), (klnmf::Status::Stopped, 0));
    let limit = Some(std::time::Duration::ZERO);
    let found =
        topics(&v, 4, &TopicSettings { time_limit: limit, ..TopicSettings::default() }, go_on).unwrap();
    assert_eq!((found.status, found.weights.unconverged), (klnmf::Status::TimeLimit, 0));
}

/// Scaling to sum 1 must not hide them.
#[test]
fn invalid_topics_are_errors() {
    let v = Mat::from_rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    for bad in [f64::NAN, -3.0, f64::INFINITY] {
        let topics = Mat::from_rows(&[&[bad, 0.5], &[1.0, 0.5]]);
        let found = topic_weights(&v, &topics, &TopicSettings::default(), &|_| ());
        assert!(matches!(found, Err(klnmf::Error::BadFactor { name: "W", .. })), "{bad}: {found:?}");
    }
    // Pseudo-counts add rows, which the message must not count.
    let found = topic_weights(&v, &Mat::from_fn(3, 2, |_, _| 0.5), &TopicSettings::default(), &|_| ());
    assert_eq!(found.unwrap_err().to_string(), "wrong shape: V has 2 rows, but the topics have 3 words");
}

#[test]
fn an_empty_corpus_is_an_error() {
    let (v, topics) = (Mat::<f64>::zeros(0, 3), Mat::from_rows(&[&[0.5, 0.1], &[0.5, 0.9]]));
    for topic_prior in [0.0, 0.3] {
        let settings = TopicSettings { topic_prior, ..TopicSettings::default() };
        assert!(topic_weights(&v, &topics, &settings, &|_| ()).is_err());
    }
}
