//! The workspace of a thread.

use super::column_data::{gathered_rows, panel_width};
use super::{Evidence, Gather, LineBuffer, MOST_BLOCKS, MOST_COLUMNS, TILE_ROWS, padded};
use crate::Scalar;
use crate::kernel::Aligned;
use crate::solver::active::Active;
use crate::solver::short::Short;

/// The buffers in which a storage converts or decodes, allocated as needed.
#[derive(Default)]
pub struct Load<S> {
    /// Entries of V.
    pub a: Vec<S>,
    /// c of every column, for a storage with weighted entries. The two storages here have none.
    #[allow(dead_code)]
    pub c: Vec<S>,
    /// Lines that were read from outside memory.
    pub lines: LineBuffer<S>,
}

/// A thread's memory for a method. Unused arrays stay untouched zero pages and cost nothing.
///
/// The first group holds p × q numbers each, with p padded, and is empty unless the method keeps such arrays.
/// The second holds r × q numbers each, for at least sixteen columns.
pub struct Work<S> {
    /// One tile of KX.
    pub tile: Aligned<S>,
    /// The result of the last pass.
    pub evidence: Evidence<S>,

    /// Kx.
    pub z: Aligned<S>,
    /// The columns of V, padded or compacted.
    pub a: Aligned<S>,
    /// Dual step sizes.
    pub sigma: Aligned<S>,
    /// The dual point.
    pub chi: Aligned<S>,
    /// The dual point at the last restart.
    pub chi_then: Aligned<S>,
    /// Zeros in place of an atom.
    pub zeros: Aligned<S>,

    /// Weights.
    pub x: Vec<S>,
    /// Extrapolated weights.
    pub x_bar: Vec<S>,
    /// Weights at an earlier iteration.
    pub x_then: Vec<S>,
    /// The best weights so far, or those to fall back to.
    pub x_best: Vec<S>,
    /// Weights passed between the stages of a decomposition.
    pub start: Vec<S>,
    /// Primal step sizes.
    pub tau: Vec<S>,
    /// Workspace of the projection onto a simplex: eight columns twice.
    pub simplex: [Vec<S>; 2],
    /// The weights that move in each column.
    pub active: Active,

    /// Short columns side by side.
    pub short: Short<S>,
    /// Copies of rows of the dictionary for sparse columns, of at most `rows` rows.
    pub gather: Gather<S>,
    pub rows: usize,
}

impl<S: Scalar> Work<S> {
    /// Allocates for blocks of p rows and q columns, with the p × q arrays if `arrays` is set, and for panels
    /// of `width` columns with r weights.
    pub fn new(p: usize, q: usize, width: usize, r: usize, arrays: bool) -> Self {
        let zeros = |n: usize| vec![S::ZERO; n];
        let big = || Aligned::zeros(if arrays { padded::<S>(p) * q } else { 0 });
        let columns = width.max(MOST_BLOCKS);
        let small = || zeros(r * columns);
        Self {
            tile: Aligned::zeros(TILE_ROWS.min(p) * q),
            evidence: Evidence { g: small(), logs: vec![0.0; columns] },
            z: big(),
            a: big(),
            sigma: big(),
            chi: big(),
            chi_then: big(),
            zeros: Aligned::zeros(if arrays { padded::<S>(p) } else { 0 }),
            x: small(),
            x_bar: small(),
            x_then: small(),
            x_best: small(),
            start: small(),
            tau: small(),
            simplex: [small(), small()],
            active: Active::new(r, columns),
            short: Short::default(),
            gather: Gather::default(),
            rows: p,
        }
    }
}

/// Bytes of the workspaces of one thread for one half (`rows × cols`) of a factorisation: that of the method,
/// which may keep four arrays of the size of its largest block, and that of the certificate. `longest`: the
/// stored entries of the longest column, if V is sparse.
pub fn workspace_bytes(rows: usize, cols: usize, longest: Option<usize>, r: usize) -> u128 {
    let (p, q) = longest.map_or((rows, panel_width(rows, cols, true, 1)), |all| (gathered_rows(all), 1));
    let (p, q, r, most) = (p as u128, q as u128, r as u128, MOST_COLUMNS as u128);
    let gathered = if longest.is_some() { p * (r + 1) } else { 0 };
    8 * (2 * gathered + 4 * (p + 16) * q + 16 * r * most + 2 * TILE_ROWS as u128 * most)
}
