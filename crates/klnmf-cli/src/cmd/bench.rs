//! `klnmf bench`: how fast this machine runs the solvers, measured against what the machine can do.

use super::{Precision, thread_count};
use crate::summary;
use anyhow::Context;
use clap::Args;
use klnmf::{Mat, Matrix, Scalar, Settings, Solver, Sparse};
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Measure the solvers on this machine: share of the GEMM rate, threads, growth, memory
///
/// Every figure is the minimum of several runs, and those that are compared are
/// measured side by side, so that a noisy machine does less harm. Without a file
/// the cases are generated: dense 361×2429 (r = 49, 32, 10), dense 250×2000
/// (r = 50), and sparse 20000×8000 with 1 million non-zeros (r = 10).
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Bench {
    /// A matrix to measure on instead of the generated cases
    #[arg(value_name = "V", requires = "rank")]
    path: Option<PathBuf>,
    /// The rank for that matrix
    #[arg(long, short, value_name = "R")]
    rank: Option<usize>,
    /// The file holds samples × features: transpose it
    #[arg(long)]
    transpose: bool,
    /// Measure in one number format only
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    /// Runs of which the quickest counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Where to write the figures
    #[arg(long, short, value_name = "FILE", default_value = "bench.csv")]
    out: PathBuf,
}

/// One line of the result.
struct Row {
    case: String,
    precision: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
}

