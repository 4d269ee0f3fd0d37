//! A 288-bit reference: divergences, optima of the convex problem for one and two atoms, and tolerances.
//!
//! Every f64, including subnormal numbers, enters with its exact value. Exponents are unlimited, so nothing
//! here overflows or underflows. `None` stands for an infinite divergence.
//!
//! For one column a with the dictionary K (p × r), c = Kᵀ1 and A = Σa, the optimum lies on the ray cᵀx = A:
//!
//! * r = 1: x = A/c, in closed form.
//! * r = 2: z = A·(λp + q)/(1 + λ) with p = K₁/c₁, q = K₂/c₂ and one unknown λ in [0, ∞]. Σa·ln z increases
//!   with λ as long as φ(λ) = Σa(p − q)/(λp + q) is positive, and φ changes sign once. If φ(0) ≤ 0 or
//!   φ(∞) ≥ 0, one atom alone is optimal. Otherwise bisection finds the exponent of λ, and safeguarded Newton
//!   steps find λ to 200 bits. The divergence is then exact to all bits, because its derivative vanishes at
//!   the optimum.
#![allow(dead_code, missing_docs)]

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use klnmf::Mat;
use std::sync::OnceLock;

pub type Big = FBig<HalfEven, 2>;

pub const BITS: usize = 288;

/// 2^−1074, the distance between subnormal numbers.
pub const ETA: f64 = 5e-324;

/// The exact value of a finite number.
pub fn big(x: f64) -> Big {
    Big::try_from(x).expect("a finite number").with_precision(BITS).value()
}

/// The nearest f64, infinite on overflow; for messages.
pub fn round(x: &Big) -> f64 {
    x.to_f64().value()
}

pub fn show(x: &Option<Big>) -> f64 {
    x.as_ref().map_or(f64::INFINITY, round)
}

fn zero() -> Big {
    big(0.0)
}

fn sum<'a>(terms: impl IntoIterator<Item = &'a Big>) -> Big {
    terms.into_iter().fold(zero(), |sum, x| sum + x)
}

fn abs(x: Big) -> Big {
    if x < zero() { -x } else { x }
}

fn positive(x: &Big) -> bool {
    *x > zero()
}

/// ⌊log₂ x⌋ for x > 0.
fn exponent(x: &Big) -> isize {
    x.repr().exponent() + x.repr().digits() as isize - 1
}

/// ln x for x > 0, with an absolute error of about 2^−280·(1 + |ln x|).
///
/// x = 2ᵉ·(k/64)·y with y close to 1, where ln y = 2·artanh((y − 1)/(y + 1)) takes about twenty terms. The
/// crate's own logarithm takes ten times as long. It fills the tables, and a test compares the two.
pub fn ln(x: &Big) -> Big {
    const CUT: usize = 64;
    static LN_2: OnceLock<Big> = OnceLock::new();
    static TABLE: [OnceLock<Big>; 2 * CUT + 1] = [const { OnceLock::new() }; 2 * CUT + 1];
    assert!(positive(x), "the logarithm of {x}");
    let e = exponent(x);
    let m = x.clone() >> e;
    let k = (round(&m) * CUT as f64).round() as usize;
    let part = TABLE[k].get_or_init(|| (big(k as f64) / big(CUT as f64)).ln());
    let y = m * big(CUT as f64) / big(k as f64);
    let s = (&y - big(1.0)) / (&y + big(1.0));
    let square = &s * &s;
    let (mut term, mut series, mut odd) = (s.clone(), zero(), 1.0);
    while term != zero() && exponent(&abs(term.clone())) > -(BITS as isize) - 8 {
        series += &term / big(odd);
        term *= &square;
        odd += 2.0;
    }
    LN_2.get_or_init(|| big(2.0).ln()) * big(e as f64) + part + big(2.0) * series
}

/// One column of the convex problem: data a, dictionary K by atoms, and their sums.
pub struct Column {
    pub a: Vec<Big>,
    pub atoms: Vec<Vec<Big>>,
    /// Kᵀ1.
    pub c: Vec<Big>,
    /// Σa.
    pub total: Big,
}

/// Reference values of a column at given weights.
#[derive(Clone)]
pub struct Truth {
    /// D(a‖Kx).
    pub divergence: Option<Big>,
    /// The smallest divergence of any weights.
    pub optimum: Option<Big>,
    /// The possible rounding error: see [`Column::truth`].
    pub tolerance: Big,
    /// The same for the gap, which must be infinite where digits of Kx are lost.
    pub gap_tolerance: Big,
    /// The closed formula of the gap: a certificate need not be looser where nothing leaves the range.
    pub formula: Option<Big>,
    /// Whether every relevant entry of Kx is well above subnormal, and every sum far from overflow.
    pub in_range: bool,
    /// Whether a/(Kx), its products with K, and Kᵀ1 are in range in this sense too.
    pub tame: bool,
}

