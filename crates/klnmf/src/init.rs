//! Starts of a factorisation: random factors, NNDSVDa, or a model grown by some atoms.

use crate::block::HalfProblem;
use crate::error::require;
use crate::kernel::ln;
use crate::linalg::{gram, symmetric_eigen, transposed_product};
use crate::matrix::Matrix;
use crate::problem::Problem;
use crate::solver::Side;
use crate::{Error, Mat, Result, Scalar, Settings, kernel};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The paper's "small offset" of the random start.
const OFFSET: f64 = 0.1;

/// The start of [`factorize`](crate::factorize). To give factors, call
/// [`factorize_from`](crate::factorize_from).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Init {
    /// |N(0, 1)| + 0.1 for every entry of W and H, scaled so that ΣWH = ΣV.
    #[default]
    Random,
    /// NNDSVDa (Boutsidis & Gallopoulos 2008): the dominant one-signed parts of the leading singular vectors,
    /// scaled so that ΣWH = ΣV. Zeros are filled with 0.3·√(mean(V)/r), which unlike the original's mean(V)
    /// scales with the data. It temporarily needs about 8·(n + m)·(r + 10) doubles. It helps if only a few
    /// iterations follow. The seed affects only the sketch for the singular vectors.
    Nndsvd,
}

/// The start (W, H) for V at rank `rank`, as given by `settings.init` and `settings.seed`.
pub fn init<'a, T: Scalar>(
    v: impl Into<Matrix<'a, T>>,
    rank: usize,
    settings: &Settings,
) -> Result<(Mat<T>, Mat<T>)> {
    Problem::new(v, settings.threads)?.init(rank, settings)
}

/// The start for a prepared V.
pub(crate) fn start<T: Scalar>(
    problem: &Problem<'_, T>,
    rank: usize,
    settings: &Settings,
) -> Result<(Mat<T>, Mat<T>)> {
    if settings.init == Init::Random {
        problem.check()?;
        return random_start(problem.shape(), problem.sum, rank, settings.seed);
    }
    check_rank_of(problem.shape(), rank)?;
    let (mut w, mut h) = nndsvd(problem, rank, settings)?;
    problem.check()?;
    scale_to(problem.sum, &mut w, &mut h);
    Ok((w, h))
}

/// The random start for a V of this shape and sum, which may be elsewhere.
pub(crate) fn random_start<T: Scalar>(
    (n, m): (usize, usize),
    sum: f64,
    rank: usize,
    seed: u64,
) -> Result<(Mat<T>, Mat<T>)> {
    check_rank_of((n, m), rank)?;
    let (mut w, mut h) = (Mat::try_zeros(n, rank)?, Mat::try_zeros(rank, m)?);
    for (stream, factor) in [&mut w, &mut h].into_iter().enumerate() {
        let mut normal = Normal::new(seed, stream as u64);
        factor.as_mut_slice().iter_mut().for_each(|x| *x = T::from_f64(normal.magnitude()));
    }
    scale_to(sum, &mut w, &mut h);
    Ok((w, h))
}

/// Adds atoms to a model as in the paper: [W, 0] and [H; ν]. This does not change the divergence. A method
/// that can leave zero (the primal-dual algorithm, but not multiplicative updates) continues from there.
///
/// ν is (|N(0, 1)| + 0.1) times the mean of H. It is random because equal rows would give equal atoms.
pub fn grow<T: Scalar>(w: &Mat<T>, h: &Mat<T>, rank: usize, seed: u64) -> Result<(Mat<T>, Mat<T>)> {
    let old = h.rows();
    if w.cols() != old {
        return Err(Error::Shape(format!("W has {} columns and H {} rows", w.cols(), old)));
    }
    require(rank >= old, "rank", rank, "a model can only grow; choose at least its current rank")?;
    let mean = h.as_slice().iter().map(|x| x.to_f64()).sum::<f64>() / h.as_slice().len().max(1) as f64;
    let mut normal = Normal::new(seed, 2);
    let mut grown_w = Mat::try_zeros(w.rows(), rank)?;
    grown_w.as_mut_slice()[..w.as_slice().len()].copy_from_slice(w.as_slice());
    let mut grown_h = Mat::try_zeros(rank, h.cols())?;
    for j in 0..h.cols() {
        grown_h.col_mut(j)[..old].copy_from_slice(h.col(j));
        grown_h.col_mut(j)[old..].iter_mut().for_each(|x| *x = T::from_f64(mean * normal.magnitude()));
    }
    Ok((grown_w, grown_h))
}

