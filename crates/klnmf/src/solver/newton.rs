//! Block Newton coordinate descent: four weights of a column at a time.
//!
//! Hsieh & Dhillon (2011) introduced coordinate descent for this divergence. NNLM (Lin & Boutros 2020),
//! fastTopics (Carbonetto et al. 2021) and the scalar Newton method of Hien & Gillis (2021) also update one
//! weight at a time.
//!
//! | letter | meaning |
//! | --- | --- |
//! | K, a, x | the dictionary, a column of V, its weights |
//! | z | Kx, kept up to date |
//! | t, u | a/z and a/z² |
//! | g, h | for the four weights of a block: Kᵀt, and the upper triangle of KᵀDiag(u)K |
//! | d | the change of the four weights |
//!
//! As a function of the weights of a block, the divergence has the gradient c − g and the Hessian h, with
//! c = Kᵀ1. One pass over the rows applies the change of the previous block to z and sums g and h. A
//! quadratic program with four variables then gives the next change. The quadratic model ignores the pole at
//! z = 0. If z becomes zero in a row with a > 0, the column therefore takes a step back. Sixteen columns
//! are processed in turn, and their quadratic programs are solved together. [Short](super::short) sparse
//! columns are processed side by side instead. A column with many zeros moves only its
//! [active](super::active) weights.

use super::active::{Active, many_zeros};
use super::descent::{Lists, descend};
use super::method::{Column, HalfStep, Moving, set_values};
use crate::Scalar;
use crate::block::{Block, DictionaryParts, MOST_BLOCKS, Work, take};
use crate::kernel::{self, Keep, LogSums, Ratio, SparseRows};

/// The half-step, which is stateless.
pub struct Newton;

impl<S: Scalar> HalfStep<S> for Newton {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn parts(&self) -> DictionaryParts {
        DictionaryParts { atoms: true, arrays: true, ..DictionaryParts::default() }
    }

    fn run(&self, moving: Moving<'_, S>, work: &mut Work<S>) {
        let Moving { blocks, x, columns, steps, measure } = moving;
        let (b, mut active) = (&blocks[0], std::mem::take(&mut work.active));
        let leaves_out = x.chunks(b.r).any(many_zeros);
        match b.rows {
            None => open(b, x, columns, measure, leaves_out, work),
            Some(_) if measure || leaves_out => {
                b.evidence(x, measure, &mut work.tile, &mut work.evidence);
                if measure {
                    set_values(b, x, columns, |c| work.evidence.logs[c]);
                }
            }
            Some(_) => {}
        }
        if leaves_out {
            active.positive_or_growing(b, x, &work.evidence.g);
        } else {
            active.all(b.q);
        }
        match b.rows {
            None => {
                let lists = Lists { active: &active, first: 0, copied: false };
                descend(blocks, lists, x, work, steps, |_| false);
            }
            Some(rows) => {
                work.short.descend(b, rows, &mut active, x, steps);
                descend_copies(b, rows, &active, x, work, steps);
            }
        }
        work.active = active;
    }
}

/// Computes z of a dense block, its values if `measure` is set, and g if `leaves_out` is set.
fn open<S: Scalar>(
    b: &Block<'_, S>,
    x: &[S],
    columns: &mut [Column],
    measure: bool,
    leaves_out: bool,
    work: &mut Work<S>,
) {
    let Work { tile, evidence, z, .. } = work;
    let mut keep = Keep { z, p: b.p, height: b.height() };
    let g = leaves_out.then_some(&mut evidence.g[..]);
    if measure {
        let mut map = (keep, LogSums::new(b.a, b.a, b.q));
        b.pass(x, g, tile, &mut map);
        set_values(b, x, columns, |c| map.1.sum(c));
    } else if leaves_out {
        b.pass(x, g, tile, &mut (keep, Ratio { a: b.a }));
    } else {
        b.pass(x, None, tile, &mut keep);
    }
}

/// Updates sparse columns, with the rows of the dictionary at their entries copied.
fn descend_copies<S: Scalar>(
    b: &Block<'_, S>,
    rows: SparseRows<'_, S>,
    active: &Active,
    x: &mut [S],
    work: &mut Work<S>,
    steps: usize,
) {
    let mut gather = std::mem::take(&mut work.gather);
    gather.groups(b, rows, Some(active), (MOST_BLOCKS, work.rows), &mut |blocks| {
        let [first, last] = [&blocks[0], &blocks[blocks.len() - 1]].map(|block| block.first - b.first);
        let x = &mut x[first * b.r..(last + 1) * b.r];
        let Work { z, x: weights, .. } = &mut *work;
        let mut z = &mut z[..];
        for one in blocks {
            let (column, z) = (one.first - b.first, take(&mut z, one.height()));
            let (x, list) = (&x[(column - first) * b.r..][..b.r], active.of(column));
            weights.iter_mut().zip(list).for_each(|(to, k)| *to = x[*k as usize]);
            kernel::multiply(one.atoms, one.height(), &weights[..list.len()], z);
        }
        descend(blocks, Lists { active, first, copied: true }, x, work, steps, |_| false);
    });
    work.gather = gather;
}

/// Computes z = Kx, with each column padded.
pub fn keep_z<T: Scalar>(b: &Block<'_, T>, x: &[T], z: &mut [T], tile: &mut [T]) {
    b.pass(x, None, tile, &mut Keep { z, p: b.p, height: b.height() });
}

/// Each block with its weights and its part of z.
pub fn each_with_z<'a, T: Scalar>(
    blocks: &'a [Block<'a, T>],
    mut x: &'a [T],
    mut z: &'a mut [T],
) -> impl Iterator<Item = (&'a Block<'a, T>, &'a [T], &'a mut [T])> {
    blocks.iter().map(move |b| {
        let (mine, rest) = x.split_at(b.q * b.r);
        x = rest;
        (b, mine, take(&mut z, b.q * b.height()))
    })
}
