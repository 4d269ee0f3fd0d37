//! `klnmf rank`, `consensus`, `compare` and `factorize --starts`: files, JSON, workers, kills, bad data.

use crate::common::Place;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Counts with three planted parts, with names.
fn counts(place: &Place) {
    let mut text = String::from("channel");
    (0..30).for_each(|j| text += &format!(",tumour{j}"));
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    for i in 0..18 {
        text += &format!("\nc{i}");
        for j in 0..30 {
            let mean = if i / 6 == j % 3 { 60.0 } else { 4.0 } * (1.0 + (i % 6) as f64);
            let noise = (0..12).map(|_| random()).sum::<f64>() - 6.0;
            text += &format!(",{}", (mean + mean.sqrt() * noise).round().max(0.0));
        }
    }
    place.write("counts.csv", text + "\n");
}

/// The bytes of all files in a folder and its folders.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            found.extend(bytes(&entry.path()).into_iter().map(|(k, v)| (format!("{name}/{k}"), v)));
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

const RANKS: &str = "rank counts.csv --from 1 --to 5 --replicates 3";

#[test]
fn the_range_contains_the_truth_and_the_folder_is_complete() {
    let place = Place::new();
    counts(&place);
    let found = place.json(&format!("{RANKS} --out ranks"));
    let range: Vec<u64> = found["range"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(range[0] <= 3 && 3 <= range[1], "{range:?}");
    assert_eq!(found["ranks"].as_array().unwrap().len(), 5);
    let stored: Value =
        serde_json::from_slice(&std::fs::read(place.path("ranks/rank.json")).unwrap()).unwrap();
    assert_eq!(stored["range"], found["range"]);
    assert!(std::fs::read_to_string(place.path("ranks/plan.json")).unwrap().contains("\"tol\":0.01"));
    let table = std::fs::read_to_string(place.path("ranks/rank.csv")).unwrap();
    assert!(table.starts_with("rank,divergence,") && table.lines().count() == 6, "{table}");
    let page = std::fs::read_to_string(place.path("ranks/index.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("NaN"));
    // The name of SVG is no link.
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"));
    // The model of a rank has names, and other verbs read it.
    let model = &place.json("info ranks/models/r03.npz")["metadata"];
    assert_eq!(model["data_hash"], place.json("info counts.csv")["data_hash"]);
    assert_eq!(model["command"], format!("klnmf {RANKS}"));
    let text = place.ok("compare ranks/models/r02.npz ranks/models/r03.npz");
    assert_eq!(text.matches("cosine").count(), 2);
    assert_eq!(text.matches("no partner").count(), 1);
    // A second call finds all fits, and changes nothing.
    let before = bytes(&place.path("ranks"));
    place.ok(&format!("{RANKS} --out ranks --json"));
    assert_eq!(bytes(&place.path("ranks")), before);
    place.fails(&format!("{RANKS} --out ranks --folds 3"), 1, &["rank.json", "--force"]);
    assert_eq!(bytes(&place.path("ranks")), before);
    // Models of ranks that the results have no more are removed.
    place.ok("rank counts.csv --from 2 --to 4 --replicates 3 --out ranks --force");
    let models: Vec<String> = bytes(&place.path("ranks/models")).into_keys().collect();
    assert_eq!(models, ["r02.npz", "r03.npz", "r04.npz"]);
}

#[test]
fn workers_and_lost_fits_give_the_same_bytes() {
    let place = Place::new();
    counts(&place);
    let command = |out: &str, more: &str| format!("{RANKS} --bootstrap --quiet --out {out} {more}");
    place.ok(&command("one", ""));
    for worker in ["2/3", "1/3", "3/3"] {
        place.ok(&command("shared", &format!("--worker {worker}")));
    }
    assert_eq!(bytes(&place.path("one")), bytes(&place.path("shared")));
    for fit in ["r03-boot001", "r05-fold2of5", "r01-start000"] {
        std::fs::remove_file(place.path(&format!("one/fits/{fit}.npz"))).unwrap();
    }
    place.ok(&command("one", "--threads 1"));
    assert_eq!(bytes(&place.path("one")), bytes(&place.path("shared")));
    place.fails(&command("one", "--seed 5"), 1, &["other data or with other settings", "another folder"]);
    place.fails(&command("one", "--worker 4/3"), 2, &["3/8"]);
}

#[test]
fn a_killed_run_continues_to_the_same_bytes() {
    let place = Place::new();
    counts(&place);
    let line = |out: &str| format!("{RANKS} --starts 2 --threads 1 --quiet --out {out}");
    place.ok(&line("whole"));
    // Five runs, each killed eight times.
    for kill in 1..=40u64 {
        let mut child = place.command(&line("killed")).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5 + 37 * kill % 101));
        let _ = child.kill();
        let _ = child.wait();
        if kill % 8 == 0 {
            place.ok(&line("killed"));
            let mut files = bytes(&place.path("killed"));
            // A killed program may leave hidden files.
            files.retain(|name, _| !name.contains(".klnmf-"));
            assert_eq!(files, bytes(&place.path("whole")));
            std::fs::remove_dir_all(place.path("killed")).unwrap();
        }
    }
}

#[test]
fn consensus_parts_are_certified_and_compared() {
    let place = Place::new();
    counts(&place);
    let found = place.json("consensus counts.csv --rank 3 --replicates 6 --out c --density 1.5");
    assert_eq!((&found["rank"], &found["replicates"]), (&3.into(), &6.into()));
    let plan = std::fs::read_to_string(place.path("c/plan.json")).unwrap();
    assert!(plan.contains("\"tol\":0.01"), "{plan}");
    assert!(found["gap"].as_f64().unwrap() < 0.1);
    assert!(found["silhouettes"].as_array().unwrap().iter().all(|s| s.as_f64().unwrap() > 0.5));
    place.ok("factorize counts.csv --rank 3 --starts 4");
    let pairs = place.json("compare c/consensus.npz counts-r3.npz --report compare.html");
    assert!(pairs["least_cosine"].as_f64().unwrap() > 0.99, "{pairs}");
    assert!(std::fs::read_to_string(place.path("compare.html")).unwrap().contains("<rect class=\"pair\""));
    let page = std::fs::read_to_string(place.path("c/index.html")).unwrap();
    assert!(page.contains("data:image/png;base64,iVBOR"));
    // Only --force replaces results with other settings.
    let (before, other) = (bytes(&place.path("c")), "consensus counts.csv --rank 3 --replicates 6 --out c");
    place.fails(other, 1, &["consensus.json", "--force"]);
    assert_eq!(bytes(&place.path("c")), before);
    place.ok(&format!("{other} --force"));
    assert_ne!(bytes(&place.path("c")), before);
    assert_eq!(
        place.json("info c/consensus.npz")["metadata"]["data_hash"],
        place.json("info counts.csv")["data_hash"]
    );
}

#[test]
fn several_starts_are_reported() {
    let place = Place::new();
    counts(&place);
    let one = place.json("factorize counts.csv --rank 6 --out one.npz");
    let many = place.json("factorize counts.csv --rank 6 --starts 4 --out many.npz");
    assert!(many["divergence"].as_f64() <= one["divergence"].as_f64());
    assert_eq!(many["starts"].as_array().unwrap().len(), 4);
    assert!(one.get("starts").is_none());
    assert!(place.ok("factorize counts.csv --rank 2 --starts 3").contains("starts       3: seed "));
    place.fails("factorize counts.csv --init one.npz --starts 3", 1, &["--starts 3", "leave out"]);
    place.fails("factorize counts.csv --rank 3 --starts 0", 1, &["starts"]);
}

#[test]
fn what_is_not_counts_is_said() {
    let place = Place::new();
    place.write("v.csv", "0.5,1,2,3\n2,1.5,0,1\n1,1,4,2.5\n");
    let text = place.ok("rank v.csv --from 1 --to 3 --replicates 3");
    assert!(text.contains("V does not hold counts"), "{text}");
    let found = place.json("rank v.csv --from 1 --to 3 --replicates 3 --out again");
    assert_eq!((&found["by"], &found["counts"]), (&"stability".into(), &false.into()));
    place.fails("rank v.csv --bootstrap --out b", 1, &["does not hold counts"]);
    place.fails("rank v.csv --from 3 --to 2 --out b", 1, &["--from 3"]);
    place.fails("rank v.csv --from 2 --to 99 --out b", 1, &["99"]);
    place.fails("rank v.csv --precision f32 --out b", 1, &["f64"]);
}