/// Checks that V can be factorised at this rank. The rank may exceed the numbers of rows and columns, but not
/// the number of entries.
pub fn check_rank<'a, T: Scalar>(v: impl Into<Matrix<'a, T>>, rank: usize) -> Result<()> {
    let v = v.into();
    v.check_not_empty()?;
    check_rank_of((v.rows(), v.cols()), rank)
}

fn check_rank_of((rows, cols): (usize, usize), rank: usize) -> Result<()> {
    let max = rows.saturating_mul(cols);
    if rank == 0 || rank > max { Err(Error::Rank { rank, max }) } else { Ok(()) }
}

/// Independent normal numbers, identical on every platform: Marsaglia's polar method with our own logarithm.
struct Normal {
    rng: ChaCha8Rng,
    spare: Option<f64>,
}

impl Normal {
    /// `stream` separates the draws for W, H and growth, so that none depends on the size of another.
    fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self { rng, spare: None }
    }

    fn draw(&mut self) -> f64 {
        if let Some(x) = self.spare.take() {
            return x;
        }
        loop {
            let (x, y) = (2.0 * self.rng.random::<f64>() - 1.0, 2.0 * self.rng.random::<f64>() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                let f = (-2.0 * ln(s) / s).sqrt();
                self.spare = Some(y * f);
                return x * f;
            }
        }
    }

    /// |N(0, 1)| plus the paper's offset.
    fn magnitude(&mut self) -> f64 {
        self.draw().abs() + OFFSET
    }
}

/// Scales W and H by a common factor so that ΣWH = `total`. If that is zero, only H becomes zero.
fn scale_to<T: Scalar>(total: f64, w: &mut Mat<T>, h: &mut Mat<T>) {
    let now: f64 = w.col_sums().iter().zip(h.row_sums()).map(|(w, h)| w * h).sum();
    let scale = if now > 0.0 { (total / now).sqrt() } else { 1.0 };
    let factor = T::from_f64(scale);
    h.as_mut_slice().iter_mut().for_each(|x| *x *= factor);
    if scale > 0.0 {
        w.as_mut_slice().iter_mut().for_each(|x| *x *= factor);
    }
}

/// Takes the larger of the positive and the negative part of each singular pair, and fills zeros.
fn nndsvd<T: Scalar>(problem: &Problem<'_, T>, rank: usize, settings: &Settings) -> Result<(Mat<T>, Mat<T>)> {
    let (n, m) = problem.shape();
    let filler = 0.3 * (problem.sum / (n as f64 * m as f64) / rank as f64).sqrt();
    let (values, left, right) = singular_vectors(problem, rank, settings);
    // Small values count as zero, because the sketch leaves rounding errors where a vector is zero.
    let fill = |x: f64| T::from_f64(if x > 1e-3 * filler { x } else { filler });
    let (mut w, mut h) = (Mat::try_zeros(n, rank)?, Mat::try_zeros(rank, m)?);
    w.as_mut_slice().fill(fill(0.0));
    h.as_mut_slice().fill(fill(0.0));
    for (k, s) in values.iter().enumerate().take(rank).filter(|(_, s)| **s > 1e-12 * values[0]) {
        let [u, v] = dominant_part(*s, [left.col(k), right.col(k)]);
        w.col_mut(k).iter_mut().zip(u).for_each(|(to, x)| *to = fill(x));
        (0..m).for_each(|j| h[(k, j)] = fill(v[j]));
    }
    Ok((w, h))
}

