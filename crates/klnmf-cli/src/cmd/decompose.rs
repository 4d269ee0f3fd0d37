//! `klnmf decompose`: the weights of V for given parts.

use super::{Data, Output, Precision, metadata, parse_seconds, thread_count};
use crate::dictionary::Dictionary;
use crate::disk::{self, Source};
use crate::{input, interrupt, outputs, progress, summary};
use anyhow::bail;
use clap::Args;
use klnmf::{DecomposeSettings, Decomposer, Decomposition, Mat, Scalar, Solver, Status};
use klnmf_io::{Model, Table, Target};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Find the weights H of V for given parts W, with an optimality gap for every column
///
/// For fixed parts the problem is convex, and the optimality gap of a column
/// bounds how far its divergence is from the optimum. The result holds H and, for
/// every column, divergence, gap and iterations; the printed gap is their sum. If
/// the columns of W sum to 1, a weight is the count that its part explains, and
/// gaps of counts are in nats. If the rows have names in both files, they are
/// matched by name. Parts with small weights may only fit noise: the gap proves
/// that the weights are optimal, not that the parts are present.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  klnmf decompose catalogue.csv --dictionary signatures.csv --tol 1e-8
  klnmf decompose catalogue.npy --dictionary cosmic.npy --part-names cosmic.txt --csv weights.csv
  klnmf decompose documents.npz --transpose --dictionary model.npz --simplex"
)]
pub struct Decompose {
    #[command(flatten)]
    data: Data,
    /// Parts: a matrix with as many rows as V, or a model.npz
    #[arg(long, short, value_name = "W")]
    dictionary: PathBuf,
    /// Names of the parts of the dictionary; a text file with one name per line
    #[arg(long, value_name = "FILE")]
    part_names: Option<PathBuf>,
    /// Let the weights of every column sum to 1, as in a topic model. Parts are scaled to sum 1 first, an
    /// empty column gets even weights, and the divergence is that of W·H times the columns' sums
    #[arg(long)]
    simplex: bool,
    /// Tolerance, relative to the sum of a column: stop when its gap is at most this times its sum; 0 never
    /// stops early
    #[arg(long, value_name = "GAP", default_value_t = 1e-6)]
    tol: f64,
    /// Maximum number of iterations for a column
    #[arg(long, value_name = "N", default_value_t = 5000)]
    max_iter: usize,
    /// Time limit in seconds; columns that were not reached keep an even start
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    time_limit: Option<Duration>,
    /// File for H, W and the arrays divergence, gap, iterations [default: named after V, such as
    /// catalogue-weights.npz]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Also write H as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Decompose {
    pub fn run(self, command: &str) -> anyhow::Result<ExitCode> {
        match self.data.precision {
            Some(Precision::F32) => self.run_in::<f32>(command),
            _ => self.run_in::<f64>(command),
        }
    }

    fn run_in<T: Scalar>(self, command: &str) -> anyhow::Result<ExitCode> {
        let settings = DecomposeSettings {
            tol: self.tol,
            max_iter: self.max_iter,
            time_limit: self.time_limit,
            stop: Some(interrupt::flag()),
            threads: self.data.threads,
            ..DecomposeSettings::default()
        };
        settings.validate()?;
        let csv = self.csv.iter().map(|path| ("--csv", path.clone()));
        let results: Vec<outputs::Output> = [("--out", self.out())].into_iter().chain(csv).collect();
        let parts = [&self.dictionary].into_iter().chain(&self.part_names).cloned();
        let inputs: Vec<PathBuf> = self.data.files().into_iter().chain(parts).collect();
        outputs::check(&inputs, &results, self.force)?;
        outputs::check_model_name("--out", &self.out())?;
        interrupt::nothing_to_save();
        let source =
            Source::<T>::open(&self.data, (disk::parts_in(&self.dictionary), Solver::Auto), &self.output)?;
        let Source { table, folder } = &source;
        let v = table.matrix.view();
        let Dictionary { w, parts, rows } = self.dictionary(table)?;
        // Before the work: if this fails, nothing is lost.
        let (sum, hash) = source.scan(&self.data)?;
        input::check_memory(&self.data.path, v, w.cols(), self.data.threads, 0)?;

        let bar = progress::bar(v.cols(), self.output.quiet);
        let begun = Instant::now();
        let found = Decomposer::new(&w, settings.threads).and_then(|w| {
            interrupt::something_to_save();
            let progress = |done| bar.set_position(done as u64);
            match folder {
                Some(folder) => w.decompose_lines(disk::halves(&self.data, folder)[0], &settings, &progress),
                None => w.decompose_with(v, &settings, &progress),
            }
        });
        let seconds = begun.elapsed().as_secs_f64();
        bar.finish_and_clear();
        let mut found = input::about_table(&self.data, table, found)?;
        if self.simplex {
            // If the columns of W sum to 1, the optimum on the simplex is the free optimum divided by its
            // sum: min Σ −a·log(Kx) subject to Σx = 1 and min Σ −a·log(Kx) + Σx differ only in the scale of
            // x. Divergence and gap stay the same. An empty column gets even weights.
            let even = T::from_f64(1.0 / found.h.rows() as f64);
            to_sum_one(&mut found.h, even);
        }
        self.output.tell(|| format!("writing {}", self.out().display()));
        let mut facts = self.facts(&found, table, (source.nnz(), sum), seconds);
        facts["data_hash"] = json!(hash);
        self.write(table, w, parts, &found, &facts, command)?;
        facts["command"] = json!(command);
        self.tell(&found, table, rows.is_some(), facts)?;
        Ok(interrupt::exit_code(found.status == Status::Stopped))
    }

    fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| outputs::named_after(&self.data.path, "-weights.npz"))
    }

    /// The dictionary with its rows in V's order, and with --simplex its columns scaled to sum 1.
    fn dictionary<T: Scalar>(&self, table: &Table<T>) -> anyhow::Result<Dictionary<T>> {
        let mut found = Dictionary::<T>::read(&self.dictionary, self.part_names.as_deref())?;
        let (file, v) = (self.dictionary.display(), table.matrix.view());
        if found.w.rows() != v.rows() {
            let fits = match (found.w.rows() == v.cols(), self.data.transpose) {
                (true, false) => "; it fits with --transpose",
                (true, true) => "; it fits without --transpose",
                _ => "",
            };
            let missing = found
                .missing(&table.row_names)
                .map_or(String::new(), |name| format!(", {name:?} among them"));
            bail!(
                "{file} has {} rows and V has {}{missing}: a dictionary needs one row for every row of \
                 V{fits}",
                found.w.rows(),
                v.rows()
            );
        }
        found.align(&file.to_string(), &table.row_names, "V")?;
        if self.simplex {
            to_sum_one(&mut found.w, T::ZERO);
        }
        Ok(found)
    }

    fn facts<T: Scalar>(
        &self,
        found: &Decomposition<T>,
        table: &Table<T>,
        (nnz, sum): (u64, f64),
        seconds: f64,
    ) -> Value {
        let v = table.matrix.view();
        let gap = found.gap();
        json!({
            "status": summary::status(found.status),
            "iterations": found.columns.iter().map(|c| c.iterations).max().unwrap_or(0),
            "seconds": seconds,
            "divergence": summary::number(found.divergence()),
            "gap": summary::number(gap),
            "relative_gap": summary::number(if sum > 0.0 { gap / sum } else { gap }),
            "sum": sum,
            "rank": found.h.rows(),
            "shape": [v.rows(), v.cols()],
            "nnz": nnz,
            "precision": T::NAME,
            "threads": thread_count(self.data.threads),
            "unconverged": found.unconverged(),
            "simplex": self.simplex,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn write<T: Scalar>(
        &self,
        table: &Table<T>,
        w: Mat<T>,
        parts: Option<Vec<String>>,
        found: &Decomposition<T>,
        facts: &Value,
        command: &str,
    ) -> anyhow::Result<()> {
        let column = |name: &str, f: &dyn Fn(&klnmf::ColumnInfo) -> f64| {
            (name.to_owned(), found.columns.iter().map(f).collect::<Vec<f64>>())
        };
        let model = Model {
            w,
            h: found.h.clone(),
            metadata: metadata(facts, command, json!({ "tol": self.tol })),
            row_names: table.row_names.clone(),
            col_names: table.col_names.clone(),
            part_names: parts,
            columns: vec![
                column("divergence", &|c| c.divergence),
                column("gap", &|c| c.gap),
                column("iterations", &|c| c.iterations as f64),
                column("converged", &|c| f64::from(u8::from(c.converged))),
            ],
        };
        klnmf_io::write_model(Target::new(&self.out(), self.force), &model)?;
        if let Some(path) = &self.csv {
            let numbered = || (0..found.h.rows()).map(outputs::part).collect();
            let parts = model.part_names.clone().unwrap_or_else(numbered);
            klnmf_io::write_csv(
                Target::new(path, self.force),
                &found.h,
                Some(&parts),
                table.col_names.as_deref(),
            )?;
        }
        Ok(())
    }

    fn tell<T: Scalar>(
        &self,
        found: &Decomposition<T>,
        table: &Table<T>,
        named: bool,
        facts: Value,
    ) -> anyhow::Result<()> {
        self.output.print(facts, |facts| {
            let v = table.matrix.view();
            let relative = facts["relative_gap"].as_f64().unwrap_or(f64::INFINITY);
            let done = v.cols() - found.unconverged();
            let advice = match found.status {
                Status::TimeLimit => "advice       for the other columns: raise --time-limit\n",
                Status::IterationLimit => "advice       for the other columns: raise --max-iter, or --tol\n",
                _ => "",
            };
            let by_order = match (&table.row_names, named) {
                (Some(_), false) => {
                    "warning      the dictionary's rows have no names, so they are matched by position\n"
                }
                (None, true) => "warning      the rows of V have no names, so they are matched by position: name them with --row-names\n",
                _ => "",
            };
            let table =
                self.csv.as_ref().map_or(String::new(), |path| format!("table        {}\n", path.display()));
            format!(
                "V            {} × {}, {} parts\n\
             columns      {done} of {} within the tolerance of {:.0e}, in {:.2} s\n\
             divergence   {:.8e}\n\
             gap          optimality gap {:.3e} (relative {relative:.1e}): other weights gain at most this\n\
             {advice}{by_order}\
             weights      {}\n{table}",
                v.rows(),
                v.cols(),
                found.h.rows(),
                v.cols(),
                self.tol,
                facts["seconds"].as_f64().unwrap_or_default(),
                found.divergence(),
                found.gap(),
                self.out().display()
            )
        })
    }
}

/// Scales the columns to sum 1. The entries of a column of zeros become `otherwise`.
fn to_sum_one<T: Scalar>(x: &mut Mat<T>, otherwise: T) {
    for j in 0..x.cols() {
        let sum: f64 = x.col(j).iter().map(|x| x.to_f64()).sum();
        let scaled = |x: &T| if sum > 0.0 { T::from_f64(x.to_f64() / sum) } else { otherwise };
        x.col_mut(j).iter_mut().for_each(|x| *x = scaled(x));
    }
}
