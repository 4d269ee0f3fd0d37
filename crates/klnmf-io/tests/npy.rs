//! Numpy arrays: every type and order, and every way to be wrong.

use crate::common::*;
use klnmf::Mat;
use klnmf_io::{peek, read, read_dense, write_npy};
use std::fs;

#[test]
fn every_type_and_order() {
    let types = ["le_f8", "le_f4", "le_f2", "be_f8", "be_i4", "le_i8", "be_i2", "i1", "u1", "be_u4", "le_u8"];
    let names =
        types.iter().map(|name| format!("c_{name}")).chain(["f_le_f8", "f_be_i4", "f_u1"].map(String::from));
    for name in names {
        let path = fixture(&format!("{name}.npy"));
        assert_eq!(dense(read::<f64>(&path).unwrap()), counting(), "{name}");
        assert_eq!(dense(read::<f32>(&path).unwrap()), counting(), "{name}");
    }
    let parity = Mat::from_fn(3, 4, |_, j| (j % 2) as f64);
    assert_eq!(read_dense::<f64>(&fixture("c_bool.npy")).unwrap(), parity);
}

#[test]
fn a_vector_is_a_column() {
    assert_eq!(read_dense::<f64>(&fixture("vector.npy")).unwrap(), Mat::from_rows(&[&[0.0], &[1.0], &[2.0]]));
}

#[test]
fn arrays_that_are_no_matrix() {
    let cases = [
        (
            "cube",
            "the array has shape (2, 3, 4) and 3 dimensions, but a matrix has 2: reshape it before saving",
        ),
        ("scalar", "the array has shape () and 0 dimensions, but a matrix has 2: reshape it before saving"),
        ("complex", "elements of type \"<c16\" are not real numbers: save the array with .astype(\"f8\")"),
        ("object", "elements of type \"|O\" are not real numbers: save the array with .astype(\"f8\")"),
        ("text", "elements of type \"<U2\" are not real numbers: save the array with .astype(\"f8\")"),
        (
            "record",
            "elements of type \"structured\" are not real numbers: save the array with .astype(\"f8\")",
        ),
    ];
    for (name, what) in cases {
        let name = format!("{name}.npy");
        assert_eq!(message(read::<f64>(&fixture(&name))), format!("{name}: {what}"));
    }
}

#[test]
fn damaged_files() {
    let good = fs::read(fixture("c_le_f8.npy")).unwrap();
    for length in 0..good.len() {
        refused("a.npy", &good[..length]);
        refused("a.npy.gz", &gzip(&good[..length]));
    }
    assert_eq!(refused("a.npy", b""), "a.npy: the file is empty");
    assert_eq!(refused("a.npy", b"1,2\n"), "a.npy: this is not a numpy array: write it with numpy.save");
    assert_eq!(
        refused("a.npy", &[&good, &b"xy"[..]].concat()),
        "a.npy: there are 2 bytes too many after the array: write the file again"
    );
    let packed = gzip(&[&good, &b"x"[..]].concat());
    assert_eq!(
        refused("a.npy.gz", &packed),
        "a.npy.gz: there are bytes after the end of the array: write the file again"
    );
}

#[test]
fn monstrous_claims() {
    for shape in ["(1000000000000000000, 4)", "(99999999999, 99999999999)", "(4294967296, 4294967296)"] {
        for name in ["a.npy", "a.npy.gz"] {
            let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
            let header =
                [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
            let header = if name.ends_with("gz") { gzip(&header) } else { header };
            assert!(refused(name, &header).contains("but the file is too short for it"));
        }
    }
    let endless = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{";
    assert_eq!(
        refused("a.npy", endless),
        "a.npy: the header claims 4294967295 bytes: the file is damaged, copy it again"
    );
    let nested = [&b"\x93NUMPY\x01\x00\xff\xff"[..], &vec![b'('; 65535]].concat();
    assert!(refused("a.npy", &nested).contains("not one that numpy writes"));
}

#[test]
fn empty_matrices_are_named() {
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 1000000000000000000), }\n";
    let header = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
    assert!(refused("a.npy", &header).contains("the matrix is empty (0 × 1000000000000000000)"));
}

#[test]
fn gzip_is_told_by_content() {
    let good = fs::read(fixture("c_le_f8.npy")).unwrap();
    assert_eq!(dense(read_bytes::<f64>("a.npy", &gzip(&good)).unwrap()), counting());
    assert_eq!(dense(read_bytes::<f64>("A.NPY.GZ", &good).unwrap()), counting());
}

#[test]
fn writing_and_reading_back() {
    let file = temporary("a.npy", b"");
    let matrix = Mat::from_fn(300, 70, |i, j| 1.0 / (1 + i + j) as f64);
    write_npy(&file.path, &matrix).unwrap();
    assert_eq!(read_dense::<f64>(&file.path).unwrap(), matrix);
    assert!(peek(&file.path).unwrap().kind.contains("Fortran"));
    write_npy(&file.path, &matrix.cast::<f32>()).unwrap();
    assert_eq!(read_dense::<f32>(&file.path).unwrap(), matrix.cast());
    assert_eq!(peek(&file.path).unwrap().dtype.as_deref(), Some("<f4"));
}

#[test]
fn row_major_arrays_of_every_proportion() {
    for (rows, cols) in
        [(1, 1), (2, 300_000), (300_000, 2), (1000, 500), (3, 131_072), (5, 131_073), (131_073, 3)]
    {
        let text = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}\n");
        let numbers = (0..rows * cols).flat_map(|n: i32| n.to_le_bytes());
        let length = (text.len() as u16).to_le_bytes();
        let bytes: Vec<u8> =
            b"\x93NUMPY\x01\x00".iter().copied().chain(length).chain(text.bytes()).chain(numbers).collect();
        let matrix = dense(read_bytes::<f64>("a.npy", &bytes).unwrap());
        let right = Mat::from_fn(rows as usize, cols as usize, |i, j| (i * cols as usize + j) as f64);
        assert!(matrix == right, "{rows} × {cols}");
    }
}

#[test]
fn peeking() {
    let summary = peek(&fixture("c_be_i4.npy")).unwrap();
    assert_eq!(summary.kind, "numpy array, C order");
    assert_eq!((summary.shape, summary.stored), (Some((3, 4)), Some(12)));
    assert_eq!(summary.dtype.as_deref(), Some(">i4"));
    assert_eq!(peek(&fixture("cube.npy")).unwrap().shape, None);
}

#[test]
fn names_and_paths() {
    assert!(message(read::<f64>(&fixture("missing.npy"))).starts_with("cannot read "));
    let unknown = "unknown file format: the name must end in .npy, .npz, .mtx, .csv, .tsv, .txt, .h5ad or .h5; \
                   text and .npy may end in .gz after that";
    assert_eq!(refused("a.xlsx", b""), format!("a.xlsx: {unknown}"));
    assert_eq!(refused("a.gz", b""), format!("a.gz: {unknown}"));
    assert_eq!(refused("a\nb", b""), format!("a\\nb: {unknown}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    fs::create_dir(&path).unwrap();
    assert_eq!(message(read::<f64>(&path)), "a.npy: this is a folder: name a file in it");
}
