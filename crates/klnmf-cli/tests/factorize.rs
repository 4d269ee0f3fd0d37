//! `klnmf factorize` from the outside: files in, files out, the contracts that other tools rely on.

use crate::common::{Place, counts_csv, counts_mtx, golden};
use klnmf_io::read_model;

#[test]
fn one_command_gives_a_model_with_gaps() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    let text = place.ok("factorize v.csv --rank 3 --out model.npz --force");
    assert!(
        text.contains("left         changing one factor could lower the divergence by at most 0."),
        "{text}"
    );
    assert!(text.contains("gaps         changing W alone") && text.contains("model.npz"), "{text}");
    let model = read_model::<f64>(&place.path("model.npz")).unwrap();
    assert_eq!((model.w.rows(), model.w.cols(), model.h.cols()), (12, 3, 20));
    assert_eq!(model.row_names.unwrap()[11], "feature11");
    assert_eq!(model.col_names.unwrap()[19], "sample19");
    assert!(model.w.col_sums().iter().all(|s| (s - 1.0).abs() < 1e-12));
}

#[test]
fn json_has_the_promised_keys_and_true_numbers() {
    let place = Place::new();
    place.write("v.mtx", counts_mtx(12, 20));
    let found =
        place.json("factorize v.mtx --rank 3 --seed 7 --threads 2 --max-iter 40 --out model.npz --force");
    let keys = [
        "solver",
        "status",
        "iterations",
        "seconds",
        "divergence",
        "gap_w",
        "gap_h",
        "relative_gap",
        "sum",
        "rank",
        "shape",
        "nnz",
        "precision",
        "threads",
        "seed",
        "version",
        "data_hash",
        "command",
    ];
    assert!(keys.iter().all(|key| found.get(key).is_some()), "{found}");
    assert_eq!(found.as_object().unwrap().len(), keys.len());
    assert_eq!(
        (found["rank"].as_u64(), found["seed"].as_u64(), found["threads"].as_u64()),
        (Some(3), Some(7), Some(2))
    );
    assert_eq!(found["shape"], serde_json::json!([12, 20]));
    let model = read_model::<f64>(&place.path("model.npz")).unwrap();
    let v = klnmf_io::read::<f64>(&place.path("v.mtx")).unwrap();
    let certificate = klnmf::certificate(v.matrix.view(), &model.w, &model.h, 2).unwrap();
    assert_eq!(found["divergence"].as_f64(), Some(certificate.divergence));
    assert_eq!(found["gap_w"].as_f64(), Some(certificate.gap_w));
    assert_eq!(found["gap_h"].as_f64(), Some(certificate.gap_h));
    let sum = v.matrix.view().sum();
    assert_eq!(found["sum"].as_f64(), Some(sum));
    assert_eq!(
        found["relative_gap"].as_f64(),
        Some(certificate.gap_w.max(certificate.gap_h) / certificate.divergence)
    );
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(found["command"], "klnmf factorize v.mtx --rank 3 --max-iter 40 --seed 7");
    let metadata: serde_json::Value = serde_json::from_str(&model.metadata).unwrap();
    for key in ["sum", "relative_gap", "version", "command"] {
        assert_eq!(metadata[key], found[key], "{key}");
    }
    // The recorded command gives the same model.
    let before = std::fs::read(place.path("model.npz")).unwrap();
    let command = found["command"].as_str().unwrap().strip_prefix("klnmf ").unwrap();
    place.ok(&format!("{command} --out model.npz --force"));
    assert!(before == std::fs::read(place.path("model.npz")).unwrap());
}

#[test]
fn the_number_of_parts_has_four_names() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    let model = |option: &str| {
        place.ok(&format!("factorize v.csv {option} 3 --max-iter 20 --out model.npz --force"));
        std::fs::read(place.path("model.npz")).unwrap()
    };
    let first = model("--rank");
    for option in ["-k", "--components", "--topics"] {
        assert!(model(option) == first, "{option}");
        assert!(place.ok(&format!("info v.csv {option} 3")).contains("at rank 3"), "{option}");
    }
}

