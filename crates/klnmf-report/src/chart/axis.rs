//! One axis of a chart, and round numbers for its ticks.

/// One axis: its range, and its position.
pub struct Axis {
    /// The ends, as logarithms if the axis is logarithmic.
    pub low: f64,
    pub high: f64,
    pub log: bool,
    /// The least distance between ticks, unless the axis is logarithmic.
    pub least: f64,
    /// The pixels of the ends.
    pub from: f64,
    pub to: f64,
}

impl Axis {
    /// The pixel of a value.
    pub fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// The ticks with their labels, and the power of ten that multiplies all labels.
    pub fn ticks(&self) -> (Vec<(f64, String)>, i32) {
        if self.log && self.high - self.low >= 0.5 {
            return (log_ticks(self.low, self.high).into_iter().map(|x| (x, short(x))).collect(), 0);
        }
        // Within half a decade, even steps suit a logarithmic axis as well.
        let (low, high) =
            if self.log { (10f64.powf(self.low), 10f64.powf(self.high)) } else { (self.low, self.high) };
        let largest = low.abs().max(high.abs());
        let exponent = if (1e-2..1e5).contains(&largest) { 0 } else { largest.log10().floor() as i32 };
        let unit = 10f64.powi(exponent);
        let step = nice_step(((high - low) / 5.0).max(self.least));
        let digits = (-(step / unit).log10().floor()).clamp(0.0, 9.0) as usize;
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        // Adding zero turns −0 into 0.
        let label = |x: f64| format!("{:.digits$}", x / unit + 0.0);
        ((first..=last).map(|n| n as f64 * step).map(|x| (x, label(x))).collect(), exponent)
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is not below a number.
fn nice_step(x: f64) -> f64 {
    let decade = 10f64.powf(x.max(f64::MIN_POSITIVE).log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|f| f * decade).find(|step| *step >= x * 0.999).unwrap_or(10.0 * decade)
}

/// Round numbers between two powers of ten: decades, or finer if there are fewer than two of them.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades: Vec<i32> = (low.floor() as i32..=high.ceil() as i32).collect();
    let every = decades.len().div_ceil(8).max(1);
    let coarse = decades.iter().step_by(every).map(|d| 10f64.powi(*d));
    let fine = decades.iter().flat_map(|d| [1.0, 2.0, 3.0, 5.0, 7.0].map(|f| f * 10f64.powi(*d)));
    let inside = |y: &f64| (low..=high).contains(&y.log10());
    let coarse: Vec<f64> = coarse.filter(inside).collect();
    if coarse.len() >= 2 { coarse } else { fine.filter(inside).collect() }
}

/// A number in few characters.
fn short(x: f64) -> String {
    if x == 0.0 || (0.00999..9999.0).contains(&x) {
        let text = format!("{x:.2}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let exponent = (x.log10() + 1e-9).floor() as i32;
    let digit = (x / 10f64.powi(exponent)).round();
    if digit == 1.0 { power_of_ten(exponent) } else { format!("{digit}×{}", power_of_ten(exponent)) }
}

/// 10ⁿ.
pub fn power_of_ten(exponent: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.to_digit(10).unwrap_or(0) as usize],
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let axis = |low, high, log| Axis { low, high, log, least: 0.0, from: 0.0, to: 100.0 };
        let labels =
            |axis: &Axis| axis.ticks().0.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(&axis(0.0, 1200.0, false)), "0 500 1000");
        assert_eq!(labels(&axis(0.0, 1.0, false)), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(labels(&Axis { least: 1.0, ..axis(3.5, 5.5, false) }), "4 5");
        assert_eq!(
            (labels(&axis(8.1e6, 8.6e6, false)).as_str(), axis(8.1e6, 8.6e6, false).ticks().1),
            ("8.1 8.2 8.3 8.4 8.5 8.6", 6)
        );
        assert_eq!(labels(&axis(-7.0, 6.0, true)), "10⁻⁷ 10⁻⁵ 10⁻³ 0.1 10 1000 10⁵");
        assert_eq!(
            (labels(&axis(6.5, 6.7, true)).as_str(), axis(6.5, 6.7, true).ticks().1),
            ("3.5 4.0 4.5 5.0", 6)
        );
        assert_eq!(short(2e7), "2×10⁷");
    }
}
