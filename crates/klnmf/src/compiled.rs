//! The entry points with loops behind them, compiled in this crate once for each precision.
//!
//! A generic function is compiled again in every crate that calls it. A method of `f32` or `f64` is not, so
//! the generic functions of the interface only forward to these.

use crate::block::{Blocks, Lines};
use crate::cluster::{self, Begin, Cluster, RemoteRun};
use crate::decompose::{DecomposeSettings, Decomposer, Decomposition};
use crate::matrix::{Matrix, Sparse};
use crate::solver::method::Pair;
use crate::worker::{self, Column, Step};
use crate::{Certificate, Mat, Problem, Result, Run, Scalar, Settings, Solution, State};
use std::ops::ControlFlow;
use std::time::Instant;

/// A callback between two rounds of a run.
type Each<'r, 'a, T> = &'r mut dyn FnMut(&mut Run<'a, T>) -> ControlFlow<()>;
type EachRemote<'r, 'a, T> = &'r mut dyn FnMut(&mut RemoteRun<'a, T>) -> ControlFlow<()>;

macro_rules! compiled {
    ($($name:ident<$a:lifetime>($($arg:ident: $type:ty),*) -> $result:ty = $body:path;)*) => {
        /// See the head of this file. The trait also seals [`Scalar`].
        pub trait Compiled: Sized {
            $(fn $name<$a>($($arg: $type),*) -> $result where Self: Scalar;)*
        }

        impl Compiled for f32 {
            $(fn $name<$a>($($arg: $type),*) -> $result { $body($($arg),*) })*
        }

        impl Compiled for f64 {
            $(fn $name<$a>($($arg: $type),*) -> $result { $body($($arg),*) })*
        }
    };
}

compiled! {
    problem<'a>(v: Matrix<'a, Self>, threads: usize) -> Result<Problem<'a, Self>> = Problem::prepare;
    streamed<'a>(columns: &'a dyn Lines, rows: &'a dyn Lines, threads: usize)
        -> Result<Problem<'a, Self>> = Problem::stream;
    init<'a>(problem: &Problem<'a, Self>, rank: usize, settings: &Settings)
        -> Result<(Mat<Self>, Mat<Self>)> = crate::init::start;
    run<'a>(problem: &'a Problem<'_, Self>, factors: Pair<Self>, settings: &'a Settings, state: Option<&State>)
        -> Result<Run<'a, Self>> = Run::begin;
    advance<'a>(run: &mut Run<'a, Self>) -> () = Run::iterate;
    to_end<'a>(run: Run<'a, Self>, each: Each<'_, 'a, Self>) -> Result<Solution<Self>> = Run::iterate_to_end;
    finish<'a>(run: Run<'a, Self>) -> Result<Solution<Self>> = Run::end;
    challenge<'a>(problem: &Problem<'a, Self>, first: Solution<Self>, settings: &Settings, begun: Instant)
        -> Result<Solution<Self>> = crate::starts::best;
    certificate<'a>(problem: &Problem<'a, Self>, w: &Mat<Self>, h: &Mat<Self>)
        -> Result<Certificate> = Problem::certify;
    decompose<'a>(
        decomposer: &Decomposer<Self>,
        v: Matrix<'a, Self>,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync)
    ) -> Result<Decomposition<Self>> = Decomposer::solve;
    decompose_lines<'a>(
        decomposer: &Decomposer<Self>,
        columns: &'a dyn Lines,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync)
    ) -> Result<Decomposition<Self>> = Decomposer::solve_lines;
    sort_lines<'a>(matrix: &'a mut Sparse<Self>) -> () = Sparse::make_canonical;
    reordered<'a>(view: Matrix<'a, Self>) -> Result<Sparse<Self>> = Sparse::reorder;
    half_step<'a>(
        step: Step<'a>,
        data: &'a dyn Blocks<Self>,
        factors: (&'a Mat<Self>, &'a mut Mat<Self>),
        columns: &'a mut [Column],
        threads: usize
    ) -> Result<Vec<f64>> = worker::move_columns;
    evaluate<'a>(
        data: &'a dyn Blocks<f64>,
        factors: (&'a Mat<Self>, &'a Mat<Self>),
        how: (usize, bool),
        threads: usize
    ) -> Result<Vec<[f64; 3]>> = worker::evaluate;
    run_on<'a>(
        cluster: &'a dyn Cluster,
        begin: Begin<'a, Self>,
        settings: &'a Settings,
        each: EachRemote<'_, 'a, Self>
    ) -> Result<Solution<Self>> = cluster::run;
}
