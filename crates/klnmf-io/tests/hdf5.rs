//! Files of AnnData and of 10x Genomics, written by anndata and h5py (`fixtures/make_hdf5.py`).

use crate::common::*;
use klnmf::{Mat, Scalar};
use klnmf_io::{Error, Stored, Table, peek, read, read_layer};
use std::fs;
use std::io::Read;

/// Unpacks a fixture.
pub fn unpacked(name: &str) -> Vec<u8> {
    let file = fs::File::open(fixture(&format!("hdf5/{name}.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn layer<T: Scalar>(name: &str, layer: Option<&str>) -> Result<Table<T>, Error> {
    read_layer(&temporary(name, &unpacked(name)).path, layer)
}

/// X of the fixtures as genes × cells.
fn genes<T: Scalar>() -> Mat<T> {
    let x: [[f64; 3]; 4] = [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 4.0], [5.0, 0.0, 0.0]];
    Mat::from_fn(3, 4, |i, j| T::from_f64(x[j][i]))
}

fn matrix<T: Scalar>(table: Table<T>) -> Mat<T> {
    match table.matrix {
        Stored::Dense(matrix) => matrix,
        Stored::Sparse(matrix) => matrix.to_dense(),
    }
}

fn names(names: &Option<Vec<String>>) -> Vec<&str> {
    names.as_ref().unwrap().iter().map(String::as_str).collect()
}

const CELLS: [&str; 4] = ["AAAC-1", "AAAG-1", "AACT-1", "AAGT-1"];

#[test]
fn anndata_in_every_layout_and_compression() {
    let twice = Mat::from_fn(3, 4, |i, j| 2.0 * genes::<f64>()[(i, j)]);
    let more = Mat::from_fn(4, 4, |i, j| if i < 3 { genes::<f32>()[(i, j)] } else { 1.0 });
    for layout in ["csr", "csc", "dense"] {
        for compression in ["plain", "gzip", "lzf"] {
            let name = format!("{layout}_{compression}.h5ad");
            let x = layer::<f64>(&name, None).unwrap();
            assert_eq!(matches!(x.matrix, Stored::Sparse(_)), layout != "dense", "{name}");
            assert_eq!(names(&x.row_names), ["GATA1", "gêne", "CD3E"], "{name}");
            assert_eq!(names(&x.col_names), CELLS, "{name}");
            assert_eq!(matrix(x), genes(), "{name}");
            assert_eq!(matrix(layer::<f64>(&name, Some("counts")).unwrap()), twice, "{name}");
            let raw = layer::<f32>(&name, Some("raw")).unwrap();
            assert_eq!(names(&raw.row_names), ["GATA1", "gêne", "CD3E", "extra"], "{name}");
            assert_eq!(names(&raw.col_names), CELLS, "{name}");
            assert_eq!(matrix(raw), more, "{name}");
            let found = peek(&temporary(&name, &unpacked(&name)).path).unwrap();
            assert_eq!((found.shape, found.dtype.as_deref()), (Some((3, 4)), Some("<f4")), "{name}");
            assert_eq!(found.layers, ["counts", "raw"], "{name}");
            assert_eq!(found.kind, format!("AnnData, X {layout}, shown as genes × cells"));
        }
    }
}

#[test]
fn unusual_files() {
    let x = layer::<f64>("newest.h5ad", None).unwrap();
    assert_eq!((names(&x.col_names), &x.row_names), (vec!["0", "1", "2", "3"], &None));
    assert_eq!(matrix(x), genes());
    assert_eq!(matrix(layer::<f64>("newest.h5ad", Some("half")).unwrap()), genes());
    let flags = Mat::from_fn(3, 4, |i, j| f64::from(u8::from(genes::<f64>()[(i, j)] > 1.0)));
    assert_eq!(matrix(layer::<f64>("newest.h5ad", Some("flags")).unwrap()), flags);
    assert_eq!(
        message(layer::<f64>("newest.h5ad", Some("text"))),
        "newest.h5ad: array text: elements of type \"text\" are not real numbers: save the array with .astype(\"f8\")"
    );
}

#[test]
fn refusals() {
    let of = |name: &str, which: Option<&str>| message(layer::<f64>(name, which));
    assert_eq!(of("without_x.h5ad", None), "without_x.h5ad: there is no matrix X: choose --layer counts");
    assert_eq!(
        of("csr_gzip.h5ad", Some("spliced")),
        "csr_gzip.h5ad: there is no layer \"spliced\": choose --layer counts or --layer raw"
    );
    assert_eq!(
        message(read_layer::<f64>(&fixture("csr.npz"), Some("a"))),
        "csr.npz: only .h5ad files have layers: leave out --layer"
    );
    assert_eq!(
        refused("a.h5ad", b"1,2"),
        "a.h5ad: this is not an HDF5 file: copy it again or write it again"
    );
    assert_eq!(refused("a.h5", b""), "a.h5: the file is empty");
    assert!(refused("a.h5ad", &gzip(&unpacked("csr_gzip.h5ad"))).contains("unpack it with gunzip first"));
    assert!(refused("a.h5", &unpacked("csr_gzip.h5ad")).contains("AnnData files must end in .h5ad"));
    assert!(peek(&temporary("a.h5ad", &unpacked("without_x.h5ad")).path).unwrap().layers == ["counts"]);
}

#[test]
fn files_of_10x() {
    for name in ["tenx3.h5", "tenx2.h5"] {
        let found = layer::<f64>(name, None).unwrap();
        assert_eq!(names(&found.row_names), ["GATA1", "CD3E (ENSG2)", "CD3E (ENSG3)"], "{name}");
        assert_eq!(names(&found.col_names), CELLS, "{name}");
        assert_eq!(matrix(found), genes(), "{name}");
    }
}

#[test]
fn folders_of_10x() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let bytes = if name.ends_with(".gz") { gzip(text.as_bytes()) } else { text.into() };
        fs::write(folder.path().join(name), bytes).unwrap();
    };
    let counts =
        "%%MatrixMarket matrix coordinate integer general\n3 4 5\n2 1 2\n1 2 1\n3 2 3\n3 3 4\n1 4 5\n";
    write("matrix.mtx.gz", counts);
    assert_eq!(read::<f64>(folder.path()).unwrap().row_names, None);
    write("features.tsv.gz", "ENSG1\tGATA1\tGene Expression\nENSG2\tCD3E\tx\nENSG3\tCD3E\tx\n");
    write("barcodes.tsv.gz", "AAAC-1\nAAAG-1\nAACT-1\nAAGT-1\n");
    let found = read::<f64>(folder.path()).unwrap();
    assert_eq!(names(&found.row_names), ["GATA1", "CD3E (ENSG2)", "CD3E (ENSG3)"]);
    assert_eq!(names(&found.col_names), CELLS);
    assert_eq!(matrix(found), genes());
    let summary = peek(folder.path()).unwrap();
    assert_eq!((summary.shape, summary.row_names, summary.col_names), (Some((3, 4)), true, true));
    write("barcodes.tsv.gz", "AAAC-1\n");
    assert_eq!(
        message(read::<f64>(folder.path())),
        "barcodes.tsv.gz: barcodes: 1 names where 4 are needed: write the file again"
    );
    // The older names, without compression.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("matrix.mtx"), counts).unwrap();
    fs::write(other.path().join("genes.tsv"), "ENSG1\tGATA1\nENSG2\tb\nENSG3\tc\n").unwrap();
    assert_eq!(names(&read::<f64>(other.path()).unwrap().row_names), ["GATA1", "b", "c"]);
    assert!(message(read::<f64>(tempfile::tempdir().unwrap().path())).contains("this is a folder"));
}

