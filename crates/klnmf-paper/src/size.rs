//! How large the experiments are.

/// The sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For tests: seconds, even without optimisation.
    Tiny,
    /// A minute for all.
    #[default]
    Quick,
    /// The paper's.
    Full,
}

impl Size {
    /// What belongs to this size.
    pub(crate) fn pick<X>(self, tiny: X, quick: X, full: X) -> X {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Full => full,
        }
    }

    /// Random starts of the claims about beginnings and ends: an interval takes six.
    pub(crate) fn starts(self) -> usize {
        self.pick(2, 3, 10)
    }

    /// The name on the command line and in the data.
    pub fn name(self) -> &'static str {
        self.pick("tiny", "quick", "full")
    }
}
