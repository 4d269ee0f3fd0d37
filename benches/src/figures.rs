//! `klnmf-bench speed`: how fast this machine runs the solvers, measured against what the machine can do.

use crate::cases::{scattered, uniform};
use crate::rows::Rows;
use crate::trace::Trace;
use crate::{check_output, memory, peers, picture, speed};
use anyhow::Context;
use clap::{Args, ValueEnum};
use klnmf::{Matrix, Scalar};
use std::path::PathBuf;

/// Measure the solvers on this machine: share of the GEMM rate, threads, growth, memory
///
/// Every figure is the best of several runs, and those that are compared are
/// measured in turn, so that a noisy machine does less harm. Without a file the
/// cases are generated: dense 361×2429 (r = 49, 32, 10), dense 250×2000 (r = 50),
/// and sparse 20000×8000 with 1 million non-zeros (r = 10).
///
/// With --peers, in a copy of the repository, scikit-learn runs too, from the same
/// W and H on as many threads, in a virtual environment that is made on first use;
/// the table tells when our solvers reach the divergence that it ends with.
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Figures {
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
    #[command(flatten)]
    peers: peers::Peers,
    /// Seconds that each method gets in comparisons
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Where to write the figures; the traces of a comparison go beside it, as .trace.csv and .svg
    #[arg(long, short, value_name = "FILE", default_value = "bench.csv")]
    out: PathBuf,
    /// Print the peak memory of a factorisation in bytes and nothing else
    #[arg(long, hide = true)]
    peak: bool,
}

/// Number formats.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Precision {
    F32,
    F64,
}

/// The cases that have been compared, with the traces of all methods.
type Compared = Vec<(String, Vec<Trace>)>;

impl Figures {
    pub fn run(self) -> anyhow::Result<()> {
        if self.peak {
            return self.print_peak();
        }
        anyhow::ensure!(
            self.seconds > 0.0 && self.seconds.is_finite(),
            "--seconds must be a positive number"
        );
        check_output(&self.out)?;
        let (mut rows, mut compared) = (Rows::default(), Compared::new());
        if self.precision != Some(Precision::F32) {
            self.measure::<f64>(&mut rows, &mut compared)?;
        }
        if self.precision != Some(Precision::F64) {
            self.measure::<f32>(&mut rows, &mut compared)?;
        }
        rows.write(&self.out)?;
        println!("figures      {}", self.out.display());
        if !compared.is_empty() {
            picture::write_beside(&self.out, &compared)?;
        }
        Ok(())
    }

    fn measure<T: Scalar>(&self, rows: &mut Rows, compared: &mut Compared) -> anyhow::Result<()> {
        if let Some(path) = &self.path {
            let table = self.read::<T>()?;
            let rank = self.rank.context("--rank is needed")?;
            let name = klnmf_io::file_name(path);
            return self.case(&format!("{name} r={rank}"), table.matrix.view(), rank, rows, compared);
        }
        let faces = uniform::<T>(361, 2429);
        for rank in [49, 32, 10] {
            self.case(&format!("dense 361x2429 r={rank}"), (&faces).into(), rank, rows, compared)?;
        }
        let synthetic = uniform::<T>(250, 2000);
        self.case("dense 250x2000 r=50", (&synthetic).into(), 50, rows, compared)?;
        let words = scattered::<T>(20_000, 8_000, 1_000_000)?;
        self.case("sparse 20000x8000 r=10", (&words).into(), 10, rows, compared)?;
        let more = scattered::<T>(20_000, 8_000, 2_000_000)?;
        speed::growth_sparse((&words).into(), (&more).into(), self.runs, rows)?;
        if T::NAME == "f64" {
            rows.case("dense 250x2000 r=32", T::NAME);
            speed::growth(self.runs, rows)?;
        }
        Ok(())
    }

    /// All figures of one matrix.
    fn case<T: Scalar>(
        &self,
        name: &str,
        v: Matrix<'_, T>,
        rank: usize,
        rows: &mut Rows,
        compared: &mut Compared,
    ) -> anyhow::Result<()> {
        rows.case(name, T::NAME);
        speed::measure(v, rank, self.runs, rows)?;
        let folder = tempfile::tempdir()?;
        memory::measure(&peers::write_matrix(folder.path(), v)?, v, rank, rows)?;
        if let Some(folder) = &self.peers.folder {
            let traces = peers::measure(folder, v, rank, self.seconds, rows)?;
            compared.push((format!("{name} {}", T::NAME), traces));
        }
        Ok(())
    }

    fn read<T: Scalar>(&self) -> anyhow::Result<klnmf_io::Table<T>> {
        let path = self.path.as_ref().context("a matrix is needed")?;
        let table = klnmf_io::read::<T>(path)?;
        Ok(if self.transpose { table.transpose() } else { table })
    }

    fn print_peak(&self) -> anyhow::Result<()> {
        let rank = self.rank.context("--rank is needed")?;
        let peak = if self.precision == Some(Precision::F32) {
            memory::peak::<f32>(self.read()?.matrix.view(), rank)?
        } else {
            memory::peak::<f64>(self.read()?.matrix.view(), rank)?
        };
        println!("{peak}");
        Ok(())
    }
}
