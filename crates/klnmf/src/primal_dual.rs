//! One step of the first-order primal-dual algorithm (Chambolle & Pock 2011; Yanez & Bach 2014).
//!
//! | letter | meaning |
//! | --- | --- |
//! | a, x | a column of V and its weights |
//! | χ | the dual point, negative where a > 0 |
//! | w | the metric: x plus a share of an even spread of Σa over the atoms, so that weights can leave zero |
//! | σ, τ | dual and primal steps: σ = 1/(ω·Kw), τ = ω·w/Kᵀ1 |
//! | ω | the primal weight of the column |
//!
//! χ ← χ + σ·Kx̄,  χ ← ½(χ − √(χ² + 4σa)),  x⁺ ← prox(x − τ·Kᵀχ),  x̄ ← 2x⁺ − x.
//!
//! The paper prints χ − σ·Kx̄, which diverges. In the support form, rows with a = 0 have χ = 0 and enter only
//! through the cost Kᵀ1. This form has the same minimiser, and it makes sparse data possible. The steps σ and
//! τ are diagonal and satisfy Pock & Chambolle's condition (2011, α = 1) for every w > 0. From χ = −a/Kx with
//! ω = 1 and w = x, the first step is the multiplicative update.

use crate::Scalar;
use crate::block::Block;
use crate::kernel::TileMap;

/// The map that the primal step applies to x − τ·Kᵀχ.
#[derive(Clone, Copy, PartialEq)]
pub enum Prox {
    /// The proximal point of the cost over x ≥ 0.
    NonNegative,
    /// The nearest point of the simplex {x ≥ 0, cᵀx = Σa}.
    Simplex,
}

/// The arrays of a step, with the letters of the table above; `g` is Kᵀχ.
pub struct PrimalDual<'w, S> {
    pub prox: Prox,
    pub tile: &'w mut [S],
    pub x: &'w mut [S],
    pub x_bar: &'w mut [S],
    pub tau: &'w [S],
    pub g: &'w mut [S],
    pub simplex: &'w mut [Vec<S>; 2],
}

impl<S: Scalar> PrimalDual<'_, S> {
    /// Takes a step in all columns of a block. `dual` is the dual step, which maps Kx̄ to the new χ.
    pub fn step(&mut self, b: &Block<'_, S>, dual: &mut impl TileMap<S>) {
        b.pass(self.x_bar, Some(self.g), self.tile, dual);
        self.primal(b);
    }

    /// Takes the primal half of a step.
    pub fn primal(&mut self, b: &Block<'_, S>) {
        let Self { prox, x, x_bar, tau, g, simplex, .. } = self;
        let (cost, r, n) = (&b.cost, b.r, b.q * b.r);
        if *prox == Prox::Simplex && cost.held == 0 && cost.ridge == S::ZERO {
            let [u, s] = simplex;
            return cost.prox_on_simplex(b.sums, &mut x[..n], &mut x_bar[..n], tau, g, [u, s]);
        }
        for c in 0..b.q {
            let at = c * r..(c + 1) * r;
            cost.prox(c, &mut x[at.clone()], &mut x_bar[at.clone()], &tau[at.clone()], &g[at]);
        }
    }
}

/// The metric of a column.
#[derive(Clone, Copy)]
pub struct Metric<S> {
    /// ω.
    pub weight: S,
    /// An atom's share of the even spread, before division by the atom's sum.
    pub spread: S,
}

impl<S: Scalar> Metric<S> {
    /// Spreads `share` of the column's sum over r atoms.
    pub fn new(weight: f64, share: f64, sum: f64, r: usize) -> Self {
        Self { weight: S::from_f64(weight), spread: S::from_f64(share * sum / r as f64) }
    }

    /// σ from Kx and the row's share K(1/Kᵀ1).
    #[inline(always)]
    pub fn sigma(&self, z: S, share: S) -> S {
        S::ONE / (self.weight * (z + self.spread * share))
    }

    /// τ for the weights x.
    pub fn taus(&self, k_sum: &[S], x: &[S], tau: &mut [S]) {
        for ((tau, x), k) in tau.iter_mut().zip(x).zip(k_sum) {
            *tau = if *k > S::ZERO { self.weight * (*x + self.spread / *k) / *k } else { S::ZERO };
        }
    }
}
