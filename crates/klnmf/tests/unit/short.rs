//! Short columns side by side take the steps that long ones take, whoever their neighbours are.

use super::super::active::Active;
use super::super::descent::{Lists, descend};
use super::*;
use crate::block::{ColumnData, Dictionary, DictionaryParts, Gather, Load, MOST_BLOCKS, Terms, Work};
use crate::kernel;
use crate::matrix::{Order, Sparse};
use crate::parallel::Pool;
use crate::{Mat, Scalar};

const ROWS: usize = 40;
const COLUMNS: usize = 20;
const SWEEPS: usize = 3;

fn number(i: usize, j: usize) -> f64 {
    ((i * 7919 + j * 104_729 + i * j) % 1009) as f64 / 1009.0
}

/// Columns with 1 to 20 entries, which are short at rank 10.
fn columns<S: Scalar>() -> Sparse<S> {
    let made: crate::Result<_> = Sparse::from_triplets(ROWS, COLUMNS, Order::Columns, |put| {
        let mut entries =
            (0..COLUMNS).flat_map(|j| (0..=j).map(move |i| ((3 * i + j) % ROWS, j, number(i, j))));
        entries.try_for_each(|(i, j, x)| put(i, j, S::from_f64(1.0 + (10.0 * x).floor())))
    });
    made.unwrap()
}

/// The weights after some sweeps over the columns of `of`, of which the first weights are zero and left out,
/// by the short way or the long one. The dictionary is divided by `scale`, and the weights are multiplied.
fn scaled<S: Scalar>(
    v: &Sparse<S>,
    of: Range<usize>,
    r: usize,
    held: usize,
    short: bool,
    scale: f64,
) -> Vec<S> {
    let pool = Pool::new(1).unwrap();
    let data = ColumnData::new(&pool, v.into()).unwrap();
    let parts = DictionaryParts { atoms: true, arrays: true, ..DictionaryParts::default() };
    let mut dictionary = Dictionary::<S>::new((ROWS, r), true, parts, Terms { held, ..Terms::default() });
    dictionary
        .set(&pool, &Mat::<S>::from_fn(r, ROWS, |k, i| S::from_f64((0.01 + number(k + 50, i)) / scale)));
    let weight =
        |k: usize, j: usize| if (held..j % r).contains(&k) { 0.0 } else { scale * (0.1 + number(k, j)) };
    let mut x: Vec<S> = of.clone().flat_map(|j| (0..r).map(move |k| S::from_f64(weight(k, j)))).collect();
    let mut work = Work::<S>::new(16 * 64, 1, of.len(), r, true);
    let mut active = Active::new(r, of.len());
    // No gradient, so that no zero weight grows.
    let g = vec![S::ZERO; x.len()];
    data.blocks::<S>().load(of, &dictionary, &mut Load::default(), &mut |b| {
        active.positive_or_growing(b, &x, &g);
        let rows = b.rows.unwrap();
        if short {
            return work.short.descend(b, rows, &mut active, &mut x, SWEEPS);
        }
        Gather::default().groups(b, rows, Some(&active), (MOST_BLOCKS, work.rows), &mut |blocks| {
            for one in blocks {
                let at = one.first - b.first;
                let list = active.of(at);
                let x = &mut x[at * r..][..r];
                let listed: Vec<S> = list.iter().map(|k| x[*k as usize]).collect();
                kernel::multiply(one.atoms, one.height(), &listed, &mut work.z[..one.height()]);
                let lists = Lists { active: &active, first: at, copied: true };
                descend(std::slice::from_ref(one), lists, x, &mut work, SWEEPS, |_| false);
            }
        });
    });
    x
}

/// [`scaled`] by one.
fn after<S: Scalar>(v: &Sparse<S>, of: Range<usize>, r: usize, held: usize, short: bool) -> Vec<S> {
    scaled(v, of, r, held, short, 1.0)
}

/// A curvature of 1e-35 is small in f32, but not flat.
#[test]
fn small_atoms_are_not_taken_for_flat_ones() {
    let v = columns::<f32>();
    for r in [4, 7] {
        let (plain, tiny) = (after(&v, 0..COLUMNS, r, 0, true), scaled(&v, 0..COLUMNS, r, 0, true, 1e16));
        for (plain, tiny) in plain.iter().zip(&tiny) {
            assert!((plain - 1e-16 * tiny).abs() <= 2e-3 * (1.0 + plain), "r {r}: {plain} {tiny}");
        }
    }
}

#[test]
fn short_columns_take_the_steps_of_long_ones() {
    let (v, narrow) = (columns::<f64>(), columns::<f32>());
    for r in [1, 3, 4, 5, 6, 7, 8, 10] {
        for held in [0, 2.min(r - 1)] {
            let [short, long] = [true, false].map(|short| after(&v, 0..COLUMNS, r, held, short));
            for (at, (short, long)) in short.iter().zip(&long).enumerate() {
                let place = (at / r, at % r);
                assert!(
                    (short - long).abs() <= 1e-9 * long.abs(),
                    "r {r}, held {held}: {short} {long} {place:?}"
                );
            }
            let near = after(&narrow, 0..COLUMNS, r, held, true);
            for (near, short) in near.iter().zip(&short) {
                assert!((f64::from(*near) - short).abs() <= 2e-3 * (1.0 + short), "r {r}: {near} {short}");
            }
        }
    }
}

#[test]
fn neighbours_do_not_change_a_bit() {
    fn of<S: Scalar>() {
        let v = columns::<S>();
        for r in [3, 7, 10] {
            let whole = after(&v, 0..COLUMNS, r, 0, true);
            for cut in [1, 5, 16] {
                let mut parts = after(&v, 0..cut, r, 0, true);
                parts.extend(after(&v, cut..COLUMNS, r, 0, true));
                assert!(whole == parts, "r {r}, cut at {cut}");
            }
        }
    }
    of::<f32>();
    of::<f64>();
}

#[test]
fn the_last_block_repeats_weights() {
    let mut order = Vec::new();
    for (listed, held, wanted, repeated) in [
        (3, 0, vec![0, 1, 2], 0..0),
        (4, 0, vec![0, 1, 2, 3], 0..0),
        (6, 0, vec![0, 1, 2, 3, 2, 3, 4, 5], 4..6),
        (7, 2, vec![0, 1, 2, 3, 4, 5, 3, 4, 5, 6], 6..9),
    ] {
        let list: Vec<u32> = (0..listed).collect();
        assert_eq!(place(&list, held, &mut order), repeated);
        assert_eq!(order, wanted);
    }
}
