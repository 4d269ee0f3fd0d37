//! Bad input of every kind: an exit code of 1 or 2, one line that says what, where and what to do, and
//! nothing lost.

use crate::common::{Place, counts_csv, counts_mtx};

#[test]
fn bad_numbers_are_named_with_their_place() {
    let place = Place::new();
    place.write("neg.csv", "1,2\n3,-4\n");
    place.fails("factorize neg.csv --rank 1", 1, &["neg.csv", "V[1, 1] = -4", "negative", "remove"]);
    place.write("nan.csv", "1,NaN\n3,4\n");
    place.fails("factorize nan.csv --rank 1", 1, &["nan.csv", "V[0, 1]", "finite"]);
    place.write("inf.csv", "1,2\ninf,4\n");
    place.fails("factorize inf.csv --rank 1", 1, &["inf.csv", "V[1, 0]", "finite"]);
    place.fails("factorize inf.csv --transpose --rank 1", 1, &["V[1, 0]"]);
    place.write("large.csv", "1,2\n1e39,4\n");
    place.fails("factorize large.csv --rank 1 --precision f32", 1, &["--precision f64"]);
    place.write("text.csv", "1,2\n3,abc\n");
    place.fails("factorize text.csv --rank 1", 1, &["text.csv, line 2, column 2", "abc", "not a number"]);
    place.write("ragged.csv", "1,2\n3\n");
    place.fails("factorize ragged.csv --rank 1", 1, &["ragged.csv", "line 2"]);
    place.fails("decompose neg.csv --dictionary neg.csv", 1, &["neg.csv", "V[1, 1] = -4"]);
}

/// Where rows and columns have names, errors about an entry tell them.
#[test]
fn bad_entries_are_named_by_row_and_column() {
    let place = Place::new();
    place.write("v.csv", ",s1,s2\ng1,1,2\ng2,3,-4\n");
    for line in [
        "factorize v.csv -k 1",
        "factorize v.csv -k 1 --transpose",
        "topics v.csv --counts -k 1",
        "rank v.csv",
    ] {
        place.fails(line, 1, &["V[1, 1] = -4", "it is in row \"g2\", column \"s2\""]);
    }
    place.write("plain.csv", "1,2\n3,-4\n");
    place.write("names.txt", "a\nb\n");
    place.fails("factorize plain.csv -k 1 --row-names names.txt", 1, &["it is in row \"b\""]);
    assert!(!place.fails("factorize plain.csv -k 1", 1, &["V[1, 1]"]).contains("it is in"));
    place.write("good.csv", ",s1,s2\ng1,1,2\ng2,3,4\n");
    place.write("w.csv", "1\n0\n");
    place.fails("decompose good.csv --dictionary w.csv", 1, &["V[1, 0] = 3", "row \"g2\", column \"s1\""]);
}