impl Truth {
    /// The distance of the divergence to the optimum.
    pub fn distance(&self) -> Option<Big> {
        Some(self.divergence.clone()? - self.optimum.clone()?)
    }

    /// Whether a reported divergence is correct: equal up to rounding error, or infinite on overflow.
    pub fn agrees(&self, reported: f64) -> bool {
        if reported.is_nan() || reported < 0.0 {
            return false;
        }
        match &self.divergence {
            None => reported == f64::INFINITY,
            Some(_) if reported == f64::INFINITY => !self.in_range,
            Some(truth) => abs(big(reported) - truth) <= self.tolerance,
        }
    }

    /// Whether a reported gap bounds the distance to the optimum, up to rounding error.
    pub fn bounded_by(&self, gap: f64) -> bool {
        if gap.is_nan() || gap < 0.0 {
            return false;
        }
        gap == f64::INFINITY
            || self.distance().is_some_and(|distance| big(gap) + &self.gap_tolerance >= distance)
    }

    /// Whether a reported gap is as tight as the closed formula, if plain arithmetic can evaluate that.
    pub fn tight(&self, gap: f64) -> bool {
        let formula = self.formula.as_ref().filter(|_| self.tame);
        formula.is_none_or(|formula| gap.is_finite() && big(gap) <= formula + &self.gap_tolerance)
    }

    /// Sums over several columns.
    pub fn sum(parts: impl IntoIterator<Item = Truth>) -> Truth {
        let none = Truth {
            divergence: Some(zero()),
            optimum: Some(zero()),
            tolerance: zero(),
            gap_tolerance: zero(),
            formula: Some(zero()),
            in_range: true,
            tame: true,
        };
        let mut all = parts.into_iter().fold(none, |x, y| Truth {
            divergence: x.divergence.zip(y.divergence).map(|(x, y)| x + y),
            optimum: x.optimum.zip(y.optimum).map(|(x, y)| x + y),
            tolerance: x.tolerance + y.tolerance,
            gap_tolerance: x.gap_tolerance + y.gap_tolerance,
            formula: x.formula.zip(y.formula).map(|(x, y)| x + y),
            in_range: x.in_range && y.in_range,
            tame: x.tame && y.tame,
        });
        all.in_range = all.in_range && all.divergence.as_ref().is_some_and(|d| *d < big(1e300));
        all
    }
}

impl Column {
    /// `k` is p × r.
    pub fn new(a: &[f64], k: &Mat<f64>) -> Self {
        let atoms: Vec<Vec<Big>> =
            (0..k.cols()).map(|l| k.col(l).iter().map(|x| big(*x)).collect()).collect();
        let a: Vec<Big> = a.iter().map(|x| big(*x)).collect();
        let (c, total) = (atoms.iter().map(sum).collect(), sum(&a));
        Self { a, atoms, c, total }
    }

    /// Kx.
    fn model(&self, x: &[Big]) -> Vec<Big> {
        let row = |i: usize| self.atoms.iter().zip(x).fold(zero(), |z, (atom, x)| z + &atom[i] * x);
        (0..self.a.len()).map(row).collect()
    }

    /// The terms a·ln(a/z) with a > 0; `None` if some z = 0 there.
    fn logs(&self, z: &[Big]) -> Option<Vec<Big>> {
        let pairs = self.a.iter().zip(z).filter(|(a, _)| positive(a));
        pairs.map(|(a, z)| positive(z).then(|| a * ln(&(a / z)))).collect()
    }

    /// D(a‖Kx).
    pub fn divergence(&self, x: &[Big]) -> Option<Big> {
        let z = self.model(x);
        Some(sum(&self.logs(&z)?) - &self.total + sum(&z))
    }

    /// max_k g_k/c_k with g = Kᵀ(a/z): the factor by which a/z violates dual feasibility.
    fn largest_ratio(&self, z: &[Big]) -> Big {
        let ratio = |(atom, c): (&Vec<Big>, &Big)| {
            let rows = self.a.iter().zip(z).zip(atom).filter(|((a, _), _)| positive(a));
            rows.fold(zero(), |g, ((a, z), k)| g + k * a / z) / c
        };
        let live = self.atoms.iter().zip(&self.c).filter(|(_, c)| positive(c));
        live.map(ratio).fold(zero(), |x, y| if x < y { y } else { x })
    }

    /// The closed formula of the gap, without rounding errors; `None` if it is infinite.
    pub fn gap(&self, x: &[Big]) -> Option<Big> {
        let z = self.model(x);
        self.logs(&z)?;
        let s = self.largest_ratio(&z);
        let log = if positive(&self.total) { &self.total * ln(&s) } else { zero() };
        Some(sum(&z) - &self.total + log)
    }

