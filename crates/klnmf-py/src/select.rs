//! Many fits of one matrix: ranks, consensus, and the matching of parts.

use crate::data::{Lent, array, factor};
use crate::error::{from_io, from_library};
use crate::work::{self, Stop};
use klnmf::Matrix;
use klnmf_select::{Choice, ConsensusSettings, Error, FitSettings, Fits, Job, Rank, RankSettings};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;

/// Seed, starts, tolerance, iteration limit, threads, folder, and whether the fits are made elsewhere: the
/// settings of every fit.
type With = (u64, usize, f64, usize, usize, Option<PathBuf>, bool);
/// The numbers of a rank, in the order of Python's table.
type Row = (usize, f64, f64, usize, usize, [f64; 8]);

fn from_select(error: Error) -> PyErr {
    match error {
        Error::Library(error) => from_library(error),
        Error::File(error) => from_io(error),
        Error::Incomplete { missing, .. } => {
            MissingFits::new_err(missing.iter().map(Job::to_string).collect::<Vec<_>>())
        }
        error => PyValueError::new_err(error.to_string()),
    }
}

create_exception!(_klnmf, MissingFits, PyException, "Fits that other processes must make first.");

fn fits<'v>(v: Matrix<'v, f64>, how: &With, stop: &Stop) -> Result<Fits<'v>, Error> {
    let (seed, starts, tol, max_iter, threads, folder, elsewhere) = how.clone();
    let mut fits = Fits::in_memory(v)?;
    fits.settings = FitSettings { seed, starts, tol, max_iter, stop: Some(stop.clone()) };
    fits.threads = threads;
    fits.worker = fits.worker.filter(|_| !elsewhere);
    match folder {
        Some(folder) => fits.in_folder(&folder),
        None => Ok(fits),
    }
}

/// Makes one fit, as a file in the folder.
#[pyfunction]
pub fn make_fit(py: Python<'_>, v: &Bound<'_, PyAny>, name: &str, how: With) -> PyResult<()> {
    let (stop, job) = (Stop::default(), name.parse::<Job>().map_err(from_select)?);
    let make = |v: Matrix<'_, f64>| fits(v, &how, &stop)?.get_here(&[job]).map(drop);
    let (made, _) = Lent::<f64>::new(v)?.with(|v| work::run_quietly(py, &stop, || make(v)))?;
    made.map_err(from_select)
}

/// The range, whether prediction still improves, whether V holds counts, rank, φ and size of the dispersion,
/// the largest stable rank, the table, and W and H of every rank.
#[pyfunction]
pub fn rank<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    ranks: Vec<usize>,
    replicates: usize,
    folds: usize,
    bootstrap: bool,
    how: With,
) -> PyResult<Bound<'py, PyTuple>> {
    let (stop, settings) = (Stop::default(), RankSettings { ranks, replicates, folds, bootstrap });
    let compare = |v: Matrix<'_, f64>| klnmf_select::rank(&fits(v, &how, &stop)?, &settings);
    let (found, _) = Lent::<f64>::new(v)?.with(|v| work::run_quietly(py, &stop, || compare(v)))?;
    let found = found.map_err(from_select)?;
    let table: Vec<Row> = (0..found.rows.len()).map(|at| row(&found, at)).collect();
    let falling = found.choice().is_some_and(|choice| choice.falling);
    let dispersion = found.dispersion.map(|d| (d.rank, d.phi, d.size));
    let (range, counts, stable) = (found.range(), found.counts, found.stable.last().copied());
    let mut models = Vec::new();
    for row in found.rows {
        models.push((array(py, row.fit.w)?, array(py, row.fit.h)?));
    }
    (range, falling, counts, dispersion, stable, table, models).into_pyobject(py)
}

fn row(found: &Rank, at: usize) -> Row {
    let none = (f64::NAN, f64::NAN);
    let row = &found.rows[at];
    let held_out = |choice: &Option<Choice>| {
        choice.as_ref().map_or(none, |choice| (choice.totals[at], choice.errors[at]))
    };
    let (a, b) = (held_out(&found.poisson), held_out(&found.over_dispersed));
    let (c, s) = (row.stability.cosine().unwrap_or(none), row.stability.silhouette().unwrap_or(none));
    let numbers = [a.0, a.1, b.0, b.1, c.0, c.1, s.0, s.1];
    (row.rank, row.fit.divergence, row.fit.relative_gap, row.fits, row.unconverged, numbers)
}

/// W, H, the divergence, the gaps, the cosines and silhouettes of the parts, their members, and the number of
/// parts left out.
#[pyfunction]
pub fn consensus<'py>(
    py: Python<'py>,
    v: &Bound<'py, PyAny>,
    rank: usize,
    replicates: usize,
    bootstrap: bool,
    density: Option<f64>,
    sweeps: usize,
    how: With,
) -> PyResult<Bound<'py, PyTuple>> {
    let (stop, settings) =
        (Stop::default(), ConsensusSettings { rank, replicates, bootstrap, density, sweeps });
    let join = |v: Matrix<'_, f64>| klnmf_select::consensus(&fits(v, &how, &stop)?, &settings);
    let (found, _) = Lent::<f64>::new(v)?.with(|v| work::run_quietly(py, &stop, || join(v)))?;
    let found = found.map_err(from_select)?;
    let stability = found.stability;
    let (w, h) = (array(py, found.w)?, array(py, found.h)?);
    let told = (found.divergence, found.gaps, stability.cosines, stability.silhouettes);
    (w, h, told.0, told.1, told.2, told.3, found.members, found.left_out).into_pyobject(py)
}

/// The pairs of the best one-to-one assignment, with their cosines.
#[pyfunction]
pub fn match_parts(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize, f64)>> {
    let pairs = klnmf::match_parts(&factor(a)?, &factor(b)?).map_err(from_library)?;
    Ok(pairs.iter().map(|pair| (pair.first, pair.second, pair.cosine)).collect())
}
