//! V or Vᵀ in lines that are read when they are needed, such as packed columns on disk.

use super::column_data::{USUAL_COLUMNS, gathered_rows, nonzero, panel_width};
use super::{Block, Blocks, Dictionary, Load, MOST_COLUMNS, Nonzero};
use crate::kernel::SparseRows;
use crate::parallel::Pool;
use crate::{Entry, Error, Result, Scalar};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most numbers that a thread decodes at a time, unless a single line has more.
const MOST_NUMBERS: usize = 1 << 20;

/// The columns or the rows of a matrix outside memory. They can be read in any order by several threads.
///
/// Reading must not start rayon tasks: the calling thread would wait for them while it holds its workspace,
/// and might take up another task that needs the same workspace.
pub trait Lines: Send + Sync {
    /// Number of lines, and their length.
    fn shape(&self) -> (usize, usize);

    /// Whether a line holds only the entries that are not zero, with their positions.
    fn is_sparse(&self) -> bool;

    /// The most entries that are stored in a line.
    fn longest(&self) -> usize;

    /// The number of lines that are stored together, counted from the first line. Reading them together is
    /// fastest.
    fn together(&self) -> usize {
        1
    }

    /// Appends the entries of some lines to `to`, which is empty. An error is one sentence that names the
    /// file and says what to do.
    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer<f64>) -> Result<(), String>;

    /// [`read_f64`](Lines::read_f64), with every number rounded to f32.
    fn read_f32(&self, lines: Range<usize>, to: &mut LineBuffer<f32>) -> Result<(), String> {
        let mut wide = LineBuffer::default();
        self.read_f64(lines, &mut wide)?;
        to.values.extend(wide.values.iter().map(|x| *x as f32));
        (to.ends, to.idx) = (wide.ends, wide.idx);
        Ok(())
    }
}

/// Some lines of a matrix: compressed if it is sparse, else only values.
#[derive(Clone, Debug, Default)]
pub struct LineBuffer<T = f64> {
    /// The number of entries up to the end of every line, if the matrix is sparse.
    pub ends: Vec<usize>,
    /// The positions of the entries, increasing strictly within a line, if the matrix is sparse.
    pub idx: Vec<u32>,
    /// The values.
    pub values: Vec<T>,
    /// Scratch space that an implementation may reuse from one reading to the next.
    pub bytes: Vec<u8>,
}

