//! V or Vᵀ in lines that are read when they are needed, such as packed columns on disk.

use super::column_data::{USUAL_COLUMNS, gathered_rows, nonzero, panel_width};
use super::{Block, Blocks, Dictionary, Load, Nonzero};
use crate::kernel::SparseRows;
use crate::parallel::Pool;
use crate::{Entry, Error, Result, Scalar};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most numbers that a thread decodes at a time, unless a single line has more.
const MOST_NUMBERS: usize = 1 << 20;

/// The columns or the rows of a matrix outside memory. They can be read in any order by several threads.
pub trait Lines: Send + Sync {
    /// Number of lines, and their length.
    fn shape(&self) -> (usize, usize);

    /// Whether a line holds only some entries, with their positions.
    fn is_sparse(&self) -> bool;

    /// The most entries that are stored in a line.
    fn longest(&self) -> usize;

    /// Appends the entries of some lines to `to`, which is empty. An error is one sentence that names the file
    /// and says what to do.
    fn read(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String>;
}

/// Some lines of a matrix: compressed if it is sparse, else only values.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer {
    /// The number of entries up to the end of every line, if the matrix is sparse.
    pub ends: Vec<usize>,
    /// The positions of the entries, increasing strictly within a line, if the matrix is sparse.
    pub idx: Vec<u32>,
    /// The values.
    pub values: Vec<f64>,
}

impl LineBuffer {
    /// Whether the arrays are some lines of this length with at most `longest` entries each.
    fn fits(&self, lines: usize, length: usize, sparse: bool, longest: usize) -> bool {
        if !sparse {
            return self.values.len() == lines * length;
        }
        let increasing = |range: Range<usize>| {
            let idx = self.idx.get(range);
            idx.is_some_and(|idx| {
                idx.len() <= longest
                    && idx.is_sorted_by(|a, b| a < b)
                    && idx.last().is_none_or(|last| (*last as usize) < length)
            })
        };
        let mut begin = 0;
        let whole = self.ends.iter().all(|&end| increasing(std::mem::replace(&mut begin, end)..end));
        whole && self.ends.len() == lines && begin == self.values.len() && begin == self.idx.len()
    }

    /// Drops entries that are zero in the precision of V.
    fn drop_zeros<T: Scalar>(&mut self) {
        let zero = |x: &f64| T::from_f64(*x) == T::ZERO;
        if !self.values.iter().any(zero) {
            return;
        }
        let (mut from, mut to) = (0, 0);
        for end in &mut self.ends {
            for at in std::mem::replace(&mut from, *end)..*end {
                if !zero(&self.values[at]) {
                    (self.values[to], self.idx[to]) = (self.values[at], self.idx[at]);
                    to += 1;
                }
            }
            *end = to;
        }
        self.values.truncate(to);
        self.idx.truncate(to);
    }
}

/// The first failure of a storage. Half-steps cannot fail, so a line that cannot be read counts as zero, and
/// the failure is reported when the work ends.
pub type Failure = Arc<OnceLock<Error>>;

/// Lines with their sums, as numbers of type T.
pub struct Streamed<'v, T> {
    lines: &'v dyn Lines,
    /// The number of lines, their length, whether they are sparse, and the most entries in one. The trait is
    /// asked once: memory is safe only if the answers agree.
    count: usize,
    length: usize,
    sparse: bool,
    longest: usize,
    sums: Vec<f64>,
    nonzero: Nonzero,
    failure: Failure,
    precision: PhantomData<T>,
}

impl<'v, T: Scalar> Streamed<'v, T> {
    /// Reads all lines once, to check and to sum them. `position`: row and column of an entry of a line.
    pub fn new(
        pool: &Pool,
        lines: &'v dyn Lines,
        failure: Failure,
        position: fn(usize, usize) -> (usize, usize),
    ) -> Result<Self> {
        let ((count, length), sparse, longest) = (lines.shape(), lines.is_sparse(), lines.longest());
        let (sums, nonzero_entries, precision) = (vec![], Nonzero::NONE, PhantomData);
        let mut new = Self {
            lines,
            count,
            length,
            sparse,
            longest,
            sums,
            nonzero: nonzero_entries,
            failure,
            precision,
        };
        let (mut sums, mut facts) = (vec![0.0; count], vec![(Nonzero::NONE, None); count]);
        pool.panels(new.width(pool.threads()), (&mut sums, 1), (&mut facts, 1), |first, sums, facts| {
            let mut buffer = LineBuffer::default();
            new.read(first..first + sums.len(), &mut buffer);
            let mut begin = 0;
            for (l, (sum, fact)) in sums.iter_mut().zip(facts).enumerate() {
                let end = buffer.ends.get(l).copied().unwrap_or(begin + length);
                let here = std::mem::replace(&mut begin, end)..end;
                let values: Vec<T> = buffer.values[here.clone()].iter().map(|x| T::from_f64(*x)).collect();
                *sum = values.iter().map(|a| a.to_f64()).sum();
                let bad = values.iter().position(|v| !(v.is_finite() && *v >= T::ZERO));
                let place = |at: usize| buffer.idx.get(here.start + at).map_or(at, |i| *i as usize);
                *fact = (nonzero(&values), bad.map(|at| (place(at), values[at])));
            }
        });
        new.check()?;
        if let Some((line, (at, value))) = facts.iter().enumerate().find_map(|(l, fact)| Some((l, fact.1?))) {
            let (row, col) = position(line, at);
            let entry = Entry { row, col, value: value.to_f64() };
            return Err(if value.is_finite() { Error::Negative(entry) } else { Error::NotFinite(entry) });
        }
        new.nonzero = facts.iter().fold(Nonzero::NONE, |all, fact| all.and(fact.0));
        new.sums = sums;
        Ok(new)
    }

