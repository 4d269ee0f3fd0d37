//! `reproduce` from the outside.

use crate::common::Place;
use klnmf::{DecomposeSettings, Mat, Settings, Solver, Update, decompose, factorize_from, init};
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

/// One line of traces.csv, without the seconds.
type Row = (usize, f64, f64, f64);

fn rows(file: &Path, problem: &str, method: &str) -> Vec<Row> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("problem,method,iteration,seconds,divergence,gap_w,gap_h,dual\n"));
    let cells = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let number = |text: &str| text.parse::<f64>().unwrap();
    cells
        .filter(|cells| cells[0] == problem && cells[1] == method)
        .map(|cells| (cells[2].parse().unwrap(), number(cells[4]), number(cells[5]), number(cells[6])))
        .collect()
}

/// The paper's data, written down once more: SplitMix64, 53 bits, times 750, column by column.
fn uniform(n: usize, m: usize, seed: u64) -> Mat<f64> {
    let mut state = seed;
    Mat::from_fn(n, m, |_, _| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        750.0 * ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    })
}

fn direct(v: &Mat<f64>, w: &Mat<f64>, h: &Mat<f64>, settings: &Settings) -> Vec<Row> {
    let mut seen = Vec::new();
    factorize_from(v, w.clone(), h.clone(), settings, |info| {
        seen.push((info.iteration, info.divergence, info.gap_w, info.gap_h));
        ControlFlow::Continue(())
    })
    .unwrap();
    seen
}

/// What is in the file is what the library said, digit for digit; some points in between may be left out.
fn same(file: &[Row], library: &[Row]) {
    assert!(file.iter().all(|row| library.contains(row)), "{file:?} and {library:?}");
    assert_eq!((file.first(), file.last()), (library.first(), library.last()));
    assert!(2 * file.len() >= library.len());
}

fn run_of(solver: Solver, accesses: usize) -> Settings {
    Settings { solver, max_iter: accesses, tol: 0.0, check_every: Some(1), ..Settings::default() }
}

#[test]
fn the_numbers_are_those_of_the_library() {
    let place = Place::new();
    place.ok("reproduce synthetic-nmf synthetic-nd --tiny --seed 3 --quiet");
    let folder = place.path("report/data");

    let (v, seed) = (uniform(20, 40, 3), Settings { seed: 3, ..Settings::default() });
    let (w, h) = init(&v, 4, &seed).unwrap();
    let file = folder.join("synthetic-nmf/traces.csv");
    let cases = [
        ("MUA", run_of(Solver::MuAuthors, 40)),
        ("ADMM", Settings { rho: Some(1.0), ..run_of(Solver::AdmmAuthors, 40) }),
        ("FPA", Settings { inner: Some(5), ..run_of(Solver::FpaAuthors, 40) }),
        ("auto (ours)", run_of(Solver::Auto, 40)),
        ("fpa (ours)", run_of(Solver::Fpa, 40)),
    ];
    for (method, settings) in &cases {
        same(&rows(&file, "NMF", method), &direct(&v, &w, &h, settings));
    }

    // The convex problem: W* of 200 updates, scaled to the sums of the start's W, and H from its start.
    let (w, h) = init(&v, 3, &seed).unwrap();
    let found = factorize_from(&v, w.clone(), h.clone(), &run_of(Solver::MuAuthors, 200), |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let (wanted, sums) = (w.col_sums(), found.w.col_sums());
    let w_star = Mat::from_fn(20, 3, |i, k| found.w[(i, k)] * (wanted[k] / sums[k]));
    let file = folder.join("synthetic-nd/traces.csv");
    let settings = Settings { update: Update::H, inner: Some(1), ..run_of(Solver::FpaAuthors, 60) };
    same(&rows(&file, "H given W*", "FPA"), &direct(&v, &w_star, &h, &settings));
    let h_star = Mat::from_fn(3, 40, |k, j| found.h[(k, j)] * (sums[k] / wanted[k]));
    let settings = Settings { update: Update::W, inner: Some(1), ..run_of(Solver::MuAuthors, 60) };
    same(&rows(&file, "W given H*", "MUA"), &direct(&v, &w, &h_star, &settings));
    let manifest: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("synthetic-nd/manifest.json")).unwrap())
            .unwrap();
    let optimum =
        decompose(&v, &w_star, &DecomposeSettings { tol: 1e-13, ..DecomposeSettings::default() }).unwrap();
    assert_eq!(manifest["facts"]["optimum of H given W*"].as_f64(), Some(optimum.divergence()));
    assert_eq!(manifest["settings"]["seed"], 3);
    assert_eq!(manifest["settings"]["size"], "tiny");
}

