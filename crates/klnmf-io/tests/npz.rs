//! Archives of numpy and scipy.

use crate::common::*;
use klnmf_io::{Stored, peek, read, read_dense};
use std::fs;

#[test]
fn sparse_layouts() {
    for name in ["csr", "csc", "coo", "csr_array", "csr_wide", "coo_coords"] {
        let path = fixture(&format!("{name}.npz"));
        assert_eq!(sparse(read::<f64>(&path).unwrap()), scattered(), "{name}");
        assert_eq!(sparse(read::<f32>(&path).unwrap()), scattered(), "{name}");
        let summary = peek(&path).unwrap();
        assert_eq!((summary.shape, summary.stored), (Some((3, 4)), Some(4)), "{name}");
        assert!(summary.kind.starts_with("scipy sparse matrix, c"), "{name}");
    }
}

#[test]
fn transposing() {
    let table = read::<f64>(&fixture("csr.npz")).unwrap().transpose();
    assert_eq!(sparse(table), scattered().transpose());
    let table = read::<f64>(&fixture("v.npz")).unwrap().transpose();
    assert_eq!(table.col_names.as_deref().map(<[String]>::len), Some(3));
    assert_eq!((table.matrix.rows(), table.matrix.cols()), (4, 3));
    assert_eq!(dense(table), counting().transpose());
}

#[test]
fn sparse_refusals() {
    for name in ["dia", "bsr"] {
        let what = format!(
            "sparse format \"{name}\" is not supported: convert the matrix with .tocsr() before saving"
        );
        assert_eq!(message(read::<f64>(&fixture(&format!("{name}.npz")))), format!("{name}.npz: {what}"));
    }
    assert_eq!(
        message(read::<f64>(&fixture("coo_negative.npz"))),
        "coo_negative.npz: array row: index -1 is outside 0 to 2: the matrix is damaged, write the file again"
    );
    assert_eq!(
        message(read::<f64>(&fixture("coo_outside.npz"))),
        "coo_outside.npz: array col: index 4 is outside 0 to 3: the matrix is damaged, write the file again"
    );
    assert!(message(read_dense::<f64>(&fixture("csr.npz"))).contains("save it with .toarray()"));
}

#[test]
fn dense_arrays() {
    assert_eq!(read_dense::<f64>(&fixture("one.npz")).unwrap(), counting());
    let table = read::<f64>(&fixture("v.npz")).unwrap();
    assert_eq!(table.row_names.as_deref(), Some(&["a", "b", "gêne"].map(String::from)[..]));
    assert_eq!(table.col_names, None);
    assert!(matches!(table.matrix, Stored::Dense(_)));
    assert_eq!(dense(table), counting());
    assert_eq!(
        message(read::<f64>(&fixture("several.npz"))),
        "several.npz: the archive has several matrices (A, B): rename the one to use to V, or save it alone"
    );
    assert_eq!(
        message(read::<f64>(&fixture("none.npz"))),
        "none.npz: the archive has no array with two dimensions: save the matrix as V"
    );
}

#[test]
fn peeking() {
    let summary = peek(&fixture("v.npz")).unwrap();
    assert_eq!(summary.shape, Some((3, 4)));
    assert!(summary.row_names && !summary.col_names);
    let arrays: Vec<_> =
        summary.arrays.iter().map(|a| (a.name.as_str(), a.dtype.as_str(), &a.shape[..])).collect();
    assert_eq!(arrays, [("V", "<i8", &[3, 4][..]), ("W", "<i8", &[4, 3]), ("row_names", "<U4", &[3])]);
    let summary = peek(&fixture("several.npz")).unwrap();
    assert_eq!((summary.shape, summary.arrays.len()), (None, 2));
}

#[test]
fn damaged_archives() {
    assert_eq!(refused("a.npz", b""), "a.npz: the file is empty");
    assert!(refused("a.npz", b"1,2").contains("this is not an npz archive"));
    for name in ["csr.npz", "coo.npz", "csr_array.npz", "v.npz", "one.npz"] {
        let good = fs::read(fixture(name)).unwrap();
        for length in 0..good.len() {
            refused(name, &good[..length]);
        }
    }
}

/// Any single damaged byte gives an error or a matrix, never a panic; damage to the numbers is found by the
/// checksum.
#[test]
fn flipped_bytes() {
    for name in ["csr.npz", "coo.npz", "csr_array.npz", "v.npz"] {
        let good = fs::read(fixture(name)).unwrap();
        let whole = read::<f64>(&fixture(name)).unwrap();
        let file = temporary(name, &good);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            fs::write(&file.path, &bad).unwrap();
            if let Ok(table) = read::<f64>(&file.path) {
                assert_eq!(table.matrix.view().sum(), whole.matrix.view().sum(), "{name}, byte {at}");
            }
        }
    }
}
