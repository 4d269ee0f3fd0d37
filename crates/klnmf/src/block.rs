//! One half of the problem, and the blocks in which it is worked.
//!
//! A half-step holds a dictionary K (p × r) fixed and moves X (r × q) so that KX comes near V (p × q): with V = V, K = W,
//! X = H it is the H-step, with Vᵀ, Hᵀ, Wᵀ the W-step. Both factors are therefore kept with r rows, as H and Wᵀ.
//!
//! A [`Block`] is a few columns of V with the dictionary restricted to the rows that matter: a panel of columns with
//! all of K if V is dense, one column with the rows K_S of its non-zeros, gathered, if V is sparse. Everything above
//! this file is written for blocks and does not know which it was.

use crate::kernel;
use crate::map::{Logs, Map, Ratio};
use crate::matrix::{Columns, Index, IndexSlice, Matrix, Storage};
use crate::packed::{Aligned, Packed};
use crate::parallel::{PerThread, Pool};
use crate::{Mat, Result, Scalar};
use std::any::TypeId;
use std::ops::Range;

/// Rows of KX that are worked at a time, so that they stay in cache between the two products.
const TILE_ROWS: usize = 128;

/// The most columns that a block has.
pub(crate) const MOST_COLUMNS: usize = 48;

/// The most sparse columns that are gathered together, and the rows for which there is room even if no column is so long.
pub(crate) const MOST_BLOCKS: usize = 8;
const GATHERED_ROWS: usize = 2048;

/// Rows that can be gathered together if the longest column has `longest` entries.
fn gathered_rows(longest: usize) -> usize {
    // 16 numbers fill a register in either precision.
    let longest = longest.next_multiple_of(16);
    (MOST_BLOCKS * longest).min(longest.max(GATHERED_ROWS))
}

/// Rows of a dictionary that is kept atom by atom, padded so that every atom fills whole registers.
fn padded<S>(p: usize) -> usize {
    p.next_multiple_of(64 / size_of::<S>())
}

/// What a method wants to know of a dictionary besides products.
#[derive(Clone, Copy, Default)]
pub struct Wants {
    /// [`Block::u`].
    pub u: bool,
    /// [`Block::atoms`], which sparse blocks have anyway.
    pub atoms: bool,
}

/// Columns in a panel. It depends on the data alone: some panels for every thread, yet wide enough for the products, and no
/// more than a mebibyte of doubles, so that the workspace is bounded.
fn panel_width(rows: usize, cols: usize, sparse: bool) -> usize {
    if sparse {
        return cols.div_ceil(64).clamp(1, 64);
    }
    // Eight panels or more, in multiples of the number of columns that the kernels take at a time. Wide panels read the
    // dictionary less often.
    let fits = ((1 << 17) / rows.max(1)).clamp(1, MOST_COLUMNS);
    let width = cols.div_ceil(8);
    if width >= 8 { width.next_multiple_of(8).min(fits) } else { width.clamp(1, fits) }
}

/// Bytes of the workspaces of one thread for a `rows × cols` half whose longest column has `longest` stored entries: the
/// solver's, which gathers and keeps three p × q arrays, and the certifier's, which gathers.
pub(crate) fn workspace_bytes(rows: usize, cols: usize, longest: usize, sparse: bool, r: usize) -> u128 {
    let r = r as u128;
    let (p, q) = if sparse {
        (gathered_rows(longest) as u128, 1)
    } else {
        (rows as u128, panel_width(rows, cols, sparse) as u128)
    };
    let gathered = if sparse { p * (r + 1) } else { 0 };
    8 * (2 * gathered + 4 * (p + 16) * q + 12 * r * q.max(8) + 2 * TILE_ROWS as u128 * q)
}

/// V by columns, and the sums of its columns.
pub struct Half<'a, T> {
    v: Columns<'a, T>,
    pub sums: Vec<f64>,
}

impl<'a, T: Scalar> Half<'a, T> {
    pub fn new(v: Matrix<'a, T>) -> Result<Self> {
        let v = Columns::new(v)?;
        let view = v.view();
        let sums = (0..view.cols()).map(|j| view.column_values(j).iter().map(|a| a.to_f64()).sum()).collect();
        Ok(Self { v, sums })
    }