/// The largest share comes first. Parts that are given keep their order, and added ones are sorted after
/// them.
#[test]
fn parts_are_sorted_by_share() {
    let place = Place::new();
    place.write("v.mtx", counts_mtx(12, 20));
    let shares = |name: &str| -> Vec<f64> {
        let model = read_model::<f64>(&place.path(name)).unwrap();
        model.w.col_sums().iter().zip(model.h.row_sums()).map(|(w, h)| w * h).collect()
    };
    for seed in 0..4 {
        place.ok(&format!("factorize v.mtx -k 5 --seed {seed} --out model.npz --force"));
        let shares = shares("model.npz");
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
    }
    let model = read_model::<f64>(&place.path("model.npz")).unwrap();
    let turned = |x: &klnmf::Mat<f64>| klnmf::Mat::from_fn(12, 5, |i, k| x[(i, 4 - k)]);
    klnmf_io::write_npy(&place.path("w.npy"), &turned(&model.w)).unwrap();
    klnmf_io::write_npy(&place.path("h.npy"), &klnmf::Mat::from_fn(5, 20, |k, j| model.h[(4 - k, j)]))
        .unwrap();
    place.ok("factorize v.mtx --init w.npy,h.npy --max-iter 10 --out kept.npz");
    assert!(shares("kept.npz").is_sorted(), "{:?}", shares("kept.npz"));
    place.ok("factorize v.mtx --init w.npy,h.npy -k 9 --max-iter 30 --solver fpa --out grown.npz");
    let grown = shares("grown.npz");
    assert!(grown[5..].is_sorted_by(|a, b| a >= b) && !grown[..5].is_sorted_by(|a, b| a >= b), "{grown:?}");
}

#[test]
fn names_come_from_files_of_their_own() {
    let place = Place::new();
    place.write("v.mtx", counts_mtx(3, 4));
    place.write("rows.txt", "C>A\nC>G\nthe third, with a comma\n");
    place.write("columns.txt", "a\nb\nc\nd");
    let both = "--row-names rows.txt --column-names columns.txt";
    place.ok(&format!("factorize v.mtx {both} -k 2 --csv out --out model.npz --force"));
    let model = read_model::<f64>(&place.path("model.npz")).unwrap();
    assert_eq!(model.row_names.unwrap(), ["C>A", "C>G", "the third, with a comma"]);
    assert_eq!(model.col_names.unwrap(), ["a", "b", "c", "d"]);
    assert!(
        std::fs::read_to_string(place.path("out_W.csv")).unwrap().contains("\"the third, with a comma\",")
    );
    place.ok(&format!("factorize v.mtx --transpose {both} -k 2 --out turned.npz"));
    assert_eq!(
        read_model::<f64>(&place.path("turned.npz")).unwrap().row_names.unwrap(),
        ["a", "b", "c", "d"]
    );
    // The dictionary is matched by these names.
    place.write("w.csv", ",p,q\nC>G,1,2\n\"the third, with a comma\",3,4\nC>A,5,6\n");
    place.ok(&format!("decompose v.mtx {both} --dictionary w.csv --out weights.npz --force"));
    assert_eq!(read_model::<f64>(&place.path("weights.npz")).unwrap().w[(0, 0)], 5.0);
    assert!(place.ok(&format!("info v.mtx {both}")).contains("of rows and columns"));
    let wrong = "--row-names columns.txt";
    for line in [
        "factorize v.mtx -k 2 --out model.npz --force",
        "decompose v.mtx --dictionary w.csv --out weights.npz --force",
        "info v.mtx",
        "topics v.mtx -k 2 --out x",
    ] {
        let words =
            ["columns.txt has 4 names and v.mtx has 3 rows", "one name per line", "they fit its columns"];
        place.fails(&format!("{line} {wrong}"), 1, &words);
        place.fails(&format!("{line} --column-names gone.txt"), 1, &["gone.txt"]);
    }
    place.fails(&format!("factorize v.mtx {both} -k 2 --trace rows.txt"), 1, &["rows.txt", "input"]);
}

#[test]
fn a_rank_above_the_smaller_side_is_noted() {
    let place = Place::new();
    place.write("v.csv", counts_csv(3, 20));
    let note = |line: &str| String::from_utf8(place.run(line).stderr).unwrap();
    let told = note("factorize v.csv -k 4 --max-iter 5 --out model.npz --force");
    assert!(told.contains("rank 4 is above min(rows, columns) = 3") && told.lines().count() == 1, "{told}");
    assert_eq!(note("factorize v.csv -k 3 --max-iter 5"), "");
    assert_eq!(note("factorize v.csv -k 4 --max-iter 5 --quiet"), "");
}

/// While data are read there is nothing to save, so that one signal is enough.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_reading() {
    let place = Place::new();
    // Nobody writes to this pipe, so that reading it never ends.
    assert!(std::process::Command::new("mkfifo").arg(place.path("v.csv")).status().unwrap().success());
    place.write("w.csv", counts_csv(3, 2));
    for line in [
        "factorize v.csv -k 2 --out model.npz --force",
        "decompose v.csv --dictionary w.csv --out weights.npz --force",
        "topics v.csv --counts -k 2 --out topics --force",
    ] {
        let mut child = place.command(line).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(500));
        let pid = child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let begun = std::time::Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if begun.elapsed().as_secs() < 10 => std::thread::yield_now(),
                None => break child.kill().ok().and(None),
            }
        };
        assert_eq!(status, Some(130), "{line}");
        assert!(!place.path("topics").exists());
    }
}

