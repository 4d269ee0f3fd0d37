//! A matrix in an HDF5 file, compressed or dense, as features × samples.

use crate::error::Fault;
use crate::hdf5::{self, indices, numeric, pieces, reals, sides};
use crate::memory::{check_sparse, reserved};
use crate::number::rounded;
use crate::table::Stored;
use hdf5_reader::Dataset;
use hdf5_reader::group::Group;
use klnmf::{Mat, Order, Scalar, Sparse};

/// A matrix whose sizes have been checked against the length of the file.
pub(crate) struct Held {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    data: Dataset,
    /// The order of the lines, their positions and their ends, if the matrix is sparse.
    sparse: Option<(Order, Dataset, Dataset)>,
}

impl Held {
    /// The compressed matrix in a group, of this shape as V.
    pub(crate) fn sparse(group: &Group, order: Order, shape: [u64; 2], bound: u64) -> Result<Self, Fault> {
        let [data, idx, ptr] = ["data", "indices", "indptr"].map(|name| {
            hdf5::dataset(group, name).and_then(|set| {
                sides::<1>(&set, bound)?;
                Ok(set)
            })
        });
        let (data, idx, ptr) = (data?, idx?, ptr?);
        let [rows, cols] = shape;
        let stored = data.shape()[0].max(idx.shape()[0]);
        let (rows, cols) = check_sparse(rows, cols, stored)?;
        Ok(Self { rows, cols, data, sparse: Some((order, idx, ptr)) })
    }

    /// A dataset of samples × features, row by row: the columns of V.
    pub(crate) fn dense(data: Dataset, bound: u64) -> Result<Self, Fault> {
        let [samples, features] = sides(&data, bound)?.map(|side: u64| side as usize);
        Ok(Self { rows: features, cols: samples, data, sparse: None })
    }

    /// The numbers in the file.
    pub(crate) fn stored(&self) -> u64 {
        self.data.shape().iter().product()
    }

    /// The type of the numbers as numpy names it.
    pub(crate) fn dtype(&self) -> String {
        numeric(self.data.dtype()).descr
    }

    /// `csr`, `csc` or `dense`, for samples × features.
    pub(crate) fn layout(&self) -> &'static str {
        match self.sparse {
            Some((Order::Columns, ..)) => "csr",
            Some((Order::Rows, ..)) => "csc",
            None => "dense",
        }
    }

    /// Reads the whole matrix.
    pub(crate) fn read<T: Scalar>(&self) -> Result<Stored<T>, Fault> {
        let mut val: Vec<T> = reserved(self.stored() as usize)?;
        pieces(&self.data, |range| {
            val.extend(reals(&self.data, range)?.map(rounded::<T>));
            Ok(())
        })?;
        let Some((order, idx, ptr)) = &self.sparse else {
            return Ok(Stored::Dense(Mat::new(self.rows, self.cols, val)?));
        };
        let length = if *order == Order::Columns { self.rows } else { self.cols };
        let (ptr, idx) = (whole(ptr, self.stored() + 1)?, whole(idx, length as u64)?);
        Ok(Stored::Sparse(Sparse::new(self.rows, self.cols, *order, ptr, idx, val)?))
    }
}

impl Held {
    /// Passes row, column and value of all entries to `put`, a piece at a time.
    pub(crate) fn entries(
        &self,
        put: &mut dyn FnMut(usize, usize, f64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some((order, idx, ptr)) = &self.sparse else {
            return pieces(&self.data, |range| {
                let first = range.0 as usize * self.rows;
                let entries = (first..).zip(reals(&self.data, range)?);
                entries.into_iter().try_for_each(|(at, value)| put(at % self.rows, at / self.rows, value))
            });
        };
        let (lines, length) = match order {
            Order::Columns => (self.cols, self.rows),
            Order::Rows => (self.rows, self.cols),
        };
        let damaged = || Fault::content("the index arrays do not fit the data: write the file again");
        let ends: Vec<u64> = whole(ptr, self.stored() + 1)?;
        let last = ends.last() == Some(&self.stored()) && self.data.shape() == idx.shape();
        if !last || ends.len() != lines + 1 || ends[0] != 0 || !ends.is_sorted() {
            return Err(damaged());
        }
        let (mut line, mut positions) = (0, Vec::new());
        pieces(&self.data, |range| {
            positions.clear();
            indices::<u32>(idx, length as u64, &mut |at| positions.push(at), range)?;
            for ((entry, value), &at) in (range.0..).zip(reals(&self.data, range)?).zip(&positions) {
                while ends[line + 1] <= entry {
                    line += 1;
                }
                let (row, col) =
                    if *order == Order::Columns { (at as usize, line) } else { (line, at as usize) };
                put(row, col, value)?;
            }
            Ok(())
        })
    }
}

/// All indices of a dataset.
fn whole<I: TryFrom<i64>>(dataset: &Dataset, limit: u64) -> Result<Vec<I>, Fault> {
    let mut out = reserved(dataset.shape()[0] as usize)?;
    pieces(dataset, |range| indices(dataset, limit, &mut |index| out.push(index), range))?;
    Ok(out)
}
