//! Factorisations on several processes, to the same bits as in one.
//!
//! Every process holds some columns of V and some rows of V as [pieces](crate::worker), cut at multiples of
//! 64. Both half-steps then consist of independent columns, and only the fixed factor moves between
//! processes. [`Run`] decides here what to do next, from sums alone. Factors are [handles](Handle) to values
//! elsewhere that never change, so that going back to an earlier point means using an earlier handle again.
//!
//! [`Cluster`] is the interface to the processes. The Python package implements it for Dask and for MPI.

use crate::block::{DictionaryParts, Failure};
use crate::certificate::{Certificate, check_factors_of};
use crate::init::random_start;
use crate::problem::restored;
use crate::run::Run;
use crate::solver::method::{Built, COLUMN_WEIGHTS, Column, Factors, HalfStep, Pair, Site};
use crate::solver::place::{Facts, Place, Test, order_by_share, scales};
use crate::solver::{Setup, Side, Store};
use crate::worker::Step;
use crate::{Entry, Error, Init, Mat, Result, Scalar, Settings, Solution, State};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A value that other processes hold: the pieces of a factor, or the weights of the columns of a side.
pub type Handle = Arc<dyn Any + Send + Sync>;

/// The processes that hold V. Factors have r rows: side H is H, side W is Wᵀ.
pub trait Cluster: Send + Sync {
    /// What a run needs to know of V.
    fn facts(&self) -> Facts;

    /// Distributes the columns of an array in f32 (`single`) or f64.
    fn put(&self, side: Side, array: &Mat<f64>, single: bool) -> Result<Handle>;

    /// Collects an array of this many rows.
    fn get(&self, side: Side, array: &Handle, rows: usize) -> Result<Mat<f64>>;

    /// Makes a half-step on `x` with `k` fixed. Returns the new `x`, the new weights of the columns, and the
    /// sums over 64 columns each if they are measured.
    fn half_step(
        &self,
        side: Side,
        step: Step<'_>,
        factors: (&Handle, &Handle),
        columns: &Handle,
    ) -> Result<(Handle, Handle, Vec<f64>)>;

    /// y + β(y − x), increases only if `upwards` is set; see [`carry_on`](crate::carry_on).
    fn carry_on(&self, y: &Handle, x: &Handle, beta: f64, upwards: bool) -> Result<Handle>;

    /// Converts to f32 or f64.
    fn cast(&self, x: &Handle, single: bool) -> Result<Handle>;

    /// Multiplies the rows by numbers, or divides them, in f64.
    fn scale(&self, x: &Handle, by: &[f64], divide: bool) -> Result<Handle>;

    /// The rows in another order.
    fn reorder(&self, x: &Handle, order: &[usize]) -> Result<Handle>;

    /// The sums of the rows, as [`Mat::row_sums`] computes them.
    fn row_sums(&self, x: &Handle) -> Result<Vec<f64>>;

    /// Whether all entries have a property.
    fn all(&self, x: &Handle, test: Test) -> Result<bool>;

    /// [`Piece::evaluate`](crate::worker::Piece::evaluate) for all pieces of a side.
    fn evaluate(&self, side: Side, factors: (&Handle, &Handle), how: (usize, bool)) -> Result<Vec<[f64; 3]>>;

    /// The first entry of V, in column order, that is positive where the model is zero.
    fn first_infinite(&self, wt: &Handle, h: &Handle) -> Result<Option<Entry>>;

    /// The common decision of all processes that run this, from what each of them wishes.
    fn agree(&self, wish: bool) -> Result<bool> {
        Ok(wish)
    }
}

/// The beginning of a run.
pub enum Begin<'a, T> {
    /// The random start of this rank.
    Rank(usize),
    /// Given W and H. The parts keep their order.
    From(Mat<T>, Mat<T>),
    /// A stored state of a run, and the parts that keep their order.
    State(&'a State, usize),
}

/// A run on several processes.
pub type RemoteRun<'a, T> = Run<'a, T, Remote<'a, T>>;

/// Factorises the V of a cluster. `each` is called before every round and before the end, and may break.
pub fn factorize_on<'a, T: Scalar>(
    cluster: &'a dyn Cluster,
    begin: Begin<'a, T>,
    settings: &'a Settings,
    mut each: impl FnMut(&mut RemoteRun<'a, T>) -> ControlFlow<()>,
) -> Result<Solution<T>> {
    T::run_on(cluster, begin, settings, &mut each)
}

