//! No content makes a reader panic, and what is read can be counted.

use crate::common::*;
use klnmf_text::{Corpus, CountOptions, Error, ReadOptions, StopWords, read_documents};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const NAMES: [&str; 5] = ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.txt.gz"];

fn one_line(error: Error) {
    assert!(!error.to_string().chars().any(char::is_control), "{error}");
}

/// Every reader looks at the bytes, as a file and as a file in a folder.
fn all_readers(content: &[u8]) {
    let options = ReadOptions { column: None, id: Some("id".into()) };
    for name in NAMES {
        let folder = folder(&[(name, content)]);
        let path = folder.path().join(name);
        let _ = StopWords::parse(path.to_str().unwrap()).map_err(one_line);
        let named = read_documents(&path, &options);
        for documents in [read_documents(&path, &ReadOptions::default()), read_folder(folder.path()), named] {
            match documents {
                Err(error) => one_line(error),
                Ok(documents) => {
                    assert_eq!(documents.names.len(), documents.texts.len());
                    assert!(!documents.texts.is_empty());
                    let _ = Corpus::count(&documents, &CountOptions::default()).map_err(one_line);
                }
            }
        }
    }
}

proptest! {
    // The same cases in every run, so that a change is judged by nothing but itself.
    #![proptest_config(ProptestConfig { cases: 100, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_bytes(content in prop::collection::vec(any::<u8>(), 0..300)) {
        all_readers(&content);
        all_readers(&gzip(&content));
    }

    #[test]
    fn random_text(content in "[a-c,;\t\n\r\"’' é]{0,80}") {
        all_readers(content.as_bytes());
        all_readers(&utf16(&content, u16::to_le_bytes));
    }

    #[test]
    fn after_a_good_beginning(
        start in prop::sample::select(vec![
            &b"text\n"[..], b"id,text\n1,", b"id\ttext\n\"", b"{\"text\": \"a\", \"id\": ", b"{\"text\": \"",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf",
        ]),
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        text in "[a1,\t\n\r\"{}:\\\\]{0,40}",
    ) {
        all_readers(&[start, &bytes].concat());
        all_readers(&[start, text.as_bytes()].concat());
    }
}
