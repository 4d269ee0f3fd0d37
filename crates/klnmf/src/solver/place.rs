//! Where V and the factors of a run are: in this process, or in [others](crate::cluster).

use super::admm::admm;
use super::fpa_authors::fpa_authors;
use super::method::{Built, Factors, Local, Pair, Site, assign};
use super::stream::stream;
use super::{Setup, Side, Solver, Store};
use crate::block::{DictionaryParts, Nonzero};
use crate::certificate::{Certificate, Certifier, first_infinite};
use crate::problem::Problem;
use crate::{Entry, Mat, Result, Scalar, parallel};
use std::ops::RangeInclusive;

/// The range in which V and the factors (with columns of W that sum to 1) must lie. f32 covers 1e-38 to 1e38.
/// If a product or quotient still leaves that range, the divergence stops decreasing and f64 takes over.
const RANGE: RangeInclusive<f64> = 1e-25..=1e25;

/// Both factors at a place, in the precision S.
pub type FactorsOf<P, S> = Factors<<P as Place>::Factor<S>>;

/// The ingredients of a method in this process.
pub type Here<'a, T> = Setup<'a, &'a Problem<'a, T>>;

/// What a run needs to know of V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Facts {
    /// Rows and columns.
    pub shape: (usize, usize),
    /// ΣV.
    pub sum: f64,
    /// The entries that are not zero.
    pub nonzero: Nonzero,
    /// Whether V is stored as sparse, so that its columns gather rows of the dictionary.
    pub gathers: bool,
}

impl Facts {
    /// Whether few entries are non-zero, however V is stored.
    pub fn is_sparse(&self) -> bool {
        let (rows, cols) = self.shape;
        (self.nonzero.count as f64) < SPARSE * rows as f64 * cols as f64
    }

    /// Whether f32 has room for the entries.
    pub fn fit_f32(&self) -> bool {
        let Nonzero { count, least, most } = self.nonzero;
        count == 0 || (RANGE.contains(&least) && RANGE.contains(&most))
    }
}

/// The share of non-zero entries below which V counts as sparse, however it is stored.
const SPARSE: f64 = 0.25;

/// A property of the entries of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// They are finite and not negative.
    Valid,
    /// They are zero, or lie in a range that leaves room in f32.
    FitF32,
}

impl Test {
    /// The range in which entries that are not zero must lie.
    pub fn range(self) -> (f64, f64) {
        match self {
            Test::Valid => (0.0, f64::MAX),
            Test::FitF32 => (*RANGE.start(), *RANGE.end()),
        }
    }

    /// Whether an entry has the property.
    pub fn holds(self, x: f64) -> bool {
        let (least, most) = self.range();
        x == 0.0 || (least <= x && x <= most)
    }
}

/// The process or the processes that hold V and the factors. A run decides here what to do, and the place
/// does it.
pub trait Place: Clone + Send + Sync {
    /// The precision of the data.
    type Data: Scalar;
    /// A factor in the precision S, or a handle to one.
    type Factor<S: Scalar>: Clone + Send + 'static;
    /// Makes half-steps in the precision S.
    type Site<S: Scalar>: Site<S, Factor = Self::Factor<S>> + Send;
    /// The workspace of certificates.
    type Certifier: Send;

    fn facts(&self) -> Facts;

    /// Fails if something has gone wrong since the start. Results are then worthless.
    fn check(&self) -> Result<()>;

    /// Runs `f` on the threads of this place.
    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R;

    /// The common decision on a question whose answer depends on the clock or on the user. All processes that
    /// run this get the same one.
    fn agree(&self, wish: bool) -> bool {
        wish
    }

    /// The site of half-steps for r atoms, of which the first `held` of W are fixed.
    fn site<S: Scalar>(&self, r: usize, parts: DictionaryParts, held: usize) -> Self::Site<S>;

    /// Creates a method that works in one process only, if the place is that.
    fn local_method<'a, S: Scalar>(
        setup: &Setup<'a, Self>,
        factors: &FactorsOf<Self, S>,
    ) -> Built<'a, Self::Factor<S>>
    where
        Self: 'a;

    /// Converts factors to another precision.
    fn cast<S: Scalar, U: Scalar>(&self, from: &FactorsOf<Self, S>) -> FactorsOf<Self, U>;

    /// `to` ← `from`, converted.
    fn assign<S: Scalar, U: Scalar>(&self, from: &FactorsOf<Self, S>, to: &mut FactorsOf<Self, U>);

    /// Scales the columns of W from `held` on to sum 1, and the rows of H such that WH stays the same.
    fn normalize(&self, factors: &mut FactorsOf<Self, Self::Data>, held: usize);

    /// Sorts the parts from `first` on by their share of ΣWH, the largest first.
    fn sort(&self, factors: &mut FactorsOf<Self, Self::Data>, first: usize);

    /// Whether all entries have a property.
    fn all(&self, factors: &FactorsOf<Self, Self::Data>, test: Test) -> bool;

    /// Saves or loads factors as `w` and `h`, with the prefix `part`.
    fn carry<S: Scalar>(
        &self,
        part: &str,
        factors: &mut FactorsOf<Self, S>,
        store: &mut Store<'_>,
    ) -> Result<()>;

    /// Brings the factors into this process.
    fn fetch(&self, factors: FactorsOf<Self, Self::Data>) -> Result<Pair<Self::Data>>;

    /// Creates the workspace of certificates; see [`Certifier::new`].
    fn certifier(&self, r: usize, epsilon: f64, held: usize) -> Self::Certifier;

    /// Certifies the factors; see [`Certifier::certify`].
    fn certify(
        &self,
        certifier: &mut Self::Certifier,
        factors: &FactorsOf<Self, Self::Data>,
        dual: Option<(Side, &Self::Factor<Self::Data>)>,
    ) -> (Certificate, Option<f64>);

    /// The first entry of V, in column order, that is positive where the model is zero.
    fn first_infinite(&self, factors: &FactorsOf<Self, Self::Data>) -> Option<Entry>;
}

