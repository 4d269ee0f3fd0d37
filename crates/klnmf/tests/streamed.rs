//! A V outside memory gives the same bits as one in memory, and a failure of its storage is an error.

use klnmf::{
    DecomposeSettings, Decomposer, Error, LineBuffer, Lines, Mat, Matrix, Order, Problem, Scalar, Settings,
    Solver, Sparse, factorize,
};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The columns of a matrix, and after so many readings nothing any more.
pub struct Columns {
    pub entries: Vec<Vec<(u32, f64)>>,
    length: usize,
    sparse: bool,
    left: AtomicUsize,
}

impl Columns {
    pub fn of<T: Scalar>(v: Matrix<'_, T>) -> Self {
        let mut entries = vec![vec![]; v.cols()];
        v.entries().for_each(|(i, j, x)| entries[j].push((i as u32, x.to_f64())));
        entries.iter_mut().for_each(|line| line.sort_by_key(|entry| entry.0));
        Self { entries, length: v.rows(), sparse: v.is_sparse(), left: AtomicUsize::new(usize::MAX) }
    }
}

impl Lines for Columns {
    fn shape(&self) -> (usize, usize) {
        (self.entries.len(), self.length)
    }

    fn is_sparse(&self) -> bool {
        self.sparse
    }

    fn longest(&self) -> usize {
        self.entries.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            self.left.store(0, Ordering::Relaxed);
            return Err("the disk is gone: plug it in".into());
        }
        for line in &self.entries[lines] {
            to.values.extend(line.iter().map(|entry| entry.1));
            if self.sparse {
                to.idx.extend(line.iter().map(|entry| entry.0));
                to.ends.push(to.values.len());
            }
        }
        Ok(())
    }
}

fn number(i: usize, j: usize) -> f64 {
    let noise = (i * 7919 + j * 104_729 + i * j * 31) % 11;
    if noise < 6 { 0.0 } else { ((i % 3) * (j % 4) + noise) as f64 * 0.3 }
}

fn dense<T: Scalar>() -> Mat<T> {
    Mat::from_fn(37, 150, |i, j| T::from_f64(number(i, j)))
}

fn same_bits<T: Scalar>(v: Matrix<'_, T>, solver: Solver, mixed: Option<bool>) {
    let settings = Settings { solver, mixed, max_iter: 25, tol: 0.0, ..Settings::default() };
    let want = factorize(v, 4, &Settings { threads: 2, ..settings.clone() }).unwrap();
    let (columns, rows) = (Columns::of(v), Columns::of(v.transpose()));
    for threads in [1, 3] {
        let problem = Problem::<T>::from_lines(&columns, &rows, threads).unwrap();
        let found = problem.factorize(4, &settings).unwrap();
        assert_eq!((&found.w, &found.h), (&want.w, &want.h), "{solver}, {threads} threads, {}", T::NAME);
        assert_eq!(found.info.gap_w.to_bits(), want.info.gap_w.to_bits(), "{solver}");
    }
}

#[test]
fn factorisations_have_the_same_bits() {
    for solver in [Solver::Auto, Solver::Mu, Solver::Fpa, Solver::Newton, Solver::Stream] {
        let mixed = (solver == Solver::Auto).then_some(true);
        same_bits((&dense::<f64>()).into(), solver, mixed);
        same_bits((&dense::<f32>()).into(), solver, None);
        same_bits((&Sparse::from_dense(&dense::<f64>())).into(), solver, mixed);
        same_bits((&Sparse::from_dense(&dense::<f32>())).into(), solver, None);
    }
}

/// Entries that vanish in f32 are not stored in memory either.
#[test]
fn numbers_are_rounded_as_in_memory() {
    let tiny = Mat::from_fn(37, 150, |i, j| if (i + j) % 5 == 0 { 1e-60 } else { number(i, j) });
    let sparse = Sparse::from_dense(&tiny);
    let (columns, rows) = (Columns::of((&sparse).into()), Columns::of(Matrix::from(&sparse).transpose()));
    let settings = Settings { max_iter: 20, tol: 0.0, ..Settings::default() };
    let rounded = Mat::from_fn(37, 150, |i, j| tiny[(i, j)] as f32);
    let want = factorize(&Sparse::from_dense(&rounded), 3, &settings).unwrap();
    let found = Problem::<f32>::from_lines(&columns, &rows, 2).unwrap().factorize(3, &settings).unwrap();
    assert_eq!((found.w, found.h), (want.w, want.h));
}

#[test]
fn decompositions_have_the_same_bits() {
    let (v, settings) = (dense::<f64>(), DecomposeSettings::default());
    let w = Mat::from_fn(37, 5, |i, k| ((i * 31 + k * 7) % 9) as f64 + 0.1);
    let decomposer = Decomposer::new(&w, 2).unwrap();
    let sparse = Sparse::from_dense(&v);
    for v in [Matrix::from(&v), Matrix::from(&sparse)] {
        let want = decomposer.decompose(v, &settings).unwrap();
        assert_eq!(decomposer.decompose_lines(&Columns::of(v), &settings, &|_| ()).unwrap(), want);
    }
    // A V with another number of rows is an error.
    let short = Decomposer::new(&Mat::from_fn(36, 5, |i, k| w[(i, k)]), 1).unwrap();
    let refused = short.decompose_lines(&Columns::of((&v).into()), &settings, &|_| ());
    assert!(matches!(refused, Err(Error::Shape(_))));
    // A positive entry where the dictionary is zero is the same error, too.
    let holed = Mat::from_fn(37, 5, |i, k| if i == 9 { 0.0 } else { w[(i, k)] });
    let decomposer = Decomposer::new(&holed, 1).unwrap();
    let want = decomposer.decompose(&v, &settings).unwrap_err();
    assert!(matches!(want, Error::ZeroRow(_)));
    for v in [Matrix::from(&v), Matrix::from(&sparse)] {
        assert_eq!(decomposer.decompose_lines(&Columns::of(v), &settings, &|_| ()).unwrap_err(), want);
    }
}

