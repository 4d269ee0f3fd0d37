//! `klnmf factorize`: V ≈ W·H.

use super::{Data, Output, Precision, metadata, note_rank, parse_seconds, solvers, thread_count};
use crate::{input, interrupt, progress, summary};
use anyhow::{Context, bail};
use clap::Args;
use klnmf::{Info, Init, Mat, Matrix, Problem, Scalar, Settings, Solution, Solver, Status};
use klnmf_io::{Model, Table};
use klnmf_report::Report;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Factor V into parts W and weights H, both non-negative
///
/// Columns of W sum to 1. The part with the largest share of W·H comes first; parts
/// that --init gives keep their order, and added ones follow. The single-factor gaps
/// gap_w and gap_h bound what changing W alone or H alone could still gain; another
/// start may end lower, so try several seeds. The run stops when both gaps are at
/// most --tol times the divergence, or at a limit. Ctrl-C saves the model so far; a
/// second Ctrl-C quits at once.
///
/// Examples:
///   klnmf factorize counts.mtx.gz --rank 10
///   klnmf factorize cells.npz --transpose --rank 20 --report report.html
///   klnmf factorize V.npy --init model.npz --rank 12   (continue, with more parts)
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Factorize {
    #[command(flatten)]
    data: Data,
    /// Number of parts; optional with --init MODEL, and then at least the model's
    #[arg(
        long,
        short = 'k',
        visible_aliases = ["components", "topics"],
        value_name = "R",
        required_unless_present = "init",
        allow_negative_numbers = true
    )]
    rank: Option<usize>,
    /// Solver; auto is the right choice unless you compare methods
    #[arg(long, value_name = "SOLVER", value_parser = solvers::any(), default_value_t = Solver::Auto)]
    solver: Solver,
    /// Start: random, nndsvd, a model.npz to continue from, or W0.npy,H0.npy [default: random]
    #[arg(long, value_name = "START")]
    init: Option<String>,
    /// Steps on each factor per iteration [default: depends on the solver]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    inner: Option<usize>,
    /// Maximum number of iterations; one iteration updates H and W
    #[arg(
        long,
        value_name = "N",
        default_value_t = Settings::default().max_iter,
        allow_negative_numbers = true
    )]
    max_iter: usize,
    /// Tolerance, relative to the divergence: stop when both gaps are at most this times the divergence, or
    /// times 1e-5 of the sum of V if the fit is nearly exact (in f32: 1e-2 of the sum); 0 never stops early
    #[arg(long, value_name = "GAP", default_value_t = Settings::default().tol, allow_negative_numbers = true)]
    tol: f64,
    /// Time limit in seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    time_limit: Option<Duration>,
    /// Seed of the random start; the same seed gives the same model
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Penalty of admm and admm-authors [default for admm: 10, with V in units of its mean]
    #[arg(long, value_name = "RHO", allow_negative_numbers = true)]
    rho: Option<f64>,
    /// File for the model: arrays W, H, metadata and names, readable by numpy
    #[arg(long, short, value_name = "FILE", default_value = "model.npz")]
    out: PathBuf,
    /// Also write W and H as CSV, to PREFIX_W.csv and PREFIX_H.csv
    #[arg(long, value_name = "PREFIX")]
    csv: Option<String>,
    /// Write one CSV line per iteration: iteration,seconds,divergence,gap_w,gap_h
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write a self-contained HTML page that shows the convergence and the parts
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// V, prepared, and the factors to start from, of which so many parts are given.
struct Start<'v, T: Scalar> {
    problem: Problem<'v, T>,
    w: Mat<T>,
    h: Mat<T>,
    given: usize,
}

