//! What people use today, from the same start, on the same data and threads.

use crate::rows::Rows;
use crate::thread_count;
use crate::trace::Trace;
use anyhow::{Context, bail};
use clap::Args;
use klnmf::{Mat, Matrix, Problem, Scalar, Settings, Solver};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The option --peers.
#[derive(Args)]
pub struct Peers {
    /// Run scikit-learn on the same data, too; the folder holds the scripts
    #[arg(long = "peers", value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "benches/peers")]
    pub folder: Option<PathBuf>,
}

/// Runs the peers in `folder` and our solvers for some seconds each, and tells when ours reach what the peer
/// has in the end. Returns the traces of all.
pub fn measure<T: Scalar>(
    folder: &Path,
    v: Matrix<'_, T>,
    rank: usize,
    seconds: f64,
    rows: &mut Rows,
) -> anyhow::Result<Vec<Trace>> {
    let threads = thread_count(0);
    let start = Settings { seed: 1, ..Settings::default() };
    let problem = Problem::new(v, 0)?;
    let (w, h) = problem.init(rank, &start)?;
    let peers = run_peers(folder, v, (&w, &h), seconds, threads)?;

    let mut traces = Vec::new();
    for solver in [Solver::Auto, Solver::Newton, Solver::Mue, Solver::Fpa, Solver::Mu] {
        traces.push(Trace::race(solver, &problem, (&w, &h), seconds)?);
    }
    let ours = crate::speed::access(v, rank, Solver::Mu, threads)?;
    for peer in peers {
        let Peer { trace, per_iteration } = peer;
        let name = &trace.name;
        rows.tell(&format!("{name}: one iteration"), 1e3 * per_iteration, "ms");
        rows.tell(&format!("{name}: iteration over our mu access"), per_iteration / ours, "x");
        let Some((end, goal)) = trace.points.last().copied() else { continue };
        rows.tell(&format!("{name}: divergence at its end"), goal, "nats");
        rows.tell(&format!("{name}: seconds to its end"), end, "s");
        for trace in &traces {
            if let Some(time) = trace.time_to(goal) {
                rows.tell(&format!("{}: seconds to that divergence", trace.name), time, "s");
                rows.tell(&format!("{}: times sooner than {name}", trace.name), end / time, "x");
            }
        }
        traces.push(trace);
    }
    Ok(traces)
}

/// The traces of the peers in `folder`.
pub fn race<T: Scalar>(
    folder: &Path,
    v: Matrix<'_, T>,
    start: (&Mat<T>, &Mat<T>),
    seconds: f64,
) -> anyhow::Result<Vec<Trace>> {
    let peers = run_peers(folder, v, start, seconds, thread_count(0))?;
    Ok(peers.into_iter().map(|peer| peer.trace).collect())
}

struct Peer {
    trace: Trace,
    per_iteration: f64,
}

/// Hands V, W and H over in files and reads `peer,iterations,seconds,divergence` lines.
fn run_peers<T: Scalar>(
    folder: &Path,
    v: Matrix<'_, T>,
    (w, h): (&Mat<T>, &Mat<T>),
    seconds: f64,
    threads: usize,
) -> anyhow::Result<Vec<Peer>> {
    let exchange = tempfile::tempdir()?;
    write_matrix(exchange.path(), v)?;
    klnmf_io::write_npy(&exchange.path().join("w.npy"), w)?;
    klnmf_io::write_npy(&exchange.path().join("h.npy"), h)?;
    let out = run_script(folder, exchange.path(), &[seconds.to_string(), threads.to_string()])?;
    let mut points: Vec<(String, f64, f64, f64)> = Vec::new();
    for line in out.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        if let [name, iterations, seconds, divergence] = fields[..]
            && let (Ok(i), Ok(s), Ok(d)) = (iterations.parse(), seconds.parse(), divergence.parse())
        {
            points.push((name.to_owned(), i, s, d));
        }
    }
    let mut peers: Vec<Peer> = Vec::new();
    for name in points.iter().map(|p| p.0.clone()) {
        if peers.iter().any(|p| p.trace.name == name) {
            continue;
        }
        let own: Vec<_> = points.iter().filter(|p| p.0 == name).collect();
        // Between the shortest run and the longest the fixed costs drop out.
        let per_iteration = match (own.first(), own.last()) {
            (Some(first), Some(last)) if last.1 > first.1 => (last.2 - first.2) / (last.1 - first.1),
            _ => f64::INFINITY,
        };
        peers.push(Peer {
            trace: Trace { name, points: own.iter().map(|p| (p.2, p.3)).collect() },
            per_iteration,
        });
    }
    Ok(peers)
}

/// What the script of the peers in `folder` prints about the files in `exchange`.
pub fn run_script(folder: &Path, exchange: &Path, arguments: &[String]) -> anyhow::Result<String> {
    let script = folder.join("run.sh");
    if !script.is_file() {
        bail!(
            "{}: no such script; run this in a copy of the repository, or name the folder with \
             --peers=FOLDER",
            script.display()
        );
    }
    let out = Command::new("sh")
        .arg(&script)
        .arg(exchange)
        .args(arguments)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run sh")?;
    if !out.status.success() {
        bail!("{} failed; what it said is above", script.display());
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// `v.npy`, or `v.mtx` for sparse V.
pub fn write_matrix<T: Scalar>(folder: &Path, v: Matrix<'_, T>) -> anyhow::Result<PathBuf> {
    if !v.is_sparse() {
        let path = folder.join("v.npy");
        let mut dense = Mat::zeros(v.rows(), v.cols());
        v.entries().for_each(|(row, col, value)| dense[(row, col)] = value);
        klnmf_io::write_npy(&path, &dense)?;
        return Ok(path);
    }
    let path = folder.join("v.mtx");
    write_mtx(&path, v)?;
    Ok(path)
}

/// The stored entries, as a MatrixMarket file.
pub fn write_mtx<T: Scalar>(path: &Path, v: Matrix<'_, T>) -> anyhow::Result<()> {
    klnmf_io::atomically(path, |out| {
        writeln!(
            out,
            "%%MatrixMarket matrix coordinate real general\n{} {} {}",
            v.rows(),
            v.cols(),
            v.stored()
        )?;
        v.entries().try_for_each(|(row, col, value)| writeln!(out, "{} {} {}", row + 1, col + 1, value))
    })?;
    Ok(())
}
