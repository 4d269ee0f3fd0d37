//! Words, stop words and bounds on frequencies.

use crate::common::*;
use klnmf_text::{Frequency, StopWords, words};

fn all(text: &str) -> Vec<String> {
    words(text).collect()
}

#[test]
fn words_of_many_scripts() {
    for (text, expected) in [
        ("", &[][..]),
        ("  \t—!?…", &[]),
        ("Hello, WORLD!", &["hello", "world"]),
        ("Don’t don't DON’T", &["don't", "don't", "don't"]),
        ("'quoted' ‘curly’", &["quoted", "curly"]),
        ("rock-and-roll x_1 3.14", &["rock", "and", "roll", "x_1", "3.14"]),
        // The dot above stays when the Turkish capital becomes small.
        ("İstanbul", &["i\u{307}stanbul"]),
        ("Straße STRASSE", &["straße", "strasse"]),
        ("ΟΔΟΣ", &["οδος"]),
        ("今日は", &["今", "日", "は"]),
        ("yes 😀👨‍👩‍👧 no", &["yes", "no"]),
        ("e\u{301}te\u{301}", &["e\u{301}te\u{301}"]),
        ("a\u{0}b", &["a", "b"]),
    ] {
        assert_eq!(all(text), expected, "{text:?}");
    }
}

#[test]
fn the_english_list_is_in_order() {
    let list: Vec<&str> = include_str!("../src/stop_words.txt").lines().collect();
    assert!(list.is_sorted_by(|a, b| a < b));
    for word in &list {
        assert_eq!(all(word), [*word], "a stop word must be what the words of a text can be");
        assert!(StopWords::English.contains(word));
    }
    for word in ["the", "don't", "we", "of", "was", "and"] {
        assert!(list.contains(&word), "{word}");
    }
    assert!(!StopWords::English.contains("cat") && !StopWords::English.contains(""));
    assert!(!StopWords::None.contains("the"));
}

#[test]
fn stop_words_from_an_option() {
    assert_eq!(StopWords::parse("none").unwrap(), StopWords::None);
    assert_eq!(StopWords::parse("english").unwrap(), StopWords::English);
    let files = folder(&[
        ("own.txt", &b"# my list\r\nCat\r\n\r\n  Don\xe2\x80\x99t # and so on\r\n"[..]),
        ("none.txt", b"# nothing\n"),
        ("latin.txt", b"\xc9t\xe9"),
        ("binary.txt", b"\x00"),
    ]);
    let parse = |name| StopWords::parse(files.path().join(name).to_str().unwrap());
    let words = |list: &[&str]| StopWords::Set(list.iter().map(|word| word.to_string()).collect());
    assert_eq!(parse("own.txt").unwrap(), words(&["cat", "don't"]));
    assert_eq!(parse("latin.txt").unwrap(), words(&["été"]));
    assert!(message(parse("none.txt")).starts_with("none.txt: the file has no words"));
    assert!(message(parse("binary.txt")).contains("binary"));
    assert_eq!(
        message(StopWords::parse("German")),
        "\"German\": this is not a file: give none, english, or the path of a file with one word per line"
    );
}

#[test]
fn frequencies_from_text() {
    for (text, expected) in [
        ("5", Frequency::Documents(5)),
        ("1", Frequency::Documents(1)),
        ("0", Frequency::Documents(0)),
        ("0.5", Frequency::Share(0.5)),
        (".25", Frequency::Share(0.25)),
        ("1.0", Frequency::Share(1.0)),
        ("50%", Frequency::Share(0.5)),
        (" 12.5 % ", Frequency::Share(0.125)),
        ("100%", Frequency::Share(1.0)),
        ("0%", Frequency::Share(0.0)),
    ] {
        let frequency: Frequency = text.parse().unwrap();
        assert_eq!(frequency, expected, "{text}");
        assert_eq!(frequency.to_string().parse::<Frequency>().unwrap(), frequency);
    }
    for text in ["", "%", "few", "-1", "1.5", "101%", "-5%", "nan", "inf", "0,5", "1 000"] {
        let message = message(text.parse::<Frequency>());
        assert!(message.contains("such as 5, or a share of them such as 0.5 or 50%"), "{message}");
    }
}
