//! Non-negative quadratic programs with four variables, one for each column in a lane of a register.

// Loops over the variables index several arrays at once. The methods of arrays might not be inlined.
#![allow(clippy::needless_range_loop)]

use super::isa::Wide;
use super::lanes::Lanes;
use super::newton_pass::{B, C, H};
use crate::Scalar;

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
            let mut h = [[L::splat(token, 0.0); G]; H];
            for e in 0..H {
                h[e] = load(token, &self.h[e], at);
            }
            minimise(token, &h, &mut x, g);
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

/// Minimises g·d + ½ d·h·d over x + d ≥ 0 in every lane of some registers, one variable after the other, and
/// replaces x by x + d. `h` holds the upper triangle.
#[inline(always)]
pub(crate) fn minimise<S: Scalar, L: Lanes<S>, const G: usize>(
    token: L::Token,
    h: &[[L; G]; H],
    x: &mut [[L; G]; B],
    mut g: [[L; G]; B],
) {
    // The smallest normal number in f32, whose reciprocal is still finite.
    let flat = S::from_f64(FLAT).max(S::TINY * S::EPSILON);
    let (zero, tol, flat) =
        (L::splat(token, S::ZERO), L::splat(token, S::from_f64(TOL)), L::splat(token, flat));
    // −1/h of the diagonal entries, and zero where they are too small.
    let mut step = [[zero; G]; B];
    for l in 0..B {
        for s in 0..G {
            let diagonal = h[FIRST[l]][s];
            step[l][s] = (L::splat(token, -S::ONE) / diagonal).where_positive(diagonal - flat);
            // A weight without curvature does not change the fit. It becomes zero if its gradient is
            // positive.
            let kept = zero.if_positive(g[l][s], x[l][s]);
            x[l][s] = x[l][s].if_positive(zero - step[l][s], kept);
        }
    }
    // A column that has converged keeps its weights, so its result does not depend on its neighbours.
    let mut active = [L::splat(token, S::ONE); G];
    for _ in 0..SWEEPS {
        let mut moved = [zero; G];
        for l in 0..B {
            for s in 0..G {
                let new = g[l][s].mul_add(step[l][s], x[l][s]).max(zero);
                let new = new.if_positive(active[s], x[l][s]);
                let d = new - x[l][s];
                x[l][s] = new;
                moved[s] = (d.max(zero - d) - tol * new).max(moved[s]);
                for m in 0..B {
                    let at = if l < m { FIRST[l] + m - l } else { FIRST[m] + l - m };
                    g[m][s] = d.mul_add(h[at][s], g[m][s]);
                }
            }
        }
        let mut all = moved[0];
        for s in 1..G {
            all = all.max(moved[s]);
        }
        if all.sum() <= S::ZERO {
            break;
        }
        active = moved;
    }
}
