//! Sparse matrices as `scipy.sparse.save_npz` writes them.

use crate::archive::Archive;
use crate::error::{Fault, quoted};
use crate::memory::{check_sparse, reserved};
use crate::npy::Array;
use crate::source::Source;
use klnmf::{Order, Scalar, Sparse};

/// Entries of a coo matrix that are read at a time.
const CHUNK: usize = 1 << 13;

/// Whether the archive holds a sparse matrix.
pub(crate) fn is_sparse(archive: &Archive) -> bool {
    archive.has("format") && archive.has("shape") && archive.has("data")
}

/// The layouts that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Csr,
    Csc,
    Coo,
}

/// Layout and shape, which are read before the entries.
pub(crate) struct Preamble {
    pub(crate) layout: Layout,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stored: usize,
}

/// Reads layout and shape.
pub(crate) fn preamble(archive: &mut Archive) -> Result<Preamble, Fault> {
    let layout = archive.in_array("format", |array| array.texts())?;
    let layout = match layout.first().map(String::as_str) {
        Some("csr") => Layout::Csr,
        Some("csc") => Layout::Csc,
        Some("coo") => Layout::Coo,
        other => {
            let other = quoted(other.unwrap_or_default());
            return Err(Fault::Content(format!(
                "sparse format {other} is not supported: convert the matrix with .tocsr() before saving"
            )));
        }
    };
    let shape = archive.in_array("shape", |mut array| {
        let mut shape = Vec::new();
        array.next_indices::<u64>(array.items().min(3), u64::MAX, &mut shape)?;
        Ok(shape)
    })?;
    let [rows, cols] = *shape else {
        return Err(Fault::Content(format!(
            "the sparse array has {} dimensions, but a matrix has 2: reshape it before saving",
            shape.len()
        )));
    };
    let stored = vector(archive, "data")?;
    let (rows, cols) = check_sparse(rows, cols, stored as u64)?;
    Ok(Preamble { layout, rows, cols, stored })
}

/// Reads the matrix. `source` is the file of `archive`; it is opened again to read several arrays in
/// parallel.
pub(crate) fn read<T: Scalar>(source: &Source, archive: &mut Archive) -> Result<Sparse<T>, Fault> {
    let Preamble { layout, rows, cols, stored } = preamble(archive)?;
    let (order, length) = match layout {
        Layout::Csr => (Order::Rows, cols),
        Layout::Csc => (Order::Columns, rows),
        Layout::Coo => {
            return Sparse::from_triplets(rows, cols, Order::shorter(rows, cols), |put| {
                replay(source, rows, cols, stored, put)
            });
        }
    };
    let ptr = indices(archive, "indptr", stored as u64 + 1)?;
    // Both arrays are decompressed at the same time.
    let (idx, val) = rayon::join(
        || indices(&mut Archive::open(source)?, "indices", length as u64),
        || archive.in_array("data", all_reals),
    );
    Ok(Sparse::new(rows, cols, order, ptr, idx?, val?)?)
}

/// All numbers of an array.
fn all_reals<T: Scalar>(mut array: Array<'_>) -> Result<Vec<T>, Fault> {
    let numbers = array.reals()?;
    array.finish()?;
    Ok(numbers)
}

/// The length of a one-dimensional array.
fn vector(archive: &mut Archive, name: &str) -> Result<usize, Fault> {
    archive.in_array(name, |array| match array.header.shape.len() {
        1 => Ok(array.items()),
        _ => Err(Fault::Content(format!(
            "shape {} where one dimension is expected",
            array.header.shape_text()
        ))),
    })
}

/// A whole index array.
fn indices<I: TryFrom<i64>>(archive: &mut Archive, name: &str, limit: u64) -> Result<Vec<I>, Fault> {
    let length = vector(archive, name)?;
    archive.in_array(name, |mut array| {
        let mut out = reserved(length)?;
        array.next_indices(length, limit, &mut out)?;
        array.finish()?;
        Ok(out)
    })
}

/// Passes all entries of a coo matrix to `put`, reading the three arrays in step.
fn replay<T: Scalar>(
    source: &Source,
    rows: usize,
    cols: usize,
    stored: usize,
    put: &mut dyn FnMut(usize, usize, T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (mut first, mut second, mut third) =
        (Archive::open(source)?, Archive::open(source)?, Archive::open(source)?);
    // Newer files may hold both index arrays as the two rows of one, called coords.
    let joined = first.has("coords") && !first.has("row");
    let (row_name, col_name) = if joined { ("coords", "coords") } else { ("row", "col") };
    let (mut is, mut js, mut values) =
        (first.array(row_name)?, second.array(col_name)?, third.array("data")?);
    let expected = if joined { stored.saturating_mul(2) } else { stored };
    if is.items() != expected
        || js.items() != expected
        || values.items() != stored
        || is.header.fortran && joined
    {
        return Err(Fault::content(
            "the index arrays do not have one row and one column per entry of data: write the file again",
        ));
    }
    if joined {
        js.skip(stored)?;
    }
    let (mut i, mut j, mut v): (Vec<i64>, Vec<i64>, Vec<T>) = Default::default();
    let mut left = stored;
    while left > 0 {
        let now = left.min(CHUNK);
        i.clear();
        j.clear();
        v.clear();
        is.next_indices(now, rows as u64, &mut i).map_err(|fault| fault.within(row_name))?;
        js.next_indices(now, cols as u64, &mut j).map_err(|fault| fault.within(col_name))?;
        values.next_reals(now, &mut v).map_err(|fault| fault.within("data"))?;
        for ((i, j), v) in i.iter().zip(&j).zip(&v) {
            put(*i as usize, *j as usize, *v)?;
        }
        left -= now;
    }
    if !joined {
        is.finish().map_err(|fault| fault.within(row_name))?;
    }
    js.finish().map_err(|fault| fault.within(col_name))?;
    values.finish().map_err(|fault| fault.within("data"))
}
