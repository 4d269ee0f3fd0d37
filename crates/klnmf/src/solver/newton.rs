//! Block Newton coordinate descent: four weights of a column at a time.
//!
//! | letter | meaning |
//! | --- | --- |
//! | K, a, x | the dictionary, a column of V, its weights |
//! | z | Kx, kept up to date |
//! | t, u | a/z and a/z² |
//! | g, h | for the four weights of a block: Kᵀt, and the upper triangle of KᵀDiag(u)K |
//! | d | the change of the four weights |
//!
//! For the weights of a block the divergence has the gradient Kᵀ1 − g and the Hessian h. One pass over the rows brings z
//! up to date with the change of the block before and adds up g and h; a quadratic program with four variables gives the
//! next change. Four columns are worked in turn with the same four atoms, and their quadratic programs side by side.

// Loops over the columns of a group index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::newton_pass::{B, H, Pass};
use super::{HalfState, HalfStep, Measuring};
use crate::block::{Block, Work};
use crate::level::Level;
use crate::map::{self, Logs, Map, each};
use crate::{Mat, Scalar};

/// Columns in a group.
const C: usize = 4;
/// What Kx may not fall below, in units of the machine's epsilon and of the sum of the column.
const FLOOR: f64 = 1e-3;
/// The most sweeps of the quadratic program, and the relative change at which it ends.
const QP_SWEEPS: usize = 8;
const QP_TOL: f64 = 1e-3;

/// The method has no state of its own.
pub(crate) struct Newton;

impl<T: Scalar> HalfStep<T> for Newton {
    fn update(&mut self, half: &mut HalfState<'_, '_, T>, kt: &Mat<T>, x: &mut Mat<T>, steps: usize) {
        half.dictionary.set(half.pool, kt);
        half.for_each_block(x, |b, x, _, work| {
            let (z, height) = (&mut work.big[0], b.height());
            b.pass_map(x, None, &mut work.tile, &mut Keep { z, p: b.p, height });
            descend(b, x, work, steps);
        });
    }
}

impl<T: Scalar> Measuring<T> for Newton {
    fn update_and_measure(
        &mut self,
        half: &mut HalfState<'_, '_, T>,
        kt: &Mat<T>,
        x: &mut Mat<T>,
        steps: usize,
    ) -> f64 {
        half.dictionary.set(half.pool, kt);
        half.measure(x, |b, x, values, work| {
            let (z, height) = (&mut work.big[0], b.height());
            let mut map = KeepAndMeasure { keep: Keep { z, p: b.p, height }, logs: Logs::new(b.a, b.a) };
            b.pass_map(x, None, &mut work.tile, &mut map);
            b.divergences(&map.logs, x, values);
            descend(b, x, work, steps);
        })
    }
}

/// Keeps z, each column padded.
struct Keep<'a, T> {
    z: &'a mut [T],
    p: usize,
    height: usize,
}

impl<T: Scalar> Map<T> for Keep<'_, T> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: [T; L]) -> [T; L] {
        map::store(self.z, at + column * (self.height - self.p), live, z);
        z
    }
}

struct KeepAndMeasure<'a, T> {
    keep: Keep<'a, T>,
    logs: Logs<'a, T>,
}

impl<T: Scalar> Map<T> for KeepAndMeasure<'_, T> {
    #[inline(always)]
    fn map<const L: usize>(&mut self, column: usize, at: usize, live: usize, z: [T; L]) -> [T; L] {
        self.keep.map(column, at, live, z);
        self.logs.map(column, at, live, z)
    }

    #[inline(always)]
    fn fetch(&self, at: usize) {
        self.logs.fetch(at);
    }
}

/// `sweeps` sweeps over the weights of all columns of a block, whose z is in `big[0]`.
fn descend<T: Scalar>(b: &Block<'_, T>, x: &mut [T], work: &mut Work<T>, sweeps: usize) {
    let [z, a, zeros, ..] = &mut work.big;
    let height = b.height();
    if b.p == 0 {
        // A sparse column without entries: there is nothing to explain.
        x.iter_mut().zip(b.k_sum).filter(|(_, k)| **k > T::ZERO).for_each(|(x, _)| *x = T::ZERO);
        return;
    }
    let zeros = &mut zeros[..height];
    zeros.fill(T::ZERO);
    for first in (0..b.q).step_by(C) {
        let columns = C.min(b.q - first);
        let part = first * height..(first + columns) * height;
        let (z, a) = (&mut z[part.clone()], &mut a[part]);
        for (c, (z, a)) in z.chunks_mut(height).zip(a.chunks_mut(height)).enumerate() {
            a[..b.p].copy_from_slice(&b.a[(first + c) * b.p..][..b.p]);
            a[b.p..].fill(T::ZERO);
            z[b.p..].fill(T::ONE);
        }
        let mut floors = [T::ONE; C];
        for c in 0..columns {
            floors[c] = (T::EPSILON * T::from_f64(FLOOR * b.sums[first + c])).max(T::TINY);
        }
        let group = Group {
            level: Level::get(),
            height,
            r: b.r,
            columns,
            atoms: b.atoms,
            zeros,
            k_sum: b.k_sum,
            floors,
            a,
            z,
            x: &mut x[first * b.r..][..columns * b.r],
        };
        group.run(sweeps);
    }
}

