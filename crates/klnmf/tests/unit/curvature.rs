use super::*;

/// The curvature of three columns in a row of five weights, of size 1/s², and its sum by hand: entries in
/// different blocks are left out.
fn example(size: usize, scale: f64) -> (Blocks, Vec<f64>, Vec<f64>) {
    let shape = Blocks { r: 5, size };
    let (mut row, mut q) = (vec![0.0; shape.numbers()], vec![0.0; 25]);
    let columns = [
        (3.0, [1.0, 2.0, 0.0, 0.5, 1.0]),
        (1.0, [2.0, 0.0, 1.0, 1.0, 0.0]),
        (2.0, [0.5, 1.0, 2.0, 0.0, 1.5]),
        (5.0, [0.0, 0.5, 0.5, 2.0, 0.5]),
        (4.0, [1.0, 0.0, 0.5, 0.5, 2.0]),
    ];
    for (u, h) in columns {
        let u = u / (scale * scale);
        shape.add(&mut row, u, &h);
        (0..25).filter(|at| at / 5 / size == at % 5 / size).for_each(|at| q[at] += u * h[at / 5] * h[at % 5]);
    }
    (shape, row, q)
}

#[test]
fn steps_minimise_the_model_of_each_block() {
    for (size, scale) in [(5, 1.0), (2, 1.0), (3, 1.0), (5, 1e-3), (5, 1e3)] {
        let (shape, row, q) = example(size, scale);
        let old = [1.0, 2.0, 0.5, 1.5, 1.0].map(|w| w * scale);
        let (g, b) =
            ([9.0, 8.0, 1.0, 9.0, 4.0].map(|g| g / scale), [2.0, 5.0, 9.0, 1.0, 9.0].map(|b| b / scale));
        for held in [0, 3] {
            let mut w = old;
            shape.step(&row, &mut w, &g, &b, held);
            let mut want = old;
            for _ in 0..1000 {
                for k in held..5 {
                    let slope = b[k] - g[k] + (0..5).map(|l| q[5 * k + l] * (want[l] - old[l])).sum::<f64>();
                    want[k] = (want[k] - slope / q[6 * k]).max(0.1 * old[k]);
                }
            }
            let near = |k: usize| (w[k] - want[k]).abs() <= 5e-3 * want[k];
            assert!(
                (0..5).all(near) && w[..held] == old[..held],
                "{size} {scale} {held}: {w:?} for {want:?}"
            );
        }
    }
}

/// Without curvature a weight that should shrink does so as far as it may. An infinite slope moves nothing.
#[test]
fn weights_without_curvature_only_shrink() {
    let mut w = [1.0, 2.0, 3.0];
    Blocks { r: 3, size: 3 }.step(&[0.0; 6], &mut w, &[1.0, 2.0, 1.0], &[2.0, 1.0, 1.0], 0);
    assert_eq!(w, [0.1, 2.0, 3.0]);
    let mut w = [1.0];
    Blocks { r: 1, size: 1 }.step(&[1.0], &mut w, &[f64::INFINITY], &[1.0], 0);
    assert_eq!(w, [1.0]);
}

#[test]
fn blocks_are_as_large_as_memory_allows() {
    let sizes = [(1000, 10), (1 << 16, 64), (1 << 20, 64), (1 << 20, 3)];
    assert_eq!(sizes.map(|(n, r)| Blocks::of::<f64>(n, r).size), [10, 31, 4, 3]);
    assert_eq!((Blocks { r: 5, size: 2 }.numbers(), Blocks { r: 6, size: 3 }.numbers()), (7, 12));
    assert_eq!(Curvature::<f64>::new(7, 5).rows.len() as u128 * 8, Curvature::<f64>::bytes(7, 5));
}

/// With w·h = 4 the weight of v = 8 is ½. Where the model vanishes there is none.
#[test]
fn columns_weigh_less_where_the_model_is_large() {
    assert_eq!(weight(8.0, &[1.0, 2.0], &[2.0, 1.0]), 0.5);
    assert_eq!(weight(8.0, &[0.0, 2.0], &[2.0, 0.0]), 0.0);
}
