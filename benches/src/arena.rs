//! `klnmf-bench arena`: who comes down first, from the same start on the same data.

use crate::cases::{cells, planted, spectrogram, uniform};
use crate::trace::Trace;
use crate::{check_output, peers, picture};
use anyhow::Context;
use clap::Args;
use klnmf::{Mat, Matrix, Problem, Settings, Solver};
use klnmf_io::{Stored, Table};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Race the solvers from the same start: seconds to 10, 3, 1 and 0.1 per cent above the best divergence
///
/// Each solver gets the same V, W and H, all threads, and its default settings. The best divergence is the
/// lowest that any of them reaches from that start within its time.
///
/// Generated cases: uniform r=50, planted r=20, cells r=6 (sparse). Cases on real data, left out if --data is
/// not given: faces r=49 (faces/cbcl_leeseung_uint8.npy in that folder), brca560 r=8 and r=20
/// (mutations/brca560.npy), maple leaf r=10 (music/maple_leaf_rag_1916_11025.wav), reuters r=20
/// (text/reuters.npz), newsgroups r=10 and r=50 (text/newsgroups.npz).
#[derive(Args)]
pub struct Arena {
    /// The folder of the real data
    #[arg(long, value_name = "FOLDER", env = "KLNMF_DATA")]
    data: Option<PathBuf>,
    /// Only the cases whose name contains this; may be given several times
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,
    /// Only these solvers; may be given several times [default: auto, newton, mue, fpa, mu]
    #[arg(long, value_name = "SOLVER")]
    solver: Vec<Solver>,
    /// Seconds that each solver gets on dense data
    #[arg(long, value_name = "S", default_value_t = 20.0)]
    seconds: f64,
    /// Seconds that each solver gets on sparse data
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    sparse_seconds: f64,
    /// Of the start
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    peers: peers::Peers,
    /// Race nothing; make one table and picture of races that wrote these .trace.csv files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["case", "solver", "folder"])]
    join: Vec<PathBuf>,
    /// Where to write the table; the traces go beside it, as .trace.csv and .svg
    #[arg(long, short, value_name = "FILE", default_value = "arena.csv")]
    out: PathBuf,
}

const SOLVERS: [Solver; 5] = [Solver::Auto, Solver::Newton, Solver::Mue, Solver::Fpa, Solver::Mu];

/// Per cent above the best divergence.
const GOALS: [f64; 4] = [10.0, 3.0, 1.0, 0.1];

/// What to race on.
struct Case {
    name: &'static str,
    rank: usize,
    data: Data,
}

