//! The methods, one in each file, and the table that describes them.

pub(crate) mod active;
mod admm;
mod auto;
mod curvature;
pub(crate) mod descent;
pub(crate) mod extrapolated;
pub(crate) mod fpa;
mod fpa_authors;
pub(crate) mod method;
pub(crate) mod mixed;
pub(crate) mod mu;
pub(crate) mod newton;
pub(crate) mod place;
pub(crate) mod short;
pub(crate) mod smooth;
mod state;
pub(crate) mod stream;

pub use state::{State, Store, missing};

use crate::block::DictionaryParts;
use crate::certificate::Certificate;
use crate::{Error, Result, Scalar, Settings};
use auto::auto;
use extrapolated::mue;
use method::{Built, HalfStep, alternation};
use place::{FactorsOf, Place};
use std::fmt;
use std::str::FromStr;

/// The properties of a [`Solver`].
#[non_exhaustive]
pub struct Spec {
    /// Its name on the command line and in Python.
    pub name: &'static str,
    /// A description in one sentence.
    pub help: &'static str,
    /// Whether it keeps a dense n × m matrix, and therefore works on dense data only.
    pub dense_only: bool,
    /// Whether it can keep columns of W fixed; see [`Settings::fixed`](crate::Settings::fixed).
    pub holds_parts: bool,
    /// Whether weights that are zero can become positive.
    pub leaves_zero: bool,
    /// Whether the reported divergence never increases, except for rounding errors.
    pub never_rises: bool,
    /// Steps on one factor before the other moves, unless [`Settings::inner`](crate::Settings::inner) is set.
    pub inner: usize,
    /// Steps on one factor if less than a quarter of V is non-zero.
    pub inner_sparse: usize,
    /// Whether it may begin in f32 if the data are f64; see [`Settings::mixed`](crate::Settings::mixed).
    pub(crate) may_mix: bool,
    /// The number added inside the logarithm of the reported divergence. The authors' programs add the
    /// epsilon of f64.
    pub epsilon: f64,
}

/// Defaults for most methods.
const PLAIN: Spec = Spec {
    name: "",
    help: "",
    dense_only: false,
    holds_parts: true,
    leaves_zero: true,
    never_rises: true,
    inner: 1,
    inner_sparse: 1,
    may_mix: true,
    epsilon: 0.0,
};

/// Defaults for the authors' programs.
const AUTHORS: Spec =
    Spec { holds_parts: false, never_rises: false, may_mix: false, epsilon: f64::EPSILON, ..PLAIN };

/// Generates the enumeration, list, descriptions and constructors of all solvers, from one row for each.
macro_rules! solvers {
    ($($(#[$default:ident])? $solver:ident, $name:literal, $help:literal, $build:path, ($($with:expr),*),
       { $($field:ident: $value:expr),* }, $like:ident;)*) => {
        /// The method of [`factorize`](crate::factorize); [`Solver::spec`] describes it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Solver {
            $(#[doc = concat!($help, ".")] $(#[$default])? $solver,)*
        }

        impl Solver {
            /// Every solver.
            pub const ALL: [Solver; [$($name),*].len()] = [$(Solver::$solver),*];

            /// The properties of this solver.
            pub fn spec(self) -> &'static Spec {
                match self {
                    $(Solver::$solver => &Spec {
                        name: $name,
                        help: $help,
                        $($field: $value,)*
                        ..$like
                    },)*
                }
            }
        }

        /// Creates the method of the settings from given factors, to compute in S whatever the data type.
        fn build<'a, P: Place + 'a, S: Scalar>(
            setup: &Setup<'a, P>,
            factors: &FactorsOf<P, S>,
        ) -> Built<'a, P::Factor<S>> {
            match setup.settings.solver {
                $(Solver::$solver => $build(setup, factors $(, $with)*),)*
            }
        }
    };
}

/// Iterations of multiplicative updates before other half-steps.
pub(crate) const WARM_UP: usize = 10;

