//! Receivers of what a separation finds.

use crate::{Error, Frame};
use klnmf::{Info, Mat};

/// Receives the results of [`Separator::separate`](crate::Separator::separate) piece by piece, because they
/// need not fit in memory. An error ends the work. A closure that takes the pieces of the stems is a
/// listener.
pub trait Listener {
    /// The error that ends the work.
    type Error: From<Error>;

    /// Receives the next samples of every stem, `[stem][channel][sample]`.
    fn stems(&mut self, pieces: &[Vec<Vec<f64>>]) -> Result<(), Self::Error>;

    /// Receives the next samples of the recording, channel by channel.
    fn samples(&mut self, piece: &[&[f64]]) {
        let _ = piece;
    }

    /// Receives the next columns of the spectrogram, and their weights.
    fn frames(&mut self, v: &Mat<f64>, h: &Mat<f64>) -> Result<(), Self::Error> {
        let _ = (v, h);
        Ok(())
    }

    /// Receives what is known about the next frame, if frames are separated as they are heard.
    fn heard(&mut self, frame: Frame) {
        let _ = frame;
    }
}

impl<E: From<Error>, F: FnMut(&[Vec<Vec<f64>>]) -> Result<(), E>> Listener for F {
    type Error = E;

    fn stems(&mut self, pieces: &[Vec<Vec<f64>>]) -> Result<(), E> {
        self(pieces)
    }
}

/// A step that has been completed.
#[non_exhaustive]
pub enum Progress<'a> {
    /// One more source has been learned.
    Source,
    /// This many frames have been explained by known sources.
    Frames(usize),
    /// An iteration of the factorisation of the recording's spectrogram.
    Iteration(&'a Info),
}

/// Is called with every step, from any thread.
pub type Watch<'a> = &'a (dyn Fn(Progress<'_>) + Sync);
