//! A half-step is a pure function of its columns: pieces cut at multiples of 64 give the same bits.

use crate::common::{Random, half_step, sparse};
use klnmf::{Column, DecomposeSettings, Mat, Matrix, Order, Scalar, Sparse, decompose};

const STEPS: [&str; 4] = ["mu", "newton", "fpa", "simplex"];

fn columns_of<T: Scalar>(m: &Mat<T>, from: usize, to: usize) -> Mat<T> {
    Mat::from_fn(m.rows(), to - from, |i, j| m[(i, from + j)])
}

/// Cuts `0..n` at random multiples of 64.
fn cuts(random: &mut Random, n: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..n).step_by(64).filter(|at| *at == 0 || random.uniform() < 0.4).collect();
    cuts.push(n);
    cuts
}

type Outcome<S> = (Vec<S>, Vec<Column>, Vec<f64>);

/// Makes two half-steps in a row, so that the state of the columns matters, on the whole or on pieces.
fn run<T: Scalar, S: Scalar>(
    name: &str,
    piece: impl Fn(usize, usize) -> Option<(Mat<T>, Option<Sparse<T>>)>,
    kt: &Mat<S>,
    x: &Mat<S>,
    cuts: &[usize],
    held: usize,
    threads: usize,
) -> Outcome<S> {
    let (mut weights, mut columns, mut sums) = (vec![], vec![], vec![]);
    for cut in cuts.windows(2) {
        let (dense, stored) = piece(cut[0], cut[1]).unwrap();
        let mut x = columns_of(x, cut[0], cut[1]);
        let mut state = vec![Column::default(); x.cols()];
        for _ in 0..2 {
            let v: Matrix<'_, T> = stored.as_ref().map_or_else(|| (&dense).into(), |s| s.view());
            sums.extend(half_step(name, v, kt, &mut x, &mut state, (3, held, true), threads).unwrap());
        }
        weights.extend_from_slice(x.as_slice());
        columns.extend(state);
    }
    // The sums of the two half-steps of each piece, in column order.
    let mut in_order = [vec![], vec![]];
    let mut at = 0;
    for cut in cuts.windows(2) {
        let chunks = (cut[1] - cut[0]).div_ceil(64);
        in_order[0].extend_from_slice(&sums[at..at + chunks]);
        in_order[1].extend_from_slice(&sums[at + chunks..at + 2 * chunks]);
        at += 2 * chunks;
    }
    (weights, columns, in_order.concat())
}

