//! Pairs learned parts with true ones.

use klnmf::Mat;

/// A true part and the found part paired with it.
pub struct Match {
    /// The number of the true part.
    pub truth: usize,
    /// The number of the found part.
    pub found: usize,
    /// Their cosine similarity, from 0 to 1.
    pub cosine: f64,
}

/// Pairs true and found parts one to one, the most similar first. The result has the order of the true parts.
pub fn match_parts(truth: &Mat<f64>, found: &Mat<f64>) -> Vec<Match> {
    let mut pairs: Vec<Match> = (0..truth.cols())
        .flat_map(|t| (0..found.cols()).map(move |f| (t, f)))
        .map(|(t, f)| Match { truth: t, found: f, cosine: cosine(truth.col(t), found.col(f)) })
        .collect();
    pairs.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
    let mut matches: Vec<Match> = Vec::new();
    for pair in pairs {
        if matches.iter().all(|m| m.truth != pair.truth && m.found != pair.found) {
            matches.push(pair);
        }
    }
    matches.sort_by_key(|m| m.truth);
    matches
}

/// The cosine of two vectors; zero if one of them is zero.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 }
}