#[test]
fn bad_entries_are_named() {
    let sparse = Sparse::new(3, 2, Order::Columns, vec![0, 1, 2], vec![2, 1], vec![1.0, -4.0]).unwrap();
    let (columns, rows) = (Columns::of((&sparse).into()), Columns::of(Matrix::from(&sparse).transpose()));
    let error = Problem::<f64>::from_lines(&columns, &rows, 1).err().unwrap();
    assert_eq!(error, Matrix::from(&sparse).check().unwrap_err());
}

/// A storage that fails, at once or later, and one that returns nonsense.
#[test]
fn failures_are_errors() {
    let sparse = Sparse::from_dense(&dense::<f64>());
    let (view, settings) =
        (Matrix::from(&sparse), Settings { max_iter: 50, tol: 0.0, ..Settings::default() });
    for readings in [0, 60, 200, 1000] {
        let columns = Columns { left: AtomicUsize::new(readings), ..Columns::of(view) };
        let rows = Columns::of(view.transpose());
        let found = Problem::<f64>::from_lines(&columns, &rows, 2)
            .and_then(|problem| problem.factorize(3, &settings));
        assert_eq!(
            found.unwrap_err(),
            Error::Unreadable("the disk is gone: plug it in".into()),
            "{readings}"
        );
    }
    // Every way to work on a problem reports the failure, and a run ends as soon as there is one.
    let columns = Columns::of(view);
    let rows = Columns::of(view.transpose());
    let problem = Problem::<f64>::from_lines(&columns, &rows, 2).unwrap();
    let (w, h) = problem.init(3, &settings).unwrap();
    let [run, other] = [1, 2].map(|_| problem.run(w.clone(), h.clone(), &settings).unwrap());
    assert_eq!(other.check(), Ok(()));
    columns.left.store(0, Ordering::Relaxed);
    let mut rounds = 0;
    let ended = run.to_end_with(|_| {
        rounds += 1;
        ControlFlow::Continue(())
    });
    let gone = Error::Unreadable("the disk is gone: plug it in".into());
    assert_eq!((ended.unwrap_err(), rounds), (gone.clone(), 1));
    assert_eq!(other.check(), Err(gone.clone()));
    assert_eq!(problem.certificate(&w, &h).unwrap_err(), gone);
    assert_eq!(problem.init(3, &settings).unwrap_err(), gone);
    let damage: [fn(&mut Columns); 3] =
        [|c| c.entries[7][0].0 = 99, |c| c.entries[7][1].0 = c.entries[7][0].0, |c| c.length = 5];
    for damage in damage {
        let mut columns = Columns::of(view);
        damage(&mut columns);
        let rows = Columns { length: columns.entries.len(), ..Columns::of(view.transpose()) };
        assert!(Problem::<f64>::from_lines(&columns, &rows, 1).is_err());
    }
}

/// Columns that are stored 64 together, each of which may be very long.
struct Long {
    columns: Columns,
    most: AtomicUsize,
}

impl Lines for Long {
    fn shape(&self) -> (usize, usize) {
        self.columns.shape()
    }

    fn is_sparse(&self) -> bool {
        true
    }

    fn longest(&self) -> usize {
        1 << 19
    }

    fn together(&self) -> usize {
        64
    }

    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String> {
        self.most.fetch_max(lines.len(), Ordering::Relaxed);
        self.columns.read_f64(lines, to)
    }
}

/// A dense storage that also tells where lines end.
struct Confused;

impl Lines for Confused {
    fn shape(&self) -> (usize, usize) {
        (2, 3)
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn longest(&self) -> usize {
        3
    }

    fn read_f64(&self, lines: Range<usize>, to: &mut LineBuffer) -> Result<(), String> {
        to.values.resize(3 * lines.len(), 1.0);
        to.ends.resize(lines.len(), 3);
        Ok(())
    }
}

#[test]
fn dense_lines_with_ends_are_damage() {
    let decomposer = Decomposer::new(&Mat::from_fn(3, 1, |_, _| 1.0), 1).unwrap();
    let found = decomposer.decompose_lines(&Confused, &DecomposeSettings::default(), &|_| ());
    assert!(matches!(found, Err(Error::Unreadable(_))));
}

#[test]
fn long_lines_are_not_decoded_together() {
    let v = Sparse::from_dense(&dense::<f64>());
    let long = Long { columns: Columns::of((&v).into()), most: AtomicUsize::new(0) };
    let w = Mat::from_fn(37, 2, |i, k| (i + k + 1) as f64);
    let decomposer = Decomposer::new(&w, 1).unwrap();
    decomposer.decompose_lines(&long, &DecomposeSettings::default(), &|_| ()).unwrap();
    // 2^20 numbers at a time.
    assert_eq!(long.most.into_inner(), 2);
}
