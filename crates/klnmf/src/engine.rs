//! The work of the library, compiled once for each precision and here.
//!
//! The public functions are generic and would otherwise be compiled again, kernels and all, in every crate that calls
//! them. It also seals [`Scalar`](crate::Scalar): the module is private.

use crate::block::Half;
use crate::decompose::Decomposition;
use crate::divergence::Certificate;
use crate::factorize::{Info, Solution};
use crate::parallel::Pool;
use crate::probe::Parts;
use crate::solver::{Factors, Method};
use crate::{DecomposeSettings, Mat, Matrix, Result, Settings};
use std::ops::ControlFlow;

/// What [`factorize_from`](crate::factorize_from) tells its caller.
pub type Watch<'w> = dyn FnMut(&Info) -> ControlFlow<()> + 'w;

/// What touches all of the data.
pub trait Engine: Sized {
    /// See [`factorize_from`](crate::factorize_from).
    fn factorize(
        v: Matrix<'_, Self>,
        w: Mat<Self>,
        h: Mat<Self>,
        settings: &Settings,
        watch: &mut Watch<'_>,
    ) -> Result<Solution<Self>>;

    /// See [`decompose_with`](crate::decompose_with).
    fn decompose(
        v: Matrix<'_, Self>,
        w: &Mat<Self>,
        settings: &DecomposeSettings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Decomposition<Self>>;

    /// A method in f32 and then f64, if this is f64.
    fn mixed<'a, 'v: 'a>(
        settings: &'a Settings,
        pool: &'a Pool,
        halves: &'a [Half<'v, Self>; 2],
        start: (&mut Factors<Self>, f64),
        v: Matrix<'_, Self>,
    ) -> Option<Box<dyn Method<Self> + 'a>>;

    /// See [`certificate`](crate::certificate()).
    fn certificate(v: Matrix<'_, Self>, w: &Mat<Self>, h: &Mat<Self>) -> Result<Certificate>;

    /// See [`Parts`].
    fn parts(v: Matrix<'_, Self>, r: usize, runs: usize) -> Result<Parts>;

    /// Operations in a second of bare multiply-adds.
    fn multiply_adds() -> f64;
}

macro_rules! engine {
    ($t:ty, $mixed:expr) => {
        impl Engine for $t {
            fn factorize(
                v: Matrix<'_, Self>,
                w: Mat<Self>,
                h: Mat<Self>,
                settings: &Settings,
                watch: &mut Watch<'_>,
            ) -> Result<Solution<Self>> {
                crate::factorize::run(v, w, h, settings, watch)
            }

            fn decompose(
                v: Matrix<'_, Self>,
                w: &Mat<Self>,
                settings: &DecomposeSettings,
                progress: &(dyn Fn(usize) + Sync),
            ) -> Result<Decomposition<Self>> {
                crate::decompose::run(v, w, settings, progress)
            }

            fn mixed<'a, 'v: 'a>(
                settings: &'a Settings,
                pool: &'a Pool,
                halves: &'a [Half<'v, Self>; 2],
                start: (&mut Factors<Self>, f64),
                v: Matrix<'_, Self>,
            ) -> Option<Box<dyn Method<Self> + 'a>> {
                $mixed(settings, pool, halves, start, v)
            }

            fn certificate(v: Matrix<'_, Self>, w: &Mat<Self>, h: &Mat<Self>) -> Result<Certificate> {
                crate::divergence::run(v, w, h)
            }

            fn parts(v: Matrix<'_, Self>, r: usize, runs: usize) -> Result<Parts> {
                crate::probe::run(v, r, runs)
            }

            fn multiply_adds() -> f64 {
                crate::probe::rate::<Self>()
            }
        }
    };
}

engine!(f32, |_, _, _, _, _| None);
engine!(f64, crate::solver::build::mixed);
