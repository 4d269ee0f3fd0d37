//! Whether a sparse matrix of a claimed shape can be had: no file length bounds its empty rows and columns.

use crate::error::Fault;

/// The shape as `usize`, or an error if its arrays exceed what the system would ever give.
///
/// The memory is asked for and given back at once. That costs nothing, and a system that overcommits still refuses more
/// than the machine has, so a nonsensical size line ends in a message and not in an aborted process.
pub(crate) fn check_sparse(rows: u64, cols: u64, stored: u64) -> Result<(usize, usize), Fault> {
    // Pointers of both orders and entries with an index: at most sixteen bytes each.
    let bytes = (u128::from(rows) + u128::from(cols) + u128::from(stored) + 2) * 16;
    let mut trial: Vec<u8> = Vec::new();
    let fits = usize::try_from(bytes).is_ok_and(|bytes| trial.try_reserve_exact(bytes).is_ok());
    // Without this the compiler may drop the unused allocation and call it a success.
    std::hint::black_box(&trial);
    match (fits, usize::try_from(rows), usize::try_from(cols)) {
        (true, Ok(rows), Ok(cols)) => Ok((rows, cols)),
        _ => Err(Fault::Content(format!(
            "a sparse {rows} × {cols} matrix with {stored} entries does not fit in memory: check that the size in the \
             file is right"
        ))),
    }
}