impl Bench {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        crate::input::check_outputs(self.path.as_slice(), std::slice::from_ref(&self.out))?;
        let mut rows = Vec::new();
        if self.precision != Some(Precision::F32) {
            self.measure::<f64>(&mut rows)?;
        }
        if self.precision != Some(Precision::F64) {
            self.measure::<f32>(&mut rows)?;
        }
        klnmf_io::atomically(&self.out, |out| {
            writeln!(out, "case,precision,what,value,unit")?;
            rows.iter().try_for_each(|r| {
                writeln!(out, "{},{},{},{},{}", r.case, r.precision, r.what, r.value, r.unit)
            })
        })?;
        summary::print(&format!("figures      {}\n", self.out.display()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn measure<T: Scalar>(&self, rows: &mut Vec<Row>) -> anyhow::Result<()> {
        if let Some(path) = &self.path {
            let table = klnmf_io::read::<T>(path)?;
            let table = if self.transpose { table.transpose() } else { table };
            let rank = self.rank.context("--rank is needed")?;
            return self.case(&path.display().to_string(), table.matrix.view(), rank, rows);
        }
        let faces = uniform::<T>(361, 2429);
        for rank in [49, 32, 10] {
            self.case(&format!("dense 361x2429 r={rank}"), (&faces).into(), rank, rows)?;
        }
        let synthetic = uniform::<T>(250, 2000);
        self.case("dense 250x2000 r=50", (&synthetic).into(), 50, rows)?;
        self.growth(
            "dense 250x2000 r=32",
            [(250, 2000, 32), (500, 2000, 32), (250, 4000, 32), (250, 2000, 64)],
            rows,
        )?;
        let words = scattered::<T>(20_000, 8_000, 1_000_000)?;
        self.case("sparse 20000x8000 r=10", (&words).into(), 10, rows)?;
        let more = scattered::<T>(20_000, 8_000, 2_000_000)?;
        let once = self.access((&words).into(), 10, Solver::Mu, 1)?;
        let twice = self.access((&more).into(), 10, Solver::Mu, 1)?;
        self.tell(rows, "sparse 20000x8000 r=10", T::NAME, "time when nnz doubles", twice / once, "x")
    }

    /// All figures of one matrix.
    fn case<T: Scalar>(
        &self,
        name: &str,
        v: Matrix<'_, T>,
        rank: usize,
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<()> {
        let (n, m) = (v.rows() as f64, v.cols() as f64);
        // A pass is two products, and an access is a pass for each factor: eight flops an entry and atom.
        let flops = 8.0 * if v.is_sparse() { v.stored() as f64 } else { n * m } * rank as f64;
        let gemm = (!v.is_sparse()).then(|| gemm_rate::<T>(v.rows(), v.cols(), rank, self.runs));
        if let Some(gemm) = gemm {
            self.tell(rows, name, T::NAME, "GEMM on one thread", gemm / 1e9, "GF/s")?;
        }
        let threads = thread_count(0);
        for solver in [Solver::Mu, Solver::Fpa] {
            let (one, all) = (self.access(v, rank, solver, 1)?, self.access(v, rank, solver, threads)?);
            let solver = solver.name();
            self.tell(rows, name, T::NAME, &format!("{solver} access on one thread"), 1e3 * one, "ms")?;
            self.tell(
                rows,
                name,
                T::NAME,
                &format!("{solver} access on {threads} threads"),
                1e3 * all,
                "ms",
            )?;
            self.tell(
                rows,
                name,
                T::NAME,
                &format!("{solver} speed-up of {threads} threads"),
                one / all,
                "x",
            )?;
            if let Some(gemm) = gemm {
                self.tell(
                    rows,
                    name,
                    T::NAME,
                    &format!("{solver} share of GEMM"),
                    100.0 * flops / one / gemm,
                    "%",
                )?;
            }
        }
        let (access, certificate) = (self.access(v, rank, Solver::Mu, 1)?, self.certificate(v, rank)?);
        self.tell(rows, name, T::NAME, "certificate over one MU access", certificate / access, "x")
    }

    /// How time grows when a size doubles.
    fn growth(
        &self,
        name: &str,
        sizes: [(usize, usize, usize); 4],
        rows: &mut Vec<Row>,
    ) -> anyhow::Result<()> {
        let mut times = Vec::new();
        for (n, m, r) in sizes {
            let v = uniform::<f64>(n, m);
            times.push(self.access((&v).into(), r, Solver::Mu, 1)?);
        }
        for (what, time) in ["n", "m", "r"].into_iter().zip(&times[1..]) {
            self.tell(rows, name, "f64", &format!("time when {what} doubles"), time / times[0], "x")?;
        }
        Ok(())
    }

    /// Seconds of the quickest access, without the certificates.
    fn access<T: Scalar>(
        &self,
        v: Matrix<'_, T>,
        rank: usize,
        solver: Solver,
        threads: usize,
    ) -> anyhow::Result<f64> {
        // The first ten accesses warm the caches up, and fpa itself.
        let settings =
            Settings { solver, threads, max_iter: 30, tol: 0.0, check_every: Some(1), ..Settings::default() };
        let (w, h) = klnmf::init(v, rank, &settings)?;
        let mut best = f64::INFINITY;
        for _ in 0..self.runs.max(1) {
            let mut last = None;
            klnmf::factorize_from(v, w.clone(), h.clone(), &settings, |info| {
                if let Some((iteration, seconds)) = last.replace((info.iteration, info.seconds))
                    && iteration >= 10
                {
                    best = best.min((info.seconds - seconds) / (info.iteration - iteration) as f64);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(best)
    }

    /// Seconds of one certificate on one thread: both gaps and the divergence.
    fn certificate<T: Scalar>(&self, v: Matrix<'_, T>, rank: usize) -> anyhow::Result<f64> {
        let settings =
            Settings { threads: 1, max_iter: 10, tol: 0.0, check_every: Some(1), ..Settings::default() };
        let settings = Settings { solver: Solver::Mu, ..settings };
        let (w, h) = klnmf::init(v, rank, &settings)?;
        let mut best = f64::INFINITY;
        for _ in 0..self.runs.max(1) {
            let mut last: Option<(Instant, f64)> = None;
            klnmf::factorize_from(v, w.clone(), h.clone(), &settings, |info| {
                let now = Instant::now();
                if let Some((then, worked)) = last.replace((now, info.seconds)) {
                    best = best.min((now - then).as_secs_f64() - (info.seconds - worked));
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(best)
    }

    fn tell(
        &self,
        rows: &mut Vec<Row>,
        case: &str,
        precision: &'static str,
        what: &str,
        value: f64,
        unit: &'static str,
    ) -> anyhow::Result<()> {
        let mut line = String::new();
        write!(line, "{case:<24} {precision} {what:<34} {value:8.2} {unit}")?;
        summary::print(&(line + "\n"))?;
        rows.push(Row { case: case.into(), precision, what: what.into(), value, unit });
        Ok(())
    }
}

/// Flops a second of a general product W·H of this shape on one thread.
fn gemm_rate<T: Scalar>(n: usize, m: usize, r: usize, runs: usize) -> f64 {
    let (w, h, mut p) = (uniform::<T>(n, r), uniform::<T>(r, m), Mat::<T>::zeros(n, m));
    let mut best = f64::INFINITY;
    for _ in 0..2 * runs.max(1) {
        let begun = Instant::now();
        // Safety: the three matrices have the sizes and the strides that are given here, and p is borrowed mutably.
        unsafe {
            gemm::gemm(
                n,
                m,
                r,
                p.as_mut_slice().as_mut_ptr(),
                n as isize,
                1,
                false,
                w.as_slice().as_ptr(),
                n as isize,
                1,
                h.as_slice().as_ptr(),
                r as isize,
                1,
                T::ONE,
                T::ONE,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    2.0 * (n * m * r) as f64 / best
}

/// Numbers from 0 to 750, as in the paper's synthetic data; the same on every run.
fn uniform<T: Scalar>(n: usize, m: usize) -> Mat<T> {
    let mut random = Random(1);
    Mat::from_fn(n, m, |_, _| T::from_f64(750.0 * random.uniform() + 0.01))
}

/// Counts in random places, the rows with very different frequencies, like words.
fn scattered<T: Scalar>(rows: usize, cols: usize, entries: usize) -> klnmf::Result<Sparse<T>> {
    Sparse::from_triplets(rows, cols, klnmf::Order::Columns, |put| {
        let mut random = Random(2);
        (0..entries).try_for_each(|_| {
            let u = random.uniform();
            let row = (u * u * u * rows as f64) as usize;
            let col = (random.uniform() * cols as f64) as usize;
            put(row.min(rows - 1), col.min(cols - 1), T::ONE)
        })
    })
}

/// SplitMix64: small, and good enough for bench data.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}
