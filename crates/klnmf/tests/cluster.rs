//! A run on several processes has the bits of a run in one. Here the processes are pieces in memory.

use crate::common::Random;
use klnmf::{
    Begin, Cluster, Column, Entry, Error, Facts, Handle, Mat, Nonzero, Piece, Problem, RemoteRun, Result,
    Scalar, Settings, Side, Solution, Solver, Sparse, State, Step, Test, carry_on, factorize_on,
};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A factor cut into pieces, in either precision.
#[derive(Clone, PartialEq)]
enum Cut {
    Single(Vec<Mat<f32>>),
    Double(Vec<Mat<f64>>),
}

fn cut_of(handle: &Handle) -> &Cut {
    handle.downcast_ref().expect("handles are made here")
}

/// Applies the same work to the pieces of either precision.
macro_rules! either {
    ($cut:expr, $pieces:ident => $work:expr) => {
        match $cut {
            Cut::Single($pieces) => Cut::Single($work),
            Cut::Double($pieces) => Cut::Double($work),
        }
    };
}

fn joined<S: Scalar>(pieces: &[Mat<S>]) -> Mat<S> {
    let all: Vec<S> = pieces.iter().flat_map(|piece| piece.as_slice().to_vec()).collect();
    Mat::new(pieces[0].rows(), all.len() / pieces[0].rows(), all).unwrap()
}

/// Weights, weights of columns and sums after a half-step.
type Moved<S> = (Vec<Mat<S>>, Vec<Mat<f64>>, Vec<f64>);

/// Pieces of V and of Vᵀ, cut at random multiples of 64.
struct Pieces<T: Scalar + 'static> {
    facts: Facts,
    cuts: [Vec<usize>; 2],
    pieces: [Vec<Piece<'static, T>>; 2],
    /// Questions until one fails.
    left: AtomicUsize,
}

impl<T: Scalar + 'static> Pieces<T> {
    fn new(v: &Mat<T>, stored: bool, random: &mut Random) -> Self {
        let mut nonzero = Nonzero::NONE;
        let mut sum = 0.0;
        let mut of = |v: &Mat<T>, first: bool| {
            let mut cuts: Vec<usize> =
                (0..v.cols()).step_by(64).filter(|at| *at == 0 || random.uniform() < 0.6).collect();
            cuts.push(v.cols());
            let piece = |at: &[usize]| {
                let some = Mat::from_fn(v.rows(), at[1] - at[0], |i, j| v[(i, at[0] + j)]);
                let piece = match stored {
                    true => Piece::new(&Sparse::from_dense(&some), 1).and_then(Piece::into_owned),
                    false => Piece::new(&some, 1).and_then(Piece::into_owned),
                };
                piece.unwrap()
            };
            let pieces: Vec<_> = cuts.windows(2).map(piece).collect();
            if first {
                let facts = pieces.iter().map(|piece| piece.facts());
                facts.for_each(|(_, sums, some, _)| {
                    sums.iter().for_each(|some| sum += some);
                    nonzero = nonzero.and(some);
                });
            }
            (cuts, pieces)
        };
        let ((cuts_h, pieces_h), (cuts_w, pieces_w)) = (of(v, true), of(&v.transpose(), false));
        let facts = Facts { shape: (v.rows(), v.cols()), sum, nonzero, gathers: stored };
        let left = AtomicUsize::new(usize::MAX);
        Self { facts, cuts: [cuts_h, cuts_w], pieces: [pieces_h, pieces_w], left }
    }

    fn count(&self) -> Result<()> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(Error::Unreadable("the cluster is gone".into())),
            _ => Ok(()),
        }
    }

    fn step<S: Scalar>(
        &self,
        side: Side,
        step: Step<'_>,
        (k, x): (&[Mat<S>], &[Mat<S>]),
        columns: &[Mat<f64>],
    ) -> Result<Moved<S>> {
        let (k, mut moved, mut weights, mut sums) = (joined(k), vec![], vec![], vec![]);
        for ((piece, x), w) in self.pieces[side as usize].iter().zip(x).zip(columns) {
            let (mut x, state) = (x.clone(), w.as_slice().iter().map(|w| Column { weight: *w, value: 0.0 }));
            let mut state: Vec<Column> = state.collect();
            sums.extend(piece.half_step(step, &k, &mut x, &mut state, 1)?);
            moved.push(x);
            weights.push(Mat::from_fn(1, state.len(), |_, j| state[j].weight));
        }
        Ok((moved, weights, sums))
    }
}

