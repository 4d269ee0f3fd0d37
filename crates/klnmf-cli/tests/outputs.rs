//! What the verbs write: under which names, over which files, and through which links.

use crate::common::sounds::duo;
use crate::common::{Place, counts_csv, counts_mtx};
use klnmf_io::read_model;
use std::fs;

/// Every verb with a default name: a line, what it writes, and an option that gives another name.
const LINES: [(&str, &str); 5] = [
    ("factorize v.mtx --rank 2 --max-iter 5", "v-r2.npz"),
    ("decompose v.csv --dictionary v.csv --max-iter 5", "v-weights.npz"),
    ("topics v.mtx --topics 2 --max-iter 5", "v-topics2"),
    ("topics v.mtx --model m/model.npz", "v-weights"),
    ("separate mix.wav --components 2 --max-iter 5", "mix-stems2"),
];

fn place() -> Place {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    place.write("v.mtx", counts_mtx(6, 7));
    duo(&place);
    place.ok("topics v.mtx --topics 2 --max-iter 5 --out m");
    place
}

/// The bytes of a file, or of all files of a folder.
fn content(place: &Place, name: &str) -> Vec<(String, Vec<u8>)> {
    let path = place.path(name);
    if path.is_file() {
        return vec![(String::new(), fs::read(path).unwrap())];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn results_are_named_after_the_input_and_replaced_with_force_only() {
    let place = place();
    for (line, name) in LINES {
        place.ok(line);
        let before = content(&place, name);
        // Before any work: the input is not even read.
        let gone = line.replace("v.mtx", "gone/v.mtx").replace(" v.csv --d", " gone/v.csv --d");
        for line in [line, &gone.replace("mix.wav", "gone/mix.wav")] {
            place.fails(line, 1, &[name, "--force", "--out"]);
        }
        assert!(content(&place, name) == before, "{line}");
        place.ok(&format!("{line} --force"));
        assert!(content(&place, name).len() == before.len(), "{line}");
    }
    place.ok("factorize v.mtx --rank 3 --max-iter 5");
    assert_eq!(read_model::<f64>(&place.path("v-r2.npz")).unwrap().w.cols(), 2);
    assert_eq!(read_model::<f64>(&place.path("v-r3.npz")).unwrap().w.cols(), 3);
}

#[test]
fn side_results_are_not_replaced_either() {
    let place = place();
    for name in ["t.csv", "r.html", "p_H.csv", "c.npz"] {
        place.write(name, "mine");
    }
    let line = "factorize v.mtx --rank 2 --max-iter 5";
    for (option, file) in [
        ("--trace t.csv", "t.csv"),
        ("--report r.html", "r.html"),
        ("--csv p", "p_H.csv"),
        ("--checkpoint c.npz", "c.npz"),
    ] {
        let name = option.split(' ').next().unwrap();
        place.fails(&format!("{line} {option}"), 1, &[file, "--force", name]);
    }
    place.fails("decompose v.csv --dictionary v.csv --csv t.csv", 1, &["t.csv", "--force", "--csv"]);
    place.fails("separate mix.wav --train a=flute.wav --save c.npz", 1, &["c.npz", "--force", "--save"]);
    place.write("README.md", "mine");
    place.fails("reproduce topics --tiny --out .", 1, &["klnmf did not write", "give another"]);
    place.fails("demo --out .", 1, &["klnmf did not write"]);
}

/// A result that appears under the name during the work is kept, and so is this one.
#[cfg(unix)]
#[test]
fn a_file_that_appears_during_the_work_is_kept() {
    let place = place();
    let mut child = place
        .command("factorize v.csv -k 2 --tol 0 --max-iter 1000000000")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    place.write("v-r2.npz", "mine");
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(fs::read(place.path("v-r2.npz")).unwrap(), b"mine");
    let names = place.files().into_iter().map(|(path, _)| path);
    let kept = names.filter(|path| path.display().to_string().contains("v-r2.npz.klnmf-"));
    let kept: Vec<_> = kept.collect();
    assert_eq!(read_model::<f64>(&kept[0]).unwrap().w.cols(), 2);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let place = place();
    place.write("precious.npz", "precious");
    fs::create_dir(place.path("precious")).unwrap();
    for (line, name) in LINES {
        let (to, what) =
            if name.ends_with(".npz") { ("precious.npz", "file") } else { ("precious", "folder") };
        for to in [to, "nowhere"] {
            symlink(to, place.path(name)).unwrap();
            let words = ["link", &format!("give the {what} itself")];
            place.fails(&format!("{line} --force"), 1, &words);
            fs::remove_file(place.path(name)).unwrap();
        }
    }
    for verb in ["demo", "reproduce topics --tiny"] {
        symlink("precious", place.path("link")).unwrap();
        place.fails(&format!("{verb} --out link --force"), 1, &["link", "give the folder itself"]);
        fs::remove_file(place.path("link")).unwrap();
    }
    assert_eq!(fs::read(place.path("precious.npz")).unwrap(), b"precious");
    assert_eq!(fs::read_dir(place.path("precious")).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn devices_and_pipes_can_be_written_to() {
    let place = place();
    place.ok("factorize v.csv -k 2 --max-iter 5 --out /dev/null --trace /dev/null --report /dev/null");
    let text = place.ok("factorize v.csv -k 2 --max-iter 5 --out /dev/null --trace /dev/stdout --quiet");
    assert!(text.starts_with("iteration,seconds") && text.lines().count() == 6, "{text}");
}

/// Names that a spreadsheet would execute are marked, in tables of factors and of topics.
#[test]
fn names_are_harmless_in_tables() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7).replace("feature3", "=cmd()").replace("sample2", "@x"));
    place.ok("factorize v.csv -k 2 --max-iter 5 --csv p");
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert!(read("p_W.csv").contains("\"'=cmd()\",") && read("p_H.csv").contains(",\"'@x\","));
    let names = klnmf_io::read::<f64>(&place.path("p_W.csv")).unwrap().row_names.unwrap();
    assert_eq!(names[3], "=cmd()");
    place.write("words.txt", "a\nb\nc\n=d\ne\nf\n");
    place.write("v.mtx", counts_mtx(6, 7));
    place.ok("topics v.mtx --transpose --row-names words.txt -k 2 --max-iter 5 --out t");
    assert!(read("t/topics.csv").contains(",'=d,") && !read("t/topics.csv").contains(",=d,"));
}