#[derive(Clone, Copy)]
enum Data {
    Uniform,
    Planted,
    Cells,
    /// A matrix, in the folder of the data.
    File(&'static str),
    /// A recording there, to be turned into its power spectrogram.
    Sound(&'static str),
}

const CASES: [Case; 10] = [
    Case { name: "uniform r=50", rank: 50, data: Data::Uniform },
    Case { name: "planted r=20", rank: 20, data: Data::Planted },
    Case { name: "faces r=49", rank: 49, data: Data::File("faces/cbcl_leeseung_uint8.npy") },
    Case { name: "brca560 r=8", rank: 8, data: Data::File("mutations/brca560.npy") },
    Case { name: "brca560 r=20", rank: 20, data: Data::File("mutations/brca560.npy") },
    Case { name: "maple leaf r=10", rank: 10, data: Data::Sound("music/maple_leaf_rag_1916_11025.wav") },
    Case { name: "cells r=6", rank: 6, data: Data::Cells },
    Case { name: "reuters r=20", rank: 20, data: Data::File("text/reuters.npz") },
    Case { name: "newsgroups r=10", rank: 10, data: Data::File("text/newsgroups.npz") },
    Case { name: "newsgroups r=50", rank: 50, data: Data::File("text/newsgroups.npz") },
];

impl Arena {
    pub fn run(self) -> anyhow::Result<()> {
        for seconds in [self.seconds, self.sparse_seconds] {
            anyhow::ensure!(seconds > 0.0 && seconds.is_finite(), "seconds must be a positive number");
        }
        let solvers: &[Solver] = if self.solver.is_empty() { &SOLVERS } else { &self.solver };
        check_output(&self.out)?;
        for part in &self.case {
            let names = CASES.map(|case| case.name).join(", ");
            let known = CASES.iter().any(|case| case.name.contains(part));
            anyhow::ensure!(known, "--case {part}: the cases of the arena are {names}");
        }
        if !self.join.is_empty() {
            let raced = picture::read_traces(&self.join)?;
            raced.iter().for_each(|(case, traces)| print!("{}", text(case, traces)));
            return self.write(&raced);
        }
        let wanted =
            |case: &&Case| self.case.is_empty() || self.case.iter().any(|part| case.name.contains(part));
        let mut raced = Vec::new();
        for case in CASES.iter().filter(wanted) {
            let Some(table) = self.load(case.data).with_context(|| case.name)? else {
                println!("{:<16} left out: name the folder of the data with --data", case.name);
                continue;
            };
            let traces = self.race(table.matrix.view(), case.rank, solvers)?;
            print!("{}", text(case.name, &traces));
            raced.push((case.name.to_owned(), traces));
        }
        anyhow::ensure!(!raced.is_empty(), "there is no case to race on");
        self.write(&raced)
    }

    fn write(&self, raced: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
        write_table(&self.out, raced)?;
        println!("table        {}", self.out.display());
        picture::write_beside(&self.out, raced)
    }

    /// The data, if they are there.
    fn load(&self, data: Data) -> anyhow::Result<Option<Table<f64>>> {
        let table = |matrix| Ok(Some(Table { matrix, row_names: None, col_names: None }));
        let dense = |m: Mat<f64>| table(Stored::Dense(m));
        match (data, &self.data) {
            (Data::Uniform, _) => dense(uniform(250, 2000)),
            (Data::Planted, _) => dense(planted(600, 1500, 20)),
            (Data::Cells, _) => table(Stored::Sparse(cells(3774, 16791, 6)?)),
            (_, None) => Ok(None),
            (Data::File(path), Some(folder)) => Ok(Some(klnmf_io::read(&folder.join(path))?)),
            (Data::Sound(path), Some(folder)) => dense(spectrogram(&folder.join(path))?),
        }
    }

    /// The traces of all solvers, and of the peers.
    fn race(&self, v: Matrix<'_, f64>, rank: usize, solvers: &[Solver]) -> anyhow::Result<Vec<Trace>> {
        let seconds = if v.is_sparse() { self.sparse_seconds } else { self.seconds };
        let start = Settings { seed: self.seed, ..Settings::default() };
        let problem = Problem::new(v, 0)?;
        let (w, h) = problem.init(rank, &start)?;
        let mut traces = Vec::new();
        for solver in solvers {
            traces.push(Trace::race(*solver, &problem, (&w, &h), seconds)?);
        }
        if let Some(folder) = &self.peers.folder {
            traces.extend(peers::race(folder, v, (&w, &h), seconds)?);
        }
        Ok(traces)
    }
}

/// When each solver reached each goal, and where it ended, in per cent above the best.
struct Standing<'a> {
    trace: &'a Trace,
    times: [Option<f64>; GOALS.len()],
    end: f64,
}

fn standings(traces: &[Trace]) -> Vec<Standing<'_>> {
    let best = traces.iter().map(Trace::last).fold(f64::INFINITY, f64::min);
    let standing = |trace| {
        let times = GOALS.map(|goal| Trace::time_to(trace, best * (1.0 + goal / 100.0)));
        Standing { trace, times, end: 100.0 * (trace.last() / best - 1.0) }
    };
    traces.iter().map(standing).collect()
}

fn text(case: &str, traces: &[Trace]) -> String {
    let mut text = format!("{case:<16} seconds to    10 %        3 %        1 %      0.1 %   at the end\n");
    for Standing { trace, times, end } in standings(traces) {
        let times = times.map(|t| t.map_or("–".into(), |t| format!("{t:.3}")));
        text += &format!(
            "{:<16} {:<8} {:>9}  {:>9}  {:>9}  {:>9}   {:.6e}, {end:.3} % above\n",
            "",
            trace.name,
            times[0],
            times[1],
            times[2],
            times[3],
            trace.last()
        );
    }
    text
}

fn write_table(path: &Path, raced: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
    klnmf_io::atomically(path, |out| {
        writeln!(
            out,
            "case,solver,seconds_to_10,seconds_to_3,seconds_to_1,seconds_to_0.1,seconds,divergence"
        )?;
        for (case, traces) in raced {
            for Standing { trace, times, .. } in standings(traces) {
                let times = times.map(|t| t.map_or(String::new(), |t| t.to_string())).join(",");
                let seconds = trace.points.last().map_or(0.0, |p| p.0);
                writeln!(out, "{case},{},{times},{seconds},{}", trace.name, trace.last())?;
            }
        }
        Ok(())
    })?;
    Ok(())
}
