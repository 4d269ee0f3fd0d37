//! `klnmf info`: where models come from, and the memory of a run.

use crate::common::{Place, counts_csv, counts_mtx};
use klnmf_io::{Model, read_model};

#[test]
fn a_model_tells_how_it_was_made() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.ok("factorize v.csv --rank 3 --seed 7 --out model.npz");
    place.ok("decompose v.csv --dictionary model.npz --out weights.npz");
    let hash = place.json("info v.csv")["data_hash"].as_str().unwrap().to_owned();
    for file in ["model.npz", "weights.npz"] {
        let facts = &place.json(&format!("info {file}"))["metadata"];
        assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(facts["instruction_level"], klnmf::instruction_level().unwrap());
        assert_eq!(facts["data_hash"], hash.as_str());
    }
    let text = place.ok("info model.npz");
    for line in ["seed", "version", "instruction_level", "data_hash", "command"] {
        assert!(text.lines().any(|told| told.trim_start().starts_with(line)), "{line}: {text}");
    }
}

#[test]
fn the_hash_does_not_depend_on_the_file_format() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.write("v.mtx", counts_mtx(12, 20));
    let hash = |file: &str| place.json(&format!("info {file}"))["data_hash"].clone();
    assert_eq!(hash("v.csv"), hash("v.mtx"));
    place.write("other.csv", counts_csv(12, 21));
    assert_ne!(hash("v.csv"), hash("other.csv"));
}

#[test]
fn a_model_without_metadata_is_shown() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 8));
    place.ok("factorize v.csv --rank 2 --out model.npz");
    let model = read_model::<f64>(&place.path("model.npz")).unwrap();
    let bare = Model { metadata: String::new(), ..model };
    klnmf_io::write_model(&place.path("bare.npz"), &bare).unwrap();
    assert!(place.ok("info bare.npz").contains("klnmf model"));
}

#[test]
fn a_checkpoint_tells_what_it_is() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.ok("factorize v.csv --rank 3 --solver mu --tol 0 --max-iter 30 --checkpoint c.npz --out m.npz");
    let found = place.json("info c.npz");
    assert_eq!((&found["kind"], &found["shape"]), (&"klnmf checkpoint".into(), &serde_json::json!([12, 20])));
    let state = &found["metadata"];
    assert_eq!(
        (&state["solver"], &state["iterations"], &state["rank"]),
        (&"mu".into(), &30.into(), &3.into())
    );
    let hash = place.json("info v.csv")["data_hash"].as_str().unwrap().to_owned();
    assert_eq!(state["data"], format!("{hash} dense f64"));
    let text = place.ok("info c.npz");
    assert!(text.contains("klnmf checkpoint") && text.contains("--resume"), "{text}");
}

/// The curvature of 20 000 rows takes 204 MB.
#[test]
fn the_memory_of_a_stream_is_larger() {
    let place = Place::new();
    let (rows, cols) = (20_000, 100);
    let lines: String = (0..rows).map(|i| format!("{} {} {}\n", i + 1, i % cols + 1, i % 3 + 1)).collect();
    place.write(
        "v.mtx",
        format!("%%MatrixMarket matrix coordinate integer general\n{rows} {cols} {rows}\n{lines}"),
    );
    let bound = |solver: &str| {
        let line = format!("info v.mtx --rank 50 --threads 2 --solver {solver}");
        place.json(&line)["memory"].as_f64().unwrap()
    };
    let (auto, stream) = (bound("auto"), bound("stream"));
    assert!(stream > auto + 2e8 && stream < auto + 2.2e8, "{auto} {stream}");
    let refused = format!("factorize v.mtx --rank 50 --threads 2 --solver stream --memory {auto}");
    place.fails(&refused, 1, &["even with V on disk"]);
}
