//! Traces as a table and as a picture.

use crate::trace::Trace;
use klnmf_report::chart::{Chart, Line, sheet};
use std::io::Write as _;
use std::path::Path;

/// Writes the traces beside a table: as .trace.csv and as .svg.
pub fn write_beside(table: &Path, cases: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
    let (traces, svg) = (table.with_extension("trace.csv"), table.with_extension("svg"));
    write_csv(&traces, cases)?;
    write_svg(&svg, cases)?;
    println!("traces       {}\npicture      {}", traces.display(), svg.display());
    Ok(())
}

/// `case,solver,seconds,divergence` lines of all traces; points within 1 % of the time of the one before are
/// left out.
fn write_csv(path: &Path, cases: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
    klnmf_io::atomically(path, |out| {
        writeln!(out, "case,solver,seconds,divergence")?;
        for (case, traces) in cases {
            for trace in traces {
                for (seconds, divergence) in thin(&trace.points) {
                    writeln!(out, "{case},{},{seconds},{divergence}", trace.name)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// How far each method is above the best divergence of all, over time; one chart below the other.
fn write_svg(path: &Path, cases: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
    let charts: Vec<Chart> = cases.iter().map(|(case, traces)| chart(case, traces)).collect();
    let picture = sheet(&charts, 1);
    klnmf_io::atomically(path, |out| out.write_all(picture.as_bytes()))?;
    Ok(())
}

/// Points that are told apart on a logarithmic axis of time, and the last one.
fn thin(points: &[(f64, f64)]) -> impl Iterator<Item = &(f64, f64)> {
    let mut shown = 0.0;
    points.iter().enumerate().filter_map(move |(n, point)| {
        if point.0 <= 1.01 * shown && n + 1 < points.len() {
            return None;
        }
        shown = point.0;
        Some(point)
    })
}

fn chart(case: &str, traces: &[Trace]) -> Chart {
    let best = traces.iter().map(Trace::last).fold(f64::INFINITY, f64::min);
    let lines = traces.iter().map(|trace| Line {
        name: trace.name.clone(),
        points: thin(&trace.points)
            .filter(|p| p.0 > 0.0)
            .map(|(t, d)| (*t, 100.0 * (d / best - 1.0)))
            .filter(|p| p.1 > 1e-3)
            .collect(),
        ..Line::default()
    });
    Chart {
        title: case.into(),
        x_label: "seconds",
        y_label: "per cent above the best divergence",
        lines: lines.collect(),
        log_x: true,
        ..Chart::default()
    }
}
