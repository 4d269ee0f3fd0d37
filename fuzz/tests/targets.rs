//! The targets are fine on good inputs, on inputs that once were not, and on some new ones; and the loop of
//! `scripts/fuzz` notices what goes wrong.

use klnmf_fuzz::mutate::{Random, mutated};
use klnmf_fuzz::{TARGETS, outcome};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The files in `found` are named after their target.
#[test]
fn inputs_that_once_failed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().split("--").next().unwrap().to_owned();
        let target = TARGETS.iter().find(|target| target.name == name).unwrap();
        (target.run)(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0);
}

/// Seeds reach what is behind the first check: at least one of each target gives another outcome than
/// rubbish.
#[test]
fn good_inputs_and_some_damaged_ones() {
    for target in &TARGETS {
        (target.run)(b"rubbish");
        let rubbish = outcome::take();
        let seeds = (target.seeds)();
        let mut good = 0;
        for seed in &seeds {
            (target.run)(seed);
            good += usize::from(outcome::take() != rubbish);
        }
        assert!(good > 0, "{}", target.name);
        let mut random = Random(7);
        (0..200).for_each(|_| (target.run)(&mutated(&seeds, &mut random)));
    }
}

/// A panic, a hang and too much memory end the loop with the input saved.
#[test]
fn what_goes_wrong_is_noticed() {
    for (name, said) in [("bad-panic", "as it should"), ("bad-hang", "takes more than"), ("bad-memory", "")] {
        let folder = tempfile::tempdir().unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_klnmf-fuzz"))
            .args(["1", name, "--seed", "1"])
            .env("KLNMF_FUZZ_SECONDS", "0.5")
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(1), "{name}");
        assert!(String::from_utf8_lossy(&run.stdout).contains(said), "{name}: {run:?}");
        let saved: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(saved.len(), 1, "{name}: {run:?}");
    }
}
