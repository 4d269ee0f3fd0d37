//! Which part of a rank comes from which part of the rank before it.

use klnmf::{Mat, Result, cosines, match_parts};

/// A part and the part of the smaller rank that it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch {
    /// The number of the part of the smaller rank.
    pub parent: usize,
    /// The cosine of the two.
    pub cosine: f64,
    /// Whether it continues that part; otherwise it is new, and that part is only the nearest one.
    pub continues: bool,
}

/// For every part of `next` its part in `before`: the partner in the best one-to-one assignment, or the
/// nearest part if it has none.
pub fn tree(before: &Mat<f64>, next: &Mat<f64>) -> Result<Vec<Branch>> {
    let table = cosines(before, next)?;
    let pairs = match_parts(before, next)?;
    let branch = |k: usize| {
        let partner = pairs.iter().find(|pair| pair.second == k);
        let nearest = || (0..before.cols()).max_by(|a, b| table[(*a, k)].total_cmp(&table[(*b, k)]));
        let parent = partner.map(|pair| pair.first).or_else(nearest).unwrap_or(0);
        Branch { parent, cosine: table[(parent, k)], continues: partner.is_some() }
    };
    Ok((0..next.cols()).map(branch).collect())
}
