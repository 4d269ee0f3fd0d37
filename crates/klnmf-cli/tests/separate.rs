//! `klnmf separate` from the outside: recordings into stems.

use crate::common::Place;
use crate::common::sounds::{distance, duo, stems};
use klnmf_audio::{Sound, WavFormat, read, write_wav};
use std::fs;

#[test]
fn stems_add_up_to_the_recording() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let found = place.json("separate mix.wav --components 4 --max-iter 50 --out stems --force");
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

/// Two seconds at 8000 Hz: the axes say so.
#[test]
fn the_page_has_axes_with_units() {
    let place = Place::new();
    duo(&place);
    place.ok("separate mix.wav -k 3 --max-iter 5 --out stems --quiet");
    let page = std::fs::read_to_string(place.path("stems/index.html")).unwrap();
    assert!(page.matches(">2 s</text>").count() >= 3, "time below the image, the activations and the stems");
    assert!(page.contains(">4 kHz</text>") && page.contains(">0 kHz</text>"), "frequencies beside the image");
    assert!(!page.contains("<script") && page.contains("@media print"));
}

#[test]
fn known_sources_are_found_and_scored() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let options = "--max-iter 40 --per-source 8 --tol 1e-3 --evaluate flute.wav,bass.wav --taps 64";
    let found = place.json(&format!(
        "separate mix.wav --train flute=flute.wav --train bass=bass.wav --save d.npz {options} --out stems --force"
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

/// Every frame has a latency and a gap, the stems add up, and known spectra that adapt still separate.
#[test]
fn frames_are_separated_as_they_are_heard() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let found = place.json("separate mix.wav --components 4 --online --out stems");
    assert_eq!((found["mode"].as_str(), found["files"].as_array().unwrap().len()), (Some("online"), 4));
    assert!(distance(&stems(&place, "stems", &found), &mix) < 1e-6);
    let table = fs::read_to_string(place.path("stems/frames.csv")).unwrap();
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|number| number.parse().unwrap()).collect())
        .collect();
    assert_eq!(rows.len() as u64, found["shape"][1].as_u64().unwrap());
    assert!(rows.iter().all(|row| row[2] > 0.0 && row[4] >= 0.0 && row[5] <= 1e-2), "within the tolerance");
    let sums = [3, 4].map(|column| rows.iter().map(|row| row[column]).sum::<f64>());
    assert!((sums[0] / found["divergence"].as_f64().unwrap() - 1.0).abs() < 1e-6);
    assert!(found["latency"]["worst_ms"].as_f64() >= found["latency"]["median_ms"].as_f64());
    // On other threads the same model, without the times; the folder of such a run can be replaced.
    place.json("separate mix.wav --components 4 --online --threads 1 --out other");
    let model = |folder: &str| fs::read(place.path(folder).join("model.npz")).unwrap();
    assert!(model("stems") == model("other"));
    place.json("separate mix.wav --components 4 --online --out stems --force");
    let known = "--train flute=flute.wav --train bass=bass.wav --per-source 8";
    let found = place.json(&format!(
        "separate mix.wav {known} --online --evaluate flute.wav,bass.wav --taps 64 --out known"
    ));
    assert!(found["scores"]["median_si_sdr_improvement"].as_f64().unwrap() > 5.0, "{}", found["scores"]);
    // Silence at the beginning, or nothing else.
    let later: Vec<f64> = std::iter::repeat_n(0.0, 2000).chain(mix.channels[0].iter().copied()).collect();
    for (name, channel) in [("later.wav", later), ("silent.wav", vec![0.0; 2000])] {
        let sound = Sound::new(8000, vec![channel]).unwrap();
        write_wav(&place.path(name), &sound, WavFormat::Float32).unwrap();
        let found = place.json(&format!("separate {name} --components 3 --online --out {name}-stems"));
        assert!(distance(&stems(&place, &format!("{name}-stems"), &found), &sound) < 1e-6);
    }
    place.fails(
        &format!("separate mix.wav {known} -k 2 --online --out x"),
        1,
        &["--online", "one of the two"],
    );
    place.fails("separate mix.wav --online --forgetting 2 --out x", 1, &["--forgetting", "0 to 1"]);
}

#[test]
fn the_demo_separates_five_instruments() {
    let place = Place::new();
    let found = place.json("separate --demo --max-iter 10 --tol 1e-2 --taps 32 --out stems --force");
    assert_eq!(found["files"].as_array().unwrap().len(), 5);
    assert!(found["scores"]["median_si_sdr_improvement"].as_f64().unwrap() >= 8.0, "{}", found["scores"]);
}