#[test]
fn the_model_has_the_bits_of_the_library() {
    let place = Place::new();
    place.write("v.mtx", counts_mtx(12, 20));
    let table = klnmf_io::read::<f64>(&place.path("v.mtx")).unwrap();
    let v = table.matrix.view();
    for (option, init) in [("random", klnmf::Init::Random), ("nndsvd", klnmf::Init::Nndsvd)] {
        place.ok(&format!("factorize v.mtx --rank 3 --seed 5 --init {option} --out model.npz --force"));
        let model = read_model::<f64>(&place.path("model.npz")).unwrap();
        let settings = klnmf::Settings { init, seed: 5, ..klnmf::Settings::default() };
        let (w, h) = klnmf::init(v, 3, &settings).unwrap();
        let problem = klnmf::Problem::new(v, 0).unwrap();
        let run = problem.run(w, h, &settings).unwrap().sort_from(0);
        let found = run.to_end(|_| std::ops::ControlFlow::Continue(())).unwrap();
        assert_eq!((model.w, model.h), (found.w, found.h), "{option}");
    }
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let place = Place::new();
    place.write("dense.csv", counts_csv(30, 90));
    place.write("sparse.mtx", counts_mtx(30, 90));
    for (file, solver) in [
        ("dense.csv", "fpa"),
        ("dense.csv", "mu"),
        ("dense.csv", "admm"),
        ("sparse.mtx", "fpa"),
        ("sparse.mtx", "mu"),
    ] {
        for precision in ["f32", "f64"] {
            let bytes = |threads: usize| {
                place.ok(&format!(
                    "factorize {file} --rank 4 --solver {solver} --precision {precision} --max-iter 30 --threads {threads} --out model.npz --force"
                ));
                std::fs::read(place.path("model.npz")).unwrap()
            };
            let one = bytes(1);
            assert!(one == bytes(2) && one == bytes(3), "{file} {solver} {precision}");
        }
    }
}

#[test]
fn the_trace_repeats_the_authors_programs() {
    let place = Place::new();
    let traces: serde_json::Value =
        serde_json::from_slice(&std::fs::read(golden("traces.json")).unwrap()).unwrap();
    for case in ["counts", "uniform"] {
        let [v, w, h] =
            ["V", "W0", "H0"].map(|part| golden(&format!("{case}.{part}.npy")).display().to_string());
        for (run, options) in
            [("fpa", "fpa-authors"), ("mua", "mu-authors"), ("admm", "admm-authors --rho 5")]
        {
            place.ok(&format!(
                "factorize {v} --init {w},{h} --solver {options} --max-iter 200 --tol 0 --trace trace.csv --out model.npz --force"
            ));
            let trace = std::fs::read_to_string(place.path("trace.csv")).unwrap();
            let mut lines = trace.lines();
            assert_eq!(lines.next(), Some("iteration,seconds,divergence,gap_w,gap_h"));
            let got: Vec<f64> = lines.map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
            let want = traces[case]["runs"][run]["objective"].as_array().unwrap();
            assert_eq!(got.len(), want.len());
            for (got, want) in got.iter().zip(want.iter().map(|x| x.as_f64().unwrap())) {
                assert!((got - want).abs() <= 1e-9 * want, "{case} {run}: {got} for {want}");
            }
        }
    }
}

/// The reported precision is that of the iterations, not the requested one.
#[test]
fn the_precision_is_the_one_of_the_work() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    let used = |line: &str| {
        let found = place.json(&format!("factorize {line} --rank 3 --out model.npz --force"));
        let model = read_model::<f64>(&place.path("model.npz")).unwrap();
        let metadata: serde_json::Value = serde_json::from_str(&model.metadata).unwrap();
        assert_eq!(metadata["precision"], found["precision"], "{line}");
        assert!(metadata.get("compat").is_none());
        found["precision"].as_str().unwrap().to_owned()
    };
    let long = "--max-iter 3000 --tol 1e-9";
    assert_eq!(used(&format!("v.csv {long}")), "mixed");
    assert_eq!(used("v.csv --max-iter 30 --precision f64"), "f64");
    assert_eq!(used("v.csv --max-iter 30 --precision f32"), "f32");
    assert_eq!(used("v.csv --max-iter 30 --solver mu"), "f64");
    // The library declines f32 for numbers outside 1e-25 … 1e25, and for these solvers.
    place.write("wide.csv", "1e-30,2,3,4\n5,6,7,8\n2,1,1,3\n");
    assert_eq!(used(&format!("wide.csv {long}")), "f64");
    assert_eq!(used(&format!("wide.csv {long} --precision mixed --solver mue")), "f64");
    assert_eq!(used("v.csv --max-iter 30 --precision mixed --solver admm"), "f64");
    assert_eq!(used("v.csv --max-iter 30 --precision mixed --solver fpa-authors"), "f64");
}

