//! No content makes a reader panic: random bytes, random bytes after a good beginning, and good files with
//! damage.

use crate::common::*;
use klnmf_io::{peek, read, read_model};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fs;

const NAMES: [&str; 8] = ["a.npy", "a.npz", "a.mtx", "a.csv", "a.tsv", "a.txt", "a.mtx.gz", "a.csv.gz"];

/// Every reader looks at the bytes; errors must be one line, and what is read must have consistent names.
fn all_readers(content: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        match read::<f64>(&path) {
            Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
            Ok(table) => {
                assert!(table.row_names.is_none_or(|names| names.len() == table.matrix.rows()));
                assert!(table.col_names.is_none_or(|names| names.len() == table.matrix.cols()));
            }
        }
        let _ = read::<f32>(&path);
        let _ = peek(&path);
        let _ = read_model::<f64>(&path);
    }
}

fn beginnings() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"%%MatrixMarket matrix coordinate integer general\n".to_vec()),
        Just(b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n".to_vec()),
        Just(b"%%MatrixMarket matrix array real symmetric\n2 2\n".to_vec()),
        Just(b"\x93NUMPY\x01\x00\x30\x00{'descr': '<f8', 'fortran_order': False, 'shape': (".to_vec()),
        Just(b"\x93NUMPY\x02\x00".to_vec()),
        Just(b"PK\x03\x04".to_vec()),
        Just(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03".to_vec()),
        Just(b",a,b\nx,".to_vec()),
    ]
}

proptest! {
    // The same cases in every run, so that a change is judged by nothing but itself.
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes(content in prop::collection::vec(any::<u8>(), 0..300)) {
        all_readers(&content);
    }

    #[test]
    fn random_text(content in "[0-9 .,;\t\n\r\"#%a-e+-]{0,120}") {
        all_readers(content.as_bytes());
    }

    #[test]
    fn random_bytes_after_a_good_beginning(
        start in beginnings(),
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        text in "[0-9 .,()\n'}-]{0,60}",
    ) {
        all_readers(&[&start[..], &bytes].concat());
        all_readers(&[&start[..], text.as_bytes()].concat());
        all_readers(&gzip(&[&start[..], text.as_bytes()].concat()));
    }

    #[test]
    fn damaged_files(
        name in prop::sample::select(vec!["csr.npz", "coo.npz", "v.npz", "coo_coords.npz", "c_le_f8.npy", "sparse.mtx"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut content = fs::read(fixture(name)).unwrap();
        for (at, byte) in damage {
            let at = at.index(content.len());
            content[at] = byte;
        }
        if cut {
            content.truncate(end.index(content.len()));
        }
        all_readers(&content);
    }
}