    /// The first failure, if there was one.
    pub fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |why| Err(why.clone()))
    }

    /// The first positive entry, by its position in a line and then by its line, at one of these positions.
    pub fn first_at(&self, positions: &[usize]) -> Option<(usize, usize, f64)> {
        let count = self.count;
        let (width, mut buffer) = (self.width(1), LineBuffer::default());
        let mut found: Option<(usize, usize, f64)> = None;
        for first in (0..count).step_by(width) {
            let lines = first..(first + width).min(count);
            self.read(lines.clone(), &mut buffer);
            let mut begin = 0;
            for (l, line) in lines.enumerate() {
                let end = buffer.ends.get(l).copied().unwrap_or(begin + self.length);
                for (at, n) in (begin..end).zip(0..) {
                    let place = buffer.idx.get(at).map_or(n, |i| *i as usize);
                    let value = T::from_f64(buffer.values[at]).to_f64();
                    let sooner = found.is_none_or(|found| (place, line) < (found.0, found.1));
                    if value > 0.0 && sooner && positions.binary_search(&place).is_ok() {
                        found = Some((place, line, value));
                    }
                }
                begin = end;
            }
        }
        found
    }

    /// Lines of a panel: as in memory, unless they have too many entries to be decoded together.
    fn width(&self, threads: usize) -> usize {
        let most = (MOST_NUMBERS / self.longest.max(1)).max(1);
        most.min(match self.sparse {
            true => self.count.div_ceil(64).clamp(1, USUAL_COLUMNS),
            false => panel_width(self.length, self.count, true, threads),
        })
    }

    /// Reads some lines. If that fails they are zero.
    fn read(&self, lines: Range<usize>, buffer: &mut LineBuffer) {
        let (count, length, sparse) = (lines.len(), self.length, self.sparse);
        buffer.ends.clear();
        buffer.idx.clear();
        buffer.values.clear();
        let damaged = || "lines of V are damaged: convert the data again".to_owned();
        let found = self.lines.read(lines, buffer);
        let fits = found.and_then(|()| {
            buffer.fits(count, length, sparse, self.longest).then_some(()).ok_or_else(damaged)
        });
        if let Err(why) = fits {
            // Only the first failure is reported.
            let _ = self.failure.set(Error::Unreadable(why));
            let (ends, values) = if sparse { (count, 0) } else { (0, count * length) };
            *buffer = LineBuffer { ends: vec![0; ends], idx: vec![], values: vec![0.0; values] };
        }
        if sparse {
            buffer.drop_zeros::<T>();
        }
    }
}

impl<T: Scalar, S: Scalar> Blocks<S> for Streamed<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.length, self.count)
    }

    fn sums(&self) -> &[f64] {
        &self.sums
    }

    fn nonzero(&self) -> Nonzero {
        self.nonzero
    }

    fn panel(&self, _: bool, threads: usize) -> usize {
        self.width(threads)
    }

    fn most_rows(&self) -> usize {
        if self.sparse { gathered_rows(self.longest) } else { self.length }
    }

    fn gathers(&self) -> bool {
        self.sparse
    }

    fn load(
        &self,
        cols: Range<usize>,
        dictionary: &Dictionary<S>,
        room: &mut Load<S>,
        f: &mut dyn FnMut(&Block<'_, S>),
    ) {
        let Load { a, lines, .. } = room;
        self.read(cols.clone(), lines);
        a.clear();
        a.extend(lines.values.iter().map(|x| S::from_f64(T::from_f64(*x).to_f64())));
        let (first, sums) = (cols.start, &self.sums[cols]);
        if !self.sparse {
            return f(&dictionary.block(first, a, sums));
        }
        lines.ends.insert(0, 0);
        assert_eq!(dictionary.rows.len(), self.length * dictionary.stride);
        // Safety: `read` checks the indices, and the dictionary has as many rows.
        let rows = unsafe { SparseRows::new(&lines.ends, &lines.idx, &dictionary.rows, dictionary.stride) };
        f(&Block { p: 0, rows: Some(rows), ..dictionary.block(first, a, sums) });
    }
}