impl<T: Scalar + 'static> Cluster for Pieces<T> {
    fn facts(&self) -> Facts {
        self.facts
    }

    fn put(&self, side: Side, array: &Mat<f64>, single: bool) -> Result<Handle> {
        let cut = |at: &[usize]| Mat::from_fn(array.rows(), at[1] - at[0], |k, j| array[(k, at[0] + j)]);
        let pieces = self.cuts[side as usize].windows(2).map(cut);
        Ok(Arc::new(match single {
            true => Cut::Single(pieces.map(|piece| piece.cast()).collect()),
            false => Cut::Double(pieces.collect()),
        }))
    }

    fn get(&self, _: Side, array: &Handle, rows: usize) -> Result<Mat<f64>> {
        let found = match cut_of(array) {
            Cut::Single(pieces) => joined(pieces).cast(),
            Cut::Double(pieces) => joined(pieces),
        };
        assert_eq!(found.rows(), rows);
        Ok(found)
    }

    fn half_step(
        &self,
        side: Side,
        step: Step<'_>,
        (k, x): (&Handle, &Handle),
        columns: &Handle,
    ) -> Result<(Handle, Handle, Vec<f64>)> {
        self.count()?;
        let Cut::Double(columns) = cut_of(columns) else { panic!("the weights of columns are in f64") };
        let (moved, weights, sums) = match (cut_of(k), cut_of(x)) {
            (Cut::Single(k), Cut::Single(x)) => {
                let (moved, weights, sums) = self.step(side, step, (k, x), columns)?;
                (Cut::Single(moved), weights, sums)
            }
            (Cut::Double(k), Cut::Double(x)) => {
                let (moved, weights, sums) = self.step(side, step, (k, x), columns)?;
                (Cut::Double(moved), weights, sums)
            }
            _ => panic!("both factors have the same precision"),
        };
        Ok((Arc::new(moved), Arc::new(Cut::Double(weights)), sums))
    }

    fn carry_on(&self, y: &Handle, x: &Handle, beta: f64, upwards: bool) -> Result<Handle> {
        fn all<S: Scalar>(y: &[Mat<S>], x: &[Mat<S>], beta: f64, upwards: bool) -> Vec<Mat<S>> {
            let (mut y, mut x) = (y.to_vec(), x.to_vec());
            let pieces = y.iter_mut().zip(&mut x);
            pieces.for_each(|(y, x)| carry_on(y.as_mut_slice(), x.as_mut_slice(), beta, upwards));
            y
        }
        Ok(Arc::new(match (cut_of(y), cut_of(x)) {
            (Cut::Single(y), Cut::Single(x)) => Cut::Single(all(y, x, beta, upwards)),
            (Cut::Double(y), Cut::Double(x)) => Cut::Double(all(y, x, beta, upwards)),
            _ => panic!("both points have the same precision"),
        }))
    }

    fn cast(&self, x: &Handle, single: bool) -> Result<Handle> {
        let double = match cut_of(x) {
            Cut::Single(pieces) => pieces.iter().map(|piece| piece.cast()).collect(),
            Cut::Double(pieces) => pieces.clone(),
        };
        Ok(Arc::new(match single {
            true => Cut::Single(double.iter().map(|piece| piece.cast()).collect()),
            false => Cut::Double(double),
        }))
    }

    fn scale(&self, x: &Handle, by: &[f64], divide: bool) -> Result<Handle> {
        fn all<S: Scalar>(x: &[Mat<S>], by: &[f64], divide: bool) -> Vec<Mat<S>> {
            let one = |x: f64, by: f64| S::from_f64(if divide { x / by } else { x * by });
            let scaled = |x: &Mat<S>| Mat::from_fn(x.rows(), x.cols(), |k, j| one(x[(k, j)].to_f64(), by[k]));
            x.iter().map(scaled).collect()
        }
        Ok(Arc::new(either!(cut_of(x), x => all(x, by, divide))))
    }

    fn reorder(&self, x: &Handle, order: &[usize]) -> Result<Handle> {
        fn all<S: Scalar>(x: &[Mat<S>], order: &[usize]) -> Vec<Mat<S>> {
            x.iter().map(|x| Mat::from_fn(x.rows(), x.cols(), |k, j| x[(order[k], j)])).collect()
        }
        Ok(Arc::new(either!(cut_of(x), x => all(x, order))))
    }

    fn row_sums(&self, x: &Handle) -> Result<Vec<f64>> {
        Ok(match cut_of(x) {
            Cut::Single(pieces) => joined(pieces).row_sums(),
            Cut::Double(pieces) => joined(pieces).row_sums(),
        })
    }

    fn all(&self, x: &Handle, test: Test) -> Result<bool> {
        Ok(match cut_of(x) {
            Cut::Single(pieces) => joined(pieces).as_slice().iter().all(|x| test.holds(x.to_f64())),
            Cut::Double(pieces) => joined(pieces).as_slice().iter().all(|x| test.holds(*x)),
        })
    }

    fn evaluate(&self, side: Side, (k, x): (&Handle, &Handle), how: (usize, bool)) -> Result<Vec<[f64; 3]>> {
        fn mats<T: Scalar>(handle: &Handle) -> Vec<Mat<T>> {
            match cut_of(handle) {
                Cut::Single(pieces) => pieces.iter().map(|piece| piece.cast()).collect(),
                Cut::Double(pieces) => pieces.iter().map(|piece| piece.cast()).collect(),
            }
        }
        let (k, x) = (joined(&mats::<T>(k)), mats::<T>(x));
        let pieces = self.pieces[side as usize].iter().zip(&x);
        let found: Result<Vec<_>> = pieces.map(|(piece, x)| piece.evaluate(&k, x, how, 1)).collect();
        Ok(found?.concat())
    }

    fn first_infinite(&self, _: &Handle, _: &Handle) -> Result<Option<Entry>> {
        Ok(None)
    }
}

