//! `klnmf decompose`: the weights of V for a given dictionary.

use super::{Data, Output, Precision, parse_seconds, thread_count};
use crate::{input, interrupt, progress, summary};
use clap::Args;
use klnmf::{DecomposeSettings, Decomposition, Mat, Scalar, Status};
use klnmf_io::{Model, Table};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Explain V by a given dictionary W: the best H, certified column by column
///
/// The problem is convex: the gap of a column bounds its distance to the one optimum. The result holds H and, for every
/// column, divergence, gap and steps.
///
/// Examples:
///   klnmf decompose catalogue.npy --dictionary signatures.npy --tol 1e-8
///   klnmf decompose new_documents.npz --dictionary model.npz --simplex
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Decompose {
    #[command(flatten)]
    data: Data,
    /// The dictionary: a matrix with as many rows as V, or a model.npz
    #[arg(long, short, value_name = "W")]
    dictionary: PathBuf,
    /// Weights of every column sum to 1, as in a topic model; atoms are scaled to sum 1 first
    #[arg(long)]
    simplex: bool,
    /// A column is done when its gap is below this times its sum; 0 never stops early
    #[arg(long, value_name = "GAP", default_value_t = 1e-6)]
    tol: f64,
    /// The most steps for a column
    #[arg(long, value_name = "N", default_value_t = 5000)]
    max_iter: usize,
    /// Stop after this many seconds; columns not begun keep an even start
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Where to write H, W and the arrays divergence, gap, iterations
    #[arg(long, short, value_name = "FILE", default_value = "weights.npz")]
    out: PathBuf,
    /// Also write H as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Decompose {
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.data.precision {
            Precision::F32 => self.run_in::<f32>(),
            Precision::F64 => self.run_in::<f64>(),
        }
    }

    fn run_in<T: Scalar>(self) -> anyhow::Result<ExitCode> {
        let stop = interrupt::flag();
        let settings =
            DecomposeSettings { tol: self.tol, max_iter: self.max_iter, threads: self.data.threads };
        settings.validate()?;
        let table = input::read::<T>(&self.data)?;
        let w = self.dictionary::<T>()?;
        let outputs: Vec<PathBuf> =
            [Some(&self.out), self.csv.as_ref()].into_iter().flatten().cloned().collect();
        input::check_outputs(&outputs)?;

        let v = table.matrix.view();
        let bar = progress::bar(v.cols(), self.output.quiet);
        let begun = Instant::now();
        let late = || self.time_limit.is_some_and(|limit| begun.elapsed() >= limit);
        let found = klnmf::decompose_with(v, &w, &settings, &|done| {
            bar.set_position(done as u64);
            if stop.load(Ordering::Relaxed) || late() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let seconds = begun.elapsed().as_secs_f64();
        bar.finish_and_clear();
        let mut found = input::about(&self.data, found)?;
        let interrupted = stop.load(Ordering::Relaxed);
        if found.status == Status::Stopped && !interrupted {
            found.status = Status::TimeLimit;
        }
        if self.simplex {
            onto_simplex(&mut found.h);
        }
        let facts = self.facts(&found, &table, seconds);
        self.write(&table, w, &found, &facts)?;
        self.tell(&found, &table, facts)?;
        Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
    }

    /// The dictionary, its atoms scaled to sum 1 if the weights are to lie on the simplex.
    fn dictionary<T: Scalar>(&self) -> anyhow::Result<Mat<T>> {
        let mut w: Mat<T> = read_dictionary(&self.dictionary)?;
        if self.simplex {
            for k in 0..w.cols() {
                let sum: f64 = w.col(k).iter().map(|x| x.to_f64()).sum();
                if sum > 0.0 {
                    w.col_mut(k).iter_mut().for_each(|x| *x *= T::from_f64(1.0 / sum));
                }
            }
        }
        Ok(w)
    }

    fn facts<T: Scalar>(
        &self,
        found: &Decomposition<T>,
        table: &Table<T>,
        seconds: f64,
    ) -> Map<String, Value> {
        let v = table.matrix.view();
        let object = json!({
            "solver": "fpa",
            "status": summary::status(found.status),
            "iterations": found.columns.iter().map(|c| c.iterations).max().unwrap_or(0),
            "seconds": seconds,
            "divergence": summary::number(found.divergence()),
            "gap_w": Value::Null,
            "gap_h": summary::number(found.gap()),
            "rank": found.h.rows(),
            "shape": [v.rows(), v.cols()],
            "nnz": v.nnz(),
            "precision": T::NAME,
            "threads": thread_count(self.data.threads),
            "seed": Value::Null,
            "unconverged": found.unconverged(),
            "simplex": self.simplex,
        });
        object.as_object().cloned().unwrap_or_default()
    }

    fn write<T: Scalar>(
        &self,
        table: &Table<T>,
        w: Mat<T>,
        found: &Decomposition<T>,
        facts: &Map<String, Value>,
    ) -> anyhow::Result<()> {
        let mut metadata = facts.clone();
        metadata.remove("seconds");
        metadata.remove("threads");
        metadata.insert("klnmf".into(), json!(env!("CARGO_PKG_VERSION")));
        metadata.insert("tol".into(), json!(self.tol));
        let column = |name: &str, f: &dyn Fn(&klnmf::ColumnInfo) -> f64| {
            (name.to_owned(), found.columns.iter().map(f).collect::<Vec<f64>>())
        };
        let model = Model {
            w,
            h: found.h.clone(),
            metadata: Value::Object(metadata).to_string(),
            row_names: table.row_names.clone(),
            col_names: table.col_names.clone(),
            columns: vec![
                column("divergence", &|c| c.divergence),
                column("gap", &|c| c.gap),
                column("iterations", &|c| c.iterations as f64),
            ],
        };
        klnmf_io::write_model(&self.out, &model)?;
        if let Some(path) = &self.csv {
            let parts: Vec<String> = (1..=found.h.rows()).map(|k| format!("part{k}")).collect();
            klnmf_io::write_csv(path, &found.h, Some(&parts), table.col_names.as_deref())?;
        }
        Ok(())
    }

    fn tell<T: Scalar>(
        &self,
        found: &Decomposition<T>,
        table: &Table<T>,
        facts: Map<String, Value>,
    ) -> anyhow::Result<()> {
        if self.output.json {
            return summary::print_json(facts);
        }
        if self.output.quiet {
            return Ok(());
        }
        let v = table.matrix.view();
        let (sum, gap) = (v.sum(), found.gap());
        let relative = if sum > 0.0 { gap / sum } else { 0.0 };
        let done = v.cols() - found.unconverged();
        summary::print(&format!(
            "V            {} × {}, {} atoms\n\
             fpa          {done} of {} columns within the tolerance of {:.0e}, in {:.2} s\n\
             divergence   {:.8e}\n\
             certificate  no other weights can gain more than {gap:.3e} (relative {relative:.1e})\n\
             weights      {}\n",
            v.rows(),
            v.cols(),
            found.h.rows(),
            v.cols(),
            self.tol,
            facts["seconds"].as_f64().unwrap_or_default(),
            found.divergence(),
            self.out.display()
        ))
    }
}

/// W of a model, or a dense matrix.
fn read_dictionary<T: Scalar>(path: &Path) -> anyhow::Result<Mat<T>> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"))
        && klnmf_io::peek(path)?.kind == "klnmf model"
    {
        return Ok(klnmf_io::read_model(path)?.w);
    }
    Ok(klnmf_io::read_dense(path)?)
}

/// With atoms that sum to 1 the optimum on the simplex is the free optimum divided by its sum: min Σ −a·log(Kx) subject
/// to Σx = 1 and min Σ −a·log(Kx) + Σx differ by the scale of x alone. Divergence and gap carry over unchanged. An empty
/// column says nothing, and gets even weights.
fn onto_simplex<T: Scalar>(h: &mut Mat<T>) {
    let even = T::from_f64(1.0 / h.rows() as f64);
    for j in 0..h.cols() {
        let sum: f64 = h.col(j).iter().map(|x| x.to_f64()).sum();
        h.col_mut(j)
            .iter_mut()
            .for_each(|x| *x = if sum > 0.0 { T::from_f64(x.to_f64() / sum) } else { even });
    }
}
