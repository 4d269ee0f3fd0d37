//! Checks whether what a file claims fits in memory: its length does not bound the empty rows and columns
//! of a sparse matrix.

use crate::error::Fault;

/// The shape as `usize`, or an error if its arrays exceed what the system can allocate.
///
/// The memory is allocated and freed at once. This is cheap, and even a system that overcommits refuses more
/// than the machine has. So an absurd size line gives an error, and does not abort the process.
pub(crate) fn check_sparse(rows: u64, cols: u64, stored: u64) -> Result<(usize, usize), Fault> {
    // Pointers of both orders and entries with an index: at most sixteen bytes each.
    let bytes = (u128::from(rows) + u128::from(cols) + u128::from(stored) + 2) * 16;
    let mut trial: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|bytes| trial.try_reserve_exact(bytes).is_ok());
    // Without this the compiler may remove the unused allocation.
    std::hint::black_box(&trial);
    match (fits, usize::try_from(rows), usize::try_from(cols)) {
        (true, Ok(rows), Ok(cols)) => Ok((rows, cols)),
        _ => Err(Fault::Content(format!(
            "a sparse {rows} × {cols} matrix with {stored} entries does not fit in memory: check that the \
             size in the file is right"
        ))),
    }
}

/// An empty list with room for so many elements, or an error if they exceed what the system can allocate.
pub(crate) fn reserved<I>(length: usize) -> Result<Vec<I>, Fault> {
    let mut out = Vec::new();
    let bytes = length as u128 * size_of::<I>() as u128;
    let too_large = |_| klnmf::Error::TooLarge { rows: length, cols: 1, bytes };
    out.try_reserve_exact(length).map_err(too_large)?;
    Ok(out)
}