impl Factorize {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        match self.data.precision {
            Some(Precision::F32) => self.run_in::<f32>(command),
            _ => self.run_in::<f64>(command),
        }
    }

    fn run_in<T: Scalar>(self, command: &str) -> anyhow::Result<ExitCode> {
        let settings = Settings { stop: Some(interrupt::flag()), ..self.settings() };
        settings.validate()?;
        self.check_options()?;
        input::check_outputs(&self.data.files(), &self.outputs())?;
        input::check_model_name("--out", &self.out)?;
        interrupt::nothing_to_save();
        let table = input::read::<T>(&self.data)?;
        let v = table.matrix.view();
        if let Some(rank) = self.rank {
            input::about(&self.data, klnmf::check_rank(v, rank))?;
            input::check_memory(&self.data.path, v, rank, self.data.threads, 0)?;
        }
        let Start { problem, w, h, given } = self.start(&table, &settings)?;
        note_rank(&self.output, (v.rows(), v.cols()), h.rows());

        let bar = progress::bar(self.max_iter, self.output.quiet);
        let mut trace = Vec::new();
        let run = input::about(&self.data, problem.run(w, h, &settings))?.sort_from(given);
        interrupt::something_to_save();
        let solution = run.to_end(|info| {
            progress::show(&bar, info);
            trace.push(*info);
            ControlFlow::Continue(())
        });
        bar.finish_and_clear();
        drop(problem);
        let solution = input::about(&self.data, solution)?;

        let mut facts = self.facts(&solution, v);
        self.write(&table, &solution, &trace, &facts, command)?;
        facts.insert("command".into(), json!(command));
        self.tell(&solution, v, facts)?;
        Ok(if solution.status == Status::Stopped {
            ExitCode::from(interrupt::EXIT_CODE)
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Rejects options that have no effect together.
    fn check_options(&self) -> anyhow::Result<()> {
        if self.rho.is_some() && !matches!(self.solver, Solver::Admm | Solver::AdmmAuthors) {
            bail!("--rho is the penalty of admm: use it with --solver admm or admm-authors, or leave it out");
        }
        Ok(())
    }

    fn settings(&self) -> Settings {
        Settings {
            solver: self.solver,
            mixed: self.data.precision.map(|p| p == Precision::Mixed),
            inner: self.inner,
            max_iter: self.max_iter,
            tol: self.tol,
            time_limit: self.time_limit,
            // A trace has a line for every iteration.
            check_every: self.trace.is_some().then_some(1),
            init: if self.init.as_deref() == Some("nndsvd") { Init::Nndsvd } else { Init::Random },
            seed: self.seed,
            threads: self.data.threads,
            rho: self.rho,
            ..Settings::default()
        }
    }

    /// V, prepared, and the start that --init and --rank describe. A given start is checked before V is
    /// prepared, because V can be large.
    fn start<'v, T: Scalar>(&self, table: &'v Table<T>, settings: &Settings) -> anyhow::Result<Start<'v, T>> {
        let v = table.matrix.view();
        let prepare = || input::about(&self.data, Problem::new(v, settings.threads));
        let given = match self.init.as_deref() {
            None | Some("random" | "nndsvd") => {
                let rank = self.rank.context("--rank is missing: give the number of parts")?;
                let problem = prepare()?;
                let (w, h) = input::about(&self.data, problem.init(rank, settings))?;
                return Ok(Start { problem, w, h, given: 0 });
            }
            Some(given) => given,
        };
        let (w, h) = match given.split_once(',') {
            Some((w, h)) => {
                (klnmf_io::read_dense(Path::new(w.trim()))?, klnmf_io::read_dense(Path::new(h.trim()))?)
            }
            None if given.ends_with(".npz") => {
                let model = klnmf_io::read_model::<T>(Path::new(given))?;
                input::same_names(given, &model.row_names, &table.row_names)?;
                (model.w, model.h)
            }
            None => bail!("--init {given}: give random, nndsvd, a model.npz, or two files as W0.npy,H0.npy"),
        };
        klnmf::check_factors(v, &w, &h).with_context(|| format!("--init {given}"))?;
        let old = h.rows();
        let (w, h) = match self.rank {
            Some(rank) if rank < old => {
                bail!(
                    "--rank {rank} is smaller than the {old} parts of --init {given}: a model can only grow; \
                     give a larger rank"
                )
            }
            Some(rank) if rank > old => klnmf::grow(&w, &h, rank, self.seed)?,
            _ => (w, h),
        };
        Ok(Start { problem: prepare()?, w, h, given: old })
    }

    fn outputs(&self) -> Vec<PathBuf> {
        let csv = self.csv.iter().flat_map(|prefix| csv_names(prefix));
        [&self.trace, &self.report]
            .into_iter()
            .flatten()
            .cloned()
            .chain([self.out.clone()])
            .chain(csv)
            .collect()
    }

    fn write<T: Scalar>(
        &self,
        table: &Table<T>,
        solution: &Solution<T>,
        trace: &[Info],
        facts: &Map<String, Value>,
        command: &str,
    ) -> anyhow::Result<()> {
        let (rows, cols) = (&table.row_names, &table.col_names);
        let model = Model {
            w: solution.w.clone(),
            h: solution.h.clone(),
            metadata: metadata(
                facts,
                command,
                json!({
                    "init": self.init.as_deref().unwrap_or("random"),
                    "tol": self.tol,
                    "data_hash": klnmf_io::data_hash_text(table.matrix.view()),
                }),
            ),
            row_names: rows.clone(),
            col_names: cols.clone(),
            part_names: None,
            columns: Vec::new(),
        };
        klnmf_io::write_model(&self.out, &model)?;
        if let Some(prefix) = &self.csv {
            let parts: Vec<String> = (1..=solution.h.rows()).map(|k| format!("part{k}")).collect();
            let [w_name, h_name] = csv_names(prefix);
            klnmf_io::write_csv(&w_name, &solution.w, rows.as_deref(), Some(&parts))?;
            klnmf_io::write_csv(&h_name, &solution.h, Some(&parts), cols.as_deref())?;
        }
        if let Some(path) = &self.trace {
            write_trace(path, trace)?;
        }
        if let Some(path) = &self.report {
            Report { input: &self.data.path, table, solution, trace, facts }.write(path)?;
        }
        Ok(())
    }

    /// The keys and values of the JSON output.
    fn facts<T: Scalar>(&self, solution: &Solution<T>, v: Matrix<'_, T>) -> Map<String, Value> {
        let info = &solution.info;
        let object = json!({
            "solver": self.solver.name(),
            "status": summary::status(solution.status),
            "iterations": info.iteration,
            "seconds": info.seconds,
            "divergence": summary::number(info.divergence),
            "gap_w": summary::number(info.gap_w),
            "gap_h": summary::number(info.gap_h),
            "relative_gap": summary::number(info.relative_gap()),
            "sum": info.sum,
            "rank": solution.h.rows(),
            "shape": [v.rows(), v.cols()],
            "nnz": v.nnz(),
            "precision": info.precision.name(),
            "threads": thread_count(self.data.threads),
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
        });
        object.as_object().cloned().unwrap_or_default()
    }

    fn tell<T: Scalar>(
        &self,
        solution: &Solution<T>,
        v: Matrix<'_, T>,
        facts: Map<String, Value>,
    ) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let info = &solution.info;
            let storage = if v.is_sparse() { "sparse" } else { "dense" };
            let mut text =
                format!("V            {} × {}, {storage}, sum {:.6e}\n", v.rows(), v.cols(), info.sum);
            text += &format!(
                "{:<12} {} after {} iterations in {:.2} s\n",
                facts["solver"].as_str().unwrap_or_default(),
                solution.status.name(),
                info.iteration,
                info.seconds
            );
            text += &certificate_text(info);
            if matches!(solution.status, Status::IterationLimit | Status::TimeLimit) {
                let limit = if solution.status == Status::TimeLimit { "--time-limit" } else { "--max-iter" };
                let how =
                    if self.solver == Solver::Auto { String::new() } else { ", or use --solver auto".into() };
                text += &format!(
                    "advice       to get closer: raise {limit}, or continue with --init {}{how}\n",
                    self.out.display()
                );
            }
            text += &format!(
                "model        {} (W {} × {}, H {} × {})\n",
                self.out.display(),
                solution.w.rows(),
                solution.w.cols(),
                solution.h.rows(),
                solution.h.cols()
            );
            for (what, path) in [("trace", &self.trace), ("report", &self.report)] {
                text +=
                    &path.as_ref().map_or(String::new(), |path| format!("{what:<12} {}\n", path.display()));
            }
            text
        })
    }
}

