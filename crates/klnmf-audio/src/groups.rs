//! Groups components into sources by similarity.

use klnmf::{Mat, cosine};

/// Groups the components from `first` on into `n` groups by average linkage: the two most similar groups are
/// joined until `n` are left. The similarity of two components is the mean of the cosines of their spectra
/// and of their activations; that of two groups is the mean over their pairs.
pub fn bundle(w: &Mat<f64>, h: &Mat<f64>, first: usize, n: usize) -> Vec<Vec<usize>> {
    let r = w.cols();
    let mut groups: Vec<Vec<usize>> = (first..r).map(|k| vec![k]).collect();
    if groups.len() <= n.max(1) {
        return groups;
    }
    let ht = h.transpose();
    let like = |a: usize, b: usize| 0.5 * (cosine(w.col(a), w.col(b)) + cosine(ht.col(a), ht.col(b)));
    let mut table = Mat::zeros(r, r);
    for a in first..r {
        for b in first..a {
            let value = like(a, b);
            (table[(a, b)], table[(b, a)]) = (value, value);
        }
    }
    while groups.len() > n.max(1) {
        let mut best = (f64::NEG_INFINITY, 0, 1);
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                let pairs = groups[a].iter().flat_map(|i| groups[b].iter().map(move |j| (*i, *j)));
                let mean =
                    pairs.map(|at| table[at]).sum::<f64>() / (groups[a].len() * groups[b].len()) as f64;
                if mean > best.0 {
                    best = (mean, a, b);
                }
            }
        }
        let joined = groups.remove(best.2);
        groups[best.1].extend(joined);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_are_bundled() {
        // Components 0 and 2 are similar in spectrum and time, and so are 1 and 3.
        let w = Mat::from_rows(&[&[1.0, 0.0, 0.9, 0.1], &[0.0, 1.0, 0.1, 0.9]]);
        let h = Mat::from_rows(&[&[1.0, 0.0, 1.0], &[0.0, 1.0, 0.0], &[1.0, 0.0, 0.8], &[0.0, 1.0, 0.1]]);
        assert_eq!(bundle(&w, &h, 0, 2), [vec![0, 2], vec![1, 3]]);
        assert_eq!(bundle(&w, &h, 2, 5), [vec![2], vec![3]]);
        assert_eq!(bundle(&w, &h, 0, 1), [vec![0, 1, 2, 3]]);
    }
}
