//! Files of single cells from the outside.

use crate::common::Place;
use std::io::Read;
use std::path::Path;

/// Puts a fixture of the readers into the folder.
pub fn fixture(place: &Place, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../klnmf-io/tests/fixtures/hdf5");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path.join(format!("{name}.gz"))).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    place.write(name, bytes);
}

#[test]
fn cells_are_samples_and_need_no_transposition() {
    let place = Place::new();
    fixture(&place, "csr_gzip.h5ad");
    let found = place.json("factorize csr_gzip.h5ad --rank 2 --out model.npz");
    assert_eq!(found["shape"], serde_json::json!([3, 4]));
    let model = klnmf_io::read_model::<f64>(&place.path("model.npz")).unwrap();
    assert_eq!(model.row_names.unwrap(), ["GATA1", "gêne", "CD3E"]);
    assert_eq!(model.col_names.unwrap()[3], "AAGT-1");
    let sum = |line: &str| place.json(line)["sum"].as_f64().unwrap();
    let x = sum("decompose csr_gzip.h5ad --dictionary model.npz --force");
    assert_eq!(sum("decompose csr_gzip.h5ad --layer counts --dictionary model.npz --force"), 2.0 * x);
}

#[test]
fn info_lists_layers() {
    let place = Place::new();
    fixture(&place, "csc_lzf.h5ad");
    fixture(&place, "without_x.h5ad");
    let tells = |file: &str, key: &str, value: &str| {
        let text = place.ok(&format!("info {file}"));
        let line = |line: &str| line.trim().strip_prefix(key).is_some_and(|rest| rest.trim() == value);
        assert!(text.lines().any(line), "{text}");
    };
    tells("csc_lzf.h5ad", "shape", "3 × 4");
    tells("csc_lzf.h5ad", "layers", "counts, raw");
    assert_eq!(place.json("info csc_lzf.h5ad --layer raw")["shape"], serde_json::json!([4, 4]));
    tells("without_x.h5ad", "layers", "counts");
    tells("csc_lzf.h5ad --layer raw", "shape", "4 × 4");
    // The size of the layer counts, not that of X.
    for file in ["csc_lzf.h5ad --layer raw", "without_x.h5ad --layer counts"] {
        let line = format!("factorize {file} --rank 1 --memory 1MB");
        place.fails(&line, 1, &["even with V on disk"]);
    }
    place.fails("factorize without_x.h5ad --rank 1", 1, &["no matrix X", "--layer counts"]);
    place.fails(
        "info csc_lzf.h5ad --layer x",
        1,
        &["there is no layer \"x\"", "--layer counts or --layer raw"],
    );
}

#[test]
fn cells_are_the_documents_of_topics() {
    let place = Place::new();
    fixture(&place, "csr_gzip.h5ad");
    let topics = |line: &str| {
        place.json(&format!("topics {line} -k 2 --out t --force"));
        let model = klnmf_io::read_model::<f64>(&place.path("t/model.npz")).unwrap();
        assert_eq!(model.row_names.unwrap(), ["GATA1", "gêne", "CD3E"]);
        model.h
    };
    assert!(!place.ok("topics csr_gzip.h5ad -k 2 --out t").contains("--vocabulary"));
    let x = topics("csr_gzip.h5ad");
    assert_eq!(x.cols(), 4);
    // A converted folder is a matrix like any other, documents × words unless told otherwise.
    place.ok("convert csr_gzip.h5ad");
    assert_eq!(topics("csr_gzip.klnmf --transpose"), x);
    assert_eq!(topics("csr_gzip.h5ad --layer counts").cols(), 4);
}