pub(crate) fn run<'a, T: Scalar>(
    cluster: &'a dyn Cluster,
    begin: Begin<'a, T>,
    settings: &'a Settings,
    each: &mut dyn FnMut(&mut RemoteRun<'a, T>) -> ControlFlow<()>,
) -> Result<Solution<T>> {
    settings.validate()?;
    let facts = cluster.facts();
    if settings.solver.spec().epsilon > 0.0 {
        return Err(one_process(settings));
    }
    let ((factors, sort_from), state) = match begin {
        Begin::Rank(rank) => {
            let must = "only random starts are computed on several processes: give W and H";
            crate::error::require(settings.init == Init::Random, "init", "nndsvd", must)?;
            let (w, h) = random_start(facts.shape, facts.sum, rank, settings.seed)?;
            ((Factors { wt: w.transpose(), h }, 0), None)
        }
        Begin::From(w, h) => {
            check_factors_of(facts.shape, &w, &h)?;
            ((Factors { wt: w.transpose(), h }, usize::MAX), None)
        }
        Begin::State(state, given) => {
            ((restored::<T>(state, facts.shape, facts.sum, settings)?, given), Some(state))
        }
    };
    let rank = factors.h.rows();
    let place = Remote { cluster, facts, rank, failure: Failure::default(), data: PhantomData };
    let factors = place.put(&factors)?;
    Run::begin_at(place, rank, factors, settings, state)?.sort_from(sort_from).iterate_to_end(each)
}

fn one_process(settings: &Settings) -> Error {
    let must = "this solver works in one process only: choose auto";
    Error::Setting { name: "solver", value: settings.solver.to_string(), must }
}

/// V and factors in other processes.
#[derive(Clone)]
pub struct Remote<'a, T> {
    cluster: &'a dyn Cluster,
    facts: Facts,
    rank: usize,
    /// The first thing that went wrong. Nothing more is asked of the cluster then.
    failure: Failure,
    data: PhantomData<T>,
}

fn single<S>() -> bool {
    size_of::<S>() == 4
}

impl<T: Scalar> Remote<'_, T> {
    /// Asks the cluster, unless something went wrong.
    fn ask<R>(&self, question: impl FnOnce(&dyn Cluster) -> Result<R>) -> Option<R> {
        if self.failure.check().is_err() {
            return None;
        }
        question(self.cluster).map_err(|why| self.failure.set(why)).ok()
    }

    /// Replaces both factors. If that fails they stay.
    fn replace(
        &self,
        factors: &mut Factors<Handle>,
        f: impl Fn(&dyn Cluster, Side, &Handle) -> Result<Handle>,
    ) {
        for (side, x) in [(Side::W, &mut factors.wt), (Side::H, &mut factors.h)] {
            if let Some(new) = self.ask(|cluster| f(cluster, side, x)) {
                *x = new;
            }
        }
    }

    fn put<S: Scalar>(&self, factors: &Pair<S>) -> Result<Factors<Handle>> {
        let put = |side, x: &Mat<S>| self.cluster.put(side, &x.cast(), single::<S>());
        Ok(Factors { wt: put(Side::W, &factors.wt)?, h: put(Side::H, &factors.h)? })
    }

    /// The columns of a side.
    fn columns(&self, side: Side) -> usize {
        if side == Side::H { self.facts.shape.1 } else { self.facts.shape.0 }
    }

    /// Saves or loads an array of some rows.
    fn carry_array(
        &self,
        side: Side,
        (name, rows, single): (&str, usize, bool),
        x: &mut Handle,
        store: &mut Store<'_>,
    ) -> Result<()> {
        let zeros = || Mat::zeros(rows, self.columns(side));
        if matches!(store, Store::Save(_)) {
            let mut array = self.ask(|cluster| cluster.get(side, x, rows)).unwrap_or_else(zeros);
            return store.array(name, &mut array);
        }
        let mut array = zeros();
        store.array(name, &mut array)?;
        *x = self.cluster.put(side, &array, single)?;
        Ok(())
    }
}

impl<'p, T: Scalar> Place for Remote<'p, T> {
    type Data = T;
    type Factor<S: Scalar> = Handle;
    type Site<S: Scalar> = RemoteSite<'p, T>;
    /// The fixed columns of W.
    type Certifier = usize;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn check(&self) -> Result<()> {
        self.failure.check()
    }

