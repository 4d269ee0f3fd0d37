//! `klnmf separate` from the outside: what was in the folder before, and what is there when the work ends early.

// Signals are sent on Unix only.
#![cfg_attr(not(unix), allow(unused_imports, dead_code))]

mod common;

use common::Place;
use common::sounds::{distance, duo, stems};
use klnmf_audio::{Sound, WavFormat, read, write_wav};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// Hidden files in a folder.
fn hidden(folder: &Path) -> Vec<fs::DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).collect()
}

/// Two thousand seconds of noise, and a dictionary for them; what the dictionary was learned with is in the folder d.
#[cfg(unix)]
fn long_work(place: &Place) {
    duo(place);
    place.json(
        "separate mix.wav --train flute=flute.wav --train bass=bass.wav --per-source 12 --save d.npz --out d",
    );
    let long: Vec<f64> = (0..16_000_000u64).map(|i| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5).collect();
    write_wav(&place.path("long.wav"), &Sound::new(8000, vec![long]).unwrap(), WavFormat::Int16).unwrap();
}

/// The long work on its way into a folder: its first block has been written.
#[cfg(unix)]
fn begun(place: &Place, out: &str) -> Child {
    begun_with(place, out, "")
}

#[cfg(unix)]
fn begun_with(place: &Place, out: &str, options: &str) -> Child {
    let line = format!("separate long.wav --dictionary d.npz --tol 1e-6 --json --out {out} {options}");
    let mut command = place.command(&line);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let large = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|about| about.len() > 100_000);
    while !hidden(&place.path(out)).iter().any(large) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

