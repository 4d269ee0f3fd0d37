//! `klnmf separate` from the outside: what was in the folder before, and what is there when the work ends
//! early.

// Signals and links are for Unix only.
#![cfg(unix)]

use crate::common::Place;
use crate::common::sounds::{distance, duo, stems};
use klnmf_audio::{Sound, WavFormat, read, write_wav};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The hidden folders of runs that write to this folder.
fn hidden(place: &Place, out: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().path());
    let prefix = format!(".{out}.klnmf-");
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&prefix)).collect()
}

/// The files of a folder and their contents; none if there is no folder.
fn content(folder: &Path) -> Option<BTreeMap<String, Vec<u8>>> {
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
    };
    Some(fs::read_dir(folder).ok()?.map(|entry| file(entry.unwrap())).collect())
}

/// Fills a folder with such a content.
fn fill(folder: &Path, content: &BTreeMap<String, Vec<u8>>) {
    fs::create_dir_all(folder).unwrap();
    content.iter().for_each(|(name, bytes)| fs::write(folder.join(name), bytes).unwrap());
}

/// A line that separates the mix of `duo` into so many parts in no time.
fn quick(parts: usize, out: &str) -> String {
    format!("separate mix.wav -k {parts} --max-iter 5 --out {out}")
}

/// Two thousand seconds of noise, and a dictionary for them; what it was learned with is in the folder d.
fn long_work(place: &Place) {
    duo(place);
    place.json(
        "separate mix.wav --train flute=flute.wav --train bass=bass.wav --per-source 12 --save d.npz --out d",
    );
    let long: Vec<f64> = (0..16_000_000u64).map(|i| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5).collect();
    write_wav(&place.path("long.wav"), &Sound::new(8000, vec![long]).unwrap(), WavFormat::Int16).unwrap();
}

/// The long work on its way into a folder: its first block has been written.
fn begun(place: &Place, out: &str, options: &str) -> Child {
    let line = format!("separate long.wav --dictionary d.npz --tol 1e-6 --json --out {out} {options}");
    let mut command = place.command(&line);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let large = |folder: &PathBuf| {
        let entries = fs::read_dir(folder.join("new")).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.metadata().is_ok_and(|about| about.len() > 100_000))
    };
    while !hidden(place, out).iter().any(large) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn ctrl_c(child: &Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

/// Interrupted work saves what there is of it as a whole folder, also in the place of an earlier one.
#[test]
fn ctrl_c_keeps_the_stems_so_far() {
    let place = Place::new();
    long_work(&place);
    place.ok(&quick(5, "out"));
    let before = content(&place.path("out"));
    let child = begun(&place, "out", "--force");
    assert_eq!(content(&place.path("out")), before);
    ctrl_c(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["status"], "interrupted");
    assert!(found["notes"].to_string().contains("interrupted"), "{}", found["notes"]);
    assert!(hidden(&place, "out").is_empty());
    let names: Vec<String> = content(&place.path("out")).unwrap().into_keys().collect();
    assert_eq!(names, ["bass.wav", "flute.wav", "index.html", "model.npz", "picture.svg"]);
    let (parts, whole) = (stems(&place, "out", &found), read(&place.path("long.wav")).unwrap());
    let len = parts[0].len();
    assert!(len > 10_000 && len < whole.len() && found["samples"].as_u64() == Some(len as u64));
    let beginning = Sound::new(8000, vec![whole.channels[0][..len].to_vec()]).unwrap();
    assert!(distance(&parts, &beginning) < 1e-6);
    let model = klnmf_io::read_model::<f64>(&place.path("out/model.npz")).unwrap();
    assert_eq!(model.h.cols() as u64, found["shape"][1].as_u64().unwrap());
    let facts: serde_json::Value = serde_json::from_str(&model.metadata).unwrap();
    assert_eq!(facts["status"], "interrupted");
}

#[test]
fn ctrl_c_twice_leaves_nothing() {
    let place = Place::new();
    long_work(&place);
    let mut child = begun(&place, "out", "");
    ctrl_c(&child);
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("once more"), "{line}");
    ctrl_c(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!place.path("out").exists() && hidden(&place, "out").is_empty());
}

