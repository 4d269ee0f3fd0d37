//! Generated data to measure on; the same on every run.

use klnmf::{Mat, Scalar, Sparse};
use klnmf_paper::Random;
use std::path::Path;

/// Numbers from 0 to 750, as in the paper's synthetic data; the same on every run.
pub fn uniform<T: Scalar>(n: usize, m: usize) -> Mat<T> {
    let mut random = Random::new(1);
    Mat::from_fn(n, m, |_, _| T::from_f64(750.0 * random.uniform() + 0.01))
}

/// Counts in random places, the rows with very different frequencies, like words.
pub fn scattered<T: Scalar>(rows: usize, cols: usize, entries: usize) -> klnmf::Result<Sparse<T>> {
    Sparse::from_triplets(rows, cols, klnmf::Order::Columns, |put| {
        let mut random = Random::new(2);
        (0..entries).try_for_each(|_| {
            let u = random.uniform();
            let row = (u * u * u * rows as f64) as usize;
            let col = (random.uniform() * cols as f64) as usize;
            put(row.min(rows - 1), col.min(cols - 1), T::ONE)
        })
    })
}

/// Poisson counts of a product of two factors with many small entries.
pub fn planted(n: usize, m: usize, rank: usize) -> Mat<f64> {
    let mut random = Random::new(3);
    // The cube of a uniform number: most are small, some are not.
    let mut factor =
        |rows, cols, most: f64| Mat::<f64>::from_fn(rows, cols, |_, _| most * random.uniform().powi(3));
    let (w, h) = (factor(n, rank, 2.0), factor(rank, m, 6.0));
    let mean = |i: usize, j: usize| -> f64 { (0..rank).map(|k| w[(i, k)] * h[(k, j)]).sum() };
    let mut random = Random::new(4);
    Mat::from_fn(n, m, |i, j| random.poisson(mean(i, j)))
}

/// Counts of cells, most of them zero: a few genes are frequent, and every programme has genes of its own.
pub fn cells(genes: usize, cells: usize, programmes: usize) -> klnmf::Result<Sparse<f64>> {
    let mut random = Random::new(5);
    let frequency: Vec<f64> = (0..genes).map(|_| random.uniform().powi(10)).collect();
    let w = Mat::from_fn(programmes, genes, |_, i| frequency[i] * random.uniform().powi(3));
    let h = Mat::from_fn(programmes, cells, |_, _| 1.5 * random.uniform().powi(3));
    Sparse::from_triplets(genes, cells, klnmf::Order::Columns, |put| {
        let mut random = Random::new(6);
        (0..genes * cells).try_for_each(|at| {
            let (i, j) = (at % genes, at / genes);
            put(i, j, random.poisson(w.col(i).iter().zip(h.col(j)).map(|(w, h)| w * h).sum()))
        })
    })
}

/// The power spectrogram of a recording as in the paper: sine windows of 256 samples, half overlapping.
pub fn spectrogram(path: &Path) -> anyhow::Result<Mat<f64>> {
    const WINDOW: usize = 256;
    let mono = klnmf_audio::read(path)?.mono();
    anyhow::ensure!(mono.len() >= WINDOW, "{}: too short", path.display());
    Ok(klnmf_audio::Stft::new(WINDOW, WINDOW / 2)?.forward_unpadded(&mono).power())
}
