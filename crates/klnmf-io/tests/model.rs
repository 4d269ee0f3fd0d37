//! The model file.

use crate::common::*;
use klnmf::Mat;
use klnmf_io::{Model, Spool, peek, read, read_metadata, read_model, write_model, write_spooled_model};
use std::fs;
use std::io::Read;

fn model() -> Model<f64> {
    Model {
        w: Mat::from_fn(3, 2, |i, j| (i + 10 * j) as f64 + 0.25),
        h: Mat::from_fn(2, 4, |i, j| 1.0 / (1 + i + j) as f64),
        metadata: "{\"rank\": 2, \"note\": \"é\"}".into(),
        row_names: Some(["a", "", "gêne 🎵"].map(String::from).to_vec()),
        col_names: None,
        part_names: None,
        columns: vec![("gap".into(), vec![0.5, 0.0, 2.0, 1e-9])],
    }
}

fn facts(metadata: &str) -> serde_json::Value {
    serde_json::from_str(metadata).unwrap()
}

#[test]
fn a_model_says_where_it_comes_from() {
    let file = temporary("model.npz", b"");
    write_model(&file.path, &model()).unwrap();
    let found = facts(&read_metadata(&file.path).unwrap());
    assert_eq!((&found["rank"], &found["note"]), (&2.into(), &"é".into()));
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(found["instruction_level"], klnmf::instruction_level().unwrap());
    // A model that was computed elsewhere keeps its level.
    let elsewhere =
        Model { metadata: r#"{"instruction_level": "plain", "version": "0.0.1"}"#.into(), ..model() };
    write_model(&file.path, &elsewhere).unwrap();
    let found = facts(&read_metadata(&file.path).unwrap());
    assert_eq!(found["instruction_level"], "plain");
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn later_versions_are_refused() {
    let now: Vec<u64> = env!("CARGO_PKG_VERSION").split('.').map(|n| n.parse().unwrap()).collect();
    let later = [[now[0] + 1, 0, 0], [now[0], now[1] + 10, 0], [now[0], now[1], now[2] + 1]];
    for [major, minor, patch] in later {
        let theirs = format!("{major}.{minor}.{patch}");
        let file = temporary("model.npz", b"");
        model_of_version(&file.path, &theirs);
        let text = format!(
            "model.npz: klnmf {theirs} wrote this model and this is klnmf {}: install klnmf {theirs} or \
             newer to read it",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(message(read_model::<f64>(&file.path)), text);
        assert_eq!(message(read_metadata(&file.path)), text);
    }
    for theirs in ["0.0.99", env!("CARGO_PKG_VERSION"), "unknown"] {
        let file = temporary("model.npz", b"");
        model_of_version(&file.path, theirs);
        assert!(read_model::<f64>(&file.path).is_ok(), "{theirs}");
    }
}

/// A model that claims to be written by another version, whose number has as many letters as needed.
fn model_of_version(path: &std::path::Path, version: &str) {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let mut array = |name: &str, header: String, bytes: Vec<u8>| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        let header = format!("{header:<117}\n");
        zip.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
        zip.write_all(header.as_bytes()).unwrap();
        zip.write_all(&bytes).unwrap();
    };
    let header = |descr: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
    };
    for name in ["W.npy", "H.npy"] {
        array(name, header("<f8", "(1, 1)"), 1f64.to_le_bytes().to_vec());
    }
    let text = format!("{{\"version\": \"{version}\"}}");
    let letters = text.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    array("metadata.npy", header(&format!("<U{}", text.len()), "()"), letters);
    zip.finish().unwrap();
}

#[test]
fn round_trip() {
    let file = temporary("model.npz", b"");
    let model = model();
    write_model(&file.path, &model).unwrap();
    let found = read_model::<f64>(&file.path).unwrap();
    assert_eq!(found, Model { metadata: found.metadata.clone(), ..model.clone() });
    assert_eq!(read_metadata(&file.path).unwrap(), found.metadata);
    let single = Model {
        w: model.w.cast::<f32>(),
        h: model.h.cast(),
        metadata: String::new(),
        row_names: None,
        col_names: Some(["p", "q", "r", "s"].map(String::from).to_vec()),
        part_names: None,
        columns: Vec::new(),
    };
    write_model(&file.path, &single).unwrap();
    assert_eq!(read_model::<f32>(&file.path).unwrap(), single);
}

/// Numpy pads every name to the longest, which would be 80 GB here.
#[test]
fn one_long_name_does_not_pad_all_others() {
    let file = temporary("model.npz", b"");
    let mut names: Vec<String> = (0..20_000).map(|n| format!("gene {n}\n\"")).collect();
    names[7] = "ACGTé".repeat(200_000);
    names[8].clear();
    let model = Model { w: Mat::zeros(20_000, 2), row_names: Some(names), ..model() };
    write_model(&file.path, &model).unwrap();
    assert!(fs::metadata(&file.path).unwrap().len() < 2_000_000);
    assert_eq!(read_model::<f64>(&file.path).unwrap().row_names, model.row_names);
}

#[test]
fn same_model_same_bytes() {
    let (one, two) = (temporary("one.npz", b""), temporary("two.npz", b""));
    write_model(&one.path, &model()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    write_model(&two.path, &model()).unwrap();
    assert_eq!(fs::read(&one.path).unwrap(), fs::read(&two.path).unwrap());
    let mut zip = zip::ZipArchive::new(fs::File::open(&one.path).unwrap()).unwrap();
    for i in 0..zip.len() {
        assert_eq!(zip.by_index(i).unwrap().last_modified().unwrap().year(), 1980);
    }
    let mut w = Vec::new();
    zip.by_name("W.npy").unwrap().read_to_end(&mut w).unwrap();
    assert!(
        String::from_utf8_lossy(&w).contains("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }")
    );
    let mut metadata = Vec::new();
    zip.by_name("metadata.npy").unwrap().read_to_end(&mut metadata).unwrap();
    assert!(String::from_utf8_lossy(&metadata).contains("'shape': (), }"));
}

#[test]
fn a_model_is_no_data() {
    let file = temporary("model.npz", b"");
    write_model(&file.path, &model()).unwrap();
    assert_eq!(
        message(read::<f64>(&file.path)),
        "model.npz: this is a klnmf model (W and H), but a data matrix is needed: give the file of V"
    );
    let summary = peek(&file.path).unwrap();
    assert_eq!(
        (summary.kind.as_str(), summary.shape, summary.stored),
        ("klnmf model", Some((3, 4)), Some(14))
    );
    assert!(summary.row_names && !summary.col_names);
    assert_eq!(summary.arrays.len(), 5);
}

#[test]
fn refusals() {
    assert_eq!(
        message(read_model::<f64>(&fixture("one.npz"))),
        "one.npz: this is not a klnmf model: it has no array W"
    );
    let file = temporary("model.npz", b"old");
    let wrong = Model { h: Mat::zeros(3, 4), ..model() };
    assert_eq!(
        message(write_model(&file.path, &wrong)),
        "model.npz: W is 3 × 2 and H is 3 × 4: W needs as many columns as H has rows"
    );
    let wrong = Model { col_names: Some(vec!["x".into()]), ..model() };
    assert_eq!(message(write_model(&file.path, &wrong)), "model.npz: 1 column names where 4 are needed");
    assert_eq!(fs::read(&file.path).unwrap(), b"old");
}

#[test]
fn cut_short() {
    let file = temporary("model.npz", b"");
    write_model(&file.path, &model()).unwrap();
    let good = fs::read(&file.path).unwrap();
    for length in 0..good.len() {
        fs::write(&file.path, &good[..length]).unwrap();
        message(read_model::<f64>(&file.path));
    }
}

#[test]
fn weights_put_aside_give_the_same_bytes() {
    let (one, two) = (temporary("one.npz", b""), temporary("two.npz", b""));
    let whole = model();
    write_model(&one.path, &whole).unwrap();
    let mut spool = Spool::beside(&two.folder.path().join("H"), 2).unwrap();
    let piece = |from: usize, cols: usize| Mat::from_fn(2, cols, |i, j| whole.h[(i, from + j)]);
    [(0, 1), (1, 3)].into_iter().for_each(|(from, cols)| spool.push(&piece(from, cols)).unwrap());
    let aside = Model { h: Mat::zeros(2, 0), ..model() };
    write_spooled_model(&two.path, &aside, &mut spool).unwrap();
    assert_eq!(fs::read(&one.path).unwrap(), fs::read(&two.path).unwrap());
    assert!(message(write_spooled_model(&two.path, &whole, &mut spool)).contains("rows"));
    drop(spool);
    assert_eq!(fs::read_dir(two.folder.path()).unwrap().count(), 1);
}
