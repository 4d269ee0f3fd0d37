//! How many columns a panel of a dense matrix has.

use super::*;

#[test]
fn threads_get_equally_many_panels_if_there_are_few() {
    // Sixteen columns fit into a panel: nine panels would keep one of two threads waiting.
    assert_eq!(panel_width(140_000, 140, true, 2), 14);
    assert_eq!(panel_width(140_000, 140, true, 3), 16);
    // Many panels stay as wide as they may be.
    assert_eq!(panel_width(2000, 9800, false, 2), USUAL_COLUMNS);
}

#[test]
fn a_panel_has_at_least_one_column() {
    for (rows, cols) in [(5, 0), (0, 3), (300, 1), (40_000, 2)] {
        for threads in [1, 2, 7] {
            assert!((1..=MOST_COLUMNS).contains(&panel_width(rows, cols, true, threads)));
        }
    }
}

/// The panel with the longest column is begun first, wherever it is.
#[test]
fn the_heaviest_panel_comes_first() {
    let pool = Pool::new(1).unwrap();
    let v: Result<Sparse<f32>> = Sparse::from_triplets(9, 7, Order::Columns, |put| {
        let mut entries = (0..7).flat_map(|j| (0..if j == 4 { 9 } else { j + 1 }).map(move |i| (i, j)));
        entries.try_for_each(|(i, j)| put(i, j, 1.0))
    });
    let v = v.unwrap();
    let data = ColumnData::new(&pool, (&v).into()).unwrap();
    assert_eq!((Blocks::<f32>::heaviest(&data), data.longest), (4, 9));
    let (mut a, mut b, seen) = ([0; 7], [0; 7], std::sync::Mutex::new(vec![]));
    pool.panels_beginning_at(4, 2, (&mut a, 1), (&mut b, 1), |first, a, _| {
        seen.lock().unwrap().push((first, a.len()))
    });
    assert_eq!(seen.into_inner().unwrap(), [(4, 2), (2, 2), (0, 2), (6, 1)]);
}
