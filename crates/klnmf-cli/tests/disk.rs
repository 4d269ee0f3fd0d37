//! Data larger than memory from the outside.

use crate::cells::fixture;
use crate::common::{Place, counts_csv, counts_mtx};

/// The factors of a model, as bits, and its metadata.
fn model(place: &Place, name: &str) -> (Vec<u64>, Vec<u64>, serde_json::Value) {
    let model = klnmf_io::read_model::<f64>(&place.path(name)).unwrap();
    let bits = |m: &klnmf::Mat<f64>| m.as_slice().iter().map(|x| x.to_bits()).collect();
    let mut metadata: serde_json::Value = serde_json::from_str(&model.metadata).unwrap();
    metadata.as_object_mut().unwrap().remove("command");
    (bits(&model.w), bits(&model.h), metadata)
}

/// 115 MB are too little to hold V beside the workspace, and enough to work from disk.
#[test]
fn too_little_memory_changes_nothing_but_the_place_of_v() {
    let place = Place::new();
    place.write("v.mtx", counts_mtx(600, 7000));
    place.ok("factorize v.mtx --rank 3 --max-iter 6 --threads 1 --out memory.npz");
    assert!(!place.path("v.klnmf").exists(), "it fits, so nothing is converted");
    let output = place.run("factorize v.mtx --rank 3 --max-iter 6 --threads 1 --memory 115MB --out disk.npz");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("V stays on disk, in v.klnmf"), "{told}");
    assert_eq!(model(&place, "disk.npz"), model(&place, "memory.npz"));
    // The folder is used again, and in place of the file: from disk, in memory, transposed.
    place.ok("factorize v.klnmf --rank 3 --max-iter 6 --memory 115MB --threads 1 --out folder.npz");
    assert_eq!(model(&place, "folder.npz"), model(&place, "memory.npz"));
    place.ok("factorize v.klnmf --rank 3 --max-iter 6 --out again.npz");
    assert_eq!(model(&place, "again.npz"), model(&place, "memory.npz"));
    for (memory, name) in [("", "turned.npz"), ("--memory 115MB", "disk-turned.npz")] {
        place.ok(&format!(
            "factorize v.mtx --transpose --rank 3 --max-iter 6 --threads 1 {memory} --out {name}"
        ));
    }
    assert_eq!(model(&place, "turned.npz"), model(&place, "disk-turned.npz"));
    for (memory, name) in [("", "a.npz"), ("--memory 115MB", "b.npz")] {
        place.ok(&format!("decompose v.mtx --dictionary memory.npz --threads 1 {memory} --out {name}"));
    }
    assert_eq!(model(&place, "a.npz"), model(&place, "b.npz"));
}

#[test]
fn conversion() {
    let place = Place::new();
    fixture(&place, "csr_gzip.h5ad");
    let found = place.json("convert csr_gzip.h5ad --layer counts");
    assert_eq!((found["folder"].as_str(), found["nnz"].as_u64()), (Some("csr_gzip.counts.klnmf"), Some(5)));
    assert!(place.ok("info csr_gzip.counts.klnmf").contains("packed matrix, sparse"));
    assert_eq!(place.json("info csr_gzip.counts.klnmf")["sum"].as_f64(), Some(30.0));
    place.ok("factorize csr_gzip.counts.klnmf --rank 1 --out model.npz");
    let names = klnmf_io::read_model::<f64>(&place.path("model.npz")).unwrap().row_names.unwrap();
    assert_eq!(names, ["GATA1", "gêne", "CD3E"]);
    place.write("v.csv", counts_csv(4, 5));
    place.fails("convert v.csv --out x", 1, &["ends in .klnmf"]);
    place.fails("convert v.csv --memory 4parsecs", 2, &["4GiB"]);
    place.fails(
        "convert v.csv --out csr_gzip.counts.klnmf",
        1,
        &["holds the data of", "csr_gzip.h5ad, layer counts", "remove this folder"],
    );
    place.fails("factorize v.csv --rank 2 --memory 1MB", 1, &["even with V on disk", "smaller rank"]);
}