solvers! {
    #[default]
    Auto, "auto",
    "Starts with mue, switches to newton, and returns to mue if newton makes less progress per unit of \
    work; early iterations run in f32", auto, (false), { inner_sparse: 2 }, PLAIN;

    Fpa, "fpa", "First-order primal-dual algorithm of the paper, with step sizes adapted to every column",
    alternation, (&fpa::FPA, Side::H, WARM_UP), { inner: 5, inner_sparse: 5 }, PLAIN;

    Simplex, "simplex",
    "fpa with every column projected onto a simplex: the paper's variant for topic models",
    alternation, (&fpa::SIMPLEX, Side::H, WARM_UP), { inner: 5, inner_sparse: 5 }, PLAIN;

    Mu, "mu", "Multiplicative updates of Lee and Seung, an EM algorithm: the simplest method",
    alternation, (&mu::MU, Side::H, 0), { leaves_zero: false }, PLAIN;

    Mue, "mue", "Multiplicative updates with extrapolation, undone when the divergence increases",
    mue, (), { leaves_zero: false }, PLAIN;

    Newton, "newton",
    "Newton's method on blocks of four weights with extrapolation, after ten iterations of mue",
    auto, (true), { inner_sparse: 2 }, PLAIN;

    Stream, "stream",
    "Two online passes over the columns of V, then a Newton step on W after each pass: a good answer after \
    few readings", P::local_method, (), { may_mix: false }, PLAIN;

    Admm, "admm", "Alternating direction method of multipliers of Sun and Févotte, with the penalty rho",
    P::local_method, (), { dense_only: true, holds_parts: false, never_rises: false, may_mix: false }, PLAIN;

    FpaAuthors, "fpa-authors", "The paper's own fpa program, repeated step for step for comparisons",
    P::local_method, (), { dense_only: true, inner: 5, inner_sparse: 5 }, AUTHORS;

    FpaPrinted, "fpa-printed",
    "The paper's Algorithm 2 as printed, with the sign that converges, for comparisons",
    P::local_method, (), { dense_only: true, inner: 5, inner_sparse: 5 }, AUTHORS;

    MuAuthors, "mu-authors", "The paper's own mu program, repeated step for step for comparisons: W before H",
    alternation, (&mu::MU, Side::W, 0), { leaves_zero: false, never_rises: true }, AUTHORS;

    AdmmAuthors, "admm-authors",
    "The paper's own admm program, repeated step for step for comparisons; it needs rho",
    P::local_method, (), { dense_only: true }, AUTHORS;
}

impl Solver {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Solver {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|solver| solver.name() == name);
        known.ok_or_else(|| Error::UnknownSolver(name.into()))
    }
}

/// The factors to update. With one of them fixed the problem is convex, and its gap bounds the distance to
/// the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Both, alternating.
    #[default]
    Both,
    /// Only H; W stays exactly as given.
    H,
    /// Only W; H stays exactly as given.
    W,
}

impl Update {
    pub(crate) fn moves(self, side: Side) -> bool {
        match side {
            Side::H => self != Update::W,
            Side::W => self != Update::H,
        }
    }

    /// The factors that move, in order.
    fn order(self, first: Side) -> Vec<Side> {
        let both = if first == Side::H { [Side::H, Side::W] } else { [Side::W, Side::H] };
        both.into_iter().filter(|side| self.moves(*side)).collect()
    }
}

/// The factor that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// H, with W as the dictionary.
    H = 0,
    /// W, with H as the dictionary.
    W = 1,
}

/// The ingredients of a method.
#[derive(Clone)]
pub struct Setup<'a, P> {
    /// Where V and the factors are.
    pub place: P,
    pub settings: &'a Settings,
    pub rank: usize,
    /// Whether the run began in f32, if a stored state says so.
    pub mixed: Option<bool>,
    /// The certificate of the start.
    pub start: Certificate,
    /// Whether the factors come from an earlier phase of this method, so no warm-up is needed.
    pub begun: bool,
}

impl<P: Place> Setup<'_, P> {
    /// The site of the half-steps, and the factors that move, in order.
    fn site<S: Scalar>(&self, parts: DictionaryParts, first: Side) -> (P::Site<S>, Vec<Side>) {
        let Settings { fixed, update, .. } = *self.settings;
        (self.place.site(self.rank, parts, fixed), update.order(first))
    }
}

/// The half-step with this name, for other processes.
pub(crate) fn half_step<S: Scalar>(name: &str) -> Option<&'static dyn HalfStep<S>> {
    let all: [&'static dyn HalfStep<S>; 4] = [&mu::MU, &newton::Newton, &fpa::FPA, &fpa::SIMPLEX];
    all.into_iter().find(|step| step.name() == name)
}
