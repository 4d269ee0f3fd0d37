//! `decompose`, `info` and `demo` from the outside.

use crate::common::{Place, counts_csv};
use klnmf_io::read_model;

#[test]
fn decompose_certifies_every_column() {
    let place = Place::new();
    place.write("v.csv", counts_csv(10, 15));
    place.ok("factorize v.csv --rank 3 --max-iter 50 --out model.npz --force");
    let found = place.json("decompose v.csv --dictionary model.npz --tol 1e-8 --out weights.npz --force");
    assert_eq!((found["status"].as_str(), found["unconverged"].as_u64()), (Some("converged"), Some(0)));
    let v = klnmf_io::read::<f64>(&place.path("v.csv")).unwrap();
    let model = read_model::<f64>(&place.path("weights.npz")).unwrap();
    let check = klnmf::certificate(v.matrix.view(), &model.w, &model.h, 0).unwrap();
    let divergence = found["divergence"].as_f64().unwrap();
    assert!((check.divergence - divergence).abs() <= 1e-12 * divergence);
    let sum = v.matrix.view().sum();
    assert_eq!(found["sum"].as_f64(), Some(sum));
    assert!(found["relative_gap"].as_f64().unwrap() <= 1e-8);
    assert_eq!(found["relative_gap"].as_f64(), found["gap"].as_f64().map(|gap| gap / sum));
    assert_eq!(found["command"], "klnmf decompose v.csv --dictionary model.npz --tol 1e-8");
    // It has one method, which has no name.
    assert!(["solver", "seed", "gap_w"].iter().all(|key| found.get(key).is_none()), "{found}");
    let summary = klnmf_io::peek(&place.path("weights.npz")).unwrap();
    for name in ["divergence", "gap", "iterations", "converged"] {
        assert!(summary.arrays.iter().any(|a| a.name == name && a.shape == [15]), "{name}");
    }
}

#[test]
fn dictionaries_are_matched_by_name() {
    let place = Place::new();
    place.write("v.csv", ",a,b\nx,1,2\ny,3,4\nz,5,6\n");
    place.write("w.csv", ",SBS1,SBS2\nx,1,0\ny,2,1\nz,3,5\n");
    place.write("turned.csv", ",SBS1,SBS2\nz,3,5\nx,1,0\ny,2,1\n");
    let straight =
        place.json("decompose v.csv --dictionary w.csv --csv h.csv --out weights.npz --force")["divergence"]
            .clone();
    assert_eq!(
        place.json("decompose v.csv --dictionary turned.csv --out turned.npz")["divergence"],
        straight
    );
    assert!(std::fs::read_to_string(place.path("h.csv")).unwrap().contains("\n\"SBS2\","));
    assert_eq!(read_model::<f64>(&place.path("weights.npz")).unwrap().part_names.unwrap(), ["SBS1", "SBS2"]);
    place.write("other.csv", ",SBS1\nx,1\ny,2\nq,3\n");
    place.fails("decompose v.csv --dictionary other.csv", 1, &["\"z\"", "other.csv"]);
}

#[test]
fn simplex_weights_sum_to_one_and_are_optimal() {
    let place = Place::new();
    place.write("v.csv", counts_csv(10, 15));
    place.write("w.csv", "3,1\n1,0\n2,2\n1,5\n1,1\n0,2\n4,1\n1,1\n2,7\n1,0\n");
    place.ok("decompose v.csv --dictionary w.csv --simplex --tol 1e-9 --csv h.csv --out weights.npz --force");
    let model = read_model::<f64>(&place.path("weights.npz")).unwrap();
    assert!(model.h.col_sums().iter().all(|s| (s - 1.0).abs() < 1e-9));
    assert!(model.w.col_sums().iter().all(|s| (s - 1.0).abs() < 1e-9));
    // No other point of the simplex has a higher likelihood.
    let v = klnmf_io::read_dense::<f64>(&place.path("v.csv")).unwrap();
    let likelihood = |j: usize, x: f64| -> f64 {
        let mixed = |i: usize| model.w[(i, 0)] * x + model.w[(i, 1)] * (1.0 - x);
        (0..10).filter(|&i| v[(i, j)] > 0.0).map(|i| v[(i, j)] * mixed(i).ln()).sum()
    };
    for j in 0..15 {
        let found = likelihood(j, model.h[(0, j)]);
        assert!((0..=1000).all(|step| likelihood(j, f64::from(step) / 1000.0) <= found + 1e-6), "column {j}");
    }
}

