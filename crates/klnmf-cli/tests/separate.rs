//! `klnmf separate` from the outside.

mod common;

use common::Place;
use klnmf_audio::{Sound, WavFormat, read, write_wav};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

/// Three seconds of two of the built-in instruments and their sum, on two channels of different loudness.
fn duo(place: &Place) -> [Sound; 3] {
    let parts = klnmf_audio::ensemble(2.0, 8000, 3).unwrap();
    let stereo = |sound: &Sound| {
        let quiet = sound.channels[0].iter().map(|x| 0.5 * x).collect();
        Sound::new(8000, vec![sound.channels[0].clone(), quiet]).unwrap()
    };
    let (a, b) = (stereo(&parts[2].1), stereo(&parts[3].1));
    let sum = |c: usize| a.channels[c].iter().zip(&b.channels[c]).map(|(x, y)| x + y).collect();
    let mix = Sound::new(8000, vec![sum(0), sum(1)]).unwrap();
    for (name, sound) in [("flute.wav", &a), ("bass.wav", &b), ("mix.wav", &mix)] {
        write_wav(&place.path(name), sound, WavFormat::Float32).unwrap();
    }
    [a, b, mix]
}

/// The stems that the summary names, read back.
fn stems(place: &Place, folder: &str, found: &serde_json::Value) -> Vec<Sound> {
    let files = found["files"].as_array().unwrap();
    files.iter().map(|file| read(&place.path(folder).join(file.as_str().unwrap())).unwrap()).collect()
}

/// The largest difference between the sum of the stems and the sound, relative to its peak.
fn distance(stems: &[Sound], sound: &Sound) -> f64 {
    let peak = sound.channels.iter().flatten().fold(1e-9f64, |m, x| m.max(x.abs()));
    let mut worst = 0.0f64;
    for (c, channel) in sound.channels.iter().enumerate() {
        for (i, x) in channel.iter().enumerate() {
            let sum: f64 = stems.iter().map(|stem| stem.channels[c][i]).sum();
            worst = worst.max((sum - x).abs() / peak);
        }
    }
    worst
}

#[test]
fn stems_add_up_to_the_recording() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let found = place.json("separate mix.wav --components 4 --max-iter 50");
    assert_eq!((found["mode"].as_str(), found["components"].as_u64()), (Some("blind"), Some(4)));
    let parts = stems(&place, "stems", &found);
    assert_eq!(parts.len(), 4);
    assert!(parts.iter().all(|p| (p.rate, p.len(), p.channels.len()) == (8000, mix.len(), 2)));
    assert!(distance(&parts, &read(&place.path("mix.wav")).unwrap()) < 1e-6);
    let page = fs::read_to_string(place.path("stems/index.html")).unwrap();
    assert!(page.matches("<audio").count() == 4 && page.contains("<svg"));
    let model = klnmf_io::read_model::<f64>(&place.path("stems/model.npz")).unwrap();
    assert_eq!((model.w.cols(), model.part_names.unwrap().len()), (4, 4));
    // Bundled, and on one thread: the same model.
    let found = place.json("separate mix.wav --components 4 --sources 2 --max-iter 50 --threads 1 --out two");
    assert_eq!(found["files"].as_array().unwrap().len(), 2);
    let other = klnmf_io::read_model::<f64>(&place.path("two/model.npz")).unwrap();
    assert_eq!((other.w, other.h), (model.w, model.h));
    assert!(distance(&stems(&place, "two", &found), &mix) < 1e-6);
}

#[test]
fn known_sources_are_found_and_scored() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let options = "--max-iter 40 --per-source 8 --tol 1e-3 --evaluate flute.wav,bass.wav --taps 64";
    let found = place.json(&format!(
        "separate mix.wav --train flute=flute.wav --train bass=bass.wav --save d.npz {options}"
    ));
    assert_eq!((found["mode"].as_str(), found["status"].as_str()), (Some("supervised"), Some("converged")));
    assert!(found["relative_gap"].as_f64().unwrap() <= 1e-3);
    let scores = &found["scores"];
    assert!(scores["median_si_sdr_improvement"].as_f64().unwrap() > 10.0, "{scores}");
    for stem in scores["stems"].as_array().unwrap() {
        assert!(stem["sdr"].as_f64().unwrap() > 10.0 && stem["sir"].as_f64().unwrap() > 10.0, "{scores}");
    }
    assert!(distance(&stems(&place, "stems", &found), &mix) < 1e-6);
    assert!(place.path("stems/flute.wav").is_file());
    // The kept dictionaries give the same stems.
    let again = place.json("separate mix.wav --dictionary d.npz --tol 1e-3 --out again");
    assert_eq!(again["divergence"], found["divergence"]);
    assert!(
        fs::read(place.path("again/bass.wav")).unwrap() == fs::read(place.path("stems/bass.wav")).unwrap()
    );
    place.fails("separate mix.wav --dictionary d.npz --window 40 --out x", 1, &["d.npz", "window"]);

    // One source known, the rest learned.
    let half = place.json("separate mix.wav --train flute=flute.wav --per-source 8 --components 4 --sources 1 --max-iter 60 --evaluate flute.wav,bass.wav --taps 64 --out half");
    assert_eq!(half["mode"].as_str(), Some("semi"));
    assert!(half["scores"]["median_si_sdr_improvement"].as_f64().unwrap() > 5.0, "{half}");
    assert!(distance(&stems(&place, "half", &half), &mix) < 1e-6);
}

