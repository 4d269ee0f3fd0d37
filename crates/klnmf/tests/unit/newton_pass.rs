use super::*;
use crate::kernel::Isa;

fn numbers<S: Scalar>(n: usize, seed: usize) -> Vec<S> {
    (0..n).map(|i| S::from_f64(((i * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 + 0.01)).collect()
}

/// The change of the weights of the first four atoms, and the floor.
const D: [f64; B] = [0.5, -0.0625, 0.125, 0.25];
const FLOOR: f64 = 0.125;

fn pass_of<'a, S: Scalar>(
    a: &'a [S],
    z: &'a mut [S],
    atoms: &'a [Vec<S>],
    rows: Range<usize>,
) -> Pass<'a, S> {
    Pass {
        a: &a[rows.clone()],
        z: &mut z[rows.clone()],
        before: std::array::from_fn(|l| &atoms[l][rows.clone()]),
        d: D.map(S::from_f64),
        k: std::array::from_fn(|l| &atoms[B + l][rows.clone()]),
        floor: S::from_f64(FLOOR),
        next: [&[]; 2],
    }
}

/// g, h and the new z of one column against plain loops, over several chunks and with a partial register.
fn sums_are_right<S: Scalar>(isa: Isa, p: usize, tolerance: f64) {
    let height = p.next_multiple_of(64 / size_of::<S>());
    let padded = |seed: usize, rest: S| {
        let mut all = numbers::<S>(p, seed);
        all.resize(height, rest);
        all
    };
    let (mut a, mut z) = (padded(1, S::ZERO), padded(2, S::ONE));
    a.iter_mut().skip(1).step_by(3).for_each(|a| *a = S::ZERO);
    let old = z.clone();
    let atoms: Vec<Vec<S>> = (0..2 * B).map(|l| padded(3 + l, S::ZERO)).collect();
    let mut sums = [Sums::<S>::ZERO; C];
    let column = 11;
    // Earlier sums must not matter.
    sums[column].0[5] = [S::ONE; MOST];
    for rows in chunks::<S>(height) {
        let (fresh, pass) = (rows.start == 0, &mut pass_of(&a, &mut z, &atoms, rows));
        isa.run_wide(BlockPass { pass, fresh, sums: &mut sums[column] });
    }
    let (mut want, mut least) = ([0.0; B + H], f64::INFINITY);
    for i in 0..p {
        let at = |l: usize| atoms[l][i].to_f64();
        let change: f64 = (0..B).map(|l| D[l] * at(l)).sum();
        let now = (old[i].to_f64() + change).max(FLOOR);
        assert!((z[i].to_f64() - now).abs() <= tolerance * now, "{}: z[{i}]", isa.name());
        let (t, mut e) = (a[i].to_f64() / now, B);
        for l in 0..B {
            want[l] += at(B + l) * t;
            for m in l..B {
                want[e] += at(B + l) * at(B + m) * t / now;
                e += 1;
            }
        }
        least = if a[i] > S::ZERO { least.min(now + change) } else { least };
    }
    for (e, (found, want)) in isa.run_wide(Totals(&sums)).iter().zip(want).enumerate() {
        for (c, found) in found.iter().enumerate() {
            let want = if c == column { want } else { 0.0 };
            assert!((found - want).abs() <= tolerance * want, "{} {}: sum {e}", isa.name(), S::NAME);
        }
    }
    let found = isa.run_wide(LastPass(&mut pass_of(&a, &mut z, &atoms, 0..height))).to_f64();
    assert!((found - least).abs() <= tolerance * 10.0, "{}: {found} for {least}", isa.name());
}

#[test]
fn sums_are_those_of_plain_loops() {
    for isa in Isa::all() {
        // One chunk and a partial register, and several chunks.
        for p in [1, 5, 131, 2 * CHUNK / 4 + 77] {
            sums_are_right::<f64>(isa, p, 1e-12);
            sums_are_right::<f32>(isa, p, 3e-5);
        }
    }
}
