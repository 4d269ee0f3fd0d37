//! `klnmf info` on models: where they come from.

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
