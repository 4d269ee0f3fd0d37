//! Peak memory against the formula: a process of its own for each case, since a peak cannot be taken back.

use crate::rows::Rows;
use crate::thread_count;
use anyhow::Context;
use klnmf::{Matrix, Scalar, Settings};
use std::path::Path;
use std::process::Command;

/// Measures the peak of a factorisation of the matrix in `file` by this program in a process of its own, and
/// compares it with what [`klnmf::memory`] says. Only where the system tells (Linux).
pub fn measure<T: Scalar>(file: &Path, v: Matrix<'_, T>, rank: usize, rows: &mut Rows) -> anyhow::Result<()> {
    let out = Command::new(std::env::current_exe()?)
        .args(["speed", "--peak", "--precision", T::NAME, "--rank", &rank.to_string()])
        .arg(file)
        .output()
        .context("cannot start this program again to measure its memory")?;
    let Some(peak) = String::from_utf8_lossy(&out.stdout).trim().parse::<f64>().ok().filter(|p| *p > 0.0)
    else {
        return Ok(());
    };
    let formula = klnmf::memory(v, rank, thread_count(0)).total() as f64;
    rows.tell("peak memory", peak / 1e6, "MB");
    rows.tell("peak memory over the formula", peak / formula, "x");
    Ok(())
}

/// The child: factorises and returns the peak in bytes, 0 if the system does not tell.
pub fn peak<T: Scalar>(v: Matrix<'_, T>, rank: usize) -> anyhow::Result<u64> {
    // In the precision of the data from the beginning: the early accesses of auto in f32 need less.
    let settings = Settings { max_iter: 20, tol: 0.0, mixed: Some(false), ..Settings::default() };
    klnmf::factorize(v, rank, &settings)?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|l| l.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok());
    Ok(kilobytes.unwrap_or(0) * 1024)
}