#[test]
fn the_demo_separates_five_instruments() {
    let place = Place::new();
    let found = place.json("separate --demo --max-iter 10 --tol 1e-2 --taps 32");
    assert_eq!(found["files"].as_array().unwrap().len(), 5);
    assert!(found["scores"]["median_si_sdr_improvement"].as_f64().unwrap() >= 8.0, "{}", found["scores"]);
}

/// Nothing that is read is written over, and no stem over another.
#[test]
fn inputs_and_stems_are_kept_apart() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    fs::create_dir(place.path("col")).unwrap();
    fs::copy(place.path("mix.wav"), place.path("col/part01.wav")).unwrap();
    place.fails("separate col/part01.wav -k 2 --out col", 1, &["part01.wav", "input"]);
    let message =
        place.fails("separate mix.wav --train a=flute.wav --save mix.wav --out x", 1, &["--save mix.wav"]);
    assert!(!message.contains("--csv") && !message.contains("--out"), "{message}");
    place.fails(
        "separate mix.wav --train flute=flute.wav --train bass=bass.wav --out .",
        1,
        &["flute.wav", "input"],
    );
    let found =
        place.json("separate mix.wav --train a/b=flute.wav --train a?b=bass.wav --per-source 4 --out odd");
    assert_eq!(found["files"].as_array().unwrap().len(), 2);
    assert_ne!(found["files"][0], found["files"][1]);
    assert!(distance(&stems(&place, "odd", &found), &mix) < 1e-6);
    // No stem is hidden, nor goes anywhere else.
    let found =
        place.json("separate mix.wav --train ..=flute.wav --train .x=bass.wav --per-source 4 --out dots");
    assert_eq!(found["files"], serde_json::json!(["_..wav", "_x.wav"]));
    assert_eq!(found["sources"], serde_json::json!(["..", ".x"]));
    assert!(distance(&stems(&place, "dots", &found), &mix) < 1e-6);
    // A separation with bundled components can serve as a dictionary.
    place.json("separate mix.wav -k 8 --sources 3 --max-iter 20 --out s1");
    let again = place.json("separate mix.wav --dictionary s1/model.npz --out s2");
    assert_eq!(again["files"].as_array().unwrap().len(), 3);
    assert!(distance(&stems(&place, "s2", &again), &mix) < 1e-6);
}

#[test]
fn what_goes_wrong_is_told() {
    let place = Place::new();
    let [flute, ..] = duo(&place);
    let silent = Sound::new(8000, vec![vec![0.0; flute.len()]]).unwrap();
    write_wav(&place.path("silent.wav"), &silent, WavFormat::Int16).unwrap();
    place.fails("separate mix.wav --train s=silent.wav --out x", 1, &["--train s", "silent"]);
    place.fails("separate mix.wav -k 2 --evaluate silent.wav,bass.wav --out x", 1, &["silent"]);
    place.fails("separate mix.wav -k 2 --sources 3 --out x", 1, &["--sources 3"]);
    place.fails("separate mix.wav --train a=flute.wav -k 2 --solver fpa --out x", 1, &["fpa"]);
    // Loud stems do not fit into whole numbers, and a note says so.
    let loud = Sound::new(8000, vec![flute.channels[0].iter().map(|x| x * 20.0).collect()]).unwrap();
    write_wav(&place.path("loud.wav"), &loud, WavFormat::Float32).unwrap();
    let found = place.json("separate loud.wav -k 3 --max-iter 20 --format int16 --out loud");
    assert!(found["notes"].to_string().contains("clipped"), "{}", found["notes"]);
    // Channels that cancel leave nothing to factorise.
    let opposite = flute.channels[0].iter().map(|x| -x).collect();
    let both = Sound::new(8000, vec![flute.channels[0].clone(), opposite]).unwrap();
    write_wav(&place.path("both.wav"), &both, WavFormat::Float32).unwrap();
    let found = place.json("separate both.wav -k 2 --out both");
    assert!(found["notes"].to_string().contains("cancel"), "{}", found["notes"]);
    assert!(distance(&stems(&place, "both", &found), &both) < 1e-6);
}

