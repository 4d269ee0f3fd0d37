//! The work of the library, compiled once for each precision and here.
//!
//! The public functions are generic and would otherwise be compiled again, kernels and all, in every crate that calls
//! them. It also seals [`Scalar`](crate::Scalar): the module is private.

use crate::decompose::Decomposition;
use crate::divergence::Certificate;
use crate::factorize::{Info, Solution};
use crate::{DecomposeSettings, Mat, Matrix, Result, Settings};
use std::ops::ControlFlow;

/// What [`factorize_from`](crate::factorize_from) tells its caller.
pub type Watch<'w> = dyn FnMut(&Info) -> ControlFlow<()> + 'w;

/// The three things that touch all of the data.
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

    /// See [`certificate`](crate::certificate()).
    fn certificate(v: Matrix<'_, Self>, w: &Mat<Self>, h: &Mat<Self>) -> Result<Certificate>;
}

macro_rules! engine {
    ($t:ty) => {
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

            fn certificate(v: Matrix<'_, Self>, w: &Mat<Self>, h: &Mat<Self>) -> Result<Certificate> {
                crate::divergence::run(v, w, h)
            }
        }
    };
}

engine!(f32);
engine!(f64);