/// √(s·|u±|·|v±|) times the normalised parts of u and v of the sign that has more weight.
fn dominant_part(s: f64, [u, v]: [&[f64]; 2]) -> [Vec<f64>; 2] {
    let part = |x: f64, sign: f64| (sign * x).max(0.0);
    let length = |x: &[f64], sign| x.iter().map(|x| part(*x, sign)).map(|x| x * x).sum::<f64>().sqrt();
    let weight = |sign| length(u, sign) * length(v, sign);
    let sign = if weight(1.0) >= weight(-1.0) { 1.0 } else { -1.0 };
    let scale = (s * length(u, sign) * length(v, sign)).sqrt();
    [u, v].map(|x| {
        let length = length(x, sign).max(f64::MIN_POSITIVE);
        x.iter().map(|x| scale * part(*x, sign) / length).collect()
    })
}

/// The leading singular triplets by subspace iteration from a random sketch (Halko, Martinsson & Tropp 2011).
fn singular_vectors<T: Scalar>(
    problem: &Problem<'_, T>,
    rank: usize,
    settings: &Settings,
) -> (Vec<f64>, Mat<f64>, Mat<f64>) {
    let (n, m) = problem.shape();
    let k = (rank + 10).min(n).min(m);
    let [mut columns, mut rows] = [Side::H, Side::W].map(|side| problem.plain_half(side, k));
    let mut normal = Normal::new(settings.seed, 3);
    // B is m × k and V·B is n × k.
    let mut b = Mat::from_fn(m, k, |_, _| normal.draw());
    for _ in 0..4 {
        let a = orthonormal(times(&mut rows, &b).0);
        b = orthonormal(times(&mut columns, &a).0);
        if settings.stopped() {
            break;
        }
    }
    // V·B = U·S·Rᵀ with B orthonormal, so V ≈ U·S·(B·R)ᵀ.
    let (a, unit) = times(&mut rows, &b);
    let (at, bt) = (a.transpose(), b.transpose());
    let (squares, turn) = symmetric_eigen(gram(&at));
    let mut values: Vec<f64> = squares.iter().map(|s| s.max(0.0).sqrt()).collect();
    let [mut left, right] = [at, bt].map(|xt| transposed_product(&xt, &turn));
    for (column, s) in left.as_mut_slice().chunks_mut(n).zip(&mut values) {
        column.iter_mut().for_each(|x| *x /= s.max(f64::MIN_POSITIVE));
        *s *= unit;
    }
    (values, left, right)
}

/// Vᵀ·X for V given by columns (q of them) and X with k columns: q × k. The product is divided by a power of
/// two, which is returned too, so that the squares of its entries neither overflow nor underflow.
fn times(half: &mut HalfProblem<'_, f64>, x: &Mat<f64>) -> (Mat<f64>, f64) {
    half.set(&x.transpose());
    let mut products = Mat::zeros(x.cols(), half.data.shape().1);
    let mut units = vec![(); products.cols()];
    half.for_each((products.as_mut_slice(), x.cols()), (&mut units, 1), |b, products, _, work| {
        b.back(b.a, products, &mut work.tile);
    });
    let most = products.as_slice().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let unit = if most > 0.0 { most.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
    products.as_mut_slice().iter_mut().for_each(|x| *x /= unit);
    (products.transpose(), unit)
}

/// Gram-Schmidt applied twice, which gives orthogonality to rounding error. Vanishing columns become zero.
fn orthonormal(mut a: Mat<f64>) -> Mat<f64> {
    let n = a.rows();
    let norm = |x: &[f64]| kernel::dot(x, x).sqrt();
    for l in 0..a.cols() {
        let (done, rest) = a.as_mut_slice().split_at_mut(l * n);
        let column = &mut rest[..n];
        let before = norm(column);
        for earlier in done.chunks(n).chain(done.chunks(n)) {
            let along = kernel::dot(earlier, column);
            column.iter_mut().zip(earlier).for_each(|(x, e)| *x -= along * e);
        }
        let length = norm(column);
        let scale = if length > 1e-12 * before { 1.0 / length } else { 0.0 };
        column.iter_mut().for_each(|x| *x *= scale);
    }
    a
}
