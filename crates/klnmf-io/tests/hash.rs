//! The hash of the data.

use klnmf::{Mat, Matrix, Order, Sparse};
use klnmf_io::data_hash_text;

/// 3 × 4 with zeros, whose numbers f32 holds exactly.
fn entry(i: usize, j: usize) -> f64 {
    if (i + j).is_multiple_of(3) { 0.0 } else { (i * 4 + j) as f64 + 0.5 }
}

#[test]
fn the_storage_does_not_matter() {
    let columns = Mat::from_fn(3, 4, entry);
    let hash = data_hash_text((&columns).into());
    let rows: Vec<f64> = (0..12).map(|at| entry(at / 4, at % 4)).collect();
    assert_eq!(data_hash_text(Matrix::dense(3, 4, Order::Rows, &rows).unwrap()), hash);
    assert_eq!(data_hash_text((&columns.cast::<f32>()).into()), hash);
    for order in [Order::Rows, Order::Columns] {
        let sparse = |zeros: bool| {
            Sparse::from_triplets(3, 4, order, |put| {
                (0..12)
                    .filter(|at| zeros || rows[*at] != 0.0)
                    .try_for_each(|at| put(at / 4, at % 4, rows[at]))
            })
        };
        let [with, without]: [klnmf::Result<Sparse<f64>>; 2] = [sparse(true), sparse(false)];
        assert_eq!(data_hash_text((&with.unwrap()).into()), hash);
        assert_eq!(data_hash_text((&without.unwrap()).into()), hash);
    }
}

#[test]
fn every_change_matters() {
    let hash = |v: &Mat<f64>| data_hash_text(v.into());
    let v = Mat::from_fn(3, 4, entry);
    let mut seen = vec![hash(&v), hash(&v.transpose()), hash(&Mat::zeros(3, 4)), hash(&Mat::zeros(4, 3))];
    for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let mut changed = v.clone();
        changed[(i, j)] += f64::EPSILON * 16.0;
        seen.push(hash(&changed));
    }
    // Exchanged rows and columns have the same entries at other places.
    seen.push(hash(&Mat::from_fn(3, 4, |i, j| entry([1, 0, 2][i], j))));
    seen.push(hash(&Mat::from_fn(3, 4, |i, j| entry(i, [0, 1, 3, 2][j]))));
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn the_hash_is_the_same_on_every_machine() {
    assert_eq!(data_hash_text((&Mat::from_fn(3, 4, entry)).into()), "0337318053d42eea");
}
