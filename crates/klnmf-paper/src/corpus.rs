//! The counts of the experiment on topics, either from a file or generated with known topics.

use crate::checksum;
use crate::random::Random;
use crate::size::Size;
use crate::topics::topics;
use klnmf::{Mat, Order, Sparse};
use klnmf_io::file_name;
use std::path::Path;

/// The number of words, the number of documents and their mean length in the generated corpus.
fn sizes(size: Size) -> (usize, usize, f64) {
    size.pick((60, 40, 80.0), (1000, 500, 150.0), (5000, 2000, 200.0))
}

/// Counts, words × documents.
pub struct Corpus {
    pub counts: Sparse<f64>,
    /// The true topics, if the corpus was generated.
    pub truth: Option<Mat<f64>>,
    /// The name of the file, if it was read.
    pub name: Option<String>,
    /// The number of documents given.
    pub given: usize,
    /// Every `step`-th document is used.
    pub step: usize,
}

impl Corpus {
    /// The counts of a file, documents × words as for `klnmf topics`, or a generated corpus.
    pub fn load(path: Option<&Path>, seed: u64, size: Size) -> anyhow::Result<Self> {
        let Some(path) = path else {
            let (truth, counts) = generated(size, seed)?;
            let given = counts.view().cols();
            return Ok(Self { counts, truth: Some(truth), name: None, given, step: 1 });
        };
        let matrix = klnmf_io::read::<f64>(path)?.matrix;
        matrix.view().check().map_err(|why| klnmf_io::Error::matrix(path, why))?;
        let (given, step) = (matrix.rows(), matrix.rows().div_ceil(size.pick(40, 500, usize::MAX)).max(1));
        let counts: klnmf::Result<_> =
            Sparse::from_triplets(matrix.cols(), given.div_ceil(step), Order::Columns, |put| {
                let mut used =
                    matrix.view().entries().filter(|(document, _, x)| document % step == 0 && *x != 0.0);
                used.try_for_each(|(document, word, count)| put(word, document / step, count))
            });
        let counts = counts?;
        anyhow::ensure!(counts.nnz() > 0, "{}: there are no nonzero counts", path.display());
        let name = file_name(path);
        Ok(Self { counts, truth: None, name: Some(name), given, step })
    }

    pub fn fingerprint(&self) -> String {
        let view: klnmf::Matrix<'_, f64> = (&self.counts).into();
        let numbers: Vec<f64> = view.entries().flat_map(|(i, j, x)| [i as f64, j as f64, x]).collect();
        format!("{}, {}", self.name.as_deref().unwrap_or("generated"), checksum::of_numbers(&numbers))
    }
}

/// Generates a corpus: the true topics, words × topics with columns that sum to 1, and the counts, words ×
/// documents.
fn generated(size: Size, seed: u64) -> klnmf::Result<(Mat<f64>, Sparse<f64>)> {
    let ((words, documents, length), topics) = (sizes(size), topics(size));
    // A random stream different from those of the starts and of the other experiments.
    let mut random = Random::new(seed ^ 0x7069_6373);
    // Every topic consists mostly of a few words of its own, and some words occur in all topics.
    let mut truth = Mat::from_fn(words, topics, |i, k| {
        let own = if i % topics == k { 1.0 } else { 0.02 };
        let common = if i % 17 == 0 { 0.3 } else { 0.0 };
        (own + common) * random.uniform().powi(4) + 1e-6
    });
    let sums = truth.col_sums();
    for (k, sum) in sums.iter().enumerate() {
        truth.col_mut(k).iter_mut().for_each(|x| *x /= sum);
    }
    let mut entries = Vec::new();
    for j in 0..documents {
        // Most documents have one or two topics.
        let weights: Vec<f64> = (0..topics).map(|_| random.uniform().powi(6) + 1e-3).collect();
        let total: f64 = weights.iter().sum();
        let size = length * (0.5 + random.uniform());
        for i in 0..words {
            let mean: f64 = weights.iter().enumerate().map(|(k, x)| truth[(i, k)] * x / total).sum();
            let count = random.poisson(size * mean);
            if count > 0.0 {
                entries.push((i, j, count));
            }
        }
    }
    let counts = Sparse::from_triplets(words, documents, Order::Columns, |put| {
        entries.iter().try_for_each(|&(i, j, count)| put(i, j, count))
    })?;
    Ok((truth, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_corpus_has_the_right_size() {
        let (truth, counts) = generated(Size::Tiny, 1).unwrap();
        assert!(truth.col_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
        let v = counts.view();
        let ((words, documents, length), topics) = (sizes(Size::Tiny), topics(Size::Tiny));
        assert_eq!((v.rows(), v.cols(), truth.cols()), (words, documents, topics));
        assert!((v.sum() / documents as f64 / length - 1.0).abs() < 0.2);
    }

    #[test]
    fn counts_are_read_with_documents_in_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.csv");
        let row = |d: usize| format!("{},0,{}\n", d + 1, d % 3);
        std::fs::write(&path, (0..90).map(row).collect::<String>()).unwrap();
        let corpus = Corpus::load(Some(&path), 0, Size::Tiny).unwrap();
        assert_eq!((corpus.counts.view().rows(), corpus.counts.view().cols(), corpus.step), (3, 30, 3));
        assert_eq!(corpus.counts.view().col_sums()[1], 4.0 + 0.0, "the fourth document");
        let all = Corpus::load(Some(&path), 0, Size::Full).unwrap();
        assert_eq!((all.counts.view().cols(), all.step), (90, 1));
        assert_ne!(all.fingerprint(), corpus.fingerprint());
    }
}
