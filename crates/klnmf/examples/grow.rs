//! Warm restarts: grow the rank of a model without losing what it has learned.
//!
//! cargo run --release -p klnmf --example grow

use klnmf::{Mat, Settings, Solver, factorize, factorize_from, grow};
use std::ops::ControlFlow;

fn main() -> Result<(), klnmf::Error> {
    let v = Mat::from_fn(40, 60, |i, j| (1 + (i * j) % 7 + (i % 5) * (j % 3)) as f64);
    let settings = Settings { max_iter: 300, ..Settings::default() };
    let mut model = factorize(&v, 2, &settings)?;
    println!("rank 2: divergence {:.2}", model.info.divergence);
    for rank in [4, 8] {
        let (w, h) = grow(&model.w, &model.h, rank, 0)?;
        // [W, 0] and [H; ν]: multiplicative updates cannot leave the zeros, the primal-dual steps can.
        let mu = Settings { solver: Solver::Mu, ..settings.clone() };
        let stuck = factorize_from(&v, w.clone(), h.clone(), &mu, |_| ControlFlow::Continue(()))?;
        model = factorize_from(&v, w, h, &settings, |_| ControlFlow::Continue(()))?;
        println!("rank {rank}: divergence {:.2} (mu: {:.2})", model.info.divergence, stuck.info.divergence);
    }
    Ok(())
}
