//! `klnmf factorize`: V ≈ W·H.

mod told;

use super::checkpoint::{self, Checkpoints};
use super::{Data, Output, Precision, choices, metadata, note_rank, parse_seconds, thread_count, trace};
use crate::disk::{self, Source};
use crate::{input, interrupt, outputs, progress, summary};
use anyhow::{Context, bail};
use clap::Args;
use klnmf::{Info, Init, Mat, Matrix, Problem, Scalar, Settings, Solution, Solver, Status};
use klnmf_io::{Checkpoint, Model, Table, Target};
use klnmf_report::Report;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Factor V into parts W and weights H, both non-negative
///
/// Columns of W sum to 1. The part with the largest share of W·H comes first; parts
/// that --init gives keep their order, and added ones follow. The single-factor gaps
/// gap_w and gap_h bound what changing W alone or H alone could still gain; another
/// start may end lower, so try several with --starts. The run stops when both gaps are at
/// most --tol times the divergence, or at a limit. Ctrl-C saves the model so far; a
/// second Ctrl-C quits at once. With --checkpoint a run that is killed can be resumed.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf factorize counts.mtx.gz --rank 10
  klnmf factorize cells.npz --transpose --rank 20 --report report.html
  klnmf factorize V.npy --init V-r10.npz --rank 12           # more parts
  klnmf factorize V.npy --rank 50 --checkpoint run.npz
  klnmf factorize V.npy --rank 50 --resume run.npz --force   # go on"
)]
pub struct Factorize {
    #[command(flatten)]
    data: Data,
    /// Number of parts; optional with --init MODEL, and then at least the model's
    #[arg(
        long,
        short = 'k',
        visible_aliases = ["components", "topics"],
        value_name = "R",
        required_unless_present_any = ["init", "resume"]
    )]
    rank: Option<usize>,
    /// Solver; auto is the right choice unless you compare methods
    #[arg(long, value_name = "SOLVER", value_parser = choices::any_solver(), default_value_t = Solver::Auto)]
    solver: Solver,
    /// Start: random, nndsvd, a model.npz to continue from, or W0.npy,H0.npy [default: random]
    #[arg(long, value_name = "START")]
    init: Option<String>,
    /// Steps on each factor per iteration [default: depends on the solver]
    #[arg(long, value_name = "N")]
    inner: Option<usize>,
    /// Maximum number of iterations; one iteration updates H and W
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_iter)]
    max_iter: usize,
    /// Tolerance, relative to the divergence: stop when both gaps are at most this times the divergence, or
    /// times 1e-5 of the sum of V if the fit is nearly exact (in f32: 1e-2 of the sum); 0 never stops early
    #[arg(long, value_name = "GAP", default_value_t = Settings::default().tol)]
    tol: f64,
    /// Time limit in seconds
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// Number of starts, of which the best is kept; their seeds are --seed and those after it. Most are
    /// stopped early: all take about twice the work of the first, and more than 2.5 times only if another
    /// turns out lower
    #[arg(long, value_name = "N", default_value_t = 1)]
    starts: usize,
    /// Seed of the random start; the same seed gives the same model
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Penalty of admm and admm-authors [default for admm: 10, with V in units of its mean]
    #[arg(long, value_name = "RHO")]
    rho: Option<f64>,
    /// File for the model: arrays W, H, metadata and names, readable by numpy [default: named after V and
    /// the rank, such as counts-r10.npz]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
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
    checkpoints: Checkpoints,
    #[command(flatten)]
    output: Output,
}

/// V, prepared, and the factors to start from, of which so many parts are given, with their names. A run that
/// is resumed needs no factors.
struct Start<'v, T: Scalar> {
    problem: Problem<'v, T>,
    factors: Option<(Mat<T>, Mat<T>)>,
    given: usize,
    names: Option<Vec<String>>,
}