#[test]
fn a_finished_experiment_is_kept_and_drawn_from_its_data() {
    let place = Place::new();
    let line = "reproduce synthetic-nd --tiny --out r";
    let first = place.json(line);
    assert_eq!(first["experiments"][0]["measured"], true);
    let page = fs::read_to_string(place.path("r/index.html")).unwrap();
    let figure = fs::read(place.path("r/figures/figure-01-synthetic-nd-distance.svg")).unwrap();
    fs::remove_dir_all(place.path("r/figures")).unwrap();
    place.ok("reproduce --draw --out r --quiet");
    assert!(fs::read(place.path("r/figures/figure-01-synthetic-nd-distance.svg")).unwrap() == figure);
    let again = place.json(line);
    assert_eq!(again["experiments"][0]["measured"], false);
    assert_eq!(again["experiments"][0]["claims"], first["experiments"][0]["claims"]);
    assert!(first["experiments"][0]["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(again["experiments"][0]["seconds"], first["experiments"][0]["seconds"]);
    assert!(fs::read_to_string(place.path("r/index.html")).unwrap() == page, "the same page");
    assert!(
        fs::read(place.path("r/figures/figure-01-synthetic-nd-distance.svg")).unwrap() == figure,
        "the same figure"
    );

    let front = fs::read_to_string(place.path("r/README.md")).unwrap();

    // What is said is computed from the data: with another end of MUA it is another.
    let file = place.path("r/data/synthetic-nd/traces.csv");
    let text = fs::read_to_string(&file).unwrap();
    let best = text.lines().rfind(|line| line.starts_with("H given W*,FPA,")).unwrap();
    let forged: Vec<String> = text
        .lines()
        .map(|line| if line.contains(",MUA,60,") { best.replace("FPA", "MUA") } else { line.to_owned() })
        .collect();
    fs::write(&file, forged.join("\n") + "\n").unwrap();
    sign(&place.path("r/data/synthetic-nd"), "traces.csv");
    let other = place.json(line);
    assert_eq!(other["experiments"][0]["measured"], false);
    assert_ne!(fs::read_to_string(place.path("r/index.html")).unwrap(), page);
    assert_ne!(fs::read_to_string(place.path("r/README.md")).unwrap(), front);
    // This is not the paper's size, so there is no verdict.
    let claims = &first["experiments"][0]["claims"];
    assert_eq!((&claims["not_run"], &claims["agrees"]), (&6.into(), &0.into()));
    assert!(unwrapped(&front).contains("not run at this size") && !front.contains("## Claims that hold"));

    assert_eq!(place.json(&format!("{line} --force"))["experiments"][0]["measured"], true);
    // Seconds differ from run to run, and with them the verdicts on time; nothing else does.
    let without_seconds = |text: &str| -> Vec<String> {
        let keep = |line: &str| {
            line.split(',').enumerate().filter(|(n, _)| *n != 3).map(|(_, x)| x.to_owned() + ",").collect()
        };
        text.lines().map(keep).collect()
    };
    assert_eq!(without_seconds(&fs::read_to_string(&file).unwrap()), without_seconds(&text));
    let seeded = place.run(&format!("{line} --seed 1"));
    let told = String::from_utf8(seeded.stderr).unwrap();
    assert!(told.contains("other settings") && told.contains("measured in"), "{told}");
}

/// A page without its line breaks.
fn unwrapped(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Gives a table that was changed the sum of what it holds now.
fn sign(folder: &Path, name: &str) {
    let sum = crc32fast::hash(&fs::read(folder.join(name)).unwrap());
    let path = folder.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["files"][name]["crc32"] = format!("{sum:08x}").into();
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn damaged_data_are_measured_anew() {
    let place = Place::new();
    let line = "reproduce synthetic-nmf --tiny --out r";
    let folder = place.path("r/data/synthetic-nmf");
    let resume = |line: &str| {
        let output = place.run(line);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    resume(line);
    assert!(resume(line).contains("kept"), "what is whole is kept");
    let text = fs::read_to_string(folder.join("rho.csv")).unwrap();
    let cut: Vec<&str> = text.lines().take(3).collect();
    let cases: [(&str, Option<String>, &str); 5] = [
        ("rho.csv", Some(cut.join("\n") + "\n"), "rho.csv has 2 rows instead of 5"),
        ("rho.csv", Some(text.trim_end().to_owned()), "rho.csv has 4 rows instead of 5"),
        ("rho.csv", Some(text.replacen("0.01", "0.02", 1)), "rho.csv was changed"),
        ("traces.csv", None, "traces.csv is missing"),
        ("manifest.json", Some("{\"settings\": 1".into()), "measured in"),
    ];
    for (name, content, expected) in cases {
        match content {
            Some(content) => fs::write(folder.join(name), content).unwrap(),
            None => fs::remove_file(folder.join(name)).unwrap(),
        }
        let told = resume(line);
        assert!(told.contains(expected) && told.contains("measured in"), "{told}");
        assert_eq!(fs::read_to_string(folder.join("rho.csv")).unwrap(), text, "the same numbers");
        assert!(resume(line).contains("kept"));
    }
    // Another experiment does not mend it, and does not show it.
    fs::remove_file(folder.join("traces.csv")).unwrap();
    let told = resume("reproduce topics --tiny --out r");
    assert!(
        told.contains("synthetic-nmf: traces.csv is missing") && told.contains("leaves it out"),
        "{told}"
    );
    let page = fs::read_to_string(place.path("r/index.html")).unwrap();
    assert!(page.contains("id=\"topics\"") && !page.contains("id=\"synthetic-nmf\""));
}

#[test]
fn the_page_shows_every_experiment_claim_and_figure() {
    let place = Place::new();
    let told = place.json("reproduce all --tiny --out r");
    let names = ["synthetic-nd", "synthetic-nmf", "warm-restart", "faces", "music", "topics"];
    let run: Vec<&str> =
        told["experiments"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(run, names);
    let page = fs::read_to_string(place.path("r/index.html")).unwrap();
    let counts = |key: &str| -> u64 {
        told["experiments"].as_array().unwrap().iter().map(|e| e["claims"][key].as_u64().unwrap()).sum()
    };
    let all: u64 = ["agrees", "partly", "disagrees", "undecided", "not_run"].map(counts).iter().sum();
    assert!(all >= 40 && page.contains(&format!("{all} claims: ")), "{all}");
    // Nothing is judged at this size, nor on generated images, sounds and counts.
    assert_eq!(counts("not_run"), all);
    let front = fs::read_to_string(place.path("r/README.md")).unwrap();
    for why in ["at this size", "on faces", "on a recording", "on real counts"] {
        assert!(unwrapped(&front).contains(&format!("not run {why}")), "{why}");
    }
    assert!(front.contains("| music | MUA | 80 min |") && !front.contains("NaN"), "{front}");
    for name in names {
        assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
    }
    // Every link within the page leads somewhere, and nothing is fetched.
    for target in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }
    // Every place has a name of its own.
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    for fetched in ["src=\"", "@import", "url(", "<link", "<script"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    assert!(!page.contains("NaN") && page.contains("Swimmer") && page.contains("synthetic piece"));
    let mut figures = 0;
    for entry in fs::read_dir(place.path("r/figures")).unwrap() {
        let path = entry.unwrap().path();
        let svg = fs::read_to_string(&path).unwrap();
        balanced(&svg, &path);
        assert!(!svg.contains("NaN") && svg.contains("aria-label"), "{}", path.display());
        figures += 1;
    }
    assert!(figures >= 20, "{figures}");
    // The figures have the paper's numbers, all sixteen of them.
    for number in 1..=16 {
        assert!(page.contains(&format!("<b>Figure {number}.</b>")), "{number}");
    }
    for file in [
        "synthetic-nmf/starts.csv",
        "warm-restart/restart.csv",
        "faces/parts.csv",
        "music/spectrogram.csv",
        "music/waves.csv",
        "topics/found.csv",
        "faces/rho.csv",
    ] {
        assert!(place.path("r/data").join(file).is_file(), "{file}");
    }
    every_column_is_described(&place.path("r/data"));
}

/// Every column of every table stands in README.md under the name of its file; numbers in names do not count.
fn every_column_is_described(data: &Path) {
    let words = fs::read_to_string(data.join("README.md")).unwrap();
    let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut tables = 0;
    for folder in fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if !name.ends_with(".csv") {
                continue;
            }
            tables += 1;
            let table = words.split("\n## ").find(|part| part.starts_with(&name)).expect(&name);
            let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
            let described: Vec<String> = rows
                .map(|(name, rest)| if rest.starts_with(" …") { stem(name) } else { name.to_owned() })
                .collect();
            let text = fs::read_to_string(&path).unwrap();
            for column in text.lines().next().unwrap().split(',') {
                let known = described.contains(&column.to_owned()) || described.contains(&stem(column));
                assert!(known, "{name}: {column}");
            }
        }
    }
    assert!(tables >= 12, "{tables}");
}

/// Every tag is closed, in its order.
fn balanced(svg: &str, path: &Path) {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("{}: a stray <", path.display()));
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{}", path.display());
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{}: {open:?}", path.display());
}

#[test]
fn given_images_and_recordings_are_used() {
    let place = Place::new();
    fs::create_dir(place.path("faces")).unwrap();
    for image in 0..12 {
        let pixels: Vec<String> = (0..16).map(|p| ((p * 7 + image * 13) % 23 * 10).to_string()).collect();
        let text = format!("P2 4 4 255\n{}\n", pixels.join(" "));
        fs::write(place.path(&format!("faces/{image:02}.pgm")), text).unwrap();
    }
    place.ok("reproduce faces --tiny --faces faces --quiet");
    let page = fs::read_to_string(place.path("report/index.html")).unwrap();
    assert!(page.contains("The images are those of faces.") && !page.contains("Swimmer"));
    assert!(page.contains("V is 16 × 12") && page.contains("All 12 images are used."));
    // The images themselves are somebody's and not stored; what was learned from them is.
    let parts = fs::read_to_string(place.path("report/data/faces/parts.csv")).unwrap();
    assert!(!parts.contains("data,") && parts.contains("\nFPA,1,"), "{parts}");
    assert!(page.contains("Samples of the images are not stored"));
    // Another image is another experiment.
    fs::write(place.path("faces/03.pgm"), "P2 4 4 255\n1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7\n").unwrap();
    assert_eq!(place.json("reproduce faces --tiny --faces faces")["experiments"][0]["measured"], true);

    let sound =
        klnmf_audio::Sound::new(8000, vec![(0..12000).map(|i| (f64::from(i) * 0.3).sin() * 0.4).collect()]);
    klnmf_audio::write_wav(&place.path("tone.wav"), &sound.unwrap(), klnmf_audio::WavFormat::Int16).unwrap();
    place.ok("reproduce music --tiny --music tone.wav --out m --quiet");
    let page = fs::read_to_string(place.path("m/index.html")).unwrap();
    assert!(
        page.contains("The recording is tone.wav.")
            && page.contains("only its first 1.0 of 1.5 s are used, at 11025 Hz")
    );

    let counts: String = (0..50).map(|d| format!("{},{},1,{}\n", d % 4, 3 - d % 4, d % 7)).collect();
    place.write("counts.csv", counts);
    place.ok("reproduce topics --tiny --counts counts.csv --out t --quiet");
    let page = fs::read_to_string(place.path("t/index.html")).unwrap();
    assert!(page.contains("only some of the 50 documents of counts.csv: 4 words, 25 documents"), "{page}");
    assert!(page.contains("not run at this size") && !page.contains("not run on real counts"));
}

#[test]
fn mistakes_get_one_clear_line() {
    let place = Place::new();
    place.write("file", "not a folder");
    place.write("notes.wav", "no sound");
    place.write("six.csv", "1,2\n3,4\n5,6\n7,8\n9,1\n2,3\n");
    place.write("negative.csv", "1,2\n3,-4\n5,6\n7,8\n");
    fs::create_dir(place.path("mixed")).unwrap();
    fs::create_dir(place.path("none")).unwrap();
    place.write("mixed/a.pgm", "P2 2 2 255 1 2 3 4");
    place.write("mixed/b.pgm", "P2 2 1 255 1 2");
    place.fails("reproduce nothing", 2, &["synthetic-nd", "warm-restart"]);
    place.fails("reproduce --quick --full", 2, &["--full"]);
    place.fails("reproduce --column-major", 2, &["--faces"]);
    place.fails("reproduce topics --tiny --out file", 1, &["it is a file"]);
    place.fails("reproduce topics --tiny --faces six.csv", 1, &["--faces", "faces"]);
    place.fails("reproduce topics --tiny --music notes.wav", 1, &["--music", "music"]);
    place.fails("reproduce faces --tiny --counts six.csv", 1, &["--counts", "topics"]);
    place.fails("reproduce topics --tiny --counts negative.csv", 1, &["negative.csv", "-4"]);
    place.fails("reproduce topics --tiny --counts absent.npz", 1, &["absent.npz"]);
    place.fails("reproduce faces --tiny --faces absent.npy", 1, &["absent.npy"]);
    place.fails("reproduce faces --tiny --faces six.csv", 1, &["six.csv", "6 rows", "square"]);
    place.fails("reproduce faces --tiny --faces negative.csv", 1, &["negative.csv", "-4"]);
    place.fails("reproduce faces --tiny --faces none", 1, &["none", ".pgm"]);
    place.fails("reproduce faces --tiny --faces mixed", 1, &["b.pgm", "2 × 1", "same size"]);
    place.fails("reproduce music --tiny --music notes.wav", 1, &["notes.wav"]);
    place.fails("reproduce music --tiny --music absent.wav", 1, &["absent.wav"]);
}
