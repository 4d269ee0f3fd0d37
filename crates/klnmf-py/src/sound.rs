//! Sounds: the spectrogram of a signal, dictionaries of sources, and separation by Wiener masks.

use crate::error::{from_audio, from_library, setting};
use crate::model::duration;
use crate::work::{self, Stop};
use klnmf_audio::{Separator, Sound, Spectrum, Stft};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::time::Instant;

/// The usual window for a sample rate, in samples.
#[pyfunction]
pub fn window_for(rate: u32) -> usize {
    klnmf_audio::window_for(rate, klnmf_audio::WINDOW_MS)
}

/// The power spectrogram of the mean of the channels, bins × frames.
#[pyfunction]
pub fn spectrogram<'py>(
    py: Python<'py>,
    signal: PyReadonlyArray2<'py, f64>,
    rate: u32,
    window: usize,
    hop: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (sound, stft) = (sound(&signal, rate)?, Stft::new(window, hop).map_err(from_audio)?);
    let power =
        within(py, threads, &Stop::default(), || Ok(stft.spectrogram(&sound.mono(), Spectrum::Power)))?;
    crate::data::array(py, power)
}

/// The spectra of sources, learned from a recording of each: bins × components, and the components of each.
#[pyfunction]
pub fn learn<'py>(
    py: Python<'py>,
    training: Vec<(String, PyReadonlyArray2<'py, f64>)>,
    rate: u32,
    window: usize,
    hop: usize,
    per_source: usize,
    solver: &str,
    tol: Option<f64>,
    max_iter: Option<usize>,
    time_limit: Option<f64>,
    seed: u64,
    threads: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Vec<usize>)> {
    let stft = Stft::new(window, hop).map_err(from_audio)?;
    let named = |(name, signal): (String, PyReadonlyArray2<'py, f64>)| Ok((name, sound(&signal, rate)?));
    let training = training.into_iter().map(named).collect::<PyResult<Vec<_>>>()?;
    let stop = Stop::default();
    let separator = Separator {
        per_source,
        solver: solver.parse().map_err(from_library)?,
        tol,
        max_iter,
        seed,
        threads,
        deadline: duration("time_limit", time_limit)?.and_then(|limit| Instant::now().checked_add(limit)),
        stop: Some(stop.clone()),
        ..Separator::default()
    };
    separator.settings(true).validate().map_err(from_library)?;
    let known = within(py, threads, &stop, || separator.learn(training, &stft, &|_| ()))?;
    // Only an exception stops the work, and it has been raised.
    let known = known.ok_or_else(|| PyRuntimeError::new_err("the work was stopped"))?;
    let lengths = known.groups().iter().map(Vec::len).collect();
    Ok((crate::data::array(py, known.w)?, lengths))
}

/// One signal for each group of components, groups × channels × samples. They add up to the input.
#[pyfunction]
pub fn wiener<'py>(
    py: Python<'py>,
    signal: PyReadonlyArray2<'py, f64>,
    rate: u32,
    window: usize,
    hop: usize,
    w: &Bound<'py, PyAny>,
    h: &Bound<'py, PyAny>,
    groups: Vec<Vec<usize>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let (sound, stft) = (sound(&signal, rate)?, Stft::new(window, hop).map_err(from_audio)?);
    let (w, h) = (crate::data::factor(w)?, crate::data::factor(h)?);
    let shape = [groups.len(), sound.channels.len(), sound.len()];
    let stems =
        within(py, threads, &Stop::default(), || klnmf_audio::separate(&sound, &stft, &w, &h, &groups))?;
    let samples: Vec<f64> = stems.into_iter().flat_map(|stem| stem.channels).flatten().collect();
    PyArray1::from_vec(py, samples).reshape(shape)
}

fn sound(signal: &PyReadonlyArray2<'_, f64>, rate: u32) -> PyResult<Sound> {
    let channels = signal.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
    Sound::new(rate, channels).map_err(from_audio)
}

/// Runs `work` in a thread pool that ends with it, because rayon's global pool would not survive a fork.
fn within<R: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &Stop,
    work: impl FnOnce() -> Result<R, klnmf_audio::Error> + Send,
) -> PyResult<R> {
    klnmf::Settings { threads, ..Default::default() }.validate().map_err(from_library)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|why| setting("threads", threads, &why.to_string()))?;
    work::run_quietly(py, stop, move || pool.install(work))?.map_err(from_audio)
}
