//! The memory of a factorisation, known before it starts.

use crate::block::workspace_bytes;
use crate::solver::stream::more_bytes;
use crate::{Matrix, Scalar, Solver};

/// Bytes of workspace that do not depend on the data: tables, stacks, the program itself.
const FIXED: u128 = 64 << 20;

/// Upper bound of the memory of [`factorize`](crate::factorize); see [`memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// V as stored. It is kept twice, by columns and by rows, so that both half-steps read it in order. A
    /// sparse V stays sparse.
    pub v: u128,
    /// W and H.
    pub factors: u128,
    /// 64 MiB; the workspace of each thread (a few columns of V, with their rows of W or H if V is sparse);
    /// and twice, for every row and column of V, 48 bytes and the padding of the rank to whole registers.
    pub workspace: u128,
    /// What `stream` needs beyond that.
    stream: u128,
}

impl Memory {
    /// The memory for a dense V of type `T` and this size, which need not exist yet; see [`memory`].
    pub fn dense<T: Scalar>(rows: usize, cols: usize, rank: usize, threads: usize) -> Self {
        let bytes = rows as u128 * cols as u128 * size_of::<T>() as u128;
        Self::new::<T>(bytes, (rows, cols), None, rank, threads)
    }

    /// The memory for a sparse V of type `T` with so many stored entries, which need not be read yet; see
    /// [`memory`]. `longest`: the most entries in a row and in a column, which count as full if not known.
    pub fn sparse<T: Scalar>(
        (rows, cols): (usize, usize),
        stored: u64,
        longest: Option<(usize, usize)>,
        rank: usize,
        threads: usize,
    ) -> Self {
        let bytes = u128::from(stored) * (4 + size_of::<T>() as u128) + 8 * (rows.min(cols) as u128 + 1);
        Self::new::<T>(bytes, (rows, cols), longest.or(Some((cols, rows))), rank, threads)
    }

    /// `longest`: numbers of stored entries in the longest row and the longest column, if V is sparse.
    fn new<T: Scalar>(
        v: u128,
        (n, m): (usize, usize),
        longest: Option<(usize, usize)>,
        rank: usize,
        threads: usize,
    ) -> Self {
        let lines = n as u128 + m as u128;
        // Dictionaries are padded to whole registers: one in f64 for certificates, one in the precision of
        // the computation.
        let padded = |size: usize| (size as u128) * ((64 / size - rank % (64 / size)) % (64 / size)) as u128;
        let padding = padded(8) + padded(size_of::<T>());
        let per_thread = workspace_bytes(n, m, longest.map(|(_, column)| column), rank)
            + workspace_bytes(m, n, longest.map(|(row, _)| row), rank);
        Self {
            v,
            factors: lines * rank as u128 * size_of::<T>() as u128,
            workspace: FIXED + threads as u128 * per_thread + (48 + padding) * lines,
            stream: more_bytes::<T>(v, (n, m), rank),
        }
    }

    /// 2·V + 12·(W + H) + workspace, which suffices for most solvers.
    pub fn total(&self) -> u128 {
        2 * self.v + 12 * self.factors + self.workspace
    }

    /// What this solver needs beyond the [`total`](Memory::total). Those for dense data only keep two more n
    /// × m matrices. `stream` keeps the curvature of every row of W, in up to 512 MiB or ten numbers for
    /// every four weights if that is more, and copies of a batch of columns, for which 6·V/100 is counted
    /// (more if V has fewer than 800 columns).
    pub fn beyond(&self, solver: Solver) -> u128 {
        match solver {
            Solver::Stream => self.stream,
            _ if solver.spec().dense_only => 2 * self.v,
            _ => 0,
        }
    }
}

/// The memory of a factorisation of V at rank `rank` on `threads` threads, at most
///
/// 2·(bytes of V) + 12·(bytes of W and H) + workspace.
///
/// Some solvers need [more](Memory::beyond). [`Init::Nndsvd`](crate::Init::Nndsvd) temporarily needs memory
/// of its own; see there.
///
/// ```
/// let v = klnmf::Mat::<f64>::zeros(100, 50);
/// let memory = klnmf::memory(&v, 10, 2);
/// assert_eq!((memory.v, memory.factors), (40_000, 8 * 150 * 10));
/// assert_eq!(memory, klnmf::Memory::dense::<f64>(100, 50, 10, 2));
/// ```
pub fn memory<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, rank: usize, threads: usize) -> Memory {
    let v = v.into();
    let longest = v.is_sparse().then(|| v.longest());
    Memory::new::<T>(v.bytes() as u128, (v.rows(), v.cols()), longest, rank, threads)
}