    pub fn view(&self) -> Matrix<'_, T> {
        self.v.view()
    }

    /// Columns in a panel.
    pub fn width(&self) -> usize {
        let view = self.view();
        panel_width(view.rows(), view.cols(), view.is_sparse())
    }

    /// Columns in a block.
    fn block_cols(&self) -> usize {
        if self.view().is_sparse() { 1 } else { self.width() }
    }

    /// Rows of the tallest block, or of the blocks that are gathered together.
    fn block_rows(&self) -> usize {
        let view = self.view();
        if view.is_sparse() {
            gathered_rows((0..view.cols()).map(|j| view.column_values(j).len()).max().unwrap_or(0))
        } else {
            view.rows()
        }
    }

    /// Workspaces for blocks of this half, one per thread.
    pub fn scratch<S: Scalar>(&self, pool: &Pool, r: usize) -> PerThread<Scratch<S>> {
        let (p, q) = (self.block_rows(), self.block_cols());
        let sparse = self.view().is_sparse();
        pool.each(|| Scratch::new(p, q, r, sparse, TypeId::of::<S>() != TypeId::of::<T>()))
    }

    /// Calls `f` for every block, in parallel, with the block's columns of `a` and `b` (`per_a`, `per_b` entries a column).
    pub fn for_each_block<S: Scalar, A: Send, B: Send>(
        &self,
        pool: &Pool,
        scratch: &PerThread<Scratch<S>>,
        dictionary: &Dictionary<S>,
        a: (&mut [A], usize),
        b: (&mut [B], usize),
        f: impl Fn(&Block<'_, S>, &mut [A], &mut [B], &mut Work<S>) + Sync,
    ) {
        self.for_each_group(pool, scratch, dictionary, a, b, 1, |b, x, y, work| f(&b[0], x, y, work), |_| ());
    }

    /// The same for groups of blocks: one if V is dense, up to `most` single columns if it is sparse. After each panel `then`
    /// is called with the number of its columns. It may be the user's code and do what it likes, also start work on these
    /// threads: no lock is held.
    pub fn for_each_group<S: Scalar, A: Send, B: Send>(
        &self,
        pool: &Pool,
        scratch: &PerThread<Scratch<S>>,
        dictionary: &Dictionary<S>,
        (a, per_a): (&mut [A], usize),
        (b, per_b): (&mut [B], usize),
        most: usize,
        f: impl Fn(&[Block<'_, S>], &mut [A], &mut [B], &mut Work<S>) + Sync,
        then: impl Fn(usize) + Sync,
    ) {
        pool.panels(self.width(), (a, per_a), (b, per_b), |mut first, mut a, mut b| {
            let cols = a.len() / per_a;
            let end = first + cols;
            scratch.with(|Scratch { load, work }| {
                while first < end {
                    let (count, blocks) = load.blocks(self, first..end, most, dictionary);
                    let blocks = &blocks[..count];
                    let cols: usize = blocks.iter().map(|b| b.q).sum();
                    f(blocks, take(&mut a, cols * per_a), take(&mut b, cols * per_b), work);
                    first += cols;
                }
            });
            then(cols);
        });
    }
}

/// Cuts the first `n` entries off.
pub(crate) fn take<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    from.split_off_mut(..n).expect("the slice is long enough")
}

/// The fixed factor of a half-step, in the layout and precision that blocks want.
pub struct Dictionary<S> {
    r: usize,
    /// Kᵀ, r × p: rows of K contiguous, to be gathered for sparse columns. Empty if V is dense.
    rows: Vec<S>,
    /// K packed for products, for dense V.
    packed: Option<Packed<S>>,
    /// Kᵀ1.
    pub k_sum: Vec<S>,
    /// K(1/Kᵀ1): row i's share of every atom, added up. Empty if nobody wants it.
    u: Vec<S>,
    /// K atom by atom, padded with zeros. Empty if nobody wants it.
    atoms: Aligned<S>,
    /// Kᵀ1 while it is being added up.
    sums: Vec<f64>,
}

impl<S: Scalar> Dictionary<S> {
    /// Room for a dictionary of r atoms for this half.
    pub fn new<T: Scalar>(half: &Half<'_, T>, r: usize, wants: Wants) -> Self {
        let (p, sparse) = (half.view().rows(), half.view().is_sparse());
        Self {
            r,
            rows: vec![S::ZERO; if sparse { p * r } else { 0 }],
            packed: (!sparse).then(|| Packed::new(p, r)),
            k_sum: vec![S::ZERO; r],
            u: vec![S::ZERO; if wants.u { p } else { 0 }],
            atoms: Aligned::zeros(if wants.atoms && !sparse { padded::<S>(p) * r } else { 0 }),
            sums: vec![0.0; r],
        }
    }

    /// Takes K from its transpose `kt` (r × p).
    pub fn set<T: Scalar>(&mut self, pool: &Pool, kt: &Mat<T>) {
        let Self { r, rows, packed, k_sum, u, atoms, sums } = self;
        let kt = kt.as_slice();
        pool.both(
            || {
                kernel::add_columns(kt, sums);
                k_sum.iter_mut().zip(&*sums).for_each(|(to, s)| *to = S::from_f64(*s));
                sums.iter_mut().filter(|s| **s > 0.0).for_each(|s| *s = 1.0 / *s);
                for (u, row) in u.iter_mut().zip(kt.chunks_exact(*r)) {
                    *u = S::from_f64(kernel::dot(row, sums));
                }
            },
            || {
                kernel::convert(kt, rows);
                if let Some(packed) = packed {
                    packed.set(kt);
                }
                if !atoms.is_empty() {
                    let height = atoms.len() / *r;
                    for (i, row) in kt.chunks_exact(*r).enumerate() {
                        row.iter()
                            .enumerate()
                            .for_each(|(k, value)| atoms[k * height + i] = S::from_f64(value.to_f64()));
                    }
                }
            },
        );
    }
}

/// A thread's memory: what blocks are loaded into, and what solvers work in.
pub struct Scratch<S> {
    load: Load<S>,
    pub work: Work<S>,
}

/// Where gathered or converted pieces of V and K go.
struct Load<S> {
    a: Vec<S>,
    k: Vec<S>,
    u: Vec<S>,
}

/// Room for solvers: `big` holds p × q numbers each, p padded, `small` r × q, for eight columns at least, `tile` one tile of
/// KX. What a solver does not touch stays untouched zero pages and costs no memory.
pub struct Work<S> {
    pub tile: Aligned<S>,
    pub big: [Vec<S>; 5],
    pub small: [Vec<S>; 7],
}

impl<S: Scalar> Scratch<S> {
    fn new(p: usize, q: usize, r: usize, gathers: bool, converts: bool) -> Self {
        let zeros = |n: usize| vec![S::ZERO; n];
        let load = Load {
            a: zeros(if converts { p * q } else { 0 }),
            k: zeros(if gathers { padded::<S>(p) * r } else { 0 }),
            u: zeros(if gathers { p } else { 0 }),
        };
        let work = Work {
            tile: Aligned::zeros(TILE_ROWS.min(p) * q),
            big: std::array::from_fn(|_| zeros(padded::<S>(p) * q)),
            small: std::array::from_fn(|_| zeros(r * q.max(MOST_BLOCKS))),
        };
        Self { load, work }
    }
}

impl<S: Scalar> Load<S> {
    /// The block of the columns `cols` if V is dense, else as many single columns from the first on as there is room for, up
    /// to `most`; and how many blocks that is.
    fn blocks<'a, T: Scalar>(
        &'a mut self,
        half: &'a Half<'_, T>,
        mut cols: Range<usize>,
        most: usize,
        dictionary: &'a Dictionary<S>,
    ) -> (usize, [Block<'a, S>; MOST_BLOCKS]) {
        let Load { a, k, u } = self;
        let (mut a, mut k, mut u) = (&mut a[..], &mut k[..], &mut u[..]);
        let (v, r, mut count) = (half.view(), dictionary.r, 0);
        let blocks = std::array::from_fn(|n| {
            let (first, mut q) = (cols.start, 0);
            let (mut p, mut values, mut atoms, mut shares) = (0, &[][..], Atoms::Gathered(&[]), &[][..]);
            match v.storage() {
                _ if cols.is_empty() || n >= most => {}
                Storage::Dense(data) => {
                    (p, q) = (v.rows(), cols.len());
                    values = in_precision(&data[first * p..cols.end * p], take_some(&mut a, p * q));
                    atoms = dictionary.packed.as_ref().map_or(atoms, Atoms::Packed);
                    shares = &dictionary.u;
                }
                Storage::Sparse { ptr, idx, val } => {
                    let range = ptr.at(first)..ptr.at(first + 1);
                    let height = padded::<S>(range.len());
                    // The first one fits.
                    if height * r <= k.len() {
                        (p, q) = (range.len(), 1);
                        let (k, u) = (take(&mut k, height * r), take(&mut u, p));
                        match idx {
                            IndexSlice::U32(idx) => gather(&idx[range.clone()], r, dictionary, k, u),
                            IndexSlice::U64(idx) => gather(&idx[range.clone()], r, dictionary, k, u),
                        }
                        values = in_precision(&val[range], take_some(&mut a, p));
                        (atoms, shares) = (Atoms::Gathered(k), u);
                    }
                }
            }
            let last = if q == 0 { cols.end } else { first + q };
            cols.start = last;
            count += usize::from(q > 0);
            Block {
                first,
                p,
                q,
                r,
                a: values,
                k: atoms,
                atoms: if let Atoms::Gathered(k) = atoms { k } else { &dictionary.atoms[..] },
                u: shares,
                k_sum: &dictionary.k_sum,
                sums: &half.sums[first..first + q],
            }
        });
        (count, blocks)
    }
}

/// Cuts the first `n` entries off, or as many as there are.
fn take_some<'a, A>(from: &mut &'a mut [A], n: usize) -> &'a mut [A] {
    let n = n.min(from.len());
    take(from, n)
}

