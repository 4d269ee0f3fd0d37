//! Code shared by the tests: random numbers, naive formulas, problems built from their optimum.
#![allow(dead_code, missing_docs)]

pub mod exact;
pub mod oracle;

use klnmf::{Column, Mat, Matrix, Piece, Result, Scalar, Settings, Solver, Sparse, Spec, Step};

/// The default settings of a solver, with a penalty if it needs one.
pub fn settings_of(solver: Solver) -> Settings {
    Settings { solver, rho: (solver == Solver::AdmmAuthors).then_some(10.0), ..Settings::default() }
}

/// The solvers whose description satisfies `which`.
pub fn solvers(which: impl Fn(&Spec) -> bool) -> Vec<Solver> {
    Solver::ALL.into_iter().filter(|solver| which(solver.spec())).collect()
}

/// One half-step on a matrix, with the number of steps, the fixed weights, and whether to measure.
pub fn half_step<'v, T: Scalar, S: Scalar>(
    name: &str,
    v: impl Into<Matrix<'v, T>>,
    kt: &Mat<S>,
    x: &mut Mat<S>,
    columns: &mut [Column],
    (steps, held, measure): (usize, usize, bool),
    threads: usize,
) -> Result<Vec<f64>> {
    Piece::new(v, threads)?.half_step(Step { name, steps, held, measure }, kt, x, columns, threads)
}

/// A small generator (SplitMix64), so that tests do not depend on that of the crate.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn matrix(&mut self, n: usize, m: usize, low: f64, high: f64) -> Mat<f64> {
        Mat::from_fn(n, m, |_, _| low + (high - low) * self.uniform())
    }

    /// Integers, a fraction of about `zeros` of them zero.
    pub fn counts(&mut self, n: usize, m: usize, zeros: f64, max: f64) -> Mat<f64> {
        Mat::from_fn(n, m, |_, _| if self.uniform() < zeros { 0.0 } else { (self.uniform() * max).ceil() })
    }
}

pub fn product(w: &Mat<f64>, h: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(w.rows(), h.cols(), |i, j| (0..w.cols()).map(|k| w[(i, k)] * h[(k, j)]).sum())
}