    fn run<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        f()
    }

    fn agree(&self, wish: bool) -> bool {
        self.ask(|cluster| cluster.agree(wish)).unwrap_or(true)
    }

    fn site<S: Scalar>(&self, _: usize, _: DictionaryParts, held: usize) -> RemoteSite<'p, T> {
        let weight = Column::default().weight;
        let columns = [Side::H, Side::W].map(|side| {
            let weights = Mat::from_fn(1, self.columns(side), |_, _| weight);
            // If this fails, nothing more is asked of the cluster.
            self.ask(|cluster| cluster.put(side, &weights, false)).unwrap_or_else(|| Arc::new(()))
        });
        RemoteSite { place: self.clone(), held, columns }
    }

    fn local_method<'a, S: Scalar>(setup: &Setup<'a, Self>, _: &Factors<Handle>) -> Built<'a, Handle>
    where
        Self: 'a,
    {
        Err(one_process(setup.settings))
    }

    fn cast<S: Scalar, U: Scalar>(&self, from: &Factors<Handle>) -> Factors<Handle> {
        let mut to = from.clone();
        self.replace(&mut to, |cluster, _, x| cluster.cast(x, single::<U>()));
        to
    }

    fn assign<S: Scalar, U: Scalar>(&self, from: &Factors<Handle>, to: &mut Factors<Handle>) {
        *to = self.cast::<S, U>(from);
    }

    fn normalize(&self, factors: &mut Factors<Handle>, held: usize) {
        let Some(sums) = self.ask(|cluster| cluster.row_sums(&factors.wt)) else { return };
        let by = scales(&sums, held);
        self.replace(factors, |cluster, side, x| cluster.scale(x, &by, side == Side::W));
    }

    fn sort(&self, factors: &mut Factors<Handle>, first: usize) {
        let sums = |x| self.ask(|cluster| cluster.row_sums(x));
        let (Some(w), Some(h)) = (sums(&factors.wt), sums(&factors.h)) else { return };
        let order = order_by_share(&w, &h, first);
        self.replace(factors, |cluster, _, x| cluster.reorder(x, &order));
    }

    fn all(&self, factors: &Factors<Handle>, test: Test) -> bool {
        let all = |x| self.ask(|cluster| cluster.all(x, test)).unwrap_or(false);
        all(&factors.wt) && all(&factors.h)
    }

    fn carry<S: Scalar>(
        &self,
        part: &str,
        factors: &mut Factors<Handle>,
        store: &mut Store<'_>,
    ) -> Result<()> {
        let Factors { wt, h } = factors;
        self.carry_array(Side::W, (&format!("{part}w"), self.rank, single::<S>()), wt, store)?;
        self.carry_array(Side::H, (&format!("{part}h"), self.rank, single::<S>()), h, store)
    }

    fn fetch(&self, factors: Factors<Handle>) -> Result<Pair<T>> {
        let get = |side, x| self.cluster.get(side, x, self.rank).map(|x| x.cast());
        Ok(Factors { wt: get(Side::W, &factors.wt)?, h: get(Side::H, &factors.h)? })
    }

    fn certifier(&self, _: usize, _: f64, held: usize) -> usize {
        held
    }

    fn certify(
        &self,
        held: &mut usize,
        Factors { wt, h }: &Factors<Handle>,
        _: Option<(Side, &Handle)>,
    ) -> (Certificate, Option<f64>) {
        let evaluate = |side, factors, how| {
            let sums = self.ask(|cluster| cluster.evaluate(side, factors, how)).unwrap_or_default();
            sums.iter().fold([0.0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z])
        };
        let [divergence, exact, gap] = evaluate(Side::H, (wt, h), (0, true));
        let [.., by_rows] = evaluate(Side::W, (h, wt), (*held, false));
        (Certificate::of(divergence, exact, gap, by_rows), None)
    }

    fn first_infinite(&self, factors: &Factors<Handle>) -> Option<Entry> {
        self.ask(|cluster| cluster.first_infinite(&factors.wt, &factors.h)).flatten()
    }
}

/// Half-steps in other processes.
pub struct RemoteSite<'a, T> {
    place: Remote<'a, T>,
    held: usize,
    /// The weights of the columns.
    columns: [Handle; 2],
}

impl<T: Scalar, S: Scalar> Site<S> for RemoteSite<'_, T> {
    type Factor = Handle;

    fn half_step(
        &mut self,
        side: Side,
        step: &dyn HalfStep<S>,
        k: &Handle,
        x: &mut Handle,
        steps: usize,
        measure: bool,
    ) -> f64 {
        let held = if side == Side::W { self.held } else { 0 };
        let (step, columns) =
            (Step { name: step.name(), steps, held, measure }, &mut self.columns[side as usize]);
        let moved = self.place.ask(|cluster| cluster.half_step(side, step, (k, x), columns));
        let Some((new, weights, sums)) = moved else { return f64::NAN };
        (*x, *columns) = (new, weights);
        sums.iter().fold(0.0, |total, sum| total + sum)
    }

    fn carry_on(&mut self, _: Side, y: &mut Handle, x: &mut Handle, beta: f64, upwards: bool) {
        if let Some(new) = self.place.ask(|cluster| cluster.carry_on(y, x, beta, upwards)) {
            *x = std::mem::replace(y, new);
        }
    }

    fn copy(&self, from: &Factors<Handle>, to: &mut Factors<Handle>) {
        *to = from.clone();
    }

    fn carry(&mut self, store: &mut Store<'_>) -> Result<()> {
        for (side, name) in [Side::H, Side::W].into_iter().zip(COLUMN_WEIGHTS) {
            self.place.carry_array(side, (name, 1, false), &mut self.columns[side as usize], store)?;
        }
        Ok(())
    }

    fn carry_factors(&self, part: &str, factors: &mut Factors<Handle>, store: &mut Store<'_>) -> Result<()> {
        self.place.carry::<S>(part, factors, store)
    }
}
