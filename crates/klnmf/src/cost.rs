//! The cost of a column's weights, and what follows from it: the best ray, the multiplicative update, the
//! proximal step, the gap. All solvers except the authors' programs take these formulas from here.
//!
//! | letter | meaning |
//! | --- | --- |
//! | α, K, x | the data of a column (times the weights of entries, if any), the dictionary, the weights |
//! | z | Kx |
//! | g | Kᵀ(α/z), over the rows with α > 0 |
//! | c, μ | the cost of the weights: G(x) = cᵀx + ½μ‖x‖². Without weights and penalties c = Kᵀ1 and μ = 0 |
//! | held | the first `held` weights are fixed |
//!
//! The problem of a column is to minimise F(x) = Σα·ln(α/z) − Σα + G(x) over x ≥ 0. Rows with α = 0 enter
//! only through c, so a sparse column needs only its stored rows.
//!
//! **Gap.** For any θ ≥ 0 and any z, −α·ln z ≥ α + α·ln(θ/α) − θz. Take θ = sα/z₀ at the current z₀ = Kx₀,
//! sum over the rows, and minimise over the free weights, which leaves
//! (c − s·g)ᵀx + ½μ‖x‖² ≥ −‖(s·g − c)₊‖²/2μ. Hence no weights have an F lower than F(x₀) by more than
//!
//! gap(s) = G(x₀) − G_held − Σα − Σα·ln s + s·(gᵀx)_held + ‖(s·g − c)₊‖²/2μ   for every s > 0,
//!
//! where the norm and the maximum below are over the free weights. With μ = 0 the last term requires s ≤ 1/ρ
//! with ρ = max g/c, and the best s is the smaller of 1/ρ and Σα/(gᵀx)_held. With nothing held this is the
//! paper's gap, G(x) − Σα + Σα·ln ρ. Since ρ is the largest factor of the multiplicative update, a
//! certificate costs one pass of that update. With μ > 0 the best s is found by bisection. The dual point
//! θ = 1 bounds the gap by F(x₀) itself.

use crate::Scalar;
use crate::kernel::{self, simd};
use crate::simplex::{LANES, Projection};

/// G(x) = cᵀx + ½μ‖x‖² for some columns, and the number of their held weights.
#[derive(Clone, Copy)]
pub struct Cost<'a, S> {
    /// c: r numbers for all columns, perhaps several times, or r for each column.
    pub c: &'a [S],
    /// Distance between the c of two consecutive columns: 0 or r.
    pub stride: usize,
    /// μ.
    pub ridge: S,
    /// The first `held` weights are fixed.
    pub held: usize,
    /// The number of weights.
    pub r: usize,
}

/// The range in which the scale s is reliable. Outside it g has lost its digits.
const SMALLEST: f64 = 1e-290;
const LARGEST: f64 = 1e290;
/// Upper bound of what underflow in products and quotients takes from g and from g/c.
const LOST: f64 = f64::MIN_POSITIVE;
/// Steps of the bisection for s. Each halves the range of ln s.
const BISECTIONS: usize = 60;

