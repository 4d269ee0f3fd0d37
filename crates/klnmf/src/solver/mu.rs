//! Multiplicative updates (Lee & Seung 2000), which are also the EM algorithm:
//!
//! x ← x ∘ g/c,  g = Kᵀ(a/Kx),  c = Kᵀ1.
//!
//! No step increases the divergence, and a zero weight stays zero. Each weight is updated independently of
//! the others, so this also holds if some weights are held.

use super::method::{HalfStep, Moving, set_values};
use crate::Scalar;
use crate::block::Work;

/// The half-step, which is stateless.
pub struct Mu {
    /// Computes only x ← x ∘ g: the counts that each atom explains, for the [prior](super::smooth).
    counts: bool,
}

/// The multiplicative update.
pub static MU: Mu = Mu { counts: false };
/// The counts alone.
pub static COUNTS: Mu = Mu { counts: true };

impl<S: Scalar> HalfStep<S> for Mu {
    fn name(&self) -> &'static str {
        if self.counts { "counts" } else { "mu" }
    }

    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>) {
        let Moving { blocks, x, columns, steps, measure } = moving;
        let (b, Work { tile, evidence, .. }) = (&blocks[0], work);
        for step in 0..steps {
            let measure = measure && step == 0;
            b.evidence(x, measure, tile, evidence);
            if measure {
                set_values(b, x, columns, |c| evidence.logs[c]);
            }
            if self.counts {
                x.iter_mut().zip(&evidence.g).for_each(|(x, g)| *x *= *g);
            } else {
                b.cost.multiply(0, x, &evidence.g);
            }
        }
    }
}
