//! The size of the experiments.

/// The size of the experiments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For tests: takes seconds, even without compiler optimisation.
    Tiny,
    /// All experiments take about a minute.
    #[default]
    Quick,
    /// The paper's sizes.
    Full,
}

impl Size {
    /// The value for this size.
    pub(crate) fn pick<X>(self, tiny: X, quick: X, full: X) -> X {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }

    /// The number of random starts. A confidence interval needs at least six.
    pub(crate) fn starts(self) -> usize {
        self.pick(2, 3, 10)
    }

    /// The name on the command line and in the data.
    pub fn name(self) -> &'static str {
        self.pick("tiny", "quick", "full")
    }
}
