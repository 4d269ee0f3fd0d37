//! `factorize`, `decompose` and `Online` on arbitrary small problems: the answer is finite or a named error,
//! the divergence is that of the factors, and no other weights refute the gaps.

use crate::outcome;
use klnmf::{
    DecomposeSettings, Init, Mat, Matrix, Online, OnlineSettings, OnlineState, Scalar, Settings, Solver,
    Sparse, Update,
};

/// Numbers of all sizes, and some that are refused.
const NUMBERS: [f64; 16] = [
    5e-324,
    1e-310,
    1e-300,
    1e-150,
    1e-38,
    1e-20,
    1e-8,
    0.1,
    1e8,
    1e20,
    1e38,
    1e150,
    1e300,
    f64::NAN,
    f64::INFINITY,
    -1.0,
];

/// A problem is read from bytes; after the last one there are zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first)
    }

    /// A third are zeros, most others small whole numbers.
    fn number(&mut self) -> f64 {
        match self.next() {
            0..80 => 0.0,
            byte @ 80..232 => (byte - 79) as f64,
            byte @ 232..248 => NUMBERS[byte - 232],
            _ => f64::from_bits((0..8).fold(0, |bits, _| bits << 8 | self.next() as u64)),
        }
    }

    fn matrix<T: Scalar>(&mut self, rows: usize, cols: usize) -> Mat<T> {
        Mat::from_fn(rows, cols, |_, _| T::from_f64(self.number()))
    }

    fn one_of<V: Copy>(&mut self, all: &[V]) -> V {
        all[self.next() % all.len()]
    }
}

/// Short runs of a solver.
pub fn settings(solver: Solver) -> Settings {
    let rho = (solver == Solver::AdmmAuthors).then_some(10.0);
    Settings { solver, rho, max_iter: 12, threads: 1, ..Settings::default() }
}

/// Whether all numbers are finite and not negative.
pub fn sound<T: Scalar>(factor: &Mat<T>) -> bool {
    factor.as_slice().iter().all(|x| x.to_f64().is_finite() && x.to_f64() >= 0.0)
}

/// Factorises a matrix of at most 9 × 9.
pub fn factorize(data: &[u8]) {
    let mut bytes = Bytes(data);
    if bytes.next() % 2 == 0 { factorize_in::<f64>(&mut bytes) } else { factorize_in::<f32>(&mut bytes) }
}

fn factorize_in<T: Scalar>(bytes: &mut Bytes) {
    let (sparse, n, m, rank) =
        (bytes.next(), 1 + bytes.next() % 9, 1 + bytes.next() % 9, 1 + bytes.next() % 4);
    let settings = Settings {
        mixed: bytes.one_of(&[None, Some(true), Some(false)]),
        update: bytes.one_of(&[Update::Both, Update::Both, Update::W, Update::H]),
        fixed: bytes.one_of(&[0, 0, 0, 1]),
        inner: bytes.one_of(&[None, Some(1), Some(3)]),
        tol: bytes.one_of(&[3e-3, 0.0, 1e-9]),
        init: bytes.one_of(&[Init::Random, Init::Random, Init::Nndsvd]),
        seed: bytes.next() as u64,
        ..settings(bytes.one_of(&Solver::ALL))
    };
    let v: Mat<T> = bytes.matrix(n, m);
    let stored = Sparse::from_dense(&v);
    let view: Matrix<T> = if sparse % 2 == 0 { (&v).into() } else { (&stored).into() };
    let Some(found) = outcome::result(klnmf::factorize(view, rank, &settings)) else { return };
    assert!(sound(&found.w) && sound(&found.h), "{settings:?}: {found:?}");
    outcome::note(found.status.name());
    let Some(held) = outcome::result(klnmf::certificate(view, &found.w, &found.h, 1)) else { return };
    let (v, w, h): (Mat<f64>, Mat<f64>, Mat<f64>) = (v.cast(), found.w.cast(), found.h.cast());
    let Some(naive) = Naive::of(&v, &w, &h) else { return };
    naive.agrees(held.divergence, 1e-10);
    assert!(held.gap_h >= 0.0 && held.gap_w >= 0.0, "{held:?}");
    let plain = settings.solver.spec().epsilon == 0.0;
    if plain {
        naive.agrees(found.info.divergence, 1e-10);
    }
    // Other weights must not be better than the gaps allow.
    naive.not_refuted(held.gap_h, &v, &w, &improved(&v, &w, &h));
    let (vt, wt, ht) = (v.transpose(), w.transpose(), h.transpose());
    naive.not_refuted(held.gap_w, &vt, &ht, &improved(&vt, &ht, &wt));
}

