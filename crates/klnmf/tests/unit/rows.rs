use super::*;
use crate::kernel::{Given, Keep, LogSums};

/// Columns with the given numbers of entries: every level agrees with sums in f64.
fn passes_are_right<S: Scalar>(r: usize, lengths: &[usize]) {
    let (n, number) = (37, |i: usize| ((i * 7919 + 13) % 101) as f64 / 50.0 + 0.02);
    let mut ptr = vec![5];
    lengths.iter().for_each(|length| ptr.push(ptr[ptr.len() - 1] + length));
    let (q, entries) = (lengths.len(), ptr[lengths.len()] - 5);
    let idx: Vec<u32> = (0..entries).map(|e| ((e * 11 + 3) % n) as u32).collect();
    let a: Vec<S> = (0..entries).map(|e| S::from_f64((e % 4) as f64)).collect();
    let x: Vec<S> = (0..r * q).map(|i| S::from_f64(number(i))).collect();
    for isa in Isa::all() {
        let stride = r.next_multiple_of(isa.vector_bytes().min(Isa::NARROW) / size_of::<S>());
        let weight = |i: usize| if i % stride < r { number(i + 7) } else { 0.0 };
        let k: Vec<S> = (0..n * stride).map(|i| S::from_f64(weight(i))).collect();
        // Safety: idx < n.
        let rows = unsafe { SparseRows::new(&ptr, &idx, &k, stride) };
        let (mut g, mut z) = (vec![S::ONE; r * q], vec![S::ZERO; entries]);
        let keep = Keep { z: &mut z, p: 0, height: 0 };
        let mut map = (keep, LogSums::new(&a, &a, q));
        isa.run_narrow(RowPass { rows, x: &x, r, g: &mut g, map: &mut map });
        let logs: Vec<f64> = (0..q).map(|c| map.1.sum(c)).collect();
        let mut given = vec![S::ONE; r * q];
        let map = &mut Given { t: &a };
        isa.run_narrow(RowPass { rows, x: &x, r, g: &mut given, map });
        let near = |found: S, want: f64| {
            (found.to_f64() - want).abs() <= 300.0 * S::EPSILON.to_f64() * (want.abs() + 1.0)
        };
        for c in 0..q {
            let (mut want_g, mut want_given, mut want_logs) = (vec![0.0; r], vec![0.0; r], 0.0);
            for e in ptr[c] - 5..ptr[c + 1] - 5 {
                let row = &k[idx[e] as usize * stride..][..r];
                let want_z: f64 = row.iter().zip(&x[c * r..]).map(|(k, x)| k.to_f64() * x.to_f64()).sum();
                assert!(near(z[e], want_z), "{} {r} {c}: z", isa.name());
                let value = a[e].to_f64();
                want_logs += if value > 0.0 { value * (value / want_z).ln() } else { 0.0 };
                for l in 0..r {
                    want_g[l] += row[l].to_f64() * value / want_z;
                    want_given[l] += row[l].to_f64() * value;
                }
            }
            assert!(near(S::from_f64(logs[c]), want_logs), "{} {r} {c}: logarithms", isa.name());
            for l in 0..r {
                assert!(near(g[c * r + l], want_g[l]), "{} {r} {c}: g", isa.name());
                assert!(near(given[c * r + l], want_given[l]), "{} {r} {c}: Kᵀt", isa.name());
            }
        }
    }
}

#[test]
fn passes_over_sparse_columns_are_right_on_every_level() {
    for r in [1, 2, 4, 5, 8, 9, 16, 17, 31, 33, 64, 70] {
        passes_are_right::<f64>(r, &[1, 0, 7, 8, 30]);
        passes_are_right::<f32>(r, &[16, 3, 17, 0, 5]);
    }
}
