//! Multiplicative updates (Lee & Seung 2000), which are also the EM algorithm:
//!
//! x ← x ∘ g/c,  g = Kᵀ(a/Kx),  c = Kᵀ1.
//!
//! Each step lowers the divergence or leaves it. A zero stays zero for ever. The updates of single weights do
//! not need one another, so this also holds where some weights are held.

use super::method::{Alternation, Built, HalfStep, Moving, Pair};
use super::{Setup, Side};
use crate::Scalar;
use crate::block::{DictionaryParts, Work};

/// The half-step has no state of its own.
pub struct Mu;

/// Parts, W or H first, and no warm-up.
pub fn build<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    let (site, order) = (setup.site(factors, HalfStep::<T>::parts(&Mu)), setup.order(Side::H));
    Ok(Box::new(Alternation { site, step: &Mu, order, warm_up: 0 }))
}

/// The authors' program moves W first.
pub fn build_authors<'a, T: Scalar>(setup: &Setup<'a, T>, factors: &Pair<T>) -> Built<'a, T> {
    let (site, order) = (setup.site(factors, HalfStep::<T>::parts(&Mu)), setup.order(Side::W));
    Ok(Box::new(Alternation { site, step: &Mu, order, warm_up: 0 }))
}

impl<S: Scalar> HalfStep<S> for Mu {
    fn name(&self) -> &'static str {
        "mu"
    }

    fn parts(&self) -> DictionaryParts {
        DictionaryParts::default()
    }

    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>) {
        let Moving { blocks, x, columns, steps, measure } = moving;
        let (b, Work { tile, evidence, .. }) = (&blocks[0], work);
        for step in 0..steps {
            let measure = measure && step == 0;
            b.evidence(x, measure, tile, evidence);
            for (c, (x, g)) in x.chunks_mut(b.r).zip(evidence.g.chunks(b.r)).enumerate() {
                if measure {
                    columns[c].value = b.value(c, evidence.logs[c], x);
                }
                b.cost.multiply(c, x, g);
            }
        }
    }
}
