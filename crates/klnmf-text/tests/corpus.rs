//! Counting words.

use crate::common::*;
use klnmf::{Mat, Order, Sparse};
use klnmf_text::{Corpus, CountOptions, Dropped, Frequency, StopWords};

fn pets() -> klnmf_text::Documents {
    documents(&["The dog and the cat", "the cat! The CAT", "", "The bird"])
}

fn count(options: CountOptions) -> Corpus {
    Corpus::count(&pets(), &options).unwrap()
}

#[test]
fn counts() {
    let corpus = count(CountOptions::default());
    assert_eq!(corpus.words, ["and", "bird", "cat", "dog", "the"]);
    assert_eq!(corpus.documents, ["0", "1", "2", "3"]);
    assert_eq!(corpus.counts.view().order(), Order::Columns);
    let expected = Mat::from_rows(&[
        &[1.0, 0.0, 0.0, 0.0],
        &[0.0, 0.0, 0.0, 1.0],
        &[1.0, 2.0, 0.0, 0.0],
        &[1.0, 0.0, 0.0, 0.0],
        &[2.0, 2.0, 0.0, 1.0],
    ]);
    assert_eq!(corpus.counts.to_dense(), expected);
    assert_eq!(corpus.dropped, Dropped::default());
}

#[test]
fn every_rule_drops_its_words() {
    let options = || CountOptions { min_df: Frequency::Documents(2), ..Default::default() };
    let corpus = count(options());
    assert_eq!(corpus.words, ["cat", "the"]);
    assert_eq!(corpus.dropped, Dropped { rare: 3, ..Default::default() });

    let corpus = count(CountOptions { max_df: Frequency::Documents(2), ..options() });
    assert_eq!(corpus.words, ["cat"]);
    assert_eq!(corpus.dropped, Dropped { rare: 3, common: 1, ..Default::default() });
    assert_eq!(corpus.counts.to_dense(), Mat::from_rows(&[&[1.0, 2.0, 0.0, 0.0]]));

    let corpus = count(CountOptions { stop_words: StopWords::English, ..Default::default() });
    assert_eq!(corpus.words, ["bird", "cat", "dog"]);
    assert_eq!(corpus.dropped, Dropped { stop_words: 2, ..Default::default() });

    let corpus = count(CountOptions { max_words: Some(3), ..Default::default() });
    // Of the three words that occur once the first in the alphabet stays.
    assert_eq!(corpus.words, ["and", "cat", "the"]);
    assert_eq!(corpus.dropped, Dropped { surplus: 2, ..Default::default() });
    assert_eq!(count(CountOptions { max_words: Some(99), ..Default::default() }).words.len(), 5);
}

#[test]
fn shares_are_of_all_documents() {
    // Word k occurs in k of 100 documents; 0.07 · 100 is a bit above 7 in floating point, and 0.29 · 100
    // below 29.
    let texts: Vec<String> =
        (0..100).map(|at| (at + 1..=100).map(|word| format!("w{word:03} ")).collect()).collect();
    let documents = documents(&texts);
    for percent in 0..=100 {
        let share = Frequency::Share(f64::from(percent) / 100.0);
        let shares = |keep: &dyn Fn(u32) -> bool| -> Vec<String> {
            (1..=100).filter(|word| keep(*word)).map(|word| format!("w{word:03}")).collect()
        };
        let at_least =
            Corpus::count(&documents, &CountOptions { min_df: share, ..Default::default() }).unwrap();
        assert_eq!(at_least.words, shares(&|word| word >= percent), "{percent}");
        let at_most = Corpus::count(&documents, &CountOptions { max_df: share, ..Default::default() });
        let expected = shares(&|word| word <= percent);
        assert_eq!(at_most.map_or(Vec::new(), |corpus| corpus.words), expected, "{percent}");
    }
}

#[test]
fn nothing_left() {
    let refused = |texts: &[&str], options| message(Corpus::count(&documents(texts), &options));
    let options = || CountOptions { stop_words: StopWords::English, ..Default::default() };
    assert_eq!(
        refused(&["the and", "of"], options()),
        "no words are left in 2 documents: left out were 3 stop words (choose other --stop-words)"
    );
    let all = CountOptions {
        min_df: Frequency::Documents(2),
        max_df: Frequency::Share(0.5),
        max_words: Some(0),
        ..options()
    };
    assert_eq!(
        refused(&["the cat dog", "cat bird fish", "cat bird", "bee"], all),
        "no words are left in 4 documents: left out were 1 stop words (choose other --stop-words), 3 in too few documents \
         (lower --min-df), 1 in too many documents (raise --max-df), 1 beyond the number asked for (raise --max-words)"
    );
    for texts in [&[][..], &[""], &["…", "😀"]] {
        let message = refused(texts, CountOptions::default());
        assert_eq!(message, format!("no words are left in {} documents: the texts have none", texts.len()));
    }
    let odd = CountOptions {
        min_df: Frequency::Share(f64::NAN),
        max_df: Frequency::Share(-1.0),
        ..Default::default()
    };
    assert!(refused(&["cat"], odd).contains("raise --max-df"));
}

#[test]
fn one_word() {
    let corpus = Corpus::count(&documents(&["cat cat", "", "cat"]), &CountOptions::default()).unwrap();
    assert_eq!(corpus.words, ["cat"]);
    assert_eq!(corpus.counts.to_dense(), Mat::from_rows(&[&[2.0, 0.0, 1.0]]));
}

#[test]
fn words_of_many_scripts_are_sorted_by_code_point() {
    let corpus = Corpus::count(&documents(&["Жук straße 今 zebra i İ 9"]), &CountOptions::default()).unwrap();
    assert_eq!(corpus.words, ["9", "i", "i\u{307}", "straße", "zebra", "жук", "今"]);
}

#[test]
fn counting_again_gives_the_same() {
    // Every map hashes with its own seed, so an order taken from one would show.
    let text =
        |at: usize| (0..60).map(|word| format!("w{} ", (at * 37 + word * word) % 500)).collect::<String>();
    let documents = documents(&(0..50).map(text).collect::<Vec<_>>());
    let options = CountOptions { max_words: Some(100), ..Default::default() };
    let first = Corpus::count(&documents, &options).unwrap();
    for _ in 0..5 {
        assert_eq!(Corpus::count(&documents, &options).unwrap(), first);
    }
}

#[test]
fn counts_over_known_words() {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    let (counts, unknown) = Corpus::count_known(&pets(), &words(&["the", "fish", "cat"])).unwrap();
    let expected = Mat::from_rows(&[&[2.0, 2.0, 0.0, 1.0], &[0.0; 4], &[1.0, 2.0, 0.0, 0.0]]);
    assert_eq!(counts.to_dense(), expected);
    assert_eq!(counts.view().order(), Order::Columns);
    assert_eq!(unknown, 3);

    let corpus = count(CountOptions::default());
    assert_eq!(Corpus::count_known(&pets(), &corpus.words).unwrap(), (corpus.counts, 0));
    let nothing: (Sparse<f64>, usize) = Corpus::count_known(&documents(&["a b a"]), &[]).unwrap();
    assert_eq!((nothing.0.rows(), nothing.0.cols(), nothing.1), (0, 1, 3));
}