impl<S: Scalar> Cost<'_, S> {
    /// c of a column.
    #[inline(always)]
    pub fn of(&self, column: usize) -> &[S] {
        &self.c[column * self.stride..][..self.r]
    }

    /// The cost of the columns from `column` on.
    pub fn from(&self, column: usize) -> Self {
        Self { c: &self.c[column * self.stride..], ..*self }
    }

    /// G(x).
    pub fn total(&self, column: usize, x: &[S]) -> f64 {
        self.total_from(column, 0, 1.0, x)
    }

    /// G(κx) without the first `from` weights.
    fn total_from(&self, column: usize, from: usize, ray: f64, x: &[S]) -> f64 {
        let (c, x) = (&self.of(column)[from..], &x[from..]);
        let linear = ray * kernel::dot(c, x);
        if self.ridge == S::ZERO {
            return linear;
        }
        linear + 0.5 * self.ridge.to_f64() * ray * ray * kernel::dot(x, x)
    }

    /// F(κx) from Σα·ln(α/Kx).
    pub fn value(&self, column: usize, sum: f64, ray: f64, logs: f64, x: &[S]) -> f64 {
        logs - sum * ray.ln() - sum + self.total_from(column, 0, ray, x)
    }

    /// The derivative of G for one weight.
    #[inline(always)]
    pub fn slope(&self, column: usize, k: usize, x: f64) -> f64 {
        self.of(column)[k].to_f64() + self.ridge.to_f64() * x
    }

    /// The κ that minimises F(κx): cᵀx·κ + μ‖x‖²·κ² = Σα. It is 1 if some weights are held, because those
    /// must not be scaled, or if cᵀx = 0.
    pub fn ray(&self, column: usize, sum: f64, x: &[S]) -> f64 {
        let linear = kernel::dot(self.of(column), x);
        if self.held > 0 || linear <= 0.0 {
            return 1.0;
        }
        if self.ridge == S::ZERO {
            return sum / linear;
        }
        let square = self.ridge.to_f64() * kernel::dot(x, x);
        2.0 * sum / (linear + (linear * linear + 4.0 * square * sum).sqrt())
    }

    /// Moves x to the best point of its ray. Without data, free weights become zero. The weight of a zero
    /// atom does not matter and is kept.
    pub fn move_to_best_ray(&self, column: usize, sum: f64, x: &mut [S]) {
        if sum == 0.0 {
            let weights = x.iter_mut().zip(self.of(column)).skip(self.held);
            return weights.filter(|(_, c)| **c > S::ZERO).for_each(|(x, _)| *x = S::ZERO);
        }
        // Computed in f64, where the factor does not overflow.
        let ray = self.ray(column, sum, x);
        x.iter_mut().for_each(|x| *x = S::from_f64(x.to_f64() * ray));
    }

    /// The multiplicative update, also a step of EM: x ← x∘g/c. With a ridge, x' is the positive root of
    /// μx'² + cx' = x∘g.
    ///
    /// The weight of a zero atom does not matter and is kept. So is a weight whose factor overflows, which
    /// happens only if Kx has underflowed. A weight below the smallest normal number divided by the machine
    /// epsilon (1e-292 in f64, 1e-31 in f32) becomes zero: it is converging to zero, and subnormal numbers
    /// are slow.
    ///
    /// `x` holds some columns from `column` on.
    pub fn multiply(&self, column: usize, x: &mut [S], g: &[S]) {
        let here = &self.c[column * self.stride..];
        if self.held == 0 && here.len() >= x.len() {
            return self.multiply_weights(x, g, here);
        }
        for (c, (x, g)) in x.chunks_mut(self.r).zip(g.chunks(self.r)).enumerate() {
            let (held, c) = (self.held, self.of(column + c));
            self.multiply_weights(&mut x[held..], &g[held..], &c[held..]);
        }
    }

    /// The update of weights with these c.
    fn multiply_weights(&self, x: &mut [S], g: &[S], c: &[S]) {
        let ridge = self.ridge;
        let (four, two) = (S::from_f64(4.0), S::from_f64(2.0));
        simd(
            #[inline(always)]
            || {
                for ((x, g), c) in x.iter_mut().zip(g).zip(c) {
                    let next = if ridge == S::ZERO {
                        *x * (*g / *c)
                    } else {
                        two * *x * (*g / (*c + (*c * *c + four * ridge * *x * *g).sqrt()))
                    };
                    let next_or_zero = if next < S::TINY { S::ZERO } else { next };
                    // Selections, not branches, so that the loop vectorises. Comparisons with NaN are false.
                    let usable = *c > S::ZERO && next < S::INFINITY;
                    *x = if usable { next_or_zero } else { *x };
                }
            },
        );
    }

    /// Gives `little`/c to each free weight that is zero where g > c. A multiplicative update cannot leave
    /// zero, but F decreases if such a weight grows.
    pub fn wake(&self, column: usize, x: &mut [S], g: &[S], little: f64) {
        for ((x, g), c) in x.iter_mut().zip(g).zip(self.of(column)).skip(self.held) {
            if *x == S::ZERO && *g > *c {
                *x = S::from_f64(little / c.to_f64());
            }
        }
    }

    /// The primal step: x⁺ ← max(x − τ·(g + c), 0)/(1 + τμ), the proximal point of τG, and x̄ ← 2x⁺ − x, with
    /// g = Kᵀχ.
    pub fn prox(&self, column: usize, x: &mut [S], x_bar: &mut [S], tau: &[S], g: &[S]) {
        let (c, ridge) = (&self.of(column)[self.held..], self.ridge);
        let (still, x) = x.split_at_mut(self.held);
        let (still_bar, x_bar) = x_bar.split_at_mut(self.held);
        still_bar.copy_from_slice(still);
        let (tau, g) = (&tau[self.held..], &g[self.held..]);
        simd(
            #[inline(always)]
            || {
                for ((((x, x_bar), tau), g), c) in x.iter_mut().zip(x_bar).zip(tau).zip(g).zip(c) {
                    let next = (*x - *tau * (*g + *c)).max(S::ZERO);
                    let next = if ridge == S::ZERO { next } else { next / (S::ONE + *tau * ridge) };
                    *x_bar = next + next - *x;
                    *x = next;
                }
            },
        );
    }

    /// The primal step on the simplex {x ≥ 0, cᵀx = Σα}, which contains the optimum if nothing is held and
    /// μ = 0. x⁺ is its point nearest to x − τ·g in the metric 1/τ. `room` holds eight columns twice.
    pub fn prox_on_simplex(
        &self,
        sums: &[f64],
        x: &mut [S],
        x_bar: &mut [S],
        tau: &[S],
        g: &[S],
        room: [&mut [S]; 2],
    ) {
        let r = self.r;
        let mut projection = Projection::new(r, room);
        x_bar.copy_from_slice(x);
        for (group, x) in x.chunks_mut(r * LANES).enumerate() {
            let first = group * LANES;
            let mut totals = [0.0; LANES];
            totals.iter_mut().zip(&sums[first..]).for_each(|(total, sum)| *total = *sum);
            projection.load(x, |column, row, x| {
                let (at, c) = ((first + column) * r + row, self.of(first + column)[row]);
                (c * (x - tau[at] * g[at]), tau[at] * c * c)
            });
            projection.solve(&totals);
            projection.store(x, |column, row, value| {
                let c = self.of(first + column)[row];
                if c > S::ZERO { value / c } else { S::ZERO }
            });
        }
        x_bar.iter_mut().zip(x).for_each(|(x_bar, x)| *x_bar = *x + *x - *x_bar);
    }
}

