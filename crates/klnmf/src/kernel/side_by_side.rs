//! Sweeps of block Newton steps over several columns at once, one column in each lane of a register.
//!
//! A row of all columns fills a register, so sums over the rows need no sums across lanes, and the quadratic
//! programs find their numbers where the sums are. For short columns, sums across lanes would take longer than
//! the rows.

// Loops over constant ranges index several arrays at once.
#![allow(clippy::needless_range_loop)]

use super::isa::Wide;
use super::lanes::Lanes;
use super::newton_pass::{B, H, Rows};
use super::quadratic::{FIRST, minimise};
use crate::Scalar;

/// The most registers of columns whose quadratic programs are solved together, because each operation waits
/// for the one before.
pub(crate) const GROUPS: usize = 2;

/// Columns side by side, in one or two groups of as many columns as a register has lanes. Every array holds
/// the first group, then the second.
pub(crate) struct SideBySide<'a, S> {
    pub groups: usize,
    /// Rows of the longest column. Shorter ones are padded with rows with a = 0, which do not contribute.
    pub rows: usize,
    /// Numbers of V: rows × lanes for each group.
    pub a: &'a [S],
    /// Kx, which is computed here.
    pub z: &'a mut [S],
    /// The atoms of each column on its own rows: rows × lanes for each place, places for each group.
    pub atoms: &'a [S],
    /// Places of weights. The first `held` do not move, and the blocks of B places follow.
    pub places: usize,
    pub held: usize,
    /// How many places of a block repeat the last ones of the block before: lanes for each block, blocks for
    /// each group.
    pub repeated: &'a [S],
    /// Weights and their costs: places × lanes for each group.
    pub x: &'a mut [S],
    pub c: &'a [S],
    pub ridge: S,
    /// Lower bounds of z: one for each lane.
    pub floor: &'a [S],
    pub sweeps: usize,
    /// Receives the smallest z of each column in the rows with a > 0.
    pub least: &'a mut [S],
}

impl<S: Scalar> Wide<S> for SideBySide<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes<S>>(self, token: L::Token) {
        if self.groups == 1 { self.descend::<L, 1>(token) } else { self.descend::<L, GROUPS>(token) }
    }
}