/// Damage gives an error of one line or a matrix: no panic, no endless loop, no allocation beyond the bound.
#[test]
fn damage() {
    let rounds: usize = std::env::var("KLNMF_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for name in ["csr_gzip.h5ad", "csc_lzf.h5ad", "dense_plain.h5ad", "newest.h5ad", "tenx3.h5"] {
        let good = unpacked(name);
        let file = temporary(name, &good);
        for round in 0..rounds {
            let mut bad = good.clone();
            for _ in 0..=random(3) {
                let (at, byte) = (random(bad.len()), random(256) as u8);
                bad[at] = byte;
            }
            if round % 4 == 0 {
                bad.truncate(random(good.len()));
            }
            fs::write(&file.path, &bad).unwrap();
            for layer in [None, Some("raw")] {
                if let Err(error) = read_layer::<f64>(&file.path, layer) {
                    assert!(!error.to_string().chars().any(char::is_control), "{error}");
                }
            }
            let _ = peek(&file.path);
        }
    }
}

/// A file of a few kilobytes that claims 10¹² numbers, which h5py writes without storing any of them.
#[test]
fn monstrous_claims() {
    for (name, what) in
        [("claims_dense.h5ad", "more numbers than the file can hold"), ("claims_shape.h5ad", "memory")]
    {
        let message = refused(name, &unpacked(name));
        assert!(message.contains(what), "{message}");
    }
}
