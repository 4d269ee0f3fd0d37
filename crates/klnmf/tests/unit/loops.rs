use super::*;

fn products_are_right<S: Scalar>(p: usize, r: usize) {
    let ld = p + 3;
    let number = |seed: usize| move |i: usize| S::from_f64(((i * 7919 + seed) % 101) as f64 / 50.0 - 0.7);
    let [k, x, t] =
        [(1, ld * r), (2, r), (3, p)].map(|(seed, n)| (0..n).map(number(seed)).collect::<Vec<S>>());
    let near = |found: S, terms: &mut dyn Iterator<Item = f64>| {
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        (found.to_f64() - sum).abs() <= (p + r) as f64 * S::EPSILON.to_f64() * size
    };
    let mut all = vec![];
    for isa in Isa::all() {
        let (mut z, mut g) = (vec![S::ONE; p], vec![S::ONE; r]);
        isa.run_wide(Multiply { k: &k, ld, x: &x, z: &mut z });
        isa.run_wide(Transposed { k: &k, ld, t: &t, g: &mut g });
        for (i, z) in z.iter().enumerate() {
            let mut terms = (0..r).map(|l| k[l * ld + i].to_f64() * x[l].to_f64());
            assert!(near(*z, &mut terms), "{} {p} {r}: z[{i}]", isa.name());
        }
        for (l, g) in g.iter().enumerate() {
            let terms = (0..p).map(|i| k[l * ld + i].to_f64() * t[i].to_f64());
            assert!(near(*g, &mut terms.chain([1.0])), "{} {p} {r}: g[{l}]", isa.name());
        }
        all.push((z, g));
    }
    // Levels with a fused multiply-add agree to the bit. The plain level may lack it.
    assert!(all[1..].windows(2).all(|pair| pair[0] == pair[1]), "{p} {r}");
}

#[test]
fn products_of_columns_are_right_on_every_level() {
    for p in [1, 2, 7, 8, 16, 31, 64, 100, 125, 128, 200] {
        for r in [1, 4, 11] {
            products_are_right::<f64>(p, r);
            products_are_right::<f32>(p, r);
        }
    }
}

/// Quotients that overflow, underflow or are subnormal, and zero models.
#[test]
fn extreme_quotients_have_right_logarithms() {
    let cases = [(5e-324, 10.0), (1e100, 1e-250), (1e-310, 1.0), (1e-310, 2e-311), (3.0, 2.0)];
    let a: Vec<f64> = cases.iter().map(|c| c.0).chain([0.0; 14]).collect();
    let z: Vec<f64> = cases.iter().map(|c| c.1).chain([0.0; 14]).collect();
    let term = |(a, z): (f64, f64)| a * (a.ln() - z.ln());
    for n in 0..cases.len() {
        let (found, want) = (log_sum(&a[n..=n], &z[n..=n], 0.0), term(cases[n]));
        assert!((found - want).abs() <= 1e-15 * (want.abs() + cases[n].0), "{found} for {want}");
    }
    let (found, want) = (log_sum(&a, &z, 0.0), cases.map(term).iter().sum::<f64>());
    assert!((found - want).abs() <= 1e-15 * want, "{found} for {want}");
    assert_eq!(log_sum(&[1.0, 1e-310], &[1.0, 0.0], 0.0), f64::INFINITY);
    let found = weighted_log(&[2.0, 1.0, 0.0], &[-3e-320, -1.0, 1.0]);
    assert!((found - 2.0 * 3e-320f64.ln()).abs() < 1e-12, "{found}");
    assert_eq!(weighted_log(&[2.0, 1.0], &[-1.0, 1.0]), f64::NEG_INFINITY);
    assert_eq!(weighted_log(&[2.0, 1.0], &[-1.0, 0.0]), f64::NEG_INFINITY);
}