#[test]
fn info_states_the_memory_formula() {
    let place = Place::new();
    place.write("v.csv", counts_csv(10, 15));
    let text = place.ok("info v.csv --rank 4");
    assert!(text.contains("10 × 15") && text.contains("2·V + 12·(W + H) + workspace"), "{text}");
    let facts = place.json("info v.csv --rank 4");
    let v = klnmf_io::read::<f64>(&place.path("v.csv")).unwrap();
    let threads = std::thread::available_parallelism().unwrap().get();
    let memory = klnmf::memory(v.matrix.view(), 4, threads);
    assert_eq!((memory.v, memory.factors), (10 * 15 * 8, 25 * 4 * 8));
    assert_eq!(facts["memory"].as_f64(), Some(memory.total() as f64));
    place.write("bad.csv", "1,-2\n0,0\n");
    let text = place.ok("info bad.csv");
    assert!(text.contains("1 rows, 0 columns") && text.contains("no: V[0, 1] = -2"), "{text}");
    place.ok("factorize v.csv --rank 2 --out model.npz --force");
    let text = place.ok("info model.npz");
    assert!(text.contains("klnmf model") && text.contains("klnmf factorize v.csv --rank 2"), "{text}");
}

#[test]
fn info_is_aligned_with_six_digits() {
    let place = Place::new();
    place.write("v.csv", "0.1,0.2,1234567.891\n1,1,1\n0,0,1e-9\n");
    place.ok("factorize v.csv --rank 2 --csv names --max-iter 5 --out model.npz --force");
    for file in ["v.csv", "model.npz", "names_W.csv"] {
        let text = place.ok(&format!("info {file}"));
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let value = |line: &&str| {
            let key = line.trim_start();
            let indent = line.len() - key.len();
            assert_eq!(indent, 2, "{text}");
            let end = indent + key.find("  ").unwrap();
            end + line[end..].len() - line[end..].trim_start().len()
        };
        let columns: Vec<usize> = lines.iter().map(value).collect();
        assert!(columns.iter().all(|column| *column == columns[0]), "{text}");
    }
    let text = place.ok("info v.csv");
    assert!(text.contains("1.23457e6\n") && text.contains("7 (77.7778 %)\n"), "{text}");
}

#[test]
fn the_demo_runs_commands_that_can_be_typed() {
    let place = Place::new();
    let facts = place.json("demo");
    assert_eq!(facts["signatures"]["found"], 5, "{facts}");
    assert!(facts["largest_relative_gap"].as_f64().unwrap() <= 1e-6, "{facts}");
    assert_eq!(facts["swimmers"]["warm_restart"], 17, "{facts}");
    assert!(facts["swimmers"]["auto"].as_u64().unwrap() < 17, "{facts}");
    let page = std::fs::read_to_string(place.path("klnmf-demo/index.html")).unwrap().replace("&#x2f;", "/");
    assert!(page.contains("17 of 17 are the true ones") && !page.contains("{{"));
    let names = ["model", "weights", "auto", "mean", "parts"].map(|name| format!("klnmf-demo/{name}.npz"));
    let models = || names.each_ref().map(|name| std::fs::read(place.path(name)).unwrap());
    let before = models();
    for command in facts["commands"].as_array().unwrap() {
        let line = command["command"].as_str().unwrap();
        assert!(page.contains(line), "{line}");
        place.ok(&format!("{} --force", line.strip_prefix("klnmf ").unwrap()));
    }
    assert!(before == models(), "a command that is typed gives the same bytes");
    let page = place.path("klnmf-demo/index.html");
    std::fs::write(&page, "mine").unwrap();
    assert!(String::from_utf8(place.run("demo").stderr).unwrap().contains("use --force"));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    let text = place.ok("demo --out elsewhere");
    assert!(text.contains("$ klnmf factorize elsewhere/catalogue.csv") && text.contains("5 of 5"), "{text}");
}
