//! The example of the README, which a test compares with this file.

fn main() -> klnmf::Result<()> {
    use klnmf::{DecomposeSettings, Mat, Settings, decompose, factorize};

    let v = Mat::from_fn(30, 50, |i, j| ((i % 3) * (j % 5) + (i % 7) * (j % 2) + (i * j) % 4) as f64);
    let model = factorize(&v, 2, &Settings::default())?;
    println!("D = {:.3}, relative gap {:.1e}", model.info.divergence, model.info.relative_gap());

    let new = Mat::from_fn(30, 4, |i, j| ((i % 3) * j + i % 2) as f64);
    let weights = decompose(&new, &model.w, &DecomposeSettings { tol: 1e-8, ..Default::default() })?;
    println!("{:?}", weights.columns[0]); // divergence, gap, iterations, converged
    Ok(())
}