#[test]
fn bad_files_are_named() {
    let place = Place::new();
    place.fails("factorize nowhere.npy --rank 2", 1, &["nowhere.npy"]);
    for name in ["e.npy", "e.npz", "e.mtx", "e.csv", "e.mtx.gz"] {
        place.write(name, "");
        place.fails(&format!("factorize {name} --rank 2"), 1, &[name]);
        place.fails(&format!("info {name}"), 1, &[name]);
    }
    place.write("v.xls", "x");
    place.fails("factorize v.xls --rank 2", 1, &["v.xls", ".npy"]);
    place.write("v.parquet", "PAR1");
    place.fails("factorize v.parquet --rank 2", 1, &["v.parquet", "save_npz", "docs/large.md"]);
    std::fs::create_dir(place.path("folder.npy")).unwrap();
    place.fails("factorize folder.npy --rank 2", 1, &["folder.npy"]);
    let golden = std::fs::read(crate::common::golden("counts.V.npy")).unwrap();
    for cut in [1, 9, 40, 127, 128, 129, golden.len() / 2, golden.len() - 1] {
        place.write("cut.npy", &golden[..cut]);
        place.fails("factorize cut.npy --rank 2", 1, &["cut.npy"]);
    }
    let mtx = counts_mtx(6, 7);
    place.write("cut.mtx", &mtx[..mtx.len() * 2 / 3]);
    place.fails("factorize cut.mtx --rank 2", 1, &["cut.mtx"]);
    place.write("zero.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    place.fails("factorize zero.mtx --rank 2", 1, &["zero.mtx", "empty"]);
    place.write("w.csv", counts_csv(6, 7));
    place.ok("factorize w.csv --rank 2 --out model.npz --force");
    let model = std::fs::read(place.path("model.npz")).unwrap();
    for cut in [3, 50, model.len() / 2, model.len() - 3] {
        place.write("cut.npz", &model[..cut]);
        place.fails("factorize w.csv --init cut.npz", 1, &["cut.npz"]);
    }
    place.fails("factorize model.npz --rank 2", 1, &["model.npz", "model"]);
}

#[test]
fn bad_settings_are_named() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    place.fails("factorize v.csv", 2, &["--rank"]);
    place.fails("factorize v.csv --rank 0", 1, &["rank 0", "from 1 to"]);
    // The memory is computed before a file of known size is read.
    place.write("v.mtx", counts_mtx(6, 7));
    place.fails("factorize v.mtx --rank 0", 1, &["rank 0", "from 1 to"]);
    place.fails("factorize v.mtx --rank 1000000000000000000", 1, &["v.mtx", "rank 1000000000000000000"]);
    place.fails("factorize v.csv --rank 1000000000", 1, &["rank 1000000000"]);
    place.fails("factorize v.csv --rank -1", 2, &["-1"]);
    place.fails("factorize v.csv --rank 2 --solver magic", 2, &["magic", "mu-authors"]);
    place.fails("factorize v.csv --rank 2 --compat paper", 2, &["--compat"]);
    place.fails("factorize v.csv --rank 2 --solver admm-authors", 1, &["rho", "such as 10"]);
    place.fails("factorize v.csv --rank 2 --solver mu-authors --rho 2", 1, &["--rho", "admm-authors"]);
    place.fails("factorize v.csv --rank 2 --tol -1", 1, &["tol = -1"]);
    place.fails("factorize v.csv --rank 2 --tol nan", 1, &["tol"]);
    place.fails("factorize v.csv --rank 2 --inner 0", 1, &["inner = 0"]);
    place.fails("factorize v.csv --rank 2 --solver admm --rho 0", 1, &["rho = 0"]);
    place.fails("factorize v.csv --rank 2 --time-limit=-3", 2, &["seconds"]);
    place.fails("factorize v.csv --rank 2 --threads 100000", 1, &["threads = 100000"]);
    place.fails("factorize v.csv --rank 2 --init wherever", 1, &["wherever", "nndsvd"]);
    place.fails("frobnicate", 2, &["frobnicate"]);
    place.write("v.mtx", counts_mtx(6, 7));
    place.fails("factorize v.mtx --rank 2 --solver admm", 1, &["v.mtx", "dense", "auto"]);
    place.fails("factorize v.mtx --rank 2 --solver fpa-authors", 1, &["v.mtx", "fpa-authors", "dense"]);
}

#[test]
fn starts_and_dictionaries_that_do_not_fit_are_named() {
    let place = Place::new();
    place.write("v.csv", counts_csv(3, 4));
    place.write("w.csv", "1,2\n3,4\n5,6\n");
    place.write("h.csv", "1,2,3,4\n5,6,7,8\n");
    place.ok("factorize v.csv --init w.csv,h.csv --out good.npz");
    place.fails("factorize v.csv --init h.csv,w.csv", 1, &["h.csv,w.csv", "V is 3 × 4", "W is 2 × 4"]);
    place.write("ht.csv", "1,2\n3,4\n5,6\n7,8\n");
    place.fails("factorize v.csv --init ht.csv,w.csv", 1, &["W is 4 × 2"]);
    place.fails("factorize v.csv --init w.csv,gone.csv", 1, &["gone.csv"]);
    place.write("neg.csv", "1,2\n3,4\n5,-6\n");
    place.fails("factorize v.csv --init neg.csv,h.csv", 1, &["W[2, 1] = -6"]);
    place.fails("decompose v.csv --dictionary h.csv", 1, &["h.csv has 2 rows and V has 3"]);
    place.write("hole.csv", "1,2\n0,0\n5,6\n");
    place.fails("decompose v.csv --dictionary hole.csv", 1, &["v.csv", "row 1 of the dictionary is zero"]);
    place.fails("decompose v.csv --dictionary gone.npz", 1, &["gone.npz"]);
}

