use super::*;

fn example() -> Mat<f64> {
    gram(&Mat::from_fn(4, 9, |i, j| ((3 * i + 5 * j) % 7) as f64 + if i == j { 2.0 } else { 0.1 }))
}

#[test]
fn eigenvectors_reproduce_the_matrix() {
    let a = example();
    let (values, v) = symmetric_eigen(a.clone());
    assert!(values.is_sorted_by(|x, y| x >= y));
    for i in 0..4 {
        for j in 0..4 {
            let sum: f64 = (0..4).map(|k| v[(i, k)] * values[k] * v[(j, k)]).sum();
            assert!((sum - a[(i, j)]).abs() < 1e-10 * values[0]);
        }
    }
    assert!((spectral_norm(&a) - values[0].sqrt()).abs() < 1e-12 * values[0].sqrt());
}

#[test]
fn cholesky_solves() {
    let a = example();
    let want = [1.0, -2.0, 3.0, 0.5];
    let mut x: Vec<f64> = (0..4).map(|i| (0..4).map(|j| a[(i, j)] * want[j]).sum()).collect();
    let mut l = a;
    cholesky(&mut l);
    cholesky_solve(&l, &mut x);
    assert!(x.iter().zip(want).all(|(x, w)| (x - w).abs() < 1e-9));
}
