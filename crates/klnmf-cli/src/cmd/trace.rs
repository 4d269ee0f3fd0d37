//! `--trace`: the progress of a factorisation as a table.

use klnmf::Info;
use klnmf_io::Target;
use std::io::Write;

/// Writes the trace: a line for every iteration, and the start only if there was no iteration.
pub fn write(target: Target<'_>, trace: &[Info]) -> anyhow::Result<()> {
    let lines = trace.iter().filter(|info| info.iteration > 0 || trace.len() == 1);
    klnmf_io::atomically(target, |out| {
        writeln!(out, "iteration,seconds,divergence,gap_w,gap_h")?;
        lines.clone().try_for_each(|i| {
            writeln!(out, "{},{:.6},{},{},{}", i.iteration, i.seconds, i.divergence, i.gap_w, i.gap_h)
        })
    })?;
    Ok(())
}