/// Collects the rows `idx` of K atom by atom, padded with zeros, and the same entries of u.
fn gather<I: Index, S: Scalar>(idx: &[I], r: usize, dictionary: &Dictionary<S>, k: &mut [S], u: &mut [S]) {
    let (p, height) = (idx.len(), padded::<S>(idx.len()));
    if !dictionary.u.is_empty() {
        u.iter_mut().zip(idx).for_each(|(u, i)| *u = dictionary.u[i.at()]);
    }
    let row = |i: &I| &dictionary.rows[i.at() * r..][..r];
    // Four rows at a time: their entries of an atom lie side by side, so one write serves four.
    let fours = idx.chunks_exact(4);
    let rest = fours.remainder();
    for (n, four) in fours.enumerate() {
        let rows: [&[S]; 4] = std::array::from_fn(|c| row(&four[c]));
        for l in 0..r {
            let to = &mut k[l * height + 4 * n..][..4];
            to.copy_from_slice(&[rows[0][l], rows[1][l], rows[2][l], rows[3][l]]);
        }
    }
    for (at, i) in (p - rest.len()..).zip(rest) {
        for (l, value) in row(i).iter().enumerate() {
            k[l * height + at] = *value;
        }
    }
    k.chunks_exact_mut(height.max(1)).take(r).for_each(|atom| atom[p..].fill(S::ZERO));
}