impl<'p, T: Scalar> Place for &'p Problem<'p, T> {
    type Data = T;
    type Factor<S: Scalar> = Mat<S>;
    type Site<S: Scalar> = Local<'p, S>;
    type Certifier = Certifier<'p>;

    fn facts(&self) -> Facts {
        let gathers = self.blocks::<T>(Side::H).gathers();
        Facts { shape: self.shape(), sum: self.sum, nonzero: self.nonzero, gathers }
    }

    fn check(&self) -> Result<()> {
        Problem::check(self)
    }

    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool.run(f)
    }

    fn site<S: Scalar>(&self, r: usize, parts: DictionaryParts, held: usize) -> Local<'p, S> {
        Local::new(*self, r, parts, held, None)
    }

    fn local_method<'a, S: Scalar>(setup: &Setup<'a, Self>, factors: &Pair<S>) -> Built<'a, Mat<S>>
    where
        Self: 'a,
    {
        match setup.settings.solver {
            Solver::FpaAuthors => fpa_authors(setup, factors, false),
            Solver::FpaPrinted => fpa_authors(setup, factors, true),
            Solver::Stream => stream(setup, factors),
            _ => admm(setup, factors),
        }
    }

    fn cast<S: Scalar, U: Scalar>(&self, from: &Pair<S>) -> Pair<U> {
        from.cast()
    }

    fn assign<S: Scalar, U: Scalar>(&self, from: &Pair<S>, to: &mut Pair<U>) {
        assign(&self.pool, from, to);
    }

    fn normalize(&self, factors: &mut Pair<T>, held: usize) {
        factors.scale(&scales(&factors.wt.row_sums(), held));
    }

    fn sort(&self, factors: &mut Pair<T>, first: usize) {
        let order = order_by_share(&factors.wt.row_sums(), &factors.h.row_sums(), first);
        let mut old = vec![T::ZERO; order.len()];
        for factor in [&mut factors.wt, &mut factors.h] {
            for column in factor.as_mut_slice().chunks_exact_mut(order.len()) {
                old.copy_from_slice(column);
                column.iter_mut().zip(&order).for_each(|(to, k)| *to = old[*k]);
            }
        }
    }

    fn all(&self, factors: &Pair<T>, test: Test) -> bool {
        let all = |x: &Mat<T>| {
            let all_of = |chunk: &[T]| chunk.iter().all(|x| test.holds(x.to_f64()));
            parallel::map(x.as_slice().chunks(1 << 16), all_of).into_iter().all(|all| all)
        };
        self.pool.run(|| all(&factors.wt) && all(&factors.h))
    }

    fn carry<S: Scalar>(&self, part: &str, factors: &mut Pair<S>, store: &mut Store<'_>) -> Result<()> {
        factors.carry(part, store)
    }

    fn fetch(&self, factors: Pair<T>) -> Result<Pair<T>> {
        Ok(factors)
    }

    fn certifier(&self, r: usize, epsilon: f64, held: usize) -> Certifier<'p> {
        Certifier::new(self, r, epsilon, held)
    }

    fn certify(
        &self,
        certifier: &mut Certifier<'p>,
        factors: &Pair<T>,
        dual: Option<(Side, &Mat<T>)>,
    ) -> (Certificate, Option<f64>) {
        certifier.certify(&factors.wt, &factors.h, dual)
    }

    fn first_infinite(&self, factors: &Pair<T>) -> Option<Entry> {
        first_infinite(self.blocks(Side::H), &self.pool, &factors.wt, &factors.h)
    }
}

/// The sums of the columns of W, with 1 for the first `held` columns and for those that are zero.
pub fn scales(sums: &[f64], held: usize) -> Vec<f64> {
    let scale = |(k, s): (usize, &f64)| if *s > 0.0 && k >= held { *s } else { 1.0 };
    sums.iter().enumerate().map(scale).collect()
}

/// The order of the parts by their share of ΣWH, the largest first, from the sums of the columns of W and of
/// the rows of H. Those before `first` and equal ones keep their order.
pub fn order_by_share(w: &[f64], h: &[f64], first: usize) -> Vec<usize> {
    let shares: Vec<f64> = w.iter().zip(h).map(|(w, h)| w * h).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order[first.min(shares.len())..].sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    order
}