#[test]
fn a_result_that_cannot_be_written_is_told_before_the_work() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    for line in [
        "factorize v.csv --rank 2 --out nowhere/model.npz",
        "topics v.csv --counts --topics 2 --out nowhere/t",
        "separate gone.wav --out nowhere/s",
        "rank v.csv --out nowhere/r",
        "consensus v.csv -k 2 --out nowhere/c",
        "reproduce synthetic-nd --tiny --out nowhere/p",
        "demo --out nowhere/d",
    ] {
        place.fails(line, 1, &["the folder nowhere does not exist; create it first"]);
    }
    place.fails("factorize v.csv --rank 2 --trace nowhere/trace.csv", 1, &["nowhere"]);
    std::fs::create_dir(place.path("folder")).unwrap();
    place.fails("factorize v.csv --rank 2 --out folder", 1, &["folder"]);
    place.fails("decompose v.csv --dictionary v.csv --out nowhere/w.npz", 1, &["nowhere"]);
}

#[test]
fn no_result_replaces_an_input_or_another_result() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    place.write("foo_W.csv", counts_csv(6, 7));
    place.fails("factorize v.csv --rank 2 --out ./v.csv", 1, &["v.csv", "input"]);
    place.fails("factorize foo_W.csv --rank 2 --csv foo", 1, &["foo_W.csv", "input"]);
    place.fails("factorize v.csv --rank 2 --out x.npz --report x.npz", 1, &["x.npz twice"]);
    std::fs::create_dir(place.path("sub")).unwrap();
    place.fails("factorize v.csv --rank 2 --out x.npz --report sub/../x.npz", 1, &["x.npz twice"]);
    place.fails("decompose v.csv --dictionary foo_W.csv --out foo_W.csv", 1, &["foo_W.csv", "input"]);
}

#[cfg(target_os = "linux")]
#[test]
fn work_that_cannot_fit_is_refused() {
    let place = Place::new();
    place.write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n1 1000000000 1\n1 5 2\n");
    place.fails("factorize wide.mtx --rank 20", 1, &["wide.mtx", "memory"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    place.fails("factorize v.csv --rank 2 --out /dev/full", 1, &["/dev/full", "space"]);
    // The model is written first: a trace that does not fit must not cost the result.
    let output = place.run("factorize v.csv --rank 2 --trace /dev/full --out m.npz");
    assert_eq!(output.status.code(), Some(1));
    assert!(klnmf_io::read_model::<f64>(&place.path("m.npz")).is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    place.write("v.csv", counts_csv(6, 7));
    let script = format!("{} info v.csv | true", env!("CARGO_BIN_EXE_klnmf"));
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Every row of V has its own row of the dictionary, and the other way round.
#[test]
fn rows_are_matched_one_to_one() {
    let place = Place::new();
    place.write("twice.csv", "row,s\na,1\na,2\n");
    place.write("two.csv", "row,p\na,1\nb,1\n");
    place.fails(
        "decompose twice.csv --dictionary two.csv",
        1,
        &["V has two rows of the same name", "rename"],
    );
    place.fails("decompose two.csv --dictionary twice.csv", 1, &["\"b\"", "twice.csv"]);
}

/// A rate that no recording has would only take memory.
#[test]
fn absurd_rates_are_refused() {
    let place = Place::new();
    place.write("s.wav", "");
    place.fails("separate s.wav -k 2 --rate 400000000", 2, &["--rate", "768000"]);
}