/// A run that is killed during the work leaves the old folder, and the next one removes its hidden folder.
#[test]
fn killed_work_leaves_the_old_folder() {
    let place = Place::new();
    long_work(&place);
    let before = content(&place.path("d"));
    let mut child = begun(&place, "d", "--force");
    // Another run leaves the folder of a living one alone, and says so.
    let found = place.json("separate mix.wav --dictionary d.npz --force --out d");
    assert!(found["notes"].to_string().contains("is left alone"), "{}", found["notes"]);
    assert_eq!(hidden(&place, "d").len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((content(&place.path("d")).map(|now| now.len()), hidden(&place, "d").len()), (Some(5), 1));
    assert!(content(&place.path("d")).unwrap()["flute.wav"] == before.unwrap()["flute.wav"]);
    let found = place.json("separate mix.wav --dictionary d.npz --force --out d");
    assert_eq!(found["notes"], serde_json::json!([]));
    assert!(hidden(&place, "d").is_empty());
}

/// Whenever a run is killed, the folder is the old one or the new one, byte by byte.
#[test]
fn a_kill_leaves_the_old_or_the_new_folder() {
    let place = Place::new();
    duo(&place);
    let line = format!("{} --force --quiet", quick(2, "out"));
    place.ok(&quick(3, "old"));
    let begun = Instant::now();
    place.ok(&line);
    let (took, both) = (begun.elapsed(), ["old", "out"].map(|name| content(&place.path(name)).unwrap()));
    let mut seen = [0, 0];
    for n in 0..24 {
        let _ = fs::remove_dir_all(place.path("out"));
        fill(&place.path("out"), &both[0]);
        let mut child = place.command(&line).spawn().unwrap();
        // Most kills are near the end, where the folder is replaced.
        std::thread::sleep(
            took.mul_f64(f64::from(n % 12) / 12.0).max(took.mul_f64(0.4 * f64::from(n) / 24.0)),
        );
        child.kill().unwrap();
        child.wait().unwrap();
        if !place.path("out").exists() {
            // Between the two moves; the next run completes them, and finds a folder that it must not
            // replace.
            assert_eq!(place.run(&quick(1, "out")).status.code(), Some(1));
        }
        let now = content(&place.path("out")).unwrap();
        let which = both.iter().position(|one| *one == now).expect("a mixture");
        seen[which] += 1;
    }
    assert!(seen[0] > 0, "{seen:?}");
    place.ok(&line);
    assert!(hidden(&place, "out").is_empty() && content(&place.path("out")).as_ref() == Some(&both[1]));
}

/// A program that was killed between the moves is helped by the next one.
#[test]
fn the_second_move_is_made_up_for() {
    let place = Place::new();
    duo(&place);
    let old = BTreeMap::from([("old.txt".to_owned(), b"old".to_vec())]);
    let new = BTreeMap::from([("new.txt".to_owned(), b"new".to_vec())]);
    let left = place.path(".out.klnmf-1-0");
    fill(&left.join("old"), &old);
    fill(&left.join("new"), &new);
    fs::write(left.join("lock"), "").unwrap();
    let output = place.run(&quick(1, "out"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not empty"));
    assert_eq!((content(&place.path("out")), hidden(&place, "out").len()), (Some(new), 0));
}

/// What may not be a leftover stays, and a note names it.
#[test]
fn only_leftovers_are_removed() {
    let place = Place::new();
    duo(&place);
    let folders = ["locked", "gone", "plain"].map(|name| place.path(&format!(".out.klnmf-{name}")));
    for folder in &folders {
        fill(&folder.join("new"), &BTreeMap::from([("flute.wav".to_owned(), b"half".to_vec())]));
    }
    folders[..2].iter().for_each(|folder| fs::write(folder.join("lock"), "").unwrap());
    let lock = fs::File::open(folders[0].join("lock")).unwrap();
    lock.lock().unwrap();
    symlink(&folders[1], place.path(".out.klnmf-link")).unwrap();
    fill(&place.path(".other.klnmf-1-0"), &BTreeMap::from([("lock".to_owned(), Vec::new())]));
    let found = place.json(&quick(1, "out"));
    let notes = found["notes"].to_string();
    for (name, stays) in [("locked", true), ("gone", false), ("plain", true), ("link", true)] {
        let name = format!(".out.klnmf-{name}");
        assert_eq!(fs::symlink_metadata(place.path(&name)).is_ok(), stays, "{name}");
        assert_eq!(notes.contains(&name), stays, "{notes}");
    }
    assert!(place.path(".other.klnmf-1-0").exists());
}

/// The name of something in the folder, and how it gets there.
type Stranger = (&'static str, fn(&Path));

/// A folder that is not empty is replaced only with --force, and only if all of it is a run's.
#[test]
fn folders_of_others_are_not_replaced() {
    let place = Place::new();
    duo(&place);
    let (line, forced) = (quick(2, "out"), format!("{} --force", quick(2, "out")));
    fs::create_dir(place.path("out")).unwrap();
    place.ok(&line);
    place.fails(&line, 1, &["out", "not empty", "--force"]);
    place.ok(&format!("{} --force", quick(3, "out")));
    place.ok(&forced);
    let results = content(&place.path("out")).unwrap();
    assert_eq!(results.len(), 5);

    // A file, a folder, a link, and a folder in the place of a stem.
    let strangers: [Stranger; 4] = [
        ("part03.wav", |path| fs::write(path, "mine").unwrap()),
        ("mine", |path| fs::create_dir(path).unwrap()),
        ("link", |path| symlink("part01.wav", path).unwrap()),
        ("part02.wav", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    for (name, put) in strangers {
        put(&place.path("out").join(name));
        let before = content(&place.path("out"));
        place.fails(&forced, 1, &["--force", name]);
        assert_eq!(content(&place.path("out")), before);
        fs::remove_dir_all(place.path("out")).unwrap();
        fill(&place.path("out"), &results);
    }
    // Without a model, nothing shows that the sounds are a run's.
    fs::remove_file(place.path("out/model.npz")).unwrap();
    place.fails(&forced, 1, &["--force", "did not write"]);
}

/// Neither inputs nor links nor the current folder are replaced.
#[test]
fn places_that_are_not_replaced() {
    let place = Place::new();
    duo(&place);
    place.ok(&quick(2, "out"));
    place.fails("separate out/part01.wav -k 1 --force --out out", 1, &["out/part01.wav"]);
    place.fails(
        "separate mix.wav --train a=flute.wav --save out/d.npz --force --out out",
        1,
        &["out/d.npz", "--save"],
    );
    symlink("out", place.path("link")).unwrap();
    symlink("nowhere", place.path("lost")).unwrap();
    for link in ["link", "lost"] {
        place.fails(&format!("{} --force", quick(1, link)), 1, &[link, "link"]);
    }
    place.fails(&quick(1, "mix.wav"), 1, &["mix.wav", "it is a file"]);
    place.fails(&quick(1, "."), 1, &["--out .", "name of a folder"]);
    let inside = format!("separate ../mix.wav -k 1 --force --out {}", place.path("out").display());
    let output = place.command(&inside).current_dir(place.path("out")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("the current folder"), "{output:?}");
    // The permissions of an empty folder are kept.
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir(place.path("mine")).unwrap();
    fs::set_permissions(place.path("mine"), fs::Permissions::from_mode(0o700)).unwrap();
    place.ok(&quick(1, "mine"));
    assert_eq!(fs::metadata(place.path("mine")).unwrap().permissions().mode() & 0o777, 0o700);
}

/// Results are not lost because something has come into their place.
#[test]
fn results_without_a_place_are_kept() {
    let place = Place::new();
    long_work(&place);
    let child = begun(&place, "out", "");
    let mine = BTreeMap::from([("mine.txt".to_owned(), b"mine".to_vec())]);
    fill(&place.path("out"), &mine);
    ctrl_c(&child);
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    let kept = hidden(&place, "out").pop().unwrap();
    let name = kept.file_name().unwrap().to_string_lossy();
    assert!(message.contains("not empty") && message.contains(&format!("{name}/new")), "{message}");
    let kept = kept.join("new");
    assert!(read(&kept.join("bass.wav")).unwrap().len() > 10_000);
    assert_eq!(content(&place.path("out")), Some(mine));
    // Later runs leave them alone.
    fs::remove_dir_all(place.path("out")).unwrap();
    place.ok(&quick(1, "out"));
    assert!(kept.join("index.html").is_file());
}

/// Files are open only while they are written to, so a hundred stems need no hundred descriptors.
#[test]
fn many_stems_need_few_descriptors() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let run = |options: &str| {
        let line = format!("ulimit -n 40 && exec {} separate mix.wav {options}", env!("CARGO_BIN_EXE_klnmf"));
        let output = Command::new("sh").current_dir(place.path("")).args(["-c", &line]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let read_all = |folder: &str| -> Vec<Sound> {
        let files = (1..=100).map(|n| place.path(folder).join(format!("part{n:02}.wav")));
        files.map(|file| read(&file).unwrap()).collect()
    };
    run("-k 100 --max-iter 2 --threads 2 --out blind");
    assert!(distance(&read_all("blind"), &mix) < 1e-5);
    run("--dictionary blind/model.npz --threads 2 --out known");
    assert!(distance(&read_all("known"), &mix) < 1e-5);
}
