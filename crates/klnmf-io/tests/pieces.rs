//! Text files so long that they are parsed in many pieces: they must read as if there were only one.

use crate::common::*;
use klnmf_io::read;
use std::fmt::Write;

/// Lines of the long files: about eight megabytes, two batches of pieces.
const LINES: usize = 400_000;

/// A long table: some lines are blank, quoted, or end as on Windows.
fn long_csv() -> String {
    let mut text = String::from("name,a,b,c\n");
    for n in 0..LINES {
        let (a, b) = (n % 97, n * 7 % 1000);
        match n % 50 {
            0 => writeln!(text, "\"row {n}\",{a},{b}.25,{a}e1\n   "),
            1 => write!(text, "row {n}, {a} ,{b}.250,{a}0\r\n"),
            _ => writeln!(text, "row {n},{a},{b}.25,{a}0"),
        }
        .unwrap();
    }
    text
}

/// A long matrix, in the order of neither rows nor columns.
fn long_mtx() -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n%\n{} 7 {LINES}\n", LINES / 2);
    for n in 0..LINES {
        let (i, j) = (n * 3 % (LINES / 2) + 1, n % 7 + 1);
        match n % 50 {
            0 => writeln!(text, "% a comment\n{i}  {j} {}e0", n + 1),
            1 => write!(text, "{i} {j} {}\r\n", n + 1),
            _ => writeln!(text, "{i} {j} {}", n + 1),
        }
        .unwrap();
    }
    text
}

/// The number of the line that contains `part`.
fn line_of(text: &str, part: &str) -> usize {
    text.lines().position(|line| line.contains(part)).unwrap() + 1
}

/// Reads on so many threads.
fn on_threads<V: Send>(threads: usize, work: impl FnOnce() -> V + Send) -> V {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn a_long_table() {
    let text = long_csv();
    let file = temporary("a.csv", text.as_bytes());
    let table = on_threads(3, || read::<f64>(&file.path).unwrap());
    let names = table.row_names.clone().unwrap();
    assert_eq!((names.len(), names[LINES - 1].as_str()), (LINES, &*format!("row {}", LINES - 1)));
    assert_eq!(table.col_names.as_deref().unwrap(), ["a", "b", "c"]);
    let packed = temporary("a.csv.gz", &gzip(text.as_bytes()));
    assert!(on_threads(1, || read::<f64>(&packed.path).unwrap()) == table);
    let matrix = dense(table);
    for n in 0..LINES {
        let right = [(n % 97) as f64, (n * 7 % 1000) as f64 + 0.25, (n % 97 * 10) as f64];
        assert_eq!([matrix[(n, 0)], matrix[(n, 1)], matrix[(n, 2)]], right, "row {n}");
    }
}

#[test]
fn faults_of_a_long_table() {
    let text = long_csv();
    let wrong = |old: &str, new: &str| refused("a.csv", text.replacen(old, new, 1).as_bytes());
    let at = line_of(&text, "row 399990,");
    let cell = wrong("row 399990,59,", "row 399990,sixty,");
    assert!(cell.starts_with(&format!("a.csv, line {at}, column 2: \"sixty\" is not a number")), "{cell}");
    let short = wrong("row 399990,59,", "row 399990,");
    assert!(
        short.starts_with(&format!("a.csv, line {at}: the number of cells is 3, but 4 in line 2")),
        "{short}"
    );
    let quote = wrong("row 399990,59,", "\"row 399990,59,");
    assert!(quote.starts_with(&format!("a.csv, line {at}: a quote is not closed")), "{quote}");
    // The first of several faults is reported, whichever thread finds one first.
    let both = text.replacen("row 399990,59,", "x,y,", 1).replacen("row 5002,55,", "x,y,", 1);
    let at = line_of(&text, "row 5002,");
    assert!(refused("a.csv", both.as_bytes()).starts_with(&format!("a.csv, line {at}, column 2")));
}

#[test]
fn a_long_matrix() {
    let text = long_mtx();
    let file = temporary("a.mtx", text.as_bytes());
    let table = on_threads(3, || read::<f64>(&file.path).unwrap());
    let packed = temporary("a.mtx.gz", &gzip(text.as_bytes()));
    assert!(on_threads(1, || read::<f64>(&packed.path).unwrap()) == table);
    let matrix = sparse(table);
    let mut right = klnmf::Mat::<f64>::zeros(LINES / 2, 7);
    (0..LINES).for_each(|n| right[(n * 3 % (LINES / 2), n % 7)] += (n + 1) as f64);
    assert!(matrix == right);
}

#[test]
fn faults_of_a_long_matrix() {
    let text = long_mtx();
    let line = |n: usize| format!("{} {} {}\n", n * 3 % (LINES / 2) + 1, n % 7 + 1, n + 1);
    let at = line_of(&text, line(399_990).trim_end());
    let wrong = |new: &str| refused("a.mtx", text.replacen(&line(399_990), new, 1).as_bytes());
    assert!(wrong("1 x 1\n").starts_with(&format!("a.mtx, line {at}: \"1 x 1\" is not an entry")));
    assert!(wrong("1 8 1\n").starts_with(&format!("a.mtx, line {at}: entry (1, 8) is outside")));
    assert!(wrong("").ends_with("the file ends after 399999: copy the file again, or correct the line"));
    let few = text.replacen(&format!(" {LINES}\n"), " 399990\n", 1);
    let more = format!("a.mtx, line {at}: there are more entries than the 399990 of the size line");
    assert!(refused("a.mtx", few.as_bytes()).starts_with(&more));
    // A fault after the last entry of the size line comes second.
    let both = few.replacen(&line(399_992), "1 x 1\n", 1);
    assert!(refused("a.mtx", both.as_bytes()).starts_with(&more));
}