/// Up to four columns with the same atoms.
struct Group<'a, T> {
    level: Level,
    height: usize,
    r: usize,
    columns: usize,
    atoms: &'a [T],
    zeros: &'a [T],
    k_sum: &'a [T],
    /// What z may not fall below.
    floors: [T; C],
    a: &'a [T],
    z: &'a mut [T],
    x: &'a mut [T],
}

impl<T: Scalar> Group<'_, T> {
    fn run(mut self, sweeps: usize) {
        let (mut before, mut d) = ([0; B], [[T::ZERO; B]; C]);
        for _ in 0..sweeps {
            for block in 0..self.r.div_ceil(B) {
                // The last block overlaps the one before rather than being short.
                let first = (block * B).min(self.r.saturating_sub(B));
                let atoms: [usize; B] = std::array::from_fn(|l| first + l);
                d = self.block(before, d, atoms);
                before = atoms;
            }
        }
    }

    /// The atom of this number; zeros if there is none, which happens where r < B.
    fn atom(&self, k: usize) -> &[T] {
        if k < self.r { &self.atoms[k * self.height..][..self.height] } else { &self.zeros[..self.height] }
    }

    /// The four weights `atoms` of every column; returns their change.
    fn block(&mut self, before: [usize; B], d: [[T; B]; C], atoms: [usize; B]) -> [[T; B]; C] {
        let (mut g, mut h) = ([[0.0; C]; B], [[1.0; C]; H]);
        let z = std::mem::take(&mut self.z);
        for c in 0..self.columns {
            let part = c * self.height..(c + 1) * self.height;
            let pass = Pass {
                a: &self.a[part.clone()],
                z: &mut z[part],
                before: before.map(|k| self.atom(k)),
                d: d[c],
                k: atoms.map(|k| self.atom(k)),
                floor: self.floors[c],
            };
            let (gradient, hessian) = T::block_pass(self.level, pass);
            for l in 0..B {
                g[l][c] = gradient[l];
            }
            for e in 0..H {
                h[e][c] = hessian[e];
            }
        }
        self.z = z;
        let mut x = [[0.0; C]; B];
        let mut gradient = [[0.0; C]; B];
        for l in 0..B.min(self.r) {
            let k = self.k_sum[atoms[l]].to_f64();
            for c in 0..self.columns {
                x[l][c] = self.x[c * self.r + atoms[l]].to_f64();
                gradient[l][c] = k - g[l][c];
            }
        }
        let start = x;
        self.level.run(
            #[inline(always)]
            || quadratic_program(&mut x, gradient, &h),
        );
        let mut changes = [[T::ZERO; B]; C];
        for l in 0..B.min(self.r) {
            for c in 0..self.columns {
                let place = &mut self.x[c * self.r + atoms[l]];
                let new = T::from_f64(x[l][c]);
                // The change of what is stored, so that z stays true to it.
                changes[c][l] = T::from_f64(new.to_f64() - start[l][c]);
                *place = new;
            }
        }
        changes
    }
}

/// Minimises gradient·d + ½ d·h·d over x + d ≥ 0 by sweeps over the coordinates, for four columns side by side.
#[inline(always)]
fn quadratic_program(x: &mut [[f64; C]; B], mut gradient: [[f64; C]; B], h: &[[f64; C]; H]) {
    const FIRST: [usize; B] = [0, 4, 7, 9];
    let at = |l: usize, m: usize| if l < m { h[FIRST[l] + m - l] } else { h[FIRST[m] + l - m] };
    let inverse: [[f64; C]; B] = std::array::from_fn(
        #[inline(always)]
        |l| {
            each(
                #[inline(always)]
                |c| if at(l, l)[c] > 1e-280 { 1.0 / at(l, l)[c] } else { 0.0 },
            )
        },
    );
    // A column that has settled stays as it is, so that its result does not depend on its neighbours.
    let mut active = [1.0; C];
    for _ in 0..QP_SWEEPS {
        let mut moved = [0.0; C];
        for l in 0..B {
            let mut d = [0.0; C];
            for c in 0..C {
                let new = (x[l][c] - gradient[l][c] * inverse[l][c]).max(0.0);
                // Without curvature there are no data that want this weight.
                let new = if inverse[l][c] == 0.0 && gradient[l][c] > 0.0 { 0.0 } else { new };
                d[c] = active[c] * (new - x[l][c]);
                x[l][c] = if active[c] > 0.0 { new } else { x[l][c] };
                let change = d[c].abs() - QP_TOL * new;
                moved[c] = if change > moved[c] { change } else { moved[c] };
            }
            for m in 0..B {
                let row = at(l, m);
                for c in 0..C {
                    gradient[m][c] += d[c] * row[c];
                }
            }
        }
        for c in 0..C {
            active[c] = if moved[c] > 0.0 { 1.0 } else { 0.0 };
        }
        if active == [0.0; C] {
            break;
        }
    }
}