#[cfg(unix)]
fn ctrl_c(child: &Child) {
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

/// What an interrupted run says.
#[cfg(unix)]
fn interrupted(child: Child) -> serde_json::Value {
    ctrl_c(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["status"], "interrupted");
    assert!(found["notes"].to_string().contains("interrupted"), "{}", found["notes"]);
    found
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_stems_so_far() {
    let place = Place::new();
    long_work(&place);
    // The folder has the stems of an interrupted run, which are more.
    place.json("separate mix.wav -k 5 --max-iter 5 --out out");
    let mut model = klnmf_io::read_model::<f64>(&place.path("out/model.npz")).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&model.metadata).unwrap();
    facts["status"] = "interrupted".into();
    model.metadata = facts.to_string();
    klnmf_io::write_model(&place.path("out/model.npz"), &model).unwrap();
    let child = begun(&place, "out");
    // Files do not have their names yet.
    assert!(!place.path("out/flute.wav").exists());
    let found = interrupted(child);
    assert!(hidden(&place.path("out")).is_empty());
    // What the new model does not list is gone, and is in nobody's way.
    assert!((1..=5).all(|n| !place.path(&format!("out/part0{n}.wav")).exists()));
    let (parts, whole) = (stems(&place, "out", &found), read(&place.path("long.wav")).unwrap());
    let len = parts[0].len();
    assert!(len > 10_000 && len < whole.len() && found["samples"].as_u64() == Some(len as u64));
    let beginning = Sound::new(8000, vec![whole.channels[0][..len].to_vec()]).unwrap();
    assert!(distance(&parts, &beginning) < 1e-6);
    let model = klnmf_io::read_model::<f64>(&place.path("out/model.npz")).unwrap();
    assert_eq!(model.h.cols() as u64, found["shape"][1].as_u64().unwrap());
    // They are no whole results: those of the next run take their place.
    place.json("separate mix.wav --dictionary d.npz --out out");
    assert_eq!(read(&place.path("out/flute.wav")).unwrap().len(), 16_000);
    place.json("separate mix.wav -k 5 --max-iter 5 --out out");
}

/// Whole results of an earlier run stay, and what there is of the new ones is beside them.
#[cfg(unix)]
#[test]
fn ctrl_c_takes_nothing_away() {
    let place = Place::new();
    long_work(&place);
    let names = ["flute.wav", "bass.wav", "model.npz", "picture.svg", "index.html"];
    let content = || names.map(|name| fs::read(place.path("d").join(name)).unwrap());
    let before = content();
    for folder in ["d/interrupted", "d/interrupted-2"] {
        let found = interrupted(begun(&place, "d"));
        assert!(content() == before && hidden(&place.path("d")).is_empty());
        assert_eq!(found["folder"], folder);
        assert!(found["notes"].to_string().contains(folder), "{}", found["notes"]);
        assert!(names.iter().all(|name| place.path(folder).join(name).is_file()));
        let parts = stems(&place, folder, &found);
        assert_eq!(parts[0].len() as u64, found["samples"].as_u64().unwrap());
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_twice_leaves_nothing() {
    let place = Place::new();
    long_work(&place);
    let mut child = begun(&place, "out");
    ctrl_c(&child);
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("once more"), "{line}");
    ctrl_c(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!place.path("out").exists());
}

/// Results that are complete are not lost because something has come into their place.
#[cfg(unix)]
#[test]
fn what_has_no_place_is_kept() {
    let place = Place::new();
    long_work(&place);
    // What is noticed in time keeps all results together; else those that come first have their names.
    for (out, options, together) in [("noticed", "", true), ("forced", "--force", false)] {
        let child = begun_with(&place, out, options);
        fs::create_dir(place.path(out).join("bass.wav")).unwrap();
        ctrl_c(&child);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("bass.wav") && message.contains(&format!("{out}/kept")), "{message}");
        assert!(hidden(&place.path(out)).is_empty() && place.path(out).join("bass.wav").is_dir());
        for (name, early) in
            [("flute.wav", true), ("model.npz", true), ("bass.wav", false), ("index.html", false)]
        {
            let aside = together || !early;
            assert_eq!(place.path(out).join("kept").join(name).is_file(), aside, "{out} {name}");
            assert_eq!(place.path(out).join(name).is_file(), !aside, "{out} {name}");
        }
        assert!(read(&place.path(out).join("kept/bass.wav")).unwrap().len() > 10_000);
    }
}

/// What runs that were killed have left is removed by the next.
#[cfg(target_os = "linux")]
#[test]
fn abandoned_files_are_removed() {
    let place = Place::new();
    duo(&place);
    fs::create_dir(place.path("out")).unwrap();
    // No process has this number.
    let gone =
        ["part01.wav", "flute.wav", "model.npz", "H"].map(|name| format!("out/.{name}.4294967294.tmp"));
    let stays = [format!("out/.part01.wav.{}.tmp", std::process::id()), "out/.mine.4294967294.tmp".into()];
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(4000);
    for name in gone.iter().chain(&stays) {
        let path = place.write(name, "half");
        fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    // This may be a run's in another container, which has its own numbers.
    let recent = place.write("out/.part02.wav.4294967294.tmp", "half");
    place.json("separate mix.wav -k 2 --max-iter 5 --out out");
    assert!(recent.exists() && gone.iter().all(|name| !place.path(name).exists()));
    assert!(stays.iter().all(|name| place.path(name).exists()));
}

/// Files are open only while they are written to, so a hundred stems need no hundred descriptors.
#[cfg(unix)]
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

/// Only what an earlier run has written is replaced, unless more is asked for.
#[test]
fn files_of_others_are_not_replaced() {
    let place = Place::new();
    duo(&place);
    let line = "separate mix.wav -k 2 --max-iter 5 --out out";
    fs::create_dir(place.path("out")).unwrap();
    for name in ["index.html", "picture.svg", "part02.wav", "model.npz"] {
        let path = place.write(&format!("out/{name}"), "mine");
        place.fails(line, 1, &[name, "--out", "--force"]);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1);
        fs::remove_file(path).unwrap();
    }
    // Its own files are replaced, but not if they have been changed.
    place.ok(line);
    place.ok(line);
    // One byte of the same length is enough.
    let mut page = fs::read(place.path("out/index.html")).unwrap();
    *page.last_mut().unwrap() ^= 1;
    for (name, content) in [("index.html", page.as_slice()), ("part01.wav", b"mine")] {
        let path = place.write(&format!("out/{name}"), content);
        place.fails(line, 1, &[name, "--out", "--force"]);
        assert_eq!(fs::read(path).unwrap(), content);
        place.ok(&format!("{line} --force"));
        place.ok(line);
    }
    assert_eq!(read(&place.path("out/part01.wav")).unwrap().len(), 16_000);
}

/// Neither the length nor the age of a file makes it one that a run has written.
#[test]
fn a_file_that_was_moved_there_stays() {
    let place = Place::new();
    duo(&place);
    let run = |parts: usize| format!("separate mix.wav -k {parts} --max-iter 5 --out out");
    place.ok(&run(2));
    let keeper = vec![7; fs::read(place.path("out/part02.wav")).unwrap().len()];
    place.write("keeper.wav", &keeper);
    let old = fs::metadata(place.path("mix.wav")).unwrap().modified().unwrap();
    fs::File::options().write(true).open(place.path("keeper.wav")).unwrap().set_modified(old).unwrap();
    fs::rename(place.path("keeper.wav"), place.path("out/part02.wav")).unwrap();
    place.fails(&run(2), 1, &["part02.wav", "--force"]);
    // Nor is it removed as a stem that is left over.
    place.ok(&run(1));
    assert_eq!(fs::read(place.path("out/part02.wav")).unwrap(), keeper);
}

/// A model is no earlier run's if nothing of what it lists is there as it was.
#[test]
fn a_model_alone_is_not_replaced() {
    let place = Place::new();
    duo(&place);
    let run = |out: &str| format!("separate mix.wav -k 2 --max-iter 5 --out {out}");
    place.ok(&run("one"));
    fs::create_dir(place.path("two")).unwrap();
    fs::copy(place.path("one/model.npz"), place.path("two/model.npz")).unwrap();
    place.fails(&run("two"), 1, &["model.npz", "--force"]);
    assert_eq!(fs::read_dir(place.path("two")).unwrap().count(), 1);
    place.ok(&format!("{} --force", run("two")));
    place.ok(&run("two"));
}

#[test]
fn stems_of_an_earlier_run_do_not_stay() {
    let place = Place::new();
    duo(&place);
    let there = |name: &str| place.path("out").join(name).exists();
    place.json("separate mix.wav -k 6 --max-iter 10 --out out");
    // What the user has put there, has changed or is using stays; so does what no model names.
    place.write("out/notes.txt", "mine");
    fs::copy(place.path("mix.wav"), place.path("out/part07.wav")).unwrap();
    let mut same_length = fs::read(place.path("out/part05.wav")).unwrap();
    *same_length.last_mut().unwrap() ^= 1;
    place.write("out/part05.wav", same_length);
    place.json("separate out/part06.wav -k 3 --max-iter 10 --out out");
    assert!((1..=3).all(|n| there(&format!("part0{n}.wav"))) && !there("part04.wav"));
    assert!(["notes.txt", "part05.wav", "part06.wav", "part07.wav"].iter().all(|name| there(name)));
    // Only the last run's are known: what it left alone stays for good.
    place.json("separate mix.wav -k 2 --max-iter 10 --out out");
    assert!(there("part02.wav") && !there("part03.wav") && there("part06.wav"));
    // A run that fails removes nothing.
    place.write("text.wav", "this is no sound");
    assert_eq!(place.run("separate text.wav -k 1 --out out").status.code(), Some(1));
    assert!(there("part02.wav"));
}