impl Cost<'_, f64> {
    /// Bounds how much lower than F(κx) F can be for other weights, from g = Kᵀ(α/Kx), up to the rounding
    /// error of the sums, about 1e-14·Σα. Infinite if g proves nothing.
    pub fn gap(&self, column: usize, sum: f64, ray: f64, x: &[f64], g: &[f64]) -> f64 {
        let moving = self.total_from(column, self.held, ray, x);
        if sum == 0.0 {
            return non_negative(moving);
        }
        // Scaling x by κ divides θ by κ, for which s compensates.
        non_negative(moving - sum - sum * ray.ln() - self.lift(column, sum, x, g))
    }

    /// The dual value of the point θ ≥ 0 under the best scaling, from Σα·ln θ and g = Kᵀθ. No weights have a
    /// lower F. −∞ if the point proves nothing.
    pub fn dual(&self, column: usize, sum: f64, x: &[f64], logs: f64, g: &[f64]) -> f64 {
        let held = self.total(column, x) - self.total_from(column, self.held, 1.0, x);
        let dual = logs + held + self.lift(column, sum, x, g);
        if dual.is_nan() { f64::NEG_INFINITY } else { dual }
    }

    /// The maximum over s of Σα·ln s − s·(gᵀx)_held − ‖(s·g − c)₊‖²/2μ; −∞ if g is unreliable.
    fn lift(&self, column: usize, sum: f64, x: &[f64], g: &[f64]) -> f64 {
        // If the model overflows, or is zero where the data are positive, g is not finite.
        if g.iter().any(|g| !g.is_finite()) {
            return f64::NEG_INFINITY;
        }
        let pull = kernel::dot(&x[..self.held], &g[..self.held]);
        let s = (1.0 / self.largest_ratio(column, g)).min(sum / pull);
        let s = if self.ridge > 0.0 { self.best_scale(column, sum, g, pull, s) } else { s };
        if !(s > SMALLEST && s < LARGEST) {
            return f64::NEG_INFINITY;
        }
        let over =
            if self.ridge > 0.0 { self.excess(column, g, s, |e, _| e * e) / (2.0 * self.ridge) } else { 0.0 };
        sum * s.ln() - s * pull - over
    }

    /// An upper bound of max g/c over the free weights: allows for underflow.
    fn largest_ratio(&self, column: usize, g: &[f64]) -> f64 {
        let (g, c) = (&g[self.held..], &self.of(column)[self.held..]);
        let mut largest = [0.0; LANES];
        simd(
            #[inline(always)]
            || {
                for (g, c) in g.chunks(LANES).zip(c.chunks(LANES)) {
                    for ((largest, g), c) in largest.iter_mut().zip(g).zip(c) {
                        let ratio = (g + LOST) / c + LOST;
                        let ratio = if *c > 0.0 { ratio } else { 0.0 };
                        *largest = if ratio > *largest { ratio } else { *largest };
                    }
                }
            },
        );
        largest.into_iter().fold(0.0, f64::max)
    }

    /// Σ f((s·g − c)₊, g) over the free weights.
    fn excess(&self, column: usize, g: &[f64], s: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        let free = g.iter().zip(self.of(column)).skip(self.held);
        free.map(|(g, c)| f((s * g - c).max(0.0), *g)).sum()
    }

    /// The s ≥ `low` at which the derivative Σα/s − (gᵀx)_held − Σ g·(s·g − c)₊/μ becomes negative.
    fn best_scale(&self, column: usize, sum: f64, g: &[f64], pull: f64, low: f64) -> f64 {
        let falls = |s: f64| pull + self.excess(column, g, s, |e, g| e * g) / self.ridge > sum / s;
        let mut low = low.clamp(SMALLEST, LARGEST);
        let mut high = low;
        while !falls(high) && high < LARGEST {
            high *= 2.0;
        }
        for _ in 0..BISECTIONS {
            let middle = low.sqrt() * high.sqrt();
            if falls(middle) { high = middle } else { low = middle }
        }
        low
    }
}

/// Clamps a number that rounding errors may have made negative to zero. NaN becomes infinite.
pub fn non_negative(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.max(0.0) }
}

#[cfg(test)]
#[path = "../tests/unit/cost.rs"]
mod tests;
