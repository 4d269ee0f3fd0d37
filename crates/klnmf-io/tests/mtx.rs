//! MatrixMarket files.

use crate::common::*;
use klnmf::Mat;
use klnmf_io::{peek, read};
use std::fs;

const GENERAL: &str = "%%MatrixMarket matrix coordinate integer general\n";

fn general(rest: &str) -> String {
    refused("a.mtx", format!("{GENERAL}{rest}").as_bytes())
}

#[test]
fn files_of_scipy() {
    assert_eq!(sparse(read::<f64>(&fixture("sparse.mtx")).unwrap()), scattered());
    assert_eq!(sparse(read::<f32>(&fixture("sparse.mtx")).unwrap()), scattered());
    assert_eq!(dense(read::<f64>(&fixture("dense.mtx")).unwrap()), counting());
    let packed = gzip(&fs::read(fixture("sparse.mtx")).unwrap());
    assert_eq!(sparse(read_bytes::<f64>("a.mtx.gz", &packed).unwrap()), scattered());
    assert_eq!(sparse(read_bytes::<f64>("a.mtx", &packed).unwrap()), scattered());
}

#[test]
fn tolerated_variants() {
    let text = "%%matrixmarket MATRIX Coordinate Real General\r\n% comment\r\n\r\n  2\t3 4 \r\n\
                1 1 1e3\r\n%in between\r\n\r\n 2 3\t-0.5\r\n2 3 1\r\n1 2 .25";
    let right = Mat::from_rows(&[&[1000.0, 0.25, 0.0], &[0.0, 0.0, 0.5]]);
    assert_eq!(sparse(read_bytes::<f64>("a.MTX", text.as_bytes()).unwrap()), right);
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n";
    let right = Mat::from_rows(&[&[1.0, 1.0], &[1.0, 0.0]]);
    assert_eq!(sparse(read_bytes::<f64>("a.mtx", pattern.as_bytes()).unwrap()), right);
    let triangle = "%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n";
    let right = Mat::from_rows(&[&[1.0, 2.0, 3.0], &[2.0, 4.0, 5.0], &[3.0, 5.0, 6.0]]);
    assert_eq!(dense(read_bytes::<f64>("a.mtx", triangle.as_bytes()).unwrap()), right);
}

#[test]
fn banners() {
    assert_eq!(refused("a.mtx", b""), "a.mtx: the file is empty");
    let like =
        "a.mtx, line 1: the first line must be like \"%%MatrixMarket matrix coordinate integer general\"";
    assert_eq!(refused("a.mtx", b"1 2 3\n"), like);
    assert_eq!(refused("a.mtx", b"%%MatrixMarket matrix coordinate real\n"), like);
    for (banner, what) in [
        ("vector coordinate real general", "\"vector\" is not supported: only matrix can be read"),
        ("matrix list real general", "\"list\" is not supported: only coordinate or array can be read"),
        (
            "matrix array complex general",
            "\"complex\" is not supported: only real, integer or pattern can be read",
        ),
        ("matrix array pattern general", "an array cannot be a pattern: write coordinate or real"),
        (
            "matrix array real hermitian",
            "\"hermitian\" is not supported: only general or symmetric can be read",
        ),
        (
            "matrix array real skew-symmetric",
            "\"skew-symmetric\" is not supported: only general or symmetric can be read",
        ),
    ] {
        let text = format!("%%MatrixMarket {banner}\n1 1 1\n1 1 1\n");
        assert_eq!(refused("a.mtx", text.as_bytes()), format!("a.mtx, line 1: {what}"));
    }
    let oblong = "%%MatrixMarket matrix coordinate real symmetric\n%\n2 3 1\n1 1 1\n";
    assert_eq!(
        refused("a.mtx", oblong.as_bytes()),
        "a.mtx, line 3: a symmetric matrix must be square, but this one is 2 × 3: correct the size line"
    );
}

