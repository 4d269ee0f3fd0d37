//! Non-negative quadratic programs with four variables, one for each column in a lane of a register.

// Loops over the variables index several arrays at once. The methods of arrays might not be inlined.
#![allow(clippy::needless_range_loop)]

use super::isa::Wide;
use super::lanes::Lanes;
use super::newton_pass::{B, C, H};

/// The start of each row in the upper triangle: the entries on the diagonal.
pub(crate) const FIRST: [usize; B] = [0, 4, 7, 9];
/// The most sweeps over the variables, and the relative change at which a program ends.
const SWEEPS: usize = 8;
const TOL: f64 = 1e-3;
/// The smallest curvature of a variable. Below it no data support the weight.
const FLAT: f64 = 1e-280;

/// Minimises gradient·d + ½ d·h·d over x + d ≥ 0 by sweeps over the variables, and replaces x by x + d.
pub(crate) struct QuadraticPrograms<'a> {
    pub x: &'a mut [[f64; C]; B],
    pub gradient: &'a [[f64; C]; B],
    pub h: &'a [[f64; C]; H],
}

impl Wide<f64> for QuadraticPrograms<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<f64>>(self, token: L::Token) {
        // Each operation waits for the one before, so several registers are processed together.
        if L::N == C / 2 { self.solve::<L, 2>(token) } else { self.solve::<L, 4>(token) }
    }
}

impl QuadraticPrograms<'_> {
    /// Solves the programs in `G` registers at a time.
    #[inline(always)]
    fn solve<L: Lanes<f64>, const G: usize>(self, token: L::Token) {
        for at in (0..C).step_by(G * L::N) {
            let mut x = [[L::splat(token, 0.0); G]; B];
            let mut g = x;
            for l in 0..B {
                x[l] = load(token, &self.x[l], at);
                g[l] = load(token, &self.gradient[l], at);
            }
            Hessian::new(token, self.h, at).descend(token, &mut x, g);
            for l in 0..B {
                for s in 0..G {
                    x[l][s].store(&mut self.x[l], at + s * L::N, L::N);
                }
            }
        }
    }
}

/// The registers from column `at`.
#[inline(always)]
fn load<L: Lanes<f64>, const G: usize>(token: L::Token, from: &[f64; C], at: usize) -> [L; G] {
    let mut all = [L::splat(token, 0.0); G];
    for s in 0..G {
        all[s] = L::load(token, from, at + s * L::N, L::N);
    }
    all
}

/// The Hessians of the columns in some registers.
struct Hessian<L, const G: usize> {
    /// The upper triangle.
    entries: [[L; G]; H],
    /// −1/h of the diagonal entries, and zero where they are too small.
    step: [[L; G]; B],
}

impl<L: Lanes<f64>, const G: usize> Hessian<L, G> {
    #[inline(always)]
    fn new(token: L::Token, h: &[[f64; C]; H], at: usize) -> Self {
        let zero = L::splat(token, 0.0);
        let (mut entries, mut step) = ([[zero; G]; H], [[zero; G]; B]);
        for e in 0..H {
            entries[e] = load(token, &h[e], at);
        }
        for l in 0..B {
            for s in 0..G {
                let diagonal = entries[FIRST[l]][s];
                let curved = diagonal - L::splat(token, FLAT);
                step[l][s] = (L::splat(token, -1.0) / diagonal).where_positive(curved);
            }
        }
        Self { entries, step }
    }

    /// Minimises over one variable after the other.
    #[inline(always)]
    fn descend(self, token: L::Token, x: &mut [[L; G]; B], mut g: [[L; G]; B]) {
        let (zero, tol) = (L::splat(token, 0.0), L::splat(token, TOL));
        for l in 0..B {
            for s in 0..G {
                // A weight without curvature does not change the fit. It becomes zero if its gradient is
                // positive.
                let kept = zero.if_positive(g[l][s], x[l][s]);
                x[l][s] = x[l][s].if_positive(zero - self.step[l][s], kept);
            }
        }
        // A column that has converged keeps its weights, so its result does not depend on its neighbours.
        let mut active = [L::splat(token, 1.0); G];
        for _ in 0..SWEEPS {
            let mut moved = [zero; G];
            for l in 0..B {
                for s in 0..G {
                    let new = g[l][s].mul_add(self.step[l][s], x[l][s]).max(zero);
                    let new = new.if_positive(active[s], x[l][s]);
                    let d = new - x[l][s];
                    x[l][s] = new;
                    moved[s] = (d.max(zero - d) - tol * new).max(moved[s]);
                    for m in 0..B {
                        let at = if l < m { FIRST[l] + m - l } else { FIRST[m] + l - m };
                        g[m][s] = d.mul_add(self.entries[at][s], g[m][s]);
                    }
                }
            }
            let mut all = moved[0];
            for s in 1..G {
                all = all.max(moved[s]);
            }
            if all.sum() <= 0.0 {
                break;
            }
            active = moved;
        }
    }
}