/// Nothing that is read is written over, and no stem over another.
#[test]
fn inputs_and_stems_are_kept_apart() {
    let place = Place::new();
    let [_, _, mix] = duo(&place);
    let message =
        place.fails("separate mix.wav --train a=flute.wav --save mix.wav --out x", 1, &["--save mix.wav"]);
    assert!(!message.contains("--csv") && !message.contains("--out"), "{message}");
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
    place.fails("separate mix.wav --train s=silent.wav --out x", 1, &["--train", "\"s\"", "silent"]);
    place.fails("separate mix.wav -k 2 --evaluate silent.wav,bass.wav --out x", 1, &["silent"]);
    place.fails("separate mix.wav -k 2 --sources 3 --out x", 1, &["--sources 3"]);
    place.fails("separate mix.wav --train a=flute.wav -k 2 --solver admm --out x", 2, &["admm", "newton"]);
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
    place.fails("separate mix.wav --components 2 --threads 100000 --out x", 1, &["threads = 100000", "1024"]);
    place.fails("separate mix.wav --components 100000000 --out x", 1, &["--components 100000000"]);
    place.fails("separate mix.wav --train a=flute.wav --per-source 0 --out x", 1, &["--per-source 0"]);
    for taps in [0, 100_000_000] {
        let line = format!("separate mix.wav -k 2 --evaluate flute.wav,bass.wav --taps {taps} --out x");
        place.fails(&line, 1, &["--taps", "are possible"]);
    }
    place.fails("separate --out x", 2, &["SOUND"]);
}

/// The recording is read, explained and written in blocks; the library does it in one go.
#[test]
fn blocks_make_no_difference() {
    let place = Place::new();
    duo(&place);
    place.json("separate mix.wav --train flute=flute.wav --train bass=bass.wav --per-source 6 --max-iter 20 --save d.npz --out stems --force");
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

/// Learning takes all its iterations, unless a tolerance is given.
#[test]
fn learning_ends_as_asked() {
    let place = Place::new();
    duo(&place);
    let learned = |options: &str| {
        place.json(&format!(
            "separate mix.wav --train flute=flute.wav --save d.npz --force --out x {options}"
        ));
        klnmf_io::read_model::<f64>(&place.path("d.npz")).unwrap().w
    };
    let [all, counted, fewer, coarse] = ["", "--max-iter 20", "--max-iter 10", "--tol 0.5"].map(learned);
    assert_eq!(all, counted);
    assert_ne!(all, fewer);
    assert_eq!(fewer, coarse);
}

/// The number of steps for a frame is what is asked for.
#[test]
fn explaining_ends_as_asked() {
    let place = Place::new();
    duo(&place);
    place.json("separate mix.wav --train flute=flute.wav --train bass=bass.wav --save d.npz --out d");
    let explained =
        |options: &str| place.json(&format!("separate mix.wav --dictionary d.npz --force --out x {options}"));
    let found = explained("--tol 1e-9 --max-iter 3");
    assert_eq!((found["iterations"].as_u64(), found["status"].as_str()), (Some(3), Some("iteration_limit")));
    assert_eq!(explained("--tol 1e-3")["status"].as_str(), Some("converged"));
}

/// Known and learned sources do not share a name.
#[test]
fn names_are_told_apart() {
    let place = Place::new();
    duo(&place);
    let found = place.json("separate mix.wav --train part01=flute.wav -k 2 --max-iter 5 --out x");
    assert_eq!(found["sources"], serde_json::json!(["part01", "part02", "part03"]));
    assert_eq!(found["files"], serde_json::json!(["part01.wav", "part02.wav", "part03.wav"]));
}

/// Notes also list the problems of training recordings.
#[test]
fn training_that_is_cut_short_has_a_note() {
    let place = Place::new();
    duo(&place);
    let whole = fs::read(place.path("flute.wav")).unwrap();
    place.write("cut.wav", &whole[..whole.len() / 2]);
    let found = place.json("separate mix.wav --train flute=cut.wav --train bass=bass.wav --out x");
    let notes = found["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with("--train flute: only")), "{found}");
}

/// The memory for learning is asked for before it is taken.
#[cfg(target_os = "linux")]
#[test]
fn learning_that_does_not_fit_is_refused() {
    let place = Place::new();
    duo(&place);
    // Ten minutes make a terabyte of spectra if there is one for nearly every sample.
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

/// Half the bits give the same model where the tolerance allows it, and a small tolerance is kept.
#[test]
fn the_precision_suffices() {
    let place = Place::new();
    duo(&place);
    let run = |options: &str| place.json(&format!("separate mix.wav -k 4 --force --out p {options}"));
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
