//! The readers of texts.

use crate::{files, outcome, pieces, scratch};
use klnmf_text::{Corpus, CountOptions, Documents, ReadOptions, StopWords, read_documents};
use std::fs;

/// A file with documents. Every other input is read with a column of names.
pub fn documents(name: &str, data: &[u8]) {
    let id = (data.len() % 2 == 1 && !name.contains(".txt")).then(|| "id".to_owned());
    let path = files::file(name, data);
    outcome::result(read_documents(&path, &ReadOptions { column: None, id })).iter().for_each(count);
}

/// A folder with two documents.
pub fn folder(data: &[u8]) {
    let path = scratch().join("texts");
    fs::create_dir_all(&path).expect("the scratch folder is writable");
    for (name, text) in ["one.txt", "two.txt"].into_iter().zip(pieces::<2>(data)) {
        fs::write(path.join(name), text).expect("the scratch folder is writable");
    }
    outcome::result(read_documents(&path, &ReadOptions::default())).iter().for_each(count);
}

/// A list of words.
pub fn stop_words(data: &[u8]) {
    let path = files::file("words.txt", data);
    outcome::result(StopWords::parse(path.to_str().expect("scratch folders have plain names")));
}

fn count(documents: &Documents) {
    assert_eq!(documents.names.len(), documents.texts.len());
    assert!(!documents.texts.is_empty());
    if let Some(corpus) = outcome::result(Corpus::count(documents, &CountOptions::default())) {
        assert_eq!(
            (corpus.counts.rows(), corpus.counts.cols()),
            (corpus.words.len(), corpus.documents.len())
        );
    }
}