fn on_pieces<'a, T: Scalar + 'static>(
    cluster: &'a Pieces<T>,
    begin: Begin<'a, T>,
    settings: &'a Settings,
    each: impl FnMut(&mut RemoteRun<'a, T>) -> ControlFlow<()>,
) -> Result<Solution<T>> {
    factorize_on(cluster, begin, settings, each)
}

/// Everything but the time.
fn bits<T: Scalar>(found: &Solution<T>) -> (Vec<u64>, Vec<u64>, [u64; 3], usize, String) {
    let of = |m: &Mat<T>| m.as_slice().iter().map(|x| x.to_f64().to_bits()).collect();
    let info = &found.info;
    let gaps = [info.divergence, info.gap_w, info.gap_h].map(f64::to_bits);
    let how = format!("{:?} {:?}", found.status, info.precision);
    (of(&found.w), of(&found.h), gaps, info.iteration, how)
}

const SOLVERS: [Solver; 6] =
    [Solver::Auto, Solver::Mu, Solver::Mue, Solver::Newton, Solver::Fpa, Solver::Simplex];

fn same_bits<T: Scalar + 'static>(mixed: Option<bool>) {
    let mut random = Random(11);
    let v = random.counts(150, 333, 0.6, 12.0).cast::<T>();
    for solver in SOLVERS {
        for stored in [false, true] {
            let settings =
                Settings { solver, mixed, max_iter: 60, tol: 1e-4, threads: 2, ..Settings::default() };
            let settings = Settings { check_every: Some(settings.max_iter), ..settings };
            let whole = match stored {
                true => Problem::new(&Sparse::from_dense(&v), 2).unwrap().factorize(5, &settings).unwrap(),
                false => Problem::new(&v, 2).unwrap().factorize(5, &settings).unwrap(),
            };
            let cluster = Pieces::new(&v, stored, &mut random);
            let found =
                on_pieces(&cluster, Begin::Rank(5), &settings, |_| ControlFlow::Continue(())).unwrap();
            assert!(bits(&whole) == bits(&found), "{solver} stored {stored} {mixed:?}");
        }
    }
}

#[test]
fn several_processes_give_the_bits_of_one() {
    same_bits::<f64>(None);
    same_bits::<f64>(Some(true));
    same_bits::<f32>(None);
}

#[test]
fn a_run_reloads_and_resumes_to_the_same_bits() {
    let mut random = Random(12);
    let v = random.counts(100, 200, 0.5, 12.0);
    for solver in [Solver::Auto, Solver::Fpa] {
        let settings = Settings { solver, max_iter: 45, tol: 0.0, ..Settings::default() };
        let cluster = Pieces::new(&v, false, &mut random);
        let states: Cell<Vec<State>> = Cell::default();
        let whole = on_pieces(&cluster, Begin::Rank(4), &settings, |run| {
            let state = run.state();
            run.reload(&state).unwrap();
            let mut all = states.take();
            all.push(state);
            states.set(all);
            ControlFlow::Continue(())
        });
        let (whole, plain) = (whole.unwrap(), Problem::new(&v, 1).unwrap());
        let once = on_pieces(&cluster, Begin::Rank(4), &settings, |_| ControlFlow::Continue(())).unwrap();
        assert!(bits(&whole) == bits(&once), "{solver}: a run that is reloaded in every round");
        for state in states.take().iter().step_by(7) {
            let other = Pieces::new(&v, false, &mut random);
            let found = on_pieces(&other, Begin::State(state, 0), &settings, |_| ControlFlow::Continue(()));
            assert!(bits(&whole) == bits(&found.unwrap()), "{solver} at {}", state.iteration);
            // One process continues what several began.
            let here = plain.resume(state, &settings).unwrap().sort_from(0);
            let here = here.to_end(|_| ControlFlow::Continue(())).unwrap();
            assert!(bits(&whole) == bits(&here), "{solver} at {} in one process", state.iteration);
        }
    }
}

#[test]
fn a_failure_ends_the_run_with_its_reason() {
    let mut random = Random(13);
    let v = random.counts(70, 80, 0.5, 12.0);
    let settings = Settings { max_iter: 50, tol: 0.0, ..Settings::default() };
    for questions in [0, 1, 7, 30] {
        let cluster = Pieces::new(&v, true, &mut random);
        cluster.left.store(questions, Ordering::Relaxed);
        let found = on_pieces(&cluster, Begin::Rank(3), &settings, |_| ControlFlow::Continue(()));
        assert_eq!(found.unwrap_err().to_string(), "the cluster is gone");
    }
    let dense = Settings { solver: Solver::Admm, ..settings };
    let cluster = Pieces::new(&v, false, &mut random);
    let found = on_pieces(&cluster, Begin::Rank(3), &dense, |_| ControlFlow::Continue(()));
    assert!(found.unwrap_err().to_string().starts_with("solver = admm"));
}