impl<T: Scalar> LineBuffer<T> {
    /// Removes all lines.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.idx.clear();
        self.values.clear();
    }

    /// Whether the arrays are some lines of this length with at most `longest` entries each.
    fn fits(&self, lines: usize, length: usize, sparse: bool, longest: usize) -> bool {
        let mut begin = 0;
        let mut line = |end| &self.idx[std::mem::replace(&mut begin, end)..end];
        self.within(lines, length, sparse, longest)
            && self.ends.iter().all(|end| line(*end).is_sorted_by(|a, b| a < b))
    }

    /// Whether no index and no end lies outside the arrays of so many lines of this length, and no line has
    /// more than `longest` entries, for which there would be no room.
    fn within(&self, lines: usize, length: usize, sparse: bool, longest: usize) -> bool {
        if !sparse {
            return self.values.len() == lines * length && self.ends.is_empty() && self.idx.is_empty();
        }
        let stored = self.values.len();
        self.ends.len() == lines
            && self.ends.is_sorted()
            && self.ends.last().copied().unwrap_or(0) == stored
            && self.ends.first().is_none_or(|end| *end <= longest)
            && self.ends.windows(2).all(|ends| ends[1] - ends[0] <= longest)
            && self.idx.len() == stored
            && (stored == 0 || (self.idx.iter().fold(0, |most: u32, i| most.max(*i)) as usize) < length)
    }

    /// Drops entries that are zero.
    fn drop_zeros(&mut self) {
        let (mut from, mut to) = (0, 0);
        for end in &mut self.ends {
            for at in std::mem::replace(&mut from, *end)..*end {
                if self.values[at] != T::ZERO {
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
#[derive(Clone, Default)]
pub struct Failure(Arc<OnceLock<Error>>);

impl Failure {
    /// Keeps the first failure only.
    pub fn set(&self, why: Error) {
        let _ = self.0.set(why);
    }

    /// The failure, if there was one.
    pub fn check(&self) -> Result<()> {
        self.0.get().map_or(Ok(()), |why| Err(why.clone()))
    }
}

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
    /// Whether all lines were read once, and then whether a stored entry is zero in the precision of V.
    checked: bool,
    zeros: bool,
    failure: Failure,
    precision: PhantomData<T>,
}

/// What the first reading finds in a line.
#[derive(Clone, Copy)]
struct Fact<T> {
    nonzero: Nonzero,
    /// The position and value of the first entry that is not a number ≥ 0.
    bad: Option<(usize, T)>,
    zeros: bool,
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
        let (sums, nonzero, precision) = (vec![], Nonzero::NONE, PhantomData);
        let (checked, zeros) = (false, false);
        let mut new =
            Self { lines, count, length, sparse, longest, sums, nonzero, checked, zeros, failure, precision };
        let (mut sums, fact) = (vec![0.0; count], Fact { nonzero, bad: None, zeros });
        let mut facts = vec![fact; count];
        pool.panels(new.width(pool.threads()), (&mut sums, 1), (&mut facts, 1), |first, sums, facts| {
            new.first_reading(first, sums, facts);
        });
        new.failure.check()?;
        if let Some((line, (at, value))) = facts.iter().enumerate().find_map(|(l, fact)| Some((l, fact.bad?)))
        {
            let (row, col) = position(line, at);
            let entry = Entry { row, col, value: value.to_f64() };
            return Err(if value.is_finite() { Error::Negative(entry) } else { Error::NotFinite(entry) });
        }
        (new.checked, new.zeros) = (true, sparse && facts.iter().any(|fact| fact.zeros));
        if new.zeros && size_of::<T>() == 8 {
            return Err(Error::Unreadable("a sparse line of V stores a zero: leave zeros out".into()));
        }
        new.nonzero = facts.iter().fold(Nonzero::NONE, |all, fact| all.and(fact.nonzero));
        new.sums = sums;
        Ok(new)
    }

    fn first_reading(&self, first: usize, sums: &mut [f64], facts: &mut [Fact<T>]) {
        let mut buffer = LineBuffer::<T>::default();
        self.read(first..first + sums.len(), &mut buffer);
        let mut begin = 0;
        for (l, (sum, fact)) in sums.iter_mut().zip(facts).enumerate() {
            let end = buffer.ends.get(l).copied().unwrap_or(begin + self.length);
            let here = std::mem::replace(&mut begin, end)..end;
            let values = &buffer.values[here.clone()];
            *sum = values.iter().map(|a| a.to_f64()).sum();
            let bad = values.iter().position(|v| !(v.is_finite() && *v >= T::ZERO));
            let place = |at: usize| buffer.idx.get(here.start + at).map_or(at, |i| *i as usize);
            let nonzero = nonzero(values);
            let zeros = nonzero.count < values.len();
            *fact = Fact { nonzero, bad: bad.map(|at| (place(at), values[at])), zeros };
        }
    }

    /// Lines of a panel: as in memory, unless they have too many entries to be decoded together or are not
    /// stored in such numbers.
    fn width(&self, threads: usize) -> usize {
        let most = (MOST_NUMBERS / self.longest.max(1)).max(1);
        let width = most.min(match self.sparse {
            true => self.count.div_ceil(64).clamp(1, USUAL_COLUMNS),
            false => panel_width(self.length, self.count, true, threads),
        });
        let together = self.lines.together().clamp(1, most.min(MOST_COLUMNS));
        (width / together).max(1) * together
    }

    /// Reads some lines in the precision of V, and passes them on in that of the computation. If that fails
    /// they are zero.
    fn read<S: Scalar>(&self, lines: Range<usize>, buffer: &mut LineBuffer<S>) {
        let (count, length, sparse) = (lines.len(), self.length, self.sparse);
        buffer.clear();
        let damaged = || "lines of V are damaged: convert the data again".to_owned();
        let found = S::lines(self.lines, lines, buffer).and_then(|()| {
            let fits = match self.checked {
                true => buffer.within(count, length, sparse, self.longest),
                false => buffer.fits(count, length, sparse, self.longest),
            };
            fits.then_some(()).ok_or_else(damaged)
        });
        if let Err(why) = found {
            self.failure.set(Error::Unreadable(why));
            let (ends, values) = if sparse { (count, 0) } else { (0, count * length) };
            buffer.clear();
            buffer.ends.resize(ends, 0);
            buffer.values.resize(values, S::ZERO);
        }
        if size_of::<S>() > size_of::<T>() {
            buffer.values.iter_mut().for_each(|x| *x = S::from_f64(T::from_f64(x.to_f64()).to_f64()));
        }
        if self.zeros {
            buffer.drop_zeros();
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
        let lines = &mut room.lines;
        self.read(cols.clone(), lines);
        let a = &lines.values;
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
