//! The coherence of topics: normalised pointwise mutual information (NPMI).
//!
//! NPMI(i, j) = ln(p_ij / (p_i p_j)) / −ln p_ij, where p_i is the share of documents with word i and p_ij
//! that of documents with both. It is 1 if the words only occur together, 0 if they are independent, and −1
//! if they never occur together (G. Bouma, 2009).

use klnmf::{Matrix, Scalar};

/// The coherence of topics, each given by the rows of its top words in `counts` (words × documents): the mean
/// NPMI of its pairs of words, and `None` for a topic of fewer than two words.
///
/// Only whether a word occurs in a document counts, not how often. A word that occurs nowhere never occurs
/// with another.
pub fn npmi<'a, T: Scalar>(counts: impl Into<Matrix<'a, T>>, top: &[Vec<usize>]) -> Vec<Option<f64>> {
    let occurrence = Occurrence::new(counts.into(), top);
    let coherence = |words: &Vec<usize>| {
        let earlier = |at: usize| words[..at].iter();
        let pairs = words.iter().enumerate().flat_map(|(at, &i)| earlier(at).map(move |&j| (i, j)));
        let number = words.len() * words.len().saturating_sub(1) / 2;
        (number > 0).then(|| pairs.map(|(i, j)| occurrence.npmi(i, j)).sum::<f64>() / number as f64)
    };
    top.iter().map(coherence).collect()
}

/// The sets of documents that contain some words, one bit per document.
struct Occurrence {
    documents: usize,
    /// The position of the set of every word, if it has one.
    place: Vec<Option<usize>>,
    /// The sets, each of `blocks` numbers.
    bits: Vec<u64>,
    blocks: usize,
}

impl Occurrence {
    fn new<T: Scalar>(counts: Matrix<'_, T>, top: &[Vec<usize>]) -> Self {
        let (mut place, mut sets) = (vec![None; counts.rows()], 0);
        for &word in top.iter().flatten() {
            if let Some(unset @ None) = place.get_mut(word) {
                *unset = Some(sets);
                sets += 1;
            }
        }
        let blocks = counts.cols().div_ceil(64);
        let mut bits = vec![0; sets * blocks];
        for (word, document, count) in counts.entries() {
            if let Some(set) = place[word].filter(|_| count > T::ZERO) {
                bits[set * blocks + document / 64] |= 1 << (document % 64);
            }
        }
        Self { documents: counts.cols(), place, bits, blocks }
    }

    fn set(&self, word: usize) -> &[u64] {
        let place = self.place.get(word).copied().flatten();
        place.map_or(&[], |set| &self.bits[set * self.blocks..][..self.blocks])
    }

    fn npmi(&self, i: usize, j: usize) -> f64 {
        let (with_i, with_j) = (self.set(i), self.set(j));
        let share = |bits: u64| bits as f64 / self.documents as f64;
        let both = with_i.iter().zip(with_j).map(|(a, b)| ones(&(a & b))).sum();
        if both == 0 {
            return -1.0;
        }
        if both == self.documents as u64 {
            return 1.0;
        }
        let (p_i, p_j) = (share(with_i.iter().map(ones).sum()), share(with_j.iter().map(ones).sum()));
        (share(both) / (p_i * p_j)).ln() / -share(both).ln()
    }
}

fn ones(bits: &u64) -> u64 {
    u64::from(bits.count_ones())
}