/// Decomposes a matrix of at most 9 × 9 with at most 6 parts.
pub fn decompose(data: &[u8]) {
    let mut bytes = Bytes(data);
    if bytes.next() % 2 == 0 { decompose_in::<f64>(&mut bytes) } else { decompose_in::<f32>(&mut bytes) }
}

fn decompose_in<T: Scalar>(bytes: &mut Bytes) {
    let (sparse, n, m, rank) =
        (bytes.next(), 1 + bytes.next() % 9, 1 + bytes.next() % 9, 1 + bytes.next() % 6);
    let mut settings = DecomposeSettings { threads: 1, max_iter: 200, ..DecomposeSettings::default() };
    settings.tol = bytes.one_of(&[1e-6, 1e-3, 1e-9]);
    settings.stages.newton_sweeps = bytes.next() % 4 != 1;
    settings.stages.free_set_newton = bytes.next() % 4 != 1;
    let (w, v): (Mat<T>, Mat<T>) = (bytes.matrix(n, rank), bytes.matrix(n, m));
    let stored = Sparse::from_dense(&v);
    let view: Matrix<T> = if sparse % 2 == 0 { (&v).into() } else { (&stored).into() };
    let Some(found) = outcome::result(klnmf::decompose(view, &w, &settings)) else { return };
    assert!(sound(&found.h), "{found:?}");
    outcome::note(found.status.name());
    let (v, w, h): (Mat<f64>, Mat<f64>, Mat<f64>) = (v.cast(), w.cast(), found.h.cast());
    for (j, column) in found.columns.iter().enumerate() {
        assert!(column.gap >= 0.0, "column {j}: {column:?}");
        let one = |matrix: &Mat<f64>| Mat::new(matrix.rows(), 1, matrix.col(j).to_vec()).expect("one column");
        let (v, h) = (one(&v), one(&h));
        let Some(naive) = Naive::of(&v, &w, &h) else { continue };
        naive.agrees(column.divergence, 1e-10);
        naive.not_refuted(column.gap, &v, &w, &improved(&v, &w, &h));
    }
}

/// Continues learning from an arbitrary state, with a block of at most 9 × 9.
pub fn online(data: &[u8]) {
    let mut bytes = Bytes(data);
    if bytes.next() % 2 == 0 { online_in::<f64>(&mut bytes) } else { online_in::<f32>(&mut bytes) }
}

