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
