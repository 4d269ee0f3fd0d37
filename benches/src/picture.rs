//! Traces as a table and as a picture.

use crate::trace::Trace;
use anyhow::Context;
use klnmf_report::chart::{Chart, Line, sheet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

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

/// What [`write_beside`] wrote as .trace.csv in several races; traces of the same case come together.
pub fn read_traces(files: &[PathBuf]) -> anyhow::Result<Vec<(String, Vec<Trace>)>> {
    let mut cases: Vec<(String, Vec<Trace>)> = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        for (number, line) in text.lines().enumerate().skip(1) {
            let bad =
                || format!("{}, line {}: not case,solver,seconds,divergence", file.display(), number + 1);
            let [case, name, seconds, divergence] =
                line.split(',').collect::<Vec<_>>().try_into().ok().with_context(bad)?;
            let point = (seconds.parse().with_context(bad)?, divergence.parse().with_context(bad)?);
            let traces = entry(&mut cases, |c| c.0 == case, || (case.into(), Vec::new()));
            let trace = || Trace { name: name.into(), points: Vec::new() };
            let points = &mut entry(&mut traces.1, |t| t.name == name, trace).points;
            let goes_on = points.last().is_none_or(|last: &(f64, f64)| last.0 <= point.0);
            anyhow::ensure!(goes_on, "{}: {case} has {name} from another race already", file.display());
            points.push(point);
        }
    }
    Ok(cases)
}

/// The first element that `is` accepts; a new one at the end if there is none.
fn entry<T>(all: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(is).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[at]
}

/// How far each method is above the best divergence of all, over time; one chart below the other.
fn write_svg(path: &Path, cases: &[(String, Vec<Trace>)]) -> anyhow::Result<()> {
    let charts: Vec<Chart> = cases.iter().map(|(case, traces)| chart(case, traces)).collect();
    Ok(klnmf_io::write_text(path, &sheet(&charts, 1))?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_several_races_are_joined_by_case() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, case: &str, name: &str| {
            let trace = Trace { name: name.into(), points: vec![(1.0, 8.0), (2.0, 4.0)] };
            let path = folder.path().join(file);
            write_csv(&path, &[(case.into(), vec![trace])]).unwrap();
            path
        };
        let files = [write("1", "a", "mu"), write("2", "b", "mu"), write("3", "a", "CCD")];
        let joined = read_traces(&files).unwrap();
        let names =
            |i: usize| (joined[i].0.as_str(), joined[i].1.iter().map(|t| &*t.name).collect::<Vec<_>>());
        assert_eq!((names(0), names(1)), (("a", vec!["mu", "CCD"]), ("b", vec!["mu"])));
        assert_eq!(joined[0].1[1].points, [(1.0, 8.0), (2.0, 4.0)]);
        let twice = read_traces(&[files[0].clone(), files[0].clone()]).unwrap_err();
        assert!(twice.to_string().contains("a has mu from another race"), "{twice}");
    }
}