#[test]
fn odd_sounds_have_stems() {
    let place = Place::new();
    let noise = |n: usize| {
        (0..n).map(|i| ((i * 7919 + i * i * 31) % 1000) as f64 / 1000.0 - 0.5).collect::<Vec<f64>>()
    };
    let click: Vec<f64> = (0..999).map(|i| if i == 500 { 0.9 } else { 0.0 }).collect();
    let cases = [
        ("noise", vec![noise(4001)], WavFormat::Int16),
        ("silence", vec![vec![0.0; 3000]], WavFormat::Int24),
        ("click", vec![click], WavFormat::Float32),
        ("one", vec![vec![0.5]], WavFormat::Int16),
        ("surround", vec![noise(2001); 6], WavFormat::Int8),
    ];
    for (name, channels, format) in cases {
        let sound = Sound::new(8000, channels).unwrap();
        write_wav(&place.path(&format!("{name}.wav")), &sound, format).unwrap();
        let found = place.json(&format!("separate {name}.wav --components 3 --max-iter 20 --out {name}"));
        let stored = read(&place.path(&format!("{name}.wav"))).unwrap();
        let parts = stems(&place, name, &found);
        assert_eq!(
            (parts.len(), parts[0].channels.len(), parts[0].len()),
            (3, stored.channels.len(), stored.len())
        );
        assert!(distance(&parts, &stored) < 1e-6, "{name}: {}", distance(&parts, &stored));
    }
}

#[test]
fn bad_sounds_get_one_line() {
    let place = Place::new();
    duo(&place);
    place.write("empty.wav", "");
    place.write("text.wav", "this is no sound");
    let whole = fs::read(place.path("mix.wav")).unwrap();
    place.write("header.wav", &whole[..30]);
    for file in ["empty.wav", "text.wav", "header.wav", "missing.wav"] {
        place.fails(&format!("separate {file} --components 2 --out x"), 1, &[file]);
    }
    // What is there of a truncated file is used, and a note says so.
    place.write("cut.wav", &whole[..whole.len() / 2]);
    let text = place.ok("separate cut.wav --components 2 --max-iter 10 --out cut");
    assert!(text.contains("note"), "{text}");
    place.fails("separate mix.wav --train flute --out x", 1, &["--train flute"]);
    place.fails("separate mix.wav --train =flute.wav --out x", 1, &["--train =flute.wav"]);
    place.fails("separate mix.wav --overlap 0.2 --components 2 --out x", 1, &["--overlap"]);
    place.fails("separate mix.wav --window 0 --components 2 --out x", 1, &["--window"]);
    place.fails("separate mix.wav --components 0 --out x", 1, &["--components 0"]);
    place.fails("separate mix.wav --components 3 --evaluate flute.wav --out x", 1, &["--evaluate"]);
    place.fails("separate --out x", 2, &["SOUND"]);
}