#[test]
fn entries() {
    assert_eq!(general(""), "a.mtx: the file ends before the size line: copy it again");
    assert_eq!(
        general("2 2\n"),
        "a.mtx, line 2: \"2 2\" is not a size line: it must hold the numbers of rows, columns and entries"
    );
    assert_eq!(
        general("2 2 1\n0 1 5\n"),
        "a.mtx, line 3: entry (0, 1) is outside the matrix: this format counts rows and columns from 1"
    );
    assert_eq!(
        general("2 2 1\n% note\n\n3 1 5\n"),
        "a.mtx, line 5: entry (3, 1) is outside the 2 × 2 matrix of the size line"
    );
    assert_eq!(
        general("2 2 1\n1 1 x\n"),
        "a.mtx, line 3: \"1 1 x\" is not an entry: it must hold row, column and value"
    );
    assert_eq!(
        general("2 2 1\n1 1\n"),
        "a.mtx, line 3: \"1 1\" is not an entry: it must hold row, column and value"
    );
    assert_eq!(
        general("2 2 1\n-1 1 3\n"),
        "a.mtx, line 3: \"-1 1 3\" is not an entry: it must hold row, column and value"
    );
    assert_eq!(
        general("2 2 1\n1 1 3\n2 2 4\n"),
        "a.mtx, line 4: there are more entries than the 1 of the size line: correct that line"
    );
    assert_eq!(
        general("2 2 3\n1 1 3\n2 2 4\n"),
        "a.mtx: the size line says 3 entries but the file ends after 2: copy the file again, or correct the line"
    );
    let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\nx\n4\n";
    assert_eq!(refused("a.mtx", array.as_bytes()), "a.mtx, line 5: \"x\" is not a number: correct it");
}

/// A number that is not 0 is not read as 0.
#[test]
fn vanishing_numbers() {
    let what =
        "\"1e-400\" is too small for f64 and would become 0: write 0, or multiply all numbers by a constant";
    assert_eq!(general("2 2 2\n1 1 3\n2 2 1e-400\n"), format!("a.mtx, line 4: {what}"));
    let array = "%%MatrixMarket matrix array real general\n1 2\n1\n1e-400\n";
    assert_eq!(refused("a.mtx", array.as_bytes()), format!("a.mtx, line 4: {what}"));
}

#[test]
fn cut_short() {
    let good = fs::read(fixture("sparse.mtx")).unwrap();
    // Without the last line end, and at the last digit, the file is still whole.
    for length in 0..good.len() - 2 {
        refused("a.mtx", &good[..length]);
    }
    let packed = gzip(&good);
    for length in 0..packed.len() {
        refused("a.mtx.gz", &packed[..length]);
    }
}

#[test]
fn monstrous_claims() {
    let big = "1000000000000000000";
    assert!(general(&format!("{big} 2 1\n1 1 1\n")).contains("does not fit in memory"));
    assert!(general(&format!("2 {big} 1\n1 1 1\n")).contains("does not fit in memory"));
    assert!(general(&format!("{big} {big} {big}\n1 1 1\n")).contains("does not fit in memory"));
    assert!(general(&format!("2 2 {big}\n1 1 1\n")).contains("ends after 1"));
    let array = format!("%%MatrixMarket matrix array real general\n{big} {big}\n1\n");
    assert!(refused("a.mtx", array.as_bytes()).contains("the file is too short"));
    assert!(refused("a.mtx.gz", &gzip(array.as_bytes())).contains("the file is too short"));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.mtx");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mkfifo is not available");
        return;
    }
    let content = fs::read(fixture("sparse.mtx")).unwrap();
    let to = path.clone();
    let writer = std::thread::spawn(move || fs::write(to, content));
    assert_eq!(sparse(read::<f64>(&path).unwrap()), scattered());
    writer.join().unwrap().unwrap();
}

#[test]
fn peeking() {
    let summary = peek(&fixture("sparse.mtx")).unwrap();
    assert_eq!(summary.kind, "MatrixMarket coordinate, general");
    assert_eq!((summary.shape, summary.stored), (Some((3, 4)), Some(4)));
    assert_eq!(summary.dtype.as_deref(), Some("integer"));
    assert!(!summary.symmetric);
    let half =
        temporary("half.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 1 3\n");
    assert!(peek(&half.path).unwrap().symmetric);
}