    /// Optimal weights; `None` if no weights explain the column.
    pub fn best(&self) -> Option<Vec<Big>> {
        let r = self.atoms.len();
        if !positive(&self.total) {
            return Some(vec![zero(); r]);
        }
        let live: Vec<usize> = (0..r).filter(|k| positive(&self.c[*k])).collect();
        let support: Vec<usize> = (0..self.a.len()).filter(|i| positive(&self.a[*i])).collect();
        if support.iter().any(|&i| !live.iter().any(|&k| positive(&self.atoms[k][i]))) {
            return None;
        }
        let mut x = vec![zero(); r];
        match live[..] {
            [k] => x[k] = &self.total / &self.c[k],
            [first, second] => {
                let shares = self.shares(first, second, &support);
                x[first] = &self.total * &shares.0 / &self.c[first];
                x[second] = &self.total * &shares.1 / &self.c[second];
            }
            _ => panic!("one or two atoms"),
        }
        Some(x)
    }

    /// The shares of Σa that the two atoms explain at the optimum: λ/(1 + λ) and 1/(1 + λ).
    fn shares(&self, first: usize, second: usize, support: &[usize]) -> (Big, Big) {
        let unit = |k: usize| support.iter().map(|&i| &self.atoms[k][i] / &self.c[k]).collect::<Vec<_>>();
        let (p, q) = (unit(first), unit(second));
        let a: Vec<&Big> = support.iter().map(|&i| &self.a[i]).collect();
        // φ for the denominators d, and its derivative for d = λp + q.
        let phi = |d: &[Big]| (0..a.len()).fold(zero(), |s, i| s + a[i] * (&p[i] - &q[i]) / &d[i]);
        let slope = |d: &[Big]| {
            (0..a.len()).fold(zero(), |s, i| s - a[i] * (&p[i] - &q[i]) * &p[i] / (&d[i] * &d[i]))
        };
        let mixed = |l: &Big| p.iter().zip(&q).map(|(p, q)| l * p + q).collect::<Vec<_>>();
        if q.iter().all(positive) && phi(&q) <= zero() {
            return (zero(), big(1.0));
        }
        if p.iter().all(positive) && phi(&p) >= zero() {
            return (big(1.0), zero());
        }
        // φ > 0 at 2^low and φ ≤ 0 at 2^high.
        let (mut low, mut high) = (-16_384isize, 16_384isize);
        while high - low > 1 {
            let middle = (low + high).div_euclid(2);
            if positive(&phi(&mixed(&(big(1.0) << middle)))) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let (mut low, mut high) = (big(1.0) << low, big(1.0) << high);
        let mut lambda = (&low + &high) / big(2.0);
        for _ in 0..400 {
            let d = mixed(&lambda);
            let (value, slope) = (phi(&d), slope(&d));
            if value == zero() {
                break;
            }
            *(if positive(&value) { &mut low } else { &mut high }) = lambda.clone();
            let newton = (slope < zero()).then(|| &lambda - &value / slope);
            let next = newton.filter(|l| *l > low && *l < high).unwrap_or_else(|| (&low + &high) / big(2.0));
            let change = abs(&next - &lambda);
            lambda = next;
            if change <= lambda.clone() >> 200 {
                break;
            }
        }
        let whole = big(1.0) + &lambda;
        (lambda / &whole, big(1.0) / whole)
    }

    /// The smallest divergence.
    pub fn optimum(&self) -> Option<Big> {
        self.divergence(&self.best()?)
    }

    /// Whether a/z, K∘(a/z) and Kᵀ1 are zero or well within the range of f64.
    fn tame(&self, z: &[Big]) -> bool {
        let inside = |x: &Big| !positive(x) || (*x > big(1e-290) && *x < big(1e290));
        let rows = self.a.iter().zip(z).enumerate().filter(|(_, (a, _))| positive(a));
        let mut quotients = rows.map(|(i, (a, z))| (i, a / z));
        self.c.iter().all(inside)
            && quotients.all(|(i, t)| inside(&t) && self.atoms.iter().all(|k| inside(&(&k[i] * &t))))
    }

    /// The smallest divergence with the first of two weights fixed.
    pub fn optimum_with_first(&self, first: f64) -> Option<Big> {
        let first = big(first);
        let rows: Vec<usize> = (0..self.a.len()).filter(|i| positive(&self.a[*i])).collect();
        let fixed: Vec<Big> = rows.iter().map(|&i| &self.atoms[0][i] * &first).collect();
        let moving: Vec<&Big> = rows.iter().map(|&i| &self.atoms[1][i]).collect();
        // Whether x is below the optimum: the derivative c − Σak/z is negative there.
        let below = |x: &Big| {
            let terms = rows.iter().zip(&fixed).zip(&moving).filter(|(_, k)| positive(k));
            terms.fold(zero(), |s, ((&i, f), &k)| s + &self.a[i] * k / (f + x * k)) > self.c[1]
        };
        let explained = fixed.iter().all(positive);
        if !positive(&self.c[1]) || (explained && !below(&zero())) {
            return self.divergence(&[first, zero()]);
        }
        let (mut low, mut high) = (-16_384isize, 16_384isize);
        while high - low > 1 {
            let middle = (low + high).div_euclid(2);
            *(if below(&(big(1.0) << middle)) { &mut low } else { &mut high }) = middle;
        }
        let (mut low, mut high) = (big(1.0) << low, big(1.0) << high);
        for _ in 0..150 {
            let middle = (&low + &high) / big(2.0);
            let side = if below(&middle) { &mut low } else { &mut high };
            *side = middle;
        }
        self.divergence(&[first, high])
    }

    /// Divergence and optimum at the weights x, with the tolerance that f64 needs:
    ///
    /// C·ε·[ Σz + Σa + Σa·|ln(a/z)| + Σa·|ln s| ] + Σa·min(2, 2rη/z) + C·η,  C = n + m + r + 8.
    ///
    /// The bracket is the sum of the absolute values of all terms of D and of the gap Σz − Σa + Σa·ln s. A
    /// sum of N terms, in any order, has an error of at most (N − 1)·ε/2 times the sum of their absolute
    /// values. A column has n terms, the total m columns. A relative error of z, a/z, c or s is an absolute
    /// error of a logarithm, and each of these results from at most n + r + 3 roundings. The logarithm itself
    /// has an error of at most 2ε. All of this is below C·ε/2, which leaves a factor of two.
    ///
    /// A product that underflows is off by up to η/2. That changes z by at most rη, and a·ln z by a·rη/z, but
    /// never by more than a·ln 5 unless z is rounded to zero. It changes the terms of D by η each. A gap must
    /// not rest on such a z, so its tolerance lacks that term.
    ///
    /// If f64 rounds z to zero, an infinite divergence is allowed. Increasing z artificially is not.
    pub fn truth(&self, x: &[f64], n: usize, m: usize) -> Truth {
        let r = self.atoms.len();
        let x: Vec<Big> = x.iter().map(|x| big(*x)).collect();
        let z = self.model(&x);
        let optimum = self.optimum();
        let model = sum(&z);
        let Some(logs) = self.logs(&z) else {
            return Truth {
                divergence: None,
                optimum,
                tolerance: zero(),
                gap_tolerance: zero(),
                formula: None,
                in_range: false,
                tame: false,
            };
        };
        let divergence = sum(&logs) - &self.total + &model;
        let constant = big((n + m + r + 8) as f64);
        let mut terms = &model + &self.total + logs.iter().fold(zero(), |s, x| s + abs(x.clone()));
        let (mut slack, mut in_range) = (zero(), model < big(1e300));
        let mut formula = &model - &self.total;
        if positive(&self.total) {
            let log = &self.total * ln(&self.largest_ratio(&z));
            formula += &log;
            terms += abs(log);
            for (a, z) in self.a.iter().zip(&z).filter(|(a, _)| positive(a)) {
                let lost = big(2.0 * r as f64) * big(ETA) / z;
                slack += a * if z * big(2.0) < big(ETA) {
                    zero()
                } else if lost > big(2.0) {
                    big(2.0)
                } else {
                    lost
                };
                in_range &= *z >= big(1e-300);
            }
        }
        in_range &= terms < big(1e300);
        let gap_tolerance = &constant * (terms * big(f64::EPSILON) + big(ETA));
        let (tolerance, tame) = (&gap_tolerance + slack, in_range && self.tame(&z));
        let (divergence, formula) = (Some(divergence), Some(formula));
        Truth { divergence, optimum, tolerance, gap_tolerance, formula, in_range, tame }
    }
}

/// The reference for every column of H.
pub fn columns(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> Vec<Truth> {
    let one = |j: usize| Column::new(v.col(j), w).truth(h.col(j), v.rows(), v.cols());
    (0..v.cols()).map(one).collect()
}

/// The references for V ≈ WH when H moves and when W moves. The divergence is the same.
pub fn both(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>) -> [Truth; 2] {
    let mut by_columns = Truth::sum(columns(v, w, h));
    let mut by_rows = Truth::sum(columns(&v.transpose(), &h.transpose(), &w.transpose()));
    let tame = by_columns.tame && by_rows.tame;
    (by_columns.tame, by_rows.tame) = (tame, tame);
    [by_columns, by_rows]
}
