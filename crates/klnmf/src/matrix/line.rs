//! Single lines of a matrix: its columns or its rows, whichever are contiguous.

use super::{Compressed, Matrix};
use crate::Scalar;

/// A line: all entries, or the stored ones with their positions.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a, T> {
    /// The positions of the values, increasing; if none, there is a value for every position.
    pub idx: Option<&'a [u32]>,
    pub values: &'a [T],
}

impl<'a, T: Scalar> Line<'a, T> {
    /// Position and value of every entry, or of every stored one.
    #[inline]
    pub fn entries(self) -> impl Iterator<Item = (usize, T)> + 'a {
        let values = self.values.iter().enumerate();
        values.map(move |(at, value)| (self.idx.map_or(at, |idx| idx[at] as usize), *value))
    }
}

impl<'a, T: Scalar> Matrix<'a, T> {
    /// The number of lines and their length.
    pub(crate) fn lines(&self) -> (usize, usize) {
        self.order.lines_first(self.rows, self.cols)
    }

    /// Line `l`: a column if the matrix is stored by columns.
    #[inline]
    pub(crate) fn line(&self, l: usize) -> Line<'a, T> {
        match self.compressed {
            None => {
                let (_, length) = self.lines();
                Line { idx: None, values: &self.values[l * length..][..length] }
            }
            Some(Compressed { ptr, idx }) => {
                let here = ptr[l]..ptr[l + 1];
                Line { idx: Some(&idx[here.clone()]), values: &self.values[here] }
            }
        }
    }
}