/// The divergence and the single-factor gaps as text.
pub fn certificate_text(info: &Info) -> String {
    if !info.divergence.is_finite() || !info.gap_h.is_finite() {
        return format!(
            "divergence   {:.8e}\ngaps         infinite: the model is zero where V is not; use solver fpa, \
             or start from other factors\n",
            info.divergence
        );
    }
    let relative = |x: f64| if info.sum > 0.0 { x / info.sum } else { 0.0 };
    format!(
        "divergence   {:.8e} ({:.3} % of the sum)\n\
         gaps         changing W alone can gain at most {:.3e}, H alone {:.3e} (relative gap {:.1e})\n\
         left         {}\n",
        info.divergence,
        100.0 * relative(info.divergence),
        info.gap_w,
        info.gap_h,
        info.relative_gap(),
        info.left()
    )
}

fn csv_names(prefix: &str) -> [PathBuf; 2] {
    ["W", "H"].map(|factor| PathBuf::from(format!("{prefix}_{factor}.csv")))
}

/// Writes the trace: a line for every iteration, and the start only if there was no iteration.
fn write_trace(path: &Path, trace: &[Info]) -> anyhow::Result<()> {
    let lines = trace.iter().filter(|info| info.iteration > 0 || trace.len() == 1);
    klnmf_io::atomically(path, |out| {
        writeln!(out, "iteration,seconds,divergence,gap_w,gap_h")?;
        lines.clone().try_for_each(|i| {
            writeln!(out, "{},{:.6},{},{},{}", i.iteration, i.seconds, i.divergence, i.gap_w, i.gap_h)
        })
    })?;
    Ok(())
}