/// The recording is read, explained and written in blocks; the library does it in one go.
#[test]
fn blocks_make_no_difference() {
    let place = Place::new();
    duo(&place);
    place.json("separate mix.wav --train flute=flute.wav --train bass=bass.wav --per-source 6 --max-iter 20 --save d.npz");
    let dictionary = klnmf_io::read_model::<f64>(&place.path("d.npz")).unwrap();
    let long: Vec<f64> = klnmf_audio::ensemble(45.0, 8000, 5).unwrap().iter().fold(
        vec![0.0; 45 * 8000],
        |mut sum, (_, sound)| {
            sum.iter_mut().zip(&sound.channels[0]).for_each(|(sum, x)| *sum += x);
            sum
        },
    );
    let noise = |n: usize| (0..n).map(|i| ((i * 7919 + i * i * 31) % 1000) as f64 / 1000.0 - 0.5).collect();
    let quiet = |signal: &[f64]| signal.iter().map(|x| 0.3 * x).collect::<Vec<f64>>();
    let cases: [(&str, Vec<Vec<f64>>); 6] = [
        // Two blocks and a bit, and one that ends with a block.
        ("long", vec![long[..300_001].to_vec(), quiet(&long[..300_001])]),
        ("whole", vec![long[..1535 * 93].to_vec()]),
        ("short", vec![long[..50].to_vec()]),
        ("one", vec![vec![0.5]]),
        ("silence", vec![vec![0.0; 3000]; 2]),
        ("surround", vec![noise(2001); 6]),
    ];
    for (name, channels) in cases {
        let file = place.path(&format!("{name}.wav"));
        write_wav(&file, &Sound::new(8000, channels).unwrap(), WavFormat::Float32).unwrap();
        let sound = read(&file).unwrap();
        let found = place.json(&format!("separate {name}.wav --dictionary d.npz --tol 1e-2 --out {name}"));
        assert_eq!(
            (found["mode"].as_str(), found["status"].as_str()),
            (Some("supervised"), Some("converged"))
        );
        assert_eq!(found["samples"].as_u64(), Some(sound.len() as u64));
        let number = |what: &str| found[what].as_u64().unwrap() as usize;
        let stft = klnmf_audio::Stft::new(number("window"), number("hop")).unwrap();
        let v = stft.forward(&sound.mono()).power();
        let settings = klnmf::DecomposeSettings { tol: 1e-2, ..Default::default() };
        let whole = klnmf::decompose(&v, &dictionary.w, &settings).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1e-9 + b.abs());
        let sum: f64 = v.as_slice().iter().sum();
        assert!(close(found["divergence"].as_f64().unwrap(), whole.divergence()), "{name}");
        let gap = if sum > 0.0 { whole.gap() / sum } else { 0.0 };
        assert!(close(found["relative_gap"].as_f64().unwrap(), gap), "{name}: {gap}");
        let model = klnmf_io::read_model::<f64>(&place.path(name).join("model.npz")).unwrap();
        assert_eq!((model.h.rows(), model.h.cols()), (12, v.cols()));
        let most = whole.h.as_slice().iter().copied().fold(0.0, f64::max);
        let pairs = model.h.as_slice().iter().zip(whole.h.as_slice());
        assert!(pairs.fold(0.0f64, |worst, (a, b)| worst.max((a - b).abs())) <= 1e-9 * most, "{name}");
        let groups = [(0..6).collect(), (6..12).collect()];
        let sources = klnmf_audio::separate(&sound, &stft, &dictionary.w, &whole.h, &groups).unwrap();
        let parts = stems(&place, name, &found);
        for (part, source) in parts.iter().zip(&sources) {
            assert!(distance(std::slice::from_ref(part), source) < 1e-6, "{name}");
        }
        assert!(distance(&parts, &sound) < 1e-6, "{name}");
    }
}

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

/// The memory for learning is asked for before it is taken.
#[cfg(target_os = "linux")]
#[test]
fn learning_that_does_not_fit_is_refused() {
    let place = Place::new();
    duo(&place);
    // Ten minutes make terabytes of spectra if there is one for every sample.
    let long = Sound::new(8000, vec![vec![0.0; 4_800_000]]).unwrap();
    write_wav(&place.path("long.wav"), &long, WavFormat::Int8).unwrap();
    let line = "separate mix.wav --train a=long.wav --window 2000 --overlap 0.99999 --out x";
    place.fails(line, 1, &["--train", "memory"]);
}

/// A sample that is no number far into a recording ends the work, and nothing is left of it.
#[test]
fn what_goes_wrong_late_leaves_nothing() {
    let place = Place::new();
    duo(&place);
    place.json("separate mix.wav --train flute=flute.wav --per-source 4 --save d.npz --out d");
    let signal = (0..200_000).map(|i| (i % 100) as f64 / 100.0).collect();
    write_wav(&place.path("late.wav"), &Sound::new(8000, vec![signal]).unwrap(), WavFormat::Float32).unwrap();
    let mut bytes = fs::read(place.path("late.wav")).unwrap();
    let at = bytes.len() - 4 * 1000;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    place.write("late.wav", bytes);
    place.fails("separate late.wav --dictionary d.npz --out x", 1, &["late.wav", "sample 199000", "NaN"]);
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

/// Half the bits give the same model where the tolerance allows it, and a small tolerance is kept.
#[test]
fn the_precision_suffices() {
    let place = Place::new();
    duo(&place);
    let run = |options: &str| place.json(&format!("separate mix.wav -k 4 --out p {options}"));
    let divergence = |found: &serde_json::Value| found["divergence"].as_f64().unwrap();
    let [all, wide] =
        ["", "--precision f64"].map(|options| run(&format!("--tol 0 --max-iter 400 {options}")));
    assert!((divergence(&all) / divergence(&wide) - 1.0).abs() < 1e-6, "{all} {wide}");
    assert_eq!(all["iterations"].as_u64(), Some(400));
    assert!(all["relative_gap"].as_f64().unwrap() < 1e-4);
    let [coarse, fine] = ["--tol 1e-2", "--tol 1e-7 --max-iter 5000"].map(run);
    for (found, tol) in [(&coarse, 1e-2), (&fine, 1e-7)] {
        assert_eq!(found["status"].as_str(), Some("converged"), "{found}");
        assert!(found["relative_gap"].as_f64().unwrap() <= tol);
    }
    assert_eq!(run("--precision f32 --max-iter 30 --tol 0")["iterations"].as_u64(), Some(30));
}