/// `values` as they are if they have precision S already, else converted into `room`.
fn in_precision<'a, T: Scalar, S: Scalar>(values: &'a [T], room: &'a mut [S]) -> &'a [S] {
    if TypeId::of::<T>() == TypeId::of::<S>() {
        // Safety: T and S are the same type.
        return unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<S>(), values.len()) };
    }
    let room = &mut room[..values.len()];
    kernel::convert(values, room);
    room
}

/// The dictionary of a block.
#[derive(Clone, Copy)]
pub enum Atoms<'a, S> {
    /// All of it.
    Packed(&'a Packed<S>),
    /// The rows of one sparse column, atom by atom, p padded.
    Gathered(&'a [S]),
}

/// Some columns of V, all with the same rows of the dictionary.
pub struct Block<'a, S> {
    /// The first column's number in V.
    pub first: usize,
    /// Rows, columns, atoms.
    pub p: usize,
    pub q: usize,
    pub r: usize,
    /// p × q: the columns of V.
    pub a: &'a [S],
    /// p × r: the dictionary on these rows.
    pub k: Atoms<'a, S>,
    /// The same atom by atom, if the method wants it: r times [`Block::height`] numbers, zeros after the first p.
    pub atoms: &'a [S],
    /// K(1/Kᵀ1) on these rows.
    pub u: &'a [S],
    /// Kᵀ1 over *all* rows, also those that a sparse block leaves out.
    pub k_sum: &'a [S],
    /// 1ᵀV of these columns.
    pub sums: &'a [f64],
}