#[test]
fn formats_agree() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.write("v.mtx", counts_mtx(12, 20));
    let divergence = |file: &str| {
        place.json(&format!("factorize {file} --rank 2 --max-iter 50 --tol 0 --out model.npz --force"))["divergence"]
            .as_f64()
            .unwrap()
    };
    let (dense, sparse) = (divergence("v.csv"), divergence("v.mtx"));
    assert!((dense - sparse).abs() <= 1e-10 * dense);
}

#[test]
fn transposing_swaps_names_and_shape() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 9));
    let found = place.json("factorize v.csv --transpose --rank 2 --out model.npz --force");
    assert_eq!(found["shape"], serde_json::json!([9, 6]));
    assert_eq!(read_model::<f64>(&place.path("model.npz")).unwrap().row_names.unwrap()[8], "sample8");
}

#[test]
fn a_model_can_be_continued_and_grown() {
    let place = Place::new();
    place.write("v.csv", counts_csv(20, 30));
    let first =
        place.json("factorize v.csv --rank 2 --max-iter 50 --out a.npz")["divergence"].as_f64().unwrap();
    let same = place.json("factorize v.csv --init a.npz --rank 4 --max-iter 0 --out b.npz");
    assert_eq!(same["rank"], 4);
    assert!((same["divergence"].as_f64().unwrap() - first).abs() <= 1e-12 * first);
    let more =
        place.json("factorize v.csv --init a.npz --rank 4 --out c.npz")["divergence"].as_f64().unwrap();
    assert!(more < 0.9 * first, "{more} from {first}");
    let on =
        place.json("factorize v.csv --init a.npz --max-iter 20 --out d.npz")["divergence"].as_f64().unwrap();
    assert!(on <= first);
    place.fails("factorize v.csv --init a.npz --rank 1", 1, &["--rank 1", "can only grow"]);
}

/// A run that continues a model keeps the names of its parts, and so does a run that continues that run.
#[test]
fn a_continued_model_keeps_the_names_of_its_parts() {
    let place = Place::new();
    place.write("v.csv", counts_csv(12, 20));
    place.write("names.txt", "wind\nrain\n");
    place.ok("factorize v.csv -k 2 --max-iter 5 --out a.npz");
    place.ok("decompose v.csv --dictionary a.npz --part-names names.txt --out named.npz");
    let names = |line: &str| {
        place.ok(&format!("factorize v.csv --max-iter 9 --out found.npz --force {line}"));
        read_model::<f64>(&place.path("found.npz")).unwrap().part_names
    };
    let given = Some(vec!["wind".to_owned(), "rain".to_owned()]);
    assert_eq!(names("--init named.npz --checkpoint c.npz --csv t"), given);
    let [w, h] = ["t_W.csv", "t_H.csv"].map(|name| std::fs::read_to_string(place.path(name)).unwrap());
    assert!(w.starts_with("\"\",\"wind\",\"rain\"\n") || w.starts_with(",\"wind\",\"rain\"\n"), "{w}");
    assert!(h.contains("\n\"rain\","), "{h}");
    std::fs::remove_file(place.path("named.npz")).unwrap();
    assert_eq!(names("--resume c.npz"), given);
    assert_eq!(names("--init a.npz"), None);
}

#[test]
fn side_outputs_are_written() {
    let place = Place::new();
    place.write("v.csv", counts_csv(8, 9).replace("feature3", "<b>&odd"));
    place.ok("factorize v.csv --rank 2 --trace t.csv --report r.html --csv out --quiet --out m.npz");
    let report = std::fs::read_to_string(place.path("r.html")).unwrap();
    assert!(report.contains("&lt;b&gt;&amp;odd") && !report.contains("<b>&odd"), "names are escaped");
    assert!(
        report.contains("<svg") && !report.contains("<script") && !report.contains("<link"),
        "it stands alone"
    );
    let w = std::fs::read_to_string(place.path("out_W.csv")).unwrap();
    assert!(w.starts_with(",\"part1\",\"part2\"\n\"feature0\","), "{w}");
    assert!(
        place.path("out_H.csv").exists() && place.path("t.csv").exists() && !place.path("model.npz").exists()
    );
}