impl<S: Scalar> SideBySide<'_, S> {
    /// Makes the sweeps over the columns of `G` groups.
    #[inline(always)]
    fn descend<L: Lanes<S>, const G: usize>(mut self, token: L::Token) {
        for group in 0..G {
            self.multiply::<L>(token, group);
        }
        let zero = L::splat(token, S::ZERO);
        let (mut d, mut before) = ([[zero; G]; B], self.held);
        for _ in 0..self.sweeps {
            for first in (self.held..self.places).step_by(B) {
                self.repeat::<L, G>(token, first, |place, original| (original, place));
                let mut sums = [[zero; G]; B + H];
                for group in 0..G {
                    let change = [d[0][group], d[1][group], d[2][group], d[3][group]];
                    let floor = L::load(token, self.floor, group * L::N, L::N);
                    let rows = self.rows_of::<L>(group, before, first);
                    let new = rows.sums::<L>(token, change, floor, [zero; B + H]);
                    for e in 0..B + H {
                        sums[e][group] = new[e];
                    }
                }
                d = self.update::<L, G>(token, first, &sums);
                self.repeat::<L, G>(token, first, |place, original| (place, original));
                before = first;
            }
        }
        for group in 0..G {
            let change = [d[0][group], d[1][group], d[2][group], d[3][group]];
            let least = self.rows_of::<L>(group, before, before).least::<L>(token, change);
            least.store(self.least, group * L::N, L::N);
        }
    }

    /// Copies the weights that the block at place `first` repeats. `way` gets both places of a weight, and
    /// returns from where to where.
    #[inline(always)]
    fn repeat<L: Lanes<S>, const G: usize>(
        &mut self,
        token: L::Token,
        first: usize,
        way: impl Fn(usize, usize) -> (usize, usize),
    ) {
        let (blocks, block) = ((self.places - self.held) / B, (first - self.held) / B);
        for group in 0..G {
            let repeated = &self.repeated[(group * blocks + block) * L::N..][..L::N];
            if repeated.iter().all(|n| *n == S::ZERO) {
                continue;
            }
            let repeated = L::load(token, repeated, 0, L::N);
            for n in 1..B {
                // Positive where the block repeats n places.
                let other = repeated - L::splat(token, S::from_u32(n as u32));
                let same = L::splat(token, S::from_f64(0.5)) - other * other;
                for place in first..first + n {
                    let (from, to) = way(place, place - n);
                    let at = |place: usize| (group * self.places + place) * L::N;
                    let (from, old) =
                        (L::load(token, self.x, at(from), L::N), L::load(token, self.x, at(to), L::N));
                    from.if_positive(same, old).store(self.x, at(to), L::N);
                }
            }
        }
    }

    /// The rows of a group with the atoms of two blocks.
    #[inline(always)]
    fn rows_of<L: Lanes<S>>(&mut self, group: usize, before: usize, first: usize) -> Rows<'_, '_, S> {
        let (atoms, height, places) = (self.atoms, self.rows * L::N, self.places);
        let atom = |place: usize| &atoms[(group * places + place) * height..][..height];
        let four = |first: usize| [atom(first), atom(first + 1), atom(first + 2), atom(first + 3)];
        let (before, k) = (four(before), four(first));
        Rows { a: &self.a[group * height..][..height], z: &mut self.z[group * height..][..height], before, k }
    }

    /// z = Kx for the columns of a group.
    #[inline(always)]
    fn multiply<L: Lanes<S>>(&mut self, token: L::Token, group: usize) {
        let mut row = 0;
        while row + 4 <= self.rows {
            self.some_rows::<L, 4>(token, group, row);
            row += 4;
        }
        while row < self.rows {
            self.some_rows::<L, 1>(token, group, row);
            row += 1;
        }
    }

    /// z = Kx in `R` rows from `row` on.
    #[inline(always)]
    fn some_rows<L: Lanes<S>, const R: usize>(&mut self, token: L::Token, group: usize, row: usize) {
        let mut sums = [L::splat(token, S::ZERO); R];
        for place in 0..self.places {
            let x = L::load(token, self.x, (group * self.places + place) * L::N, L::N);
            let atom = &self.atoms[((group * self.places + place) * self.rows + row) * L::N..][..R * L::N];
            for i in 0..R {
                sums[i] = L::load(token, atom, i * L::N, L::N).mul_add(x, sums[i]);
            }
        }
        for i in 0..R {
            sums[i].store(self.z, (group * self.rows + row + i) * L::N, L::N);
        }
    }

    /// Solves the quadratic programs of the block at place `first`, and returns the changes of its weights.
    #[inline(always)]
    fn update<L: Lanes<S>, const G: usize>(
        &mut self,
        token: L::Token,
        first: usize,
        sums: &[[L; G]; B + H],
    ) -> [[L; G]; B] {
        let (zero, ridge) = (L::splat(token, S::ZERO), L::splat(token, self.ridge));
        let (mut old, mut gradient, mut h) = ([[zero; G]; B], [[zero; G]; B], [[zero; G]; H]);
        h.copy_from_slice(&sums[B..]);
        for l in 0..B {
            for group in 0..G {
                let at = (group * self.places + first + l) * L::N;
                let (x, c) = (L::load(token, self.x, at, L::N), L::load(token, self.c, at, L::N));
                old[l][group] = x;
                gradient[l][group] = ridge.mul_add(x, c) - sums[l][group];
                h[FIRST[l]][group] = h[FIRST[l]][group] + ridge;
            }
        }
        let (mut x, mut changes) = (old, old);
        minimise(token, &h, &mut x, gradient);
        for l in 0..B {
            for group in 0..G {
                let at = (group * self.places + first + l) * L::N;
                let c = L::load(token, self.c, at, L::N);
                let floor = L::load(token, self.floor, group * L::N, L::N);
                // Below the floor a weight no longer contributes to Kx and is converging to zero. The weight
                // of a zero atom does not matter and is kept.
                let small = (floor - x[l][group] * c).where_positive(c);
                let new = zero.if_positive(small, x[l][group]);
                new.store(self.x, at, L::N);
                changes[l][group] = new - old[l][group];
            }
        }
        changes
    }
}