impl<S: Scalar> Block<'_, S> {
    /// The part of a p × q array that belongs to column `c` and `rows`.
    pub fn part(&self, c: usize, rows: &Range<usize>) -> Range<usize> {
        c * self.p + rows.start..c * self.p + rows.end
    }

    /// Rows with padding: where the next atom begins in [`Block::atoms`].
    pub fn height(&self) -> usize {
        padded::<S>(self.p)
    }

    /// (Kᵀ1)ᵀx, the sum of Kx over all rows.
    pub fn total(&self, x: &[S]) -> f64 {
        kernel::dot(self.k_sum, x)
    }

    /// The divergence of every column at x, from the logarithms that a pass with `Logs::new(b.a, b.a)` has added up.
    pub fn divergences(&self, logs: &Logs<'_, S>, x: &[S], values: &mut [f64]) {
        for (c, (value, x)) in values.iter_mut().zip(x.chunks(self.r)).enumerate() {
            *value = logs.sum(c) - self.sums[c] + self.total(x);
        }
    }

    /// One pass over the block, tile by tile: z = Kx (r × q `x`), then `f` turns a tile z into t, then g = Kᵀt.
    ///
    /// `f` gets the rows of the tile and the tile, column after column. Without `x` it must fill the tile itself;
    /// without `g` what it leaves there is not used.
    pub fn pass(
        &self,
        x: Option<&[S]>,
        mut g: Option<&mut [S]>,
        tile: &mut [S],
        mut f: impl FnMut(Range<usize>, &mut [S]),
    ) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(TILE_ROWS) {
            let rows = start..(start + TILE_ROWS).min(p);
            let n = rows.len();
            let z = &mut tile[..n * q];
            if let Some(x) = x {
                match self.k {
                    Atoms::Packed(k) => k.multiply(&rows, &x[..r * q], q, z),
                    Atoms::Gathered(k) => kernel::multiply(&k[start..], self.height(), &x[..r], z),
                }
            }
            f(rows.clone(), z);
            if let Some(g) = &mut g {
                self.add_back(&rows, z, g);
            }
        }
    }

    /// The same where what lies between the products is a [`Map`], applied strip by strip. Without `g` there
    /// is no second product.
    pub fn pass_map(&self, x: &[S], mut g: Option<&mut [S]>, tile: &mut [S], map: &mut impl Map<S>) {
        let Block { p, q, r, .. } = *self;
        if let Some(g) = &mut g {
            g[..r * q].fill(S::ZERO);
        }
        for start in (0..p).step_by(TILE_ROWS) {
            let rows = start..(start + TILE_ROWS).min(p);
            let t = &mut tile[..rows.len() * q];
            match self.k {
                Atoms::Packed(k) => k.multiply_map(&rows, &x[..r * q], q, t, map),
                Atoms::Gathered(k) => {
                    kernel::multiply(&k[start..], self.height(), &x[..r], t);
                    map.apply(0, start, t);
                }
            }
            if let Some(g) = &mut g {
                self.add_back(&rows, t, g);
            }
        }
    }

    /// g ← g + Kᵀt for the rows of one tile.
    fn add_back(&self, rows: &Range<usize>, t: &[S], g: &mut [S]) {
        let Block { q, r, .. } = *self;
        match self.k {
            Atoms::Packed(k) => k.multiply_transposed(rows, t, q, &mut g[..r * q]),
            Atoms::Gathered(k) => {
                kernel::multiply_transposed(&k[rows.start..], self.height(), t, &mut g[..r]);
            }
        }
    }

    /// z ← a/z on the support, for one tile.
    pub fn ratio(&self, rows: &Range<usize>, z: &mut [S]) {
        for (c, z) in z.chunks_mut(rows.len()).enumerate() {
            Ratio::new(self.a).apply(c, self.part(c, rows).start, z);
        }
    }
}
