//! Where the names of the lines are written.

use super::plot::Plot;
use super::{LETTERS, WIDTH};

/// The mean width of a letter.
const LETTER: f64 = 6.3;

/// The position of a name; its height is that of a line of text.
pub struct Label {
    pub x: f64,
    pub y: f64,
    pub width: f64,
}

impl Label {
    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.x - 2.0..self.x + self.width + 2.0).contains(&x) && (self.y..self.y + LETTERS).contains(&y)
    }

    fn covers(&self, other: &Label) -> bool {
        let beside = self.x + self.width < other.x || other.x + other.width < self.x;
        !beside && (self.y - other.y).abs() < LETTERS - 0.5
    }
}

/// The approximate width of a name; capitals are wider.
pub fn width_of(name: &str) -> f64 {
    name.chars().map(|letter| if letter.is_uppercase() { 1.5 * LETTER } else { LETTER }).sum()
}

/// The best place for a name near the end of its line: clear of other names, clear of lines if possible, and
/// close.
pub fn place(
    name: &str,
    end: (f64, f64),
    plot: &Plot,
    lines: &[Vec<(f64, f64)>],
    boxes: &mut Vec<Label>,
) -> (f64, f64) {
    let width = width_of(name);
    let x = (end.0 + 6.0).min(WIDTH - width);
    let candidate = |shift: f64| Label { x, y: end.1 - LETTERS / 2.0 + shift, width };
    let cost = |place: &Label, shift: f64| {
        let covered = boxes.iter().filter(|other| place.covers(other)).count();
        let crossed = lines.iter().filter(|line| crosses(line, place)).count();
        let outside = place.y < plot.y.to - LETTERS || place.y > plot.y.from - 4.0;
        shift.abs() + 60.0 * crossed as f64 + if outside { 500.0 } else { 0.0 } + 5000.0 * covered as f64
    };
    let shifts = (0..400).map(|n| if n % 2 == 0 { f64::from(n) } else { -f64::from(n + 1) } * 1.5);
    let best = shifts
        .map(|shift| (candidate(shift), shift))
        .map(|(place, shift)| (cost(&place, shift), place))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map_or_else(|| candidate(0.0), |(_, place)| place);
    let at = (best.x, best.y + LETTERS - 3.0);
    boxes.push(best);
    at
}

/// Moves names from the wanted heights so that they keep their order and do not overlap, with the least sum
/// of squared shifts.
pub fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Groups of neighbours that touch: the sum of the heights wanted for their first one, and their number.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (n, y) in wanted.iter().enumerate() {
        pools.push((y - LETTERS * n as f64, 1));
        while let [.., (a, m), (b, k)] = pools[..]
            && b / k as f64 <= a / m as f64
        {
            pools.truncate(pools.len() - 2);
            pools.push((a + b, m + k));
        }
    }
    let free = pools.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    let mut found: Vec<f64> = free.enumerate().map(|(n, y)| y + LETTERS * n as f64).collect();
    // Back into the plot: first up from the bottom, then down from the top.
    let mut limit = bottom;
    for y in found.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - LETTERS;
    }
    let mut limit = top;
    for y in &mut found {
        *y = y.max(limit);
        limit = *y + LETTERS;
    }
    found
}

/// Whether a line crosses a name, checked every few pixels.
fn crosses(line: &[(f64, f64)], place: &Label) -> bool {
    line.windows(2).any(|pair| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let pieces = (dx.abs().max(dy.abs()) / 4.0).clamp(1.0, 300.0) as usize;
        (0..=pieces).any(|n| {
            let t = n as f64 / pieces as f64;
            place.holds((pair[0].0 + t * dx, pair[0].1 + t * dy))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::plot::tests::plot;
    use super::super::{BOTTOM, HEIGHT, LEFT, TOP};
    use super::*;

    #[test]
    fn names_at_any_height_find_a_place() {
        let mut boxes = Vec::new();
        for n in 0..15 {
            place("some name", (300.0, 60.0 + 0.3 * f64::from(n % 17)), &plot(), &[], &mut boxes);
        }
        boxes.sort_by(|a, b| a.y.total_cmp(&b.y));
        assert!(boxes.windows(2).all(|pair| pair[1].y - pair[0].y >= LETTERS - 0.5));
        assert!(boxes.iter().all(|b| b.y >= TOP - LETTERS && b.y <= HEIGHT - BOTTOM));
    }

    #[test]
    fn names_in_the_margin_keep_their_order_and_their_distance() {
        let found = spread(&[20.0, 21.0, 22.0, 100.0, 199.0, 200.0], 14.0, 200.0);
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= LETTERS - 1e-9), "{found:?}");
        assert_eq!((found[3], found[5]), (100.0, 200.0));
        assert!(found[0] >= 14.0 && (found[1] - 27.0).abs() < 8.0, "{found:?}");
    }

    #[test]
    fn names_keep_off_other_lines() {
        let (mut boxes, end) = (Vec::new(), (300.0, 100.0));
        let flat = vec![(LEFT, 100.0), (600.0, 100.0)];
        let (_, y) = place("name", end, &plot(), &[flat], &mut boxes);
        assert!(!boxes[0].holds((310.0, 100.0)) && (y - 100.0).abs() < 25.0);
    }
}
