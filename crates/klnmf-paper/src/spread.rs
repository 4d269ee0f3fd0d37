//! A number measured from every start: its median, and a confidence interval for the median.

/// The same measurement from several starts, sorted.
#[derive(Clone, Debug)]
pub struct Spread(Vec<f64>);

/// The least probability that an interval contains the median over all possible starts.
const SURE: f64 = 0.95;

impl Spread {
    /// The spread is empty, and decides nothing, if one of the values is NaN.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        if values.iter().any(|x| x.is_nan()) {
            values.clear();
        }
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub fn median(&self) -> f64 {
        match self.0.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => self.0[n / 2],
            n => 0.5 * (self.0[n / 2 - 1] + self.0[n / 2]),
        }
    }

    /// The confidence interval for the median from order statistics, which assumes no distribution. It leaves
    /// out as many of the lowest and highest values as possible while the median lies outside with a
    /// probability of at most 5 %. The median is below the k-th lowest value if fewer than k of n values are
    /// below the median, which is as likely as fewer than k heads in n tosses of a coin. For ten starts the
    /// interval is the second to the ninth value (97.9 %). Fewer than six starts have none.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let n = self.0.len();
        let (mut chance, mut tail, mut cut) = (0.5f64.powi(n as i32), 0.0, 0);
        loop {
            tail += chance;
            if 2.0 * tail > 1.0 - SURE {
                break;
            }
            cut += 1;
            chance *= (n + 1 - cut) as f64 / cut as f64;
        }
        Some((*self.0.get(cut.checked_sub(1)?)?, self.0[n - cut]))
    }

    /// Whether the median is below a limit; none if the interval contains the limit, or there is no interval.
    pub fn below(&self, limit: f64) -> Option<bool> {
        let (low, high) = self.interval()?;
        if high < limit { Some(true) } else { (low > limit).then_some(false) }
    }

    /// Whether the median is above a limit.
    pub fn above(&self, limit: f64) -> Option<bool> {
        self.below(limit).map(|below| !below)
    }

    /// Whether the median lies between two limits.
    pub fn within(&self, low: f64, high: f64) -> Option<bool> {
        match (self.above(low), self.below(high)) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        }
    }

    /// The median and the interval as text.
    pub fn text(&self, show: impl Fn(f64) -> String) -> String {
        let median = show(self.median());
        match (self.0.as_slice(), self.interval()) {
            ([], _) => "not recorded".into(),
            ([_], _) => format!("{median} (one start)"),
            ([low, .., high], None) => format!(
                "{median} ({} to {} in {} starts, too few for an interval)",
                show(*low),
                show(*high),
                self.0.len()
            ),
            (all, Some((low, high))) => {
                format!("{median} [{}, {}] over {} starts", show(low), show(high), all.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(n: usize) -> Spread {
        Spread::new((1..=n).rev().map(|x| x as f64))
    }

    #[test]
    fn the_interval_matches_tables_of_the_sign_test() {
        let intervals = [6, 8, 9, 10, 12, 15, 20].map(|n| up_to(n).interval().unwrap());
        let known = [(1., 6.), (1., 8.), (2., 8.), (2., 9.), (3., 10.), (4., 12.), (6., 15.)];
        assert_eq!(intervals, known);
        assert!((0..6).all(|n| up_to(n).interval().is_none()));
        assert_eq!([up_to(9).median(), up_to(10).median()], [5.0, 5.5]);
    }

    /// The interval has the expected coverage, for numbers that are far from normal.
    #[test]
    fn the_interval_covers_the_median() {
        let mut random = crate::random::Random::new(1);
        let true_median = 0.5f64.powi(5);
        let mut inside = 0;
        for _ in 0..4000 {
            let (low, high) = Spread::new((0..10).map(|_| random.uniform().powi(5))).interval().unwrap();
            inside += usize::from((low..=high).contains(&true_median));
        }
        let share = inside as f64 / 4000.0;
        assert!((share - 0.9785).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_interval_decides_and_one_start_does_not() {
        let ten = up_to(10);
        assert_eq!(
            [9.5, 9.0, 5.0, 2.0, 1.5].map(|x| ten.below(x)),
            [Some(true), None, None, None, Some(false)]
        );
        assert_eq!([ten.above(1.5), ten.above(9.5), ten.above(5.0)], [Some(true), Some(false), None]);
        assert_eq!(
            [ten.within(1.0, 10.0), ten.within(9.5, 20.0), ten.within(3.0, 10.0)],
            [Some(true), Some(false), None]
        );
        assert_eq!([up_to(1).below(100.0), up_to(5).below(100.0), up_to(0).below(1.0)], [None; 3]);
        assert!(Spread::new([1.0, f64::NAN]).median().is_nan());
        assert_eq!(Spread::new([f64::INFINITY; 6]).above(1.0), Some(true), "a run that diverges is above");
    }

    #[test]
    fn texts_say_the_number_of_starts() {
        let show = |x: f64| format!("{x}");
        assert_eq!(up_to(10).text(show), "5.5 [2, 9] over 10 starts");
        assert!(up_to(3).text(show).contains("2 (1 to 3 in 3 starts, too few"));
        assert!(up_to(1).text(show).contains("one start"));
        assert_eq!(up_to(0).text(show), "not recorded");
    }
}
