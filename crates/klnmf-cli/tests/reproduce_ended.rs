//! What `reproduce` leaves when it ends early.

// Signals are for Unix only.
#![cfg(unix)]

use crate::common::Place;
use std::fs;

#[test]
fn an_interrupted_run_keeps_what_is_finished() {
    let place = Place::new();
    place.ok("reproduce synthetic-nd --tiny --out r --quiet");
    let (told, _) = interrupted(&place, "reproduce synthetic-nmf --full --out r --json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["status"], &told["experiments"]), (&"interrupted".into(), &serde_json::json!([])));
    assert!(!place.path("r/data/synthetic-nmf/manifest.json").exists());
    let page = fs::read_to_string(place.path("r/index.html")).unwrap();
    assert!(page.contains("id=\"synthetic-nd\"") && !page.contains("id=\"synthetic-nmf\""));

    // Where nothing is finished there is nothing to show.
    let (told, why) = interrupted(&place, "reproduce synthetic-nmf --full --out none");
    assert!(told.is_empty() && !place.path("none").exists(), "{told}");
    assert!(why.lines().any(|line| line.contains("no report yet")), "{why}");
    let (told, _) = interrupted(&place, "reproduce synthetic-nmf --full --out none --json");
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["status"], &told["report"]), (&"interrupted".into(), &serde_json::Value::Null));
}

/// A run that is killed while it writes leaves the state after the last finished experiment, with the report
/// that belongs to it.
#[test]
fn a_killed_run_leaves_a_whole_folder() {
    let place = Place::new();
    place.ok("reproduce synthetic-nd --tiny --out r --quiet");
    let line = "reproduce synthetic-nd topics --tiny --seed 1 --out r --quiet";
    let begun = std::time::Instant::now();
    place.ok(&line.replace("--out r", "--out new"));
    let took = begun.elapsed();
    let page = |folder: &str| fs::read(place.path(folder).join("index.html")).unwrap();
    for n in 0..12 {
        let mut child = place.command(line).spawn().unwrap();
        std::thread::sleep(took.mul_f64(f64::from(n) / 12.0));
        child.kill().unwrap();
        child.wait().unwrap();
        if place.path("r").exists() {
            let before = page("r");
            place.ok("reproduce --draw --out r --quiet");
            assert!(page("r") == before, "the page is drawn from the data beside it");
        }
    }
    let told = place.json(line);
    assert_eq!(told["experiments"].as_array().unwrap().len(), 2);
    let left = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains(".klnmf-")));
}

/// Presses Ctrl-C after a while; what went to standard output and to standard error.
fn interrupted(place: &Place, line: &str) -> (String, String) {
    use std::process::{Command, Stdio};
    let child = place.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}