#[test]
fn a_time_limit_is_kept() {
    let place = Place::new();
    place.write("v.csv", counts_csv(60, 200));
    let found = place.json(
        "factorize v.csv --rank 20 --tol 0 --max-iter 1000000000 --time-limit 0.5 --out model.npz --force",
    );
    assert_eq!(found["status"], "time_limit");
    assert!(found["seconds"].as_f64().unwrap() < 3.0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_the_model_so_far() {
    let place = Place::new();
    place.write("v.csv", counts_csv(60, 200));
    let mut child = place
        .command("factorize v.csv --rank 20 --tol 0 --max-iter 1000000000 --json --out saved.npz")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(800));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut text).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["status"], "interrupted");
    assert!(found["iterations"].as_u64().unwrap() > 0);
    assert_eq!(read_model::<f64>(&place.path("saved.npz")).unwrap().w.cols(), 20);
}

/// The page is about the file: its name, parts as its data suggest, weights with names, and how to repeat it.
#[test]
fn the_report_shows_parts_weights_and_the_command() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).unwrap();
    place.write("in/v.csv", counts_csv(20, 30));
    let page = |line: &str| {
        place.ok(&format!("{line} --report r.html --force --quiet --out m.npz"));
        // The template writes a slash like this.
        std::fs::read_to_string(place.path("r.html")).unwrap().replace("&#x2f;", "/")
    };
    let named = page("factorize in/v.csv --rank 3 --seed 5");
    assert!(named.contains("<title>v.csv:") && named.contains("<h1>v.csv</h1>"), "the file's name");
    assert!(named.contains("class=\"bars\"") && named.contains("feature19"), "bars with names");
    assert!(
        named.contains("class=\"heat\"")
            && named.contains(">sample7</text>")
            && named.contains(">part3</text>")
    );
    assert!(named.contains("gap of W") && named.contains("gap of H"));
    let hash = place.json("info in/v.csv")["data_hash"].as_str().unwrap().to_owned();
    let level = klnmf::instruction_level().unwrap();
    for words in ["klnmf factorize in/v.csv --rank 3 --seed 5", env!("CARGO_PKG_VERSION"), &hash, level] {
        assert!(named.contains(words), "{words}");
    }
    let v = klnmf::Mat::<f64>::from_fn(81, 20, |i, j| ((i * 7 + j * 3) % 5) as f64);
    klnmf_io::write_npy(&place.path("v.npy"), &v).unwrap();
    let images = page("factorize v.npy --rank 3");
    assert!(
        images.contains("class=\"image\"") && !images.contains("row 0"),
        "81 rows without names are images"
    );
    place.write("words.csv", counts_csv(300, 10));
    let words = page("factorize words.csv --rank 2");
    assert!(!words.contains("class=\"bars\"") && words.matches("class=\"row\"").count() == 16);
    for page in [named, images, words] {
        let outside = ["http://", "https://", "<script", "<link", "@import", "url("];
        let found =
            outside.iter().find(|what| page.replace("http://www.w3.org/2000/svg", "").contains(**what));
        assert_eq!(found, None, "nothing comes from outside");
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    }
}

/// The report of several starts shows no course of another start than that of its model.
#[test]
fn several_starts_have_no_trace_and_are_not_resumed() {
    let place = Place::new();
    place.write("v.csv", counts_csv(20, 30));
    place.fails("factorize v.csv -k 3 --starts 3 --trace t.csv", 1, &["--starts 3", "--trace"]);
    place.ok("factorize v.csv -k 3 --max-iter 5 --checkpoint c.npz --out a.npz");
    place.fails("factorize v.csv -k 3 --starts 3 --resume c.npz --out b.npz", 1, &["--resume"]);
    let mut others = 0;
    for seed in 0..6 {
        let line =
            format!("factorize v.csv -k 6 --starts 4 --seed {seed} --report r{seed}.html --out m{seed}.npz");
        let found = place.json(&line);
        let page = std::fs::read_to_string(place.path(&format!("r{seed}.html"))).unwrap();
        let starts = found["starts"].as_array().unwrap();
        let of_first = starts[0]["divergence"].as_f64().unwrap() == found["divergence"].as_f64().unwrap();
        assert_eq!(page.contains("Several starts were tried"), !of_first);
        others += usize::from(!of_first);
    }
    assert!(others > 0, "the first start was always the best, so the test says nothing");
}