fn same_bits<T: Scalar, S: Scalar>(p: usize, n: usize, r: usize) {
    let mut random = Random((p * n + r) as u64);
    let v = random.counts(p, n, 0.7, 40.0).cast::<T>();
    let (kt, mut x) = (random.matrix(r, p, 0.0, 2.0).cast::<S>(), random.matrix(r, n, 0.0, 2.0).cast::<S>());
    // Every third column has so many zeros that Newton steps leave some weights out.
    let zero = |k: usize, j: usize| r > 1 && (3 * k + 7 * j) % 10 < if j.is_multiple_of(3) { 6 } else { 1 };
    (0..r * n).filter(|at| zero(at % r, at / r)).for_each(|at| x[(at % r, at / r)] = S::ZERO);
    for name in STEPS {
        for held in [0, r / 2] {
            for stored in [false, true] {
                let piece = |from, to| {
                    let dense = columns_of(&v, from, to);
                    let sparse = stored.then(|| Sparse::from_dense(&dense));
                    Some((dense, sparse))
                };
                let whole = run(name, piece, &kt, &x, &[0, n], held, 1);
                for threads in [1, 2, 3] {
                    let some = cuts(&mut random, n);
                    let pieces = run(name, piece, &kt, &x, &some, held, threads);
                    assert!(
                        whole == pieces,
                        "{name} {p}×{n}, r = {r}, held {held}, stored {stored}: {some:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn pieces_give_the_bits_of_the_whole() {
    for (p, n, r) in [(30, 200, 5), (7, 500, 3), (450, 130, 9), (1, 70, 1)] {
        same_bits::<f64, f64>(p, n, r);
        same_bits::<f32, f32>(p, n, r);
        // f64 data, converted block by block to f32.
        same_bits::<f64, f32>(p, n, r);
    }
}

/// From a start with many zeros, some of which are wrong, Newton steps find the optimum.
#[test]
fn newton_steps_leave_out_only_weights_that_stay_zero() {
    let mut random = Random(5);
    for (p, r) in [(40, 12), (25, 30), (9, 3)] {
        let (v, w) = (random.counts(p, 20, 0.5, 30.0), random.matrix(p, r, 0.0, 1.0));
        let settings = DecomposeSettings { tol: 1e-12, ..DecomposeSettings::default() };
        let best = decompose(&v, &w, &settings).unwrap();
        let start = Mat::from_fn(r, 20, |k, j| if (k + j).is_multiple_of(3) { 1.0 } else { 0.0 });
        for stored in [false, true] {
            let (stored, mut x) = (stored.then(|| Sparse::from_dense(&v)), start.clone());
            let mut columns = vec![Column::default(); 20];
            let view = || stored.as_ref().map_or_else(|| Matrix::from(&v), |v| v.view());
            for _ in 0..200 {
                half_step("newton", view(), &w.transpose(), &mut x, &mut columns, (2, 0, true), 1).unwrap();
            }
            let found: f64 = columns.iter().map(|c| c.value).sum();
            let want = best.divergence();
            assert!((found - want).abs() < 1e-7 * want, "{p} {r} {}: {found} {want}", stored.is_some());
        }
    }
}

/// One multiplicative update against its formula.
#[test]
fn a_multiplicative_half_step_matches_its_formula() {
    let mut random = Random(3);
    let (v, kt, x) =
        (random.counts(20, 9, 0.3, 9.0), random.matrix(4, 20, 0.1, 1.0), random.matrix(4, 9, 0.1, 1.0));
    let mut moved = x.clone();
    let mut columns = vec![Column::default(); 9];
    let sums = half_step("mu", &v, &kt, &mut moved, &mut columns, (1, 0, true), 1).unwrap();
    let (w, mut total) = (kt.transpose(), 0.0);
    for j in 0..9 {
        let z: Vec<f64> = (0..20).map(|i| (0..4).map(|k| w[(i, k)] * x[(k, j)]).sum()).collect();
        for k in 0..4 {
            let g: f64 = (0..20).map(|i| w[(i, k)] * v[(i, j)] / z[i]).sum();
            let want = x[(k, j)] * g / w.col(k).iter().sum::<f64>();
            assert!((moved[(k, j)] - want).abs() < 1e-12 * want);
        }
        let term = |(a, z): (&f64, &f64)| if *a > 0.0 { a * (a / z).ln() - a + z } else { *z };
        let value: f64 = v.col(j).iter().zip(&z).map(term).sum();
        assert!((columns[j].value - value).abs() < 1e-10 * value);
        total += value;
    }
    assert!((sums.iter().sum::<f64>() - total).abs() < 1e-10 * total);
}

#[test]
fn sparse_reordering_is_the_same_on_any_number_of_threads() {
    let v = sparse(&Random(4).counts(90, 200, 0.8, 9.0));
    let alone = Sparse::reordered(v.view()).unwrap();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let there = pool.install(|| Sparse::reordered(v.view()).unwrap());
        assert_eq!(alone, there);
        assert_eq!(pool.install(|| Sparse::reordered(there.view()).unwrap()), v);
    }
    assert_eq!(alone.view().order(), Order::Rows);
    assert_eq!(alone.to_dense(), v.to_dense());
}

#[test]
fn invalid_half_steps_are_errors() {
    let (v, kt) = (Mat::from_fn(5, 3, |i, j| (i + j) as f64), Mat::from_fn(2, 5, |_, _| 1.0));
    let run = |v: &Mat<f64>, name: &str, steps, held| {
        let (mut x, mut columns) = (Mat::from_fn(2, 3, |_, _| 1.0), [Column::default(); 3]);
        half_step(name, v, &kt, &mut x, &mut columns, (steps, held, false), 1).map_err(|e| e.to_string())
    };
    assert!(run(&v, "mu", 1, 2).is_ok());
    assert!(run(&v, "mu", 1, 3).unwrap_err().contains("held = 3"));
    assert!(run(&v, "fpa", 0, 0).unwrap_err().contains("steps = 0"));
    assert!(run(&v, "auto", 1, 0).unwrap_err().contains("auto"));
    let bad = Mat::from_fn(5, 3, |i, j| if i + j == 2 { f64::NAN } else { 1.0 });
    assert!(run(&bad, "mu", 1, 0).unwrap_err().contains("V[2, 0]"));
}