/// D by its definition, entry by entry.
pub fn naive_divergence(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> f64 {
    let p = product(w, h);
    v.as_slice()
        .iter()
        .zip(p.as_slice())
        .map(|(&a, &z)| if a > 0.0 { a * (a / z).ln() - a + z } else { z })
        .sum()
}

/// The gap of the columns of H by the closed formula, entry by entry.
pub fn naive_gaps_h(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> Vec<f64> {
    let p = product(w, h);
    (0..v.cols())
        .map(|j| {
            let sum: f64 = v.col(j).iter().sum();
            let model: f64 = p.col(j).iter().sum();
            let rho = |k: usize| {
                let up: f64 = (0..v.rows())
                    .filter(|&i| v[(i, j)] > 0.0)
                    .map(|i| w[(i, k)] * v[(i, j)] / p[(i, j)])
                    .sum();
                up / w.col(k).iter().sum::<f64>()
            };
            let live = (0..w.cols()).filter(|&k| w.col(k).iter().sum::<f64>() > 0.0);
            let s = live.map(rho).fold(0.0, f64::max);
            if sum > 0.0 { model - sum + sum * s.ln() } else { model }
        })
        .collect()
}

/// A convex problem whose optimum is known: V, W and an optimal H with its divergence.
pub struct Known {
    pub v: Mat<f64>,
    pub w: Mat<f64>,
    pub h: Mat<f64>,
    pub optimum: f64,
}

/// Draws W, an optimal H with zeros and a dual t = −y that satisfies the optimality conditions, and derives
/// V = t∘(WH): Wᵀt = Wᵀ1 on the atoms in use, ≤ elsewhere. With `zeros`, every eighth row of V is zero (t = 0
/// there): the case in which the support form matters.
pub fn known_optimum(seed: u64, n: usize, m: usize, r: usize, active: usize, zeros: bool) -> Known {
    let mut random = Random(seed);
    let mut w = random.matrix(n, r, 0.0, 1.0);
    // e is orthogonal to the active atoms, so t = 1 + e satisfies their conditions with equality.
    let mut e: Vec<f64> = (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect();
    let free: Vec<usize> = (0..n).filter(|i| !zeros || i % 8 != 0).collect();
    project_out(&mut e, &w, active, &free);
    let largest = free.iter().fold(0.0f64, |a, &i| a.max(e[i].abs()));
    e.iter_mut().for_each(|x| *x *= 0.5 / largest.max(1e-300));
    if zeros {
        // e = −1 on the zero rows. The others compensate with a correction in the span of the active atoms.
        (0..n).filter(|i| i % 8 == 0).for_each(|i| e[i] = -1.0);
        balance(&mut e, &w, active, &free);
        assert!(free.iter().all(|&i| e[i] > -1.0), "t must be positive on the support");
    }
    // The other atoms get less weight where e > 0, until their inequality holds strictly.
    for k in active..r {
        let part =
            |w: &Mat<f64>, sign: f64| -> f64 { (0..n).map(|i| w[(i, k)] * (sign * e[i]).max(0.0)).sum() };
        let (up, down) = (part(&w, 1.0), part(&w, -1.0));
        if up >= 0.9 * down {
            (0..n).filter(|&i| e[i] > 0.0).for_each(|i| w[(i, k)] *= 0.9 * down / up);
        }
    }
    let h = Mat::from_fn(r, m, |k, _| {
        let value = 10.0 * random.uniform();
        if k < active && random.uniform() > 0.1 { value + 0.1 } else { 0.0 }
    });
    let p = product(&w, &h);
    let v = Mat::from_fn(n, m, |i, j| (1.0 + e[i]) * p[(i, j)]);
    let optimum = naive_divergence(&v, &w, &h);
    Known { v, w, h, optimum }
}

/// Corrects e on the rows `free`, in the span of the first `active` columns of w, so that it is orthogonal to
/// them over all rows. Solves the normal equations by elimination.
fn balance(e: &mut [f64], w: &Mat<f64>, active: usize, free: &[usize]) {
    let mut system: Vec<Vec<f64>> = (0..active)
        .map(|k| {
            let row = (0..active).map(|l| free.iter().map(|&i| w[(i, k)] * w[(i, l)]).sum());
            let residual: f64 = (0..e.len()).map(|i| w[(i, k)] * e[i]).sum();
            row.chain([-residual]).collect()
        })
        .collect();
    for k in 0..active {
        let pivot = system[k].clone();
        for (_, row) in system.iter_mut().enumerate().filter(|(l, _)| *l != k) {
            let factor = row[k] / pivot[k];
            row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
        }
    }
    for k in 0..active {
        let step = system[k][active] / system[k][k];
        free.iter().for_each(|&i| e[i] += step * w[(i, k)]);
    }
}

/// Makes e zero outside the rows `free`, and orthogonal to the first `active` columns of w. Done twice
/// because of rounding errors.
fn project_out(e: &mut [f64], w: &Mat<f64>, active: usize, free: &[usize]) {
    (0..e.len()).filter(|i| !free.contains(i)).for_each(|i| e[i] = 0.0);
    balance(e, w, active, free);
    balance(e, w, active, free);
}

pub fn sparse(v: &Mat<f64>) -> Sparse<f64> {
    Sparse::from_dense(v)
}

pub fn close(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() <= relative * a.abs().max(b.abs())
}

/// Whether this process runs the test `me` alone. If not, starts such a process and waits for it.
pub fn alone(me: &str, variable: (&str, &str)) -> bool {
    if std::env::var_os("KLNMF_TEST_ALONE").is_some_and(|name| name == me) {
        return true;
    }
    let binary = std::env::current_exe().unwrap();
    let mut run = std::process::Command::new(binary);
    let run =
        run.args(["--exact", me]).env("KLNMF_TEST_ALONE", me).env(variable.0, variable.1).output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && said.contains("1 passed"), "{said}");
    false
}