impl Factorize {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        match self.data.precision {
            Some(Precision::F32) => self.run_in::<f32>(command),
            _ => self.run_in::<f64>(command),
        }
    }

    fn run_in<T: Scalar>(mut self, command: &str) -> anyhow::Result<ExitCode> {
        let settings = self.settings();
        settings.validate()?;
        self.check_options()?;
        interrupt::flag();
        interrupt::nothing_to_save();
        let stored = self.checkpoints.read()?;
        self.rank = self.rank.or(stored.as_ref().map(Checkpoint::rank));
        outputs::check(&self.inputs(), &self.outputs(), self.force)?;
        outputs::check_model_name("--out", &self.out())?;
        self.checkpoints.check_file()?;
        let given = || disk::parts_in(Path::new(self.init.as_deref().unwrap_or_default()));
        let about = (self.rank.unwrap_or_else(given), self.solver);
        let source = Source::<T>::open(&self.data, about, &self.output)?;
        let v = source.table.matrix.view();
        if let Some(rank) = self.rank {
            input::about(&self.data, klnmf::check_rank(v, rank))?;
            // Every other start has its own factors.
            let memory = klnmf::memory(v, rank, 1);
            let more = 12 * (self.starts as u128 - 1) * memory.factors + memory.beyond(self.solver);
            input::check_memory(&self.data.path, v, rank, self.data.threads, more)?;
        }
        let hash = source.hash(&self.data)?;
        let fingerprint = klnmf_io::fingerprint::<T>(&hash, source.is_sparse());
        let shape = (v.rows(), v.cols());
        if let Some(stored) = &stored {
            self.checkpoints.check(stored, shape, &fingerprint, self.rank)?;
        }
        let Start { problem, factors, given, names } = self.start(&source, &settings, stored.as_ref())?;
        if let Some((_, h)) = &factors {
            note_rank(&self.output, shape, h.rows());
        }

        let bar = progress::bar(self.max_iter, self.output.quiet);
        let (mut trace, begun) = (Vec::new(), Instant::now());
        let run = match (factors, &stored) {
            (Some((w, h)), _) => problem.run(w, h, &settings),
            (None, Some(stored)) => problem.resume(&stored.state, &settings),
            (None, None) => unreachable!("a start has factors or a state"),
        };
        let run = input::about_table(&self.data, &source.table, run)?.sort_from(given);
        let mut saver = self.checkpoints.saver(shape, fingerprint, given, names.clone(), self.force);
        interrupt::something_to_save();
        let solution = run.to_end_with(|run| {
            if run.shows() {
                progress::show(&bar, run.info());
                self.output.tell(|| progress::line(run.info()));
                trace.push(*run.info());
            }
            // The state is saved before the run ends, because the end scales the factors.
            let stop = interrupt::flag().load(Ordering::Relaxed);
            // A state from lines that could not be read is worthless, and the run ends with an error.
            if problem.check().is_ok() {
                checkpoint::save(&mut saver, run, stop || run.ended().is_some());
            }
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        problem.check()?;
        if self.starts > 1 {
            bar.set_message(format!("the other {} starts", self.starts - 1));
        }
        let stop = Settings { stop: Some(interrupt::flag()), ..settings.clone() };
        let solution = solution.and_then(|first| {
            let divergence = first.info.divergence;
            let best = problem.challenge(first, &stop, begun)?;
            if best.info.divergence < divergence {
                // These are the iterations of the first start, not those of the model.
                trace.clear();
            }
            Ok(best)
        });
        bar.finish_and_clear();
        drop(problem);
        let solution = input::about(&self.data, solution)?;

        self.output.tell(|| format!("writing {}", self.out().display()));
        let mut facts = self.facts(&solution, v);
        facts["data_hash"] = json!(hash);
        facts["nnz"] = json!(source.nnz());
        self.write(&source.table, names, &solution, &trace, &facts, command)?;
        facts["command"] = json!(command);
        self.tell(&solution, v, source.is_sparse(), facts)?;
        Ok(interrupt::exit_code(solution.status == Status::Stopped))
    }

    /// Rejects options that have no effect together.
    fn check_options(&self) -> anyhow::Result<()> {
        if self.rho.is_some() && !matches!(self.solver, Solver::Admm | Solver::AdmmAuthors) {
            bail!("--rho is the penalty of admm: use it with --solver admm or admm-authors, or leave it out");
        }
        if self.starts > 1 && !matches!(self.init.as_deref(), None | Some("random" | "nndsvd")) {
            bail!("--starts {}: a given start is one start; leave out --init, or --starts", self.starts);
        }
        if self.starts > 1 && (self.trace.is_some() || self.checkpoints.input().is_some()) {
            bail!("--starts {}: --trace and --resume are for one start; leave them out", self.starts);
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
            starts: self.starts,
            seed: self.seed,
            threads: self.data.threads,
            rho: self.rho,
            ..Settings::default()
        }
    }

    /// V, prepared, and the start that --init and --rank describe. A given start is checked before V is
    /// prepared, because V can be large.
    fn start<'v, T: Scalar>(
        &self,
        source: &'v Source<T>,
        settings: &Settings,
        stored: Option<&Checkpoint>,
    ) -> anyhow::Result<Start<'v, T>> {
        let v = source.table.matrix.view();
        let prepare = || input::about(&self.data, source.problem(&self.data));
        if let Some(stored) = stored {
            let (given, names) = (stored.given, stored.part_names.clone());
            return Ok(Start { problem: prepare()?, factors: None, given, names });
        }
        let given = match self.init.as_deref() {
            None | Some("random" | "nndsvd") => {
                let rank = self.rank.context("--rank is missing: give the number of parts")?;
                let problem = prepare()?;
                let stop = Settings { stop: Some(interrupt::flag()), ..settings.clone() };
                let factors = Some(input::about(&self.data, problem.init(rank, &stop))?);
                return Ok(Start { problem, factors, given: 0, names: None });
            }
            Some(given) => given,
        };
        let mut names = None;
        let (w, h) = match given.split_once(',') {
            Some((w, h)) => {
                (klnmf_io::read_dense(Path::new(w.trim()))?, klnmf_io::read_dense(Path::new(h.trim()))?)
            }
            None if given.ends_with(".npz") => {
                let model = klnmf_io::read_model::<T>(Path::new(given))?;
                input::same_names(given, &model.row_names, &source.table.row_names)?;
                // New parts have no names, and then none has.
                names = model.part_names.filter(|names| self.rank.is_none_or(|rank| rank == names.len()));
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
        Ok(Start { problem: prepare()?, factors: Some((w, h)), given: old, names })
    }

    fn out(&self) -> PathBuf {
        let layer = self.data.layer.as_ref().map_or(String::new(), |layer| format!("-{layer}"));
        let rank = self.rank.map_or("-continued".into(), |rank| format!("-r{rank}"));
        let seed = if self.seed == 0 { String::new() } else { format!("-seed{}", self.seed) };
        let ending = format!("{}{rank}{seed}.npz", layer.replace(['/', '\\'], "_"));
        self.out.clone().unwrap_or_else(|| outputs::named_after(&self.data.path, &ending))
    }

    fn target<'p>(&self, path: &'p Path) -> Target<'p> {
        Target::new(path, self.force)
    }

    /// The files that are read.
    fn inputs(&self) -> Vec<PathBuf> {
        let init = self.init.iter().flat_map(|init| init.split(',')).map(|file| PathBuf::from(file.trim()));
        self.data.files().into_iter().chain(init).chain(self.checkpoints.input()).collect()
    }

    fn outputs(&self) -> Vec<outputs::Output> {
        let side = [("--trace", &self.trace), ("--report", &self.report)];
        let side = side.into_iter().filter_map(|(option, path)| Some((option, path.clone()?)));
        let csv = self.csv.iter().flat_map(|prefix| outputs::csv_names(prefix)).map(|path| ("--csv", path));
        [("--out", self.out())].into_iter().chain(side).chain(csv).chain(self.checkpoints.output()).collect()
    }

    fn write<T: Scalar>(
        &self,
        table: &Table<T>,
        part_names: Option<Vec<String>>,
        solution: &Solution<T>,
        trace: &[Info],
        facts: &Value,
        command: &str,
    ) -> anyhow::Result<()> {
        let (rows, cols) = (&table.row_names, &table.col_names);
        let init = self.init.as_deref().unwrap_or("random");
        let metadata = metadata(facts, command, json!({ "init": init, "tol": self.tol }));
        let model = Model {
            row_names: rows.clone(),
            col_names: cols.clone(),
            part_names,
            ..Model::new(solution.w.clone(), solution.h.clone(), metadata)
        };
        klnmf_io::write_model(self.target(&self.out()), &model)?;
        if let Some(prefix) = &self.csv {
            let numbered = || (0..solution.h.rows()).map(outputs::part).collect();
            let parts = model.part_names.clone().unwrap_or_else(numbered);
            let [w_name, h_name] = outputs::csv_names(prefix);
            klnmf_io::write_csv(self.target(&w_name), &solution.w, rows.as_deref(), Some(&parts))?;
            klnmf_io::write_csv(self.target(&h_name), &solution.h, Some(&parts), cols.as_deref())?;
        }
        if let Some(path) = &self.trace {
            trace::write(self.target(path), trace)?;
        }
        if let (Some(path), input) = (&self.report, &self.data.path) {
            Report { input, command, table, solution, trace, facts }.write(self.target(path))?;
        }
        Ok(())
    }

    /// The keys and values of the JSON output.
    fn facts<T: Scalar>(&self, solution: &Solution<T>, v: Matrix<'_, T>) -> Value {
        let info = &solution.info;
        let mut facts = json!({
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
            "precision": info.precision.name(),
            "threads": thread_count(self.data.threads),
            "seed": self.seed,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if !solution.starts.is_empty() {
            facts["starts"] = solution.starts.iter().map(told::start).collect();
        }
        facts
    }
}