fn online_in<T: Scalar>(bytes: &mut Bytes) {
    let (sparse, n, m, rank) =
        (bytes.next(), 1 + bytes.next() % 9, 1 + bytes.next() % 9, 1 + bytes.next() % 4);
    let (known, weights) = (bytes.next() % (n + 1), OnlineSettings::default().weights);
    let settings = OnlineSettings {
        forgetting: bytes.one_of(&[0.0, 0.1, 1.0, -1.0, f64::NAN]),
        seed: bytes.next() as u64,
        weights: DecomposeSettings { threads: 1, max_iter: 200, ..weights },
    };
    let state = OnlineState {
        blocks: bytes.one_of(&[0, 1, 9, usize::MAX]),
        parts: bytes.matrix(rank, known),
        features: (0..known).map(|_| bytes.number()).collect(),
    };
    let v: Mat<T> = bytes.matrix(n, m);
    let stored = Sparse::from_dense(&v);
    let view: Matrix<T> = if sparse % 2 == 0 { (&v).into() } else { (&stored).into() };
    let Some(mut first) = outcome::result(Online::resume(state, settings.clone())) else { return };
    let Some(found) = outcome::result(first.push(view)) else { return };
    assert!(sound(&found.h), "{found:?}");
    outcome::note(found.status.name());
    // What was learned can be stored, and learning goes on from it.
    let again = Online::resume(first.state().clone(), settings);
    let again = again.expect("what was learned is a sound state").push(view).map(|found| found.h);
    assert_eq!(outcome::result(again), outcome::result(first.push(view).map(|found| found.h)));
}

/// The divergence by its definition, and the size of its terms, to which rounding errors are relative.
struct Naive {
    divergence: f64,
    scale: f64,
}

impl Naive {
    /// None if products leave the range in which f64 rounds relatively.
    fn of(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> Option<Self> {
        let (mut divergence, mut scale) = (0.0, 0.0);
        for j in 0..v.cols() {
            for i in 0..v.rows() {
                let mut z = 0.0;
                for k in 0..w.cols() {
                    let term = w[(i, k)] * h[(k, j)];
                    if w[(i, k)] > 0.0 && h[(k, j)] > 0.0 && !(1e-290..1e290).contains(&term) {
                        return None;
                    }
                    z += term;
                }
                let a = v[(i, j)];
                // Not of the quotient, which may underflow.
                let log = if a > 0.0 { a * (a.ln() - z.ln()) } else { 0.0 };
                divergence += log - a + z;
                scale += log.abs() + a + z;
            }
        }
        Some(Self { divergence, scale })
    }

    fn agrees(&self, divergence: f64, relative: f64) {
        let near = (self.divergence - divergence).abs() <= relative * self.scale + f64::MIN_POSITIVE;
        assert!(near || self.divergence == divergence, "{divergence:e} is not {:e}", self.divergence);
    }

    /// Fails if other weights decrease the divergence by more than the gap.
    fn not_refuted(&self, gap: f64, v: &Mat<f64>, w: &Mat<f64>, other: &Mat<f64>) {
        let Some(better) = Naive::of(v, w, other) else { return };
        let rounding = 1e-9 * self.scale.max(better.scale);
        let refuted = better.divergence < self.divergence - gap - rounding;
        assert!(
            !refuted,
            "a gap of {gap:e} at {:e}, but {:e} is possible",
            self.divergence, better.divergence
        );
    }
}

/// The weights after ten multiplicative updates, from a millionth of equal weights wherever they are zero.
fn improved(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> Mat<f64> {
    let sums = w.col_sums();
    let mut h = h.clone();
    for j in 0..v.cols() {
        let even = v.col(j).iter().sum::<f64>() / w.cols() as f64;
        for _ in 0..10 {
            let ratio = |i: usize| -> f64 {
                let z: f64 = (0..w.cols()).map(|k| w[(i, k)] * h[(k, j)]).sum();
                if v[(i, j)] > 0.0 { v[(i, j)] / z } else { 0.0 }
            };
            let ratios: Vec<f64> = (0..v.rows()).map(ratio).collect();
            for k in 0..w.cols() {
                let factor = (0..v.rows()).map(|i| w[(i, k)] * ratios[i]).sum::<f64>() / sums[k];
                let next = h[(k, j)] * factor;
                // A zero weight that should grow begins small.
                let start = if h[(k, j)] == 0.0 && factor > 1.0 { 1e-6 * even / sums[k] } else { next };
                h[(k, j)] = if start.is_finite() && sums[k] > 0.0 { start } else { h[(k, j)] };
            }
        }
    }
    h
}
